"""Says in a sentence why a version moved on the ladder: its own results that were not expected, or those of who passed it."""

from collections import Counter
from collections.abc import Mapping
from math import exp
from typing import NamedTuple

from host.base.format import counted, ordinal, thousands
from host.rating.statistics import ELO
from host.rating.strength import TableOrder
from host.season.rounds.fit import pair_counts

NEW = "new versions"
"""Stands for all opponents that played their first round."""

NOTICED_ELO = 0.5
"""The change of a rating that a sentence is about."""

NOTICED_TABLES = 1.0
"""The surprise of a result that a sentence names as the cause."""


def played(orders: Mapping[TableOrder, float], tables: Mapping[frozenset[str], int]) -> dict[TableOrder, float]:
    """Return the orders of tables without the weights of mirrored ones: as many as each set of versions has played.

    Sets of versions that `tables` does not have stay as they are.
    """
    weights = Counter[frozenset[str]]()
    for order, times in orders.items():
        weights[frozenset().union(*order)] += times  # type: ignore[assignment]  # a Counter adds fractions, too
    return {
        order: times * tables[who] / weights[who] if (who := frozenset().union(*order)) in tables else times
        for order, times in orders.items()
    }


class Move(NamedTuple):
    """Where a version stands now: its rank (0: it is not ranked) and its rating."""

    label: str
    rank: int
    rating: float


class Result(NamedTuple):
    """The tables of a version in the last round against one opponent, or against all new ones. A draw counts half."""

    against: str
    tables: float
    won: float
    expected: float

    @property
    def surprise(self) -> float:
        """By how many tables it won more than its rating before the round implied."""
        return self.won - self.expected

    def words(self, up: bool) -> str:
        """Return "won 12 of 20 tables against ada-2 (8.3 expected)", or how many it lost."""
        count, due = (self.won, self.expected) if up else (self.tables - self.won, self.tables - self.expected)
        number = thousands(count, 0 if count == round(count) else 1)
        verb, tables = "won" if up else "lost", counted(round(self.tables), "table")
        return f"{verb} {number} of {tables} against {self.against} ({thousands(due, 1)} expected)"


class Moves(NamedTuple):
    """The results of the last round, and the ladder before it."""

    results: Mapping[str, Mapping[str, Result]]  # by label and opponent
    ranks: Mapping[str, int]
    ratings: Mapping[str, float]
    tables: Mapping[str, float]  # of each version, however many others sat at them

    @classmethod
    def of(
        cls,
        orders: Mapping[TableOrder, float],
        now: Mapping[str, float],
        ranks: Mapping[str, int],
        ratings: Mapping[str, float],
    ) -> "Moves":
        """Return the results of a round: its orders, the ratings after it, and ranks and ratings before it."""
        number, counts = pair_counts(orders)
        labels, found = [*number], dict[str, dict[str, Result]]()
        columns = (each.tolist() for each in counts)
        for first, second, tables, won in zip(*columns, strict=True):
            one, other = labels[first], labels[second]
            known = ratings if one in ratings and other in ratings else now
            due = tables / (1 + exp((known[other] - known[one]) / ELO))
            for ours, theirs, count, expected in ((one, other, won, due), (other, one, tables - won, tables - due)):
                against = theirs if theirs in ratings else NEW
                mine = found.setdefault(ours, {})
                before = mine.get(against, Result(against, 0, 0, 0))
                mine[against] = Result(against, before.tables + tables, before.won + count, before.expected + expected)
        tables = Counter[str]()
        for order, times in orders.items():
            tables.update(dict.fromkeys(frozenset().union(*order), times))
        return cls(found, ranks, ratings, tables)

    def sentence(self, move: Move, ranks: Mapping[str, int]) -> str:
        """Return why a version moved; empty if neither its rank nor its rating did. `ranks` are those of all versions now."""
        if move.label not in self.ratings:
            return f"new: its first {counted(round(self.tables[move.label]), 'table')}"
        before, change = self.ranks.get(move.label, 0), move.rating - self.ratings[move.label]
        if before and move.rank and before != move.rank:
            return f"moved from {ordinal(before)} because {self._why(move, before, ranks)}"
        if abs(change) < NOTICED_ELO:
            return ""
        own = self._own(move.label, change > 0)
        why = f"it {own.words(change > 0)}" if own else "the ratings of its opponents changed"
        return f"{change:+.0f} Elo because {why}"

    def _why(self, move: Move, before: int, ranks: Mapping[str, int]) -> str:
        up, change = move.rank < before, move.rating - self.ratings[move.label]
        own = self._own(move.label, up)
        if own and (change > NOTICED_ELO if up else change < -NOTICED_ELO):
            return f"it {own.words(up)}"
        if up:
            passed = [each for each, rank in self.ranks.items() if 0 < rank < before]
            gone = [each for each in passed if not ranks.get(each)]
            passed = [each for each in passed if ranks.get(each, 0) > move.rank]
        else:
            passed = [each for each, rank in ranks.items() if 0 < rank < move.rank]
            gone = []
            passed = [each for each in passed if not 0 < self.ranks.get(each, 0) < before]
        return self._others(passed, gone, up)

    def _others(self, passed: list[str], gone: list[str], up: bool) -> str:
        """Return who has changed places with a version, and why."""
        named = sorted(passed, key=lambda each: (-abs(self._surprise(each, not up)), each))
        if named:
            own = self._own(named[0], not up)
            if own is None:
                return f"{named[0]} {'fell behind it' if up else 'passed it'}"
            return f"{named[0]} {own.words(not up)}"
        if gone:
            return f"{min(gone)} is not ranked any more"
        return "the ratings of its opponents changed"

    def _surprise(self, label: str, up: bool) -> float:
        own = self._own(label, up)
        return own.surprise if own else 0.0

    def _own(self, label: str, up: bool) -> Result | None:
        """Return the result of a version that explains best why it rose or fell; None if none does."""
        sign = 1 if up else -1
        mine = [each for each in self.results.get(label, {}).values() if sign * each.surprise >= NOTICED_TABLES]
        return max(mine, key=lambda each: (sign * each.surprise, each.against), default=None)
