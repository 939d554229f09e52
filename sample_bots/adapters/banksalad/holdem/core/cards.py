"""Cards with the names of 2018: `Card(Rank.ace, Suit.spade)`, compared and hashed by value."""

from dataclasses import dataclass
from enum import IntEnum

from .hands import card


class Suit(IntEnum):
    """The suits in sorting order."""

    club, heart, diamond, spade = range(1, 5)


class Rank(IntEnum):
    """The ranks. Iterating over them yields thirteen."""

    one_ace, two, three, four, five, six, seven, eight, nine, ten, jack, queen, king, ace = range(1, 15)


# Some versions of 2018 had a rank for the ace below the two. Bots may refer to it by name; it is never dealt.
Rank._member_names_.remove("one_ace")

NUMBERS = {(rank, suit): card(rank, suit) for rank in (Rank.one_ace, *Rank) for suit in Suit}


@dataclass(frozen=True, repr=False, init=False)
class Card:
    """One card."""

    rank: Rank
    suit: Suit

    def __init__(self, rank: Rank, suit: Suit) -> None:  # takes half the time of a frozen dataclass's __init__
        mine = self.__dict__
        mine["rank"], mine["suit"] = rank, suit
        mine["number"] = NUMBERS.get((rank, suit))  # `evaluate` adds these numbers

    def __repr__(self) -> str:
        return f"{self.rank.name} of {self.suit.name}s"
