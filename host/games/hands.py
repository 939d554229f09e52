"""What two to seven cards are worth in hold'em: as the 2018 engine ranked them, or as poker does.

A hand's worth is a pair (category, rank); the greater pair wins, equal pairs share the pot. `banksalad` is the ranking
of 2018 with all that surprises in it (HE-EVAL: no kickers, a flush counts by its five lowest cards, a pair inside a
straight breaks it, two triples are no full house); its rank is that of one card, 2 to 14. `standard` is ordinary poker;
its rank spells the ranks that decide as hexadecimal digits, the weightiest first: aces with K, Q, J are (2, 0xEDCB).

A card is one number with a one in the counter of its suit and a one in the counter of its rank. So the sum of a hand
counts all its suits and ranks at once, cards sort by rank and then suit, and the rest is a few masks: 0.4 µs for seven
cards where `by_the_book` takes 7. Standard library only: the adapter of the original bots runs this file too.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

HIGH_CARD, PAIR, TWO_PAIRS, THREE, STRAIGHT, FLUSH, FULL_HOUSE, FOUR, STRAIGHT_FLUSH, ROYAL_FLUSH = range(1, 11)
RANKS, SUITS = "23456789TJQKA", "chds"
ACE = 14
MAX_COUNTED_CARDS = 7  # cards that the counters below can count, duplicates too

Worth = tuple[int, int]

# The lowest 16 bits of a card count suits, four bits each: a count of five or more plus three reaches the fourth bit.
# Above them three bits a rank, the lowest of the ranks being the ace as a one, which no card has.
PLUS_THREE, FIVE_SUITED = 0x3333, 0x8888
LOW_ACE = 1 << 16
BY_RANK = -LOW_ACE  # masks the suits away
ONES = sum(LOW_ACE << 3 * rank for rank in range(ACE))  # the units of every rank
HIGH_ACE = LOW_ACE << 3 * (ACE - 1)


def card(rank: int, suit: int) -> int:
    """Return the number of a card: rank 2 to 14 (ace), suit 1 to 4 (club, heart, diamond, spade)."""
    return LOW_ACE << 3 * (rank - 1) | 1 << 4 * (suit - 1)


CARDS = {rank + suit: card(r, s) for s, suit in enumerate(SUITS, 1) for r, rank in enumerate(RANKS, 2)}
"""The number of a card by its name: `CARDS["Kd"]`."""


def rank_of(counts: int) -> int:
    """Return the rank of a card, or the highest rank that a sum of cards or a mask of ranks has."""
    return (counts.bit_length() - 14) // 3


def banksalad(cards: Sequence[int]) -> Worth:
    """Return what cards are worth by the 2018 engine; raise IndexError, as it did, when there are none."""
    if len(cards) > MAX_COUNTED_CARDS:
        return by_the_book(cards)
    counts = sum(cards)
    flush = counts + PLUS_THREE & FIVE_SUITED
    worth = _unsuited(counts & BY_RANK)
    if not flush:
        return worth
    if run := _run(counts):
        line = sorted(cards)
        lowest = bisect_left(line, run << 3) - 1  # -1 is the ace below the two: the last card once more
        window = line[lowest : lowest + 5] if lowest >= 0 else line[-1:] + line[:4]
        if sum(window) + PLUS_THREE & FIVE_SUITED:
            top = rank_of(run) + 4
            return (ROYAL_FLUSH if top == ACE else STRAIGHT_FLUSH), top
    if worth[0] > FLUSH:
        return worth
    suit = flush - (flush >> 3)  # the three lower bits of its counter
    return FLUSH, rank_of(sorted([c for c in cards if c & suit])[4])


def _run(counts: int) -> int:
    """Return where the topmost five neighbours in rank begin, as a bit; 0 when there are none.

    All cards stand in a row, so only the outer two of the five ranks may be there twice.
    """
    some = (counts | counts >> 1 | counts >> 2) & ONES
    single = counts & ~(counts >> 1 | counts >> 2) & ONES
    if some & HIGH_ACE:
        some |= LOW_ACE
    runs = some & single >> 3 & single >> 6 & single >> 9 & some >> 12
    return runs and 1 << runs.bit_length() - 1


@cache  # at most one entry for each way to have up to seven ranks
def _unsuited(counts: int) -> Worth:
    """Return what the ranks alone are worth."""
    halves, quarters = counts >> 1, counts >> 2
    if fours := quarters & ~(counts | halves) & ONES:
        return FOUR, rank_of(fours)
    pairs = halves & ~(counts | quarters) & ONES
    threes = counts & halves & ~quarters & ONES
    if threes and pairs:
        return FULL_HOUSE, rank_of(threes)
    if run := _run(counts):
        return STRAIGHT, rank_of(run) + 4
    if threes:
        return THREE, rank_of(threes)
    if pairs:
        return (TWO_PAIRS if pairs & pairs - 1 else PAIR), rank_of(pairs)
    if not counts:
        raise IndexError("no cards are worth nothing")
    return HIGH_CARD, rank_of(counts)


def by_the_book(cards: Sequence[int]) -> Worth:
    """Return what `banksalad` does, of any number of cards and step by step as the rule sheet has it."""
    hand = sorted((rank_of(c), c & ~BY_RANK) for c in cards)
    line = [(1, hand[-1][1]), *hand] if hand[-1][0] == ACE else hand
    windows = (line[top - 4 : top + 1] for top in range(len(line) - 1, max(3, len(line) - 5), -1))
    run = next((w for w in windows if all(high - low == 1 for (low, _), (high, _) in pairwise(w))), [])
    if run and len({suit for _, suit in run}) == 1:
        return (ROYAL_FLUSH if run[-1][0] == ACE else STRAIGHT_FLUSH), run[-1][0]
    amounts = Counter(rank for rank, _ in hand)
    pairs, threes, fours = ([rank for rank in amounts if amounts[rank] == n] for n in (2, 3, 4))
    if fours:
        return FOUR, fours[-1]
    if threes and pairs:
        return FULL_HOUSE, threes[-1]
    for suit in sorted({suit for _, suit in hand}):
        if len(suited := [rank for rank, its in hand if its == suit]) >= 5:
            return FLUSH, suited[4]
    if run:
        return STRAIGHT, run[-1][0]
    if threes:
        return THREE, threes[-1]
    if pairs:
        return (TWO_PAIRS if len(pairs) > 1 else PAIR), pairs[-1]
    return HIGH_CARD, hand[-1][0]


def standard(cards: Sequence[int]) -> Worth:
    """Return what up to seven different cards are worth in poker, kickers counted."""
    counts = sum(cards)
    flush = counts + PLUS_THREE & FIVE_SUITED
    worth = _poker(counts & BY_RANK)
    if not flush:
        return worth
    suit = flush - (flush >> 3)
    suited = sum([c for c in cards if c & suit]) & BY_RANK
    category, rank = _poker(suited)  # five to seven single cards: a straight or nothing
    if category == STRAIGHT:
        return (ROYAL_FLUSH if rank == ACE else STRAIGHT_FLUSH), rank
    return max(worth, (FLUSH, rank))


@cache
def _poker(counts: int) -> Worth:
    """Return what the ranks alone are worth in poker."""
    some = (counts | counts >> 1 | counts >> 2) & ONES
    low = some | LOW_ACE if some & HIGH_ACE else some
    straights = low & low >> 3 & low >> 6 & low >> 9 & low >> 12
    ranks = [(counts >> 3 * rank + 13 & 7, rank) for rank in range(ACE, 1, -1)]
    ranks = sorted([amount for amount in ranks if amount[0]], reverse=True)
    most = ranks[0][0]
    second = ranks[1][0] if len(ranks) > 1 else 0
    if most >= 4:
        return FOUR, _digits(ranks, 1, 1)
    if most == 3 and second >= 2:
        return FULL_HOUSE, _digits(ranks, 2, 0)
    if straights:
        return STRAIGHT, rank_of(straights) + 4
    if most == 3:
        return THREE, _digits(ranks, 1, 2)
    if most == 2:
        return (TWO_PAIRS, _digits(ranks, 2, 1)) if second == 2 else (PAIR, _digits(ranks, 1, 3))
    return HIGH_CARD, _digits(ranks, 0, 5)


def _digits(ranks: list[tuple[int, int]], made: int, kickers: int) -> int:
    """Return a number whose hexadecimal digits are the ranks that decide.

    The first `made` ranks come first, then the `kickers` highest of the others.
    """
    decide = [rank for _, rank in ranks[:made]] + sorted([rank for _, rank in ranks[made:]], reverse=True)[:kickers]
    return int("".join(map("{:X}".format, decide)), 16)
