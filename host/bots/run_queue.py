"""Measures how long the threads of a process have run and have waited for a processor, as the kernel counts it."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from host.sandbox.launch import Sandbox
from host.sandbox.process_tree import descendant_numbers, read_proc

MOST_THREADS = 64  # whose waits are measured; a bot with more threads causes its own waits


class ThreadTime(NamedTuple):
    """The seconds for which one thread has run, and has waited for a processor.

    `ready` is the longest time for which it can have been ready to run until now.
    """

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
        """Return the times of each thread since `start_counting`, or since its start if it is newer.

        Return [] if the kernel does not count waits. The field `ready` of a thread that has run since the last call is at most
        the time since that call.
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
        """Return the thread numbers, as text, of the threads that run or are ready to run."""
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


class Charged(NamedTuple):
    """Seconds of an answer that a bot is charged for.

    `charged` follows from the waits that the kernel has counted. `at_least` also leaves out waits that may not be over.
    """

    charged: float
    at_least: float


class Waits:
    """Measures how long the process that answers has waited for a processor, since `begin` or since its start.

    `waited` is the longest wait of one of its threads in seconds, at the last look.
    """

    def __init__(self, sandbox: Sandbox, computed: Callable[[], float]) -> None:
        """`computed` returns the seconds of processor time that the open questions have cost."""
        self._sandbox, self._computed = sandbox, computed
        self.are_measured, self.waited = False, 0.0
        self._delay = self._computed_before = 0.0
        self._process: RunQueueWaits | None = None

    def begin(self, delay: float) -> None:
        """Measure from now on. `delay` is an earlier delay of the host in seconds, which the bot is not charged for."""
        self.are_measured, self.waited, self._delay = True, 0.0, delay
        self._computed_before = self._computed()
        if process := self._of_process():
            process.start_counting()

    def begin_with_process(self) -> None:
        """Measure from the start of the process, which has not started yet."""
        self.are_measured = True

    def look(self, wall: float) -> Charged:
        """Return the seconds that the bot is charged for, of an answer that has taken `wall` seconds.

        The kernel counts a wait only when it is over. A wait that is not over may be as long as the thread has been ready to
        run.
        """
        process, computed = self._of_process(), self._computed() - self._computed_before
        threads = process.since() if process else []
        self.waited = max((thread.waited for thread in threads), default=0.0)
        unknown = [each._replace(waited=min(each.waited + each.ready, wall - each.ran)) for each in threads]
        return Charged(self._charged(threads, wall, computed), self._charged(unknown, wall, computed))

    def _charged(self, threads: Sequence[ThreadTime], wall: float, computed: float) -> float:
        """Return the seconds of an answer that a bot is charged for: at least those in which one thread ran."""
        held = self._delay + max(foreign_wait(threads, computed, self._sandbox.cores), 0.0)
        return max(wall - held, *(thread.ran for thread in threads), 0.0)

    def total(self) -> float:
        """Return the seconds that the process has waited since its start, as far as known."""
        with suppress(OSError, IndexError):
            return int(read_proc(f"/proc/{answering(self._sandbox)}/schedstat").split()[1]) / 1e9
        return 0.0

    def forget(self) -> None:
        """Close the files of the process: it has ended, or is about to."""
        self.waited = self._delay = self._computed_before = 0.0
        if self._process is not None:
            self._process.close()
            self._process = None

    def _of_process(self) -> RunQueueWaits | None:
        """Return the counters of the process that answers; None if there is none yet."""
        if self._process is None and (number := answering(self._sandbox)):
            self._process = RunQueueWaits(number)
        return self._process


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


def answering(sandbox: Sandbox) -> int:
    """Return the number of the process that answers; 0 if it is gone.

    It is the keeper's oldest child, or the second if an interpreter is kept warm. Orphans that became children of the
    keeper come later in the list.
    """
    keeper = sandbox.pid
    with suppress(OSError, IndexError):
        children = read_proc(f"/proc/{keeper}/task/{keeper}/children").split()
        return int(children[1 if sandbox.keeper.warm else 0])
    return 0


def _read(descriptor: int) -> bytes:
    """Return the content of an open schedstat file of a thread; nothing if the thread has ended."""
    with suppress(OSError):
        return os.pread(descriptor, 64, 0)
    return b""


def _counters(read: bytes) -> tuple[int, ...]:
    """Return the values in a schedstat file: nanoseconds run, nanoseconds waited, number of runs; zeros for an empty file."""
    return tuple(map(int, read.split())) or (0, 0, 0)
