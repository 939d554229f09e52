"""Decides whether a late answer may still be accepted, by how long the bot has run and waited for a processor."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import NamedTuple

from host.base.errors import HostFailure
from host.bots.allowance import TimeBank
from host.bots.stall_sampler import StallSampler
from host.sandbox.launch import Sandbox
from host.sandbox.limits import MAX_WALL_FACTOR, Limits
from host.sandbox.process_tree import descendant_numbers, read_proc

STALLED = 0.05  # a host that wakes up this many seconds after a deadline was itself delayed
SHORTEST = 0.001  # minimum seconds until an extended deadline is checked again
MOST_THREADS = 64  # whose waits are measured; a bot with more threads causes its own waits
STALL_WORDS = ("blocked", "stopped from outside", "croupier paused", "throttled")  # the fields of Stalls
MIN_MEASURED_WAIT_S = 0.02  # seconds after which waits are measured only for the report; most answers arrive earlier


class HostStall(HostFailure):
    """Raised when an answer is missing because the machine was busy. The question is asked again, and the stall is reported."""


class DeadlinePolicy:
    """Decides whether a late answer of one bot may still be accepted."""

    def __init__(self, limits: Limits, samples: StallSampler, *, charged: bool, bank: TimeBank | None = None) -> None:
        self.fair = limits.clock == "fair"
        self.stretch = MAX_WALL_FACTOR if limits.clock == "cpu" else 1
        """The first deadline of an answer is this many times the time granted."""

        self.doubt = STALLED if limits.clock == "wall" else 0.0
        """If the host checks more than this many seconds after a deadline, output found then may have come in time."""

        self.marks_after = 0.0 if self.fair else min(MIN_MEASURED_WAIT_S, limits.patience / 4)
        """Seconds after the question, or the previous answer, at which `start_counting` must be called; 0: before it."""

        self.samples = samples
        self._sandbox, self._charged, self._bank = samples.sandbox, charged, bank
        self._waits: RunQueueWaits | None = None
        self.waited = 0.0  # seconds, measured at the last missed deadline
        self._held = 0.0  # seconds of an answer that a fair clock does not count, by the last look
        self._computed_before = 0.0  # seconds of processor time of the sandbox when counting started

    def start_counting(self) -> None:
        """Measure waits from now on: an answer is slow, and the one before it has arrived."""
        self.waited, self._computed_before, self._held = 0.0, self._computed(), 0.0
        self._seen().start_counting()
        self.samples.begin()

    def look(self) -> "list[ThreadTime]":
        """Measure the waits since `start_counting`, or since the process started if that was not called."""
        self.samples.sample()
        threads = self._seen().since()
        self.waited = max((thread.waited for thread in threads), default=0.0)
        return threads

    def extension(self, granted: float, wall: float, late: float, computed: float) -> float:
        """Return the seconds that an answer may still take; 0 if it is late and the bot is to blame.

        The answer was granted `granted` seconds. It has taken `wall` seconds, of which the bot ran for `computed`.
        `late` is the number of seconds between the deadline and the check. Raise HostStall if the machine was busy and
        the bot was not.
        """
        threads = self.look()
        stalls = self.samples.stalls.total
        if self._bank is not None and self.stretch == 1 and stalls <= granted / 2:
            granted += stalls  # a stall costs no bank; after a longer one, the question is asked again
            if not self.fair and granted > wall:
                return max(granted - wall, SHORTEST)
        if self.fair:
            charged = self._charged_time(threads, wall)
            due, patience, self._held = granted - charged, MAX_WALL_FACTOR * granted - wall, wall - charged
            # The kernel counts a wait when it is over. One that is not over may be as long as the thread is ready.
            unknown = [each._replace(waited=min(each.waited + each.ready, wall - each.ran)) for each in threads]
            is_late = due <= 0 and self._charged_time(unknown, wall) >= granted
            if patience > 0 and not is_late:
                return max(min(due, patience), SHORTEST)
            stalled = not is_late and not self._crowded()
        elif self.stretch > 1:
            stalled = computed < granted and bool(self._seen().running("RD")) and not self._crowded()
        else:
            stalled = late > STALLED and computed < granted / 2 and bool(self._seen().running("RD"))
        if stalled or self._has_stalled(granted, computed):
            self._stall(wall, late, computed)
        return 0.0

    def time_taken(self, wall: float, computed: float) -> float:
        """Return the seconds of a slow answer that the clock in force counts, without stalls of the machine.

        Call this once for each answer. The answer has taken `wall` seconds, of which the bot ran for `computed`. The
        process must be alive.
        """
        if self.fair:
            self._held = wall - self._charged_time(self.look(), wall)
        else:
            self.samples.sample()
        return self.time_taken_before(wall, computed)

    def time_taken_before(self, wall: float, computed: float) -> float:
        """Return what `time_taken` returns, of a process that has ended: waits after the last look are counted."""
        if self.stretch > 1:
            return computed
        stalls = self.samples.stalls
        stalls = stalls._replace(blocked=self._bank.forgive(stalls.blocked) if self._bank is not None else 0.0)
        held = max(self._held, stalls.throttled)  # a throttled thread also waits for a processor
        counted = wall - held - (stalls.total - stalls.throttled)
        # While croupier itself was stopped, the bot may have run.
        return max(counted, min(computed / self._sandbox.cores, wall)) if stalls.total else max(counted, 0.0)

    def _has_stalled(self, granted: float, computed: float) -> bool:
        """Return whether the machine kept the bot from running for most of the time granted."""
        return computed < granted / 2 < self.samples.stalls.total

    def _charged_time(self, threads: "Sequence[ThreadTime]", wall: float) -> float:
        """Return the seconds of an answer that a fair clock counts. The time in which a thread ran counts in any case."""
        held = foreign_wait(threads, self._computed() - self._computed_before, self._sandbox.cores)
        return max(wall - max(held, 0.0), *(thread.ran for thread in threads), 0.0)

    def _computed(self) -> float:
        """Return the seconds of processor time of the sandbox so far; 0 unless the clock is fair, which needs a control group."""
        group = self._sandbox.group
        return group.computed() if self.fair and group is not None else 0.0

    def _crowded(self) -> bool:
        """Return whether more of its threads are ready to run than it has cores: then the bot causes its own waits."""
        would = 0
        for process in descendant_numbers(self._sandbox.pid):
            waits = RunQueueWaits(process)
            would += len(waits.running())
            waits.close()
        return would > self._sandbox.cores

    def raise_if_host_stalled(self, granted: float, wall: float, late: float, computed: float) -> None:
        """Raise HostStall if an answer was cut off because the machine was probably busy.

        With the fair clock the deadline has been extended as far as possible before this call.
        """
        if self.fair or (late > STALLED and computed < granted / 2) or self._has_stalled(granted, computed):
            self._stall(wall, late, computed)

    def _stall(self, wall: float, late: float, computed: float) -> None:
        """Raise HostStall. Return if the bot has had so many stalls that it is charged for them."""
        words = f"no answer after {wall:.3f} s: computed {computed:.3f} s, waited {self.waited:.3f} s, "
        sampled = zip(STALL_WORDS, self.samples.stalls, strict=True)
        words += "".join(f"{what} {seconds:.3f} s, " for what, seconds in sampled if seconds)
        words += f"host {late:.3f} s late"
        if not self._charged:
            raise HostStall(words)

    def total_wait(self) -> float:
        """Return the seconds that the process has waited for a processor since its start. Call this just before it is killed."""
        process = answering(self._sandbox)
        self.forget()
        with suppress(OSError, IndexError):
            return int(read_proc(f"/proc/{process}/schedstat").split()[1]) / 1e9
        return 0.0

    def forget(self) -> None:
        """Remove the process, and close its files."""
        self.waited, self._computed_before, self._held = 0.0, self._computed(), 0.0
        if self._waits is not None:
            self._waits.close()
            self._waits = None

    def _seen(self) -> "RunQueueWaits":
        """Return the waits of the process that answers. If there is none yet, return waits that are always 0."""
        if self._waits is None and (process := answering(self._sandbox)):
            self._waits = RunQueueWaits(process)
        return self._waits or RunQueueWaits(0)


class AnswerStatus(Enum):
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
        self._later: Sequence[float] = ()  # seconds granted to each answer of the batch; () for `move`
        self._count = 0  # of answers of the batch
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

    def prepare(self) -> None:
        """Prepare for questions that are about to be written: a fair clock measures waits from now on.

        On a busy machine it may take long until the host runs again, and the bot may wait meanwhile.
        """
        if self._policy.fair:
            self._policy.start_counting()

    def start(self, asked: float, granted: float, later: Sequence[float] = ()) -> None:
        """Start a batch that is sent at the time `asked`, after `prepare`. Its first answer is granted `granted` seconds.

        `later` has the seconds of all its answers if questions have limits of their own.
        """
        self.asked = self._last = asked
        self._later, self._count = later, 0
        self._marked = self._policy.fair
        self._granted = granted
        self._deadline = self.asked + granted * self._policy.stretch

    def answered(self, now: float, count: int = 1) -> float:
        """Record that answers have arrived; return the seconds since the question, or since the previous answer."""
        wall, self._last = now - self._last, now
        self._granted = self._move
        if self._later:
            self._count += count
            self._granted = self._later[min(self._count, len(self._later) - 1)]
        self._deadline = now + self._granted * self._policy.stretch
        self._marked = False
        return wall

    def time_taken(self, now: float, computed: Callable[[], float]) -> float:
        """Return the seconds that the next answer has taken at the time `now`, by the clock in force."""
        wall = now - self._last
        if not self._marked:  # a host that has not looked until then was itself delayed
            return min(wall, self._policy.marks_after + STALLED)
        return self._policy.time_taken(wall, computed())

    def begin_wait(self) -> None:
        """Record that the answer is slow and that waiting for it begins."""
        self._unread = time.perf_counter() > self._deadline

    def seconds_to_look(self) -> float:
        """Return the seconds until `look` must be called."""
        now, mark = time.perf_counter(), self._last + self._policy.marks_after
        if not self._marked and now >= mark:
            self._marked = True
            self._policy.start_counting()
        until = self._deadline if self._marked else min(mark, self._deadline)
        return max(until - now, 0)

    def look(self, has_output: Callable[[], bool], computed: Callable[[], float]) -> AnswerStatus:
        """Decide what to do about an answer that has not been read. `computed` returns the bot's processor time for it.

        Raise HostStall if the machine was busy and the bot was not.
        """
        now = time.perf_counter()
        if now < self._deadline:
            return AnswerStatus.WAIT
        self.overhead = now - self._deadline
        # The host woke up so late that output available now may have come in time.
        doubtful = self._unread or self.overhead > self._policy.doubt
        if doubtful and has_output():
            return AnswerStatus.READ
        extension = self._policy.extension(self._granted, now - self._last, self.overhead, computed())
        if not extension and not (doubtful and has_output()):
            return AnswerStatus.LATE
        self._deadline = now + extension
        return AnswerStatus.WAIT


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
        """Return the times of each thread since `start_counting`. For a newer thread, all its times count.

        A thread that has run since the last look has been ready since that look at most.
        """
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

    def running(self, states: str = "R") -> list[str]:
        """Return the threads that are ready to run or running."""
        self._find()
        return [name for name in self._open if self._state(name) in states]

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
