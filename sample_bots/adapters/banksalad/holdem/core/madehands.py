"""The value of a hand, as showdowns rank it."""

from enum import IntEnum

from .cards import NUMBERS, Card, Rank
from .hands import banksalad


class MadeHands(IntEnum):
    """The categories, from weakest to strongest."""

    high_card, pair, two_pairs, three_of_kind, straight, flush = range(1, 7)
    full_house, four_of_a_kind, straight_flush, royal_flush = range(7, 11)


WORTHS = {(made, rank): (made, rank) for made in MadeHands for rank in (Rank.one_ace, *Rank)}


def evaluate(player_cards: list[Card], community_cards: list[Card]) -> tuple[MadeHands, Rank]:
    """Return (category, rank) of any number of own and shared cards. Raise IndexError if there are none."""
    cards = [*player_cards, *community_cards]
    try:
        numbers = [card.number for card in cards]
    except AttributeError:  # the bot uses its own class of cards
        numbers = [NUMBERS[card.rank, card.suit] for card in cards]
    return WORTHS[banksalad(numbers)]
