"""Defines the documents that the season process publishes for its site, and their database: published/site.sqlite.

The season process alone writes the database, after the transactions of its store. Everything in the database follows
from the store and from the rounds, so the season process makes a damaged database again. The site opens the database
for reading. It also reads other files below published/ (reports, records, the chain), and the uploads that it sends
back to their authors. A row for one author has his name, or the name of one of his bots. Only
host/season/site_database.py selects such rows.
"""

from pathlib import Path
from typing import Literal, NamedTuple
from zlib import crc32

import msgspec

from host.base.counts import Sha256
from host.season.entries.database import Schema
from host.season.entries.queue import Quota
from host.season.entries.table import Table
from host.season.entries.values import Answer, Verdict

State = Literal["open", "paused", "frozen", "final"]


class SiteDocument(msgspec.Struct, frozen=True):
    """The season as a whole: its state, its dates, its limits, its rules, and the number of its bots."""

    name: str
    game: str
    title: str  # of the game
    state: State
    submissions: Literal["invited", "anybody"]
    freeze: float | None  # seconds since 1970
    round: int  # the last round that has begun; 0: none has
    next_round: float | None  # earliest time of the next round, seconds since 1970
    bots: int
    versions: int
    waiting: int  # submissions without a verdict
    now: str  # the current work, in one line: "Java build, 6 s"
    active: int  # versions of one author that play at the same time
    limits: dict[str, str]  # of bots and of authors, in words
    references: tuple[str, ...]
    card: str  # the questions to a bot and its possible answers, in words
    rules: dict[str, str]
    seed_sha256: str
    notices: tuple[str, ...] = ()  # dated sentences: changes of the terms, and actions of the organiser
    final: float | None = None  # when the final is played, seconds since 1970
    upload_bytes: int = 16 << 20  # the largest file that an author may submit; the site refuses a larger one itself


class Opponent(msgspec.Struct, frozen=True):
    """Results of a version against one opponent, over all rounds."""

    label: str  # of the opponent
    tables: int
    won: float  # by the rules of the game: in a draw nobody wins, or all who are equal do


class LadderRow(msgspec.Struct, frozen=True):
    """A version on the ladder."""

    rank: int  # 0: not ranked
    label: str
    bot: str
    number: int
    author: str
    language: str
    rating: float  # Elo
    interval: float  # half the width of the 95 % interval
    ranks: tuple[int, int]  # from the best to the worst that is likely (95 %)
    tables: int
    faults: int
    tried: int  # versions of this bot so far
    history: tuple[float, ...]  # ratings after each round, newest last
    ahead: float | None  # probability that it is stronger than the next row, 0 to 1
    moved: str  # why its rank or rating changed, in a sentence; empty if neither did
    neighbours: float  # share of its tables against neighbours in rank, 0 to 1
    note: str = ""  # taken off the ladder, withdrawn, or the best of several versions of its author


class LadderDocument(msgspec.Struct, frozen=True):
    """The ladder after a round."""

    round: int
    at: float  # when the round ended, seconds since 1970
    rows: tuple[LadderRow, ...]
    fit: str  # a test of the model, in a sentence
    outside: str  # the chance that nobody outside the first places belongs inside, in a sentence


class RoundRow(msgspec.Struct, frozen=True):
    """A round in the list of rounds."""

    number: int
    state: Literal["waiting", "running", "finished", "damaged"]
    began: float | None
    ended: float | None
    versions: int
    tables: int
    faults: int
    uniform: bool  # whether its tables were spread over the whole field
    seal: str  # of the round's records; empty until the round is over
    seed: str  # of the round's cards, revealed when the round is over; empty until then
    note: str = ""  # what was removed from its journal to save space, or why it is damaged


class RoundsDocument(msgspec.Struct, frozen=True):
    """All rounds, newest first."""

    rows: tuple[RoundRow, ...]


class MeetingRow(msgspec.Struct, frozen=True):
    """Results of one meeting: the tables that the same versions have played with each other in a round.

    `won` and `faults` have one number for each of `labels`, in the same order. They are empty while the round is
    played.
    """

    labels: tuple[str, ...]
    tables: int
    won: tuple[float, ...]  # by the rules of the game: in a draw nobody wins, or all who are equal do
    faults: tuple[int, ...]


class RoundDocument(msgspec.Struct, frozen=True):
    """A round with its meetings and its report."""

    row: RoundRow
    meetings: tuple[MeetingRow, ...]
    report: str = ""  # the file of its report below published/, if there is one


class VersionRow(msgspec.Struct, frozen=True):
    """A version of a bot, as everybody may see it."""

    label: str
    number: int
    sha256: str
    language: str
    entered: float
    active: bool
    rating: float | None
    interval: float | None
    tables: int
    faults: int
    note: str = ""
    slow: str = ""  # why it plays fewer tables than others, in a sentence


class BotDocument(msgspec.Struct, frozen=True):
    """A bot with its versions and its results, as everybody may see it."""

    bot: str
    author: str
    versions: tuple[VersionRow, ...]  # newest first
    opponents: tuple[Opponent, ...]  # of the version that plays
    replays: tuple[int, ...] = ()  # the last of its rounds that have a report


class FaultRow(msgspec.Struct, frozen=True):
    """A fault of a version, with its evidence, for its author alone."""

    label: str
    where: str  # round and table
    kind: str
    detail: str
    question: str
    answer: str
    stderr: str


class SubmissionRow(msgspec.Struct, frozen=True):
    """A submission, for its author alone."""

    id: str
    bot: str
    file_name: str
    sha256: str
    size: int
    at: float
    state: str
    reason: str
    place: int  # in the queue, from 1; 0: it is not waiting
    label: str  # of the version that it became; empty if it became none
    verdict: Verdict | None
    author: str = ""


class AuthorDocument(msgspec.Struct, frozen=True):
    """The data for one author: his submissions, versions, faults, quota and answers."""

    author: str
    submissions: tuple[SubmissionRow, ...]  # newest first
    versions: tuple[VersionRow, ...]
    faults: tuple[FaultRow, ...]
    tables: tuple[int, ...]  # rounds with tables as seen from the author's own seats, newest first
    quota: Quota  # pages show its words at the time of the request: the usage of an hour falls by itself
    answers: dict[str, Answer] = {}  # to the author's last requests, newest last, by the id of the request


class EntryRow(msgspec.Struct, frozen=True):
    """A version that is entered in the final.

    `sha256` is the hash of its program as it was built. The cards of the final follow from the hashes of all entries.
    """

    label: str
    author: str
    sha256: Sha256


class EntriesDocument(msgspec.Struct, frozen=True):
    """The entries of the final, fixed when entry closed."""

    at: float
    digest: str  # SHA-256 of the hashes of all entries, each once, in ascending order
    entries: tuple[EntryRow, ...]


class AdminDocument(msgspec.Struct, frozen=True):
    """The data for the organiser: the queue, the authors, the log, and the disk usage in bytes."""

    queue: tuple[SubmissionRow, ...]
    authors: tuple[str, ...]
    log: tuple[str, ...]  # the last events, newest last
    disk_bytes: int
    url: str = ""  # the address of the site in links, without a slash at its end; empty: it is not known


# The database.


class Document(NamedTuple):
    """A document of which a season has at most one, as JSON. Its name is "site", "ladder", "entries" or "admin"."""

    name: str
    content: bytes


class PublishedRound(NamedTuple):
    """The row of a round.

    `report` is the path of its report below published/: None if the report is not made yet, empty if there will be
    none.
    """

    number: int
    row: RoundRow
    meetings: tuple[MeetingRow, ...]
    report: str | None


class PublishedAuthor(NamedTuple):
    """The row of an author, with the SHA-256 of the secret in his link. The row of the organiser has an empty name."""

    author: str
    token_sha256: str
    quota: Quota
    faults: tuple[FaultRow, ...]


class OwnTables(NamedTuple):
    """Tables of a round as a bot saw them from its own seats, as NDJSON. Only the author of the bot may read them."""

    bot: str
    round: int
    content: str


class Revision(NamedTuple):
    """Revision number of a topic. It changes whenever a row of the topic changes.

    A topic is the name of a document, "rounds", "bots", or "mine/AUTHOR".
    """

    topic: str
    number: int


SITE_FILE = "site.sqlite"
DOCUMENT = Table("document", Document, "name")
ROUND = Table("round", PublishedRound, "number")
BOT = Table("bot", BotDocument, "bot", own={"bot": "COLLATE NOCASE"})
AUTHOR = Table("author", PublishedAuthor, "author")
SUBMISSION = Table("submission", SubmissionRow, "id")
ANSWER = Table("answer", Answer, "request")
OWN_TABLES = Table("own_tables", OwnTables, "bot", "round")
REVISION = Table("revision", Revision, "topic")
TABLES = (
    "".join(each.create for each in (DOCUMENT, ROUND, BOT, AUTHOR, SUBMISSION, ANSWER, OWN_TABLES, REVISION))
    + "CREATE INDEX bot_by_author ON bot(author);"
    "CREATE INDEX submission_by_author ON submission(author);"
    "CREATE INDEX answer_by_author ON answer(author);"
)
PUBLISHED = Schema(crc32(TABLES.encode()) >> 1, TABLES)
"""The schema of the database. Its number is a checksum of its tables: if another version of croupier has written the
file with other tables, the season process makes the file again."""


def topic_of(author: str) -> str:
    """Return the topic of all rows that are for one author."""
    return f"mine/{author}"


def report_of(number: int) -> str:
    """Return the path of a round's report, relative to published/."""
    return str(Path("rounds") / f"{number}.html")
