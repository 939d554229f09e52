"""Seats a function of this process instead of a bot: it is asked as a bot is, without a sandbox and without limits."""

import time
from collections.abc import Awaitable, Callable, Sequence

from host.base.errors import HostFailure
from host.bots.bot_process import BotProcess
from host.bots.stderr_log import StderrLog
from host.bots.values import Batch, BatchResult, HasQuestion, ProcessTotals
from protocols import PROTOCOLS
from protocols.wire import Grammar, Move

AnswerAll = Callable[[Sequence[HasQuestion]], Awaitable[Sequence[Move]]]
"""Answers the questions of a batch, in their order. What it raises ends the fixture: it is the caller's own code."""

PROTOCOL = PROTOCOLS["lines"]
"""How records spell the questions and the answers of a function."""


class FunctionProcess:
    """A Python function that answers instead of a bot's process."""

    quick, is_timed = None, False

    def __init__(self, answer_all: AnswerAll, grammar: Grammar) -> None:
        self._answer_all, self._grammar = answer_all, grammar
        self._questions: Sequence[HasQuestion] = ()
        self.stderr_log, self.totals = StderrLog(), ProcessTotals()

    def send(self, batch: Batch) -> None:
        """Take the next batch."""
        self._questions = batch.questions

    async def finish(self) -> BatchResult:
        """Return the answers. Raise what the function raises."""
        began = time.perf_counter()
        moves = [*await self._answer_all(self._questions)]
        wall = (time.perf_counter() - began) / len(moves)
        raws = [PROTOCOL.write(self._grammar, move).rstrip(b"\n") for move in moves]
        return BatchResult([*moves], raws, [wall] * len(moves), [])

    def answered(self) -> BatchResult:
        """Return an empty result."""
        return BatchResult.empty()

    def stderr_tail(self, _table: int) -> bytes:
        """Return b"", because a function writes to the standard error of this process."""
        return b""

    async def shut_down(self, _patience: float) -> None:
        """Do nothing."""


async def never_restarted(failure: HostFailure) -> BotProcess | None:
    """Raise the failure, because a function cannot be restarted."""
    raise failure
