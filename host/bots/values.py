"""What was asked and what came back: the plain values between a seat and whoever keeps records."""

from typing import NamedTuple, Protocol

from protocols.wire import Answer, FaultKind, View

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


class Batch(NamedTuple):
    """What questions brought, in order: answers, the bytes that said them, seconds of wall clock and, where known, of CPU.

    Of a process that was shown several questions at once each answer has its share of what they cost together.
    `failed` is what came of the next question, when that ended the process; the rest was left unasked.
    """

    answers: list[Answer]
    raws: list[bytes]
    walls: list[float]
    cpus: list[float]
    failed: Outcome | None = None


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


CLOCK_FAULTS = frozenset({FaultKind.TIMEOUT, FaultKind.CPU})
BENCHING = CLOCK_FAULTS | {FaultKind.CRASH, FaultKind.EXIT, FaultKind.START, FaultKind.MEMORY, FaultKind.FLOOD}
"""The faults that cost time or a process; too many of them and a bot is benched."""
