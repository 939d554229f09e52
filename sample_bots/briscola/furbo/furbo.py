"""furbo: deals the unseen cards many times, plays each deal to its end, and chooses the card that does best."""

import sys
from random import Random

RANKS, SUITS = "24567JQK3A", "cdsh"
RANK = {rank + suit: nth for nth, rank in enumerate(RANKS) for suit in SUITS}
POINTS = {card: {"A": 11, "3": 10, "K": 4, "Q": 3, "J": 2}.get(card[0], 0) for card in RANK}
DEALS = 12


def takes(card, best, trump):
    """Whether a card takes the trick from the card that was the best one until now."""
    return RANK[card] > RANK[best] if card[1] == best[1] else card[1] == trump


def greedy(hand, trick, trump, players):
    """What any player might play: takes a trick that is worth it, and gives its partner's trick points."""
    if len(hand) == 1:
        return hand[0]
    cheapest = min(hand, key=lambda card: POINTS[card] + 3 * (card[1] == trump))
    if not trick:
        return cheapest
    best = best_of(trick, trump)
    if players == 4 and len(trick) == 3 and best == trick[1]:
        return max((card for card in hand if card[1] != trump), key=POINTS.get, default=cheapest)
    taking = [card for card in hand if takes(card, best, trump)]
    if not taking:
        return cheapest
    worth = sum(POINTS[card] for card in trick)
    suit = max((card for card in taking if card[1] != trump), key=POINTS.get, default="")
    if suit and worth + POINTS[suit]:
        return suit
    return min(taking, key=RANK.get) if worth >= 10 else cheapest


def best_of(trick, trump):
    """The card that takes a trick."""
    best = trick[0]
    for card in trick[1:]:
        if takes(card, best, trump):
            best = card
    return best


def played_out(hands, stock, turn, trick, trump):
    """Play a deal to its end. Return the points of seats 0 and 2 from now on, less those of the others."""
    players, lead = len(hands), 0
    while True:
        while len(trick) < players:
            card = greedy(hands[turn], trick, trump, players)
            hands[turn].remove(card)
            trick.append(card)
            turn = (turn + 1) % players
        turn = (turn + trick.index(best_of(trick, trump))) % players
        points = sum(map(POINTS.get, trick))
        lead += points if turn % 2 == 0 else -points
        trick = []
        for seat in range(turn, turn + players) if stock else ():
            hands[seat % players].append(stock.pop())
        if not hands[turn]:
            return lead


def play(players, trump, stock, hand, trick, played, partner):
    if len(hand) == 1:
        return hand[0]
    seen = {*hand, *trick, *played, *partner}
    unseen = [card for card in RANK if card not in seen and not (stock and card == trump)]
    random, gains = Random(len(played)), dict.fromkeys(hand, 0)
    for _ in range(DEALS):
        random.shuffle(unseen)
        left, hands = unseen[:], [hand]
        for seat in range(1, players):  # a player that has played to this trick has a card less
            held = len(hand) - (seat >= players - len(trick))
            shown = partner if seat == 2 else []
            hands.append(shown or left[:held])
            del left[: 0 if shown else held]
        for card in hand:
            mine = [each for each in hand if each != card]
            below = [trump, *left] if stock else []
            gains[card] += played_out([mine, *map(list, hands[1:])], below, 1, [*trick, card], trump[1])
    return max(hand, key=gains.get)


def cards(field):
    return [] if field == "-" else field.split(",")


if __name__ == "__main__":
    for line in sys.stdin:
        players, trump, stock, hand, trick, played, _ours, _theirs, partner = line.split()
        print("PLAY", play(int(players), trump, int(stock), *map(cards, (hand, trick, played, partner))), flush=True)
