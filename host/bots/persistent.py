"""Runs a bot whose process stays alive between questions. Batches of questions and answers go through pipes."""

import os
import time
from collections.abc import Sequence

import trio

from host.bots.allowance import StartupAllowance, TableBudget, TimeBank
from host.bots.batch_state import IDLE, WAITING, AnswerReader
from host.bots.blame import Ending, fault_of
from host.bots.bot_process import BotContext
from host.bots.child_process import MAX_SELECTABLE, QUICK_ANSWER_MS, ChildProcess
from host.bots.clock import AnswerStatus
from host.bots.monitor import INSTANT, MACHINE_CORES, unwrap_exception_group
from host.bots.process_control import ProcessControl
from host.bots.values import (
    OVERSPENT,
    RAW_BYTES,
    TIMED_TABLES,
    Batch,
    BatchResult,
    HasQuestion,
    Outcome,
    ProcessTotals,
    granted,
)
from host.sandbox.keeper import LOST, KeeperDied
from protocols import PROTOCOLS
from protocols.wire import Answer, FaultKind, Move

ORDERLY_EXIT_S = 0.05  # seconds from closing the input of a process until it is killed
ALONE_MS = 4  # milliseconds to wait for the answer to a single question before other tasks run
ALONE_S = ALONE_MS / 1000


class PersistentProcess:
    """Asks one process at a time. A fault kills it, and the next batch starts a new one."""

    def __init__(self, context: BotContext) -> None:
        bot = context.bot
        self._context, self._monitored = context, context.monitored
        self._limits, self._bank = bot.limits, context.bank
        protocol = PROTOCOLS[bot.spec.protocol]
        self._reader = AnswerReader(protocol, context.grammar, self._limits.output, table_ids=bot.spec.table_ids)
        self._per_move = self._limits.per_move
        self._clock = context.clock
        self._allowance = StartupAllowance(self._limits.startup, self._per_move, bot.empty_start)
        self._free = 0.0  # seconds of the open question that cost nothing from the bank
        self._budget = TableBudget(self._limits.cpu_table)
        self._control, self.stderr_log = ProcessControl(context), context.stderr_log
        self._child: ChildProcess | None = None  # the last process; it may be closed
        self._table = 0  # the table of a process that lives for one table
        self._questions: Sequence[HasQuestion] = ()
        self._result: BatchResult | None = None  # of the current batch; None until the batch is written to the process
        # Seconds of processor time before the batch; None if it is not measured for the batch.
        self._usage_before: float | None = None
        # The process, if it is alive and idle and nothing but an answer can be expected of it; see `exchange`.
        self._quick: ChildProcess | None = None
        self._lifetime = bot.spec.process_lifetime
        self._may_be_quick = (
            self._lifetime == "fixture"
            and protocol.one_line
            and not (self._budget.is_limited or bot.spec.table_ids or self._bank is not None)
        )
        self._line, self._whole_lines, self._turn = (
            protocol.encode,
            self._reader.whole_lines,
            self._monitored.turn,
        )
        self.is_timed = True  # whether the processor time of single answers is still wanted
        self.wall, self.cpu, self.raw = 0.0, 0.0, b""  # of the last answer that `exchange` returned
        self._is_slow = False  # whether an answer of the batch has been slow
        # Whether the last answer was slow. Then the host waits for the next one with one system call, and starts the clocks
        # only if that was not enough. Each wake-up in between costs 10 to 50 µs of an answer that takes 1 to 3 ms.
        self._thinks = False
        # Whether it may wait so: nothing needs to be measured meanwhile, and no limit can be exceeded. The processor
        # time of a later answer is counted from then on, so what is missed is at most 2 % of its limit, unless the
        # machine keeps the host from looking.
        most = ALONE_S * max(MACHINE_CORES, 50 * context.sandbox.cores)
        self._may_think = self._limits.cpu >= most

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
        self._questions, child = batch.questions, self._child
        if self._bank is not None and batch.questions:
            self._bank.begin(batch.questions[0].table, batch.questions[0].number)
        if child is None:
            return None
        for table in batch.ended_tables:
            child.table_ids.end(table)
        if not (child.is_open and batch.questions) or self._allowance.is_open:
            return None
        if self._lifetime != "fixture" or self._budget.is_limited or child.has_early_output():
            return None
        self._write(child)
        return None if child.unsent or child.output >= MAX_SELECTABLE else self

    def exchange(self, question: HasQuestion) -> Move | None:
        """Ask one question. Return the move if it comes soon; if the result is None, call `finish`.

        In the usual case, all that is done is one write, one wait and one read, and nothing is created that is needed
        only later. All other cases go the way of a batch, from wherever they differ: `send`, `finish`.
        """
        child, turn = self._quick, self._turn
        if child is None or self._monitored.limit_exceeded:
            self._poll_batch(question)
            return None
        if child.poll(0):  # it has written before it was asked
            self._questions = (question,)
            return None
        if was_idle := self._thinks:
            turn.foresee()
        elif was_idle := turn.must_thaw:
            turn.thaw()
        used = None
        if self.is_timed:
            self.is_timed = question.table <= TIMED_TABLES  # a bot that is asked alone gets its tables in order
            used = self._monitored.total() if self.is_timed else None
        child.stderr.ask(question)
        line = self._line(question.view)
        asked = time.perf_counter()
        data = child.exchange(line, ALONE_MS if self._thinks else QUICK_ANSWER_MS)
        now = time.perf_counter()
        if data is not None and now - asked < INSTANT and (move := self._whole_lines.get(data)) is not None:
            turn.since = now
            if was_idle:
                self._thinks = False
                turn.mark_idle()
            self.wall, self.raw = now - asked, data
            if used is not None:
                self.cpu = (self._monitored.total() or used) - used
            return move
        self._questions = (question,)
        move = self._whole_lines.get(data) if data is not None else None
        if clocks_run := move is None or not self._thinks:
            self._start_clocks(asked)
        if data is None:
            data, now = self._wait_alone(child), time.perf_counter()
            move = self._whole_lines.get(data) if data is not None else None
        self._thinks = self._may_think and now - asked >= INSTANT
        if move is not None and data is not None and self._monitored.final_check(now - asked) is None:
            turn.mark_idle()
            self._accept(now - asked, data, used)
            return move
        if not clocks_run:
            self._start_clocks(asked)
        self._open_batch(used)
        child.batch.expect((0,))
        self._read_alone(child, data)
        return None

    def _accept(self, wall: float, data: bytes, used_before: float | None) -> None:
        """Store the time and the bytes of an answer that `exchange` returns."""
        self.wall, self.raw = wall, data
        if used_before is not None:
            self.cpu = (self._monitored.total() or used_before) - used_before

    def _read_alone(self, child: ChildProcess, data: bytes | None) -> None:
        """Store a piece of output, and those that come after it, until the batch has ended or other tasks must run."""
        while data is not None:
            self._receive(child.receive(data), time.perf_counter())
            data = self._wait_alone(child) if child.batch.state is WAITING else None

    def _wait_alone(self, child: ChildProcess) -> bytes | None:
        """Return the next output of a slow bot; None if other tasks must run before it comes.

        The host sleeps until there is output, or another bot may have to be stopped. It wakes up for nothing else: on a
        core that it shares with the bot that costs both of them 20 µs.
        """
        self._begin_wait()
        if child.unsent or self._clock.seconds_to_look() < ALONE_S:
            return None
        asked = self._clock.asked
        while (remaining := asked + ALONE_S - time.perf_counter()) > 0:
            if child.wait_for_output(min(remaining, self._turn.look_at_others(asked))):
                return child.read_bytes()
        return None

    def _begin_wait(self) -> None:
        """Start the measurements of a slow batch, unless they were started."""
        if not self._is_slow:
            self._is_slow = True
            self._monitored.count_cpu()

    def _poll_batch(self, question: HasQuestion) -> None:
        """Send a batch of one question if that is possible now, and read the answer if it comes soon."""
        if self.send(Batch((question,))) is not None and (child := self._child) is not None:
            self._read_alone(child, child.read_bytes() if child.poll(QUICK_ANSWER_MS) else self._wait_alone(child))

    async def finish(self) -> BatchResult:
        """Return the results of the batch, in order. After a fault that ends the process the rest is not asked."""
        if self._result is None:
            failed = await self._prepare()
            if failed is not None:
                return BatchResult.empty()._replace(failed=failed)
        child = self._child
        assert child is not None, "a process is started before it is asked"
        if self._result is None:
            self._write(child)
            # To wake a task of trio, and to prepare the clocks of a slow answer, costs 100 µs.
            if child.poll(QUICK_ANSWER_MS):
                self.read_available(time.perf_counter())
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
        if self._has_served(child, tables[0]):
            await self.shut_down(ORDERLY_EXIT_S)
            self._table, child = tables[0], None
        if child is None:
            error = await self._start()
            if error:
                return Outcome(fault_of(Ending(start_error=os.strerror(error))), ended="could not be started")
        elif child.has_early_output():
            return await self._fail(child, 0.0)
        return None

    def _has_served(self, child: ChildProcess | None, table: int) -> bool:
        """Return whether the life of a process is over before a question of this table."""
        if child is not None and (self._lifetime == "question" or child.batch.has_ended):
            return True
        return self._lifetime == "table" and table != self._table

    async def _start(self) -> int:
        """Start a process; return 0, or the errno of the failure."""
        one_question = self._lifetime == "question"
        child = self._child = ChildProcess(self._reader, self.stderr_log, one_question=one_question)
        self._allowance.start()
        child.stderr.read_with(self._context.stderr_reader)
        error = await self._control.start(child.inherited)
        if error:
            await self._control.kill(child, 0.0)
        return error

    def _write(self, child: ChildProcess) -> None:
        """Write the batch to the process."""
        self._start_clocks(time.perf_counter())
        # The processor time is read once per batch, and only at the first tables: each reading costs a microsecond.
        is_timed = self.is_timed and self._questions[0].table <= TIMED_TABLES
        self._open_batch(self._monitored.total() if is_timed else None)
        child.ask(self._questions, None if self._bank is None else self._bank.milliseconds)

    def _start_clocks(self, asked: float) -> None:
        """Start the clocks of the questions that are written at the time `asked`."""
        allowed = self._allowance.seconds() if self._allowance.is_open else 0.0
        limits = [question.limit for question in self._questions]
        later = [] if limits.count(None) == len(limits) else [granted(each, self._per_move) for each in self._questions]
        first = later[0] if later else self._per_move
        if self._bank is not None:
            self._free = first + allowed
            allowed += self._bank.left
        self._clock.start(asked, first + allowed, later)
        self._turn.thaw()
        self._monitored.set_cpu_budget(self._limits.cpu * len(limits) + allowed, self._budget.left)
        self._is_slow = False

    def _open_batch(self, usage_before: float | None) -> None:
        """Open a batch whose results are collected. `usage_before` is the processor time before it, if it is measured."""
        self._usage_before, self._result = usage_before, BatchResult.empty()

    def read_available(self, now: float) -> bool:
        """Read the output available at the time `now`; return whether that ends the batch."""
        child = self._child
        assert child is not None, "a process is asked before its answers are read"
        self._receive(child.read(), now)
        return child.batch.state is not WAITING

    def _receive(self, received: tuple[Sequence[Answer], Sequence[bytes]], now: float) -> None:
        """Store answers and their raw bytes, which were read at the time `now`."""
        result, (new_answers, new_raws) = self._result, received
        assert result is not None, "a process is asked before its answers are read"
        if new_answers:
            spent = 0.0 if self._bank is None else self._spend(self._bank, now)
            wall = self._clock.answered(now, len(new_answers))
            if self._allowance.is_open:
                self._allowance.answered(wall - spent)
            answers, raws, walls, _, _ = result
            answers += new_answers
            raws += new_raws
            walls.append(wall)
            if len(new_answers) > 1:
                walls += [0.0] * (len(new_answers) - 1)  # they arrived together with the first

    def _spend(self, bank: TimeBank, now: float) -> float:
        """Take the time of the open question from the bank; return the seconds that were taken."""
        return bank.spend(self._clock.time_taken(now) - self._free)

    async def _wait(self, child: ChildProcess) -> None:
        """Wait for the answers that are due, each until its own deadline. An answer may come in several pieces."""
        if not child.unsent:
            return await self._wait_for_answers(child)
        with unwrap_exception_group():  # around a stall of the machine
            async with trio.open_nursery() as helpers:  # the pipe has no room for all questions
                helpers.start_soon(child.write_on)
                await self._wait_for_answers(child)
                helpers.cancel_scope.cancel()

    async def _wait_for_answers(self, child: ChildProcess) -> None:
        self._begin_wait()
        self._monitored.drag_on(self._clock.asked)
        while True:
            with trio.move_on_after(self._clock.seconds_to_look()) as scope:
                await trio.lowlevel.wait_readable(child.output)
            look = AnswerStatus.READ
            if scope.cancelled_caught:
                look = self._clock.look(child.has_output)
            if look is AnswerStatus.LATE:
                views = [question.view for question in self._questions[len(self.answered().answers) :]]
                return child.fail_late(views, self._context.sandbox.pid)
            if look is AnswerStatus.READ and self.read_available(time.perf_counter()):
                return None

    async def _conclude(self, child: ChildProcess) -> BatchResult:
        """Return the results of the batch."""
        result = self.answered()
        limit = self._monitored.final_check(time.perf_counter() - self._clock.asked)
        if child.violation is None:
            if limit is None:
                if self._usage_before is not None and (usage := self._monitored.total()) is not None:
                    count = len(result.answers)
                    result.cpus.extend([(usage - self._usage_before) / count] * count)
                if self._bank is not None and isinstance(result.answers[0], Move):
                    self._bank.add()
                self._turn.mark_idle()
                if self._may_be_quick:
                    self._quick = child
                self._reader.framing.hear(self._questions, result.raws)
                self._result = None
                return result
            result.answers.pop()  # the last answer exceeded a limit
            result.walls.pop()
            child.fail(limit, result.raws.pop())
        wall = time.perf_counter() - self._clock.asked - sum(result.walls)
        failed, self._result = await self._fail(child, wall), None
        return result._replace(failed=failed)

    def answered(self) -> BatchResult:
        """Return the results of the batch so far."""
        return self._result or BatchResult.empty()

    async def _fail(self, child: ChildProcess, wall: float) -> Outcome:
        """Kill the process; return the outcome of the first question without an answer. Its violation counts against that."""
        self._quick = None
        violation = child.violation
        assert violation is not None
        spent = 0.0
        if self._bank is not None and wall:
            spent = self._spend(self._bank, time.perf_counter())
            if violation.fault.kind is FaultKind.TIMEOUT:
                spent += self._bank.spend(self._bank.left)
        limit, waited, unanswered = self._monitored.limit_exceeded, self._clock.waited, self._allowance.is_open
        # A process that closed its output is about to exit. Any other process is killed at once.
        has_ended = violation.fault.kind is FaultKind.EXIT
        try:
            ended = await self._control.kill(child, ORDERLY_EXIT_S if has_ended else 0.0)
        except KeeperDied:
            if has_ended and limit is None:
                raise
            ended = LOST  # that its keeper has died as well does not excuse what the bot did
        crashed = ended.status != 0 and not ended.stopped
        fault = fault_of(Ending(violation.fault, limit, oom_kills=ended.killed, crashed=crashed))
        self._allowance.failed(wall - spent)
        cpu = ended.cpu if unanswered else self._monitored.cost(ended.cpu)
        outcome = Outcome(fault, violation.raw[:RAW_BYTES], wall, cpu, ended.words, child.stderr.tail())
        if fault.kind is FaultKind.TIMEOUT:
            stalls = self._monitored.samples.stalls
            return outcome._replace(waited=waited, overhead=self._clock.overhead, stalls=stalls, input=child.input)
        return outcome

    def stderr_tail(self, _table: int) -> bytes:
        """Return the standard error of the process so far: the ends of it."""
        return self._child.stderr.tail() if self._child is not None else b""

    async def shut_down(self, patience: float) -> None:
        """Close the input of the process, wait at most `patience` seconds until it exits, and kill everything."""
        child, self._quick = self._child, None
        if child is None or not child.is_open:
            await self._control.reap()
            return
        await self._control.shut_down(child, patience)
