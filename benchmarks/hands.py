"""Compare croupier's evaluation of seven cards with treys, eval7 and phevaluator on the same hands.

    python benchmarks/hands.py [--hands 50000] [--rounds 5]

Each library receives the cards in its own form, prepared before the measurement. `banksalad` is the ranking of 2018,
`standard` that of poker. Both cache the values of ranks; `cold` clears that cache before every round. Libraries that are
not installed are omitted (`pip install 'croupier[bench]'`).
"""

import argparse
import importlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from rounds import Contender, measured, shown

from host.games import hands

Names = Sequence[str]
"""A hand as the names of its cards: As, Kd …"""


def each(evaluate: Callable[[Any], Any], dealt: Sequence[Any]) -> Callable[[], int]:
    """Return a function that evaluates every hand."""

    def work() -> int:
        for hand in dealt:
            evaluate(hand)
        return len(dealt)

    return work


def ours(dealt: Sequence[Names]) -> list[Contender]:
    """Return croupier's rankings."""
    numbers = [[hands.CARDS[name] for name in hand] for hand in dealt]
    return [
        Contender("croupier banksalad", each(hands.banksalad, numbers)),
        Contender("croupier banksalad, cold", each(hands.banksalad, numbers), hands._unsuited.cache_clear),
        Contender("croupier standard", each(hands.standard, numbers)),
        Contender("croupier standard, cold", each(hands.standard, numbers), hands._poker.cache_clear),
    ]


def eval7(library: Any, dealt: Sequence[Names]) -> Contender:
    """Return eval7: written in C, with a list of its own cards."""
    return Contender("eval7", each(library.evaluate, [[library.Card(name) for name in hand] for hand in dealt]))


def treys(library: Any, dealt: Sequence[Names]) -> Contender:
    """Return treys: pure Python, with the own cards and the board as separate lists."""
    evaluate = library.Evaluator().evaluate
    split = [([*map(library.Card.new, hand[:2])], [*map(library.Card.new, hand[2:])]) for hand in dealt]
    return Contender("treys", each(lambda hand: evaluate(*hand), split))


def phevaluator(library: Any, dealt: Sequence[Names]) -> Contender:
    """Return phevaluator: written in C, with cards as numbers."""
    evaluate = library.evaluate_cards
    numbers = [[4 * hands.RANKS.index(name[0]) + "cdhs".index(name[1]) for name in hand] for hand in dealt]
    return Contender("phevaluator", each(lambda hand: evaluate(*hand), numbers))


LIBRARIES = (treys, eval7, phevaluator)


def main() -> None:
    """Deal, evaluate with every library, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hands", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    chance, deck = Random(2018), sorted(hands.CARDS)
    dealt = [chance.sample(deck, 7) for _ in range(asked.hands)]
    contenders, missing = ours(dealt), []
    for library in LIBRARIES:
        try:
            contenders.append(library(importlib.import_module(library.__name__), dealt))
        except ImportError:
            missing.append(library.__name__)
    print(f"{asked.hands} hands of seven cards, {asked.rounds} rounds; time for one hand")
    print(shown(measured(contenders, asked.rounds)))
    if missing:
        print(f"not installed: {', '.join(missing)}")


if __name__ == "__main__":
    main()
