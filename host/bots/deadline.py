"""Decides whether a late answer may still be accepted, by how long the bot has run and waited for a processor."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path

from host.base.errors import HostFailure
from host.sandbox.launch import Sandbox
from host.sandbox.limits import PATIENCE, Limits
from host.sandbox.process_tree import descendants

STALLED = 0.05  # a host that wakes up this many seconds after a deadline was itself delayed
SHORTEST = 0.001  # minimum seconds until an extended deadline is checked again
MOST_THREADS = 64  # whose waits are measured; a bot with more threads causes its own waits
LOOK = 0.02  # seconds after which waits are measured only for the report; most answers arrive earlier


class HostStall(HostFailure):
    """Raised when an answer is missing because the machine was busy. The fixture is played again, and the stall is reported."""


class DeadlinePolicy:
    """Decides whether a late answer of one bot may still be accepted."""

    def __init__(self, limits: Limits, sandbox: Sandbox, *, charged: bool) -> None:
        self.fair = limits.clock == "fair"
        self.stretch = PATIENCE if limits.clock == "cpu" else 1
        """The first deadline of an answer is this many times the time granted."""

        self.doubt = STALLED if limits.clock == "wall" else 0.0
        """If the host checks more than this many seconds after a deadline, output found then may have come in time."""

        self.marks_after = 0.0 if self.fair else min(LOOK, limits.patience / 4)
        """Seconds after the question, or the previous answer, at which `start_counting` must be called."""

        self._sandbox, self._charged = sandbox, charged
        self._waits: RunQueueWaits | None = None
        self.waited = 0.0  # seconds, measured at the last missed deadline

    def start_counting(self) -> None:
        """Measure waits from now on: an answer is slow, and the one before it has arrived."""
        self.waited = 0.0
        self._seen().start_counting()

    def look(self) -> None:
        """Measure the wait since `start_counting`, or since the process started if that was not called."""
        self.waited = self._seen().since()

    def extension(self, granted: float, wall: float, late: float, computed: float) -> float:
        """Return the seconds that an answer may still take; 0 if it is late and the bot is to blame.

        The answer was granted `granted` seconds. It has taken `wall` seconds, of which the bot ran for `computed`.
        `late` is the number of seconds between the deadline and the check. Raise HostStall if the machine was busy and
        the bot was not.
        """
        waits = self._seen()
        goes_on = self.fair and waits.go_on()  # first, so that a wait that ends in between is measured below
        self.look()
        if self.fair:
            due, patience = granted - (wall - self.waited), PATIENCE * granted - wall
            if due <= 0 and not goes_on:
                return 0.0
            if patience > 0:
                return max(min(due, patience), SHORTEST)
            stalled = not self._crowded()
        elif self.stretch > 1:
            stalled = computed < granted and bool(waits.running("RD")) and not self._crowded()
        else:
            stalled = late > STALLED and computed < granted / 2 and bool(waits.running("RD"))
        if stalled:
            self._stall(wall, late, computed)
        return 0.0

    def _crowded(self) -> bool:
        """Return whether more of its threads are ready to run than there are cores: then the bot causes its own waits."""
        would = 0
        for process in descendants(self._sandbox.pid):
            waits = RunQueueWaits(process.pid)
            would += len(waits.running())
            waits.close()
        return would > len(os.sched_getaffinity(0))

    def raise_if_host_stalled(self, granted: float, wall: float, late: float, computed: float) -> None:
        """Raise HostStall if an answer was cut off because the machine was probably busy.

        With the fair clock the deadline has been extended as far as possible before this call.
        """
        if self.fair or (late > STALLED and computed < granted / 2):
            self._stall(wall, late, computed)

    def _stall(self, wall: float, late: float, computed: float) -> None:
        """Raise HostStall, unless there were so many that the bot is charged."""
        words = f"no answer after {wall:.3f} s: computed {computed:.3f} s, waited {self.waited:.3f} s, host {late:.3f} s late"
        if not self._charged:
            raise HostStall(words)

    def total_wait(self) -> float:
        """Return the seconds that the process has waited for a processor since its start. Call this just before it is killed."""
        process = answering(self._sandbox)
        self.forget()
        with suppress(OSError, IndexError):
            return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
        return 0.0

    def forget(self) -> None:
        """Remove the process, and close its files."""
        self.waited = 0.0
        if self._waits is not None:
            self._waits.close()
            self._waits = None

    def _seen(self) -> "RunQueueWaits":
        """Return the waits of the process that answers. If there is none yet, return waits that are always 0."""
        if self._waits is None and (process := answering(self._sandbox)):
            self._waits = RunQueueWaits(process)
        return self._waits or RunQueueWaits(0)


class Look(Enum):
    """What to do about an answer that has not been read yet."""

    READ = auto()  # output is available, and may have come in time
    WAIT = auto()
    LATE = auto()


class AnswerTimer:
    """Tracks the deadline of the next answer, and decides whether a late answer may still be accepted.

    The deadline counts from the question, or from the previous answer if several questions were asked at once.
    """

    def __init__(self, policy: DeadlinePolicy, move: float) -> None:
        self._policy, self._move = policy, move
        self.asked = 0.0  # time at which the batch was sent
        self._last = 0.0  # time of the last answer
        self._deadline = 0.0  # deadline of the next answer
        self._granted = 0.0  # seconds granted to the next answer
        self._marked = False  # whether waits for a processor are being measured for it
        self._unread = False  # whether its deadline had passed before the first check
        self.overhead = 0.0  # seconds between the last missed deadline and the check

    @property
    def waited(self) -> float:
        """Return the seconds spent waiting for a processor, measured at the last missed deadline."""
        return self._policy.waited

    def start(self, granted: float) -> None:
        """Start a batch. Its first answer is granted `granted` seconds."""
        self.asked = self._last = time.perf_counter()
        self._granted = granted
        self._deadline = self.asked + granted * self._policy.stretch

    def answered(self, now: float) -> float:
        """Record that answers have arrived; return the seconds since the question, or since the previous answer."""
        wall, self._last = now - self._last, now
        self._granted = self._move
        self._deadline = now + self._granted * self._policy.stretch
        self._marked = False
        return wall

    def begin_wait(self) -> None:
        """Record that the answer is slow and that waiting for it begins."""
        self._unread = time.perf_counter() > self._deadline
        self._marked = False

    def seconds_to_look(self) -> float:
        """Return the seconds until `look` must be called."""
        now, mark = time.perf_counter(), self._last + self._policy.marks_after
        if not self._marked and now >= mark:
            self._marked = True
            self._policy.start_counting()
        until = self._deadline if self._marked else min(mark, self._deadline)
        return max(until - now, 0)

    def look(self, has_output: Callable[[], bool], computed: Callable[[], float]) -> Look:
        """Decide what to do about an answer that has not been read. `computed` returns the bot's processor time for it.

        Raise HostStall if the machine was busy and the bot was not.
        """
        now = time.perf_counter()
        if now < self._deadline:
            return Look.WAIT
        self.overhead = now - self._deadline
        # The host woke up so late that output available now may have come in time.
        doubtful = self._unread or self.overhead > self._policy.doubt
        if doubtful and has_output():
            return Look.READ
        left = self._policy.extension(self._granted, now - self._last, self.overhead, computed())
        if not left and not (doubtful and has_output()):
            return Look.LATE
        self._deadline = now + left
        return Look.WAIT


class RunQueueWaits:
    """Measures how long a process has waited for a processor. Of its threads the one that waited longest counts."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._open: dict[str, int] = {}  # descriptors of /proc/PID/task/TID/schedstat, by thread
        self._before: dict[str, float] = {}
        self._seen: dict[str, tuple[int, ...]] = {}  # counters of threads ready to run at the last `go_on`
        self._looked = 0.0
        self._threads = 0

    def start_counting(self) -> None:
        """Measure from now on. This costs two microseconds for one thread, and one more for each further thread."""
        with suppress(OSError):
            if os.stat(f"/proc/{self._process}/task").st_nlink != self._threads:  # noqa: PTH116 - half the time of Path
                self._find()
        self._before = {name: _read(each)[1] for name, each in self._open.items()}

    def since(self) -> float:
        """Return the seconds waited since `start_counting`. For a newer thread, all its waits count."""
        self._find()
        return max((_read(each)[1] - self._before.get(name, 0) for name, each in self._open.items()), default=0) / 1e9

    def go_on(self) -> bool:
        """Return whether the process may be waiting now: the kernel counts a wait only when it is over.

        It looks for a thread that is ready to run and whose counters have not changed since a check just before. Such a
        thread either waits, or has run too briefly to be noticed: the kernel updates the counters every few
        milliseconds.
        """
        before, looked = self._seen, self._looked
        self._seen, self._looked = {name: _read(self._open[name]) for name in self.running()}, time.perf_counter()
        recent = self._looked - looked < 2.5 * SHORTEST
        return any(not recent or before.get(name, read) == read for name, read in self._seen.items())

    def running(self, states: str = "R") -> list[str]:
        """Return the threads that are ready to run or running."""
        self._find()
        return [name for name in self._open if self._state(name) in states]

    def close(self) -> None:
        """Close all files."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _state(self, thread: str) -> str:
        with suppress(OSError, IndexError):
            return Path(f"/proc/{self._process}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0]
        return "gone"

    def _find(self) -> None:
        """Open the counters of the current threads."""
        self.close()
        folder = f"/proc/{self._process}/task"
        with suppress(OSError):
            self._threads = os.stat(folder).st_nlink  # noqa: PTH116
            for thread in os.listdir(folder)[:MOST_THREADS]:  # noqa: PTH208
                self._open[thread] = os.open(f"{folder}/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)


def answering(sandbox: Sandbox) -> int:
    """Return the process that answers; 0 if it is gone.

    It is the keeper's oldest child, or the second if an interpreter is kept warm. Orphans that became children of the
    keeper come later in the list.
    """
    keeper = sandbox.pid
    with suppress(OSError, IndexError):
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        return int(children[1 if sandbox.keeper.warm else 0])
    return 0


def _read(descriptor: int) -> tuple[int, ...]:
    """Return the nanoseconds a thread has run and waited, and how often it has run; zeros if it has ended."""
    with suppress(OSError):
        return tuple(map(int, os.pread(descriptor, 64, 0).split()))
    return (0, 0, 0)
