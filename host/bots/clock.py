"""Clock of one process: measures the time of each answer, and decides whether the answer is late.

How it works. An answer costs the wall time since its question, or since the previous answer if several questions were
asked at the same time. The time in which the bot waited for a processor because of other programs does not count. The
kernel counts these waits by thread; with a kernel that does not count them, all wall time counts. A fast answer costs
nothing to measure: the host reads the counters only when an answer turns out to be slow. Of the time before that moment,
at most UNMEASURED_S count: if more has passed, the host itself was delayed.

At the deadline the clock looks at the process. There are five results:

    output has arrived                                        the host reads it
    the bot still has time                                    the host waits until the next look
    the bot is late                                           a fault
    the machine kept the bot from running                     HostStall: the question is asked again, and no bot is charged
    the same, but the bot is charged for stalls               a fault

No answer takes more wall time than MAX_WALL_FACTOR times its limit. The clock of a bot that asks models
(calling_clock.py) stands still while a model does not answer. That time does not count here.

The time granted to an answer follows from the limits of the bot and from three policies (allowance.py): the first answer
of a process may take longer, a bank gives additional time, and the tables of a fixture share a budget of processor time.
"""

import time
from collections.abc import Callable, Sequence
from enum import Enum, auto

import trio

from host.base.errors import HostFailure
from host.bots.allowance import StartupAllowance, TableBudget, TimeBank
from host.bots.monitor import MonitoredSandbox
from host.bots.run_queue import Waits, are_crowded
from host.bots.values import HasQuestion, granted
from host.sandbox.limits import MAX_WALL_FACTOR, Limits
from protocols.wire import Answer, FaultKind, Move

UNMEASURED_S = 0.002
"""Maximum number of seconds that count before the host begins to measure the waits of the bot."""

SHORTEST_S = 0.001  # minimum time until an extended deadline is checked again
STALL_WORDS = ("blocked", "stopped from outside", "croupier paused", "throttled")  # the fields of Stalls


class HostStall(HostFailure):
    """Raised when an answer is missing because the machine was busy. The question is asked again, and the stall is reported."""


class ModelUnreachable(HostStall):
    """Raised when a model that a bot asks does not answer. The question is asked again; the bot is never charged for it."""


class AnswerStatus(Enum):
    """What to do about an answer that has not been read yet."""

    READ = auto()  # output is available, and may have come in time
    WAIT = auto()
    LATE = auto()


class Clock:
    """Times the answers of one process. All times are in seconds; moments are values of `time.perf_counter`.

    `asked` is the moment at which the batch was sent. Four values belong to the answer that is due. `granted` is the time
    that it may take. `free` is the part of this time that is not taken from the time bank. `waited` is the time for which
    the process had waited for a processor at the last look. `overhead` is the delay of the host's look after the deadline.
    """

    def __init__(
        self,
        limits: Limits,
        monitored: MonitoredSandbox,
        *,
        charged: bool = False,
        bank: TimeBank | None = None,
        allowance: StartupAllowance | None = None,
    ) -> None:
        """If `charged` is True, an answer is late even if the machine has stalled the bot. `bank` is None if there is none.

        All processes of the bot in a fixture share one `allowance`. If it is None, create a new one.
        """
        self._limits, self._monitored, self._charged = limits, monitored, charged
        self.allowance = allowance or StartupAllowance(limits.startup, limits.per_move)
        self.budget, self.bank = TableBudget(limits.cpu_table), bank
        self.asked = self.granted = self.free = self.overhead = 0.0
        self._waits = Waits(monitored.sandbox, monitored.computed)
        self._later: Sequence[float] = ()  # seconds granted to each answer of the batch; () for the limit of a move
        self._count = 0  # number of answers of the batch so far, if `_later` is not ()
        self._last = 0.0  # time of the last answer, or of the batch
        self._deadline = 0.0  # of the open answer
        self._held = 0.0  # seconds of the open answer that the bot is not charged for, by the last look
        self.wait = trio.CancelScope()  # in which a task waits for the open answer; cancel it to look now

    @property
    def waited(self) -> float:
        """Return the seconds that the process had waited for a processor at the last look."""
        return self._waits.waited

    def begin(self, questions: Sequence[HasQuestion], asked: float) -> None:
        """Start the clock for questions that are written at the time `asked` to a process that is alive."""
        per_move = self._limits.per_move
        limits = [question.limit for question in questions]
        later = [] if limits.count(None) == len(limits) else [granted(each, per_move) for each in questions]
        first, more = later[0] if later else per_move, self.allowance.seconds()
        if self.bank is not None:
            self.free = first + more
            more += self.bank.left
        self.start(asked, first + more, later)
        self._monitored.set_cpu_budget(self._limits.cpu * len(limits) + more, self.budget.left)

    def begin_process(self, question: HasQuestion) -> float:
        """Start the clock for a question that is asked now by the start of a process.

        Return the seconds of processor time that the answer may take.
        """
        banked = 0.0 if self.bank is None else self.bank.left
        self.free = granted(question, self._limits.per_move)
        allowed = min(self._limits.cpu + banked, self.budget.left)
        self._monitored.set_cpu_budget(allowed)
        self.forget()
        self.start(time.perf_counter(), self.free + banked)
        if not self._monitored.sandbox.keeper.warm:  # a process forked ahead may have waited before it is asked
            self._waits.begin_with_process()
        self._monitored.samples.begin()
        return allowed

    def start(self, asked: float, granted_first: float, later: Sequence[float] = ()) -> None:
        """Start a batch that is sent at the time `asked`. Its first answer is granted `granted_first` seconds.

        If a question has its own limit, `later` has the seconds for each answer of the batch; otherwise it is empty.
        """
        self.asked = self._last = asked
        self._later, self._count = later, 0
        self.granted, self._deadline = granted_first, asked + granted_first
        self._waits.are_measured = False

    def take(self, question: HasQuestion) -> None:
        """Record the time in the bank when a question is asked, for the first time or again (see `TimeBank.begin`)."""
        if self.bank is not None:
            self.bank.begin(question.table, question.number)

    def answered(self, now: float, count: int = 1) -> float:
        """Record that `count` answers have arrived. Return the seconds since the question, or since the previous answer."""
        spent = self._spend(now) if self.bank is not None else 0.0
        wall, self._last = now - self._last, now
        if self.allowance.is_open:
            self.allowance.answered(wall - spent)
        self.granted = self._limits.per_move
        if self._later:
            self._count += count
            self.granted = self._later[min(self._count, len(self._later) - 1)]
        self._deadline = now + self.granted
        self._waits.are_measured = False
        return wall

    def failed(self, wall: float, *, is_late: bool) -> None:
        """Record a fault that ends the process, `wall` seconds after the question. `wall` is 0 if no question was open.

        Take the time of the open answer from the bank; if the answer is late, empty the bank. Call this while the process is
        still alive.
        """
        spent = 0.0
        if self.bank is not None and wall:
            spent = self._spend(time.perf_counter())
            if is_late:
                spent += self.bank.spend(self.bank.left)
        self.allowance.failed(wall - spent)

    def ended(self, wall: float, computed: float, answer: Answer) -> None:
        """Take the time of an answer from the bank. After a move, add the increment. After a time-out, empty the bank.

        The process of the answer has ended after `wall` seconds, and has used `computed` seconds of processor time.
        """
        if self.bank is not None:
            self.bank.spend(self._time_taken(wall, computed) - self.free)
            if isinstance(answer, Move):
                self.bank.add()
            elif answer.kind is FaultKind.TIMEOUT:
                self.bank.spend(self.bank.left)

    def _spend(self, now: float) -> float:
        """Take the time of the open answer from the bank; return the seconds that were taken."""
        assert self.bank is not None
        wall = now - self._last
        if not self._waits.are_measured:  # a host that has not looked until then was itself delayed
            return self.bank.spend(min(wall, UNMEASURED_S) - self.free)
        self._monitored.samples.sample()
        self._held = wall - self._waits.look(wall).charged
        return self.bank.spend(self._time_taken(wall, self._monitored.computed()) - self.free)

    def _time_taken(self, wall: float, computed: float) -> float:
        """Return the seconds that an answer has cost, without stalls of the machine. Waits after the last look also cost.

        Call this once for each answer. The answer has taken `wall` seconds, of which the bot ran for `computed`.
        """
        stalls, cores = self._monitored.samples.stalls, self._monitored.sandbox.cores
        stalls = stalls._replace(blocked=self.bank.forgive(stalls.blocked) if self.bank is not None else 0.0)
        held = max(self._held, stalls.throttled)  # a throttled thread also waits for a processor
        counted = wall - held - (stalls.total - stalls.throttled)
        # While croupier itself was stopped, the bot may have run.
        return max(counted, min(computed / cores, wall)) if stalls.total else max(counted, 0.0)

    def measure(self, expected: float = UNMEASURED_S) -> None:
        """Begin to measure the waits of the bot, unless they are measured already: the answer is slow.

        If more than `expected` seconds have passed since the question, the host was delayed, and the bot is not charged
        for the rest.
        """
        if not self._waits.are_measured:
            self._held = max(time.perf_counter() - self._last - expected, 0.0)
            self._waits.begin(self._held)
            self._monitored.samples.begin()

    def seconds_to_look(self) -> float:
        """Return the seconds until `look` must be called. The answer is slow, so begin to measure the waits of the bot."""
        self.measure()
        return max(self._deadline - time.perf_counter(), 0.0)

    def look(self, has_output: Callable[[], bool]) -> AnswerStatus:
        """Decide what to do about an answer that has not been read. Raise HostStall if the machine delayed the answer.

        Output that has arrived before this look is read even after the deadline: it may have arrived in time.
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
        """Return the seconds that an answer may still take; 0 if it is late and the bot is charged for that.

        The answer has taken `wall` seconds. Raise HostStall if the machine, not the bot, caused the delay, and the bot is not
        charged for stalls.
        """
        self._monitored.samples.sample()
        stalled, may_take = self._monitored.samples.stalls.total, self.granted
        if self.bank is not None and stalled <= may_take / 2:
            may_take += stalled  # a stall costs no bank; after a longer one, the question is asked again
        seen = self._waits.look(wall)
        due, patience, self._held = may_take - seen.charged, MAX_WALL_FACTOR * may_take - wall, wall - seen.charged
        is_late = due <= 0 and seen.at_least >= may_take
        if patience > 0 and not is_late:
            return max(min(due, patience), SHORTEST_S)
        has_computed = self._monitored.computed() >= may_take / 2
        if (not is_late and not are_crowded(self._monitored.sandbox)) or (stalled > may_take / 2 and not has_computed):
            self.stall(wall)
        return 0.0

    def stall(self, wall: float) -> None:
        """Raise HostStall for an answer that is missing after `wall` seconds. If the bot is charged for stalls, return."""
        words = (
            f"no answer after {wall:.3f} s: computed {self._monitored.computed():.3f} s, waited {self.waited:.3f} s, "
        )
        sampled = zip(STALL_WORDS, self._monitored.samples.stalls, strict=True)
        words += "".join(f"{what} {seconds:.3f} s, " for what, seconds in sampled if seconds)
        words += f"host {self.overhead:.3f} s late"
        if not self._charged:
            held = self._held + self._monitored.samples.stalls.total
            self.allowance.stalled(max(wall - held, min(self._monitored.computed(), wall)))
            raise HostStall(words)

    def total_wait(self) -> float:
        """Return the seconds that the process has waited for a processor since its start, and forget the process.

        Call this just before the process is killed.
        """
        waited = self._waits.total()
        self.forget()
        return waited

    def forget(self) -> None:
        """Forget the process: it has ended, or is about to."""
        self._held = 0.0
        self._waits.forget()
