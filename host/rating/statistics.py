"""Statistics: confidence intervals, the probability of an order, Elo, and the stopping of a comparison.

Equal inputs give equal results on every machine: the resamples of the bootstrap come from a fixed seed.

Means (for example chips of a tourney): the bootstrap over whole units (Efron & Tibshirani, "An Introduction to the Bootstrap",
1993). A unit is statistically independent of the others: a tourney, a fixture, a table. With few units the plain
percentiles are too narrow, so they are widened to Student's t (Hesterberg, "What Teachers Should Know About the
Bootstrap", The American Statistician 69, 2015).

Wins: the tables are the units. Intervals are Wilson's (1927), grades follow from the binomial test. Comparisons stop
by Wald's sequential test (1945) in its generalised form from computer chess (Van den Bergh, "A practical introduction to
the GSPRT").
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from operator import itemgetter
from random import Random
from statistics import NormalDist
from typing import NamedTuple, TypeVar

CONFIDENCE = 0.95  # of every interval
MIN_CERTAINTY = 0.985
"""An order with a lower probability is not certain. Few pairs of equal bots reach it (benchmarks/aa.py)."""
RESAMPLES, RESAMPLING_SEED = 2_000, 1979
MOST_UNITS = 512  # more units are joined into this many blocks before they are resampled
MAX_FRACTION_STEPS = 20_000  # of a continued fraction; it takes about the square root of the number of trials
ALPHA = 0.05  # error probability of a sequential test, for each hypothesis, unless another one is asked for
ELO = 400 / math.log(10)  # Elo points in one unit of log odds

Unit = TypeVar("Unit", bound=Hashable)
MeetingId = TypeVar("MeetingId", bound=Hashable)

NORMAL = NormalDist()
Z = NORMAL.inv_cdf((1 + CONFIDENCE) / 2)


class Interval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


# Means.


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the interval of the mean of independent values; None with fewer than two values.

    Percentiles of the bootstrap, with their distance from the mean scaled by sqrt(n / (n - 1)) · t / z (Hesterberg 2015).
    """
    if len(values) < 2:
        return None
    units = _blocks(values)
    size = len(units)
    mean = math.fsum(units) / size
    means = sorted(_resampled(units))
    stretch = math.sqrt(size / (size - 1)) * _student_quantile(size - 1) / Z
    cut = round((1 - CONFIDENCE) / 2 * (RESAMPLES - 1))
    return Interval(mean + stretch * (means[cut] - mean), mean + stretch * (means[-1 - cut] - mean))


def sure_ahead(ours: Mapping[Unit, float], theirs: Mapping[Unit, float]) -> float:
    """Return the probability (0 to 1) that our mean is above theirs; 0.5 if one of the two has fewer than two units.

    The paired bootstrap: both are resampled together, unit by unit, so that shared luck (the same tourney) cancels.
    A unit that only one of them has affects only that one's mean. The share of resamples in which we are ahead is
    converted to a normal quantile and then to Student's t, as for the interval: three units are never enough for
    MIN_CERTAINTY.
    """
    fewest = min(len(ours), len(theirs))
    if fewest < 2:
        return 0.5
    units = _blocks(_differences(ours, theirs))
    means = _resampled(units)
    nothing = 1e-12 * max(map(abs, units))  # a tie may differ from 0 by rounding errors
    lead = sum(mean > nothing for mean in means) - sum(mean < -nothing for mean in means)
    z = NORMAL.inv_cdf((RESAMPLES + lead + 1) / (2 * RESAMPLES + 2))
    return _student(z * math.sqrt((fewest - 1) / fewest), fewest - 1)


def ratio_units(totals: Sequence[float], sizes: Sequence[int]) -> list[float]:
    """Return one value per unit of unequal size; their mean is sum(totals) / sum(sizes).

    The linear form of a ratio estimator (Cochran, "Sampling Techniques", 1977): a large size alone is not a good result.
    """
    ratio, size = math.fsum(totals) / sum(sizes), sum(sizes) / len(sizes)
    return [ratio + (total - ratio * of) / size for total, of in zip(totals, sizes, strict=True)]


def _differences(ours: Mapping[Unit, float], theirs: Mapping[Unit, float]) -> list[float]:
    """Return values whose mean is the difference of the means: a - b for each unit if both have the same units."""
    if ours.keys() == theirs.keys():
        return [value - theirs[unit] for unit, value in ours.items()]
    we, they = math.fsum(ours.values()) / len(ours), math.fsum(theirs.values()) / len(theirs)
    union = dict.fromkeys([*ours, *theirs])
    our_part, their_part = len(union) / len(ours), len(union) / len(theirs)
    return [
        we - they + our_part * (ours.get(unit, we) - we) - their_part * (theirs.get(unit, they) - they)
        for unit in union
    ]


def _blocks(values: Sequence[float]) -> Sequence[float]:
    """Return the values; if there are too many, join them into MOST_UNITS blocks with the same mean."""
    if len(values) <= MOST_UNITS:
        return values
    cuts = [len(values) * block // MOST_UNITS for block in range(MOST_UNITS + 1)]
    parts = [values[start:end] for start, end in pairwise(cuts)]
    return ratio_units([math.fsum(part) for part in parts], [len(part) for part in parts])


def _resampled(units: Sequence[float]) -> list[float]:
    """Return the means of all resamples of at least two units."""
    size = len(units)
    return [sum(pick(units)) / size for pick in _resamples(size)]


@lru_cache(maxsize=2)
def _resamples(size: int) -> tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]:
    """Return functions that pick the units of each resample. All bots use the same picks, so they are comparable."""
    draw = Random(RESAMPLING_SEED).random  # the only stream that Python guarantees not to change
    return tuple(itemgetter(*[int(draw() * size) for _ in range(size)]) for _ in range(RESAMPLES))


def _student(t: float, freedom: int) -> float:
    """Return P(T <= t) of Student's t with integer degrees of freedom (Abramowitz & Stegun 26.7.3, 26.7.4)."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine, even = math.cos(angle), freedom % 2 == 0
    term = total = 1.0 if even else cosine
    for k in range(3 - even, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    sine = math.sin(angle)
    if even:
        return (1 + sine * total) / 2
    return 0.5 + (angle + (sine * total if freedom > 1 else 0)) / math.pi


@lru_cache
def _student_quantile(freedom: int) -> float:
    """Return the quantile of Student's t for a two-sided interval, by bisection."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < (1 + CONFIDENCE) / 2 else (low, middle)
    return low


# Wins.


class Won(NamedTuple):
    """How many tables a bot won, and at how many it sat.

    `spread` is the variance of its wins, relative to that of independent tables. It is below one if tables share their
    deals (Kish's design effect, "Survey Sampling", 1965). `per_unit` is above one if tables repeat others: as many tables
    count as one.
    """

    tables: int
    wins: float
    spread: float = 1.0
    per_unit: float = 1.0

    @property
    def weight(self) -> float:
        """How many tables count as one independent table."""
        return self.spread * self.per_unit


def spread(tables: int, wins: float, squares: float, deal: int, per_unit: float = 1.0) -> float:
    """Return the spread of wins if `deal` tables share a deal; `squares` is the sum over deals of their wins squared.

    Ten imaginary deals with spread 1 are added. Otherwise a few deals could seem to have no variance at all. Deals that
    were repeated count as fewer: `per_unit` as one.
    """
    deals, rate = tables / deal, wins / tables
    alone = deal * rate * (1 - rate)
    if not alone:
        return 1.0
    seen, counted = max(0.0, squares / deals - (wins / deals) ** 2), deals / per_unit
    return (counted * seen / alone + 10) / (counted + 10)


def wilson(wins: float, tables: float) -> Interval:
    """Return the interval of a win rate, 0 to 1 (Wilson 1927); a draw may count as half a win."""
    if not tables:
        return Interval(0.0, 1.0)
    rate, z2 = wins / tables, Z * Z
    centre = (rate + z2 / (2 * tables)) / (1 + z2 / tables)
    half = Z / (1 + z2 / tables) * math.sqrt(rate * (1 - rate) / tables + z2 / (4 * tables * tables))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def sure_at_least(ours: Won, theirs: Won, share: float) -> float:
    """Return how sure it is (0 to 1) that we win more than a share of our tables with one opponent; a draw counts half.

    One minus the p-value of the exact binomial test: a bot that wins just this share in the long run reaches a certainty
    of 95 % in at most one of 20 runs. For a share of one half draws are left out (the sign test), which is exact for any
    number of draws. For any other share two draws count as a win and a loss, and an odd draw as a loss; draws then only
    make that rarer (tests/test_gauntlet.py). Tables that repeat others count as fewer. Tables that share deals count in
    full, although they vary less.
    """
    weight = max(1.0, ours.spread) * ours.per_unit
    won, lost, tables = ours.wins / weight, theirs.wins / weight, ours.tables / weight
    if share == 0.5:
        return 1 - binomial_tail(math.floor(won), math.ceil(won + lost), 0.5)
    return 1 - binomial_tail(math.floor((tables + won - lost) / 2), math.ceil(tables), share)


def binomial_tail(least: int, trials: int, chance: float) -> float:
    """Return the probability of at least `least` successes in a number of trials.

    It is the regularised incomplete beta function, by Lentz's continued fraction (Numerical Recipes 6.4).
    """
    if not 0 < least <= trials:
        return float(least <= 0)
    a, b = least, trials - least + 1
    other = chance > (a + 1) / (a + b + 2)  # there the fraction converges slowly: take the other tail
    if other:
        a, b, chance = b, a, 1 - chance
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(chance) + b * math.log1p(-chance)
    c, d = 1.0, 1 / (1 - (a + b) * chance / (a + 1))
    fraction = d
    for m in range(1, MAX_FRACTION_STEPS):
        even = m * (b - m) * chance / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * chance / ((a + 2 * m) * (a + 2 * m + 1))
        before = fraction
        for part in (even, odd):
            c, d = 1 + part / c, 1 / (1 + part * d)
            fraction *= c * d
        if abs(fraction - before) <= 1e-15 * fraction:
            break
    tail = math.exp(front) * fraction / a
    return 1 - tail if other else tail


def sure_by_wins(ours: Mapping[MeetingId, Won], theirs: Mapping[MeetingId, Won]) -> float:
    """Return the probability (0 to 1) that our win rate over all tables is above theirs.

    A meeting is all tables with the same bots. In meetings of both bots the wins are correlated, because one bot's win
    is the other's loss: var(a/N - b/M) = n (p(1-p)/N² + q(1-q)/M² + 2pq/NM). Meetings of only one bot are independent.
    Four imaginary tables with two wins each are added, so that a few tables are never certain (Agresti & Coull,
    "Approximate is better than 'exact'", 1998). Laplace's (wins + 1) / (tables + 2) gives a clean sweep a variance. Where
    tables repeat others, the imaginary ones are as many as those that count as one.
    """
    (our_tables, our_rate, our_unit), (their_tables, their_rate, their_unit) = _rate(ours), _rate(theirs)
    variance = (our_unit / our_tables + their_unit / their_tables) ** 2
    for meeting in {**ours, **theirs}:  # not a set: a sum must not depend on the order of hashes
        we, they = ours.get(meeting), theirs.get(meeting)
        p, q = _share(we), _share(they)
        if we is not None:
            variance += we.weight * we.tables * p * (1 - p) / our_tables**2
        if they is not None:
            variance += they.weight * they.tables * q * (1 - q) / their_tables**2
        if we is not None and they is not None:
            variance += 2 * math.sqrt(we.weight * they.weight) * we.tables * p * q / (our_tables * their_tables)
    return NORMAL.cdf((our_rate - their_rate) / math.sqrt(variance))


def _rate(meetings: Mapping[MeetingId, Won]) -> tuple[float, float, float]:
    """Return the tables and the rate with four imaginary tables, and how many tables count as one."""
    tables, wins, units = 0, 0.0, 0.0
    for met in meetings.values():
        tables, wins, units = tables + met.tables, wins + met.wins, units + met.per_unit * met.tables
    unit = units / tables if tables else 1.0
    return tables + 4 * unit, (wins + 2 * unit) / (tables + 4 * unit), unit


def _share(won: Won | None) -> float:
    return (won.wins + won.per_unit) / (won.tables + 2 * won.per_unit) if won else 0.0


# Elo.


class Elo(NamedTuple):
    """A strength in Elo points; `error` is half the width of its 95 % interval."""

    points: float
    error: float


def elo_of(points: Sequence[tuple[float, float]]) -> Elo:
    """Return the Elo difference of two bots from the points of one of them at their tables (0 to 1, and how often).

    The inverse of the logistic curve; its error by the delta method: Z · ELO · sqrt(variance / n) / (s (1 - s)). If a bot
    won or lost every table, one more draw is added, because its difference would be infinite. If all points are equal and
    between 0 and 1, half a win and half a loss are added, because their variance would be 0.
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
    """The state of a sequential test. It continues while low < llr < high; `accepted` is "H0", "H1", or empty until then."""

    llr: float
    low: float
    high: float
    accepted: str


def sure_of_mean(ours: Sequence[float], theirs: Sequence[float], errors: Sequence[float]) -> float:
    """Return the probability (0 to 1) that our mean is above theirs. `errors` are the standard errors of all values.

    The values are independent, so the variance of each mean is the sum of theirs divided by their squared number.
    """
    lead, error = sum(ours) / len(ours) - sum(theirs) / len(theirs), math.hypot(*errors) / len(ours)
    return NORMAL.cdf(lead / error) if error else 0.5 if not lead else float(lead > 0)


def sequential(won: float, drawn: float, lost: float, bounds: tuple[float, float] = (0.0, 10.0)) -> Verdict:
    """Return the state of a test of "stronger by the first bound, in Elo" (H0) against "by the second" (H1).

    Wald's sequential probability ratio test with alpha = beta = 0.05. It uses the ratio of the two maximum likelihoods
    of the results (win 1, draw ½, loss 0), given that their mean is the score that the Elo implies. Without draws this
    is Wald's own binomial test. A sequential test may be evaluated after every table.
    """
    return sequential_points({0.0: lost, 0.5: drawn, 1.0: won}, bounds)


def sequential_points(points: Mapping[float, float], bounds: tuple[float, float], error: float = ALPHA) -> Verdict:
    """Return the state of the same test for points (0 to 1, and how often), for example the mean points of a mirrored deal.

    The tables of a deal depend on each other, so the deal is one result (Van den Bergh, "A practical introduction to the
    GSPRT", 2020: the pentanomial model).
    """
    # A result that has not occurred yet is still possible.
    seen = [(value, points.get(value) or 0.001) for value in sorted({0.0, 0.5, 1.0, *points})]
    llr = _likelihood(seen, _score(bounds[1])) - _likelihood(seen, _score(bounds[0])) if any(points.values()) else 0.0
    return _verdict(llr, error)


def sequential_mean(
    tables: float, mean: float, deviation: float, bounds: tuple[float, float] = (0.0, 10.0), error: float = ALPHA
) -> Verdict:
    """Return the state of the same test if there are no wins, from a bot's lead in chips at each table.

    The bounds are normalised Elo: the mean in standard deviations, times 800 / ln 10. For won and lost tables this equals
    Elo. The test uses the ratio of the two maximum likelihoods of normal values with a given mean in deviations (Van den
    Bergh, "Normalized Elo", 2021). With many tables the values do not have to be normal.
    """
    if tables < 2 or not deviation:
        return _verdict(0.0, error)
    lead, (weak, strong) = mean / deviation, (bound / (2 * ELO) for bound in bounds)
    llr = tables / 2 * math.log((1 + (lead - weak) ** 2) / (1 + (lead - strong) ** 2))
    return _verdict(llr, error)


def _verdict(llr: float, error: float) -> Verdict:
    """Return what the logarithm of a ratio of likelihoods says if each of the two errors may have this probability."""
    low, high = math.log(error / (1 - error)), math.log((1 - error) / error)
    if llr >= high:
        return Verdict(llr, low, high, "H1")
    return Verdict(llr, low, high, "H0" if llr <= low else "")


def tables_left(verdict: Verdict, tables: int) -> int | None:
    """Return how many more tables a test takes if results stay the same; None if it is decided or shows no trend."""
    if verdict.accepted or not tables or not verdict.llr:
        return None
    goal = verdict.high if verdict.llr > 0 else verdict.low
    return math.ceil((goal - verdict.llr) / (verdict.llr / tables))


def _score(elo: float) -> float:
    """Return the expected score for a lead in Elo."""
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
    """Return how many units would make an order certain that has probability `sure` after `played` units.

    Only two digits are significant. The lead is assumed to stay the same, so its z-score grows with the square root of
    the units. None if more than a hundred times as many units were needed: the two are almost equal, or too little has
    been played.
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
    """Return how sure an order is, and what is needed if that is not enough: "97.2 % sure, 98.5 % needed"."""
    return f"{percent(sure)} sure{_NEEDED if sure < MIN_CERTAINTY else ''}"


def words(ahead: str, behind: str, sure: float) -> str:
    """Return the sentence about an order: "A ahead of B: 99.7 % sure" or "A ahead of B: 61 % sure, 98.5 % needed"."""
    return f"{ahead} ahead of {behind}: {how_sure(sure)}"


def is_certain(sentence: str) -> bool:
    """Return whether a sentence of `words` is about a certain order."""
    return not sentence.endswith(_NEEDED)


_NEEDED = f", {percent(MIN_CERTAINTY)} needed"
