#!/usr/bin/env python3
"""Reach 20 with the side deck; else weigh what standing gains against what ending the turn gains, and do the better.

What a hand is worth (1 won, 0 tied, -1 lost) follows from the hands it may become, all the way to its end. Nestor
supposes that the opponent is sensible: it stands on 17, but never behind a hand that has been laid down. Side cards
that might still be played are left out of the sum, and every card is drawn as if from a full deck: that makes so few
different hands that each is worked out once.
"""

import os
from functools import cache, lru_cache

GOAL = 20
SENSIBLE = 17
CARDS = range(1, 11)  # as many of each


def outcome(mine: int, theirs: int) -> int:
    """Return who wins with these totals: 1 for us, -1 for them, 0 for nobody."""
    mine, theirs = (total if total <= GOAL else 0 for total in (mine, theirs))
    return (mine > theirs) - (mine < theirs)


@cache
def judged(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return what a hand is worth when both have had their turns; `first` says whether we are player one."""
    over = mine > GOAL or theirs > GOAL or (we_stand and they_stand)
    if over or (we_stand and theirs > mine) or (they_stand and mine > theirs):
        return outcome(mine, theirs)
    if first:
        return our_turn(mine, theirs, we_stand, they_stand, first)
    return their_turn(mine, theirs, we_stand, they_stand, first)


def our_turn(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return what it is worth that the next card is ours."""
    if we_stand:
        return after_us(mine, theirs, True, they_stand, first)
    hands = (mine + card for card in CARDS)
    return sum(
        max(after_us(hand, theirs, stand, they_stand, first) for stand in (True, False)) for hand in hands
    ) / len(CARDS)


def their_turn(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return what it is worth that the next card is theirs."""
    if they_stand:
        return after_them(mine, theirs, we_stand, True, first)
    hands = (theirs + card for card in CARDS)
    return sum(
        after_them(mine, hand, we_stand, hand >= SENSIBLE and not (we_stand and hand < mine), first) for hand in hands
    ) / len(CARDS)


@cache
def after_us(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return what our move has made of the hand."""
    go_on = their_turn if first else judged  # player two's turn ends the pair
    return go_on(mine, theirs, we_stand, they_stand, first)


@cache
def after_them(mine: int, theirs: int, we_stand: bool, they_stand: bool, first: bool) -> float:
    """Return what their move has made of the hand."""
    go_on = judged if first else our_turn
    return go_on(mine, theirs, we_stand, they_stand, first)


def side_card(mine: int, theirs: int, side_deck: list[int], they_stand: bool) -> int:
    """Return the card that makes 20, or the lowest that beats a hand laid down; 0 when there is none."""
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
    """Return a field's list; an empty one is `-`."""
    return [] if field == "-" else [int(number) for number in field.split(",")]


def main() -> None:
    """Answer waves of questions, up to `parallel_tables` lines at once: a wave is one read, its answers are one write."""
    rest = b""
    while heard := os.read(0, 1 << 16):
        *lines, rest = (rest + heard).split(b"\n")
        said = b"".join(map(answer, lines))
        while said:
            said = said[os.write(1, said) :]


if __name__ == "__main__":
    main()
