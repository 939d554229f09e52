"""Defines fixtures, the unit of work, and records, their results: plain values that are passed between processes."""

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from host.base.bounded_zlib import MAX_UNPACKED_BYTES, decompress
from host.base.counts import Count, Seconds
from host.bots.notes import MAX_NOTE_BYTES, NO_NOTES, NotesByTable
from host.bots.values import BENCHING, WALLS, BankTime, Evidence, ModelCost, Timing, Usage
from host.games.engine import Scores
from protocols.wire import MAX_ANSWER_BYTES, MAX_CACHED_CHARS, Answer, Fault, FaultKind, Move

BOTS_AT_ONCE = 32
"""Maximum number of bots whose sandboxes a worker keeps between fixtures.

To make a sandbox costs as much processor time as a fixture of two tables. So stages order their fixtures, and backends
give them to workers, in an order in which few sandboxes must be made again.
"""


class Fixture(NamedTuple):
    """A unit of work, journalled whole or not at all. Equal fixtures are the same work and have the same results.

    `plan` is a key of PLANS (host/play/table_plans.py). The luck of the fixture follows from the tournament's seed and
    `path`. A block of tables has the number of its first table in the path: `league/NEPTR+Nestor/10001`.
    """

    game: str
    rules: Any  # the game's Rules
    plan: str
    path: str
    bots: tuple[str, ...]
    tables: int
    first: int = 1


class Result(NamedTuple):
    """Result of one bot in a fixture. `score` is the sum of its scores at all tables.

    `low`, `high` and `final` are its lowest score at a table, its highest score, and its score at the last table.

    Intervals and certainties use the last three fields, which show how much the results vary. A unit has its own luck:
    it is one table, or a group of tables that share a deal.
    """

    tables: Count
    wins: int | float  # a fraction if equal bots share a win
    score: int
    low: int
    high: int
    final: int
    units: Count = 0  # 0: each table is a unit
    wins_with: tuple[float, ...] = ()
    """One sum for each bot, in the order of the record's results.

    The sum is the product of this bot's wins and that bot's wins in a unit, added over all units.

    Empty if each table is a unit with at most one winner. Then the sum is `wins` for the bot itself, and 0 for every
    other bot. Also empty if the bots change from table to table."""
    scores_with: tuple[float, ...] = ()  # the same with scores; empty if the bots change from table to table


FEW_BYTES = 4096  # bytes that each part of a record may always have, whatever the counts of the record are

States = tuple[tuple[str, bytes], ...]
"""One pair for each bot: its name and the content of its state file."""


StderrTail = tuple[tuple[str, tuple[tuple[str, bytes], ...]], ...]
"""One pair for each bot: its name and the end of its standard error, in pieces.

A piece is a pair of a name and bytes. The name is that of a table, or of a question, such as `TABLE:3`."""


UndecidedCause = Literal["game", "model", "size"]
"""Why a fixture has no result. `game`: the game failed, for example twice at the same answer of a table.

`model`: a model that a bot asks did not answer. `size`: a record cannot hold the tables.
"""


class Undecided(NamedTuple):
    """Why a fixture has no result. No bot is to blame."""

    reason: str  # what failed, as text for people. It can hold what a stranger's program wrote
    where: str = ""  # file and line, if the code of an organiser raised an exception
    table: str = ""  # the name of the table; empty if the failure was not at one
    rules: Mapping[str, Any] = {}  # the rules of the table
    luck: str = ""  # the path of the table's luck
    bots: tuple[str, ...] = ()  # the bots at the table, by seat
    answers: str = ""  # the answers at the table so far, as `pack` spells them
    given_by: tuple[str, ...] = ()  # the bots that gave the last answers: several if they were asked at the same time
    said: bytes = b""  # the last output of the process with the rules
    transcript: bytes = b""  # of the table so far, if its rules run in another process (transcript.py)
    cause: UndecidedCause = "game"

    @property
    def answer(self) -> int:
        """Return the number, from 1, of the answer at which the game failed; 0 if it failed before the first answer."""
        return len(self.answers.split(",")) if self.answers else 0


CAUSES: Mapping[UndecidedCause, str] = {
    "game": "the game failed",
    "model": "a model did not answer",
    "size": "the tables were too long to store",
}


def cause_text(undecided: Iterable[Undecided | None]) -> str:
    """Return in words why some fixtures have no result. A fixture with a result is None in `undecided`."""
    causes = {why.cause for why in undecided if why}
    return " or ".join(text for cause, text in CAUSES.items() if cause in causes)


class Record(NamedTuple):
    """Record of a fixture that has been played: results, answers, faults, and usage.

    In the record of an undecided fixture, the result of each bot has 0 tables.
    """

    path: str
    results: dict[str, Result]
    faults: dict[str, dict[str, Count]]  # by bot, then kind
    usage: dict[str, Usage]
    evidence: tuple[Evidence, ...]
    scores: tuple[Scores, ...]  # table by table
    answers: bytes  # of all tables, packed by `pack`
    benched: tuple[str, ...] = ()
    replayed: Count = 0  # number of repetitions after host failures: a bot was restarted, or the whole fixture
    seconds: Seconds = 0.0
    stalls: tuple[str, ...] = ()  # the evidence for each of these repetitions because the machine was busy
    overhead: Seconds = 0.0  # seconds of processor time of croupier itself
    times: tuple[Timing, ...] = ()  # times of the decisions at its first tables
    states: States = ()  # the state files that outlive the fixture, as they are after it
    said: StderrTail = ()
    failures: tuple[str, ...] = ()  # the bot and the reason for each of these repetitions after a keeper or worker died
    banks: tuple[BankTime, ...] = ()  # the time left in the bank at every question to a bot with a time bank
    seats: tuple[tuple[int, ...], ...] = ()  # for each table, the bots by seat, as indexes into the fixture's bots
    lines: bytes = b""  # the lines of its tables, if a table can repeat another (lines.py)
    models: Mapping[str, Mapping[str, ModelCost]] = {}  # costs by bot, then model; only models that were used
    retries: Mapping[str, Count] = {}  # number of questions asked again after a refused answer, by bot, if any
    transcript: bytes = b""  # questions and events of tables whose rules run in another process (transcript.py)
    undecided: Undecided | None = None
    unrecorded: tuple[str, ...] = ()  # why exchanges of its bots with models were not recorded

    def summary(self) -> "Record":
        """Return the record without the parts that grow with the number of tables. This is enough for standings."""
        return self._replace(
            evidence=(), scores=(), answers=b"", times=(), states=(), said=(), banks=(), seats=(), transcript=b""
        )

    def stored_summary(self) -> tuple[Any, ...]:
        """Return the first fields of this record, as a journal stores them for a decided fixture.

        The record must be a summary (see `summary`).
        """
        return tuple(self)[: MAX_STORED_FIELDS if self.retries else STORED_FIELDS + bool(self.models)]


STORED_FIELDS = Record._fields.index("models")
"""Number of the first fields of a summary, which a journal always stores.

It also stores `models` if a bot has used a model, and `models` and `retries` if a bot was asked again. The chain of the
journal covers the bytes of these fields, so no later field can be stored with them."""


MAX_STORED_FIELDS = STORED_FIELDS + 2


_decode = msgspec.msgpack.Decoder(Record).decode


def read_summary(stored: bytes) -> Record:
    """Return the record whose summary a journal stores. Raise ValueError if it is damaged, or if its parts do not fit.

    Its scores, costs, retries, faults and usage must be those of the bots with a result.
    """
    record = _decode(stored)
    check_sums(record)
    return record


def check_sums(record: Record) -> None:
    """Raise ValueError if a record has no results, or if another part does not fit them."""
    if not record.results:
        raise ValueError(f"{record.path} has no results")
    if record.scores:
        by_table, seated = list(map(len, record.scores)), sum(result.tables for result in record.results.values())
        if sum(by_table) != seated or max(by_table) > len(record.results):
            raise ValueError(f"the scores of {record.path} are not those of its bots")
    if not record.models.keys() <= record.results.keys():
        raise ValueError(f"the costs of models in {record.path} are not those of its bots")
    if not record.retries.keys() <= record.results.keys():
        raise ValueError(f"the retries in {record.path} are not those of its bots")
    if not (record.faults.keys() <= record.results.keys() and record.usage.keys() <= record.results.keys()):
        raise ValueError(f"the faults or the usage in {record.path} are not those of its bots")
    for used in record.usage.values():
        if len(used.walls) != WALLS or sum(used.walls) != used.questions:
            raise ValueError(f"the times of answers in {record.path} are not those of its questions")
    for result in record.results.values():
        for sums in (result.wins_with, result.scores_with):
            if sums and not (len(sums) == len(record.results) and all(map(math.isfinite, sums))):
                raise ValueError(f"the sums of {record.path} are not those of its bots")
        for total, other in zip(result.wins_with, record.results.values(), strict=False):  # it may be empty
            if not 0 <= total <= result.wins * other.wins:
                raise ValueError(f"the sums of {record.path} are not those of its wins")
        if not (result.units <= result.tables and 0 <= result.wins <= result.tables):
            raise ValueError(f"{record.path} has {result.units} units and {result.wins} wins in {result.tables} tables")


def undecided_record(path: str, bots: Iterable[str], why: Undecided) -> Record:
    """Return the record of an undecided fixture: no faults, and for each bot a result of 0 tables."""
    nothing = Result(tables=0, wins=0, score=0, low=0, high=0, final=0)
    return Record(path, dict.fromkeys(bots, nothing), {}, {}, (), (), b"", undecided=why)


class UnpackedLimits(NamedTuple):
    """Maximum bytes of the compressed parts of a record after they are unpacked."""

    answers: int
    tables: int  # scores, seats
    questions: int  # times, banks

    @classmethod
    def of(cls, record: Record) -> "UnpackedLimits":
        """Return the limits that follow from a record's own counts of tables, questions and faults."""
        seated = sum(result.tables for result in record.results.values())
        # A benched bot is not asked, but each of its answers is a fault.
        answers = sum(used.questions for used in record.usage.values())
        answers += sum(sum(kinds.values()) for kinds in record.faults.values())
        # An escaped character of a text has three bytes; the numbers of msgpack have up to nine.
        answer_bytes = 3 * (MAX_ANSWER_BYTES + MAX_NOTE_BYTES)
        per_record = {"answers": answer_bytes * answers, "tables": 32 * seated, "questions": 256 * answers}
        return cls(**{name: min(FEW_BYTES + each, MAX_UNPACKED_BYTES) for name, each in per_record.items()})


class Replays(NamedTuple):
    """Repetitions because of host failures."""

    replayed: int  # number of restarts of bots and of whole fixtures
    stalls: tuple[str, ...]  # fixture, bot, table and evidence for each restart because the machine was busy
    failures: tuple[str, ...]  # fixture, bot and reason for each restart after a keeper or a worker had died


def count_faults(records: Iterable[Record]) -> Counter[tuple[str, str]]:
    """Return the number of faults in these records, by pair of bot and kind."""
    counts = Counter[tuple[str, str]]()
    for record in records:
        for bot, kinds in record.faults.items():
            counts.update({(bot, kind): count for kind, count in kinds.items()})
    return counts


def causes_of_benching(records: Iterable[Record]) -> dict[str, Counter[str]]:
    """Return the number of faults that led to benching, by bot, then kind.

    Only fixtures in which the bot was benched count.
    """
    found: dict[str, Counter[str]] = {}
    for record in records:
        for bot, kinds in record.faults.items():
            if FaultKind.BENCHED in kinds:
                causes = {kind: count for kind, count in kinds.items() if kind in BENCHING}
                found.setdefault(bot, Counter()).update(causes)
    return found


def after_faults(causes: Mapping[str, int]) -> str:
    """Return why a bot was benched: "not asked any more after timeout ×40, crash ×2"; empty without causes."""
    counts = sorted(causes.items(), key=lambda one: -one[1])
    return f"not asked any more after {', '.join(f'{kind} ×{count}' for kind, count in counts)}" if counts else ""


def joined_to_causes(
    counts: Mapping[tuple[str, str], int], causes: Mapping[str, Mapping[str, int]]
) -> list[tuple[str, str]]:
    """Return the keys of `counts`, each a bot and a kind of fault, the most frequent first.

    `causes` are the faults that led to benching, by bot, then kind. These faults of a bot stay together, followed by
    its benching; their sum decides their position.
    """

    def together(key: tuple[str, str]) -> tuple[str, str]:
        bot, kind = key
        return (bot, "") if bot in causes and (kind == FaultKind.BENCHED or kind in causes[bot]) else key

    sums = Counter[tuple[str, str]]()
    for key, count in counts.items():
        sums[together(key)] += count
    return sorted(
        counts, key=lambda key: (-sums[together(key)], together(key), key[1] == FaultKind.BENCHED, -counts[key])
    )


def count_replays(records: Iterable[Record]) -> Replays:
    """Return the repetitions in all these records together."""
    found = [
        (record.replayed, record.path, record.stalls, record.failures)
        for record in records
        if record.replayed or record.stalls or record.failures
    ]
    return Replays(
        sum(times for times, *_ in found),
        tuple(f"{path}: {stall}" for _, path, stalls, _ in found for stall in stalls),
        tuple(f"{path}: {failure}" for _, path, _, failures in found for failure in failures),
    )


class _AnswerCache(dict[Answer, str]):
    """Caches the journal's text of each answer, such as `B 15` or `!exception ValueError`. Most answers are repeated.

    A move with a text is always written with its number: `PASS 0 QS%2C2H`. It is not cached, because each such text may
    have a kilobyte and occur only once.
    """

    def __missing__(self, answer: Answer) -> str:
        if isinstance(answer, Move) and answer.text:
            return f"{self[Move(answer.verb)]} {answer.n} {_escaped(answer.text)}"
        if isinstance(answer, Fault):
            text = f"!{answer.kind} {answer.detail.replace(',', ';')}".rstrip()
        else:
            text = _escaped(str(answer))
            text = text.replace("!", "%21", 1) if text.startswith("!") else text  # the text of a fault starts with "!"
        if len(text) <= MAX_CACHED_CHARS:
            if len(self) > 100_000:
                self.clear()
            self[answer] = text
        return text


def _escaped(text: str) -> str:
    """Return a text with escaped tabs, commas and line ends, which separate notes, answers and tables of a fixture."""
    return text.replace("%", "%25").replace(",", "%2C").replace("\n", "%0A").replace("\t", "%09")


def _unescaped(text: str) -> str:
    return text.replace("%09", "\t").replace("%0A", "\n").replace("%2C", ",").replace("%21", "!").replace("%25", "%")


_spelling = _AnswerCache()


def spelled_answer(answer: Answer) -> str:
    """Return the text of an answer in the journal."""
    return _spelling[answer]


def pack(tables: Sequence[Sequence[Answer]], notes: NotesByTable = NO_NOTES) -> bytes:
    """Pack answers for the journal: one line per table, answers separated by commas, compressed with zlib.

    A note follows its answer after a tab. Leave the notes out if answers and notes have more than MAX_UNPACKED_BYTES,
    which no reader accepts. Raise AnswersTooLong if the answers alone have more.
    """
    spelled = _spelling.__getitem__
    rows: Iterable[Iterable[str]] = (map(spelled, table) for table in tables)
    if notes:
        rows = (_with_notes(row, notes.get(number, {})) for number, row in enumerate(rows, 1))
    text = "\n".join(map(",".join, rows)).encode()
    if len(text) > MAX_UNPACKED_BYTES:
        if notes:
            return pack(tables)
        raise AnswersTooLong(f"the answers of its tables have more than {MAX_UNPACKED_BYTES >> 20} MiB")
    return zlib.compress(text, 3)


def _with_notes(spelled: Iterable[str], notes: Mapping[int, str]) -> Iterator[str]:
    """Yield the spelled answers of a table, each followed by its note if it has one."""
    for number, answer in enumerate(spelled, 1):
        yield f"{answer}\t{_escaped(notes[number])}" if number in notes else answer


class AnswersTooLong(ValueError):
    """Raised when the answers of a fixture have more bytes than a record can hold."""


def unpack(packed: bytes) -> list[list[Answer]]:
    """Return the answers of each table. Raise ValueError as `unpack_noted` does."""
    return unpack_noted(packed)[0]


def unpack_noted(packed: bytes, limit: int = MAX_UNPACKED_BYTES) -> tuple[list[list[Answer]], NotesByTable]:
    """Return the answers of each table, and the notes by table number, then answer number, both from 1.

    Raise ValueError if the bytes are damaged, if they are more than `limit` when unpacked, or if a note has more than
    MAX_NOTE_BYTES.
    """
    try:
        text = decompress(packed, limit).decode()
    except (zlib.error, ValueError, TypeError) as broken:  # SQLite may contain text instead of bytes
        raise ValueError(f"the journalled answers are damaged: {broken}") from broken
    tables, notes = [line.split(",") if line else [] for line in text.split("\n")], dict[int, dict[int, str]]()
    for table, answers in enumerate(tables if "\t" in text else (), 1):
        for nth, spelled in enumerate(answers):
            answers[nth], has_note, note = spelled.partition("\t")
            if has_note:
                notes.setdefault(table, {})[nth + 1] = note = _unescaped(note)
                if len(note.encode()) > MAX_NOTE_BYTES:
                    raise ValueError(f"table {table} has a note of more than {MAX_NOTE_BYTES} bytes")
    return [list(map(read_answer, answers)) for answers in tables], notes


def read_answer(spelled: str) -> Answer:
    """Parse an answer of the journal. Raise ValueError if the text is not an answer."""
    return _read_short(spelled) if len(spelled) <= MAX_CACHED_CHARS else _read_answer(spelled)


def _read_answer(spelled: str) -> Answer:
    word, _, rest = spelled.partition(" ")
    if word.startswith("!"):
        return Fault(FaultKind(word[1:]), rest)
    number, _, text = rest.partition(" ")
    return Move(_unescaped(word) if "%" in word else word, int(number) if number else 0, _unescaped(text))


_read_short = lru_cache(maxsize=8192)(_read_answer)
