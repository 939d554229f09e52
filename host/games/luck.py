"""Provides all randomness of a game: shuffles that follow from a seed."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from random import Random
from typing import Protocol, TypeVar, cast

T = TypeVar("T")


class Shuffler(Protocol):
    """Shuffles decks: `Luck` in play, `Stacked` in a test or in the replay of another engine's recording."""

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one. Each draw decides the next card."""
        ...

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest of a shuffled deck, for the next hand."""
        ...


def derive(root: bytes, path: str) -> bytes:
    """Return the 32 bytes of a path (HMAC-SHA256). They cannot be computed without the root."""
    return hmac.digest(root, path.encode(), hashlib.sha256)


class Luck:
    """The randomness of one table: the same root and path give the same cards on every machine and Python version.

    It uses only `Random.random()`, whose sequence Python promises not to change.
    """

    def __init__(self, root: bytes, path: str) -> None:
        self._random = Random(int.from_bytes(derive(root, path))).random

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Yield the cards in random order. Cards that are not drawn take no time."""
        deck, random = list(cards), self._random
        for left in range(len(deck), 0, -1):
            drawn = int(random() * left)
            yield deck[drawn]
            deck[drawn] = deck[left - 1]

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest in its present order."""
        return cards


class Deal:
    """The randomness that several tables share: each shuffle is the same at all of them, whatever was drawn before.

    Each shuffle has its own random stream, so that a bot that draws one card more does not change the next hand's deck.
    For the same reason the rest of a deck is shuffled again after a hand. No bot has seen these cards, so they stay
    random; at all tables, the cards that are not drawn yet come in the same order.
    """

    def __init__(self, root: bytes, path: str) -> None:
        self._root, self._path, self._shuffles = root, path, 0
        self._deck: list[object] = []
        self._left: set[int] = set()

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in the order of this deal's next shuffle."""
        deck = list(cards)
        self._deck, self._left = list(deck), set(range(len(deck)))
        return self._drawn(deck, self._left, self._next())

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest of the deck that was shuffled last, in the order of this deal's next shuffle."""
        return self._drawn(cast(list[T], self._deck), self._left, self._next())

    def _next(self) -> Luck:
        """Return the randomness of the next shuffle."""
        self._shuffles += 1
        return Luck(self._root, f"{self._path}/shuffle {self._shuffles}")

    def _drawn(self, deck: list[T], left: set[int], luck: Luck) -> Iterator[T]:
        """Yield the cards that are left. The order of the whole deck is fixed, whatever cards are left."""
        order = luck.shuffled(range(len(deck)))
        for at in order:
            if at in left:
                left.discard(at)
                yield deck[at]


class Stacked:
    """Returns given decks instead of random ones, one for each shuffle."""

    def __init__(self, decks: Iterable[Iterable[object]]) -> None:
        self._decks = iter(decks)

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the next given deck, whatever the cards are. Raise IndexError if no deck is left."""
        deck = next(self._decks, None)
        if deck is None:
            raise IndexError("no deck is left in this stack")
        return iter(deck)  # type: ignore[arg-type]  # the stack holds the game's own cards

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest in the given order."""
        return cards
