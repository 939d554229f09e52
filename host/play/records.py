"""What is played and journalled as a whole, and what comes of it: plain values that travel between processes."""

import zlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from host.bots.values import Evidence, Timing, Usage
from host.games.engine import Scores
from host.play.custom_games import GameOrigin, reload_game
from host.sandbox.levels import Level
from host.submissions.bot_spec import BuiltBot
from protocols.wire import Answer, Fault, FaultKind, Move


class Fixture(NamedTuple):
    """What is played as a whole: equal fixtures are the same work, and give the same results.

    `plan` names how its tables follow from each other (tournament/plans.py); `path` is its part of the seed. A block of
    tables is named by its first: `league/NEPTR+Nestor/10001`.
    """

    game: str
    rules: Any  # the game's Rules
    plan: str
    path: str
    bots: tuple[str, ...]
    tables: int
    first: int = 1


class Result(NamedTuple):
    """What one bot made of a fixture; `final` is its score at the last of its tables.

    `squares` are those of its wins in each deal, summed, where tables share deals: they tell how much luck is left.
    """

    tables: int
    wins: int | float  # a part where equals share a win
    score: int
    low: int
    high: int
    final: int
    squares: int = 0


States = tuple[tuple[str, bytes], ...]
"""Bots, and what their state files hold."""


StderrTail = tuple[tuple[str, tuple[tuple[str, bytes], ...]], ...]
"""Bots, and the end of what they have said on standard error, in pieces by the name of the table."""


class Record(NamedTuple):
    """A fixture that has been played: who got what, what was answered, what went wrong and what it cost."""

    path: str
    results: dict[str, Result]
    faults: dict[str, dict[str, int]]  # by bot, then kind
    usage: dict[str, Usage]
    evidence: tuple[Evidence, ...]
    scores: tuple[Scores, ...]  # table by table
    answers: bytes  # of all tables, packed
    benched: tuple[str, ...] = ()
    replayed: int = 0  # times it was started again because our own part failed
    seconds: float = 0.0
    stalls: tuple[str, ...] = ()  # of the times it was started again: the machine was busy, and how that was seen
    overhead: float = 0.0  # seconds that croupier itself has computed for it
    times: tuple[Timing, ...] = ()  # of decisions at its first tables
    states: States = ()  # the state files that outlive the fixture, as it has left them
    said: StderrTail = ()

    def summary(self) -> "Record":
        """Return what standings are made of, without what grows with the tables."""
        return self._replace(evidence=(), scores=(), answers=b"", times=(), states=(), said=())


class Replays(NamedTuple):
    """What was played again because something other than a bot had failed."""

    replayed: int  # times a fixture was started again
    stalls: tuple[str, ...]  # of these times: fixture, bot and table, and how it was seen that the machine was busy


def count_replays(records: Iterable[Record]) -> Replays:
    """Return what was played again of some fixtures."""
    told = [(record.replayed, [f"{record.path}: {stall}" for stall in record.stalls]) for record in records]
    return Replays(sum(times for times, _ in told), tuple(stall for _, stalls in told for stall in stalls))


class WorkerSetup(NamedTuple):
    """What a worker must know before the first fixture. The seed travels by pipe only: no command line shows it."""

    game: str
    rules: Any
    bots: tuple[BuiltBot, ...]
    seed: bytes
    level: Level
    parallel_tables: int = 0  # most tables at once; 0 = croupier's own default
    pondering: bool = False  # whether bots may go on computing while they have no question
    origin: GameOrigin = GameOrigin()  # of a game that the organiser brings


class Job(NamedTuple):
    """A fixture on its way to a worker, and who is benched for its stage."""

    fixture: Fixture
    benched: tuple[str, ...] = ()
    states: States = ()  # the state files that outlive their fixtures, as the one before has left them


class _AnswerCache(dict[Answer, str]):
    """How an answer is journalled: `B 15`, `!exception ValueError`; the few there are, are spelled once."""

    def __missing__(self, answer: Answer) -> str:
        said = (
            f"!{answer.kind} {answer.detail.replace(',', ';')}".rstrip() if isinstance(answer, Fault) else str(answer)
        )
        if len(self) > 100_000:
            self.clear()
        self[answer] = said
        return said


_spelling = _AnswerCache()


def spelled_answer(answer: Answer) -> str:
    """Return how an answer is journalled."""
    return _spelling[answer]


def pack(tables: Iterable[Sequence[Answer]]) -> bytes:
    """Return answers as they are kept: a line a table, answers split by commas, deflated."""
    spelled = _spelling.__getitem__
    return zlib.compress("\n".join(",".join(map(spelled, table)) for table in tables).encode(), 3)


def unpack(packed: bytes) -> list[list[Answer]]:
    """Return each table's answers. Raise ValueError when the bytes are not such."""
    try:
        lines = zlib.decompress(packed).decode().split("\n")
    except (zlib.error, UnicodeDecodeError, TypeError) as broken:  # SQLite may hold a text where bytes belong
        raise ValueError(f"the journalled answers are damaged: {broken}") from broken
    return [[read_answer(said) for said in line.split(",")] if line else [] for line in lines]


def read_answer(said: str) -> Answer:
    """Return the answer that is journalled so; raise ValueError when none is."""
    word, _, rest = said.partition(" ")
    if word.startswith("!"):
        return Fault(FaultKind(word[1:]), rest)
    return Move(word, int(rest) if rest else 0)


# A setup, a job and a record travel as JSON arrays, one a line: the order of their fields is the format. Their names are
# not, so they may change; a new field goes to the end. Rules are values of the game's own type, which only its name gives.

encode = msgspec.json.encode


def decode_setup(line: bytes, rules_of: Any) -> WorkerSetup:
    """Return a worker's setup; `rules_of` gives the type of a game's rules."""
    fields = msgspec.json.decode(line)
    game, rules, _bots, _seed, _level, _abreast, _pondering, origin = fields
    found = msgspec.convert(origin, GameOrigin)
    if found.said:
        reload_game(found)
    fields[1] = msgspec.convert(rules, rules_of(game))
    return msgspec.convert(fields, WorkerSetup)


def decode_job(line: bytes, rules_of: Any) -> Job:
    """Return one job; `rules_of` gives the type of a game's rules."""
    fixture, *more = msgspec.json.decode(line)
    game, rules, *rest = fixture
    return msgspec.convert([[game, msgspec.convert(rules, rules_of(game)), *rest], *more], Job)
