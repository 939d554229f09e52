"""Runs a bot whose program is started again for each question."""

import os
import time
from collections.abc import Sequence

from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.bot_spec import BuiltBot
from host.bots.clock import HostStall
from host.bots.process_control import ProcessControl
from host.bots.stderr_log import ends_of
from host.bots.values import OVERSPENT, Batch, BatchResult, HasQuestion, Outcome, ProcessTotals
from host.sandbox.keeper import FLOODED, LONGEST_QUESTION, MOST_QUESTION_WORDS, OVER_CPU, Ended, Overdue
from host.sandbox.limits import MAX_WALL_FACTOR
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, View

MIN_MEASURED_WAIT_S = 0.02
"""Seconds until the host begins to measure the waits of a process that was forked before its question, and seconds between
two looks at a process with a bank."""


def question_too_long(bot: BuiltBot, view: View) -> str:
    """Return why a question cannot be the arguments of a process; "" if it can, or if the bot reads questions from a pipe.

    A question that is too long is the fault of the game.
    """
    if PROTOCOLS[bot.spec.protocol].persistent:
        return ""
    words = bot.spec.ask(view)
    size = sum(map(len, words)) + len(words)
    if len(words) <= MOST_QUESTION_WORDS and size <= LONGEST_QUESTION:
        return ""
    return (
        f"it asks {bot.name}, over argv, a question of {size} bytes; at most {LONGEST_QUESTION >> 10} KiB are possible"
    )


class OneShot:
    """Asks a bot by starting its program with the question as arguments."""

    quick = None

    def __init__(self, context: BotContext) -> None:
        self._context, self._clock = context, context.clock
        self._limits, self._monitored = context.bot.limits, context.monitored
        self._protocol = PROTOCOLS[context.bot.spec.protocol]
        self._control, self.stderr_log = ProcessControl(context), context.stderr_log
        self._result = BatchResult.empty()
        self._questions: Sequence[HasQuestion] = ()
        self._stderr: dict[int, bytes] = {}  # standard error of the last batch, by table
        self._allowed = 0.0  # seconds of processor time for the question
        self._late = False  # whether the host has killed the process because the answer was late
        self._waited = 0.0
        self.is_timed = True

    @property
    def totals(self) -> ProcessTotals:
        """Return the usage of all processes so far."""
        return self._control.totals

    def send(self, batch: Batch) -> None:
        """Take the next batch. Return None, because there is no process to poll: `finish` starts one for each question."""
        self._questions = batch.questions

    async def finish(self) -> BatchResult:
        """Return the results of the batch, in order. After a fault, later questions are not asked."""
        result = self._result = BatchResult.empty()
        self._stderr.clear()
        for question in self._questions:
            outcome = await self._ask(question)
            self._stderr[question.table] = outcome.stderr
            if isinstance(outcome.answer, Fault):
                return result._replace(failed=outcome)
            result.add(outcome)
        return result

    def answered(self) -> BatchResult:
        """Return the results of the batch so far."""
        return self._result

    async def _ask(self, question: HasQuestion) -> Outcome:
        await self._control.reap()
        clock, monitored, keeper = self._clock, self._monitored, self._context.sandbox.keeper
        clock.take(question)
        if clock.budget.begin(question.table, self._control.totals.cpu) <= 0:
            return OVERSPENT
        monitored.new_process()
        self._allowed, self._late, self._waited = clock.begin_process(question), False, 0.0
        monitored.mark_slow(clock.asked)
        look = Overdue(min(clock.free, MIN_MEASURED_WAIT_S) if keeper.warm else clock.free, self._overdue)
        limits, wall = self._limits._replace(cpu=self._allowed), MAX_WALL_FACTOR * clock.granted
        words = [*self._context.argv, *self._context.bot.spec.ask(question.view)]
        try:
            ended = await keeper.ask(words, self._context.environment(), limits, wall, look)
        finally:
            took = time.perf_counter() - clock.asked
            monitored.final_check(0.0)  # its usage is reported with its end
        self.stderr_log.question = question
        self.stderr_log.append(ended.marked_stderr)
        self._control.count(ended, starts=1, waited=self._waited)
        answer = self._judge(ended)
        clock.ended(ended.wall, ended.cpu, answer)
        return Outcome(
            answer,
            ended.output,
            ended.wall,
            ended.cpu,
            ended.words,
            ends_of(ended.stderr, ended.complaints),
            waited=self._waited,
            overhead=max(took - ended.wall, 0.0),
            stalls=monitored.samples.stalls,
        )

    def _overdue(self, wall: float) -> float:
        """Return the seconds until the next look at a slow process. Kill it if it is late."""
        clock = self._clock
        clock.measure(MIN_MEASURED_WAIT_S)
        if wall < clock.granted and clock.bank is None:
            return clock.granted - wall
        try:
            extension = clock.extension(wall)
        except HostStall:
            return clock.granted  # its keeper kills it in the end, and reports that
        finally:
            self._waited = min(clock.waited, wall)
        if not extension:
            self._late = True
            self._context.sandbox.keeper.kill_now()
        if clock.bank is not None and extension:
            # The process can answer before its deadline, and its waits are lost with it.
            return min(extension, MIN_MEASURED_WAIT_S)
        return extension or clock.granted

    def _judge(self, ended: Ended) -> Answer:
        """Return the answer of a process, or its gravest fault. Raise HostStall if the machine was too busy."""
        ending = Ending(
            limit=self._monitored.limit_exceeded,
            start_error=os.strerror(ended.error) if ended.error else "",
            oom_kills=ended.killed,
            flooded=bool(ended.flags & FLOODED),
            late=ended.timed_out or (self._late and ended.stopped),
            over_cpu=bool(ended.flags & OVER_CPU) or ended.cpu > self._allowed,
            over_memory=self._context.sandbox.group is None and ended.memory > self._limits.memory,
            crashed=ended.status != 0 and not ended.stopped,
        )
        if ending.passed_no_limit and ended.output:
            return self._protocol.receive(self._context.grammar, ended.output)
        fault = fault_of(ending)
        if fault.kind is FaultKind.TIMEOUT and not self._late:
            self._clock.stall(ended.wall)  # its deadline has been extended as far as possible
        return fault

    def stderr_tail(self, table: int) -> bytes:
        """Return the start and the end of the standard error of the table's question in the last batch, or b""."""
        return self._stderr.get(table, b"")

    async def shut_down(self, _patience: float) -> None:
        """Wait until all killed processes are gone, because the fixture has ended."""
        await self._control.reap()
        self._clock.forget()
