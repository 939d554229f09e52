"""Play random tables of every game of OpenSpiel twice, and check that they are the same and can be verified.

    python benchmarks/openspiel.py [--tables 100] [GAME ...]

Prints for each game: its seats, questions a table, tables a second (the rules alone, no bots), the longest question in
bytes. A table passes if both times, and once more from its recorded answers, it has the same answers and scores, and all
of its lines are below 8 KiB. Exits with 1 if fewer than 90 games pass (or, with names, if one of them does not).
"""

import argparse
import random
import sys
import time
from statistics import mean
from typing import Any, NamedTuple

from host.games.engine import Game, Table
from host.games.luck import Luck
from host.play import openspiel
from protocols import PROTOCOLS
from protocols.wire import Move

ENOUGH = 90
MAX_LINE = 8192


class Played(NamedTuple):
    """One random table: its answers and scores, and its longest question in bytes."""

    answers: list[Any]
    scores: Any
    longest: int


def played(game: Game, nth: int) -> Played:
    """Play one table with random moves."""
    rules, chance, longest = game.presets[openspiel.GAME_PREFIX], random.Random(nth), 0
    table = Table(game, rules, Luck(b"benchmark", str(nth)))
    while table.request is not None:
        view = table.request.view
        longest = max(longest, len(PROTOCOLS["lines"].ask(view)[0]))
        table.answer(Move("PLAY", chance.choice(openspiel.numbers(view))))
    return Played(table.answers, table.scores, longest)


def is_same(game: Game, nth: int, first: Played) -> bool:
    """Play a table a second time, and once more from its answers. Return whether it is the same, with legal moves."""
    again = Table(game, game.presets[openspiel.GAME_PREFIX], Luck(b"benchmark", str(nth)), first.answers)
    return played(game, nth) == first and again.scores == first.scores and not again.illegal


def main() -> int:
    """Play and print. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("games", nargs="*", metavar="GAME")
    asked = parser.parse_args()
    names = asked.games or [each.name for each in openspiel.playable_games() if not each.obstacle]
    passed = 0
    print(f"{'':<30}{'seats':>6}{'questions':>11}{'tables/s':>10}{'longest line':>14}")
    for name in names:
        game = openspiel.game_named(name)
        started = time.perf_counter()
        tables = [played(game, nth) for nth in range(asked.tables)]
        speed = asked.tables / (time.perf_counter() - started)
        longest = max(table.longest for table in tables)
        good = longest < MAX_LINE and all(is_same(game, nth, table) for nth, table in enumerate(tables))
        passed += good
        questions = mean(len(table.answers) for table in tables)
        print(f"{name:<30}{game.seats[0]:>6}{questions:>11.0f}{speed:>10.1f}{longest:>14}{'' if good else '   FAILED'}")
    print(f"\n{passed} of {len(names)} games passed, {asked.tables} tables each")
    return int(passed < (len(names) if asked.games else ENOUGH))


if __name__ == "__main__":
    sys.exit(main())
