"""Off turn means off: a bot that has no question is stopped while another takes time over its own."""

import time

import trio

from host.bots.sandboxes import Keeper

OFF_TURN = 0.0005  # seconds without a question after which a bot is stopped until the next


class Turns:
    """The turns of all bots here. A fast exchange is left alone: nobody is stopped while no answer is slow in coming."""

    def __init__(self) -> None:
        self.idle: set[Turn] = set()  # of those who live, run and have no question
        self.slow = 0  # answers that are slow in coming
        self.wanted = trio.Event()

    async def run(self) -> None:
        """Stop whom it may concern, until cancelled."""
        while True:
            await self.wanted.wait()
            self.wanted = trio.Event()
            while self.idle and self.slow:
                await trio.sleep(OFF_TURN)
                now = time.perf_counter()
                for turn in tuple(self.idle):
                    turn.stop(now)


class Turn:
    """One bot's turn: it begins with a question and ends with the answer."""

    def __init__(self, turns: Turns, keeper: Keeper) -> None:
        self._turns, self._keeper = turns, keeper
        self._since = 0.0
        self._stopped = self._slow = False

    def begin(self) -> None:
        """Let the bot go on: it has a question, or is to end in good order."""
        self._turns.idle.discard(self)
        if self._stopped:
            self._stopped = False
            self._keeper.resume()

    def drag_on(self) -> None:
        """Note that the answer takes its time: others who have no question may have to be stopped meanwhile."""
        if not self._slow:
            self._slow = True
            self._turns.slow += 1
            if self._turns.idle:
                self._turns.wanted.set()

    def end(self) -> None:
        """Note that no answer is waited for."""
        if self._slow:
            self._slow = False
            self._turns.slow -= 1

    def rest(self) -> None:
        """Note that the bot lives on and has no question."""
        self._since = time.perf_counter()
        self._turns.idle.add(self)
        if self._turns.slow:
            self._turns.wanted.set()

    def forget(self) -> None:
        """Note that the bot is dead."""
        self.end()
        self._turns.idle.discard(self)
        self._stopped = False

    def stop(self, now: float) -> None:
        """Stop the bot when it has had no question for long enough."""
        if now - self._since >= OFF_TURN:
            self._turns.idle.discard(self)
            self._stopped = True
            self._keeper.pause()
