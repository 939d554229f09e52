"""Measure how much `mirror` reduces the variance of a result, with the same players and equally many tables.

    python benchmarks/mirror.py [--tournaments 300]

Each tournament plays equally many tables twice: once with a separate deal for every table, once with every deal played from
every seat. Prints the variance of the lead of one bot over another, and both means, which must not differ. The players
are simple functions in this process; plans, rules and records are croupier's own.
"""

import argparse
import math
from statistics import fmean, variance
from typing import NamedTuple

from simple import FIELDS, record

from host.games import GAMES
from host.play.records import Fixture, Record


class Case(NamedTuple):
    """The fixtures of one tournament, with a plan and with its mirrored plan."""

    what: str
    game: str
    bots: tuple[str, ...]
    plans: tuple[str, str]
    fixtures: int
    tables: int


NAMES = {game: tuple(players) for game, players in FIELDS.items()}
CASES = [
    Case("tables of two, games won", "pazaak", NAMES["pazaak"][1:3], ("independent", "mirrored"), 1, 40),
    Case("tables of four, chips", "cardshark", NAMES["cardshark"][2:6], ("independent", "mirrored"), 1, 40),
    Case("tourneys of eight, chips", "cardshark", NAMES["cardshark"], ("tourney", "mirrored tourney"), 8, 5),
    Case("groups of five, chips", "holdem", NAMES["holdem"], ("independent", "mirrored"), 1, 5),
    Case("groups of five, games won", "holdem", NAMES["holdem"], ("independent", "mirrored"), 1, 5),
]


def lead(case: Case, records: list[Record]) -> float:
    """Return the lead of the second bot over the first, per table or tourney."""
    if "won" in case.what:
        sums = {bot: sum(each.results[bot].wins for each in records) for bot in case.bots}
        units = sum(each.results[case.bots[0]].tables for each in records)
    elif case.plans[0] == "tourney":
        sums = {bot: sum(each.results[bot].final for each in records) for bot in case.bots}
        units = len(records)
    else:
        sums = {bot: sum(max(0, each.results[bot].score) for each in records) for bot in case.bots}
        units = sum(each.results[case.bots[0]].tables for each in records)
    return (sums[case.bots[1]] - sums[case.bots[0]]) / units


def one_tournament(case: Case, plan: str, seed: bytes) -> float:
    """Play one tournament; return the lead."""
    rules = GAMES[case.game].default_rules
    blank = Fixture(case.game, rules, plan, "", case.bots, case.tables)
    paths = [(f"bench/x/{number}", number) for number in range(1, case.fixtures + 1)]
    return lead(
        case, [record(blank._replace(path=path, first=first), FIELDS[case.game], seed) for path, first in paths]
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=int, default=300)
    tournaments = parser.parse_args().tournaments
    print(f"{tournaments} tournaments with and without; the lead of one bot over another\n")
    print(f"{'':<42}{'without':>18}{'mirrored':>18}{'apart':>9}{'variance':>22}")
    for case in CASES:
        alone, shared = (
            [one_tournament(case, plan, bytes([n % 256, n // 256])) for n in range(tournaments)] for plan in case.plans
        )
        less = variance(alone) / variance(shared)
        wide = math.exp(1.96 * 2 / math.sqrt(tournaments - 1))  # of the ratio of two variances of nearly normal values
        errors = [math.sqrt(variance(values) / tournaments) for values in (alone, shared)]
        apart = (fmean(shared) - fmean(alone)) / math.hypot(*errors)
        means = [f"{fmean(each):.3f} ± {1.96 * error:.3f}" for each, error in zip((alone, shared), errors, strict=True)]
        factor = f"÷ {less:.2f} ({less / wide:.2f} … {less * wide:.2f})"
        print(f"{f'{case.game}: {case.what}':<42}{means[0]:>18}{means[1]:>18}{apart:>7.1f} σ{factor:>22}")


if __name__ == "__main__":
    main()
