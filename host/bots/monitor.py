"""One watcher for all bots: it has killed what grows beyond its memory or computes beyond its time."""

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path

import psutil
import trio

from host.bots.freezer import Freezer, FreezeState
from host.sandbox.cgroup import Group
from host.sandbox.launch import Sandbox
from host.sandbox.process_tree import cpu_seconds as _computed
from host.sandbox.process_tree import descendants
from protocols.wire import FaultKind

PERIOD = 0.02  # seconds between two looks
SOONEST = 0.002  # seconds between two looks at somebody who has little left to compute
FOREVER = float("inf")
CORES = len(os.sched_getaffinity(0))
INSTANT = 0.001  # seconds in which nobody passes a limit: to look after each such answer would cost more than it took
RESIDENT = re.compile(rb"^(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB", re.MULTILINE)
OWN = re.compile(rb"^(?:RssAnon|VmPTE):\s+(\d+) kB", re.MULTILINE)
TABLES = re.compile(rb"^VmPTE:\s+(\d+) kB", re.MULTILINE)
"""In a process's status. Files of the system are everybody's; page tables are nobody's pages, and may take more than those."""
PROPORTIONAL = re.compile(rb"^(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB", re.MULTILINE)
"""In a process's smaps_rollup, which Linux 5.3 and younger tell."""
COUNTABLE = 0.25  # seconds of processor time: what takes longer to count is taken for too much
SPARED = 3  # times what a count took that the next one waits
HELD = 256 << 10  # bytes of the kernel's memory that one end of a socket may hold
FEW_OPEN = 512  # descriptors of a whole sandbox that are never too many
MOST_NAMES = 10_000  # files in a sandbox's /tmp: each is a KiB of the kernel's memory, and the keeper must remove it


class MonitoredSandbox:
    """One sandbox under watch: its keeper's processes, its limits, and what they were caught at."""

    def __init__(self, sandbox: Sandbox, memory: int, bursts: Callable[[], bool], turns: Freezer) -> None:
        self.sandbox, self.memory, self._bursts = sandbox, memory, bursts
        self.turn = FreezeState(turns, sandbox.keeper, sandbox.group.computed if sandbox.group else None)
        self.limit_exceeded: FaultKind | None = None
        self.peak = 0
        self.needs_recheck = False  # whether its memory is too much unless its processes share it
        self._counts = False  # whether that is being counted, or was just now
        self._life = 0  # how often something new has started
        self._allowed = self._in_all = FOREVER  # seconds: of the open questions, and of the process since its start
        self.soon = FOREVER  # seconds in which it may have computed too long, as the last look has shown
        self._before: float | None = None

    def new_process(self) -> None:
        """Forget what was caught: everything is dead, and something new is about to start."""
        self.limit_exceeded = None
        self._life += 1
        self.turn.forget()

    def set_cpu_budget(self, cpu: float, in_all: float = FOREVER) -> None:
        """Allow so many seconds of processor time from now on, and so many since the process has started."""
        self._allowed, self._in_all, self._before = cpu, in_all, None

    def drag_on(self) -> None:
        """Take note that answers are slow in coming."""
        self.turn.mark_slow()

    def computed(self) -> float:
        """Return the seconds of processor time that the open questions have cost, as far as they were seen dragging on."""
        if self._before is None:
            return 0.0
        return sum(map(_computed, descendants(self.sandbox.pid))) - self._before

    def total(self) -> float | None:
        """Return the seconds of processor time that the sandbox has cost so far; None where a look is too dear or too coarse."""
        return None

    def cost(self, in_all: float) -> float:
        """Return the seconds of processor time that the open questions have cost a process now dead, as far as it was seen.

        It has computed so many in all.
        """
        return 0.0 if self._before is None else max(in_all - self._before, 0.0)

    def final_check(self, _wall: float) -> FaultKind | None:
        """Allow whatever it takes while no question is open; return what the answers of `wall` seconds were caught at."""
        self._allowed = self._in_all = FOREVER
        self.turn.end()
        return self.limit_exceeded

    def look(self) -> None:
        """Take one look; have everything killed when a limit is passed."""
        self.soon, self.needs_recheck = FOREVER, False
        if self.limit_exceeded is not None:
            return  # it is dead, and the next has not started
        breach = self._too_much()
        if breach is None and self._names() > MOST_NAMES:
            breach = FaultKind.MEMORY
        if breach is None and self._bursts():
            breach = FaultKind.FLOOD
        if breach is not None:
            self._break(breach)

    def _too_much(self) -> FaultKind | None:
        """Return the limit that is passed, as far as one look at every process can tell."""
        processes = list(descendants(self.sandbox.pid))
        memory = sum(_told(process.pid, "status", RESIDENT) for process in processes)
        self.needs_recheck = memory > self.memory
        if not self.needs_recheck:
            self.peak = max(self.peak, memory)
        elif any(_told(process.pid, "status", OWN) > self.memory for process in processes):
            return FaultKind.MEMORY
        if sum(map(_open, processes)) > max(FEW_OPEN, self.memory // HELD):
            return FaultKind.MEMORY
        return FaultKind.CPU if self._computes_too_long(processes) else None

    async def count(self) -> None:
        """Count once what processes share. Who has made that slow is not to hold up everybody else: it is done in a thread."""
        if self._counts:
            return
        self._counts, life, began = True, self._life, time.perf_counter()
        memory = await trio.to_thread.run_sync(_shared, [process.pid for process in descendants(self.sandbox.pid)])
        if life == self._life and self.limit_exceeded is None:
            if memory > self.memory:
                self._break(FaultKind.MEMORY)
            else:
                self.peak = max(self.peak, int(memory))
        await trio.sleep(SPARED * (time.perf_counter() - began))
        self._counts = False

    def _break(self, breach: FaultKind) -> None:
        """Have everything killed for this."""
        self.limit_exceeded = breach
        self.sandbox.keeper.kill_now()

    def _names(self) -> int:
        """Return how many files are in the sandbox's own /tmp; 0 where it has none."""
        try:
            tmp = f"/proc/{self.sandbox.pid}/root/tmp"
            counted = os.statvfs(tmp)
            return counted.f_files - counted.f_ffree if Path(tmp).stat().st_dev != _own_tmp() else 0
        except OSError:
            return 0

    def _computes_too_long(self, processes: "list[psutil.Process]") -> bool:
        """Return whether the open questions have cost more than allowed: from the first look, in ticks of 10 ms."""
        if self._allowed == FOREVER:
            return False
        computed = sum(map(_computed, processes))
        if self._before is None:
            self._before = computed
        return computed - self._before > self._allowed or computed > self._in_all


class CgroupMonitored(MonitoredSandbox):
    """A sandbox with a control group: the kernel counts, and it is the kernel that keeps the memory in bounds."""

    def __init__(self, group: Group, sandbox: Sandbox, memory: int, bursts: Callable[[], bool], turns: Freezer) -> None:
        super().__init__(sandbox, memory, bursts, turns)
        self._group = group
        self._start: float | None = None  # what had been computed when the open questions were seen dragging on
        self._killed, self._born = group.killed(), group.computed()

    def new_process(self) -> None:
        """Forget what was caught: everything is dead, and something new is about to start."""
        super().new_process()
        self._killed, self._born = self._group.killed(), self._group.computed()

    def set_cpu_budget(self, cpu: float, in_all: float = FOREVER) -> None:
        """Allow so many seconds from now on, and in all; a fast exchange does not pay for reading the counter."""
        self._allowed, self._in_all, self._start = cpu, in_all, None

    def drag_on(self) -> None:
        """Take note that answers are slow in coming; only now is it worth a microsecond to count what they cost."""
        super().drag_on()
        if self._start is None:
            self._start = self._group.computed()

    def computed(self) -> float:
        """Return the seconds of processor time that the open questions have cost, as far as they were seen dragging on."""
        return 0.0 if self._start is None else self._group.computed() - self._start

    def total(self) -> float:
        """Return the seconds of processor time that the sandbox has cost so far; it costs a microsecond."""
        return self._group.computed()

    def cost(self, _in_all: float) -> float:
        """Return the seconds of processor time that the open questions have cost, as far as they were seen dragging on."""
        return self.computed()

    def final_check(self, wall: float) -> FaultKind | None:
        """Allow whatever it takes while no question is open; return what the answers of `wall` seconds were caught at."""
        if wall > INSTANT and self.limit_exceeded is None:
            self.limit_exceeded = self._passed()
        return super().final_check(wall)

    def _too_much(self) -> FaultKind | None:
        self.peak = max(self.peak, self._group.used())
        return self._passed()

    def _passed(self) -> FaultKind | None:
        if self._group.killed() > self._killed:
            return FaultKind.MEMORY
        if self._start is None:
            return None
        computed = self._group.computed()
        left = min(self._allowed - (computed - self._start), self._in_all - (computed - self._born))
        self.soon = left / CORES
        return FaultKind.CPU if left < 0 else None


@cache
def _own_tmp() -> int:
    return Path("/tmp").stat().st_dev


def _told(pid: int, file: str, rows: re.Pattern[bytes]) -> int:
    """Return the bytes that a file of a process's tells in these rows, together."""
    with suppress(OSError):
        return sum(map(int, rows.findall(Path(f"/proc/{pid}/{file}").read_bytes()))) << 10
    return 0


def _shared(pids: Sequence[int]) -> float:
    """Return the bytes that processes have together, what they share counted once; infinitely many if that takes too long."""
    began, memory = time.thread_time(), 0
    for pid in pids:
        # Who hides its pages has them all to itself.
        shares = _told(pid, "smaps_rollup", PROPORTIONAL)
        memory += shares + _told(pid, "status", TABLES) if shares else _told(pid, "status", RESIDENT)
        if time.thread_time() - began > COUNTABLE:
            return FOREVER
    return memory


def _open(process: psutil.Process) -> int:
    """Return how many descriptors a process has; kernels before 6.2 do not say."""
    with suppress(OSError):
        return os.stat(f"/proc/{process.pid}/fd").st_size  # noqa: PTH116
    return 0


@contextmanager
def unwrap_exception_group() -> Iterator[None]:
    """Take an exception out of the groups that nurseries wrap around it: who called us asked for no nursery."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from None


class Monitor:
    """Looks at every watched sandbox every 20 ms; stops between their questions those that may not ponder."""

    def __init__(self, *, pondering: bool = False) -> None:
        self.pondering = pondering
        self._watched: set[MonitoredSandbox] = set()
        self._turns = Freezer()

    @contextmanager
    def watching(self, sandbox: Sandbox, memory: int, bursts: Callable[[], bool] = bool) -> Iterator[MonitoredSandbox]:
        """Watch one sandbox for the length of the block; `bursts` tells whether what it fills on disk is too full."""
        watched = (
            MonitoredSandbox(sandbox, memory, bursts, self._turns)
            if sandbox.group is None
            else CgroupMonitored(sandbox.group, sandbox, memory, bursts, self._turns)
        )
        self._watched.add(watched)
        try:
            yield watched
        finally:
            watched.turn.forget()
            self._watched.discard(watched)

    async def run(self) -> None:
        """Watch until cancelled."""
        async with trio.open_nursery() as nursery:
            if not self.pondering:
                nursery.start_soon(self._turns.run)
            while True:
                soon = min((watched.soon for watched in self._watched), default=FOREVER)
                await trio.sleep(min(max(soon, SOONEST), PERIOD))
                for watched in tuple(self._watched):
                    watched.look()
                    if watched.needs_recheck:
                        nursery.start_soon(watched.count)


@asynccontextmanager
async def running_monitor() -> AsyncIterator[Monitor]:
    """Have a watcher at work for the length of the block."""
    with unwrap_exception_group():
        async with trio.open_nursery() as nursery:
            watcher = Monitor()
            nursery.start_soon(watcher.run)
            yield watcher
            nursery.cancel_scope.cancel()
