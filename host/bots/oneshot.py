"""A bot that is started anew for every question."""

import os
from collections.abc import Sequence
from typing import NamedTuple

from host.bots.build import Bot
from host.bots.limits import Limits
from host.bots.sandboxes import Ended, Sandbox
from host.bots.sandboxes.keeper import FLOODED, OVER_CPU
from host.bots.told import Asked, Told, Wave
from host.bots.watch import Watched
from protocols.words import Answer, Fault, FaultKind, Grammar, Protocol


class Spent(NamedTuple):
    """What is known of a bot's processes so far: seconds, bytes, starts."""

    cpu: float = 0.0
    memory: int = 0
    starts: int = 0


class OneShot:
    """Asks by starting the program with the question as its arguments."""

    def __init__(
        self, bot: Bot, protocol: Protocol, grammar: Grammar, limits: Limits, sandbox: Sandbox, watched: Watched
    ) -> None:
        self._protocol, self._grammar, self._limits = protocol, grammar, limits
        self._sandbox, self._watched = sandbox, watched
        self._argv = [word.encode() for word in bot.argv]
        self.env: dict[str, str] = dict(bot.env)
        self.spent = Spent()
        self.muddled = False

    def show(self, _questions: Sequence[Asked]) -> bool:
        """Show nothing: a process that is to be started must be waited for."""
        return False

    async def exchange(self, questions: Sequence[Asked]) -> Wave:
        """Return what the questions brought, in order; after a fault the rest is left unasked."""
        wave = Wave([], [], [], [])
        for question in questions:
            told = await self._ask(question)
            if isinstance(told.answer, Fault):
                return wave._replace(failed=told)
            wave.answers.append(told.answer)
            wave.raws.append(told.raw)
            wave.walls.append(told.wall)
            wave.cpus.append(told.cpu)
        return wave

    async def _ask(self, question: Asked) -> Told:
        words = self._protocol.ask(question.view)
        self._watched.forget()
        self._watched.allow(self._limits.cpu)
        self._watched.turn.drag_on()
        ended = await self._sandbox.keeper.ask([*self._argv, *words], self.env, self._limits, self._limits.move)
        self._watched.settle(0.0)  # what it has used in all comes with its end
        memory = max(ended.memory, self._watched.peak)
        spent = self.spent
        self.spent = Spent(spent.cpu + ended.cpu, max(spent.memory, memory), spent.starts + 1)
        answer = self._judge(ended)
        return Told(answer, ended.output, ended.wall, ended.cpu, ended.words, ended.stderr)

    def _judge(self, ended: Ended) -> Answer:
        """Return what a process has answered, or its gravest fault."""
        if ended.error:
            return Fault(FaultKind.START, os.strerror(ended.error))
        if self._watched.breach is not None:
            return Fault(self._watched.breach)
        if ended.killed:
            return Fault(FaultKind.MEMORY)
        if ended.flags & FLOODED:
            return Fault(FaultKind.FLOOD)
        if ended.timed_out:
            return Fault(FaultKind.TIMEOUT)
        if ended.flags & OVER_CPU or ended.cpu > self._limits.cpu:
            return Fault(FaultKind.CPU)
        if self._sandbox.group is None and ended.memory > self._limits.memory:
            return Fault(FaultKind.MEMORY)
        if ended.output:
            return self._protocol.receive(self._grammar, ended.output)
        return Fault(FaultKind.CRASH if ended.status and not ended.stopped else FaultKind.EXIT)

    async def over(self, table: int) -> None:
        """Take note that a table is over: a program that has no memory need not know."""

    async def rest(self, _patience: float = 0.0) -> None:
        """End the fixture: nothing of it is left running."""
