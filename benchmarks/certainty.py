"""Measure how often 95 % intervals hold the truth, and how often two equal bots are told apart, for every kind of evidence.

    python benchmarks/certainty.py [--tournaments 2000] [--only WORD]

Every tournament has six bots, the first two of them equally good. Its results are drawn by numpy; what they say is croupier's
own. "Remembers" is a correlation of 0.3 between the tables of a fixture. `coverage` is the share of intervals that hold the true
mean. `wrong` is how often the first of the two equal bots is called ahead with 95, 98.5 and 99.9 % or more: at most 5, 1.5 and
0.1 % are promised.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from host.rating.evidence import Evidence, Meeting
from host.rating.statistics import sure_at_least
from host.rating.strength import TableOrder, ratings

Floats = NDArray[np.float64]
BOTS = "abcdef"
STRENGTHS = np.array([0.0, 0.0, 0.3, -0.4, 0.8, -0.7])  # log odds
LEVELS = (0.95, 0.985, 0.999)
REMEMBERED = 0.3


class Drawn(NamedTuple):
    """A tournament: what its results say, and the true mean of each bot."""

    evidence: Evidence
    truth: Floats
    is_share: bool = False


class Case(NamedTuple):
    """A kind of tournament."""

    name: str
    units: int  # of each meeting
    fixtures: int
    remembers: bool
    draw: Callable[["Case", np.random.Generator], Drawn]


def meeting(bots: Sequence[str], units: Floats, fixtures: int) -> Meeting:
    """Return the meeting of bots with these results: one row for each unit."""
    parts = np.split(units, fixtures)
    products = tuple(tuple(map(float, row)) for row in units.T @ units)
    between = float(sum((part.sum(axis=0) ** 2).sum() / len(part) for part in parts))
    totals = tuple(map(float, units.sum(axis=0)))
    return Meeting(tuple(bots), len(units), len(units), totals, products, fixtures=fixtures, between=between)


def chances(case: Case, chance: float, luck: np.random.Generator) -> Floats:
    """Return the chance to win each table: that of its fixture, if bots remember."""
    if not case.remembers:
        return np.full(case.units, chance)
    known = (1 - REMEMBERED) / REMEMBERED  # of a beta distribution: the correlation of the tables is 1 / (known + 1)
    each = luck.beta(chance * known, (1 - chance) * known, case.fixtures)
    return np.repeat(each, case.units // case.fixtures)


def won(case: Case, luck: np.random.Generator, high: float = 1.0, low: float = 0.0) -> Drawn:
    """Draw tables that are won or lost, which bring these scores."""
    met, truth = [], np.zeros(len(BOTS))
    for one, other in combinations(range(len(BOTS)), 2):
        chance = 1 / (1 + np.exp(STRENGTHS[other] - STRENGTHS[one]))
        wins = luck.random(case.units) < chances(case, chance, luck)
        both = np.where(np.stack([wins, ~wins], axis=1), high, low)
        met.append(meeting([BOTS[one], BOTS[other]], both, case.fixtures))
        truth[one] += low + (high - low) * chance
        truth[other] += low + (high - low) * (1 - chance)
    return Drawn(Evidence(met), truth / (len(BOTS) - 1), is_share=low == 0)


def scored(noise: Callable[[np.random.Generator, int], Floats]) -> Callable[[Case, np.random.Generator], Drawn]:
    """Return the drawing of tables at which one bot gains what the other loses, with this noise of mean 0 and variance 1."""

    def draw(case: Case, luck: np.random.Generator) -> Drawn:
        met, truth = [], np.zeros(len(BOTS))
        for one, other in combinations(range(len(BOTS)), 2):
            lead = STRENGTHS[one] - STRENGTHS[other]
            own = noise(luck, case.units)
            if case.remembers:
                shared = np.repeat(luck.normal(size=case.fixtures), case.units // case.fixtures)
                own = np.sqrt(1 - REMEMBERED) * own + np.sqrt(REMEMBERED) * shared
            gain = lead + own
            met.append(meeting([BOTS[one], BOTS[other]], np.stack([gain, -gain], axis=1), case.fixtures))
            truth[one], truth[other] = truth[one] + lead, truth[other] - lead
        return Drawn(Evidence(met), truth / (len(BOTS) - 1))

    return draw


def heavy(luck: np.random.Generator, size: int) -> Floats:
    """Draw chips as of hold'em: most tables decide little, some decide much."""
    found: Floats = luck.standard_t(3, size) / np.sqrt(3)
    return found


def skewed(luck: np.random.Generator, size: int) -> Floats:
    """Draw many small gains and few large losses."""
    found: Floats = 1 - luck.exponential(size=size)
    return found


def hearts(case: Case, luck: np.random.Generator) -> Drawn:
    """Draw tables of four at which 26 points are divided, 13 of them in one piece, among all sets of four bots."""
    met, truth, times = [], np.zeros(len(BOTS)), np.zeros(len(BOTS))
    for some in combinations(range(len(BOTS)), 4):
        weak = np.exp(-STRENGTHS[[*some]])
        weak /= weak.sum()
        own = np.tile(weak, (case.fixtures, 1))
        if case.remembers:
            own = luck.dirichlet(weak * (1 - REMEMBERED) / REMEMBERED, case.fixtures)
        own = np.repeat(own, case.units // case.fixtures, axis=0)
        points = -(luck.multinomial(13, own) + 13 * luck.multinomial(1, own)).astype(float)
        met.append(meeting([BOTS[bot] for bot in some], points, case.fixtures))
        truth[[*some]] -= 26 * weak
        times[[*some]] += 1
    return Drawn(Evidence(met), truth / times)


def tourneys(case: Case, luck: np.random.Generator) -> Drawn:
    """Draw the chips of all bots at the end of tourneys: shares of a sum, by strengths and much luck."""
    gains = np.exp(
        1.2 * luck.normal(size=(case.units + (0 if case.name in TRUTHS else 1_000_000), len(BOTS))) + 0.3 * STRENGTHS
    )
    shares = 1200 * gains / gains.sum(axis=1, keepdims=True)
    units = shares[: case.units]
    totals = tuple(map(float, units.sum(axis=0)))
    values = tuple(tuple(map(float, column)) for column in units.T)
    met = Meeting(tuple(BOTS), case.units, case.units, totals, values=values)
    if case.name not in TRUTHS:
        TRUTHS[case.name] = shares.mean(axis=0)
    return Drawn(Evidence([met]), TRUTHS[case.name])


def rare(case: Case, luck: np.random.Generator) -> Drawn:
    """Draw tourneys at which one bot of six loses almost all in 1 of 5; the others share it."""
    values = 5 * luck.normal(size=(case.units, len(BOTS)))
    losers = luck.random(case.units) < 0.2
    values[losers] += 60.0
    values[losers, luck.integers(len(BOTS), size=losers.sum())] -= 360.0
    columns = tuple(tuple(map(float, column)) for column in values.T)
    met = Meeting(tuple(BOTS), case.units, case.units, tuple(map(sum, columns)), values=columns)
    return Drawn(Evidence([met]), np.zeros(len(BOTS)))


TRUTHS: dict[str, Floats] = {}

CASES = [
    *(
        Case(name, units, fixtures, remembers, draw)
        for units, fixtures, remembers in ((20, 1, False), (200, 4, False), (200, 4, True), (200, 10, True))
        for name, draw in (
            ("win rate", won),
            ("score ±1", lambda case, luck: won(case, luck, 1.0, -1.0)),
            ("score, heavy tails", scored(heavy)),
            ("score, rare losses", scored(skewed)),
            ("score, four seats", hearts),
        )
    ),
    *(Case("tourneys", units, units, False, tourneys) for units in (20, 25, 100)),
    *(Case("tourneys, rare large losses", units, units, False, rare) for units in (25, 100)),
]


class Measured(NamedTuple):
    """What was measured of a case."""

    coverage: float
    missing: float  # the share of intervals that cannot be given
    wrong: tuple[float, ...]


def measured(case: Case, tournaments: int) -> Measured:
    """Draw tournaments of a case."""
    luck, held, given, asked, wrong = np.random.default_rng(1979), 0, 0, 0, np.zeros(len(LEVELS))
    for _ in range(tournaments):
        evidence, truth, is_share = case.draw(case, luck)
        for bot, true in zip(BOTS, truth, strict=True):
            interval = evidence.interval_of_share(bot) if is_share else evidence.interval(bot)
            asked += 1
            if interval:
                given, held = given + 1, held + (interval.low <= true <= interval.high)
        sure = evidence.sure_ahead("a", "b") or 0.5
        wrong += [max(sure, 1 - sure) >= level for level in LEVELS]
    return Measured(held / max(given, 1), 1 - given / asked, tuple(wrong / tournaments / 2))


def power(tournaments: int) -> Iterator[str]:
    """Yield at how many tables a lead of 60 % becomes certain by win rate and by scores of ±1."""
    for word, low in (("win rate", 0.0), ("score ±1", -1.0)):
        needed, luck = [], np.random.default_rng(1979)
        for _ in range(tournaments):
            wins = luck.random(4000) < 0.6
            both = np.where(np.stack([wins, ~wins], axis=1), 1.0, low)
            for tables in range(10, 4001, 10):
                if Evidence([meeting("ab", both[:tables], 1)]).sure({"a": 1.0, "b": -1.0}) >= 0.985:
                    break
            needed.append(tables)
        yield f"| {word}: tables until a lead of 60 % is certain | {np.mean(needed):.0f} |"


def elo(tournaments: int) -> Iterator[str]:
    """Yield the coverage of intervals of Elo without and with draws, and the share of undeserved grades."""
    for drawn in (0.0, 0.4):
        luck, held = np.random.default_rng(1979), 0
        true = STRENGTHS - STRENGTHS.mean()
        for _ in range(tournaments):
            met, orders = list[Meeting](), dict[TableOrder, float]()
            for one, other in combinations(range(len(BOTS)), 2):
                chance = 1 / (1 + np.exp(STRENGTHS[other] - STRENGTHS[one]))
                draws = min(drawn, 2 * chance, 2 - 2 * chance)
                results = luck.multinomial(50, [chance - draws / 2, draws, 1 - chance - draws / 2])
                tables = np.repeat([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], results, axis=0)
                met.append(meeting([BOTS[one], BOTS[other]], tables, 1))
                first, second = (BOTS[one],), (BOTS[other],)
                orders |= dict(
                    zip(((first, second), (first + second,), (second, first)), map(float, results), strict=True)
                )
            weights = {frozenset(bots): weight for bots, weight in Evidence(met).weights().items()}
            counted = {
                order: times / weights[frozenset(bot for equal in order for bot in equal)]
                for order, times in orders.items()
            }
            found = ratings(orders, counted).elo
            held += sum(
                abs(found[bot].points - 400 / np.log(10) * strength) <= found[bot].error
                for bot, strength in zip(BOTS, true, strict=True)
            )
        yield f"| Elo, 50 tables a pair, {drawn:.0%} drawn: coverage | {held / tournaments / len(BOTS):.1%} |"
    rates = [math.comb(500, won) / 2**500 for won in range(501)]
    sure = [sure_at_least(won, 0, 500 - won, 0.5) for won in range(501)]
    shares = [math.fsum(rate for rate, each in zip(rates, sure, strict=True) if each >= level) for level in LEVELS]
    yield "| grades, 500 tables, an equal bot: wrong | " + " · ".join(f"{100 * share:.2f} %" for share in shares) + " |"


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--tournaments", type=int, default=2000)
    parser.add_argument("--only", default="", help="a word in the names of the cases")
    chosen = parser.parse_args()
    print("| evidence | units, fixtures | remembers | coverage | no interval | wrong: 95 · 98.5 · 99.9 % |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        if chosen.only in case.name:
            found = measured(case, chosen.tournaments)
            wrong = " · ".join(f"{100 * share:.2f}" for share in found.wrong)
            remembers = "yes" if case.remembers else "no"
            shown = f"{100 * found.coverage:.1f} % | {100 * found.missing:.0f} % | {wrong} %"
            print(f"| {case.name} | {case.units}, {case.fixtures} | {remembers} | {shown} |", flush=True)
    for line in [*power(chosen.tournaments // 20), *elo(chosen.tournaments // 4)]:
        print(line, flush=True)


if __name__ == "__main__":
    main()
