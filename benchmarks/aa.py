"""Measure how often the standings of small tournaments wrongly call two equally good bots different.

    python benchmarks/aa.py [--tournaments 1000]

In every tournament, one player takes part under two names and makes random choices, so that the two are equally good but
never play alike. They count as different if the standings call their order certain. That should happen in at most 5 % of
the tournaments. The players are simple functions in this process; plans, rules, records, standings and statistics are
croupier's own.
"""

import argparse
from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from simple import FIELDS, Player, record

from host.games import GAMES
from host.journal.state import RecordedBot, RunState, StageState
from host.play.records import Fixture, Record
from host.rating.statistics import MIN_CERTAINTY, wilson
from host.results.standings import stage_standings
from host.stages import CROUPIERS
from host.stages.kind import Field, StageConfig

TWINS = ("one", "other")


class Case(NamedTuple):
    """A kind of small tournament: its stage, as in croupier.toml, and the number of other players."""

    what: str
    game: str
    others: int
    kind: str
    stage: Mapping[str, Any]


LEAGUE = {"tables_per_pair": 20}
TABLES = {"tourneys": 12, "rounds": 3}
GROUPS = {"advance": 2, "repeat": 10, "until": 2}
CASES = [
    Case("pazaak: a league of two", "pazaak", 0, "round-robin", LEAGUE | {"tables_per_pair": 60}),
    Case("pazaak: a league of four", "pazaak", 2, "round-robin", LEAGUE),
    Case("pazaak: a league of four, mirrored", "pazaak", 2, "round-robin", LEAGUE | {"mirror": True}),
    Case("cardshark: tourneys of six", "cardshark", 4, "mixed-tables", TABLES),
    Case("cardshark: tourneys of six, mirrored", "cardshark", 4, "mixed-tables", TABLES | {"mirror": True}),
    Case("holdem: a group of five, ten games", "holdem", 3, "groups", GROUPS),
    Case("holdem: a group of five, mirrored", "holdem", 3, "groups", GROUPS | {"mirror": True}),
]


def wavering(player: Player, luck: Random, other: Player) -> Player:
    """Return a player that plays sometimes like one player, sometimes like another."""
    return lambda view: (player if luck.random() < 0.5 else other)(view)


def called_different(case: Case, number: int) -> bool:
    """Play one tournament; return whether its standings call the order of the twins certain."""
    players = list(FIELDS[case.game].values())
    luck = Random(number)
    field = {name: wavering(players[0], luck, players[1]) for name in TWINS}
    field |= {f"b{nth}": players[nth] for nth in range(1, case.others + 1)}
    kind = CROUPIERS.kind(case.kind)
    stage: StageConfig = kind.config(name="s", **case.stage)
    rules = GAMES[case.game].default_rules
    rules = rules._replace(rounds=12) if case.game == "holdem" else rules
    seed, records = number.to_bytes(4), dict[str, Record]()
    blank = Fixture(case.game, rules, "", "", (), 0)
    names = sorted(field, key=lambda _name: luck.random())
    while due := kind.due(stage, blank, Field(names, seed), records):
        records |= {fixture.path: record(fixture, field, seed) for fixture in due}
    # only the two, even if others are ranked between them
    return not stage_standings(
        RunState(),
        StageState(stage),
        list(records.values()),
        {name: RecordedBot(name) for name in names if name in TWINS},
    ).advice


def main() -> None:
    """Count false differences and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tournaments", type=int, default=1000)
    tournaments = parser.parse_args().tournaments
    print(f"{tournaments} tournaments of each kind; an order is called one from {100 * MIN_CERTAINTY:.1f} % on\n")
    for case in CASES:
        times = sum(called_different(case, number) for number in range(tournaments))
        low, high = wilson(times, tournaments)
        print(
            f"{case.what:<40}{times:>6} tournaments  {100 * times / tournaments:5.2f} %   ({100 * low:.1f} … {100 * high:.1f} %)"
        )


if __name__ == "__main__":
    main()
