"""Strengths of bots in Elo, from the orders in which they ended: the model of Plackett and Luce.

The bots of a table end in an order. The model builds it from the front: of the bots that are left, the next one is bot A
with probability a / (sum of the strengths of those left). With two bots this is the model of Bradley and Terry,
P(A beats B) = a / (a + b). Equal bots share their places: each order of them counts the same part of a table, so a draw
of two is half a win for both.

The strengths are those of maximum likelihood. Newman's iteration ("Efficient computation of rankings from pairwise
comparisons", 2023) computes them; it takes far fewer steps than Zermelo's or Hunter's. For many bots it is Newton's
method (`strength_of_many`). Errors come from the Fisher information. Strengths are not finite if one part of the bots
has never ended before the other part (Ford 1957). Then a weak prior makes them finite: one more drawn table for each
bot, against a bot of average strength.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, repeat, zip_longest
from operator import add, mul, truediv
from typing import TYPE_CHECKING, NamedTuple

from host.rating.statistics import ELO, NORMAL, Elo, Z

if TYPE_CHECKING:
    from host.rating.strength_of_many import LargeField

PRECISION = 1e-5
"""Relative precision of strengths that are computed without errors: the last step changes them by at most 0.002 Elo."""

FEW = 100
"""Most bots for which Newman's iteration and plain sums are fast enough. Their figures are the same on every machine, to
the last digit. For more bots numpy is faster, and its figures differ by rounding."""

MODEL_BOTS = 60
"""Most bots whose strengths are computed again and again, for a live view and for the ranks over time."""

TableOrder = tuple[tuple[str, ...], ...]
"""The bots of a table, best first, in groups of equal bots."""


class Ratings(NamedTuple):
    """The strengths of all bots, in Elo above their mean, and the data to compare two of them."""

    elo: Mapping[str, Elo]
    number: Mapping[str, int]  # of each bot in `roots`
    roots: Sequence[Sequence[float]]  # the columns of `inverse_root`: their products are covariances of log strengths
    variances: Sequence[float]  # of the log strengths
    best: frozenset[str]  # bots that no bot has ever ended before
    worst: frozenset[str]  # bots that have never ended before a bot
    prior: float  # drawn tables of each bot against a bot of average strength, without which no strengths are finite

    def sure_ahead(self, one: str, other: str) -> float | None:
        """Return the probability (0 to 1) that one bot is stronger than another; None if one of them is not rated."""
        if one not in self.elo or other not in self.elo:
            return None
        first, second = self.number[one], self.number[other]
        variance = self.variances[first] + self.variances[second] - 2 * _covariance(self.roots, first, second)
        ahead = (self.elo[one].points - self.elo[other].points) / ELO
        return NORMAL.cdf(ahead / math.sqrt(variance)) if variance > 0 else 0.5


def ratings(orders: Mapping[TableOrder, float], evidence: Mapping[TableOrder, float] | None = None) -> Ratings:
    """Return the strengths of all bots. `orders` has the number of tables that ended in each order.

    If `evidence` is given, the errors follow from it: the same orders, where tables that repeat others count as fewer.
    """
    number, choices = choices_of(orders)
    anchor = choices.anchor()
    strength, roots = choices.strengths(anchor)
    if evidence is not None:
        roots = choices_of(evidence)[1].roots(strength, anchor)
    return _rated(number, choices, strength, roots)


def weighted_ratings(orders: Mapping[TableOrder, float], noise: Mapping[TableOrder, float]) -> Ratings:
    """Return the strengths of all bots from tables with weights. `orders` has the sum of the weights of each order.

    A table with weight w counts w times, but gives no more information than one table. The covariances are therefore
    inv(H) J inv(H) (Huber 1967): H is the information of the weights, and J the information of `noise`. `noise` has for
    each order the sum of w² · (number of tables that count as one, because tables repeat others).
    """
    number, choices = choices_of(orders)
    anchor = choices.anchor()
    strength, _ = choices.strengths(anchor)
    field, noisy = choices.large_field(anchor), choices_of(noise)[1].large_field(anchor)
    return _rated(number, choices, strength, field.sandwich_root(noisy, strength))


def _rated(
    number: Mapping[str, int], choices: "_Choices", strength: Sequence[float], roots: Sequence[Sequence[float]]
) -> Ratings:
    variances, points = [_covariance(roots, nth, nth) for nth in range(len(roots))], _points(strength)
    errors = _errors_from_mean(roots, variances)
    beaten = choices.beaten()
    return Ratings(
        elo={bot: Elo(points[nth], Z * ELO * errors[nth]) for bot, nth in number.items()},
        number=number,
        roots=roots,
        variances=variances,
        best=frozenset(bot for bot, nth in number.items() if nth not in beaten),
        worst=frozenset(bot for bot, nth in number.items() if not choices.above[nth]),
        prior=choices.anchor(),
    )


class Strength(NamedTuple):
    """The strength of a bot, without its margin of error; greater is better.

    `bound` is compared first. It is 1 if no other bot has ever ended before this bot or equal to it, -1 if this bot has
    never ended before another bot or equal to one, otherwise 0.
    """

    bound: int
    elo: float  # above the mean of all


def quick_strengths(orders: Mapping[TableOrder, float]) -> dict[str, Strength]:
    """Return the strength of every bot to PRECISION, without the errors, which take most of the time of `ratings`."""
    number, choices = choices_of(orders)
    points, beaten = _points(choices.most_likely(choices.anchor(), PRECISION)), choices.beaten()
    return {
        bot: Strength(-1 if not choices.above[nth] else 0 if nth in beaten else 1, points[nth])
        for bot, nth in number.items()
    }


def choices_of(orders: Mapping[TableOrder, float]) -> tuple[dict[str, int], "_Choices"]:
    """Return the index of each bot, by bot, and the choices of which the orders consist."""
    bots = sorted({*chain.from_iterable(chain.from_iterable(orders))})
    number = {bot: nth for nth, bot in enumerate(bots)}
    choices = _Choices(len(bots))
    for order, times in orders.items():
        if times and len(order) == 2 and len(order[0]) == len(order[1]) == 1:
            choices.add_win(number[order[0][0]], number[order[1][0]], times)
        elif times:
            choices.add([[number[bot] for bot in equal] for equal in order], times)
    return number, choices


def _points(strength: Sequence[float]) -> list[float]:
    """Return strengths in Elo above their mean, in the same order."""
    logs = [math.log(worth) for worth in strength]
    mean = math.fsum(logs) / max(1, len(logs))
    return [ELO * (log - mean) for log in logs]


class _Choices:
    """The orders of all tables as choices of the Plackett-Luce model: for each place, a bot is chosen from those left.

    Counts how often a bot was chosen from each set, and how often each bot was chosen. Equal bots count as the average
    over all their orders.
    """

    def __init__(self, bots: int) -> None:
        self._sets: dict[tuple[int, ...], float] = {}
        self._chosen: list[dict[tuple[int, ...], float]] = [{} for _ in range(bots)]  # how often, from each set
        self.above: list[set[int]] = [
            set() for _ in range(bots)
        ]  # the bots that each bot has ended before, or equal to

    def add_win(self, one: int, other: int, times: float) -> None:
        """Add a number of tables of two bots that bot `one` won.

        It does the same as `add` in a third of the time, because most orders are such wins.
        """
        both = (one, other) if one < other else (other, one)
        self._sets[both] = self._sets.get(both, 0.0) + times
        chosen = self._chosen[one]
        chosen[both] = chosen.get(both, 0.0) + times
        self.above[one].add(other)

    def add(self, order: Sequence[Sequence[int]], times: float) -> None:
        """Add a number of tables that ended in this order. The average over all orders of equal bots counts."""
        left = [bot for equal in order for bot in equal]
        for equal in order:
            worse = left[len(equal) :]
            for size in range(1, len(equal) + 1):
                if size + len(worse) > 1:  # the last bot is not chosen
                    part = times / math.comb(len(equal), size)
                    for some in combinations(equal, size):
                        these = tuple(sorted((*some, *worse)))
                        self._sets[these] = self._sets.get(these, 0.0) + part
                        for bot in some:
                            self._chosen[bot][these] = self._chosen[bot].get(these, 0.0) + part / size
            for bot in equal:
                self.above[bot].update(worse, (other for other in equal if other != bot))
            left = worse

    def connected(self) -> bool:
        """Return whether a chain of wins leads from every bot to every other bot."""
        below: list[set[int]] = [set() for _ in self.above]
        for bot, others in enumerate(self.above):
            for other in others:
                below[other].add(bot)
        return not self.above or _reached(self.above) == _reached(below) == len(self.above)

    def anchor(self) -> float:
        """Return the number of draws of each bot with a bot of strength 1 that makes all strengths finite: 0 or 1."""
        return 0.0 if self.connected() else 1.0

    def beaten(self) -> set[int]:
        """Return the bots that ended behind another bot, or equal to it, at one table or more."""
        return {other for above in self.above for other in above}

    def most_likely(self, anchor: float, precision: float = 1e-12) -> list[float]:
        """Return the maximum-likelihood strengths, by index of the bot.

        Each bot gets `anchor` additional draws with a bot of strength 1. The iteration ends when no strength changes by
        more than `precision` times its value, or after the last allowed round.
        """
        size = len(self._chosen)
        sets_of = [self._sets_of(bot, sets) for bot, sets in enumerate(self._by_bot())]
        strength = [1.0] * size + [0.0]  # the last one pads the columns of sets of different sizes
        for _ in range(10_000):
            before = strength[:]
            for bot, (chosen, passed, columns) in enumerate(sets_of):
                own = strength[bot]
                # Iterators of C functions take a fifth of the time of generator expressions.
                others: Iterator[float] = repeat(0.0, len(chosen))
                for column in columns:
                    others = map(add, others, map(strength.__getitem__, column))
                rest = [*others]
                totals = [*map(own.__add__, rest)]
                ahead = math.fsum(map(truediv, map(mul, chosen, rest), totals)) + anchor / 2 / (own + 1)
                behind = math.fsum(map(truediv, passed, totals)) + anchor / 2 / (own + 1)
                if behind:
                    strength[bot] = ahead / behind
            if not anchor:  # only ratios count
                mean = math.exp(math.fsum(map(math.log, strength[:-1])) / max(1, size))
                strength = [worth / mean for worth in strength]
            if all(abs(new - old) <= precision * old for new, old in zip(strength, before, strict=True)):
                break
        return strength[:-1]

    def strengths(self, anchor: float) -> tuple[list[float], list[list[float]]]:
        """Return the maximum-likelihood strengths, and `inverse_root` of the information at these strengths."""
        field = self._large_field(anchor)
        if field is None:
            strength = self.most_likely(anchor)
            return strength, inverse_root(self.information(strength, anchor))
        strength = field.most_likely() or self.most_likely(anchor)
        return strength, field.inverse_root(strength)

    def roots(self, strength: Sequence[float], anchor: float) -> list[list[float]]:
        """Return `inverse_root` of the information at these strengths."""
        field = self._large_field(anchor)
        return field.inverse_root(strength) if field else inverse_root(self.information(strength, anchor))

    def _large_field(self, anchor: float) -> "LargeField | None":
        """Return the model for linear algebra if there are more than FEW bots; otherwise None."""
        return None if len(self._chosen) <= FEW else self.large_field(anchor)

    def large_field(self, anchor: float) -> "LargeField":
        """Return the model for linear algebra: for any number of bots, and faster for many."""
        from host.rating.strength_of_many import LargeField  # numpy takes 0.15 s to import

        return LargeField(self._sets, [math.fsum(each.values()) for each in self._chosen], anchor)

    def _by_bot(self) -> list[list[tuple[int, ...]]]:
        """Return the sets in which each bot is, by index of the bot."""
        found: list[list[tuple[int, ...]]] = [[] for _ in self._chosen]
        for these in self._sets:
            for bot in these:
                found[bot].append(these)
        return found

    def _sets_of(self, bot: int, sets: Sequence[tuple[int, ...]]) -> tuple[list[float], list[float], list[list[int]]]:
        """Return how often a bot was chosen from each of its sets, how often not, and the other bots of the sets.

        The other bots are in columns: each column has one bot of every set.
        """
        chosen = [self._chosen[bot].get(these, 0.0) for these in sets]
        passed = [self._sets[these] - times for these, times in zip(sets, chosen, strict=True)]
        others = [[other for other in these if other != bot] for these in sets]
        return chosen, passed, [*map(list, zip_longest(*others, fillvalue=len(self._chosen)))]

    def information(self, strength: Sequence[float], anchor: float) -> list[list[float]]:
        """Return the Fisher information of the log strengths. Without an anchor, a term is added that fixes their mean."""
        size = len(strength)
        found = [[0.0 if anchor else 1 / size] * size for _ in strength]
        for bot, worth in enumerate(strength):
            found[bot][bot] += anchor * worth / (1 + worth) ** 2
        for these, times in self._sets.items():
            total = sum(strength[bot] for bot in these)
            for one, other in combinations(these, 2):
                known = times * strength[one] * strength[other] / total**2
                found[one][one] += known
                found[other][other] += known
                found[one][other] -= known
                found[other][one] -= known
        return found


def _reached(edges: Sequence[Iterable[int]]) -> int:
    """Return the number of bots that chains of edges reach from the first bot, the first bot included."""
    seen, new = {0}, [0]
    while new:
        found = [other for other in edges[new.pop()] if other not in seen]
        seen.update(found)
        new += set(found)
    return len(seen)


def _errors_from_mean(roots: Sequence[Sequence[float]], variances: Sequence[float]) -> list[float]:
    """Return the standard error of the difference of each log strength from their mean."""
    size = len(roots)
    # The sums of the rows of C = inv(L)' inv(L) are C·1 = inv(L)' (inv(L)·1).
    sums = [0.0] * size
    for nth, column in enumerate(roots):
        for row, value in enumerate(column, nth):
            sums[row] += value
    means = [sum(map(mul, column, sums[nth:])) / size for nth, column in enumerate(roots)]
    mean = math.fsum(means) / size if size else 0.0
    return [math.sqrt(max(0.0, own - 2 * from_mean + mean)) for own, from_mean in zip(variances, means, strict=True)]


def _covariance(roots: Sequence[Sequence[float]], one: int, other: int) -> float:
    """Return the element of inv(L)' inv(L) in row `one` and column `other`. `roots` are the columns of inv(L).

    `inverse_root` returns these columns.
    """
    low, high = sorted((one, other))
    return math.fsum(map(mul, roots[low][high - low :], roots[high]))


def inverse_root(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """Return the columns of inv(L), each from its diagonal down; L is the Cholesky factor of the matrix.

    The matrix is symmetric and positive definite. Its inverse, inv(L)' inv(L), is not computed, because the callers need
    few of its elements. Computing it would take half as long again.
    """
    lower: list[list[float]] = []
    for one, row in enumerate(matrix):
        new: list[float] = []
        for other in range(one):
            above = lower[other]
            new.append((row[other] - sum(map(mul, new, above))) / above[other])
        new.append(math.sqrt(row[one] - sum(map(mul, new, new))))
        lower.append(new)
    return [_solved(lower, nth) for nth in range(len(matrix))]


def _solved(lower: Sequence[Sequence[float]], nth: int) -> list[float]:
    """Return a column of the inverse of a lower triangular matrix, from its diagonal down."""
    column = [1 / lower[nth][nth]]
    for row in range(nth + 1, len(lower)):
        column.append(-sum(map(mul, lower[row][nth:], column)) / lower[row][row])
    return column
