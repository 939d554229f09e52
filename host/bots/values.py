"""What was asked and what came back: the plain values between a seat and whoever keeps records."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from protocols.wire import Answer, Fault, FaultKind, View

EVIDENCE = 2048
"""Bytes kept of a question, of an answer and of standard error, each."""

TIMED_TABLES = 8
"""Tables at the beginning of a fixture of which it is kept what each decision took."""


class Question(NamedTuple):
    """One question to a seat: which of the fixture's tables asks, and its how-manieth question that is."""

    table: int
    number: int
    view: View


class HasQuestion(Protocol):
    """What a seat must know of a question: a `Question`, or a table under way that has one open."""

    @property
    def table(self) -> int: ...
    @property
    def number(self) -> int: ...
    @property
    def view(self) -> View: ...


class Outcome(NamedTuple):
    """What one question brought: the answer, the bytes that said it, and its price."""

    answer: Answer
    raw: bytes = b""
    wall: float = 0.0  # seconds
    cpu: float = 0.0  # seconds; 0 where they are not known
    ended: str = ""  # how the process ended, for people; empty when it lives
    stderr: bytes = b""
    waited: float = 0.0  # seconds of `wall` for a processor, where its deadline was missed
    overhead: float = 0.0  # seconds that the host has taken besides


class IllegalMove(NamedTuple):
    """A well-formed move that the rules did not allow, and the question that it answered."""

    question: Question
    move: Answer


class Batch(NamedTuple):
    """What a seat is asked at once, and what it must know first: tables that have ended, moves that were illegal."""

    questions: Sequence[HasQuestion]
    ended_tables: Sequence[int] = ()
    illegal: Sequence[IllegalMove] = ()


class BatchResult(NamedTuple):
    """What questions brought, in order, column by column: a batch may have a hundred of them.

    `walls` and `cpus` are seconds; `cpus` is empty where they are not known. Each answer of a batch has its share of the
    processor time of all. `failed` is the outcome of the next question if that ended the process, or could not be asked;
    the rest has not been asked then.
    """

    answers: list[Answer]
    raws: list[bytes]
    walls: list[float]
    cpus: list[float]
    failed: Outcome | None = None

    @classmethod
    def empty(cls) -> "BatchResult":
        """Return a result to be filled."""
        return cls([], [], [], [])


class ProcessTotals(NamedTuple):
    """What all processes of a bot in one fixture have used: seconds, bytes and numbers."""

    cpu: float = 0.0
    memory: int = 0
    starts: int = 0
    waited: float = 0.0  # for a processor, as far as it was read
    pauses: int = 0
    pondered: float = 0.0


class Evidence(NamedTuple):
    """One decision worth showing again: a fault, or the slowest."""

    bot: str
    table: int
    number: int
    kind: str  # of FaultKind, or "slowest"
    detail: str
    question: bytes
    raw: bytes
    stderr: bytes
    wall: float
    cpu: float
    ended: str
    waited: float = 0.0  # seconds for a processor; known of who was late
    overhead: float = 0.0  # seconds that the host has taken besides


class Timing(NamedTuple):
    """What one decision took, in microseconds; `cpu` is 0 where nobody counts it."""

    table: int
    number: int
    wall: int
    cpu: int


class Usage(NamedTuple):
    """What a bot used in one fixture: seconds and bytes; `walls[i]` counts answers that took below 2^i µs."""

    questions: int
    wall: float
    slowest: float
    cpu: float
    memory: int
    starts: int
    walls: tuple[int, ...]
    waited: float = 0.0  # seconds for a processor: of who lives on, in all; else of late answers
    pauses: int = 0  # times it was stopped because it had no question
    pondered: float = 0.0  # seconds it has computed before it stood still then, where that can be told


OVERSPENT = Outcome(Fault(FaultKind.CPU), ended="the processor time of its tables was used up before")

CLOCK_FAULTS = frozenset({FaultKind.TIMEOUT, FaultKind.CPU})
BENCHING = CLOCK_FAULTS | {FaultKind.CRASH, FaultKind.EXIT, FaultKind.START, FaultKind.MEMORY, FaultKind.FLOOD}
"""The faults that cost time or a process; too many of them and a bot is benched."""
