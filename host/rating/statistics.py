"""Statistics: confidence intervals, the probability of an order, Elo, and the stopping of a comparison.

Equal inputs give equal results on every machine: the resamples of the bootstrap come from a fixed seed.

Means (for example chips of a tourney): the bootstrap over whole units (Efron & Tibshirani, "An Introduction to the Bootstrap",
1993). A unit is statistically independent of the others: a tourney, a fixture, a table. With few units the plain
percentiles are too narrow, so they are widened to Student's t (Hesterberg, "What Teachers Should Know About the
Bootstrap", The American Statistician 69, 2015).

Wins: the tables are the units. Intervals are Wilson's (1927), Comparisons stop
by Wald's sequential test (1945) in its generalised form from computer chess (Van den Bergh, "A practical introduction to
the GSPRT").
"""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
ALPHA = BETA = 0.05  # error probabilities of a sequential test, for each hypothesis
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
    converted to a normal quantile and then to Student's t, as for the interval: three units are never enough for SURE.
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
    deals (Kish's design effect, "Survey Sampling", 1965).
    """

    tables: int
    wins: float
    spread: float = 1.0


def spread(tables: int, wins: float, squares: float, deal: int) -> float:
    """Return the spread of wins if `deal` tables share a deal; `squares` is the sum over deals of their wins squared.

    Ten imaginary deals with spread 1 are added. Otherwise a few deals could seem to have no variance at all.
    """
    deals, rate = tables / deal, wins / tables
    alone = deal * rate * (1 - rate)
    if not alone:
        return 1.0
    seen = max(0.0, squares / deals - (wins / deals) ** 2)
    return (deals * seen / alone + 10) / (deals + 10)


def wilson(wins: float, tables: float) -> Interval:
    """Return the interval of a win rate, 0 to 1 (Wilson 1927); a draw may count as half a win."""
    if not tables:
        return Interval(0.0, 1.0)
    rate, z2 = wins / tables, Z * Z
    centre = (rate + z2 / (2 * tables)) / (1 + z2 / tables)
    half = Z / (1 + z2 / tables) * math.sqrt(rate * (1 - rate) / tables + z2 / (4 * tables * tables))
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def sure_at_least(ours: Won, theirs: Won, share: float) -> float:
    """Return the probability (0 to 1) that we win more than a share of our tables with one opponent; a draw counts half."""
    return sure_by_wins({"": ours}, {"": theirs}, 2 * share - 1)


def sure_by_wins(ours: Mapping[MeetingId, Won], theirs: Mapping[MeetingId, Won], lead: float = 0.0) -> float:
    """Return the probability (0 to 1) that our win rate over all tables is above theirs, by more than `lead`.

    A meeting is all tables with the same bots. In meetings of both bots the wins are correlated, because one bot's win
    is the other's loss: var(a/N - b/M) = n (p(1-p)/N² + q(1-q)/M² + 2pq/NM). Meetings of only one bot are independent.
    Four imaginary tables with two wins each are added, so that a few tables are never certain (Agresti & Coull,
    "Approximate is better than 'exact'", 1998). Laplace's (wins + 1) / (tables + 2) gives a clean sweep a variance.
    """
    imaginary = Won(4, 2)
    all_of_us = [*ours.values(), imaginary], [*theirs.values(), imaginary]
    (our_tables, our_rate), (their_tables, their_rate) = map(_rate, all_of_us)
    variance = (imaginary.tables / 4) * (1 / our_tables + 1 / their_tables) ** 2
    for meeting in {**ours, **theirs}:  # not a set: a sum must not depend on the order of hashes
        we, they = ours.get(meeting), theirs.get(meeting)
        p, q = _share(we), _share(they)
        if we is not None:
            variance += we.spread * we.tables * p * (1 - p) / our_tables**2
        if they is not None:
            variance += they.spread * they.tables * q * (1 - q) / their_tables**2
        if we is not None and they is not None:
            variance += 2 * math.sqrt(we.spread * they.spread) * we.tables * p * q / (our_tables * their_tables)
    return NORMAL.cdf((our_rate - their_rate - lead) / math.sqrt(variance))


def _rate(meetings: Iterable[Won]) -> tuple[int, float]:
    tables, wins = 0, 0.0
    for met in meetings:
        tables, wins = tables + met.tables, wins + met.wins
    return tables, wins / tables


def _share(won: Won | None) -> float:
    return (won.wins + 1) / (won.tables + 2) if won else 0.0


# Elo.


class Elo(NamedTuple):
    """A strength in Elo points; `error` is half the width of its 95 % interval."""

    points: float
    error: float


def elo_between(won: int, drawn: int, lost: int) -> Elo:
    """Return the Elo difference of two bots from the tables between them; a draw is half a win.

    The inverse of the logistic curve; its error by the delta method: Z · ELO · sqrt(variance / n) / (s (1 - s)). If a bot
    won or lost every table, one more draw is added, because its difference would be infinite.
    """
    drawn += 0 if (won or drawn) and (lost or drawn) else 1
    tables = won + drawn + lost
    score = (won + drawn / 2) / tables
    variance = (won * (1 - score) ** 2 + drawn * (0.5 - score) ** 2 + lost * score**2) / tables
    error = Z * ELO * math.sqrt(variance / tables) / (score * (1 - score))
    return Elo(ELO * math.log(score / (1 - score)), error)


# Sequential tests.


class Verdict(NamedTuple):
    """The state of a sequential test. It continues while low < llr < high; `accepted` is "H0", "H1", or empty until then."""

    llr: float
    low: float
    high: float
    accepted: str


def sequential(won: int, drawn: int, lost: int, bounds: tuple[float, float] = (0.0, 10.0)) -> Verdict:
    """Return the state of a test of "stronger by the first bound, in Elo" (H0) against "by the second" (H1).

    Wald's sequential probability ratio test with alpha = beta = 0.05. It uses the ratio of the two maximum likelihoods
    of the results (win 1, draw ½, loss 0), given that their mean is the score that the Elo implies. Without draws this
    is Wald's own binomial test. A sequential test may be evaluated after every table.
    """
    low, high = math.log(BETA / (1 - ALPHA)), math.log((1 - BETA) / ALPHA)
    # A result that has not occurred yet is still possible.
    seen = [(0.0, lost or 0.001), (0.5, drawn or 0.001), (1.0, won or 0.001)]
    llr = _likelihood(seen, _score(bounds[1])) - _likelihood(seen, _score(bounds[0])) if won + drawn + lost else 0.0
    return Verdict(llr, low, high, "H1" if llr >= high else "H0" if llr <= low else "")


def sequential_mean(tables: int, mean: float, deviation: float, bounds: tuple[float, float] = (0.0, 10.0)) -> Verdict:
    """Return the state of the same test if there are no wins, from a bot's lead in chips at each table.

    The bounds are normalised Elo: the mean in standard deviations, times 800 / ln 10. For won and lost tables this equals
    Elo. The test uses the ratio of the two maximum likelihoods of normal values with a given mean in deviations (Van den
    Bergh, "Normalized Elo", 2021). With many tables the values do not have to be normal.
    """
    low, high = math.log(BETA / (1 - ALPHA)), math.log((1 - BETA) / ALPHA)
    if tables < 2 or not deviation:
        return Verdict(0.0, low, high, "")
    lead, (weak, strong) = mean / deviation, (bound / (2 * ELO) for bound in bounds)
    llr = tables / 2 * math.log((1 + (lead - weak) ** 2) / (1 + (lead - strong) ** 2))
    return Verdict(llr, low, high, "H1" if llr >= high else "H0" if llr <= low else "")


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
    """Return a probability as text, never rounded up: "97 %", "99.7 %", ">99.9 %"."""
    if sure > 0.999:
        return ">99.9 %"
    return f"{math.floor(sure * 1000) / 10:.1f} %" if sure >= 0.99 else f"{math.floor(sure * 100)} %"


def words(ahead: str, behind: str, sure: float) -> str:
    """Return a sentence about two neighbours: "A ahead of B, 99 % sure" or "A and B cannot be distinguished (61 %)"."""
    if sure < MIN_CERTAINTY:
        return f"{ahead} and {behind} cannot be distinguished ({percent(sure)})"
    return f"{ahead} ahead of {behind}, {percent(sure)} sure"
