"""Seats a Python function instead of a bot. It runs in this process, without a sandbox and without limits."""

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from host.base.errors import HostFailure
from host.bots.bot_process import BotProcess
from host.bots.stderr_log import StderrLog
from host.bots.values import Batch, BatchResult, HasQuestion, ProcessTotals
from protocols.wire import Answer


class Returned(NamedTuple):
    """The answer of a function: its move or fault, the answer as a line, and croupier's text about a fault."""

    answer: Answer
    raw: bytes
    stderr: bytes = b""


AnswerAll = Callable[[Sequence[HasQuestion]], Awaitable[Sequence[Returned]]]
"""Answers the questions of a batch, in their order."""


class FunctionProcess:
    """A Python function that answers instead of a bot's process."""

    quick, is_timed = None, False

    def __init__(self, answer_all: AnswerAll) -> None:
        self._answer_all, self._stderr = answer_all, dict[int, bytes]()
        self._questions: Sequence[HasQuestion] = ()
        self.stderr_log, self.totals = StderrLog(), ProcessTotals()

    def send(self, batch: Batch) -> None:
        """Take the next batch."""
        self._questions = batch.questions

    async def finish(self) -> BatchResult:
        """Call the function with the questions; return its answers. Each answer has an equal share of the time."""
        began = time.perf_counter()
        returned = await self._answer_all(self._questions)
        wall = (time.perf_counter() - began) / len(returned)
        answers, raws, stderr = zip(*returned, strict=True)
        self._stderr = {question.table: text for question, text in zip(self._questions, stderr, strict=True)}
        return BatchResult([*answers], [*raws], [wall] * len(returned), [])

    def answered(self) -> BatchResult:
        """Return an empty result."""
        return BatchResult.empty()

    def stderr_tail(self, table: int) -> bytes:
        """Return croupier's text about the last answer at a table if that was a fault, otherwise b""."""
        return self._stderr.get(table, b"")

    async def shut_down(self, _patience: float) -> None:
        """Do nothing."""


async def never_restarted(failure: HostFailure) -> BotProcess | None:
    """Raise the failure, because a function cannot be restarted."""
    raise failure
