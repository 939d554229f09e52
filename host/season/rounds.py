"""Decides what a round of a season plays: a pure function of the versions and of the sums of all earlier rounds."""

from collections.abc import Mapping
from typing import NamedTuple


class Player(NamedTuple):
    """A version that may play a round. `since` is the number of the first round that it may play."""

    label: str
    author: str
    since: int


class RoundTerms(NamedTuple):
    """What a round may spend, in tables, and which places matter."""

    number: int  # of the round, from 1
    seats: int  # of a table
    tables: int  # of the whole round
    places: int = 8  # the first places that the season has to find


class Meeting(NamedTuple):
    """Versions that play some tables with each other in a round, in every seat equally often."""

    labels: tuple[str, ...]
    tables: int


class Sums(NamedTuple):
    """The results of all earlier rounds.

    `orders` counts how often the versions of a table ended in each order, best first, in groups of equal versions, as
    host/rating/strength.py has them.
    """

    orders: Mapping[tuple[tuple[str, ...], ...], float]
    tables: Mapping[str, int]  # by label, over the life of the version
    crashes: Mapping[str, int]  # fixtures in a row that ended with the version benched, by label
