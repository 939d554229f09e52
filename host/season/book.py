"""Keeps the rounds of a season in its database: what the scheduler was given, what a round has brought, and the events."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from host.entries.database import Database
from host.season.rounds import Meeting, Player, RoundTerms, Sums

RoundState = Literal["waiting", "running", "finished", "damaged"]
TableOrder = tuple[tuple[str, ...], ...]


class RoundPlan(msgspec.Struct, frozen=True):
    """All that the list of a round follows from, besides the results of the rounds before it.

    `speed` is the number of tables in a second that the budget was computed with. `config` is the part of croupier.toml
    that decides how tables are played; a change of it is recorded with the first round that it applies to.
    """

    terms: RoundTerms
    players: tuple[Player, ...]
    speed: float
    config: str


class PairCount(msgspec.Struct, frozen=True):
    """The tables of some versions in a round."""

    labels: tuple[str, ...]
    tables: int
    won: tuple[float, ...]
    faults: tuple[int, ...]


class RoundSums(msgspec.Struct, frozen=True):
    """What a finished round adds to the sums of the season."""

    orders: tuple[tuple[TableOrder, float], ...]
    tables: dict[str, int]  # by label
    faults: dict[str, int]
    crashed: dict[str, tuple[bool, ...]]  # for each fixture of a version, in their order, whether it ended benched
    meetings: tuple[PairCount, ...]
    speed: float  # tables in a second, as measured; 0: it was not
    bytes: int = 0  # of the journal

    @property
    def all_tables(self) -> int:
        """The number of tables of the round."""
        return sum(meeting.tables for meeting in self.meetings)


class Round(msgspec.Struct, frozen=True):
    """A round as the database has it."""

    number: int
    state: RoundState
    began: float | None
    ended: float | None
    plan: RoundPlan
    meetings: tuple[Meeting, ...]
    seal: str = ""
    seed: str = ""
    note: str = ""
    sums: RoundSums | None = None

    @property
    def uniform(self) -> bool:
        """Whether the tables of the round are spread over the whole field."""
        return self.plan.terms.number % UNIFORM_EVERY == 0


UNIFORM_EVERY = 5
CRASH_SERIES = 6
"""Fixtures in a row that ended with a version benched, after which it is taken off the ladder until its author acts."""

_plan, _meetings = msgspec.json.Decoder(RoundPlan), msgspec.json.Decoder(tuple[Meeting, ...])
_sums, _ratings = msgspec.json.Decoder(RoundSums), msgspec.json.Decoder(dict[str, float])
COLUMNS = "number, state, began, ended, players, meetings, seal, seed, note, sums"


class Book:
    """The rounds and events of a season. Each change is on the disk when its method returns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # Rounds.

    def rounds(self) -> list[Round]:
        """Return all rounds in their order."""
        return [_round(row) for row in self._database.rows(f"SELECT {COLUMNS} FROM round ORDER BY number")]

    def last(self) -> Round | None:
        """Return the last round that has been planned; None if there is none."""
        row = self._database.row(f"SELECT {COLUMNS} FROM round ORDER BY number DESC LIMIT 1")
        return _round(row) if row else None

    def plan(self, plan: RoundPlan, meetings: Sequence[Meeting], uniform: bool) -> None:
        """Store a round that will be played."""
        self._database.change(
            "INSERT INTO round(number, state, uniform, players, meetings) VALUES (?, 'waiting', ?, ?, ?)",
            plan.terms.number,
            uniform,
            msgspec.json.encode(plan),
            msgspec.json.encode(tuple(meetings)),
        )

    def begin(self, number: int) -> None:
        """Store that a round has begun to play. A round that is resumed keeps its first time."""
        query = "UPDATE round SET state = 'running', began = coalesce(began, ?) WHERE number = ?"
        self._database.change(query, time.time(), number)

    def finish(self, number: int, sums: RoundSums, seal: str, seed: str) -> None:
        """Store what a round has brought, with its seal and its revealed seed."""
        query = "UPDATE round SET state = 'finished', ended = ?, sums = ?, seal = ?, seed = ? WHERE number = ?"
        self._database.change(query, time.time(), msgspec.json.encode(sums), seal, seed, number)

    def damage(self, number: int, why: str) -> None:
        """Store that a round cannot be played to its end, or read. Its tables are not counted."""
        query = "UPDATE round SET state = 'damaged', ended = ?, note = ?, sums = NULL WHERE number = ?"
        self._database.change(query, time.time(), why, number)

    def note(self, number: int, text: str) -> None:
        """Store a note about a round."""
        self._database.change("UPDATE round SET note = ? WHERE number = ?", text, number)

    def set_ratings(self, number: int, ratings: Mapping[str, float]) -> None:
        """Store the ratings after a round, by label."""
        self._database.change(
            "UPDATE round SET ratings = ? WHERE number = ?", msgspec.json.encode(dict(ratings)), number
        )

    def ratings(self) -> list[tuple[int, dict[str, float]]]:
        """Return the ratings after each round that has any, in the order of the rounds."""
        rows = self._database.rows("SELECT number, ratings FROM round WHERE ratings IS NOT NULL ORDER BY number")
        return [(number, _ratings.decode(found)) for number, found in rows]

    # Settings and events.

    def setting(self, name: str) -> str:
        """Return a setting; empty if it has not been set."""
        row = self._database.row("SELECT value FROM setting WHERE name = ?", name)
        return str(row[0]) if row else ""

    def set(self, name: str, value: str) -> None:
        """Store a setting."""
        self._database.change("INSERT OR REPLACE INTO setting(name, value) VALUES (?, ?)", name, value)

    def event(self, kind: str, subject: str, text: str) -> None:
        """Store an event."""
        self._database.change(
            "INSERT INTO event(at, kind, subject, text) VALUES (?, ?, ?, ?)", time.time(), kind, subject, text
        )

    def events(self, kind: str = "", limit: int = 200) -> list[tuple[float, str, str, str]]:
        """Return the last events, of a kind or of all: time, kind, subject and text, newest last."""
        query = "SELECT at, kind, subject, text FROM event WHERE (?1 = '' OR kind = ?1) ORDER BY id DESC LIMIT ?2"
        return [(float(at), kind, subject, text) for at, kind, subject, text in self._database.rows(query, kind, limit)][
            ::-1
        ]


def _round(row: tuple[object, ...]) -> Round:
    number, state, began, ended, plan, meetings, seal, seed, note, sums = row
    return msgspec.convert(
        {
            "number": number,
            "state": state,
            "began": began,
            "ended": ended,
            "plan": _plan.decode(plan),  # type: ignore[arg-type]
            "meetings": _meetings.decode(meetings),  # type: ignore[arg-type]
            "seal": seal,
            "seed": seed,
            "note": note,
            "sums": _sums.decode(sums) if sums else None,  # type: ignore[arg-type]
        },
        Round,
    )


class Totals(NamedTuple):
    """The sums of some rounds. `fallen` are the versions that the last of them takes off the ladder."""

    sums: Sums
    fallen: tuple[str, ...] = ()


def total(rounds: Iterable[Round], before: int | None = None) -> Totals:
    """Return the sums of the finished rounds, or of those before a number. A damaged round does not count.

    A version that was taken off the ladder for its crashes begins again with none.
    """
    orders, tables, crashes, fallen = Counter[TableOrder](), Counter[str](), dict[str, int](), tuple[str, ...]()
    for each in rounds:
        if each.state != "finished" or each.sums is None or (before is not None and each.number >= before):
            continue
        for order, times in each.sums.orders:
            orders[order] += times  # type: ignore[assignment]  # a Counter adds fractions, too
        tables.update(each.sums.tables)
        for label, ends in each.sums.crashed.items():
            for benched in ends:
                crashes[label] = crashes.get(label, 0) + 1 if benched else 0
        fallen = tuple(sorted(label for label, times in crashes.items() if times >= CRASH_SERIES))
        crashes |= dict.fromkeys(fallen, 0)
    return Totals(Sums(orders=dict(orders), tables=dict(tables), crashes=crashes), fallen)
