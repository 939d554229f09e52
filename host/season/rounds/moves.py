"""Explains in a sentence why a version moved on the ladder: its own surprising results, or those of another version."""

from collections import Counter
from collections.abc import Mapping
from math import exp
from typing import NamedTuple

from host.base.format import counted, ordinal, thousands
from host.rating.statistics import ELO
from host.rating.strength import TableOrder
from host.season.rounds.fit import pair_counts

NEW = "new versions"
"""The name that stands for all opponents that played their first round."""

NOTICED_ELO = 0.5
"""The least change of a rating that a sentence explains."""

NOTICED_TABLES = 1.0
"""The least surprise of a result that a sentence names as the cause."""


def played(orders: Mapping[TableOrder, float], tables: Mapping[frozenset[str], int]) -> dict[TableOrder, float]:
    """Return how often tables ended in each order, scaled so that each set of versions has its number of played tables.

    `orders` may count mirrored tables with weights. `tables` is the number of played tables by set of versions. The
    orders of a set that `tables` does not have stay unchanged.
    """
    weights = Counter[frozenset[str]]()
    for order, times in orders.items():
        weights[frozenset().union(*order)] += times  # type: ignore[assignment]  # a Counter adds fractions, too
    return {
        order: times * tables[who] / weights[who] if (who := frozenset().union(*order)) in tables else times
        for order, times in orders.items()
    }


class Result(NamedTuple):
    """The results of a version in the last round against one opponent, or against all new versions.

    A draw counts half.
    """

    against: str
    tables: float
    won: float
    expected: float  # tables that the version would win by the ratings

    @property
    def surprise(self) -> float:
        """Return how many tables more than expected the version won. The number is negative if it won fewer."""
        return self.won - self.expected

    def words(self, up: bool) -> str:
        """Return "won 12 of 20 tables against ada-2 (8.3 expected)". If `up` is False, return how many it lost."""
        count, due = (self.won, self.expected) if up else (self.tables - self.won, self.tables - self.expected)
        number = thousands(count, 0 if count == round(count) else 1)
        verb, tables = "won" if up else "lost", counted(round(self.tables), "table")
        return f"{verb} {number} of {tables} against {self.against} ({thousands(due, 1)} expected)"


class Moves(NamedTuple):
    """The results of the last round, the ratings after it, and the ladder before it."""

    results: Mapping[str, Mapping[str, Result]]  # by label and opponent
    now: Mapping[str, float]  # ratings after the round, by label
    ranks: Mapping[str, int]  # ranks before the round, by label; 0: not ranked
    ratings: Mapping[str, float]  # ratings before the round, by label
    tables: Mapping[str, float]  # tables of the round, by label

    @classmethod
    def of(
        cls,
        orders: Mapping[TableOrder, float],
        now: Mapping[str, float],
        ranks: Mapping[str, int],
        ratings: Mapping[str, float],
    ) -> "Moves":
        """Return the moves of a round: `now` are the ratings after it; `ranks` and `ratings` are from before it.

        `orders` counts how often the tables of the round ended in each order.
        """
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
        return cls(found, now, ranks, ratings, tables)

    def sentence(self, label: str, ranks: Mapping[str, int]) -> str:
        """Return why a version moved; empty if it has its old rank, and its rating is the same within NOTICED_ELO.

        `ranks` are the ranks of all versions after the round.
        """
        if label not in self.ratings:
            return f"new: its first {counted(round(self.tables[label]), 'table')}"
        before, rank, change = self.ranks.get(label, 0), ranks.get(label, 0), self.now[label] - self.ratings[label]
        if before and rank and before != rank:
            up = rank < before
            own = self._own(label, up)
            if own and (change > NOTICED_ELO if up else change < -NOTICED_ELO):
                return f"moved from {ordinal(before)} because it {own.words(up)}"
            return f"moved from {ordinal(before)} because {self._others(before, rank, ranks)}"
        if abs(change) < NOTICED_ELO:
            return ""
        own = self._own(label, change > 0)
        why = f"it {own.words(change > 0)}" if own else "the ratings of its opponents changed"
        return f"{change:+.0f} Elo because {why}"

    def _others(self, before: int, rank: int, ranks: Mapping[str, int]) -> str:
        """Return the cause of a version's new rank if its own results do not explain it.

        `before` and `rank` are the old and the new rank. The cause names the version that it passed, or that passed it.
        If there is none, the cause is a version that is not ranked any more, or the changed ratings of the opponents.
        """
        up, gone = rank < before, list[str]()
        if up:
            ahead = [each for each, old in self.ranks.items() if 0 < old < before]
            gone = [each for each in ahead if not ranks.get(each)]
            passed = [each for each in ahead if ranks.get(each, 0) > rank]
        else:
            ahead = [each for each, new in ranks.items() if 0 < new < rank]
            passed = [each for each in ahead if not 0 < self.ranks.get(each, 0) < before]
        if not passed:
            return f"{min(gone)} is not ranked any more" if gone else "the ratings of its opponents changed"
        causes = {each: self._own(each, not up) for each in passed}
        surprises = {each: abs(own.surprise) if own else 0.0 for each, own in causes.items()}
        first = min(passed, key=lambda each: (-surprises[each], each))
        own = causes[first]
        return f"{first} {own.words(not up)}" if own else f"{first} {'fell behind it' if up else 'passed it'}"

    def _own(self, label: str, up: bool) -> Result | None:
        """Return the result that best explains why a version rose (`up`) or fell; None if no result does."""
        sign = 1 if up else -1
        mine = [each for each in self.results.get(label, {}).values() if sign * each.surprise >= NOTICED_TABLES]
        return max(mine, key=lambda each: (sign * each.surprise, each.against), default=None)
