"""dodger: plays the highest card that does not take the trick, and discards what costs most."""

import sys

RANKS = "23456789TJQKA"


def rank(card):
    return RANKS.index(card[0])


def danger(card):
    """How much a card threatens its holder: the queen of spades first, then what takes her, then high hearts."""
    if card == "Qs":
        return 100
    if card in ("Ks", "As"):
        return 60 + rank(card)
    return rank(card) + (20 if card[1] == "h" else 0)


def play(legal, trick):
    if not trick:
        return min(legal, key=lambda card: (danger(card), rank(card)))
    led = trick[0][1]
    if legal[0][1] != led:
        return max(legal, key=danger)
    best = max(rank(card) for card in trick if card[1] == led)
    below = [card for card in legal if rank(card) < best]
    if "Qs" in below:
        return "Qs"
    if below:
        return max(below, key=rank)
    safe = [card for card in legal if card != "Qs"] or legal
    return max(safe, key=rank) if len(trick) == 3 else min(safe, key=rank)


for line in sys.stdin:
    task, _direction, _number, hand, legal, trick, *_rest = line.split()
    if task == "PASS":
        print("PASS", *sorted(hand.split(","), key=danger)[-3:], flush=True)
    else:
        print("PLAY", play(legal.split(","), [] if trick == "-" else trick.split(",")), flush=True)
