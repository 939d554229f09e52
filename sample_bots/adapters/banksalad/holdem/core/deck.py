"""A deck and the board, for bots that simulate deals. Every function returns a new deck."""

import random
from dataclasses import dataclass

from .cards import Card, Rank, Suit


@dataclass
class Deck:
    """The remaining cards, drawn from the end, and the cards on the board."""

    cards: list[Card]
    community_cards: list[Card]


def init() -> Deck:
    """Return all 52 cards, sorted, and an empty board."""
    return Deck([Card(rank, suit) for rank in Rank for suit in Suit], [])


def shuffle(d: Deck) -> Deck:
    """Return the deck in random order."""
    return Deck(random.sample(d.cards, len(d.cards)), d.community_cards)


def draw(d: Deck) -> tuple[Card, Deck]:
    """Return the last card and the deck without it."""
    return d.cards[-1], Deck(d.cards[:-1], d.community_cards)


def flop(d: Deck) -> Deck:
    """Return the deck with its last card on the board."""
    card, rest = draw(d)
    return Deck(rest.cards, [*d.community_cards, card])
