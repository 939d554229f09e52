"""Asks a bot its question again after an answer that croupier refuses, with the reason, at most `retries` times.

How it works. croupier refuses an answer that cannot be read, and a move that the rules do not allow, if that is known
immediately. A refused answer is removed from the output before any other code reads it. The question is then written again
to the same process, and its clock goes on. The answer after the last retry is judged like any other answer.
"""

from collections.abc import Sequence

from host.bots.batch_state import UNREADABLE
from host.bots.bot_process import BotContext
from host.bots.conversation import AskedProcess
from host.bots.persistent import PersistentProcess
from protocols.wire import Move


class RetriedProcess(PersistentProcess):
    """A persistent process with retries. If a batch has more than one question, none of them is asked again."""

    def __init__(self, context: BotContext) -> None:
        super().__init__(context)
        self._may_be_quick = False  # `quick` cannot refuse an answer
        self._left = 0  # retries of the open question
        self._reader.split = self._without_refused

    def _write(self, child: AskedProcess) -> None:
        """Write the batch to the process, and set the retries of its question."""
        self._left = self._context.bot.retries if len(self._questions) == 1 else 0
        super()._write(child)

    def _without_refused(self, output: bytes) -> list[bytes]:
        """Return the complete answers at the start of some output, and as the last item the output after them.

        If the output is one answer that is refused, ask again and return no answer.
        """
        *answers, rest = self._reader.framing.read(output)
        # A bot that has written more than one answer would answer the question twice, and then be one question behind.
        if len(answers) == 1 and not rest and self._left and (reason := self._refusal(answers[0])):
            self._ask_again(reason)
            return [b""]
        return [*answers, rest]

    @property
    def _numbers(self) -> Sequence[int] | None:
        """Return a list with the table number of the open question; None if the bot is not sent table numbers."""
        return [self._table_ids.number(self._questions[0].table)] if self._reader.table_ids else None

    def _refusal(self, raw: bytes) -> str:
        """Return why an answer is refused; "" if it is accepted."""
        _, answer = self._reader.read(raw, *(self._numbers or [0]))
        if answer == UNREADABLE:
            return f"the answer cannot be read: its move must be {self._reader.grammar.expected}"
        if isinstance(answer, Move) and not self._context.allows(self._questions[0].view, answer):
            return "the rules do not allow this move here"
        return ""

    def _ask_again(self, reason: str) -> None:
        """Write the open question again, with the reason."""
        refused, bank = self._reader.protocol.refused, self._clock.bank
        assert refused is not None, "a bot has retries only over a protocol that can say why"
        question = self._reader.encode(self._questions, self._numbers, None if bank is None else bank.milliseconds)
        self._left -= 1
        self._control.totals = self.totals._replace(retries=self.totals.retries + 1)
        self._alive.ask_again(refused(reason, question))
