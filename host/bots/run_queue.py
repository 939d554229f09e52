"""Measures how long the threads of a process have run and have waited for a processor, as the kernel counts it."""

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from host.sandbox.launch import Sandbox
from host.sandbox.process_tree import descendant_numbers, read_proc

MOST_THREADS = 64  # whose waits are measured; a bot with more threads causes its own waits


class ThreadTime(NamedTuple):
    """Seconds that one thread has run, has waited for a processor, and has been ready to run until now at most."""

    ran: float
    waited: float
    ready: float


def foreign_wait(threads: Sequence[ThreadTime], computed: float, cores: int) -> float:
    """Return the seconds that a bot has waited for a processor because of other programs. Pure.

    The host cannot know which thread will answer, so the thread that waited longest counts. A wait during which the
    bot's other threads could occupy all of its `cores` is subtracted. `computed` is the time of all threads in seconds.
    """
    return max((each.waited - max(computed - each.ran, 0.0) / cores for each in threads if each.waited), default=0.0)


class RunQueueWaits:
    """Measures how long the threads of a process have run and have waited for a processor."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._open: dict[str, int] = {}  # descriptors of /proc/PID/task/TID/schedstat, by thread
        self._folder = -1  # descriptor of /proc/PID/task, once `start_counting` was called
        self._before: dict[str, bytes] = {}
        self._looked = 0.0  # time of the last look
        self._ready: dict[
            str, tuple[tuple[int, ...], float]
        ] = {}  # counters and time of threads ready at the last look
        self._threads = 0

    def start_counting(self) -> None:
        """Measure from now on. This costs three microseconds for one thread, and one more for each further thread."""
        try:
            if self._folder < 0:
                self._folder = os.open(f"/proc/{self._process}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            if os.fstat(self._folder).st_nlink != self._threads:
                self._find()
            self._before = {name: os.pread(each, 64, 0) for name, each in self._open.items()}
        except OSError:  # a thread has ended
            self._find()
            self._before = {name: _read(each) for name, each in self._open.items()}
        self._ready, self._looked = {}, 0.0

    def since(self) -> list[ThreadTime]:
        """Return the times of each thread since `start_counting`; of a newer one, since its start. Without counters, [].

        A thread that has run since the last look has been ready since that look at most.
        """
        if not counts_waits():
            return []
        self._find()
        times, ready, now = list[ThreadTime](), dict[str, tuple[tuple[int, ...], float]](), time.perf_counter()
        for name, each in self._open.items():
            read, before = _counters(_read(each)), _counters(self._before.get(name, b""))
            if self._state(name) == "R":
                known = self._ready.get(name)
                ready[name] = known if known is not None and known[0] == read else (read, self._looked)
            waits_since = ready[name][1] if name in ready else now
            times.append(ThreadTime((read[0] - before[0]) / 1e9, (read[1] - before[1]) / 1e9, now - waits_since))
        self._ready, self._looked = ready, now
        return times

    def running(self) -> list[str]:
        """Return the threads that are ready to run or running."""
        self._find()
        return [name for name in self._open if self._state(name) == "R"]

    def close(self) -> None:
        """Close all files."""
        self._close_threads()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1

    def _close_threads(self) -> None:
        while self._open:
            os.close(self._open.popitem()[1])

    def _state(self, thread: str) -> str:
        with suppress(OSError, IndexError):
            return read_proc(f"/proc/{self._process}/task/{thread}/stat").rpartition(b")")[2].split()[0].decode()
        return "gone"

    def _find(self) -> None:
        """Open the counters of the current threads."""
        self._close_threads()
        folder = f"/proc/{self._process}/task"
        with suppress(OSError):
            self._threads = os.stat(folder).st_nlink  # noqa: PTH116
            for thread in os.listdir(folder)[:MOST_THREADS]:  # noqa: PTH208
                self._open[thread] = os.open(f"{folder}/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)


@cache
def counts_waits() -> bool:
    """Return whether the kernel counts how long a process has waited for a processor, and how often it has run."""
    with suppress(OSError, IndexError):
        return int(read_proc("/proc/self/schedstat").split()[2]) > 0
    return False


def are_crowded(sandbox: Sandbox) -> bool:
    """Return whether more of the bot's threads are ready to run than it has cores: then the bot causes its own waits."""
    ready = 0
    for process in descendant_numbers(sandbox.pid):
        waits = RunQueueWaits(process)
        ready += len(waits.running())
        waits.close()
    return ready > sandbox.cores


def waited_since_start(process: int) -> float:
    """Return the seconds that the first thread of a process has waited for a processor; 0 if that is not known."""
    with suppress(OSError, IndexError):
        return int(read_proc(f"/proc/{process}/schedstat").split()[1]) / 1e9
    return 0.0


def answering(sandbox: Sandbox) -> int:
    """Return the process that answers; 0 if it is gone.

    It is the keeper's oldest child, or the second if an interpreter is kept warm. Orphans that became children of the
    keeper come later in the list.
    """
    keeper = sandbox.pid
    with suppress(OSError, IndexError):
        children = read_proc(f"/proc/{keeper}/task/{keeper}/children").split()
        return int(children[1 if sandbox.keeper.warm else 0])
    return 0


def _read(descriptor: int) -> bytes:
    """Return what the kernel has counted of a thread; nothing if it has ended."""
    with suppress(OSError):
        return os.pread(descriptor, 64, 0)
    return b""


def _counters(read: bytes) -> tuple[int, ...]:
    """Return the nanoseconds a thread has run and waited, and how often it has run; zeros if it has ended."""
    return tuple(map(int, read.split())) or (0, 0, 0)
