"""Defines the documents that the season process publishes: all that the site and its API show.

They are JSON files below `published/`, each written under another name and renamed. The site reads nothing else but
uploads that it hands back to their author. Files below `published/private` are for one author, or for the organiser.

    site.json  ladder.json  rounds.json  rounds/41.json  bots/NAME.json  entries.json
    private/authors/NAME.json  private/admin.json  private/tokens.json
"""

from typing import Literal

import msgspec

from host.season.entries.values import Answer, Verdict

State = Literal["open", "paused", "frozen", "final", "over"]


class SiteDocument(msgspec.Struct, frozen=True):
    """The season as a whole (site.json)."""

    name: str
    game: str
    title: str  # of the game
    state: State
    submissions: Literal["invited", "anybody"]
    freeze: float | None  # seconds since 1970
    round: int  # the last one that has begun; 0: none has
    next_round: float | None  # when the next one begins at the earliest
    bots: int
    versions: int
    waiting: int  # submissions without a verdict
    now: str  # what is being done, in a line: "Java build, 6 s"
    active: int  # versions of one author that play at the same time
    limits: dict[str, str]  # of bots and of authors, in words
    references: tuple[str, ...]
    card: str  # what a bot is asked and may answer
    rules: dict[str, str]
    seed_sha256: str
    notices: tuple[str, ...] = ()  # changes of the terms, with their dates; and what the organiser has done
    upload_bytes: int = 16 << 20  # the largest file that an author may submit; the site refuses a larger one itself


class Opponent(msgspec.Struct, frozen=True):
    """The tables of a version against one other, over all rounds."""

    label: str
    tables: int
    won: float  # a draw counts half


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
    """The ladder after a round (ladder.json)."""

    round: int
    at: float
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
    seal: str  # of its records; empty until it is over
    seed: str  # of its cards, revealed when it is over; empty until then
    note: str = ""  # what was removed from its journal to save space, or why it is damaged


class RoundsDocument(msgspec.Struct, frozen=True):
    """All rounds, newest first (rounds.json)."""

    rows: tuple[RoundRow, ...]


class MeetingRow(msgspec.Struct, frozen=True):
    """The tables of some versions in a round."""

    labels: tuple[str, ...]
    tables: int
    won: tuple[float, ...]  # by label; a draw counts half
    faults: tuple[int, ...]


class RoundDocument(msgspec.Struct, frozen=True):
    """A round (rounds/N.json)."""

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


class BotDocument(msgspec.Struct, frozen=True):
    """A bot (bots/NAME.json)."""

    bot: str
    author: str
    versions: tuple[VersionRow, ...]  # newest first
    opponents: tuple[Opponent, ...]  # of the version that plays
    replays: tuple[str, ...] = ()  # files of public replays below published/


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


class AuthorDocument(msgspec.Struct, frozen=True):
    """What an author sees (private/authors/NAME.json)."""

    author: str
    submissions: tuple[SubmissionRow, ...]  # newest first
    versions: tuple[VersionRow, ...]
    faults: tuple[FaultRow, ...]
    tables: tuple[str, ...]  # files of own tables as seen from the own seat, NDJSON, below published/private
    quota: dict[str, str]  # what is left of each limit, in words
    messages: tuple[str, ...] = ()  # what the season has answered to the last requests
    answers: dict[str, Answer] = {}  # the same by the id of the request, which `write_request` has returned


class EntryRow(msgspec.Struct, frozen=True):
    """A version that is entered in the final. `sha256` is that of what was built; the cards of the final follow from all."""

    label: str
    author: str
    sha256: str


class EntriesDocument(msgspec.Struct, frozen=True):
    """The entries of the final, fixed when entry closed (entries.json)."""

    at: float
    digest: str  # SHA-256 of the hashes of all entries, each once, in ascending order
    entries: tuple[EntryRow, ...]


class AdminDocument(msgspec.Struct, frozen=True):
    """What the organiser sees (private/admin.json)."""

    queue: tuple[SubmissionRow, ...]
    authors: tuple[str, ...]
    log: tuple[str, ...]  # the last events, newest last
    disk_bytes: int
    url: str = ""  # the address of the site in links, without a slash at its end; empty: it is not known


class TokensDocument(msgspec.Struct, frozen=True):
    """The SHA-256 of every secret of a link, with its author; that of the organiser stands under "" (private/tokens.json)."""

    authors: dict[str, str]
