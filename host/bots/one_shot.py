"""A bot that is started anew for every question."""

import os
import time
from collections.abc import Sequence
from typing import NamedTuple

from host.bots.deadline import STALLED, DeadlinePolicy, HostStall
from host.bots.monitor import MonitoredSandbox
from host.bots.stderr_log import StderrLog
from host.bots.values import Batch, HasQuestion, Outcome
from host.sandbox import Ended, Sandbox
from host.sandbox.keeper import FLOODED, OVER_CPU, Overdue
from host.sandbox.limits import Limits
from host.submissions.bot_spec import Bot
from protocols.wire import Answer, Fault, FaultKind, Grammar, Protocol

NEARLY = 0.95
"""Of its time: after it a process may be killed by its keeper at any moment, and nobody can ask how long it has waited."""

OVERSPENT = Outcome(Fault(FaultKind.CPU), ended="the processor time of its tables was used up before")


class ProcessTotals(NamedTuple):
    """What is known of a bot's processes so far: seconds, bytes and numbers."""

    cpu: float = 0.0
    memory: int = 0
    starts: int = 0
    waited: float = 0.0  # for a processor, as far as it was read
    pauses: int = 0
    pondered: float = 0.0


class OneShot:
    """Asks by starting the program with the question as its arguments."""

    def __init__(
        self,
        bot: Bot,
        protocol: Protocol,
        grammar: Grammar,
        limits: Limits,
        sandbox: Sandbox,
        watched: MonitoredSandbox,
        clock: DeadlinePolicy,
    ) -> None:
        self._clock = clock
        self._protocol, self._grammar, self._limits = protocol, grammar, limits
        self._sandbox, self._watched = sandbox, watched
        self._argv = bot.command(sandbox.keeper.warm)
        self.env: dict[str, str] = dict(bot.env)
        self.spent = ProcessTotals()
        self.muddled = False
        self.heard = StderrLog()
        self._tables = 1  # begun so far
        self._allowed = 0.0  # seconds of processor time for the question
        self._late = False  # whether the host has cut the question short
        self._waited = 0.0
        self._complaints: dict[int, bytes] = {}  # of the last wave, by table

    def show(self, _questions: Sequence[HasQuestion]) -> bool:
        """Show nothing: a process that is to be started must be waited for."""
        return False

    async def exchange(self, questions: Sequence[HasQuestion]) -> Batch:
        """Return what the questions brought, in order; after a fault the rest is left unasked."""
        wave = Batch([], [], [], [])
        self._complaints.clear()
        for question in questions:
            told = await self._ask(question)
            self._complaints[question.table] = told.stderr
            self.heard.append(question.table, told.stderr)
            if isinstance(told.answer, Fault):
                return wave._replace(failed=told)
            wave.answers.append(told.answer)
            wave.raws.append(told.raw)
            wave.walls.append(told.wall)
            wave.cpus.append(told.cpu)
        return wave

    async def _bury(self) -> None:
        """Have the dead of the last question gone, and in the account: a verdict does not wait for a slow death."""
        late = await self._sandbox.keeper.reap()
        self.spent = self.spent._replace(cpu=self.spent.cpu + late)

    async def _ask(self, question: HasQuestion) -> Outcome:
        await self._bury()
        words = self._protocol.ask(question.view)
        self._watched.new_process()
        self._tables = max(self._tables, question.table)
        self._allowed = min(self._limits.computing, self._limits.cpu_table * self._tables - self.spent.cpu)
        if self._allowed <= 0:
            return OVERSPENT
        self._watched.set_cpu_budget(self._allowed)
        self._watched.drag_on()
        self._clock.forget()
        keeper = self._sandbox.keeper
        if keeper.warm and self._clock.fair:
            self._clock.start_counting()  # what was forked ahead may have waited before it is asked
        asked, self._late, self._waited = time.perf_counter(), False, 0.0
        limits, wall = self._limits._replace(cpu=self._allowed), self._limits.patience
        overdue: Overdue = self._overdue
        if not self._clock.fair:
            limits, overdue = limits._replace(move=NEARLY * wall), self._look
        ended = await keeper.ask([*self._argv, *words], self.env, limits, wall, overdue)
        if ended.timed_out and ended.wall - wall > STALLED:  # whose fault that is, its whole computing tells
            ended = ended._replace(cpu=ended.cpu + await keeper.reap())
        took = time.perf_counter() - asked
        self._watched.final_check(0.0)  # what it has used in all comes with its end
        memory = max(ended.memory, self._watched.peak)
        spent = self.spent
        memory = max(spent.memory, memory)
        self.spent = ProcessTotals(spent.cpu + ended.cpu, memory, spent.starts + 1, spent.waited + self._waited)
        answer = self._judge(ended)
        overhead = max(took - ended.wall, 0.0)
        return Outcome(answer, ended.output, ended.wall, ended.cpu, ended.words, ended.stderr, self._waited, overhead)

    def _overdue(self, wall: float) -> float:
        """Return the seconds that an answer may still take; what is late is cut short."""
        try:
            left = self._clock.extension(self._limits.move, wall, 0.0, 0.0)
        except HostStall:
            return self._limits.move  # its keeper cuts it short at this moment, and says so
        finally:
            self._waited = self._clock.waited
        if not left:
            self._late = True
            self._sandbox.keeper.kill_now()
        return left or self._limits.move

    def _look(self, wall: float) -> float:
        """Take note of what the process has waited for a processor; it is judged by its keeper alone."""
        self._clock.look()
        self._waited = min(self._clock.waited, wall)  # forked ahead, it may have waited before it was asked
        return self._limits.patience

    def _judge(self, ended: Ended) -> Answer:
        """Return what a process has answered, or its gravest fault."""
        if ended.error:
            return Fault(FaultKind.START, os.strerror(ended.error))
        if self._watched.limit_exceeded is not None:
            return Fault(self._watched.limit_exceeded)
        if ended.killed:
            return Fault(FaultKind.MEMORY)
        if ended.flags & FLOODED:
            return Fault(FaultKind.FLOOD)
        if ended.timed_out or (self._late and ended.stopped):
            if not self._late:
                self._clock.raise_if_host_stalled(
                    self._limits.move, ended.wall, ended.wall - self._limits.patience, ended.cpu
                )
            return Fault(FaultKind.TIMEOUT)
        if ended.flags & OVER_CPU or ended.cpu > self._allowed:
            return Fault(FaultKind.CPU)
        if self._sandbox.group is None and ended.memory > self._limits.memory:
            return Fault(FaultKind.MEMORY)
        if ended.output:
            return self._protocol.receive(self._grammar, ended.output)
        return Fault(FaultKind.CRASH if ended.status and not ended.stopped else FaultKind.EXIT)

    def overheard(self, table: int) -> bytes:
        """Return the end of what the table's question of the last wave has brought on standard error."""
        return self._complaints.get(table, b"")

    async def over(self, table: int) -> None:
        """Take note that a table is over: a program that has no memory need not know."""

    async def rest(self, _patience: float = 0.0) -> None:
        """End the fixture: nothing of it is left running."""
        await self._bury()
        self._clock.forget()
