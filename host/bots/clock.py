"""The clock of one process that is asked: what was asked and granted, how long the bot waited, and whether it is late.

How it works. An answer costs the wall time since its question, or since the previous answer if several questions were
asked at once, without the time in which the bot waited for a processor because of other programs. The kernel counts these
waits by thread; a kernel that does not count them leaves wall time. A fast answer costs nothing to measure: the counters
are read from the moment at which an answer turns out to be slow. Of the time before that moment, at most UNMEASURED_S
count, because only a host that was delayed itself looks later.

At the deadline the clock looks, and there are four results:

    output is there, or the bot still has time      it is read, or waited for
    the bot is late                                 a fault
    the machine kept it from running                HostStall: the question is asked again, nobody is charged
    the bot is late, and is charged for stalls      a fault

No answer takes more than MAX_WALL_FACTOR times its limit of wall time.
"""

import time
from collections.abc import Callable, Sequence
from enum import Enum, auto

from host.base.errors import HostFailure
from host.bots.allowance import TimeBank
from host.bots.monitor import MonitoredSandbox
from host.bots.run_queue import (
    RunQueueWaits,
    ThreadTime,
    answering,
    are_crowded,
    foreign_wait,
    waited_since_start,
)
from host.sandbox.limits import MAX_WALL_FACTOR

UNMEASURED_S = 0.002
"""The most seconds that count from a question until the waits of the bot are measured."""

SHORTEST_S = 0.001  # minimum time until an extended deadline is checked again
STALL_WORDS = ("blocked", "stopped from outside", "croupier paused", "throttled")  # the fields of Stalls


class HostStall(HostFailure):
    """Raised when an answer is missing because the machine was busy. The question is asked again, and the stall is reported."""


class AnswerStatus(Enum):
    """What to do about an answer that has not been read yet."""

    READ = auto()  # output is available, and may have come in time
    WAIT = auto()
    LATE = auto()


class Clock:
    """Times the answers of one process. All times are in seconds; those of the day are by `time.perf_counter`.

    `asked` is the time of the batch. Of the open answer, `granted` is what it may take, `waited` how long the process has
    waited for a processor by the last look, and `overhead` how much too late the host looked at its deadline.
    """

    def __init__(
        self, monitored: MonitoredSandbox, per_move: float, *, charged: bool = False, bank: TimeBank | None = None
    ) -> None:
        """A bot that is `charged` is late even if the machine has stalled it."""
        self._monitored, self._per_move, self._charged, self._bank = monitored, per_move, charged, bank
        self._sandbox, self._samples = monitored.sandbox, monitored.samples
        self.asked = self.granted = self.waited = self.overhead = 0.0
        self._later: Sequence[float] = ()  # seconds granted to each answer of the batch; () for `per_move`
        self._count = 0  # of answers of the batch
        self._last = 0.0  # time of the last answer, or of the batch
        self._deadline = 0.0  # of the open answer
        self._is_measured = False  # whether its waits are being measured
        self._held = 0.0  # seconds that it is not charged for, by the last look
        self._unmeasured = 0.0  # seconds of these before it was measured
        self._computed_before = 0.0  # processor time of the open questions until then
        self._waits: RunQueueWaits | None = None

    def start(self, asked: float, granted: float, later: Sequence[float] = ()) -> None:
        """Start a batch that is sent at the time `asked`. Its first answer is granted `granted` seconds.

        `later` has the seconds of all its answers if questions have limits of their own.
        """
        self.asked = self._last = asked
        self._later, self._count = later, 0
        self.granted, self._deadline, self._is_measured = granted, asked + granted, False

    def start_process(self, asked: float, granted: float) -> None:
        """Start a question that is asked at that time, and for which a process is started. Its waits count from its start."""
        self.forget()
        self.start(asked, granted)
        self._is_measured = not self._sandbox.keeper.warm  # a process forked ahead may have waited before it is asked
        self._samples.begin()

    def answered(self, now: float, count: int = 1) -> float:
        """Record that answers have arrived; return the seconds since the question, or since the previous answer."""
        wall, self._last = now - self._last, now
        self.granted = self._per_move
        if self._later:
            self._count += count
            self.granted = self._later[min(self._count, len(self._later) - 1)]
        self._deadline, self._is_measured = now + self.granted, False
        return wall

    def measure(self, expected: float = UNMEASURED_S) -> None:
        """Measure waits from now on, unless they are measured: the answer is slow.

        A host that was not delayed calls this at most `expected` seconds after the question.
        """
        if not self._is_measured:
            self._is_measured = True
            self._unmeasured = self._held = max(time.perf_counter() - self._last - expected, 0.0)
            self.waited, self._computed_before = 0.0, self._monitored.computed()
            self._threads().start_counting()
            self._samples.begin()

    def seconds_to_look(self) -> float:
        """Return the seconds until `look` must be called. The answer is slow."""
        self.measure()
        return max(self._deadline - time.perf_counter(), 0.0)

    def look(self, has_output: Callable[[], bool]) -> AnswerStatus:
        """Decide what to do about an answer that has not been read. Raise HostStall if the machine is to blame for that.

        Output that is there may have come in time: the deadline is not over before somebody looks.
        """
        now = time.perf_counter()
        if now < self._deadline:
            return AnswerStatus.WAIT
        self.overhead = now - self._deadline
        if has_output():
            return AnswerStatus.READ
        extension = self.extension(now - self._last)
        if not extension and not has_output():
            return AnswerStatus.LATE
        self._deadline = now + extension
        return AnswerStatus.WAIT

    def extension(self, wall: float) -> float:
        """Return the seconds that an answer may still take; 0 if it is late and the bot is to blame.

        The answer has taken `wall` seconds. Raise HostStall if the machine was busy and the bot was not.
        """
        threads, granted = self._look_at_threads(), self.granted
        stalled = self._samples.stalls.total
        if self._bank is not None and stalled <= granted / 2:
            granted += stalled  # a stall costs no bank; after a longer one, the question is asked again
        charged = self._charged_time(threads, wall)
        due, patience, self._held = granted - charged, MAX_WALL_FACTOR * granted - wall, wall - charged
        # The kernel counts a wait when it is over. One that is not over may be as long as the thread is ready.
        unknown = [each._replace(waited=min(each.waited + each.ready, wall - each.ran)) for each in threads]
        is_late = due <= 0 and self._charged_time(unknown, wall) >= granted
        if patience > 0 and not is_late:
            return max(min(due, patience), SHORTEST_S)
        has_computed = self._monitored.computed() >= granted / 2
        if (not is_late and not are_crowded(self._sandbox)) or (not has_computed and stalled > granted / 2):
            self.stall(wall)
        return 0.0

    def stall(self, wall: float) -> None:
        """Raise HostStall for an answer after `wall` seconds. Return if the bot is charged for stalls."""
        words = (
            f"no answer after {wall:.3f} s: computed {self._monitored.computed():.3f} s, waited {self.waited:.3f} s, "
        )
        sampled = zip(STALL_WORDS, self._samples.stalls, strict=True)
        words += "".join(f"{what} {seconds:.3f} s, " for what, seconds in sampled if seconds)
        words += f"host {self.overhead:.3f} s late"
        if not self._charged:
            raise HostStall(words)

    def time_taken(self, now: float) -> float:
        """Return the seconds that the open answer has cost at the time `now`, without stalls of the machine.

        Call this once for each answer. The process must be alive.
        """
        wall = now - self._last
        if not self._is_measured:  # a host that has not looked until then was itself delayed
            return min(wall, UNMEASURED_S)
        self._held = wall - self._charged_time(self._look_at_threads(), wall)
        return self.time_taken_before(wall, self._monitored.computed())

    def time_taken_before(self, wall: float, computed: float) -> float:
        """Return what `time_taken` returns, of a process that has ended: waits after the last look are counted.

        The answer has taken `wall` seconds, of which the bot ran for `computed`.
        """
        stalls = self._samples.stalls
        stalls = stalls._replace(blocked=self._bank.forgive(stalls.blocked) if self._bank is not None else 0.0)
        held = max(self._held, stalls.throttled)  # a throttled thread also waits for a processor
        counted = wall - held - (stalls.total - stalls.throttled)
        # While croupier itself was stopped, the bot may have run.
        return max(counted, min(computed / self._sandbox.cores, wall)) if stalls.total else max(counted, 0.0)

    def _look_at_threads(self) -> list[ThreadTime]:
        """Return the times of the threads since they are measured, or since the process started."""
        self._samples.sample()
        threads = self._threads().since()
        self.waited = max((thread.waited for thread in threads), default=0.0)
        return threads

    def _charged_time(self, threads: Sequence[ThreadTime], wall: float) -> float:
        """Return the seconds of an answer that the bot is charged for: in any case those in which a thread ran."""
        computed = self._monitored.computed() - self._computed_before
        held = self._unmeasured + max(foreign_wait(threads, computed, self._sandbox.cores), 0.0)
        return max(wall - held, *(thread.ran for thread in threads), 0.0)

    def total_wait(self) -> float:
        """Return the seconds that the process has waited for a processor since its start. Call this just before it is killed."""
        process = answering(self._sandbox)
        self.forget()
        return waited_since_start(process)

    def forget(self) -> None:
        """Remove the process, and close its files."""
        self.waited = self._computed_before = self._held = self._unmeasured = 0.0
        if self._waits is not None:
            self._waits.close()
            self._waits = None

    def _threads(self) -> RunQueueWaits:
        """Return the waits of the process that answers. If there is none yet, return waits that are always 0."""
        if self._waits is None and (process := answering(self._sandbox)):
            self._waits = RunQueueWaits(process)
        return self._waits or RunQueueWaits(0)
