"""What a bot's cards are worth, as showdowns rank them."""

from enum import IntEnum

from .cards import NUMBERS, Card, Rank
from .hands import banksalad


class MadeHands(IntEnum):
    """The categories, the weakest first."""

    high_card, pair, two_pairs, three_of_kind, straight, flush = range(1, 7)
    full_house, four_of_a_kind, straight_flush, royal_flush = range(7, 11)


WORTHS = {(made, rank): (made, rank) for made in MadeHands for rank in (Rank.one_ace, *Rank)}


def evaluate(player_cards: list[Card], community_cards: list[Card]) -> tuple[MadeHands, Rank]:
    """Return (category, rank) of any number of cards, own and shared; raise IndexError when there are none at all."""
    cards = [*player_cards, *community_cards]
    try:
        numbers = [card.number for card in cards]
    except AttributeError:  # a bot's own kind of card
        numbers = [NUMBERS[card.rank, card.suit] for card in cards]
    return WORTHS[banksalad(numbers)]
