"""Simulate seasons whose true strengths are known: what adaptive rounds find, compared with a full round robin.

    python benchmarks/adaptive_rounds.py [first] [late] [calibration] [--seasons 100] [--bots 50] [--fields normal 2015]

Rounds, ratings and certainties are croupier's own; only the tables are simulated. A season of 50 bots has 1/5 of the tables
of a round robin with 20 tables a pair; one of 500 bots, 1/20 of the tables of a round robin with 2 tables a pair. Both have
20 rounds.

    first        the true first eight among the first eight, certainty of the neighbours from 1st to 9th, and the chance
                 that nobody outside belongs inside: adaptive, and the round robin with all its tables
    calibration  of the pairs called 88 to 92 % sure, how many are right; of all pairs, of neighbours, of the first eight
    late         of seasons in which a version enters in round 7, how many rate it after round 11 within 30 Elo of its end

Fields: `normal` has strengths with a standard deviation of 150 Elo. `2015` draws them from the strengths of the ten sample
bots of Simple Pazaak under the rules of 2015, by the smoothed bootstrap (Silverman, "Density Estimation", 1986). `copies`
has near copies of these ten, about five each, with a standard deviation of 15 Elo between copies. `cyclic` has a standard
deviation of 100 Elo, and 100 Elo more between every two bots, as in rock-paper-scissors; the true order is that of an
endless round robin.
"""

import argparse
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

import host.season  # noqa: F401 - sets the threads of numpy, so it comes first

# isort: split
import numpy as np

from host.rating.statistics import ELO, NORMAL, wilson
from host.rating.strength import TableOrder
from host.season.rounds.fit import Fit, fitted
from host.season.rounds.ladder import Chances
from host.season.rounds.scheduler import Player, RoundTerms, Sums, next_round

PLACES, ROUNDS, LATE_ROUND, LATE_ROUNDS = 8, 20, 7, 5

SAMPLES_OF_2015 = (155, 145, 122, 117, 87, 78, 51, -135, -304, -315)
"""Elo of optimum, austin_powers, glaucus, nestor, neptr, cincinnati_kid, hk_47, bastila, dumb_bold and dumb_cautious:
400 tables a pair, preset controller2015."""

WIDTHS = {"2015": 89.0, "copies": 15.0}
"""The standard deviation in Elo around these strengths; for 2015 by Silverman's rule: 0.9 · quartile range / 1.34 · n^(-1/5)."""

Array = np.ndarray


class Field(NamedTuple):
    """The chance of each bot to win a table against each other, and the true ratings."""

    chance: Array
    elo: Array

    @property
    def labels(self) -> list[str]:
        """The labels of the bots."""
        return [f"b{nth:03}-1" for nth in range(len(self.elo))]


def field_of(kind: str, bots: int, luck: np.random.RandomState) -> Field:
    """Draw a field."""
    more = np.zeros((bots, bots))
    if kind == "normal":
        elo = luck.normal(0, 150, bots)
    elif kind in WIDTHS:
        elo = np.array(SAMPLES_OF_2015)[luck.randint(len(SAMPLES_OF_2015), size=bots)]
        elo = elo + luck.normal(0, WIDTHS[kind], bots)
    else:
        elo, (x, y) = luck.normal(0, 100, bots), luck.normal(0, 1, (2, bots))
        more = 100 * (np.outer(x, y) - np.outer(y, x)) / math.sqrt(2)
    chance = 1 / (1 + np.exp(-(elo[:, None] - elo[None, :] + more) / ELO))
    return Field(chance, endless(chance))


def endless(chance: Array) -> Array:
    """Return the ratings that an endless round robin gives: Bradley and Terry's model of the chances."""
    logs = np.zeros(len(chance))
    others = 1 - np.eye(len(chance))
    for _ in range(100):
        even = 1 / (1 + np.exp(logs[None, :] - logs[:, None]))
        known = even * (1 - even) * others
        step = np.linalg.solve(np.diag(known.sum(1)) - known + 1 / len(logs), ((chance - even) * others).sum(1))
        logs += step / max(1.0, np.abs(step).max())
        if np.abs(step).max() < 1e-9:
            break
    found: Array = ELO * (logs - logs.mean())
    return found


class Season(NamedTuple):
    """A simulated season: the last fit, and the rating of the late version after its first rounds and at the end."""

    fit: Fit
    tables: Counter[str]
    late: tuple[float, float]


def adaptive(field: Field, tables: int, meeting: int, late: int | None, luck: np.random.RandomState) -> Season:
    """Play a season of adaptive rounds."""
    number = {label: nth for nth, label in enumerate(field.labels)}
    players = [Player(label, label, LATE_ROUND if nth == late else 1) for label, nth in number.items()]
    orders, played, soon = dict[TableOrder, float](), Counter[str](), 0.0
    for turn in range(1, ROUNDS + 1):
        terms = RoundTerms(turn, 2, tables // ROUNDS, PLACES, meeting)
        for (one, other), count in next_round(players, Sums(orders, played, {}), terms):
            won = luck.binomial(count, field.chance[number[one], number[other]])
            for order, times in ((((one,), (other,)), won), (((other,), (one,)), count - won)):
                orders[order] = orders.get(order, 0) + times
            played.update({one: count, other: count})
        if late is not None and turn == LATE_ROUND + LATE_ROUNDS - 1:
            soon = rating(fitted(orders), field.labels[late])
    fit = fitted(orders)
    return Season(fit, played, (soon, rating(fit, field.labels[late]) if late is not None else 0.0))


def rating(fit: Fit, label: str) -> float:
    """Return the rating of a version above the mean."""
    return float(fit.elo[fit.number[label]])


def round_robin(field: Field, tables: int, luck: np.random.RandomState) -> Fit:
    """Play a round robin with a number of tables a pair."""
    orders: dict[TableOrder, float] = {}
    for one, other in combinations(range(len(field.elo)), 2):
        won = luck.binomial(tables, field.chance[one, other])
        a, b = f"b{one:03}-1", f"b{other:03}-1"
        orders[(a,), (b,)], orders[(b,), (a,)] = won, tables - won
    return fitted(orders)


class Outcome(NamedTuple):
    """What the end of a season says."""

    found: int  # of the true first eight
    certainty: float  # mean, of the neighbours from 1st to 9th
    outside: float  # chance that nobody outside belongs inside
    right: bool  # whether nobody does


def outcome(fit: Fit, field: Field) -> Outcome:
    """Compare a ladder with the truth."""
    labels = sorted(fit.number, key=lambda label: -rating(fit, label))
    true = [field.labels[nth] for nth in np.argsort(-field.elo)[:PLACES]]
    found = len({*labels[:PLACES]} & {*true})
    sure = [fit.sure_ahead(*labels[nth : nth + 2]) or 0.0 for nth in range(PLACES)]
    return Outcome(found, float(np.mean(sure)), Chances(fit, labels, PLACES).nobody_outside, found == PLACES)


class Calibration:
    """Counts how often orders are right, by their certainty, in some groups of pairs."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[tuple[int, bool]]] = {}

    def add(self, fit: Fit, field: Field) -> None:
        """Count all pairs of a season."""
        order = np.argsort(-fit.elo)
        elo, covariance = fit.elo[order], fit.covariance[np.ix_(order, order)]
        true = field.elo[np.array([int(label[1:4]) for label in fit.number])][order]
        own = covariance.diagonal()
        one, other = np.triu_indices(len(elo), 1)
        deviation = np.sqrt(np.maximum(own[one] + own[other] - 2 * covariance[one, other], 1e-9))
        sure = np.array([NORMAL.cdf(z) for z in (elo[one] - elo[other]) / deviation])
        right = true[one] > true[other]
        groups = {"all pairs": one >= 0, "neighbours": other == one + 1, "the first eight": other < PLACES}
        for name, chosen in groups.items():
            bins = np.floor(25 * sure[chosen]).astype(int)  # 22: from 0.90 - 0.02 to 0.90 + 0.02
            self.counts.setdefault(name, Counter()).update(zip(bins.tolist(), right[chosen].tolist(), strict=True))

    def lines(self) -> Iterator[str]:
        """Yield the shares of right orders."""
        for name, counts in self.counts.items():
            words = []
            for middle in (0.58, 0.70, 0.82, 0.90, 0.94, 0.98):
                nth = math.floor(25 * middle)
                hits, misses = counts[nth, True], counts[nth, False]
                if hits + misses:
                    low, high = wilson(hits, hits + misses)
                    words.append(f"{middle:.0%}: {hits / (hits + misses):.1%} ({low:.1%} … {high:.1%})")
            yield f"    {name:<16} {'  '.join(words)}"


def budget(bots: int) -> tuple[int, int, int]:
    """Return the tables of a season, those of a meeting, and those of a pair in the round robin."""
    pairs = bots * (bots - 1) // 2
    return (pairs * 20 // 5, 10, 20) if bots <= 100 else (pairs * 2 // 20, 4, 2)


def print_field(kind: str, bots: int, seasons: int, wanted: Mapping[str, bool]) -> None:
    """Simulate seasons of one kind of field, and print what was asked for."""
    tables, meeting, each = budget(bots)
    adaptives, wholes, moved = list[Outcome](), list[Outcome](), list[float]()
    calibration, of_wholes = Calibration(), Calibration()
    for number in range(seasons):
        luck = np.random.RandomState(1000 * bots + number)
        field = field_of(kind, bots, luck)
        late = int(luck.randint(bots)) if wanted["late"] else None
        season = adaptive(field, tables, meeting, late, luck)
        adaptives.append(outcome(season.fit, field))
        calibration.add(season.fit, field)
        moved.append(abs(season.late[0] - season.late[1]))
        if wanted["first"]:
            whole = round_robin(field, each, luck)
            wholes.append(outcome(whole, field))
            of_wholes.add(whole, field)
    print(f"{kind}, {bots} bots, {seasons} seasons of {tables} tables", flush=True)
    if wanted["first"]:
        for name, found in (("adaptive", adaptives), (f"round robin, {each} tables a pair", wholes)):
            print(f"    {name:<32}{line(found)}", flush=True)
    if wanted["calibration"]:
        print("\n".join(calibration.lines()), flush=True)
        print("\n".join(f"{line}, in the round robin" for line in of_wholes.lines() if "all pairs" in line), flush=True)
    if wanted["late"]:
        near = sum(each <= 30 for each in moved)
        print(
            f"    a version of round {LATE_ROUND} within 30 Elo of its end after {LATE_ROUNDS} rounds: {near} of {seasons}"
        )


def line(found: list[Outcome]) -> str:
    """Return the means of outcomes."""
    mean: Callable[[str], float] = lambda name: float(np.mean([getattr(each, name) for each in found]))  # noqa: E731
    return (
        f"{mean('found'):.2f} of the true first {PLACES}; neighbours {mean('certainty'):.3f} sure; "
        f"nobody outside: {mean('outside'):.2f} promised, {mean('right'):.2f} true"
    )


def main() -> None:
    """Read the arguments and simulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", choices=["first", "late", "calibration", []], default=[])
    parser.add_argument("--seasons", type=int, default=100)
    parser.add_argument("--bots", type=int, nargs="+", default=[50])
    parser.add_argument("--fields", nargs="+", default=["normal", "2015", "copies", "cyclic"])
    given = parser.parse_args()
    wanted = {name: name in given.what or not given.what for name in ("first", "late", "calibration")}
    for bots in given.bots:
        for kind in given.fields:
            print_field(kind, bots, given.seasons, wanted)


if __name__ == "__main__":
    main()
