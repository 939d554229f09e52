"""Evidence: what independent units say about the values of bots. Every interval and certainty follows from it.

A **unit** is what luck is drawn for: a table, a group of tables that share a deal, a tourney, a game of a group. A
**meeting** has all units of the same bots. Its sums suffice: the number of units, the totals of the bots, and for each
two bots the sum over units of the product of their results. The record of a fixture has these sums of the fixture.

A value is a sum over meetings, for example the lead of A over B at a table, with c = 1 / tables of A for A, and
-1 / tables of B for B:

    value      = Σ total              total = Σ c·total of a bot, in one meeting
    variance   = Σ (deviations · repeats + common · repeats²) · effect
    deviations = Σ c·c'·product - total² / units
    common     = the variance of one average unit of the whole stage: an imaginary unit for each meeting

`repeats` is the number of tables that count as one: above 1 if tables repeat others (Kish, "Survey Sampling", 1965).
`effect`, the design effect, is above 1 if fixtures of the same bots differ by more than their units explain, because bots
remember events. The analysis of variance estimates one effect for the whole stage, if an F test shows with certainty EFFECT_FROM
that it exists. For a certainty four imaginary units without a lead are added, so that a few units are never certain
(Agresti & Coull, "Approximate is better than 'exact'", 1998). The quantiles are Student's t, with the degrees of
freedom of Satterthwaite. Skewed values of few units follow Hall's transformation ("On the removal of skewness by
transformation", 1992).
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from host.base.grouping import grouped
from host.rating.statistics import Interval, bent, beta, straightened, student, student_quantile, wilson

ROUNDING = 1e-14
"""A difference of sums that is smaller than this part of them is only the error of rounded weights."""

IMAGINARY = 4
"""The number of imaginary units that are added, so that a few units do not seem to be certain."""

MAX_SKEWNESS = 3**-0.5
"""Largest skewness of a mean that gets an interval. So the number of units must be at least three times the square of
their skewness (measured: benchmarks/certainty.py)."""

POINTS = {0: 1.0, 1: -1.0}
"""The weights of the lead of the first bot of a meeting over the second one."""

EFFECT_FROM = 0.99
"""The certainty at which a design effect counts: that fixtures differ by more than their units explain."""


class Meeting(NamedTuple):
    """Sums over all units of the same bots."""

    bots: tuple[str, ...]
    size: int  # what values are divided by: tables, or fixtures if these are the units
    units: int
    totals: tuple[float, ...]
    products: tuple[tuple[float, ...], ...] = ()  # for each two bots; () if `values` has them
    values: tuple[tuple[float, ...], ...] = ()  # of each bot, by unit, if each unit is stored by itself
    fixtures: int = 1
    between: float = 0.0  # the sum over fixtures and bots of total² / units of the fixture
    repeats: float = 1.0  # tables that count as one, because tables repeat others

    def product(self, one: int, other: int) -> float:
        """Return the sum over units of the product of the results of two bots, given by their indices in `bots`."""
        if self.products:
            return self.products[one][other]
        return math.fsum(map(float.__mul__, self.values[one], self.values[other]))

    def total(self, weights: Mapping[int, float]) -> float:
        """Return the weighted sum of the totals of some bots. `weights` are by the index of the bot in `bots`."""
        return math.fsum(weight * self.totals[nth] for nth, weight in weights.items())

    def deviations(self, weights: Mapping[int, float]) -> float:
        """Return the sum over units of (value - mean)²; the value of a unit is the weighted sum of its results."""
        products = [
            weight * by * self.product(nth, other) for nth, weight in weights.items() for other, by in weights.items()
        ]
        whole = math.fsum(products)
        spread = whole - self.total(weights) ** 2 / self.units
        return spread if spread > ROUNDING * whole else 0.0


class Unit(NamedTuple):
    """An average unit of a stage: mean and variance of a bot's result, and covariance of the results of two bots."""

    mean: float
    variance: float
    covariance: float


class Effect(NamedTuple):
    """The design effect of fixtures, and the degrees of freedom with which it is known."""

    factor: float = 1.0
    freedom: float = math.inf


class Lead(NamedTuple):
    """A value that is a sum over meetings, and the parameters of the distribution of its error."""

    value: float
    variance: float
    freedom: float
    skewness: float  # of the value; 0 where it is not known
    units: float  # independent ones


@dataclass(frozen=True)
class Evidence:
    """The evidence of a stage about one value of its bots: points for wins, or scores."""

    meetings: Sequence[Meeting]
    known: tuple[Unit, Effect] | None = None  # of the stage, if these meetings are a part of it

    @cached_property
    def _of_bot(self) -> Mapping[str, Sequence[tuple[Meeting, int]]]:
        """Return the meetings of each bot, with the index of the bot in the meeting, by bot."""
        return grouped((bot, (met, number)) for met in self.meetings for number, bot in enumerate(met.bots))

    @cached_property
    def unit(self) -> Unit:
        """Return an average unit of the stage, over all bots and meetings."""
        if self.known:
            return self.known[0]
        seats = math.fsum(each.units * len(each.bots) for each in self.meetings)
        pairs = math.fsum(each.units * len(each.bots) * (len(each.bots) - 1) for each in self.meetings)
        if not seats:
            return Unit(0.0, 0.0, 0.0)
        mean = math.fsum(total for each in self.meetings for total in each.totals) / seats
        own = both = 0.0
        for each in self.meetings:
            number, squares = len(each.bots), math.fsum(each.product(nth, nth) for nth in range(len(each.bots)))
            total = math.fsum(each.totals)
            own += squares - 2 * mean * total + number * each.units * mean**2
            both += _all_products(each) - 2 * number * mean * total + each.units * (number * mean) ** 2
        units = sum([each.units / each.repeats for each in self.meetings])
        unbiased = units / max(1, units - 1)
        return Unit(mean, max(0.0, own / seats) * unbiased, (both - own) / pairs * unbiased if pairs else 0.0)

    @cached_property
    def effect(self) -> Effect:
        """Return the design effect of the fixtures of the stage."""
        if self.known:
            return self.known[1]
        within = between = 0.0
        meetings = fixtures = units = 0
        for each in self.meetings:
            if each.products:
                squares = math.fsum(each.products[nth][nth] for nth in range(len(each.bots)))
                within += squares - each.between
                between += each.between - math.fsum(total**2 / each.units for total in each.totals)
                meetings, fixtures, units = meetings + 1, fixtures + each.fixtures, units + each.units
        freedom = fixtures - meetings
        if freedom < 1 or units <= fixtures or within <= 0:
            return Effect()
        variance = between / freedom
        if _f_test(variance / (within / (units - fixtures)), freedom, units - fixtures) < EFFECT_FROM:
            return Effect()
        return Effect(variance / ((between + within) / (units - meetings)), freedom)

    def lead(self, factors: Mapping[str, float]) -> Lead:
        """Return the sum of the means of some bots, each with a factor: {"A": 1, "B": -1} for the lead of A over B."""
        met: dict[int, tuple[Meeting, dict[int, float]]] = {}
        for bot, factor in factors.items():
            size = sum([meeting.size for meeting, _ in self._of_bot[bot]])
            for meeting, number in self._of_bot[bot]:
                met.setdefault(id(meeting), (meeting, {}))[1][number] = factor / size
        parts = [self._part(meeting, weights) for meeting, weights in met.values()]
        variance, effect = math.fsum(part.variance for part in parts), self.effect
        errors = math.fsum(part.variance**2 / part.freedom for part in parts)
        return Lead(
            value=math.fsum(part.value for part in parts),
            variance=variance * effect.factor,
            freedom=min(effect.freedom, variance**2 / errors if errors else math.inf),
            skewness=math.fsum(part.skewness for part in parts) / variance**1.5 if variance else 0.0,
            units=min(sum([each.units / each.repeats for each, _ in self._of_bot[bot]]) for bot in factors)
            / effect.factor,
        )

    @cached_property
    def is_too_skewed(self) -> bool:
        """Whether the tourneys or games are too few for intervals, because their values are skewed (MAX_SKEWNESS).

        Rare units then decide most of a mean. The skewness is the mean over all bots, because a single bot may not have
        played such a unit yet.
        """
        if not any(each.values for each in self.meetings):
            return False
        leads = [self.lead({bot: 1.0}) for bot in self._of_bot]
        third = math.fsum(abs(lead.skewness) * lead.variance**1.5 for lead in leads) / len(leads)
        mean: float = math.fsum(lead.variance for lead in leads) / len(leads)
        return third > MAX_SKEWNESS * mean * math.sqrt(mean)

    def _part(self, meeting: Meeting, weights: Mapping[int, float]) -> Lead:
        """Return the part of a lead that comes from one meeting. `weights` are by index of the bot in the meeting.

        The `skewness` of the part is its third central moment. `lead` divides the sum of these moments by variance ** 1.5.
        """
        units = meeting.units
        total, common = meeting.total(weights), self._common(weights.values())
        variance = meeting.deviations(weights) * meeting.repeats + common * meeting.repeats**2
        third = 0.0
        if meeting.values:
            sums = [sum(weight * meeting.values[nth][unit] for nth, weight in weights.items()) for unit in range(units)]
            third = math.fsum((value - total / units) ** 3 for value in sums)
        return Lead(total, variance, max(1.0, units / meeting.repeats - 1), third * meeting.repeats**2, units)

    def _common(self, weights: Collection[float]) -> float:
        """Return the variance of a sum of results of different bots with these weights, in one unit of the stage."""
        squared = math.fsum(weight**2 for weight in weights)
        return max(0.0, self.unit.variance * squared + self.unit.covariance * (math.fsum(weights) ** 2 - squared))

    def weights(self) -> dict[tuple[str, ...], float]:
        """Return how many tables of a pair give as much information as one independent won or lost table, by pair of bots.

        It is the variance of the points (win 1, draw 1/2), relative to the variance at such tables. IMAGINARY tables
        that are won or lost are added to the tables of the stage, and IMAGINARY average tables of the stage to the
        tables of each pair.
        """
        pairs = [each for each in self.meetings if len(each.bots) == 2]
        units = math.fsum(each.units for each in pairs) + IMAGINARY
        mean = (math.fsum(each.units * _spread(each) for each in pairs) + IMAGINARY) / units
        return {
            each.bots: (each.units * _spread(each) + IMAGINARY * mean)
            / (each.units + IMAGINARY)
            * each.repeats
            * self.effect.factor
            for each in pairs
        }

    def counts(self, one: str) -> tuple[float, float, float]:
        """Return the numbers of independent tables that a bot has won, drawn and lost, at most the numbers played.

        Only the first meeting of the bot counts, with one opponent. Tables that share deals count in full, although
        they vary less.
        """
        each, number = self._of_bot[one][0]
        won, lost = each.totals[number], each.totals[1 - number]
        drawn, alone = each.size - won - lost, won + lost - (won - lost) ** 2 / each.size
        spread = each.deviations(POINTS) / alone if alone else 1.0
        weight = max(1.0, (each.units * spread + IMAGINARY) / (each.units + IMAGINARY))
        weight *= each.repeats * self.effect.factor
        return won / weight, drawn / weight, lost / weight

    def sure(self, factors: Mapping[str, float], goal: float = 0.0) -> float:
        """Return the probability (0 to 1) that a sum of means (see `lead`) is above a goal in the long run."""
        lead = self.lead(factors)
        scale = sum([each.units for each in self.meetings]) / sum([each.size for each in self.meetings])
        whole = lead.units + IMAGINARY
        part = lead.units / whole
        extra = IMAGINARY * self._common(factors.values()) * (scale / whole) ** 2
        error = math.sqrt(lead.variance * part**2 + extra)
        if not error:
            return 0.5
        return student(straightened((lead.value - goal) * part / error, lead.skewness * part**3), lead.freedom)

    def sure_ahead(self, one: str, other: str) -> float | None:
        """Return the probability (0 to 1) that one bot is ahead of another; None if one of them has not played."""
        return self.sure({one: 1.0, other: -1.0}) if one in self._of_bot and other in self._of_bot else None

    def among(self, bots: Iterable[str]) -> "Evidence":
        """Return the evidence of the meetings in which all of these bots take part."""
        who = {*bots}
        return Evidence([meeting for meeting in self.meetings if who.issubset(meeting.bots)], (self.unit, self.effect))

    def interval(self, bot: str) -> Interval | None:
        """Return the 95 % interval of a bot's mean; None if its units are too few, too skewed, or all equal."""
        value, variance, freedom, skewness, units = self.lead({bot: 1.0})
        if units < 2 or not variance or self.is_too_skewed:
            return None
        error, quantile = math.sqrt(variance), student_quantile(freedom)
        return Interval(value - error * bent(quantile, skewness), value - error * bent(-quantile, skewness))

    def interval_of_share(self, bot: str) -> Interval:
        """Return the 95 % interval of a bot's mean by Wilson's formula. Each result must be from 0 to 1."""
        value, variance, _, _, units = self.lead({bot: 1.0})
        if variance and 0 < value < 1:
            units = value * (1 - value) / variance
        return wilson(value * units, units)


def duel(won: float, drawn: float, lost: float) -> Meeting:
    """Return a meeting of two bots, "" and "other". `won`, `drawn` and `lost` are numbers of tables, as seen by bot ""."""
    tables = round(won + drawn + lost)
    return Meeting(("", "other"), tables, tables, (won, lost), ((won, 0.0), (0.0, lost)))


def sure_by_wins(won: float, drawn: float, lost: float) -> float:
    """Return the probability (0 to 1) that a bot is better than another, given only the numbers of their tables."""
    return Evidence([duel(won, drawn, lost)]).sure({"": 1.0, "other": -1.0})


def _spread(meeting: Meeting) -> float:
    """Return the variance of the points of two bots, divided by that variance at independent tables that are won or lost."""
    rate = (1 + meeting.total(POINTS) / meeting.size) / 2
    return meeting.deviations(POINTS) / 4 / (meeting.size * rate * (1 - rate)) if 0 < rate < 1 else 1.0


def _all_products(meeting: Meeting) -> float:
    """Return the sum over units of the squared sum of the results of all bots."""
    if meeting.products:
        return math.fsum(map(math.fsum, meeting.products))
    return math.fsum(math.fsum(unit) ** 2 for unit in zip(*meeting.values, strict=True))


def _f_test(ratio: float, above: float, below: float) -> float:
    """Return the probability that the estimates of two equal variances have a ratio below `ratio`.

    `above` and `below` are the degrees of freedom of the numerator and of the denominator.
    """
    return beta(above / 2, below / 2, above * ratio / (above * ratio + below))
