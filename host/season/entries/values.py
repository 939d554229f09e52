"""Defines the values of a season's store: authors, submissions with their verdicts, versions, practice and events."""

import hashlib
import secrets
from enum import StrEnum
from typing import NamedTuple

import msgspec

from host.base.counts import Sha256
from host.submissions.finding import Finding

SECRET_BYTES = 32  # 256 bits


class Author(NamedTuple):
    """A person or a program that submits bots. Only the SHA-256 of the secret of the author's link is stored."""

    name: str
    token_sha256: str
    joined: float  # seconds since 1970


def new_secret() -> str:
    """Return a new random secret for a link."""
    return secrets.token_urlsafe(SECRET_BYTES)


def hash_of(secret: str) -> str:
    """Return the SHA-256 of a secret, in hexadecimal. A season stores it instead of the secret."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


class SubmissionState(StrEnum):
    """The state of a submission, or of a request for practice. The last three states are final."""

    WAITING = "waiting"
    BUILDING = "building"
    CHECKING = "checking"
    PRACTISING = "practising"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Return whether the state never changes again."""
        return self in (SubmissionState.ACCEPTED, SubmissionState.REFUSED, SubmissionState.CANCELLED)


class PracticeResult(msgspec.Struct, frozen=True):
    """Practice tables of a version against one opponent. They do not count for the ladder."""

    opponent: str
    tables: int
    won: float  # tables won; a draw counts half
    faults: int
    low: float  # bounds of the 95 % interval of the share of tables won, 0 to 1
    high: float


class SlowAnswer(msgspec.Struct, frozen=True):
    """One of the slowest answers of a version in practice."""

    seconds: float
    question: str
    answer: str


class Verdict(msgspec.Struct, frozen=True):
    """The result of the examination of a submission.

    Texts of programs are as they were printed, and have a limited size.
    """

    accepted: bool
    findings: tuple[Finding, ...] = ()
    problems: tuple[str, ...] = ()  # errors, each with its code, place and cure
    build_log: str = ""
    stderr: str = ""
    first_wrong: str = ""  # the first wrong answer with its question, and how the process ended
    cpu_seconds: float = 0.0  # largest processor time of an answer
    cpu_limit_seconds: float = 0.0
    slowest: tuple[SlowAnswer, ...] = ()
    practice: tuple[PracticeResult, ...] = ()
    compute_seconds: float = 0.0  # time of build, check and practice
    pace: float = 0.0  # the bot's share of the worker time of a practice table, in seconds; 0: not measured


class Submission(NamedTuple):
    """A submitted file. The same bytes by the same author for the same bot are the same submission."""

    id: str  # the first 16 hexadecimal digits of the SHA-256 of author, bot and file
    author: str
    bot: str  # the name of the bot; it belongs to the author of its first version
    file_name: str  # as the author called the file
    sha256: Sha256  # of the file; its bytes are in uploads/SHA256
    size: int
    at: float  # when it was last submitted, in seconds since 1970
    door: str  # how it was submitted: "web", "api" or "submit"
    state: SubmissionState
    reason: str = ""  # why it waits, in one line; or why it was refused or cancelled
    verdict: Verdict | None = None
    licence: str = ""  # as its author states it
    number: int = 0  # of the version that it became; 0: it became none
    attempts: int = 0  # how often its examination has begun since it was received

    @property
    def label(self) -> str:
        """Return the label of the version that the submission became; empty if it became none."""
        return f"{self.bot}-{self.number}" if self.number else ""


def submission_id(author: str, bot: str, sha256: str) -> str:
    """Return the id of a submission: 16 hexadecimal digits of a hash of its author, bot and file."""
    return hashlib.sha256("\0".join((author, bot, sha256)).encode()).hexdigest()[:16]


class Version(NamedTuple):
    """A bot that plays: one accepted submission. `label` is its name in rounds, standings and records."""

    bot: str
    number: int  # from 1, for each bot
    author: str
    sha256: Sha256  # of the built bot
    submission: str  # its id
    entered: float  # seconds since 1970
    active: bool  # whether the author has chosen it to play on the ladder
    off_ladder: str = ""  # why, until its author acts; only the author sees the text after the colon
    content: str = ""  # SHA-256 of its files as handed in; the same files of a bot are the same version
    language: str = ""
    pace: float = 0.0  # the version's share of the worker time of a practice table, in seconds; 0: not measured

    @property
    def label(self) -> str:
        """Return the name with which the version plays, for example `mine-4`."""
        return f"{self.bot}-{self.number}"

    @property
    def place(self) -> str:
        """Return the folder of the version, relative to the season's folder.

        The folder has the label as its name. So a tournament whose `bots` has this folder plays the version under its
        label.
        """
        return f"store/{self.content[:32]}/{self.label}"


class Bot(NamedTuple):
    """The name of a bot, which belongs to the author of its first version, and why the organiser has withdrawn it."""

    name: str
    author: str
    withdrawn: str = ""


class Usage(NamedTuple):
    """An examination or practice that has begun, with its processor time when it is over."""

    what: str  # the id of the submission, or of the request for practice
    author: str
    at: float  # when it began, in seconds since 1970
    seconds: float = 0.0  # processor time


class Answer(msgspec.Struct, frozen=True):
    """The season's answer to a request: a sentence, or a refusal with its code and cure."""

    request: str  # the id of the request, which `write_request` has returned
    author: str  # the author who wrote the request; empty for the organiser
    at: float  # seconds since 1970
    text: str
    submission: str = ""  # the id of the submission, if the request was about one
    code: str = ""  # of docs/errors.md; empty: the request was granted
    cure: str = ""


class Event(NamedTuple):
    """An event in the log of a season. Its kind is "accepted", "refused", "author", "terms", "round" …"""

    number: int  # from 1, in the order in which they happened
    at: float  # seconds since 1970
    kind: str
    subject: str  # an author, a bot, a label or a round
    text: str


class Practice(NamedTuple):
    """An author's request for practice tables, which do not count, and their results."""

    id: str  # of the request
    author: str
    bot: str
    number: int
    opponents: tuple[str, ...]
    tables: int
    at: float
    state: SubmissionState
    reason: str = ""
    results: tuple[PracticeResult, ...] = ()
    attempts: int = 0  # how often the practice has begun
