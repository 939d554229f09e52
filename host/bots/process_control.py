"""Starts and kills the processes of one bot in its sandbox, and adds up their usage."""

from host.bots.bot_process import BotContext
from host.bots.conversation import AskedProcess
from host.sandbox.keeper import Ended


class ProcessControl:
    """Controls the processes of one bot. `totals` is their usage, together with that of the bot's earlier sandboxes."""

    def __init__(self, context: BotContext) -> None:
        self._context = context
        self.totals = context.used

    async def start(self, child: AskedProcess) -> int:
        """Start a process. Return 0, or the errno of the failure."""
        context = self._context
        error = await child.start(context.argv, context.environment(), context.bot.limits)
        self.totals = self.totals._replace(starts=self.totals.starts + 1)
        return error

    async def kill(self, child: AskedProcess, patience: float) -> Ended:
        """Kill a process and all its descendants; return how it ended. Give it `patience` seconds to exit by itself first."""
        self._end_turn()
        try:
            return await self._kill_all(child, patience)
        finally:
            child.close()

    async def shut_down(self, child: AskedProcess, patience: float) -> None:
        """Close the input of an idle process, and kill it if it does not exit within `patience` seconds.

        Read the rest of its standard error.
        """
        self._end_turn()
        child.close_input()
        try:
            await self._kill_all(child, patience)
            await self.reap()
        finally:
            child.close()

    def _end_turn(self) -> None:
        """Resume a process that is about to end, and add its waits and its stops to the totals."""
        turn = self._context.monitored.turn
        turn.resume()  # a dead process must not be frozen as an idle one
        waited, used = self.totals.waited + self._context.clock.total_wait(), self._context.used
        self.totals = self.totals._replace(
            waited=waited, pauses=used.pauses + turn.pauses, pondered=used.pondered + turn.cpu_off_turn
        )

    async def _kill_all(self, child: AskedProcess, patience: float) -> Ended:
        ended = await child.kill(patience)
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
        """Wait until all killed processes are gone, and add their processor time to the totals.

        Other code has decided the fault of a process before this.
        """
        late = await self._context.sandbox.keeper.reap()
        self.totals = self.totals._replace(cpu=self.totals.cpu + late)
