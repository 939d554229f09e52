"""furbo: deals the unseen cards a dozen times, plays on as goloso would, and chooses the card that does best.

With a partner it plays each deal to its end. For two it plays one trick, and counts what the card is worth later;
the last three tricks it searches to the end, because it knows all cards.
"""

import sys
from random import Random

RANKS, SUITS = "24567JQK3A", "cdsh"
RANK = {rank + suit: nth for nth, rank in enumerate(RANKS) for suit in SUITS}
POINTS = {card: {"A": 11, "3": 10, "K": 4, "Q": 3, "J": 2}.get(card[0], 0) for card in RANK}
DEALS = 12
KEEP_TRUMP = (3.5, 3.7, 3.9, 4.1, 4.3, 6, 6.5, 7, 12, 14)  # what a trump is worth later, by its rank
KEEP_OTHER = 0.3  # what another card is worth later, for each of its points


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


def searched(hands, turn, trick, trump):
    """The points that seat 0 still takes, less those of seat 1, if both play the last tricks perfectly."""
    if len(trick) == 2:
        taker = (turn + trick.index(best_of(trick, trump))) % 2
        points = sum(map(POINTS.get, trick))
        return (-points if taker else points) + searched(hands, taker, [], trump)
    if not hands[turn]:
        return 0
    leads = []
    for card in hands[turn]:
        after = [[each for each in hand if each != card] for hand in hands]
        leads.append(searched(after, 1 - turn, [*trick, card], trump))
    return min(leads) if turn else max(leads)


def one_trick(hands, own, trick, trump):
    """Play a trick of two. Return its points, below zero if the other player takes it, less what the own card is worth."""
    lying = [*trick, own] if trick else [own, greedy(hands[1], [own], trump, 2)]
    points = sum(map(POINTS.get, lying))
    later = KEEP_TRUMP[RANK[own]] if own[1] == trump else KEEP_OTHER * POINTS[own]
    return (points if best_of(lying, trump) == own else -points) - later


def play(players, trump, stock, hand, trick, played, partner):
    if len(hand) == 1:
        return hand[0]
    seen = {*hand, *trick, *played, *partner}
    unseen = [card for card in RANK if card not in seen and not (stock and card == trump)]
    if players == 2 and not stock:
        after = {card: [[each for each in hand if each != card], unseen] for card in hand}
        return max(hand, key=lambda card: searched(after[card], 1, [*trick, card], trump[1]))
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
            if players == 2:
                gains[card] += one_trick(hands, card, trick, trump[1])
                continue
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
