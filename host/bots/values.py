"""Defines the values passed from a seat to the recorder: questions, answers, timings."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, NamedTuple, Protocol

from msgspec import Meta

from host.base.counts import Count, Seconds
from host.bots.stall_sampler import Stalls
from protocols.wire import Answer, Asked, Fault, FaultKind, Move, View

RAW_BYTES = 2048
"""Bytes stored of each question and each answer, and of the start and of the end of each standard error."""

TIMED_TABLES = 8
"""Number of tables at the start of a fixture for which the time of each decision is stored."""


class InputState(StrEnum):
    """States of a late bot's input, as far as the kernel shows them."""

    UNKNOWN = ""
    UNREAD = "unread"  # the question is still in the pipe
    WAITING = "waiting"  # it has read everything, and waits in read(2) for more


class Question(NamedTuple):
    """A question: table number in the fixture, question number at that table, and view.

    `limit` is the number of seconds that the answer may take, if that is less than the bot's own limit of a move.
    """

    table: int
    number: int
    view: View
    limit: float | None = None


class HasQuestion(Asked, Protocol):
    """The attributes of a question that a seat uses. Both `Question` and an open table have them."""

    @property
    def number(self) -> int: ...
    @property
    def limit(self) -> float | None: ...


def granted(question: HasQuestion, per_move: float) -> float:
    """Return the seconds that an answer may take if the bot's own limit is `per_move`."""
    return per_move if question.limit is None else min(question.limit, per_move)


class Outcome(NamedTuple):
    """Outcome of one question: answer, raw bytes, and time used."""

    answer: Answer
    raw: bytes = b""
    wall: float = 0.0  # seconds
    cpu: float = 0.0  # seconds; 0 if unknown
    ended: str = ""  # how the process ended, as text for people; "" if it lives
    stderr: bytes = b""
    waited: float = 0.0  # seconds of `wall` spent waiting for a processor, if it was late
    overhead: float = 0.0  # additional seconds that the host took
    stalls: Stalls = Stalls()  # as sampled, if it was late
    input: InputState = InputState.UNKNOWN  # when it was late


QuickAnswer = tuple[Move, bytes, float, float]
"""The answer to a single question: the move, its line with the line end, seconds, and seconds of processor time or 0."""


class IllegalMove(NamedTuple):
    """A well-formed move that the rules did not allow, and its question."""

    question: Question
    move: Answer


class Batch(NamedTuple):
    """Questions that a seat is asked at the same time, tables that have ended, and earlier moves that were illegal."""

    questions: Sequence[HasQuestion]
    ended_tables: Sequence[int] = ()
    illegal: Sequence[IllegalMove] = ()


class BatchResult(NamedTuple):
    """Results of a batch, one list for each kind of value, in the order of the questions.

    There is no object for each answer, because a batch may have a hundred answers. `walls` and `cpus` are in seconds.
    `cpus` is empty if they are unknown. Each answer of a batch has an equal share of the batch's processor time. `failed`
    is the outcome of the first question without an answer in `answers`, if that question ended the process or could not be
    asked. The questions after it were not asked.
    """

    answers: list[Answer]
    raws: list[bytes]
    walls: list[float]
    cpus: list[float]
    failed: Outcome | None = None

    @classmethod
    def empty(cls) -> "BatchResult":
        """Return an empty result."""
        return cls([], [], [], [])

    def add(self, outcome: Outcome) -> None:
        """Add the outcome of the next question. Its processor time must be known."""
        self.answers.append(outcome.answer)
        self.raws.append(outcome.raw)
        self.walls.append(outcome.wall)
        self.cpus.append(outcome.cpu)


class ProcessTotals(NamedTuple):
    """Usage of all processes of a bot in one fixture: seconds, bytes and counts."""

    cpu: float = 0.0
    memory: int = 0
    starts: int = 0
    waited: float = 0.0  # waiting for a processor, as far as measured
    pauses: int = 0
    pondered: float = 0.0
    retries: int = 0  # questions that were asked again after a refused answer


class Evidence(NamedTuple):
    """Data recorded about one decision: a fault, or the bot's slowest answer of the fixture."""

    bot: str
    table: Count
    number: Count
    kind: str  # a FaultKind, or "slowest"
    detail: str
    question: bytes
    raw: bytes
    stderr: bytes
    wall: Seconds
    cpu: Seconds
    ended: str
    waited: Seconds = 0.0  # seconds spent waiting for a processor, if it was late
    overhead: Seconds = 0.0  # additional seconds that the host took
    stalls: Stalls = Stalls()  # as sampled, if it was late
    bank: int | None = None  # milliseconds left in its bank when it was asked; None: it has no bank
    input: InputState = InputState.UNKNOWN  # when it was late


class Timing(NamedTuple):
    """Time of one decision in microseconds; `cpu` is 0 if it was not measured."""

    table: Count
    number: Count
    wall: Count
    cpu: Count


class BankTime(NamedTuple):
    """Milliseconds that were left in the bank of a bot when a question was asked."""

    table: int
    number: int
    left: int


WALLS = 26  # counts of answers by their time; 2^25 µs is more than half a minute


class Usage(NamedTuple):
    """Usage of a bot in one fixture, in seconds and bytes.

    `walls[i]` counts the answers that took at least 2^(i - 1) µs and less than 2^i µs; the last one also all slower answers.
    """

    questions: Count  # the sum of `walls`
    wall: Seconds
    slowest: Seconds
    cpu: Seconds
    memory: Count
    starts: Count
    walls: tuple[Count, ...]  # WALLS numbers
    # Seconds spent waiting for a processor: in total if the process lives on between questions, else only for late
    # answers.
    waited: Seconds = 0.0
    pauses: Count = 0  # number of times it was stopped while it had no question
    pondered: Seconds = 0.0  # seconds of processor time used without a question before it was stopped, if measured

    def quantile(self, percent: int) -> float:
        """Return the seconds within which `percent` % of the answers came.

        The result is rounded up to the upper edge of a range of `walls`, but is at most `slowest`.
        """
        seen, total = 0, sum(self.walls)
        for at, count in enumerate(self.walls[:-1]):  # the last range has no upper edge
            seen += count
            if 100 * seen >= percent * total:
                return min((1 << at) / 1e6, self.slowest)
        return self.slowest


def total_usage(some: Sequence[Usage]) -> Usage:
    """Return the usage of several seats or fixtures as one: the largest `slowest` and `memory`, the sums of all others."""
    if len(some) == 1:
        return some[0]
    return Usage(
        questions=sum(usage.questions for usage in some),
        wall=sum(usage.wall for usage in some),
        slowest=max((usage.slowest for usage in some), default=0.0),
        cpu=sum(usage.cpu for usage in some),
        memory=max((usage.memory for usage in some), default=0),
        starts=sum(usage.starts for usage in some),
        walls=tuple(map(sum, zip(*(usage.walls for usage in some), strict=True))),
        waited=sum(usage.waited for usage in some),
        pauses=sum(usage.pauses for usage in some),
        pondered=sum(usage.pondered for usage in some),
    )


class ModelCost(NamedTuple):
    """A bot's usage of a language model in a fixture. `money` is its cost at the prices that were set then."""

    calls: Count = 0
    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    money: Annotated[float, Meta(ge=0, le=1e15)] = 0.0

    def plus(self, more: "ModelCost") -> "ModelCost":
        """Return the sum of two usages."""
        return ModelCost(
            calls=self.calls + more.calls,
            prompt_tokens=self.prompt_tokens + more.prompt_tokens,
            completion_tokens=self.completion_tokens + more.completion_tokens,
            money=self.money + more.money,
        )


OVERSPENT = Outcome(Fault(FaultKind.CPU), ended="the processor time of its tables was used up before")

CLOCK_FAULTS = frozenset({FaultKind.TIMEOUT, FaultKind.CPU})
BENCHING = CLOCK_FAULTS | {FaultKind.CRASH, FaultKind.EXIT, FaultKind.START, FaultKind.MEMORY, FaultKind.FLOOD}
"""Faults that cost time or a process. A bot with too many of them is benched: it is not asked any more in the fixture."""
