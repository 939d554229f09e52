"""Keeps the rounds of a season in its store: what the scheduler was given, and what each round has brought."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.season.entries.store import Store
from host.season.entries.values import RoundEntry
from host.season.rounds.scheduler import RESTS_AFTER, Meeting, Player, RoundTerms, Sums

TableOrder = tuple[tuple[str, ...], ...]

CRASH_SERIES = RESTS_AFTER
"""Fixtures in a row in which a version crashed, after which it is taken off the ladder until its author acts."""


class RoundPlan(msgspec.Struct, frozen=True):
    """All that the list of a round follows from, besides the results of the rounds before it.

    `speed` is the number of tables in a second that the budget was computed with. `config` is the part of croupier.toml
    that decides how tables are played.
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
    crashed: dict[str, tuple[bool, ...]]  # for fixtures of a version, in their order, whether it crashed
    meetings: tuple[PairCount, ...]
    speed: float  # tables in a second, as measured; 0: it was not
    bytes: int = 0  # of the journal

    @property
    def all_tables(self) -> int:
        """The number of tables of the round."""
        return sum(meeting.tables for meeting in self.meetings)


class RoundData(msgspec.Struct, frozen=True):
    """What the store has of a round besides its row. The sums are missing until it is over."""

    plan: RoundPlan
    sums: RoundSums | None = None


class Round(NamedTuple):
    """A round: its row, what it follows from, and what it has brought."""

    entry: RoundEntry
    data: RoundData

    @property
    def number(self) -> int:
        """The number of the round, from 1."""
        return self.entry.number

    @property
    def meetings(self) -> tuple[Meeting, ...]:
        """The list of the round."""
        return tuple(Meeting(labels, tables) for labels, tables in self.entry.meetings)

    @property
    def counted(self) -> RoundSums | None:
        """What the round has brought; None if it is not over, or damaged."""
        return self.data.sums if self.entry.state == "finished" else None


_data = msgspec.json.Decoder(RoundData)


class Book:
    """The rounds of a season. Each change is on the disk when its method returns."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rounds(self) -> list[Round]:
        """Return all rounds in their order. Raise UserError if the store is damaged."""
        data = dict(self._store.rounds.sums())
        return [self._round(entry, data.get(entry.number, b"")) for entry in self._store.rounds.all()]

    def _round(self, entry: RoundEntry, data: bytes) -> Round:
        try:
            return Round(entry, _data.decode(data))
        except msgspec.MsgspecError as wrong:
            message = f"is damaged: round {entry.number}: {wrong}"
            raise UserError(
                [Problem("E012", str(self._store.path), message, hint="restore it from a backup")], 3
            ) from wrong

    def plan(self, plan: RoundPlan, meetings: Sequence[Meeting]) -> Round:
        """Store a round that will be played, and return it."""
        entry = RoundEntry(
            number=plan.terms.number,
            state="waiting",
            players=tuple(player.label for player in plan.players),
            meetings=tuple((meeting.labels, meeting.tables) for meeting in meetings),
            uniform=plan.terms.uniform,
        )
        return self._write(Round(entry, RoundData(plan)))

    def begin(self, which: Round) -> Round:
        """Store that a round plays. A round that is resumed keeps its first time."""
        began = which.entry.began or time.time()
        return self._write(which._replace(entry=which.entry._replace(state="running", began=began)))

    def finish(self, which: Round, sums: RoundSums, seal: str, seed: str) -> Round:
        """Store what a round has brought, with its seal and its revealed seed."""
        entry = which.entry._replace(state="finished", ended=time.time(), seal=seal, seed=seed)
        return self._write(Round(entry, RoundData(which.data.plan, sums)))

    def damage(self, which: Round, why: str) -> Round:
        """Store that a round cannot be played to its end, or read. Its tables do not count."""
        entry = which.entry._replace(state="damaged", ended=time.time(), note=why)
        return self._write(Round(entry, RoundData(which.data.plan)))

    def note(self, which: Round, text: str) -> Round:
        """Store a note about a round."""
        return self._write(which._replace(entry=which.entry._replace(note=text)))

    def _write(self, which: Round) -> Round:
        with self._store.transaction():
            self._store.rounds.set(which.entry)
            self._store.rounds.set_sums(which.number, msgspec.json.encode(which.data))
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

    def add(self, which: Round) -> None:
        """Add a round. Rounds must come in their order."""
        for label in which.entry.players:
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
        self.speed = sums.speed or self.speed

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
