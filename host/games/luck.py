"""Provides all randomness of a game: shuffles and draws that follow from a seed."""

import hashlib
import hmac
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Protocol, TypeVar, cast

T = TypeVar("T")

MAX_BELOW = 1 << 32
"""The largest argument of `below`. A random number has 53 bits, so up to here all results are equally likely to 2^-21."""


class Shuffler(Protocol):
    """Shuffles decks and draws numbers: `Luck` in play, `Stacked` in a test or a replay of another engine's recording.

    `below` and `pick` have random streams of their own, and each call takes one number of its stream. So a game that
    draws a number more does not change its shuffles, and the n-th call has the same luck whatever was drawn before.
    """

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one. Each draw decides the next card."""
        ...

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest of a shuffled deck, for the next hand."""
        ...

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1, all equally likely. Raise ValueError unless n is 1 to MAX_BELOW."""
        ...

    def pick(self, weights: Sequence[float]) -> int:
        """Return an index of `weights`, each as likely as its share of their sum. An index of weight 0 is never returned.

        Raise ValueError if a weight is negative or not finite, or if none is above 0.
        """
        ...


def derive(root: bytes, path: str) -> bytes:
    """Return the 32 bytes of a path (HMAC-SHA256). They cannot be computed without the root."""
    return hmac.digest(root, path.encode(), hashlib.sha256)


def index_of(share: float, weights: Sequence[float]) -> int:
    """Return the index into which a share (0 to below 1) of the sum of the weights falls. Raise ValueError as `pick`."""
    if any(not 0 <= weight < math.inf for weight in weights) or not any(weights):
        raise ValueError("weights must be finite, not negative, and not all 0")
    left, at = share * math.fsum(weights), 0
    for at, weight in enumerate(weights):
        if left < weight:
            return at
        left -= weight
    return max(at for at, weight in enumerate(weights) if weight)  # the sum was rounded up


class _Draws:
    """The two streams of `below` and `pick`. Each is derived when it is first used: most games draw no numbers."""

    _root: bytes
    _path: str
    _below: Callable[[], float] | None = None
    _pick: Callable[[], float] | None = None

    def _stream(self, name: str) -> Callable[[], float]:
        return Random(int.from_bytes(derive(self._root, f"{self._path}/{name}"))).random

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1 (see `Shuffler`)."""
        if not 0 < n <= MAX_BELOW:
            raise ValueError(f"below({n}): the number must be 1 to {MAX_BELOW}")
        if self._below is None:
            self._below = self._stream("below")
        return int(self._below() * n)

    def pick(self, weights: Sequence[float]) -> int:
        """Return an index of `weights` (see `Shuffler`)."""
        if self._pick is None:
            self._pick = self._stream("pick")
        return index_of(self._pick(), weights)


class Luck(_Draws):
    """The randomness of one table: the same root and path give the same cards on every machine and Python version.

    It uses only `Random.random()`, whose sequence Python promises not to change.
    """

    def __init__(self, root: bytes, path: str) -> None:
        self._root, self._path = root, path
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


class Deal(_Draws):
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
    """Returns given decks instead of random ones, one for each shuffle, and given draws."""

    def __init__(self, decks: Iterable[Iterable[object]], draws: Iterable[int] = ()) -> None:
        self._decks, self._draws = iter(decks), iter(draws)

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the next given deck, whatever the cards are. Raise IndexError if no deck is left."""
        deck = next(self._decks, None)
        if deck is None:
            raise IndexError("no deck is left in this stack")
        return iter(deck)  # type: ignore[arg-type]  # the stack holds the game's own cards

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest in the given order."""
        return cards

    def below(self, n: int) -> int:
        """Return the next given draw. Raise IndexError if none is left, or if it is not 0 to n - 1."""
        draw = next(self._draws, None)
        if draw is None or not 0 <= draw < n:
            raise IndexError(f"the next draw of this stack is {draw}, not a number from 0 to {n - 1}")
        return draw

    def pick(self, weights: Sequence[float]) -> int:
        """Return the next given draw. Raise IndexError if none is left, or if it is not an index of `weights`."""
        return self.below(len(weights))
