#!/usr/bin/env python3
"""Reach 20 with the side deck; otherwise compare the value of standing and of ending the turn, and choose the better.

The value of a hand (1 won, 0 tied, -1 lost) follows from the hands that it may become, until its end. Nestor assumes
that the opponent is sensible: it stands on 17, but never if that loses against a standing hand. Later side cards are
ignored, and every card is drawn as if from a full deck. So there are few enough hands to compute each of them once.
"""

import os
from functools import cache, lru_cache

GOAL = 20
SENSIBLE = 17
CARDS = range(1, 11)  # equally many of each


def outcome(mine: int, theirs: int) -> int:
    """Return 1 if we win with these totals, -1 if the opponent wins, and 0 for a tie."""
    mine, theirs = (total if total <= GOAL else 0 for total in (mine, theirs))
    return (mine > theirs) - (mine < theirs)


@cache
def judged(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return the value of a hand after both turns. `first` is whether we are player one."""
    over = mine > GOAL or theirs > GOAL or (we_stand and they_stand)
    if over or (we_stand and theirs > mine) or (they_stand and mine > theirs):
        return outcome(mine, theirs)
    if first:
        return our_turn(mine, theirs, we_stand, they_stand, first)
    return their_turn(mine, theirs, we_stand, they_stand, first)


def our_turn(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return the value of the hand before our next card."""
    if we_stand:
        return after_us(mine, theirs, True, they_stand, first)
    hands = (mine + card for card in CARDS)
    return sum(
        max(after_us(hand, theirs, stand, they_stand, first) for stand in (True, False)) for hand in hands
    ) / len(CARDS)


def their_turn(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return the value of the hand before the opponent's next card."""
    if they_stand:
        return after_them(mine, theirs, we_stand, True, first)
    hands = (theirs + card for card in CARDS)
    return sum(
        after_them(mine, hand, we_stand, hand >= SENSIBLE and not (we_stand and hand < mine), first) for hand in hands
    ) / len(CARDS)


@cache
def after_us(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return the value of the hand after our move."""
    go_on = their_turn if first else judged  # player two's turn ends the pair
    return go_on(mine, theirs, we_stand, they_stand, first)


@cache
def after_them(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return the value of the hand after the opponent's move."""
    go_on = judged if first else our_turn
    return go_on(mine, theirs, we_stand, they_stand, first)


def side_card(mine: int, theirs: int, side_deck: list[int], they_stand: bool) -> int:
    """Return the card that makes 20, or the lowest that beats a standing hand, or 0 if there is none."""
    if GOAL - mine in side_deck:
        return GOAL - mine
    winning = [card for card in side_deck if theirs < mine + card <= GOAL]
    return min(winning, default=0) if they_stand and mine <= theirs <= GOAL else 0


@lru_cache(maxsize=100_000)
def answer(line: bytes) -> bytes:
    """Return the answer to a question such as `0 0 1 8 - 1,2,4,5 4 - 0`."""
    _, _, player_one, my_hand, their_hand, my_side_deck, _, their_action, _ = line.decode().split(" ")
    mine, theirs = sum(numbers(my_hand)), sum(numbers(their_hand))
    they_stand, first = their_action == "STAND", player_one == "1"
    if card := side_card(mine, theirs, numbers(my_side_deck), they_stand):
        return b"PLAY %d\n" % card
    stand, end = (after_us(mine, theirs, stands, they_stand, first) for stands in (True, False))
    return b"STAND\n" if stand >= end else b"END\n"


def numbers(field: str) -> list[int]:
    """Return the list in a field; `-` is an empty list."""
    return [] if field == "-" else [int(number) for number in field.split(",")]


def main() -> None:
    """Answer questions in batches of lines. A batch is one read, and all its answers are one write."""
    rest = b""
    while heard := os.read(0, 1 << 16):
        *lines, rest = (rest + heard).split(b"\n")
        said = b"".join(map(answer, lines))
        while said:
            said = said[os.write(1, said) :]


if __name__ == "__main__":
    main()
