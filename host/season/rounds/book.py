"""Stores the rounds of a season: the input of the scheduler, and the results of each round."""

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

import msgspec

from host.rating.strength import TableOrder
from host.season.documents import MeetingRow
from host.season.entries.store import Store
from host.season.entries.table import Table
from host.season.rounds.scheduler import RESTS_AFTER, Meeting, Player, RoundTerms, Sums


class RoundSums(msgspec.Struct, frozen=True):
    """The sums of the results of one finished round. `SeasonTotals` adds up the results of all rounds."""

    orders: tuple[tuple[TableOrder, float], ...]  # each order in which tables ended, and how often it occurred
    tables: dict[str, int]  # by label
    faults: dict[str, int]  # by label
    crashed: dict[str, tuple[bool, ...]]  # by label: whether it crashed in each fixture, in order; (False,) if in none
    meetings: tuple[MeetingRow, ...]
    speed: float  # tables per second, as measured; 0: not measured
    seconds: dict[str, float] = {}  # by label: the version's share of the time that workers spent on its tables
    bytes: int = 0  # size of the journal

    @property
    def all_tables(self) -> int:
        """Return the number of tables of the round."""
        return sum(meeting.tables for meeting in self.meetings)


class Round(NamedTuple):
    """A round: the input of the scheduler without earlier results, the planned meetings, and the results of the round.

    The tables of the round are in an ordinary tournament folder, rounds/NUMBER.
    """

    number: int  # from 1
    state: Literal["waiting", "running", "finished", "damaged"]
    terms: RoundTerms
    players: tuple[Player, ...]
    meetings: tuple[Meeting, ...]
    began: float | None = None
    ended: float | None = None
    seal: str = ""
    seed: str = ""  # revealed when the round is over
    note: str = ""
    sums: RoundSums | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the versions that may play the round, in the order of `players`."""
        return tuple(player.label for player in self.players)

    @property
    def counted(self) -> RoundSums | None:
        """Return the results of the round; None if it is not over, or is damaged."""
        return self.sums if self.state == "finished" else None


ROUND = Table("round", Round, "number")


class Book:
    """The rounds in the store of a season.

    A method that changes a round returns when the change is on the disk.
    """

    def __init__(self, store: Store) -> None:
        self._database = store.database

    def rounds(self) -> list[Round]:
        """Return all rounds in ascending order of their numbers. Raise UserError if the store is damaged."""
        return self._database.select(ROUND, "ORDER BY number") if self._database.has(ROUND) else []

    def plan(self, terms: RoundTerms, players: Sequence[Player], meetings: Sequence[Meeting]) -> Round:
        """Store a new round that waits to be played, and return it."""
        self._database.change(ROUND.create)
        return self._write(Round(terms.number, "waiting", terms, tuple(players), tuple(meetings)))

    def begin(self, which: Round) -> Round:
        """Store that a round is being played, and return the changed round.

        A resumed round keeps the time of its first start.
        """
        return self._write(which._replace(state="running", began=which.began or time.time()))

    def finish(self, which: Round, sums: RoundSums, seal: str, seed: str) -> Round:
        """Store the results of a finished round, with its seal and its revealed seed. Return the changed round."""
        return self._write(which._replace(state="finished", ended=time.time(), seal=seal, seed=seed, sums=sums))

    def damage(self, which: Round, why: str) -> Round:
        """Store that a round cannot be played to its end, or that its journal is damaged. Return the changed round.

        The tables of a damaged round do not count.
        """
        return self._write(which._replace(state="damaged", ended=time.time(), note=why, sums=None))

    def note(self, which: Round, text: str) -> Round:
        """Store a note about a round, and return the changed round."""
        return self._write(which._replace(note=text))

    def _write(self, which: Round) -> Round:
        self._database.put(ROUND, which)
        return which


class SeasonTotals:
    """Adds up the results of the rounds of a season, one round after another. A damaged round does not count.

    When a version is taken off the ladder for its crashes, its count of crashes begins again at 0.
    """

    def __init__(self) -> None:
        self._orders, self._tables, self._faults = Counter[TableOrder](), Counter[str](), Counter[str]()
        self._crashes = dict[str, int]()
        self._met = defaultdict[str, dict[str, tuple[int, float]]](dict)  # by version and opponent: tables and wins
        self.fallen: tuple[str, ...] = ()
        """The labels of the versions that the last added round takes off the ladder, because they keep crashing."""
        self.since = dict[str, int]()
        """By label: the number of the first round whose list of players has the version."""
        self.speed = 0.0
        """Tables per second, as measured last; 0: not measured yet."""
        self.pace = dict[str, float]()
        """By label: the version's share of the worker time of one table, in seconds.

        The value comes from the version's last round that was not uniform: in a uniform round, versions meet other
        opponents, and their tables are shorter or longer. A uniform round only sets the value of a version without
        one."""
        self.uniform_pace = 1.0
        """The median over the versions of a ratio: the time of a table in the last uniform round, divided by `pace`."""
        self.workers = 1.0
        """The average number of workers that played at the same time.

        It comes from the last round that played at least half of its planned tables."""

    def add(self, which: Round) -> None:
        """Add the results of a round. Call it for one round after another, in ascending order of their numbers."""
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
        self.fallen = tuple(sorted(label for label, times in self._crashes.items() if times >= RESTS_AFTER))
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
        ):  # otherwise the round may have been a single slow meeting
            self.workers = sum(sums.seconds.values()) * sums.speed / sums.all_tables

    @property
    def sums(self) -> Sums:
        """Return the sums over all added rounds, for the scheduler and the ladder."""
        return Sums(orders=dict(self._orders), tables=dict(self._tables), crashes=dict(self._crashes))

    @property
    def faults(self) -> Mapping[str, int]:
        """Return the number of faults over all rounds, by label."""
        return self._faults

    def opponents(self) -> dict[str, list[tuple[str, int, float]]]:
        """Return the opponents of each version over all rounds, by label of the version.

        Each opponent is a tuple: its label, the tables against it, and the version's wins. The opponent with the most
        tables comes first.
        """
        return {
            label: sorted(((other, *counts) for other, counts in own.items()), key=lambda each: (-each[1], each[0]))
            for label, own in self._met.items()
        }
