"""Statistics: quantiles, Wilson's interval, Elo, the stopping of a comparison, and the words for a certainty.

evidence.py computes intervals and certainties of values from results. Grades follow from the binomial test. Comparisons
stop by Wald's sequential test (1945) in its generalised form from computer chess (Van den Bergh, "A practical
introduction to the GSPRT"). Equal inputs give equal results on every machine.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

CONFIDENCE = 0.95  # of every interval
MIN_CERTAINTY = 0.985
"""An order with a lower probability is not certain. Few pairs of equal bots reach it (benchmarks/aa.py)."""
MAX_FRACTION_STEPS = 20_000  # of a continued fraction; it takes about the square root of the number of trials
MOST_FREEDOM = 10_000  # degrees of freedom above which the normal distribution stands for Student's t
ALPHA = 0.05  # error probability of a sequential test, for each hypothesis, unless another one is asked for
ELO = 400 / math.log(10)  # Elo points in one unit of log odds

NORMAL = NormalDist()
Z = NORMAL.inv_cdf((1 + CONFIDENCE) / 2)
LEAST = 1e-12  # smallest divisor, where the result would otherwise have no bound


class Interval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


# Student's t.


def beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function, by Lentz's continued fraction (Numerical Recipes 6.4)."""
    if not 0 < x < 1:
        return float(x >= 1)
    other = x > (a + 1) / (a + b + 2)  # there the fraction converges slowly: take the other tail
    if other:
        a, b, x = b, a, 1 - x
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction = d
    for m in range(1, MAX_FRACTION_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for part in (even, odd):
            c, d = 1 + part / c, 1 / (1 + part * d)
            fraction *= c * d
        if abs(fraction - before) <= 1e-15 * fraction:
            break
    tail = math.exp(front) * fraction / a
    return 1 - tail if other else tail


def student(ratio: float, freedom: float) -> float:
    """Return P(T <= ratio) of Student's t with these degrees of freedom."""
    if freedom > MOST_FREEDOM:
        return NORMAL.cdf(ratio)
    tail = beta(freedom / 2, 0.5, freedom / (freedom + ratio**2)) / 2
    return 1 - tail if ratio > 0 else tail


@lru_cache(maxsize=4096)
def student_quantile(freedom: float) -> float:
    """Return the quantile of Student's t for a two-sided 95 % interval, by bisection."""
    if freedom > MOST_FREEDOM:
        return Z
    low, high = 0.0, 20.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if student(middle, freedom) < (1 + CONFIDENCE) / 2 else (low, middle)
    return low


def straightened(ratio: float, skewness: float) -> float:
    """Return a skewed value, in standard errors, transformed to a symmetric distribution (Hall's transformation)."""
    return ratio + skewness * ratio**2 / 3 + skewness**2 * ratio**3 / 27 + skewness / 6


def bent(ratio: float, skewness: float) -> float:
    """Return the inverse of `straightened`."""
    if abs(skewness) < 1e-6:
        return ratio
    cube = 1 + skewness * (ratio - skewness / 6)
    return 3 / skewness * (math.copysign(abs(cube) ** (1 / 3), cube) - 1)


def ratio_units(totals: Sequence[float], sizes: Sequence[int]) -> list[float]:
    """Return one value per unit of unequal size; their mean is sum(totals) / sum(sizes).

    They are the linear form of a ratio estimator (Cochran, "Sampling Techniques", 1977). A large size alone does not
    make a value high.
    """
    ratio, size = math.fsum(totals) / sum(sizes), sum(sizes) / len(sizes)
    return [ratio + (total - ratio * of) / size for total, of in zip(totals, sizes, strict=True)]


# Wins.


def wilson(wins: float, tables: float) -> Interval:
    """Return the interval of a win rate, 0 to 1 (Wilson 1927); a draw may count as half a win."""
    if not tables:
        return Interval(0.0, 1.0)
    rate, z2 = wins / tables, Z * Z
    centre = (rate + z2 / (2 * tables)) / (1 + z2 / tables)
    half = Z / (1 + z2 / tables) * math.sqrt(rate * (1 - rate) / tables + z2 / (4 * tables * tables))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def wilson_tables(rate: float, interval: tuple[float, float]) -> float:
    """Return the number of tables for which `wilson` gives this interval around a win rate.

    An interval of width 0 or 1 would need infinitely many tables, or none: the result is then very large, or very small.
    """
    low, high = interval if rate >= 0.5 else (1 - interval[1], 1 - interval[0])
    return max(Z * Z * low * high, LEAST) / max(max(rate, 1 - rate) ** 2 - low * high, LEAST)


def sure_at_least(won: float, drawn: float, lost: float, share: float) -> float:
    """Return the certainty (0 to 1) that a bot wins more than a share of its tables against one opponent in the long run.

    A draw counts half. The certainty is one minus the p-value of the exact binomial test: a bot that wins exactly this
    share in the long run reaches a certainty of 95 % in at most one of 20 runs. For a share of one half draws are left
    out (the sign test), which is exact for any number of draws. For any other share two draws count as a win and a loss,
    and an odd draw as a loss. Draws then only make such errors rarer (tests/formats/test_gauntlet.py).
    """
    if share == 0.5:
        return 1 - binomial_tail(math.floor(won), math.ceil(won + lost), 0.5)
    return 1 - binomial_tail(math.floor(won + drawn / 2), math.ceil(won + drawn + lost), share)


def binomial_tail(least: int, trials: int, chance: float) -> float:
    """Return the probability of at least `least` successes in a number of trials."""
    if not 0 < least <= trials:
        return float(least <= 0)
    return beta(least, trials - least + 1, chance)


# Elo.


class Elo(NamedTuple):
    """A strength in Elo points; `error` is half the width of its 95 % interval."""

    points: float
    error: float


def elo_of(points: Sequence[tuple[float, float]]) -> Elo:
    """Return the Elo lead of a bot over another one. `points` has pairs (points from 0 to 1, number of tables with them).

    The lead is the inverse of the logistic curve at the mean points s. Its error follows from the delta method:
    Z · ELO · sqrt(variance / n) / (s (1 - s)).
    If a bot won or lost every table, one more draw is added, because its difference would be infinite. If all points
    are equal and between 0 and 1, half a win and half a loss are added, because their variance would be 0.
    """
    seen = {value for value, times in points if times}
    if len(seen) < 2:
        points = [*points, *([(0.5, 1.0)] if not seen or seen <= {0.0, 1.0} else [(0.0, 0.5), (1.0, 0.5)])]
    number = sum([times for _, times in points])
    score = sum([times * value for value, times in points]) / number
    variance = sum([times * (value - score) ** 2 for value, times in points]) / number
    error = Z * ELO * math.sqrt(variance / number) / (score * (1 - score))
    return Elo(ELO * math.log(score / (1 - score)), error)


# Sequential tests.


class Verdict(NamedTuple):
    """State of a sequential test. It continues while low < llr < high.

    `llr` is the logarithm of the likelihood ratio. `accepted` is "H0" or "H1" if the test has ended, otherwise empty.
    """

    llr: float
    low: float
    high: float
    accepted: str


def sure_of_mean(ours: Sequence[float], theirs: Sequence[float], errors: Sequence[float]) -> float:
    """Return the probability (0 to 1) that the mean of `ours` is above the mean of `theirs`.

    `ours` and `theirs` have the same number of values, and `errors` are the standard errors of all of them. The values
    are independent, so the variance of each mean is the sum of the variances of its values, divided by their squared
    number.
    """
    lead, error = sum(ours) / len(ours) - sum(theirs) / len(theirs), math.hypot(*errors) / len(ours)
    return NORMAL.cdf(lead / error) if error else 0.5 if not lead else float(lead > 0)


def sequential_points(points: Mapping[float, float], bounds: tuple[float, float], error: float = ALPHA) -> Verdict:
    """Return the state of a test of "stronger by the first bound" (H0) against "by the second bound" (H1), both in Elo.

    `points` has the number of results, by their points (0 to 1). A result is for example a mirrored deal, with its mean
    points. The tables of a deal depend on each other, so the deal is one result (Van den Bergh, "A practical
    introduction to the GSPRT", 2020: the pentanomial model).

    This is Wald's sequential probability ratio test with alpha = beta = `error`. It uses the ratio of the two maximum
    likelihoods of the results, given that their mean is the score that the Elo implies. If tables are only won and
    lost, this is Wald's own binomial test. A sequential test may be evaluated after every result.
    """
    # A result that has not occurred yet is still possible.
    seen = [(value, points.get(value) or 0.001) for value in sorted({0.0, 0.5, 1.0, *points})]
    llr = _likelihood(seen, _score(bounds[1])) - _likelihood(seen, _score(bounds[0])) if any(points.values()) else 0.0
    return _verdict(llr, error)


def sequential_mean(
    tables: float,
    mean: float,
    deviation: float,
    bounds: tuple[float, float] = (0.0, 10.0),
    error: float = ALPHA,
    skewness: float = 0.0,
) -> Verdict:
    """Return the state of the test of `sequential_points` in a game without winners, from the mean lead in chips at a table.

    The bounds are normalised Elo: the mean in standard deviations, times 800 / ln 10. For won and lost tables this equals
    Elo. The test uses the ratio of the two maximum likelihoods of normal values with a given mean in deviations (Van den
    Bergh, "Normalized Elo", 2021). Skewed values are straightened; with many tables they do not have to be normal.
    """
    if tables < 2 or not deviation:
        return _verdict(0.0, error)
    root = math.sqrt(tables)
    weak, strong = (
        straightened(root * (mean / deviation - bound / (2 * ELO)), skewness / root) / root for bound in bounds
    )
    return _verdict(tables / 2 * math.log((1 + weak**2) / (1 + strong**2)), error)


def _verdict(llr: float, error: float) -> Verdict:
    """Return the verdict for a log-likelihood ratio, if each of the two errors may have this probability."""
    low, high = math.log(error / (1 - error)), math.log((1 - error) / error)
    if llr >= high:
        return Verdict(llr, low, high, "H1")
    return Verdict(llr, low, high, "H0" if llr <= low else "")


def tables_left(verdict: Verdict, tables: int) -> int | None:
    """Return the number of tables that a test still needs at the present rate; None if it is decided or has no trend."""
    if verdict.accepted or not tables or not verdict.llr:
        return None
    goal = verdict.high if verdict.llr > 0 else verdict.low
    return math.ceil((goal - verdict.llr) / (verdict.llr / tables))


def _score(elo: float) -> float:
    """Return the expected score (0 to 1) for a lead in Elo."""
    return 1 / (1 + 10 ** (-elo / 400))


def _likelihood(seen: Sequence[tuple[float, float]], mean: float) -> float:
    """Return the maximum log likelihood of outcomes (value, times) with a given true mean, up to a constant.

    The maximum-likelihood probabilities are times / n / (1 + x (value - mean)), where x gives them the right mean. It is
    the root of a decreasing function, found by bisection.
    """
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(100):
        x = (low + high) / 2
        if sum(times * (value - mean) / (1 + x * (value - mean)) for value, times in seen) > 0:
            low = x
        else:
            high = x
    return -sum(times * math.log(1 + x * (value - mean)) for value, times in seen)


def needed(sure: float, played: int) -> int | None:
    """Return the total number of units after which an order would be certain. `played` units have been played so far.

    `sure` is the probability (0 to 1) of the order so far. The number is rounded up to two significant digits. The lead
    is assumed to stay the same, so its z-score grows with the square root of the units. Return None if more than a
    hundred times as many units would be needed: the two bots are almost equal, or too few units have been played.
    """
    z = NORMAL.inv_cdf(max(sure, 0.5))
    times = (NORMAL.inv_cdf(MIN_CERTAINTY) / z) ** 2 if z > 0 else math.inf
    if times > 100:
        return None
    count = max(played + 1, math.ceil(played * times))
    step = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // step) * step


# Words.


def percent(sure: float) -> str:
    """Return a probability as text, never rounded up: "81 %", "97.2 %", ">99.9 %"."""
    if sure > 0.999:
        return ">99.9 %"
    return f"{math.floor(sure * 1000) / 10:.1f} %" if sure >= 0.95 else f"{math.floor(sure * 100)} %"


def how_sure(sure: float) -> str:
    """Return the probability of an order as text. Add MIN_CERTAINTY if that is higher: "97.2 % sure, 98.5 % needed"."""
    return f"{percent(sure)} sure{_NEEDED if sure < MIN_CERTAINTY else ''}"


def words(ahead: str, behind: str, sure: float) -> str:
    """Return the sentence about an order: "A ahead of B: 99.7 % sure" or "A ahead of B: 61 % sure, 98.5 % needed"."""
    return f"{ahead} ahead of {behind}: {how_sure(sure)}"


def is_certain(sentence: str) -> bool:
    """Return whether a sentence of `words` is about a certain order."""
    return not sentence.endswith(_NEEDED)


_NEEDED = f", {percent(MIN_CERTAINTY)} needed"
