"""The fair clock: how much of an answer's time a bot has had, and how much it has waited for a processor."""

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

STALLED = 0.05  # seconds after a deadline at which a host wakes up only when the machine, not the bot, was busy
SHORTEST = 0.001  # seconds until a deadline that was put off is looked at again
MOST_THREADS = 64  # whose waits are known; a bot that has more makes its own waiting
LOOK = 0.02  # seconds after which waits are looked at that do not count, but are told: most answers are there before


class HostStall(HostFailure):
    """Raised when an answer is missing because the machine was busy: the fixture is played again and this is listed."""


class DeadlinePolicy:
    """One bot's clock: it says what may still come when an answer is not there at its deadline."""

    def __init__(self, limits: Limits, sandbox: Sandbox, *, charged: bool) -> None:
        self.fair = limits.clock == "fair"
        self.stretch = PATIENCE if limits.clock == "cpu" else 1
        """Times what an answer is granted until it is due, or until the first look at what it has waited."""

        self.doubt = STALLED if limits.clock == "wall" else 0.0
        """Seconds after a deadline from which on it cannot be said that what has come by then came too late."""

        self.marks_after = 0.0 if self.fair else min(LOOK, limits.patience / 4)
        """Seconds after the question, or the answer before, at which `mark` is wanted."""

        self._sandbox, self._charged = sandbox, charged
        self._waits: RunQueueWaits | None = None
        self.waited = 0.0  # seconds, read when a deadline was missed last

    def start_counting(self) -> None:
        """Count waits from now on: an answer is slow in coming, and the one before it is there."""
        self.waited = 0.0
        self._seen().start_counting()

    def look(self) -> None:
        """Take note of what has been waited since the mark, or since the process was started where there was none."""
        self.waited = self._seen().since()

    def extension(self, granted: float, wall: float, late: float, computed: float) -> float:
        """Return the seconds that an answer may still take; 0 when it is late, and that is the bot's own doing.

        It was granted some and has taken `wall` seconds, of which it has computed some; `late` is how long after its
        deadline the host has woken up. Raise HostStall where the machine was busy and the bot was not.
        """
        waits = self._seen()
        goes_on = self.fair and waits.go_on()  # first: a wait that ends between the two looks must be in the second
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
        """Return whether it would run in more places at once than there are: then it makes its own waits."""
        would = 0
        for process in descendants(self._sandbox.pid):
            waits = RunQueueWaits(process.pid)
            would += len(waits.running())
            waits.close()
        return would > len(os.sched_getaffinity(0))

    def raise_if_host_stalled(self, granted: float, wall: float, late: float, computed: float) -> None:
        """Raise HostStall when an answer that was cut short is missing because the machine was busy, as far as one can tell.

        A fair clock has put it off until all its patience was gone.
        """
        if self.fair or (late > STALLED and computed < granted / 2):
            self._stall(wall, late, computed)

    def _stall(self, wall: float, late: float, computed: float) -> None:
        """Raise HostStall, unless that has happened so often that it is its bot's doing."""
        words = f"no answer after {wall:.3f} s: computed {computed:.3f} s, waited {self.waited:.3f} s, host {late:.3f} s late"
        if not self._charged:
            raise HostStall(words)

    def total_wait(self) -> float:
        """Return the seconds that the process has waited for a processor in its life; it is about to be swept away."""
        process = answering(self._sandbox)
        self.forget()
        with suppress(OSError, IndexError):
            return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
        return 0.0

    def forget(self) -> None:
        """Forget the process."""
        self.waited = 0.0
        if self._waits is not None:
            self._waits.close()
            self._waits = None

    def _seen(self) -> "RunQueueWaits":
        """Return the waits of the process that answers; where there is none yet, of nobody."""
        if self._waits is None and (process := answering(self._sandbox)):
            self._waits = RunQueueWaits(process)
        return self._waits or RunQueueWaits(0)


class Look(Enum):
    """What to do with an answer that has not been read yet."""

    READ = auto()  # something is there, and may have come in time
    WAIT = auto()
    LATE = auto()


class AnswerTimer:
    """When the answer that is due must be there, and whether one that is late may still come.

    The deadline of an answer counts from its question, or from the answer before where several were asked at once.
    """

    def __init__(self, policy: DeadlinePolicy, move: float) -> None:
        self._policy, self._move = policy, move
        self.asked = 0.0  # when the batch was sent
        self._last = 0.0  # when the last answer came
        self._deadline = 0.0  # when the next must come
        self._granted = 0.0  # seconds for the answer that is due
        self._marked = False  # whether waits for a processor are counted for it
        self._unread = False  # whether its deadline was over before anybody looked
        self.overhead = 0.0  # seconds that the host woke up late at the last deadline that was missed

    @property
    def waited(self) -> float:
        """Seconds for a processor, read when a deadline was missed last."""
        return self._policy.waited

    def start(self, granted: float) -> None:
        """Start with a batch; its first answer is granted some seconds."""
        self.asked = self._last = time.perf_counter()
        self._granted = granted
        self._deadline = self.asked + granted * self._policy.stretch

    def answered(self, now: float) -> float:
        """Note that answers have come; return the seconds since the question, or the answer before."""
        wall, self._last = now - self._last, now
        self._granted = self._move
        self._deadline = now + self._granted * self._policy.stretch
        self._marked = False
        return wall

    def begin_wait(self) -> None:
        """Note that the answer is slow in coming, and waited for from now on."""
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
        """Decide what to do with an answer that has not come by now; `computed` is the bot's processor time for it.

        Raise HostStall if the machine was busy and the bot was not.
        """
        now = time.perf_counter()
        if now < self._deadline:
            return Look.WAIT
        self.overhead = now - self._deadline
        # A host that wakes this late was stalled itself: what is there by now may have come in time.
        doubtful = self._unread or self.overhead > self._policy.doubt
        if doubtful and has_output():
            return Look.READ
        left = self._policy.extension(self._granted, now - self._last, self.overhead, computed())
        if not left and not (doubtful and has_output()):
            return Look.LATE
        self._deadline = now + left
        return Look.WAIT


class RunQueueWaits:
    """How long the process that answers has waited for a processor: the thread that has waited longest, whichever answers."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._open: dict[str, int] = {}  # /proc/PID/task/TID/schedstat of each thread
        self._before: dict[str, float] = {}
        self._seen: dict[str, tuple[int, ...]] = {}  # of each thread that would run, when that was asked last
        self._looked = 0.0
        self._threads = 0

    def start_counting(self) -> None:
        """Count from now on. It costs two microseconds with one thread, and one more for each."""
        with suppress(OSError):
            if os.stat(f"/proc/{self._process}/task").st_nlink != self._threads:  # noqa: PTH116 - half of what Path takes
                self._find()
        self._before = {name: _read(each)[1] for name, each in self._open.items()}

    def since(self) -> float:
        """Return the seconds waited since the mark; those of a thread that is younger are all since then."""
        self._find()
        return max((_read(each)[1] - self._before.get(name, 0) for name, each in self._open.items()), default=0) / 1e9

    def go_on(self) -> bool:
        """Return whether it may have waited for longer than is known: a wait is only counted when it is over.

        A thread that would run and of which nothing new is known since a look just before either waits, or has not run
        for long enough to be noticed: the kernel looks at its own clock every few milliseconds.
        """
        before, looked = self._seen, self._looked
        self._seen, self._looked = {name: _read(self._open[name]) for name in self.running()}, time.perf_counter()
        recent = self._looked - looked < 2.5 * SHORTEST
        return any(not recent or before.get(name, read) == read for name, read in self._seen.items())

    def running(self, states: str = "R") -> list[str]:
        """Return the threads that would run if there were a processor for each."""
        self._find()
        return [name for name in self._open if self._state(name) in states]

    def close(self) -> None:
        """Let go of everything."""
        while self._open:
            os.close(self._open.popitem()[1])

    def _state(self, thread: str) -> str:
        with suppress(OSError, IndexError):
            return Path(f"/proc/{self._process}/task/{thread}/stat").read_text().rpartition(")")[2].split()[0]
        return "gone"

    def _find(self) -> None:
        """Open what the threads that there are now are read from."""
        self.close()
        folder = f"/proc/{self._process}/task"
        with suppress(OSError):
            self._threads = os.stat(folder).st_nlink  # noqa: PTH116
            for thread in os.listdir(folder)[:MOST_THREADS]:  # noqa: PTH208
                self._open[thread] = os.open(f"{folder}/{thread}/schedstat", os.O_RDONLY | os.O_CLOEXEC)


def answering(sandbox: Sandbox) -> int:
    """Return the process that answers: its keeper's oldest child but for an interpreter kept warm; 0 when it is gone.

    Orphans that have come to the keeper since stand behind.
    """
    keeper = sandbox.pid
    with suppress(OSError, IndexError):
        children = Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()
        return int(children[1 if sandbox.keeper.warm else 0])
    return 0


def _read(descriptor: int) -> tuple[int, ...]:
    """Return the nanoseconds a thread has run and those it has waited, and how often it was let run; 0 when it has ended."""
    with suppress(OSError):
        return tuple(map(int, os.pread(descriptor, 64, 0).split()))
    return (0, 0, 0)
