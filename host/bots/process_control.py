"""Starts and kills the processes of one bot in its sandbox, and adds up their usage."""

import os

from host.bots.bot_process import BotContext
from host.bots.child_process import ChildProcess
from host.sandbox.keeper import Ended


class ProcessControl:
    """Controls the processes of one bot. `totals` is the usage of all of them, and of its earlier sandboxes."""

    def __init__(self, context: BotContext) -> None:
        self._context = context
        self.totals = context.used

    async def start(self, inherited: tuple[int, int, int]) -> int:
        """Start a process on three descriptors, and close them in the host. Return 0, or the errno of the failure."""
        self._context.monitored.new_process()
        keeper, limits = self._context.sandbox.keeper, self._context.bot.limits
        try:
            started = await keeper.start(self._context.argv, self._context.environment(), limits, inherited)
        finally:
            for descriptor in inherited:
                os.close(descriptor)
        self.totals = self.totals._replace(starts=self.totals.starts + 1)
        return started.error

    async def kill(self, child: ChildProcess, patience: float) -> Ended:
        """Kill a process and all its descendants; return how it ended. Give it `patience` seconds to exit by itself first."""
        self._end_turn()
        try:
            return await self._kill_all(patience)
        finally:
            child.close()

    async def shut_down(self, child: ChildProcess, patience: float) -> None:
        """Close the input of an idle process, and kill it if it does not exit within `patience` seconds. Read its stderr."""
        self._end_turn()
        child.close_input()
        try:
            await self._kill_all(patience)
            await self.reap()
            child.stderr.tail()  # reads it into the log
        finally:
            child.close()

    def _end_turn(self) -> None:
        """Resume a process that is about to end, and add its waits and its stops to the totals."""
        turn = self._context.monitored.turn
        turn.thaw()  # a dead process must not be frozen as an idle one
        waited, used = self.totals.waited + self._context.clock.total_wait(), self._context.used
        self.totals = self.totals._replace(
            waited=waited, pauses=used.pauses + turn.pauses, pondered=used.pondered + turn.cpu_off_turn
        )

    async def _kill_all(self, patience: float) -> Ended:
        ended = await self._context.sandbox.keeper.kill_all(patience)
        self.count(ended)
        return ended

    def count(self, ended: Ended, *, starts: int = 0, waited: float = 0.0) -> None:
        """Add the usage of a process that has ended to the totals."""
        self.totals = self.totals._replace(
            cpu=self.totals.cpu + ended.cpu,
            memory=max(self.totals.memory, ended.memory, self._context.monitored.peak),
            starts=self.totals.starts + starts,
            waited=self.totals.waited + waited,
        )

    async def reap(self) -> None:
        """Wait until all killed processes are gone, and add their usage. Verdicts are issued before this."""
        late = await self._context.sandbox.keeper.reap()
        self.totals = self.totals._replace(cpu=self.totals.cpu + late)
