"""Keeps the rounds of a season in its store: what the scheduler was given, and what each round has brought."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from host.season.documents import MeetingRow
from host.season.entries.store import Store
from host.season.entries.table import Table
from host.season.rounds.scheduler import RESTS_AFTER, Meeting, Player, RoundTerms, Sums

TableOrder = tuple[tuple[str, ...], ...]

CRASH_SERIES = RESTS_AFTER
"""Fixtures in a row in which a version crashed, after which it is taken off the ladder until its author acts."""


class RoundSums(msgspec.Struct, frozen=True):
    """What a finished round adds to the sums of the season."""

    orders: tuple[tuple[TableOrder, float], ...]
    tables: dict[str, int]  # by label
    faults: dict[str, int]
    crashed: dict[str, tuple[bool, ...]]  # for fixtures of a version, in their order, whether it crashed
    meetings: tuple[MeetingRow, ...]
    speed: float  # tables in a second, as measured; 0: it was not
    seconds: dict[str, float] = {}  # by label: what its tables have taken of the time of workers
    bytes: int = 0  # of the journal

    @property
    def all_tables(self) -> int:
        """The number of tables of the round."""
        return sum(meeting.tables for meeting in self.meetings)


class Round(NamedTuple):
    """A round: what its list follows from, besides the results of the rounds before it, and what it has brought.

    Its tables are in an ordinary tournament folder, rounds/NUMBER.
    """

    number: int  # from 1
    state: Literal["waiting", "running", "finished", "damaged"]
    terms: RoundTerms
    players: tuple[Player, ...]
    meetings: tuple[Meeting, ...]
    began: float | None = None
    ended: float | None = None
    seal: str = ""
    seed: str = ""  # revealed when it is over
    note: str = ""
    sums: RoundSums | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The versions that may play it."""
        return tuple(player.label for player in self.players)

    @property
    def counted(self) -> RoundSums | None:
        """What the round has brought; None if it is not over, or damaged."""
        return self.sums if self.state == "finished" else None


ROUND = Table("round", Round, "number")


class Book:
    """The rounds of a season. Each change is on the disk when its method returns."""

    def __init__(self, store: Store) -> None:
        self._database = store.database

    def rounds(self) -> list[Round]:
        """Return all rounds in their order. Raise UserError if the store is damaged."""
        return self._database.select(ROUND, "ORDER BY number") if self._database.has(ROUND) else []

    def plan(self, terms: RoundTerms, players: Sequence[Player], meetings: Sequence[Meeting]) -> Round:
        """Store a round that will be played, and return it."""
        self._database.change(ROUND.create)
        return self._write(Round(terms.number, "waiting", terms, tuple(players), tuple(meetings)))

    def begin(self, which: Round) -> Round:
        """Store that a round plays. A round that is resumed keeps its first time."""
        return self._write(which._replace(state="running", began=which.began or time.time()))

    def finish(self, which: Round, sums: RoundSums, seal: str, seed: str) -> Round:
        """Store what a round has brought, with its seal and its revealed seed."""
        return self._write(which._replace(state="finished", ended=time.time(), seal=seal, seed=seed, sums=sums))

    def damage(self, which: Round, why: str) -> Round:
        """Store that a round cannot be played to its end, or read. Its tables do not count."""
        return self._write(which._replace(state="damaged", ended=time.time(), note=why, sums=None))

    def note(self, which: Round, text: str) -> Round:
        """Store a note about a round."""
        return self._write(which._replace(note=text))

    def _write(self, which: Round) -> Round:
        self._database.put(ROUND, which)
        return which


class SeasonTotals:
    """Adds up the rounds of a season, one after another. A damaged round does not count.

    A version that was taken off the ladder for its crashes begins again with none.
    """

    def __init__(self) -> None:
        self._orders, self._tables, self._faults = Counter[TableOrder](), Counter[str](), Counter[str]()
        self._crashes = dict[str, int]()
        self._met = defaultdict[str, dict[str, tuple[int, float]]](dict)  # tables and wins against each other version
        self.fallen: tuple[str, ...] = ()
        """The versions that the last round has taken off the ladder."""
        self.since = dict[str, int]()
        """The number of the first round that had each version in its list of players."""
        self.speed = 0.0
        """Tables in a second, as measured last; 0: not yet."""
        self.pace = dict[str, float]()
        """The seconds that a table has taken of a worker for each version, in the last round that it has played and that was
        not uniform: in those, versions meet others, and their tables are shorter or longer."""
        self.uniform_pace = 1.0
        """The time of a table in the last uniform round, in that of the rounds before it."""
        self.workers = 1.0
        """How many workers have played at the same time, on average of the last round."""

    def add(self, which: Round) -> None:
        """Add a round. Rounds must come in their order."""
        for label in which.labels:
            self.since.setdefault(label, which.number)
        self.fallen, sums = (), which.counted
        if sums is None:
            return
        for order, times in sums.orders:
            self._orders[order] += times  # type: ignore[assignment]  # a Counter adds fractions, too
        self._tables.update(sums.tables)
        self._faults.update(sums.faults)
        for meeting in sums.meetings:
            for label, wins in zip(meeting.labels, meeting.won, strict=True):
                own = self._met[label]
                for other in meeting.labels:
                    if other != label:
                        tables, won = own.get(other, (0, 0.0))
                        own[other] = tables + meeting.tables, won + wins
        for label, ends in sums.crashed.items():
            for crashed in ends:
                self._crashes[label] = self._crashes.get(label, 0) + 1 if crashed else 0
        self.fallen = tuple(sorted(label for label, times in self._crashes.items() if times >= CRASH_SERIES))
        self._crashes |= dict.fromkeys(self.fallen, 0)
        pace = {
            label: spent / sums.tables[label]
            for label, spent in sums.seconds.items()
            if sums.tables[label] and spent > 0
        }
        if which.terms.uniform:
            both = pace.keys() & self.pace.keys()
            self.uniform_pace = median(pace[label] / self.pace[label] for label in both) if both else 1.0
            self.pace = pace | self.pace
        else:
            self.pace |= pace
        if sums.speed and sums.all_tables:
            self.speed = sums.speed
        if (
            sums.speed and 2 * sums.all_tables >= which.terms.tables
        ):  # otherwise one slow meeting may have been all of it
            self.workers = sum(sums.seconds.values()) * sums.speed / sums.all_tables

    @property
    def sums(self) -> Sums:
        """What the scheduler and the ladder get."""
        return Sums(orders=dict(self._orders), tables=dict(self._tables), crashes=dict(self._crashes))

    @property
    def faults(self) -> Mapping[str, int]:
        """The faults of each version over all rounds."""
        return self._faults

    def opponents(self) -> dict[str, list[tuple[str, int, float]]]:
        """Return for each version its opponents over all rounds, with tables and wins against each, most tables first."""
        return {
            label: sorted(((other, *counts) for other, counts in own.items()), key=lambda each: (-each[1], each[0]))
            for label, own in self._met.items()
        }
