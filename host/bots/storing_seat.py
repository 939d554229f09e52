"""Seats a bot whose answers are stored when they arrive. If the run is killed, its fixture goes on at the open questions.

How it works. A seat first looks for a stored answer to each question. If there is one, the seat does not ask the bot. It
counts the stored answer like a new one, so faults, times, evidence and the time bank are the same as before. The usage of
budgets and the content of the state file come from the bot's last stored answer. The bot is asked from the first question
without a stored answer, as after a failure of the host: its new process knows nothing of the earlier questions.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from host.base.counts import Count
from host.base.errors import HostFailure
from host.bots.allowance import TimeBank
from host.bots.bot_process import BotProcess, PolledProcess
from host.bots.bot_spec import BuiltBot
from host.bots.seat import Restart, Seat
from host.bots.stall_sampler import Stalls
from host.bots.values import Batch, BatchResult, HasQuestion, InputState, Outcome
from host.relay.budget import ModelBudget
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, Grammar

Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class StoredAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """An answer at a seat, with the data of the seat at that moment."""

    player: str  # the name of the bot's process
    table: Count
    number: Count
    question: int  # a checksum
    fault: Fault | None  # it ended the process or prevented the question; None: the raw bytes have the answer
    outcome: tuple[bytes, Seconds, Seconds, str, bytes, Seconds, Seconds, Stalls, InputState]  # without `answer`
    benched: bool  # before the answer is counted
    totals: tuple[Seconds, Count, Count, Seconds, Count, Seconds, Count]  # ProcessTotals
    bank: Seconds | None  # seconds that are left in the bank; None: the bot has no bank
    budget: ModelBudget | None
    state: bytes | None  # content of the state file; None: the same as at the answer before


class OtherQuestions(HostFailure):
    """Raised when the stored answers are not answers to the questions of the fixture."""


class Answers(Protocol):
    """The stored answers of a fixture."""

    def find(self, player: str, table: int, number: int) -> StoredAnswer | None:
        """Return the answer to a question; None if it was not stored when this run of the fixture began."""
        ...

    def last(self, player: str) -> StoredAnswer | None:
        """Return the last answer of a player; None if no answer was stored when this run of the fixture began."""
        ...

    def add(self, answers: Sequence[StoredAnswer]) -> None:
        """Store answers."""
        ...


class SeatStore(NamedTuple):
    """The stored answers of a fixture, as one of its seats uses them."""

    answers: Answers
    player: str
    new_state: Callable[[], bytes | None]  # returns the content of the state file; None if it is stored already

    @property
    def last(self) -> StoredAnswer | None:
        """Return the last stored answer of the seat; None if there is none."""
        return self.answers.last(self.player)


class StoringSeat(Seat):
    """A seat that stores the answers of its bot. If the answer to a question is stored already, the bot is not asked."""

    def __init__(
        self,
        bot: BuiltBot,
        process: BotProcess,
        restart: Restart,
        bank: TimeBank | None,
        budget: ModelBudget | None,
        *,
        store: SeatStore,
        grammar: Grammar,
    ) -> None:
        super().__init__(bot, process, restart, bank, budget)
        self._store = store
        self._protocol, self._grammar = PROTOCOLS[bot.spec.protocol], grammar._replace(longest=bot.longest_answer)
        self._is_begun = False  # whether the process has the batch

    async def ask_one(self, question: HasQuestion) -> Answer:
        """Return the answer to one question, as Seat does, but never with `quick`: the answer must be stored."""
        return (await self.ask(Batch((question,))))[0]

    def _begin(self, batch: Batch) -> PolledProcess | None:
        self._is_begun = not (batch.questions and self._find(batch.questions[0]))
        return super()._begin(batch) if self._is_begun else None

    async def _next_result(self, questions: Sequence[HasQuestion], *, is_begun: bool) -> BatchResult:
        if stored := self._stored_result(questions):
            return stored
        result = await super()._next_result(questions, is_begun=is_begun and self._is_begun)
        self._add(questions, result)
        return result

    def _find(self, question: HasQuestion) -> StoredAnswer | None:
        return self._store.answers.find(self._store.player, question.table, question.number)

    def _stored_result(self, questions: Sequence[HasQuestion]) -> BatchResult | None:
        """Return the stored results up to the first question without one, or None if there are none.

        Stop after a fault that ended the process. Set the time bank and `benched` to the stored values. Raise OtherQuestions
        if a stored answer is to another question.
        """
        result = BatchResult.empty()
        for question in questions:
            if (stored := self._find(question)) is None:
                break
            if stored.question != self._checksum(question):
                raise OtherQuestions(
                    f"the stored answer {question.number} at table {question.table} is to another question"
                )
            if self._bank is not None:
                self._bank.begin(question.table, question.number)
                self._bank.left = stored.bank or 0.0
            self.benched = stored.benched
            outcome = Outcome(stored.fault or self._read(stored.outcome[0]), *stored.outcome)
            if stored.fault is not None:
                return result._replace(failed=outcome)
            result.add(outcome)
        return result if result.answers else None

    def _read(self, raw: bytes) -> Answer:
        """Parse the raw bytes of an answer, in the same way as the reader of the bot's process."""
        text = self._protocol.split_table_number(raw)[1] if self.bot.spec.table_ids else raw
        return self._protocol.receive(self._grammar, text)

    def _checksum(self, question: HasQuestion) -> int:
        return zlib.crc32(self._protocol.encode(question.view))

    def _add(self, questions: Sequence[HasQuestion], result: BatchResult) -> None:
        """Store new results."""
        columns = (result.answers, result.raws, result.walls, result.cpus or [0.0] * len(result.answers))
        outcomes = [Outcome(*each) for each in zip(*columns, strict=True)]
        if result.failed is not None:
            outcomes.append(result.failed)
        state = self._store.new_state() if outcomes else None
        self._store.answers.add(
            [
                StoredAnswer(
                    player=self._store.player,
                    table=question.table,
                    number=question.number,
                    question=self._checksum(question),
                    fault=outcome.answer if outcome is result.failed and isinstance(outcome.answer, Fault) else None,
                    outcome=outcome[1:],
                    benched=self.benched,
                    totals=(*self._process.totals,),
                    bank=None if self._bank is None else self._bank.left,
                    budget=self._budget,
                    state=state,
                )
                for question, outcome in zip(questions, outcomes, strict=False)
            ]
        )
