"""Seats a bot whose answers are stored as they come, so that a fixture whose run was killed goes on at its open questions.

How it works. A seat first looks for the answer to a question among those that are stored. If it is there, the bot is not asked,
and the seat counts the answer as it counted it before: faults, times, evidence and the time bank follow from that. What the bot
had used of its budgets, and its state file, are those of its last stored answer. From the first question without a stored
answer on, the bot is asked as after a failure of the host: by a new process, which knows nothing of the questions before.
"""

import zlib
from collections.abc import Callable, Sequence
from typing import Annotated, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from host.base.errors import HostFailure
from host.bots.allowance import TimeBank
from host.bots.bot_process import BotProcess, PolledProcess
from host.bots.bot_spec import BuiltBot
from host.bots.calling_clock import ModelBudget
from host.bots.seat import Restart, Seat
from host.bots.stall_sampler import Stalls
from host.bots.values import Batch, BatchResult, Count, HasQuestion, InputState, Outcome
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, Grammar

Seconds = Annotated[float, Meta(ge=0, le=1e9)]


class StoredAnswer(msgspec.Struct, forbid_unknown_fields=True):
    """An answer at a seat, with what the seat knew then."""

    player: str  # the name of the bot's process
    table: Count
    number: Count
    question: int  # a checksum
    fault: Fault | None  # ended the process, or kept it from being asked; None: the raw bytes say the answer
    outcome: tuple[bytes, Seconds, Seconds, str, bytes, Seconds, Seconds, Stalls, InputState]  # but the answer
    benched: bool  # before the answer is counted
    totals: tuple[Seconds, Count, Count, Seconds, Count, Seconds, Count]  # ProcessTotals
    bank: Seconds | None  # seconds that are left in it
    budget: ModelBudget | None
    state: bytes | None  # of the state file; None: as before


class OtherQuestions(HostFailure):
    """Raised when the stored answers are not answers to the questions of the fixture."""


class Answers(Protocol):
    """The stored answers of a fixture."""

    def find(self, player: str, table: int, number: int) -> StoredAnswer | None:
        """Return the answer to a question; None if it was not stored when the fixture was begun again."""
        ...

    def last(self, player: str) -> StoredAnswer | None:
        """Return the last answer of a player; None if none was stored when the fixture was begun again."""
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
        """The last stored answer of the seat; None if there is none."""
        return self.answers.last(self.player)


class StoringSeat(Seat):
    """A seat that stores the answers of its bot, and takes from the store what is there."""

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
        """Return the answer to one question, as Seat does."""
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
        """Return the stored results of the first of these questions; None if the first has none. Raise OtherQuestions."""
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
            result.answers.append(outcome.answer)
            result.raws.append(outcome.raw)
            result.walls.append(outcome.wall)
            result.cpus.append(outcome.cpu)
        return result if result.answers else None

    def _read(self, raw: bytes) -> Answer:
        """Return the answer that raw bytes say, as the reader of the bot's process has read it."""
        text = self._protocol.split_table_number(raw)[1] if self.bot.spec.table_ids else raw
        return self._protocol.receive(self._grammar, text)

    def _checksum(self, question: HasQuestion) -> int:
        return zlib.crc32(self._protocol.encode(question.view))

    def _add(self, questions: Sequence[HasQuestion], result: BatchResult) -> None:
        """Store results that have come just now."""
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
