"""Runs a bot whose process stays alive between questions. Batches of questions and answers go through pipes."""

import os
import time
from collections.abc import Sequence

import trio

from host.base.errors import AmbiguousAnswers
from host.bots.allowance import StartupAllowance, TableBudget
from host.bots.batch_state import IDLE, WAITING, LineReader
from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.child_process import ChildProcess
from host.bots.deadline import AnswerTimer, Look
from host.bots.process_control import ProcessControl
from host.bots.stderr_log import StderrLog
from host.bots.values import EVIDENCE, OVERSPENT, TIMED_TABLES, Batch, BatchResult, HasQuestion, Outcome, ProcessTotals
from protocols import PROTOCOLS
from protocols.wire import FaultKind

ORDERLY_EXIT_S = 0.05  # seconds from closing the input of a process until it is killed
MAX_SELECTABLE = 1024  # select(2) works only for descriptors below this number


class PersistentProcess:
    """Asks one process at a time. A fault kills it, and the next batch starts a new one."""

    def __init__(self, context: BotContext) -> None:
        bot = context.bot
        self._context, self._monitored = context, context.monitored
        self._limits, self._computing = bot.limits, bot.limits.computing
        self._protocol = PROTOCOLS[bot.spec.protocol]
        self._reader = LineReader(self._protocol, context.grammar, self._limits.output, table_ids=bot.spec.table_ids)
        self._timer = AnswerTimer(context.policy, self._limits.move)
        self._allowance = StartupAllowance(self._limits.startup, self._limits.move)
        self._budget = TableBudget(self._limits.cpu_table)
        self._control, self.stderr_log = ProcessControl(context), StderrLog()
        self._child: ChildProcess | None = None  # the last process; it may be closed
        self._table = 0  # the table of a process that lives for one table
        self._questions: Sequence[HasQuestion] = ()
        self._result: BatchResult | None = None  # of the current batch; None until the batch is written to the process
        # Seconds of processor time before the batch; None if it is not measured for the batch.
        self._usage_before: float | None = None

    @property
    def totals(self) -> ProcessTotals:
        """Return the usage of all processes so far."""
        return self._control.totals

    @property
    def output(self) -> int:
        """Return the descriptor of its answers."""
        assert self._child is not None, "a process is started before it is asked"
        return self._child.output

    @property
    def is_answered(self) -> bool:
        """Return whether all questions of the batch are answered without a fault."""
        return self._child is not None and self._child.batch.state is IDLE

    def send(self, batch: Batch) -> "PersistentProcess | None":
        """Take the next batch. Return itself if the process already has the questions, None if `finish` must prepare one."""
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
        """Return the results of the batch, in order. After a fault that ends the process the rest is not asked."""
        if self._result is None:
            failed = await self._prepare()
            if failed is not None:
                return BatchResult([], [], [], [], failed)
        child = self._child
        assert child is not None, "a process is started before it is asked"
        if self._result is None:
            self._write(child)
        if child.batch.state is WAITING:
            await self._wait(child)
        return await self._conclude(child)

    async def _prepare(self) -> Outcome | None:
        """Prepare a process for questions. If that fails, return the outcome of the first question; else None."""
        child = self._child if self._child is not None and self._child.is_open else None
        if child is None:
            await self._control.reap()
        tables = [question.table for question in self._questions]
        if self._budget.begin(max(tables), self.totals.cpu) <= 0:
            return OVERSPENT
        if self._context.bot.spec.lifetime == "table" and tables[0] != self._table:
            await self.shut_down(ORDERLY_EXIT_S)
            self._table, child = tables[0], None
        if child is None:
            error = await self._start()
            if error:
                return Outcome(fault_of(Ending(start_error=os.strerror(error))), ended="could not be started")
        elif child.has_early_output():
            return await self._fail(child, 0.0)
        return None

    async def _start(self) -> int:
        """Start a process; return 0, or the errno of the failure."""
        child = self._child = ChildProcess(self._protocol, self._reader, self.stderr_log)
        self._allowance.start()
        self._context.nursery.start_soon(child.stderr.drain_to_end)
        error = await self._control.start(child.inherited)
        if error:
            await self._control.kill(child, 0.0)
        return error

    def _write(self, child: ChildProcess) -> None:
        """Write the batch to the process."""
        questions = self._questions
        allowed = self._allowance.seconds() if self._allowance.is_open else 0.0
        self._timer.start(self._limits.move + allowed)
        self._monitored.turn.thaw()
        self._monitored.set_cpu_budget(self._computing * len(questions) + allowed, self._budget.left)
        # The processor time is read once per batch, and only at the first tables: each reading costs a microsecond.
        self._usage_before = self._monitored.total() if questions[0].table <= TIMED_TABLES else None
        self._result = BatchResult([], [], [], [])
        child.ask(questions)

    def read_available(self, now: float) -> bool:
        """Read the output available at the time `now`; return whether that ends the batch."""
        child, result = self._child, self._result
        assert child is not None and result is not None, "a process is asked before its answers are read"
        new_answers, new_raws = child.read()
        if new_answers:
            wall = self._timer.answered(now)
            if self._allowance.is_open:
                self._allowance.answered(wall)
            answers, raws, walls, _, _ = result
            answers += new_answers
            raws += new_raws
            walls.append(wall)
            if len(new_answers) > 1:
                walls += [0.0] * (len(new_answers) - 1)  # they arrived together with the first
        return child.batch.state is not WAITING

    async def _wait(self, child: ChildProcess) -> None:
        """Wait for the answers that are due, each until its own deadline. An answer may come in several pieces."""
        if not child.unsent:
            return await self._wait_for_answers(child)
        async with trio.open_nursery() as helpers:  # the pipe has no room for all questions
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
        """Return the results of the batch."""
        result, self._result = self._result or BatchResult([], [], [], []), None
        limit = self._monitored.final_check(time.perf_counter() - self._timer.asked)
        if child.violation is None:
            if limit is None:
                if self._usage_before is not None and (usage := self._monitored.total()) is not None:
                    count = len(result.answers)
                    result.cpus.extend([(usage - self._usage_before) / count] * count)
                self._monitored.turn.mark_idle()
                return result
            result.answers.pop()  # the last answer exceeded a limit
            result.walls.pop()
            child.fail(limit, result.raws.pop())
        wall = time.perf_counter() - self._timer.asked - sum(result.walls)
        return result._replace(failed=await self._fail(child, wall))

    async def _fail(self, child: ChildProcess, wall: float) -> Outcome:
        """Kill the process; return the outcome of the question that its violation counts against.

        Raise AmbiguousAnswers if it is unclear which question that is.
        """
        self._raise_if_ambiguous(child)
        violation = child.violation
        assert violation is not None
        limit, waited, unanswered = self._monitored.limit_exceeded, self._timer.waited, self._allowance.is_open
        # A process that closed its output is about to exit. Any other process is killed at once.
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
        """Return the end of the standard error of the process so far."""
        return self._child.stderr.tail() if self._child is not None else b""

    async def shut_down(self, patience: float) -> None:
        """Close the input of the process, wait at most `patience` seconds until it exits, and kill everything.

        Raise AmbiguousAnswers if it was asked several questions at once and has written more lines than that.
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
