"""A bot whose process lives on between questions: they go in and answers come out through pipes, a batch at a time."""

import os
import time
from collections.abc import Sequence

import trio

from host.base.errors import AmbiguousAnswers
from host.bots.allowance import StartupAllowance, TableBudget
from host.bots.batch_state import LineReader
from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.child_process import ChildProcess
from host.bots.deadline import AnswerTimer, Look
from host.bots.process_control import ProcessControl
from host.bots.stderr_log import StderrLog
from host.bots.values import EVIDENCE, OVERSPENT, TIMED_TABLES, Batch, BatchResult, HasQuestion, Outcome, ProcessTotals
from protocols import PROTOCOLS
from protocols.wire import FaultKind

ORDERLY_EXIT_S = 0.05  # from the end of a process's input to the end of its life
MAX_SELECTABLE = 1024  # descriptors that select(2) can wait for


class PersistentProcess:
    """Asks one process at a time. A fault kills it, and the next batch starts a new one."""

    def __init__(self, context: BotContext) -> None:
        bot = context.bot
        self._context, self._monitored = context, context.monitored
        self._protocol = PROTOCOLS[bot.spec.protocol]
        self._reader = LineReader(self._protocol, context.grammar, bot.limits.output, table_ids=bot.spec.table_ids)
        self._timer = AnswerTimer(context.policy, bot.limits.move)
        self._allowance = StartupAllowance(bot.limits.startup, bot.limits.move)
        self._budget = TableBudget(bot.limits.cpu_table)
        self._control, self.stderr_log = ProcessControl(context), StderrLog()
        self._child: ChildProcess | None = None  # the last one; it may be closed
        self._table = 0  # of a process that lives for one table
        self._questions: Sequence[HasQuestion] = ()
        self._result: BatchResult | None = None  # of the batch, once that has been written to the process
        self._usage_before: float | None = None  # seconds of processor time; None where the batch's are not measured

    @property
    def totals(self) -> ProcessTotals:
        """What all processes have used so far."""
        return self._control.totals

    @property
    def output(self) -> int:
        """The descriptor of its answers."""
        return self._living.output

    @property
    def is_answered(self) -> bool:
        """Whether all of the batch is answered, without a fault."""
        return self._living.is_answered

    @property
    def _living(self) -> ChildProcess:
        assert self._child is not None, "a process is started before it is asked"
        return self._child

    def send(self, batch: Batch) -> "PersistentProcess | None":
        """Take the next batch. Return itself if the process has it already, None if `finish` must prepare one."""
        self._questions, child, bot = batch.questions, self._child, self._context.bot
        if child is None:
            return None
        for table in batch.ended_tables:
            child.table_ids.end(table)
        if not (child.is_open and batch.questions) or self._allowance.is_open:
            return None
        if bot.spec.lifetime == "table" or self._budget.is_limited or child.has_early_output():
            return None
        self._write(child)
        return None if child.unsent or child.output >= MAX_SELECTABLE else self

    async def finish(self) -> BatchResult:
        """Return what the batch brought, in order; after a fault that ends the process the rest is not asked."""
        if self._result is None:
            failed = await self._prepare()
            if failed is not None:
                return BatchResult([], [], [], [], failed)
            self._write(self._living)
        if self._living.is_waiting:
            await self._wait(self._living)
        return await self._conclude(self._living)

    async def _prepare(self) -> Outcome | None:
        """Make a process ready to be asked; return the outcome of the first question if that cannot be."""
        is_open = self._child is not None and self._child.is_open
        if not is_open:
            await self._control.reap()
        tables = [question.table for question in self._questions]
        if self._budget.begin(max(tables), self.totals.cpu) <= 0:
            return OVERSPENT
        if self._context.bot.spec.lifetime == "table" and tables[0] != self._table:
            await self.shut_down(ORDERLY_EXIT_S)
            self._table, is_open = tables[0], False
        if not is_open:
            error = await self._start()
            if error:
                return Outcome(fault_of(Ending(start_error=os.strerror(error))), ended="could not be started")
        elif self._living.has_early_output():
            return await self._fail(self._living, 0.0)
        return None

    async def _start(self) -> int:
        """Start a process; return 0 or the errno that says why not."""
        child = self._child = ChildProcess(self._protocol, self._reader, self.stderr_log)
        self._allowance.start()
        self._context.nursery.start_soon(child.stderr.drain_to_end)
        error = await self._control.start(child.inherited)
        if error:
            await self._control.kill(child, 0.0)
        return error

    def _write(self, child: ChildProcess) -> None:
        """Write the batch to the process."""
        questions, limits = self._questions, self._context.bot.limits
        allowed = self._allowance.seconds()
        self._timer.start(limits.move + allowed)
        self._monitored.turn.thaw()
        self._monitored.set_cpu_budget(limits.computing * len(questions) + allowed, self._budget.left)
        # One reading of the processor time for a batch, and only at the first tables: a reading costs a microsecond.
        self._usage_before = self._monitored.total() if questions[0].table <= TIMED_TABLES else None
        self._result = BatchResult([], [], [], [])
        child.ask(questions)

    def read_available(self, now: float) -> bool:
        """Read what has come by now; return whether that ends the batch."""
        child, result = self._living, self._result
        answers, raws = child.read()
        if answers and result is not None:
            wall = self._timer.answered(now)
            if self._allowance.is_open:
                self._allowance.answered(wall)
            result.answers.extend(answers)
            result.raws.extend(raws)
            result.walls.append(wall)
            if len(answers) > 1:
                result.walls.extend([0.0] * (len(answers) - 1))  # they came together with the first
        return not child.is_waiting

    async def _wait(self, child: ChildProcess) -> None:
        """Wait for the answers that are due, each until its own deadline, in however many pieces it comes."""
        if not child.unsent:
            return await self._wait_for_answers(child)
        async with trio.open_nursery() as helpers:  # it does not take its questions at once
            helpers.start_soon(child.write_on)
            await self._wait_for_answers(child)
            helpers.cancel_scope.cancel()

    async def _wait_for_answers(self, child: ChildProcess) -> None:
        self._monitored.drag_on()
        self._timer.begin_wait()
        while True:
            with trio.move_on_after(self._timer.seconds_to_look()) as scope:
                await trio.lowlevel.wait_readable(child.output)
            look = Look.READ
            if scope.cancelled_caught:
                look = self._timer.look(child.has_output, self._monitored.computed)
            if look is Look.LATE:
                return child.fail(FaultKind.TIMEOUT)
            if look is Look.READ and self.read_available(time.perf_counter()):
                return None

    async def _conclude(self, child: ChildProcess) -> BatchResult:
        """Return what the batch brought."""
        result, self._result = self._result or BatchResult([], [], [], []), None
        limit = self._monitored.final_check(time.perf_counter() - self._timer.asked)
        if child.violation is None:
            if limit is None:
                if self._usage_before is not None and (usage := self._monitored.total()) is not None:
                    count = len(result.answers)
                    result.cpus.extend([(usage - self._usage_before) / count] * count)
                self._monitored.turn.mark_idle()
                return result
            result.answers.pop()  # the last one passed a limit
            result.walls.pop()
            child.fail(limit, result.raws.pop())
        wall = time.perf_counter() - self._timer.asked - sum(result.walls)
        return result._replace(failed=await self._fail(child, wall))

    async def _fail(self, child: ChildProcess, wall: float) -> Outcome:
        """Kill the process; return the outcome of the question that its violation counts against.

        Raise AmbiguousAnswers if nobody can tell which question that is.
        """
        self._raise_if_ambiguous(child)
        violation = child.violation
        assert violation is not None
        limit, waited, unanswered = self._monitored.limit_exceeded, self._timer.waited, self._allowance.is_open
        # A process that has closed its output is about to exit; any other is killed at once.
        ended = await self._control.kill(child, ORDERLY_EXIT_S if violation.fault.kind is FaultKind.EXIT else 0.0)
        crashed = ended.status != 0 and not ended.stopped
        fault = fault_of(Ending(violation.fault, limit, oom_kills=ended.killed, crashed=crashed))
        self._allowance.failed(wall, fault.kind)
        cpu = ended.cpu if unanswered else self._monitored.cost(ended.cpu)
        outcome = Outcome(fault, violation.raw[:EVIDENCE], wall, cpu, ended.words, child.stderr.tail())
        if fault.kind is FaultKind.TIMEOUT:
            return outcome._replace(waited=waited, overhead=self._timer.overhead)
        return outcome

    def stderr_tail(self, _table: int) -> bytes:
        """Return the end of what the process has written on standard error until now."""
        return self._child.stderr.tail() if self._child is not None else b""

    async def shut_down(self, patience: float) -> None:
        """End the process: its input is closed, and everything is killed when it has exited or patience is at an end.

        Raise AmbiguousAnswers if it has been asked several questions at once and written more lines than that.
        """
        child = self._child
        if child is None or not child.is_open:
            await self._control.reap()
            return
        await self._control.shut_down(child, patience)
        if patience:
            self._raise_if_ambiguous(child)

    def _raise_if_ambiguous(self, child: ChildProcess) -> None:
        if child.violation is not None and child.violation.ambiguous:
            raise AmbiguousAnswers(self._context.bot.name)
