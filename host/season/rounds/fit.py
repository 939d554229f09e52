"""Fits the model of `elo` to all tables of a season: strengths, their covariance, and a test whether the model holds.

The model is that of host/rating/strength.py. Its weak prior is always used: some drawn tables of each version against a
version of average strength. So a version that has won its first tables has a finite rating, and no rating jumps when
the last pair of a field has met. The number of drawn tables follows from the field: the closer its strengths are to
each other, the more drawn tables, and at least one (empirical Bayes: the prior has the variance of the strengths). In a
round robin the number makes no difference. In adaptive rounds it does, because versions that are far apart are compared
by way of the versions between them: with a single drawn table, the ratings of 50 simulated versions were spread 10 to
35 % too widely, and orders called 90 % sure were right in 82 to 89 % (benchmarks/adaptive_rounds.py).

One rating for each version does not describe every field: A may beat B, B beat C, and C beat A. The residuals of the
pairs show such a field. In this case each pair has its own strength. It scatters around the difference of the two
ratings, with a standard deviation that follows from the residuals (Williams, "Extra-binomial variation in logistic
linear models", 1982). Many tables of one pair then say less about two ratings than the same number of tables of many
pairs, and count as fewer.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.rating.statistics import ELO, NORMAL, Z
from host.rating.strength import TableOrder, choices_of
from host.rating.strength_of_many import FloatArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

FEWEST_DRAWN, MOST_DRAWN = 1.0, 100.0
"""The least and the greatest number of drawn tables of each version in the prior: variances of 347² and 35² Elo²."""

PRIOR_STEPS, PRIOR_PRECISION = 6, 0.05
"""The greatest number of steps of the expectation-maximisation that finds the number of drawn tables, and the relative
change of this number at which the steps end earlier."""

SURE_SURPLUS = 2.0
"""Standard deviations by which chi² must exceed its expected value before pairs get their own strengths."""

DIGITS = 4
"""Decimal places of Elo points and variances. Decisions must not depend on the last digits: they differ by machine."""


class PairCounts(NamedTuple):
    """The tables of each pair of versions that have met. Each array has one element for each pair."""

    one: IntArray  # the number of the first version
    other: IntArray  # the number of the second version
    tables: FloatArray
    won: FloatArray  # tables that the first version has won; a draw counts half


class Residuals(NamedTuple):
    """Test of the fit: the differences between the results of pairs and the results that their two ratings imply."""

    chi2: float  # sum over all pairs of the squared difference, divided by its variance
    expected: float  # the expected value of chi2 if the model holds
    deviation: float  # the standard deviation of chi2 if the model holds
    spread: float  # standard deviation of the strength of a pair around the difference of its versions, in Elo

    @property
    def sure(self) -> float:
        """Return the probability (0 to 1) of a smaller chi2 in a field that the model describes."""
        return NORMAL.cdf((self.chi2 - self.expected) / self.deviation) if self.deviation else 0.5


@dataclass(frozen=True)
class Fit:
    """Ratings of versions above their mean, and the covariance of these ratings."""

    number: Mapping[str, int]  # the index of each version in the arrays, by label
    counts: PairCounts
    elo: FloatArray  # the ratings
    covariance: FloatArray  # in Elo²
    residuals: Residuals

    @cached_property
    def errors(self) -> FloatArray:
        """Return the standard errors of the ratings, in Elo, in the order of `elo`."""
        found: FloatArray = np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))
        return found

    def sure_ahead(self, one: str, other: str) -> float | None:
        """Return the probability (0 to 1) that one version is stronger than another; None if one of them is not rated."""
        if one not in self.number or other not in self.number:
            return None
        first, second = self.number[one], self.number[other]
        variance = self.covariance[first, first] + self.covariance[second, second] - 2 * self.covariance[first, second]
        ahead = float(self.elo[first] - self.elo[second])
        return NORMAL.cdf(ahead / math.sqrt(variance)) if variance > 0 else 0.5

    def interval(self, label: str) -> float:
        """Return half the width of the 95 % interval of a rating, in Elo."""
        return Z * float(self.errors[self.number[label]])


def fitted(orders: Mapping[TableOrder, float]) -> Fit:
    """Return the ratings of all versions in `orders`, which counts how often tables ended in each order."""
    number, counts = pair_counts(orders)
    likely = _most_likely(orders, _Prior())
    residuals = _residuals(counts, likely)
    if residuals.spread:
        weights = _weights(counts, likely.logs, residuals.spread / ELO)
        likely = _most_likely(_weighted(orders, number, counts, weights), likely.prior)
    centre = np.eye(len(likely.logs)) - 1 / max(1, len(likely.logs))
    return Fit(
        number=number,
        counts=counts,
        elo=(ELO * (centre @ likely.logs)).round(DIGITS),
        covariance=(ELO**2 * (centre @ likely.covariance @ centre)).round(DIGITS),
        residuals=residuals,
    )


def pair_counts(orders: Mapping[TableOrder, float]) -> tuple[dict[str, int], PairCounts]:
    """Return the index of each version by label, and the results of each pair of versions that have met.

    A table of more than two versions counts as one table of each pair of them: by the model, the order of two versions
    does not depend on the others.
    """
    labels = sorted({label for order in orders for equal in order for label in equal})
    number = {label: nth for nth, label in enumerate(labels)}
    found: dict[tuple[int, int], list[float]] = {}
    for order, times in orders.items():
        placed = [(number[label], place) for place, equal in enumerate(order) for label in equal]
        for (one, first), (other, second) in combinations(placed, 2):
            won = 0.5 if first == second else 1.0
            pair = (one, other) if one < other else (other, one)
            each = found.setdefault(pair, [0.0, 0.0])
            each[0] += times
            each[1] += times * (won if pair == (one, other) else 1 - won)
    pairs = np.array([*found], dtype=np.int64).reshape(-1, 2)
    sums = np.array([*found.values()]).reshape(-1, 2)
    return number, PairCounts(pairs[:, 0], pairs[:, 1], sums[:, 0], sums[:, 1])


class _Prior(NamedTuple):
    """The number of drawn tables of each version, and the strengths with which the iteration begins."""

    drawn: float = FEWEST_DRAWN
    strengths: Sequence[float] = ()


class _Likely(NamedTuple):
    """The most likely log strengths in the order of the labels, their covariance, and the prior that they depend on."""

    logs: FloatArray
    covariance: FloatArray
    prior: _Prior


def _most_likely(orders: Mapping[TableOrder, float], prior: _Prior) -> _Likely:
    """Return the most likely strengths of the versions, and the prior whose variance is that of the strengths.

    The iteration begins with `prior`.
    """
    _, choices = choices_of(orders)
    if not choices.above:
        return _Likely(np.zeros(0), np.zeros((0, 0)), prior)
    drawn, strengths = prior
    for _ in range(PRIOR_STEPS):
        field = choices.large_field(drawn)
        strengths = field.most_likely(strengths) or choices.most_likely(drawn)
        logs: FloatArray = np.array([*map(math.log, strengths)])
        covariance: FloatArray = np.array(np.linalg.inv(field.information(np.array(strengths))), np.float64)
        # A drawn table has the information ¼ about a strength.
        before, variance = drawn, float((logs**2 + covariance.diagonal()).mean())
        drawn = min(max(FEWEST_DRAWN, round(4 / variance, 3)), MOST_DRAWN)
        if abs(drawn - before) <= PRIOR_PRECISION * before:
            break
    return _Likely(logs, covariance, _Prior(drawn, strengths))


def _residuals(counts: PairCounts, likely: _Likely) -> Residuals:
    """Return the test of the fit, computed from all pairs.

    A pair whose two versions have met no other version tests nothing: its residual is always small (its leverage is
    near 1).
    """
    if not len(counts.tables):
        return Residuals(0.0, 0.0, 0.0, 0.0)
    (logs, covariance, _), (one, other, tables, _) = likely, counts
    chance = 1 / (1 + np.exp(logs[other] - logs[one]))
    known = tables * chance * (1 - chance)
    between = covariance[one, one] + covariance[other, other] - 2 * covariance[one, other]
    free = np.clip(1 - known * between, 0.0, 1.0)
    chi2 = float(((counts.won - tables * chance) ** 2 / known).sum())
    expected = float(free.sum())
    variance = float((free**2 * np.maximum(2 + (1 - 6 * chance * (1 - chance)) / known, 0.1)).sum())
    scale = float((free**2 * (tables - 1) * chance * (1 - chance)).sum())
    deviation, surplus = math.sqrt(variance), chi2 - expected
    # A surplus that chance may explain counts as 0. From a greater one, one standard deviation is subtracted.
    spread = math.sqrt((surplus - deviation) / scale) if surplus > SURE_SURPLUS * deviation and scale > 0 else 0.0
    return Residuals(chi2, expected, deviation, ELO * spread)


def _weights(counts: PairCounts, logs: FloatArray, spread: float) -> FloatArray:
    """Return for each pair the weight (0 to 1) of one of its tables, if pairs have their own strengths.

    `spread` is the standard deviation of the log strength of a pair.
    """
    chance = 1 / (1 + np.exp(logs[counts.other] - logs[counts.one]))
    found: FloatArray = 1 / (1 + np.maximum(counts.tables - 1, 0) * chance * (1 - chance) * spread**2)
    return found


def _weighted(
    orders: Mapping[TableOrder, float], number: Mapping[str, int], counts: PairCounts, weights: FloatArray
) -> dict[TableOrder, float]:
    """Return how often each order occurred, multiplied by the weight of its pair of versions.

    `weights` has the weight of each pair, in the order of `counts`. An order of more than two versions is multiplied by
    the mean weight of its pairs.
    """
    by_pair = dict(zip(zip(counts.one.tolist(), counts.other.tolist(), strict=True), weights.tolist(), strict=True))
    found = {}
    for order, times in orders.items():
        numbers = sorted(number[label] for equal in order for label in equal)
        pairs = [*combinations(numbers, 2)]
        found[order] = times * sum(by_pair[pair] for pair in pairs) / len(pairs) if pairs else times
    return found
