"""All the chance there is in a game: a shuffle, from a seed."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from random import Random
from typing import Protocol, TypeVar

T = TypeVar("T")


class Shuffler(Protocol):
    """Whatever deals: `Luck` in play, given decks in a test or a replay of somebody else's recording."""

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in an order decided as they are drawn."""
        ...


def derive(root: bytes, path: str) -> bytes:
    """Return the 32 bytes that belong to a path; nobody without the root can compute another's."""
    return hmac.digest(root, path.encode(), hashlib.sha256)


class Luck:
    """The luck of one table: the same root and path give the same cards on every machine and Python.

    It draws through `Random.random()` only, the one stream Python promises never to change.
    """

    def __init__(self, root: bytes, path: str) -> None:
        self._random = Random(int.from_bytes(derive(root, path))).random

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in random order; what nobody draws costs nothing."""
        deck, random = list(cards), self._random
        for left in range(len(deck), 0, -1):
            drawn = int(random() * left)
            yield deck[drawn]
            deck[drawn] = deck[left - 1]


class Stacked:
    """Luck with nothing left to chance: each shuffle brings the next of the given decks."""

    def __init__(self, decks: Iterable[Iterable[object]]) -> None:
        self._decks = iter(decks)

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the next given deck, whatever the cards; raise IndexError when there is none."""
        deck = next(self._decks, None)
        if deck is None:
            raise IndexError("no deck is left in this stack")
        return iter(deck)  # type: ignore[arg-type]  # the stack holds the game's own cards
