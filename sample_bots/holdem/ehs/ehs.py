"""Effective hand strength: how often its hand is ahead now, and how often the next card would change that.

The idea is by Denis Papp and others ("Opponent Modeling in Poker", 1998). Enumerating all next cards takes Python
seconds, so on flop and turn the bot samples hands of the opponent. Before the flop it simulates a few hundred deals.
Its random numbers depend only on the question.
"""

import random
import sys
from functools import cache
from itertools import combinations

SAMPLED_HANDS = 60  # sampled hands of an opponent
DEALS = 400  # before the flop
SHARE = {0: 0.1, 3: 0.25, 4: 0.35, 5: 0.5}  # share of the Kelly bet, by the number of cards on the board
MARGIN = 1.15  # the expected gain of a call, divided by its cost, must be at least this

# A card adds one to its suit (four bits each) and to its rank (three bits each; the lowest rank is the ace as a one).
LOW_ACE = 1 << 16
ONES = sum(LOW_ACE << 3 * rank for rank in range(14))
DECK = {
    rank + suit: LOW_ACE << 3 * (r - 1) | 1 << 4 * s
    for r, rank in enumerate("23456789TJQKA", 2)
    for s, suit in enumerate("chds")
}


def rank_of(mask):
    return (mask.bit_length() - 14) // 3


def run_of(counts):
    """Return where the highest five neighbours begin. A pair inside them breaks the run, as in 2018."""
    twice = counts >> 1 | counts >> 2
    some, single = (counts | twice) & ONES, counts & ~twice & ONES
    if some >> 3 * 13 & LOW_ACE:
        some |= LOW_ACE
    runs = some & single >> 3 & single >> 6 & single >> 9 & some >> 12
    return runs and 1 << runs.bit_length() - 1


@cache
def by_ranks(counts):
    """Return category and rank as one number, without flushes."""
    halves, quarters = counts >> 1, counts >> 2
    if fours := quarters & ONES:
        return 8 << 4 | rank_of(fours)
    threes, pairs = counts & halves & ONES, halves & ~counts & ONES
    if threes and pairs:
        return 7 << 4 | rank_of(threes)
    if run := run_of(counts):
        return 5 << 4 | rank_of(run) + 4
    if threes:
        return 4 << 4 | rank_of(threes)
    if pairs:
        return (3 if pairs & pairs - 1 else 2) << 4 | rank_of(pairs)
    return 1 << 4 | rank_of(counts)


def worth(hand):
    """Return category and rank of a list of cards as one number."""
    counts = sum(hand)
    best = by_ranks(counts & -LOW_ACE)
    flush = counts + 0x3333 & 0x8888
    if not flush:
        return best
    suit = flush - (flush >> 3)
    suited = sorted([card for card in hand if card & suit])
    if run := run_of(counts):
        line = sorted(hand)
        at = next((n for n, card in enumerate(line) if card >= run << 3), 0) - 1
        window = line[at : at + 5] if at >= 0 else [line[-1], *line[:4]]
        if all(card & suit for card in window):
            top = rank_of(run) + 4
            return (10 if top == 14 else 9) << 4 | top
    return max(best, 6 << 4 | rank_of(suited[4]))  # the five lowest cards of the suit count


def before_the_flop(mine, unseen, opponents, chance):
    """Return how often two cards win against a number of opponents; a draw counts as a share."""
    won = 0.0
    for _ in range(DEALS):
        cards = chance.sample(unseen, 5 + 2 * opponents)
        board = cards[:5]
        ours = worth(mine + board)
        theirs = [worth(cards[n : n + 2] + board) for n in range(5, len(cards), 2)]
        best = max(theirs)
        if ours >= best:
            won += 1 / (1 + theirs.count(ours)) if ours == best else 1
    return won / DEALS


def effective_strength(mine, board, unseen, chance):
    """Return the strength against one opponent, including the effect of the next card."""
    ours = worth(mine + board)
    hands = list(combinations(unseen, 2))
    values = [worth([*hand, *board]) for hand in hands]
    ahead, tied = sum(value < ours for value in values), values.count(ours)
    strength = (ahead + tied / 2) / len(hands)
    if len(board) == 5:
        return strength
    ours_next = {card: worth([*mine, *board, card]) for card in unseen}
    was_behind = gained = was_ahead = lost = 0.0001
    for n in chance.sample(range(len(hands)), SAMPLED_HANDS):
        for card in unseen:
            if card in hands[n]:
                continue
            theirs_next = worth([*hands[n], *board, card])
            if values[n] >= ours:
                was_behind += 1
                gained += ours_next[card] > theirs_next
            else:
                was_ahead += 1
                lost += ours_next[card] < theirs_next
    return strength * (1 - lost / was_ahead) + (1 - strength) * gained / was_behind


def answer(question):
    chips, my_cards, acted, to_come, community_cards, low, high, total = question.split()
    mine = [DECK[my_cards[:2]], DECK[my_cards[2:]]]
    names = community_cards.strip("-")
    board = [DECK[names[at : at + 2]] for at in range(0, len(names), 2)]
    others = [other.split(":") for field in (acted, to_come) if field != "-" for other in field.split(",")]
    opponents = sum(died == "0" for _, _, died in others)
    chips, low, high, total = int(chips), int(low), int(high), int(total)
    if not opponents:
        return low
    level = max(int(bet) for _, bet, _ in others)
    unseen = [card for card in DECK.values() if card not in mine and card not in board]
    chance = random.Random(question)
    if board:
        win = effective_strength(mine, board, unseen, chance) ** opponents
    else:
        win = before_the_flop(mine, unseen, opponents, chance)
    win = win ** (1 + level / (level + 40))  # a player who bets a lot probably has a good hand
    edge = (win * (opponents + 1) - 1) / opponents  # the Kelly share if all others call
    bet = int(SHARE[len(board)] * edge * chips)
    if bet > low and level < 2:  # at most one raise per street
        return min(bet, high)
    return low if win * (total + low) >= MARGIN * low or (low == 1 and edge > 0) else 0


for question in sys.stdin:
    print(answer(question))
