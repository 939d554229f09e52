"""All the chance there is in a game: a shuffle, from a seed."""

import hashlib
import hmac
from collections.abc import Iterable, Iterator
from random import Random
from typing import Protocol, TypeVar, cast

T = TypeVar("T")


class Shuffler(Protocol):
    """Whatever deals: `Luck` in play, given decks in a test or a replay of somebody else's recording."""

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in an order decided as they are drawn."""
        ...

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return what is left of a shuffled deck as it goes on after a hand."""
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

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest as it lies."""
        return cards


class Deal:
    """The luck that several tables share: every shuffle is the same at all of them, whatever was drawn before it.

    Each shuffle has a stream of its own, for a bot that draws one card more must not change the next hand's deck. For
    the same reason what is left of a deck is shuffled again after a hand: nobody has seen it, so it is as random as it
    was, but the same cards come again in the same order wherever they have not been drawn.
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
        """Return what is left of the deck that was shuffled last, in the order of this deal's next shuffle."""
        return self._drawn(cast(list[T], self._deck), self._left, self._next())

    def _next(self) -> Luck:
        """Return the luck of the next shuffle."""
        self._shuffles += 1
        return Luck(self._root, f"{self._path}/shuffle {self._shuffles}")

    def _drawn(self, deck: list[T], left: set[int], luck: Luck) -> Iterator[T]:
        """Yield the cards that are left, in an order in which all have their place."""
        order = luck.shuffled(range(len(deck)))
        for at in order:
            if at in left:
                left.discard(at)
                yield deck[at]


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

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest as it was given."""
        return cards
