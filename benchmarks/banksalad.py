"""Measure `evaluate` of the adapter banksalad: one call, and the 139 000 calls that a bot of a blog of 2018 makes on the turn.

    python benchmarks/banksalad.py [--rounds 5] [--level L3]

The first table shows single calls in the Python that runs such bots. The second table shows a bot that makes as many
calls and as many cards, built and asked by the real host in its sandbox. It is in time if it takes less than one second.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import trio
from rounds import Measured, duration, shown

from host.bots.bot_spec import BotSpec, Submission
from host.bots.monitor import Monitor
from host.bots.seat import open_seat
from host.bots.values import Batch, Question
from host.games import GAMES
from host.games.holdem import view_of
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import require_level
from host.sandbox.launch import sandboxed
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.sandbox.limits import Limits
from host.submissions.adapters import adapted, add_kit
from host.submissions.build import build
from host.submissions.languages import need

LIMIT = 1.0  # seconds
HANDS = 20_000
TURN = view_of("193 4dAs 188:8:0,188:8:0 199:0:1 2c7hThKs 7 188 33")

CALLS = """
import json, sys, time
from random import Random
from holdem.core.cards import Card, Rank, Suit
from holdem.core.madehands import evaluate
deck = [Card(rank, suit) for rank in Rank for suit in Suit]
chance, dealt = Random(2018), []
for size in (7, 6, 5):
    hands = [chance.sample(deck, size) for _ in range(int(sys.argv[1]))]
    dealt.append([(hand[:2], hand[2:]) for hand in hands])
times = []
for hands in dealt:
    started = time.perf_counter()
    for own, board in hands:
        evaluate(player_cards=own, community_cards=board)
    times.append((time.perf_counter() - started) / len(hands))
print(json.dumps(times))
"""

TURN_PY = """
from itertools import combinations
from .core.cards import Card, Rank, Suit
from .core.madehands import evaluate

def bet(my_chips, my_cards, bet_players, betting_players, community_cards, min_bet_amt, max_bet_amt, total_bet_amt):
    calls = better = 0
    for one, other in combinations([Card(rank, suit) for rank in Rank for suit in Suit], 2):
        theirs = [one, other]
        evaluate(player_cards=theirs, community_cards=community_cards)
        for river in [Card(rank, suit) for rank in Rank for suit in Suit]:
            mine_then = evaluate(player_cards=my_cards, community_cards=community_cards + [river])
            better += mine_then > evaluate(player_cards=theirs, community_cards=community_cards + [river])
            calls += 2
        calls += 1
    return calls
"""


def calls(rounds: int) -> list[Measured]:
    """Return the time of one call with seven, six and five cards."""
    results = [Measured(f"evaluate, {cards} cards", []) for cards in (7, 6, 5)]
    with tempfile.TemporaryDirectory() as folder:
        add_kit(
            adapted(Submission(BotSpec(name="calls", language="python", adapter="banksalad"), Path(folder), ())),
            Path(folder),
        )
        for _ in range(rounds):
            command = [need("python3"), "-B", "-c", CALLS, str(HANDS)]
            told = subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout
            for result, seconds in zip(results, json.loads(told), strict=True):
                result.seconds.append(seconds)
    return results


async def turns(rounds: int, level: Level) -> tuple[int, Measured]:
    """Return the number of calls on the turn, and the time of an answer."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "turn.py").write_text(TURN_PY)
        bot = await build(
            Submission(
                BotSpec(name="turn", language="python", entry="turn.py", adapter="banksalad"),
                Path(folder),
                ("turn.py",),
            ),
            level,
        )
    bot = bot._replace(limits=Limits(move=60, cpu=60), argv=(*bot.argv[:-1], "60"))
    result, made, watcher = Measured("the bot's answer", []), 0, Monitor()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(watcher.run)
        async with (
            sandboxed(level, Home(Path(bot.folder), warm=bool(bot.warm)), bot.limits) as sandbox,
            open_seat(bot, GAMES["holdem"], sandbox, 1, watcher) as seat,
        ):
            for number in range(rounds + 1):
                before = seat.usage().wall
                (answer,) = await seat.ask(Batch([Question(1, number + 1, TURN)]))
                made = answer.n
                if number:  # the first one includes the start
                    result.seconds.append(seat.usage().wall - before)
        nursery.cancel_scope.cancel()
    return made, result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    asked = parser.parse_args()
    print(shown(calls(asked.rounds)), end="\n\n")
    made, answer = trio.run(turns, asked.rounds, require_level(asked.level))
    print(shown([answer]))
    share = answer.median / LIMIT
    print(f"{made} calls on the turn in {duration(answer.median)}: {share:.0%} of its {LIMIT:g} s")


if __name__ == "__main__":
    main()
