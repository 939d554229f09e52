"""A process that lives on between questions: they go in and answers come out through pipes, a batch at a time."""

import os
import select
import time
from collections.abc import Sequence

import trio

from host.base.errors import AmbiguousAnswers
from host.bots.allowance import StartupAllowance, TableBudget
from host.bots.batch_state import NO_ANSWERS, Answered, BatchState, LineReader, State, TableIds, Violation
from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.deadline import AnswerTimer
from host.bots.stderr_log import CHUNK, StderrLog, StderrPipe
from host.bots.values import EVIDENCE, OVERSPENT, TIMED_TABLES, Batch, BatchResult, HasQuestion, Outcome, ProcessTotals
from host.sandbox.keeper import Ended
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind

ORDERLY_EXIT_S = 0.05  # from the end of a process's input to the end of its life
MAX_SELECTABLE = 1024  # descriptors that select(2) can wait for


class Pipes:
    """The host's ends of a process's three pipes; none of them blocks."""

    def __init__(self) -> None:
        reads, self.input = os.pipe()
        self.output, writes = os.pipe()
        self.stderr, complains = os.pipe()
        for own in (self.input, self.output, self.stderr):
            os.set_blocking(own, False)
        self.inherited = (reads, writes, complains)  # by the process
        self.unsent = b""  # what of the questions has not fitted
        self._poll = select.poll()
        self._poll.register(self.output, select.POLLIN)

    def has_output(self) -> bool:
        """Return whether there is something to read, which may be the end."""
        return bool(self._poll.poll(0))

    def write(self, data: bytes) -> None:
        """Write what fits. A process that has closed its input is judged by its output."""
        try:
            self.unsent = data[os.write(self.input, data) :]
        except BlockingIOError:
            self.unsent = data
        except BrokenPipeError:
            self.unsent = b""

    async def write_on(self) -> None:
        """Write the rest."""
        while self.unsent:
            await trio.lowlevel.wait_writable(self.input)
            self.write(self.unsent)

    def close_input(self) -> None:
        """Close the process's input: it is to end."""
        if self.input >= 0:
            os.close(self.input)
            self.input = -1

    def close(self) -> None:
        """Close its input and its output; its standard error ends by itself."""
        self.close_input()
        os.close(self.output)


class PersistentProcess:
    """Asks one process at a time. A fault kills it, and the next batch starts a new one."""

    def __init__(self, context: BotContext) -> None:
        bot = context.bot
        self._context, self._monitored, self._protocol = context, context.monitored, PROTOCOLS[bot.spec.protocol]
        self._reader = LineReader(self._protocol, context.grammar, bot.limits.output, table_ids=bot.spec.table_ids)
        self._timer = AnswerTimer(context.policy, bot.limits.move)
        self._allowance = StartupAllowance(bot.limits.startup, bot.limits.move)
        self._budget = TableBudget(bot.limits.cpu_table)
        self.totals, self.stderr_log = ProcessTotals(), StderrLog()
        self._pipes: Pipes | None = None  # of the process, if there is one
        self._stderr: StderrPipe | None = None
        self._state, self._table_ids = BatchState(self._reader), TableIds(self._protocol)
        self._table = 0  # of a process that lives for one table
        self._questions: Sequence[HasQuestion] = ()
        self._result: BatchResult | None = None  # of the batch, once that has been written to the process
        self._violation: Violation | None = None
        self._usage_before: float | None = None  # seconds of processor time; None where the batch's are not measured

    @property
    def output(self) -> int:
        """The descriptor of its answers."""
        return self._living.output

    @property
    def is_answered(self) -> bool:
        """Whether all of the batch is answered, without a fault."""
        return self._state.state is State.IDLE

    @property
    def _living(self) -> Pipes:
        assert self._pipes is not None, "a process must be started before it is asked"
        return self._pipes

    def send(self, batch: Batch) -> "PersistentProcess | None":
        """Take the next batch. Return itself if the process has it already, None if `finish` must prepare one."""
        for table in batch.ended_tables:
            self._table_ids.end(table)
        self._questions, pipes, bot = batch.questions, self._pipes, self._context.bot
        if pipes is None or not batch.questions or self._allowance.is_open:
            return None
        if bot.spec.lifetime == "table" or self._budget.is_limited or self._has_early_output():
            return None
        self._write_questions()
        return None if pipes.unsent or pipes.output >= MAX_SELECTABLE else self

    async def finish(self) -> BatchResult:
        """Return what the batch brought, in order; after a fault that ends the process the rest is not asked."""
        if self._result is None:
            failed = await self._prepare()
            if failed is not None:
                return BatchResult([], [], [], [], failed)
            self._write_questions()
        if self._state.state is State.WAITING:
            await self._wait()
        return await self._conclude()

    async def _prepare(self) -> Outcome | None:
        """Have a process that is ready to be asked; return the outcome of the first question if there can be none."""
        if self._pipes is None:
            await self._reap()
        tables = [question.table for question in self._questions]
        if self._budget.begin(max(tables), self.totals.cpu) <= 0:
            return OVERSPENT
        if self._context.bot.spec.lifetime == "table" and tables[0] != self._table:
            await self.shut_down(ORDERLY_EXIT_S)
            self._table = tables[0]
        if self._pipes is None:
            error = await self._start()
            if error:
                return Outcome(fault_of(Ending(start_error=error)), ended="could not be started")
        elif self._has_early_output():
            return await self._fail(0.0)
        return None

    async def _start(self) -> int:
        """Start a process; return 0 or the errno that says why not."""
        pipes = self._pipes = Pipes()
        self._state, self._table_ids = BatchState(self._reader), TableIds(self._protocol)
        table = self._stderr.table if self._stderr else 1
        self._stderr = StderrPipe(self.stderr_log, pipes.stderr, table)
        self._monitored.new_process()
        self._allowance.start()
        self._context.nursery.start_soon(self._stderr.drain_to_end)
        keeper, bot = self._context.sandbox.keeper, self._context.bot
        try:
            started = await keeper.start(self._context.argv, self._context.env, bot.limits, pipes.inherited)
        finally:
            for descriptor in pipes.inherited:
                os.close(descriptor)
        self.totals = self.totals._replace(starts=self.totals.starts + 1)
        if started.error:
            await self._kill()
        return started.error

    def _has_early_output(self) -> bool:
        """Return whether the process has written before it was asked."""
        if self._violation is None and self._living.has_output():
            self._read()
        return self._violation is not None

    def _write_questions(self) -> None:
        """Write the batch to the process."""
        questions, bot, pipes = self._questions, self._context.bot, self._living
        allowed = self._allowance.seconds()
        self._timer.start(bot.limits.move + allowed)
        self._monitored.turn.thaw()
        self._monitored.set_cpu_budget(bot.limits.computing * len(questions) + allowed, self._budget.left)
        # One reading of the processor time for a batch, and only at the first tables: a reading costs a microsecond.
        self._usage_before = self._monitored.total() if questions[0].table <= TIMED_TABLES else None
        lines = self._protocol.lines([question.view for question in questions])
        numbers: Sequence[int] = range(len(questions))
        if bot.spec.table_ids:
            numbers = [self._table_ids.number(question.table) for question in questions]
            lines = self._table_ids.lines(numbers, lines)
        self._state.expect(numbers)
        self._result = BatchResult([], [], [], [])
        if self._stderr is not None:
            self._stderr.table = questions[0].table
        pipes.write(lines)

    def read_available(self, now: float) -> bool:
        """Read what has come by now; return whether that ends the batch."""
        (answers, raws), result = self._read(), self._result
        if answers and result is not None:
            wall = self._timer.answered(now)
            if self._allowance.is_open:
                self._allowance.answered(wall)
            result.answers.extend(answers)
            result.raws.extend(raws)
            result.walls.append(wall)
            if len(answers) > 1:
                result.walls.extend([0.0] * (len(answers) - 1))  # they came together with the first
        return self._state.state is not State.WAITING

    def _read(self) -> Answered:
        """Read what there is; return the answers, and take note of a violation."""
        try:
            data = os.read(self._living.output, CHUNK)
        except BlockingIOError:
            return NO_ANSWERS
        answered, self._violation = self._state.receive(data)
        return answered

    async def _wait(self) -> None:
        """Wait for the answers that are due, each until its own deadline, in however many pieces it comes."""
        pipes = self._living
        if not pipes.unsent:
            return await self._wait_for_answers()
        async with trio.open_nursery() as helpers:  # it does not take its questions at once
            helpers.start_soon(pipes.write_on)
            await self._wait_for_answers()
            helpers.cancel_scope.cancel()

    async def _wait_for_answers(self) -> None:
        pipes, timer = self._living, self._timer
        self._monitored.drag_on()
        timer.begin_wait()
        while True:
            with trio.move_on_after(timer.seconds_to_look()) as scope:
                await trio.lowlevel.wait_readable(pipes.output)
            if scope.cancelled_caught:
                if not timer.is_over():
                    continue
                if not (timer.is_doubtful and pipes.has_output()):
                    extended = timer.extend(self._monitored.computed())
                    if not extended and not (timer.is_doubtful and pipes.has_output()):
                        self._violation = Violation(Fault(FaultKind.TIMEOUT), self._state.rest)
                        return
                    continue
            if self.read_available(time.perf_counter()):
                return

    async def _conclude(self) -> BatchResult:
        """Return what the batch brought."""
        result, self._result = self._result or BatchResult([], [], [], []), None
        limit = self._monitored.final_check(time.perf_counter() - self._timer.asked)
        if self._violation is None:
            if limit is None:
                if self._usage_before is not None and (usage := self._monitored.total()) is not None:
                    count = len(result.answers)
                    result.cpus.extend([(usage - self._usage_before) / count] * count)
                self._monitored.turn.mark_idle()
                return result
            result.answers.pop()  # the last one passed a limit
            result.walls.pop()
            self._violation = Violation(Fault(limit), result.raws.pop())
        wall = time.perf_counter() - self._timer.asked - sum(result.walls)
        return result._replace(failed=await self._fail(wall))

    async def _fail(self, wall: float) -> Outcome:
        """Kill the process; return the outcome of the question that its violation counts against.

        Raise AmbiguousAnswers if nobody can tell which question that is.
        """
        violation, self._violation = self._violation, None
        assert violation is not None
        if violation.ambiguous:
            raise AmbiguousAnswers(self._context.bot.name)
        limit, waited, unanswered = self._monitored.limit_exceeded, self._timer.waited, self._allowance.is_open
        # A process that has closed its output is about to exit; any other is killed at once.
        ended = await self._kill(ORDERLY_EXIT_S if violation.fault.kind is FaultKind.EXIT else 0.0)
        crashed = ended.status != 0 and not ended.stopped
        fault = fault_of(Ending(violation.fault, limit, oom_kills=ended.killed, crashed=crashed))
        self._allowance.failed(wall, fault.kind)
        cpu = ended.cpu if unanswered else self._monitored.cost(ended.cpu)
        outcome = Outcome(fault, violation.raw[:EVIDENCE], wall, cpu, ended.words, self.stderr_tail(0))
        if fault.kind is FaultKind.TIMEOUT:
            return outcome._replace(waited=waited, overhead=self._timer.overhead)
        return outcome

    def stderr_tail(self, _table: int) -> bytes:
        """Return the end of what the process has written on standard error until now."""
        return self._stderr.tail() if self._stderr is not None else b""

    async def shut_down(self, patience: float) -> None:
        """End the process: its input is closed, and everything is killed when it has exited or patience is at an end.

        Raise AmbiguousAnswers if it has been asked several questions at once and written more lines than that.
        """
        if self._pipes is None:
            await self._reap()
            return
        self._end_turn()
        self._pipes.close_input()
        ambiguous = False
        try:
            await self._sweep(patience)
            await self._reap()
            self.stderr_tail(0)  # into the log
            if patience and self._has_early_output():
                ambiguous = self._violation is not None and self._violation.ambiguous
        finally:
            self._close()
        if ambiguous:
            raise AmbiguousAnswers(self._context.bot.name)

    async def _kill(self, patience: float = 0.0) -> Ended:
        """Kill the process and all it has started; return how it ended. It has so many seconds to exit by itself."""
        self._end_turn()
        try:
            return await self._sweep(patience)
        finally:
            self._close()

    def _end_turn(self) -> None:
        """Let a frozen process go on, and take note of what it has waited and of its pauses: it is about to end."""
        turn = self._monitored.turn
        turn.thaw()  # a dead process must not be frozen as one without a question
        waited = self.totals.waited + self._context.policy.total_wait()
        self.totals = self.totals._replace(waited=waited, pauses=turn.pauses, pondered=turn.cpu_off_turn)

    async def _sweep(self, patience: float) -> Ended:
        ended = await self._context.sandbox.keeper.kill_all(patience)
        memory = max(self.totals.memory, ended.memory, self._monitored.peak)
        self.totals = self.totals._replace(cpu=self.totals.cpu + ended.cpu, memory=memory)
        return ended

    async def _reap(self) -> None:
        """Wait until all killed processes have gone, and count what they used. A verdict does not wait for that."""
        late = await self._context.sandbox.keeper.reap()
        self.totals = self.totals._replace(cpu=self.totals.cpu + late)

    def _close(self) -> None:
        """Forget the process and its batch."""
        if self._pipes is not None:
            self._pipes.close()
        self._pipes = self._violation = self._result = None
