"""Runs a bot whose process stays alive between questions. Batches of questions and answers go through pipes.

How it works. Each batch takes two calls. `send` writes the batch if the process is ready for it. `finish` starts or prepares
a process if `send` has not written the batch, waits for the answers that are due, and returns the results. conversation.py
has the state of the process; batch_state.py says what its output means. `quick` is a faster way for one question to a
process that is alive and idle: a write, a wait and a read, without any object that is needed only later. If the answer does
not arrive immediately, or is not a cached move, `quick` returns None, and `finish` does the rest.
"""

import os
import time
from collections.abc import Callable, Sequence

from host.base.errors import HostFailure
from host.bots.batch_state import IDLE, WAITING, AnswerReader, BatchEvents, BatchState, OutputFault, TableIds
from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.conversation import MAX_SELECTABLE, ORDERLY_EXIT_S, QUICK_ANSWER_MS, AskedProcess
from host.bots.monitor import INSTANT_S
from host.bots.process_control import ProcessControl
from host.bots.values import (
    OVERSPENT,
    RAW_BYTES,
    TIMED_TABLES,
    Batch,
    BatchResult,
    HasQuestion,
    InputState,
    Outcome,
    ProcessTotals,
    QuickAnswer,
)
from host.sandbox.keeper import LOST, KeeperDied, KeeperOutOfMemory
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind, Move


class PersistentProcess:
    """Asks one process at a time. After a fault that ends the process, `finish` kills it. The next batch starts a new one."""

    def __init__(self, context: BotContext) -> None:
        bot = context.bot
        self._context, self._clock = context, context.clock
        protocol = PROTOCOLS[bot.spec.protocol]
        self._reader = AnswerReader(protocol, context.grammar, bot.limits.output, table_ids=bot.spec.table_ids)
        self._control, self.stderr_log = ProcessControl(context), context.stderr_log
        self._child: AskedProcess | None = None  # the last process; it may be closed
        self._batch, self._table_ids = BatchState(self._reader), TableIds(protocol)  # of the process
        self._output_fault: OutputFault | None = None  # in the batch, or since the last batch
        self._input = InputState.UNKNOWN  # of a process that was late
        self._table = 0  # the table of a process that lives for one table
        self._questions: Sequence[HasQuestion] = ()
        self._result: BatchResult | None = None  # of the current batch; None until the batch is written to the process
        # Seconds of processor time before the batch; None if it is not measured for the batch.
        self._usage_before: float | None = None
        self.quick: Callable[[HasQuestion], QuickAnswer | None] | None = None  # see BotProcess
        self._lifetime = bot.spec.process_lifetime
        self._may_be_quick = (
            self._lifetime == "fixture"
            and protocol.one_line
            and not (self._clock.budget.is_limited or bot.spec.table_ids or self._clock.bank is not None)
        )
        self._line = protocol.encode
        self.is_timed = True

    @property
    def totals(self) -> ProcessTotals:
        """Return the usage of all processes so far."""
        return self._control.totals

    @property
    def output(self) -> int:
        """Return the descriptor from which the answers are read."""
        return self._alive.output

    @property
    def is_answered(self) -> bool:
        """Return whether all questions of the batch are answered without a fault."""
        return self._batch.state is IDLE

    @property
    def _alive(self) -> AskedProcess:
        assert self._child is not None, "a process is started before it is asked"
        return self._child

    def _exchange(self, question: HasQuestion) -> QuickAnswer | None:
        """Ask one question. Return the answer if it arrives within INSTANT_S and is a cached move.

        Otherwise return None: the caller must then call `finish`, which returns the answer.
        """
        child, monitored = self._alive, self._context.monitored
        if monitored.limit_exceeded or child.poll(0):  # it has written before it was asked
            self._questions = (question,)
            return None
        turn = monitored.turn
        if must_resume := turn.must_resume:
            turn.resume()
        used = None
        if self.is_timed:
            self.is_timed = question.table <= TIMED_TABLES  # a bot that is asked alone gets its tables in order
            used = monitored.total() if self.is_timed else None
        child.stderr.ask(question)
        line = self._line(question.view)
        asked = time.perf_counter()
        data = child.exchange(line)
        now = time.perf_counter()
        if data is not None and now - asked < INSTANT_S and (move := self._reader.whole_lines.get(data)) is not None:
            turn.since = now
            if must_resume:
                turn.mark_idle()
            return move, data, now - asked, (monitored.total() or used) - used if used is not None else 0.0
        self._questions = (question,)
        self._clock.begin(self._questions, asked)
        self._open_batch(used, (0,))
        child.expect_answer()
        if data is not None:
            self._receive(self._batch.receive(data), now)
        return None

    def send(self, batch: Batch) -> "PersistentProcess | None":
        """Take the next batch. Return this object if all questions are written to the process and its output can be polled.

        Otherwise return None: the caller awaits `finish`, which starts, writes and reads what is still missing.
        """
        self._questions, child, clock = batch.questions, self._child, self._clock
        if batch.questions:
            clock.take(batch.questions[0])
        for table in batch.ended_tables:
            self._table_ids.end(table)
        if child is None or not (child.is_open and batch.questions) or clock.allowance.is_open:
            return None
        if self._lifetime != "fixture" or clock.budget.is_limited or self._has_early_output(child):
            return None
        self._write(child)
        return None if child.unsent or child.output >= MAX_SELECTABLE else self

    async def finish(self) -> BatchResult:
        """Return the results of the batch, in order. After a fault that ends the process, later questions have no result."""
        try:
            if self._result is None:
                failed = await self._prepare()
                if failed is not None:
                    return BatchResult.empty()._replace(failed=failed)
                self._write(self._alive)
                if self._alive.poll(QUICK_ANSWER_MS):
                    self.read_available(time.perf_counter())
            child = self._alive
            if self._batch.state is WAITING:
                await child.while_writing(self._wait)
            return await self._conclude(child)
        except (HostFailure, KeeperOutOfMemory):
            self._context.monitored.final_check(0.0)  # else a bot that gets no other process would owe an answer
            raise

    async def _prepare(self) -> Outcome | None:
        """Prepare a process for the batch. Return None, or if that fails, the outcome of the first question."""
        child = self._child if self._child is not None and self._child.is_open else None
        if child is None:
            await self._control.reap()
        tables = [question.table for question in self._questions]
        if self._clock.budget.begin(max(tables), self.totals.cpu) <= 0:
            return OVERSPENT
        if self._has_served(child, tables[0]):
            await self.shut_down(ORDERLY_EXIT_S)
            self._table, child = tables[0], None
        if child is None:
            error = await self._start()
            if error:
                return Outcome(fault_of(Ending(start_error=os.strerror(error))), ended="could not be started")
        elif self._has_early_output(child):
            return await self._fail(child, 0.0)
        return None

    def _has_served(self, child: AskedProcess | None, table: int) -> bool:
        """Return whether the lifetime of a process is over, so that it must not be asked a question of this table."""
        if child is not None and (self._lifetime == "question" or self._batch.has_ended):
            return True
        return self._lifetime == "table" and table != self._table

    async def _start(self) -> int:
        """Start a process; return 0, or the errno of the failure."""
        context = self._context
        one_question = self._lifetime == "question"
        child = self._child = AskedProcess(
            context.monitored,
            self._clock,
            self.stderr_log,
            one_question=one_question,
            may_ask_again=bool(context.bot.retries),
        )
        self._reader.framing.restart()
        self._batch, self._table_ids = BatchState(self._reader), TableIds(self._reader.protocol)
        self._output_fault, self._input = None, InputState.UNKNOWN
        self._clock.allowance.start()
        child.stderr.read_with(context.stderr_reader)
        error = await self._control.start(child)
        if error:
            await self._control.kill(child, 0.0)
        return error

    def _has_early_output(self, child: AskedProcess) -> bool:
        """Return whether the process has written before it was asked."""
        if self._output_fault is None and (data := child.read() if child.has_output() else None) is not None:
            _, _, self._output_fault = self._batch.receive(data)
        return self._output_fault is not None

    def _write(self, child: AskedProcess) -> None:
        """Write the batch to the process."""
        questions, reader, bank = self._questions, self._reader, self._clock.bank
        left = None if bank is None else bank.milliseconds
        self._clock.begin(questions, time.perf_counter())
        # The processor time is read once per batch, and only at the first tables: each reading costs a microsecond.
        is_timed = self.is_timed and questions[0].table <= TIMED_TABLES
        used = self._context.monitored.total() if is_timed else None
        if reader.table_ids:
            numbers: Sequence[int] = [self._table_ids.number(question.table) for question in questions]
            data = self._table_ids.over() + reader.encode(questions, numbers, left)
        else:
            numbers = range(len(questions))
            data = reader.encode(questions, None, left)
        self._open_batch(used, numbers)
        child.stderr.ask(questions[0])
        child.ask(data)

    def _open_batch(self, usage_before: float | None, tables: Sequence[int]) -> None:
        """Open a batch without results: one question for each of these table numbers.

        `usage_before` is the processor time before the batch in seconds, None if it is not measured.
        """
        self._usage_before, self._result = usage_before, BatchResult.empty()
        self._batch.expect(tables)

    def read_available(self, now: float) -> bool:
        """Read the output available at the time `now`; return whether that ends the batch."""
        data = self._alive.read()
        if data is not None:
            self._receive(self._batch.receive(data), now)
        return self._batch.state is not WAITING

    def _receive(self, events: BatchEvents, now: float) -> None:
        """Store the answers, the raw bytes and the fault in output that was read at the time `now`."""
        result = self._result
        new_answers, new_raws, self._output_fault = events
        assert result is not None, "a process is asked before its answers are read"
        if new_answers:
            answers, raws, walls, _, _ = result
            answers += new_answers
            raws += new_raws
            walls.append(self._clock.answered(now, len(new_answers)))
            if len(new_answers) > 1:
                walls += [0.0] * (len(new_answers) - 1)  # they arrived together with the first

    async def _wait(self) -> None:
        """Wait for the answers that are due, each until its own deadline. An answer may come in several pieces."""
        child, protocol = self._alive, self._reader.protocol
        while self._batch.state is WAITING:
            data = await child.next_output()
            if data is None:
                due = [protocol.encode(question.view) for question in self._questions[len(self.answered().answers) :]]
                self._input = child.input_state(sum(map(len, due)))
                self._output_fault = OutputFault(Fault(FaultKind.TIMEOUT), self._batch.rest)
                return
            self._receive(self._batch.receive(data), time.perf_counter())

    async def _conclude(self, child: AskedProcess) -> BatchResult:
        """Check the limits a last time, and return the results of the batch. After a fault, kill the process."""
        result, monitored = self.answered(), self._context.monitored
        limit = monitored.final_check(time.perf_counter() - self._clock.asked)
        if self._output_fault is None:
            if limit is None:
                if self._usage_before is not None and (usage := monitored.total()) is not None:
                    count = len(result.answers)
                    result.cpus.extend([(usage - self._usage_before) / count] * count)
                if self._clock.bank is not None and isinstance(result.answers[0], Move):
                    self._clock.bank.add()
                child.settle()
                if self._may_be_quick:
                    self.quick = self._exchange
                self._reader.framing.hear(self._questions, result.raws)
                self._result = None
                return result
            result.answers.pop()  # the last answer exceeded a limit
            result.walls.pop()
            self._output_fault = OutputFault(Fault(limit), result.raws.pop())
        wall = time.perf_counter() - self._clock.asked - sum(result.walls)
        failed, self._result = await self._fail(child, wall), None
        return result._replace(failed=failed)

    def answered(self) -> BatchResult:
        """Return the results of the batch so far."""
        return self._result or BatchResult.empty()

    async def _fail(self, child: AskedProcess, wall: float) -> Outcome:
        """Kill the process because of a fault in its output. Return the outcome of the first question without an answer."""
        self.quick = None
        clock, monitored, found = self._clock, self._context.monitored, self._output_fault
        assert found is not None
        limit, waited, is_unanswered = monitored.limit_exceeded, clock.waited, clock.allowance.is_open
        clock.failed(wall, is_late=found.fault.kind is FaultKind.TIMEOUT)
        # A process that closed its output is about to exit. Any other process is killed at once.
        has_ended = found.fault.kind is FaultKind.EXIT
        try:
            ended = await self._control.kill(child, ORDERLY_EXIT_S if has_ended else 0.0)
        except KeeperDied:
            if has_ended and limit is None:
                raise
            ended = LOST  # the fault counts even if the keeper has died as well
        crashed = ended.status != 0 and not ended.stopped
        fault = fault_of(Ending(found.fault, limit, oom_kills=ended.killed, crashed=crashed))
        cpu = ended.cpu if is_unanswered else monitored.cost(ended.cpu)
        outcome = Outcome(fault, found.raw[:RAW_BYTES], wall, cpu, ended.words, child.stderr.tail())
        if fault.kind is FaultKind.TIMEOUT:
            stalls = monitored.samples.stalls
            return outcome._replace(waited=waited, overhead=clock.overhead, stalls=stalls, input=self._input)
        return outcome

    def stderr_tail(self, _table: int) -> bytes:
        """Return the start and the end of the standard error of the process so far."""
        return self._child.stderr.tail() if self._child is not None else b""

    async def shut_down(self, patience: float) -> None:
        """Close the input of the process, wait at most `patience` seconds until it exits, and kill what is left of it."""
        child, self.quick = self._child, None
        if child is None or not child.is_open:
            await self._control.reap()
            return
        await self._control.shut_down(child, patience)
