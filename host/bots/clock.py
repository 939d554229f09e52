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

No answer takes more than MAX_WALL_FACTOR times its limit of wall time. The clock of a bot that asks models
(calling_clock.py) stands still while these do not answer, and that time does not count here.

What an answer is granted follows from the limits of the bot and from three policies (allowance.py): the start of a process
takes longer, a bank lends time, and the tables of a fixture have a budget of processor time.
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
"""The most seconds that count from a question until the waits of the bot are measured."""

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

    `asked` is when the batch was sent. Of the answer that is awaited, `granted` is how long it may take, `free` how much of
    that the time bank does not pay for, `waited` how long the process had waited for a processor at the last look, and
    `overhead` how much too late the host looked at its deadline.
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
        """A bot that is `charged` is late even if the machine has stalled it. `allowance` is that of its fixture."""
        self._limits, self._monitored, self._charged = limits, monitored, charged
        self.allowance = allowance or StartupAllowance(limits.startup, limits.per_move)
        self.budget, self.bank = TableBudget(limits.cpu_table), bank
        self.asked = self.granted = self.free = self.overhead = 0.0
        self._waits = Waits(monitored.sandbox, monitored.computed)
        self._later: Sequence[float] = ()  # seconds granted to each answer of the batch; () for the limit of every move
        self._count = 0  # of answers of the batch
        self._last = 0.0  # time of the last answer, or of the batch
        self._deadline = 0.0  # of the open answer
        self._held = 0.0  # seconds of it that the bot is not charged for, by the last look
        self.wait = trio.CancelScope()  # of the task that waits for it until the next look: to cancel it is to look now

    @property
    def waited(self) -> float:
        """Return the seconds that the process has waited for a processor, by the last look."""
        return self._waits.waited

    def begin(self, questions: Sequence[HasQuestion], asked: float) -> None:
        """Start the open questions of a process that is alive, which are written at the time `asked`."""
        per_move = self._limits.per_move
        limits = [question.limit for question in questions]
        later = [] if limits.count(None) == len(limits) else [granted(each, per_move) for each in questions]
        first, more = later[0] if later else per_move, self.allowance.seconds()
        if self.bank is not None:
            self.free = first + more
            more += self.bank.left
        self.start(asked, first + more, later)
        self._monitored.set_cpu_budget(self._limits.cpu * len(limits) + more, self.budget.left)

    def begin_process(self, question: HasQuestion, spent: float) -> float:
        """Start a question that is asked now, and for which a process is started.

        `spent` are the seconds of processor time of the fixture so far. Return those that the answer may take.
        """
        banked = 0.0 if self.bank is None else self.bank.left
        self.free = granted(question, self._limits.per_move)
        allowed = min(self._limits.cpu + banked, self.budget.begin(question.table, spent))
        self._monitored.set_cpu_budget(allowed)
        self.forget()
        self.start(time.perf_counter(), self.free + banked)
        if not self._monitored.sandbox.keeper.warm:  # a process forked ahead may have waited before it is asked
            self._waits.begin_with_process()
        self._monitored.samples.begin()
        return allowed

    def start(self, asked: float, granted_first: float, later: Sequence[float] = ()) -> None:
        """Start a batch that is sent at the time `asked`. Its first answer is granted `granted_first` seconds.

        `later` has the seconds of all its answers if questions have limits of their own.
        """
        self.asked = self._last = asked
        self._later, self._count = later, 0
        self.granted, self._deadline = granted_first, asked + granted_first
        self._waits.are_measured = False

    def take(self, question: HasQuestion) -> None:
        """Record what is in the bank when a question is asked for the first time, or again."""
        if self.bank is not None:
            self.bank.begin(question.table, question.number)

    def answered(self, now: float, count: int = 1) -> float:
        """Record that answers have arrived; return the seconds since the question, or since the previous answer."""
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
        """Record a fault that ends the process, `wall` seconds after the question; 0: it was not asked. It must be alive."""
        spent = 0.0
        if self.bank is not None and wall:
            spent = self._spend(time.perf_counter())
            if is_late:
                spent += self.bank.spend(self.bank.left)
        self.allowance.failed(wall - spent)

    def ended(self, wall: float, computed: float, answer: Answer) -> None:
        """Take the time of an answer from the bank: its process has ended after `wall` seconds, and ran for `computed`.

        Add the increment for a move.
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
        """Return the seconds that an answer has cost, without stalls of the machine. Waits after the last look are counted.

        Call this once for each answer. It has taken `wall` seconds, of which the bot ran for `computed`.
        """
        stalls, cores = self._monitored.samples.stalls, self._monitored.sandbox.cores
        stalls = stalls._replace(blocked=self.bank.forgive(stalls.blocked) if self.bank is not None else 0.0)
        held = max(self._held, stalls.throttled)  # a throttled thread also waits for a processor
        counted = wall - held - (stalls.total - stalls.throttled)
        # While croupier itself was stopped, the bot may have run.
        return max(counted, min(computed / cores, wall)) if stalls.total else max(counted, 0.0)

    def measure(self, expected: float = UNMEASURED_S) -> None:
        """Measure waits from now on, unless they are measured: the answer is slow.

        A host that was not delayed calls this at most `expected` seconds after the question.
        """
        if not self._waits.are_measured:
            self._held = max(time.perf_counter() - self._last - expected, 0.0)
            self._waits.begin(self._held)
            self._monitored.samples.begin()

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
        """Raise HostStall for an answer after `wall` seconds. Return if the bot is charged for stalls."""
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
        """Return the seconds that the process has waited for a processor since its start. Call this just before it is killed."""
        waited = self._waits.total()
        self.forget()
        return waited

    def forget(self) -> None:
        """Forget the process: it has ended, or is about to."""
        self._held = 0.0
        self._waits.forget()
