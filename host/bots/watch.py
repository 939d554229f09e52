"""One watcher for all bots: it kills what grows beyond its memory or computes beyond its time."""

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache as once
from pathlib import Path

import psutil
import trio

from protocols.words import FaultKind

PERIOD = 0.02  # seconds between two looks
MOST_NAMES = 10_000  # files in a sandbox's /tmp: each is a KiB of the kernel's memory, and the keeper must remove it


class Watched:
    """One sandbox under watch: its keeper's process, its limits, and what it was caught at."""

    def __init__(self, keeper: int, memory: int, bursts: Callable[[], bool]) -> None:
        self.keeper, self.memory, self._bursts = keeper, memory, bursts
        self.breach: FaultKind | None = None
        self.peak = 0
        self._allowed = float("inf")
        self._before: float | None = None
        self._tmp = f"/proc/{keeper}/root/tmp"

    def allow(self, cpu: float) -> None:
        """Allow so many seconds of processor time from now on, infinity while no question is open."""
        self._allowed, self._before = cpu, None

    def look(self) -> None:
        """Take one look; kill all there is when a limit is passed."""
        processes = list(descendants(self.keeper))
        memory = sum(map(_resident, processes))
        if memory > self.memory:
            memory = sum(map(_proportional, processes))  # forked processes share pages: count them once
        self.peak = max(self.peak, memory)
        if memory > self.memory or self._names() > MOST_NAMES:
            self.breach = FaultKind.MEMORY
        elif self._computes_too_long(processes):
            self.breach = FaultKind.CPU
        elif self._bursts():
            self.breach = FaultKind.FLOOD
        else:
            return
        for process in processes:
            with suppress(psutil.Error):
                process.kill()

    def _names(self) -> int:
        """Return how many files are in the sandbox's own /tmp; 0 where it has none."""
        try:
            counted = os.statvfs(self._tmp)
            return counted.f_files - counted.f_ffree if Path(self._tmp).stat().st_dev != _own_tmp() else 0
        except OSError:
            return 0

    def _computes_too_long(self, processes: "list[psutil.Process]") -> bool:
        """Return whether the open questions have cost more than allowed: from the first look, in ticks of 10 ms."""
        if self._allowed == float("inf"):
            return False
        computed = sum(map(_computed, processes))
        if self._before is None:
            self._before = computed
        return computed - self._before > self._allowed


@once
def _own_tmp() -> int:
    return Path("/tmp").stat().st_dev


def descendants(keeper: int) -> Iterator[psutil.Process]:
    """Yield everything a keeper has started, and all that came of it: orphans fall to the keeper, so none is missed.

    psutil's own recursive search reads every process of the machine, 2 ms a time.
    """
    found = [keeper]
    for pid in found:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a look must cost microseconds
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        if pid != keeper:
            with suppress(psutil.Error):
                yield psutil.Process(pid)


def _resident(process: psutil.Process) -> int:
    with suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def _proportional(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except psutil.AccessDenied:
        return _resident(process)  # it hides its pages, so all of them are its own
    except psutil.Error:
        return 0


def _computed(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


@contextmanager
def bare() -> Iterator[None]:
    """Take an exception out of the groups that nurseries wrap around it: who called us asked for no nursery."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from None


class Watcher:
    """Looks at every watched sandbox every 20 ms while any question is open."""

    def __init__(self) -> None:
        self._watched: set[Watched] = set()

    @contextmanager
    def watching(self, keeper: int, memory: int, bursts: Callable[[], bool] = bool) -> Iterator[Watched]:
        """Watch one sandbox for the length of the block; `bursts` tells whether what it fills on disk is too full."""
        watched = Watched(keeper, memory, bursts)
        self._watched.add(watched)
        try:
            yield watched
        finally:
            self._watched.discard(watched)

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await trio.sleep(PERIOD)
            for watched in tuple(self._watched):
                watched.look()


@asynccontextmanager
async def a_watcher() -> AsyncIterator[Watcher]:
    """Have a watcher at work for the length of the block."""
    with bare():
        async with trio.open_nursery() as nursery:
            watcher = Watcher()
            nursery.start_soon(watcher.run)
            yield watcher
            nursery.cancel_scope.cancel()
