"""Instant run-off: each table is a ballot that orders its bots, and the bot with the fewest first places is eliminated.

A ballot counts for the best of its bots that are left; if several are equally good, each gets the same part of it. A
ballot whose bots have all been eliminated no longer counts. All bots that have the fewest first places are eliminated
together: they share a place. No lot is drawn.

The intervals are bootstrapped over the ballots: each order of bots occurs in a resample as often as a Poisson variable
whose mean is the number of ballots with this order. Ballots of tables that repeat others are drawn together.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import exp, sqrt
from random import Random
from typing import NamedTuple

from host.rating.strength import TableOrder

RESAMPLES = 200
OUTSIDE = RESAMPLES // 40  # resamples below, and above, the 95 % interval
RUNOFF_SEED = 2026
MANY = 30  # ballots; from this number on the normal distribution stands for Poisson's
COUNT_DIGITS = 9  # of a number of first places: parts of ballots are equal although they were added in another order


class Outlasted(NamedTuple):
    """The number of bots that a bot has outlasted, and its 95 % interval."""

    value: int
    low: int
    high: int


class RunOff:
    """The instant run-off of ballots, and of resamples of them.

    `ballots` has the number of ballots of each order; `evidence`, the number of independent ones, for the resamples.
    """

    def __init__(
        self,
        ballots: Mapping[TableOrder, float],
        bots: Iterable[str],
        evidence: Mapping[TableOrder, float] | None = None,
    ) -> None:
        self._ballots, self._bots = {order: ballots[order] for order in sorted(ballots)}, sorted(bots)
        self._drawn = ballots if evidence is None else evidence  # the mean numbers of a resample
        self.outlasted = outlasted(self._ballots, self._bots)

    @cached_property
    def _resampled(self) -> Sequence[Mapping[str, int]]:
        draw = Random(RUNOFF_SEED)
        return [
            outlasted({order: self._some(draw, order) for order in self._ballots}, self._bots) for _ in range(RESAMPLES)
        ]

    def _some(self, draw: Random, order: TableOrder) -> float:
        """Return the number of ballots with an order in a new resample."""
        together = self._ballots[order] / self._drawn[order] if self._drawn[order] else 1.0
        return _poisson(draw, self._drawn[order]) * together

    def interval(self, bot: str) -> Outlasted:
        """Return the number of bots that a bot has outlasted, with the 95 % interval from the resamples."""
        value, found = self.outlasted[bot], sorted(each[bot] for each in self._resampled)
        return Outlasted(value, min(value, found[OUTSIDE]), max(value, found[-1 - OUTSIDE]))

    def sure_ahead(self, one: str, other: str) -> float | None:
        """Return the share (0 to 1) of the resamples in which one bot outlasts another. A tie counts half."""
        ahead = sum((each[one] > each[other]) + (each[one] == each[other]) / 2 for each in self._resampled)
        return ahead / RESAMPLES


def outlasted(ballots: Mapping[TableOrder, float], bots: Iterable[str]) -> dict[str, int]:
    """Return the number of bots that were eliminated before each bot, by bot."""
    left, found = set(bots), dict[str, int]()
    total, firsts = len(left), dict.fromkeys(left, 0.0)
    ballots_of = {bot: dict[TableOrder, None]() for bot in left}  # those that count for it

    def count(orders: Iterable[TableOrder], sign: int) -> None:
        for order in orders:
            best = next((here for equal in order if (here := [bot for bot in equal if bot in left])), [])
            for bot in best:
                firsts[bot] += sign * ballots[order] / len(best)
                ballots_of[bot][order] = None

    count(ballots, 1)
    while left:
        fewest = min(round(firsts[bot], COUNT_DIGITS) for bot in left)
        out = {bot for bot in sorted(left) if round(firsts[bot], COUNT_DIGITS) == fewest}
        found |= dict.fromkeys(out, total - len(left))
        moved = {order: None for bot in sorted(out) for order in ballots_of[bot]}  # only these count for others now
        count(moved, -1)
        left -= out
        count(moved, 1)
    return found


def _poisson(draw: Random, mean: float) -> int:
    """Return a random number with Poisson's distribution and this mean."""
    if mean >= MANY:
        return max(0, round(draw.gauss(mean, sqrt(mean))))
    count, product, limit = 0, draw.random(), exp(-mean)
    while product > limit:
        count, product = count + 1, product * draw.random()
    return count
