"""Play random tables of every game of OpenSpiel twice, and check that they are the same and can be verified.

    python benchmarks/openspiel.py [--tables 100] [GAME ...]

Prints for each game: its seats, questions a table, tables a second (the rules alone, no bots), the same as a share of two
loops over pyspiel with random moves, the longest question in bytes. "of bare" is the share of a loop that only moves. "of
texts" is the share of a loop that also asks OpenSpiel for what a question contains: the text of the seat and the names of
its legal moves. A table passes if both times, and once more from its recorded answers, it has the same answers and
scores, and all of its lines are below 8 KiB. Exits with 1 if fewer than 90 games pass (or, with names, if one of them does
not).
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any, NamedTuple

from host.games.engine import Game, Table
from host.games.luck import Luck
from host.rules import openspiel
from protocols import PROTOCOLS
from protocols.wire import Move, View

ENOUGH = 90
MAX_LINE = 8192


class Played(NamedTuple):
    """One random table: its answers and scores, and its longest question in bytes."""

    answers: list[Any]
    scores: Any
    longest: int


def played(game: Game, nth: int, size: Callable[[View], int] = lambda view: 0) -> Played:
    """Play one table with random moves. `size` returns the bytes of a question."""
    rules, chance, longest = game.presets[openspiel.GAME_PREFIX], random.Random(nth), 0
    table = Table(game, rules, Luck(b"benchmark", str(nth)))
    while table.request is not None:
        view = table.request.view
        longest = max(longest, size(view))
        table.answer(Move("PLAY", chance.choice(openspiel.numbers(view))))
    return Played(table.answers, table.scores, longest)


def line_bytes(view: View) -> int:
    """Return the bytes of a question on one line."""
    return len(PROTOCOLS["lines"].encode(view))


def loop(game: Game, nth: int, *, texts: bool) -> None:
    """Play one table with random moves in pyspiel alone. With `texts`, ask it for everything that a question contains."""
    name, chance = game.presets[openspiel.GAME_PREFIX].game, random.Random(nth)
    spiel, needed = openspiel._loaded(name), openspiel._texts_of(name)
    state = spiel.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            moves, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(chance.choices(moves, weights)[0])
            continue
        seat, legal = state.current_player(), state.legal_actions()
        if texts:
            openspiel._text(needed, state, seat)
            for move in legal:
                state.action_to_string(seat, move)
        state.apply_action(chance.choice(legal))


def seconds(work: Callable[[int], object], tables: int) -> float:
    """Return the processor time of some tables."""
    began = time.process_time()
    for nth in range(tables):
        work(nth)
    return time.process_time() - began


def is_same(game: Game, nth: int, first: Played) -> bool:
    """Play a table a second time, and once more from its answers. Return whether it is the same, with legal moves."""
    again = Table(game, game.presets[openspiel.GAME_PREFIX], Luck(b"benchmark", str(nth)), first.answers)
    return played(game, nth, line_bytes) == first and again.scores == first.scores and not again.illegal


def main() -> int:
    """Play and print. Return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("games", nargs="*", metavar="GAME")
    asked = parser.parse_args()
    names = asked.games or [each.name for each in openspiel.playable_games() if not each.obstacle]
    passed = 0
    print(f"{'':<30}{'seats':>6}{'questions':>11}{'tables/s':>10}{'of bare':>9}{'of texts':>10}{'longest line':>14}")
    for name in names:
        game = openspiel.game_named(name)
        tables = [played(game, nth, line_bytes) for nth in range(asked.tables)]
        took = seconds(partial(played, game), asked.tables)
        shares = [seconds(partial(loop, game, texts=texts), asked.tables) / took for texts in (False, True)]
        speed = asked.tables / took
        longest = max(table.longest for table in tables)
        good = longest < MAX_LINE and all(is_same(game, nth, table) for nth, table in enumerate(tables))
        passed += good
        questions = mean(len(table.answers) for table in tables)
        ratios = "".join(f"{share:>{width}.2f}" for share, width in zip(shares, (9, 10), strict=True))
        line = f"{name:<30}{game.seats[0]:>6}{questions:>11.0f}{speed:>10.1f}{ratios}{longest:>14}"
        print(line + ("" if good else "   FAILED"))
    print(f"\n{passed} of {len(names)} games passed, {asked.tables} tables each")
    return int(passed < (len(names) if asked.games else ENOUGH))


if __name__ == "__main__":
    sys.exit(main())
