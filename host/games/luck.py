"""Provides all randomness of a game: shuffles and draws that follow from a seed."""

import hashlib
import hmac
import itertools
import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol, Self, TypeVar, cast

T = TypeVar("T")

MAX_BELOW = 1 << 32
"""The largest argument of `below`. A random word has 64 bits, so up to here all results are equally likely to 2^-32."""

_four_bytes, _four_words = struct.Struct(">I").pack, struct.Struct(">4Q").unpack


class Shuffler(Protocol):
    """Shuffles decks and draws numbers: `Luck` in play, `Stacked` in a test or a replay of another engine's recording.

    `below` and `pick` have separate random streams, and each call takes one number of its stream. So a game that
    draws one more number does not change its shuffles, and the n-th call of a method uses the same random number,
    whatever other methods have drawn.
    """

    @property
    def drawn(self) -> bool:
        """Whether anything has been drawn."""
        ...

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one. Each draw decides the next card."""
        ...

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the cards of a shuffled deck that have not been drawn, one by one, for the next hand."""
        ...

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1, all equally likely. Raise ValueError unless n is 1 to MAX_BELOW."""
        ...

    def pick(self, weights: Sequence[float]) -> int:
        """Return a random index of `weights`. Its probability is its weight divided by the sum of all weights.

        Raise ValueError if a weight is negative or not finite, or if no weight is above 0.
        """
        ...


def digest_of(hashes: Iterable[bytes]) -> bytes:
    """Return the SHA-256 of the set of hashes (32 bytes each) in ascending order: the digest of the entered bots."""
    return hashlib.sha256(b"".join(sorted(set(hashes)))).digest()


def bound_root(seed: bytes, digest: bytes) -> bytes:
    """Return the root of a tournament whose seed is bound to a digest: 16 bytes of HMAC-SHA256(seed, digest)."""
    return hmac.digest(seed, digest, "sha256")[:16]


def derive(root: bytes, path: str) -> bytes:
    """Return the key of a path: the 32 bytes of HMAC-SHA256(root, path). Nobody can compute it without the root."""
    keyed = _keyed(root).copy()
    keyed.update(path.encode())
    return keyed.digest()


@lru_cache(maxsize=16)
def _keyed(root: bytes) -> hmac.HMAC:
    return hmac.new(root, digestmod=hashlib.sha256)


def words(key: bytes, label: str) -> Iterator[int]:
    """Yield the stream of a label: whole numbers below 2^64, four from the SHA-256 of each key, label and block number."""
    for block in _blocks(key, label):
        yield from _four_words(block.digest())


def hex_words(key: bytes, label: str, count: int) -> list[str]:
    """Return the first `count` words of a stream (see `words`) as 16 hexadecimal digits each."""
    start = key + label.encode()
    blocks = map(_four_bytes, range((count + 3) // 4))
    digits = "".join([hashlib.sha256(start + number).hexdigest() for number in blocks])
    return [digits[at : at + 16] for at in range(0, 16 * count, 16)]


def _blocks(key: bytes, label: str) -> "Iterator[hashlib._Hash]":
    start = key + label.encode()
    return (hashlib.sha256(start + number) for number in map(_four_bytes, itertools.count()))


def whole_number(root: bytes, path: str) -> int:
    """Return a whole number from 0 to 2^31 - 1, a seed for programs with random numbers of their own: bots, referees."""
    return whole_number_of(derive(root, path))


def whole_number_of(key: bytes) -> int:
    """Return the result of `whole_number` from the key of the path: the first word of the stream "seed", modulo 2^31.

    It computes the word without generators, which is faster.
    """
    return int.from_bytes(hashlib.sha256(key + b"seed" + _four_bytes(0)).digest()[:8], "big") % (1 << 31)


def index_of(word: int, weights: Sequence[float]) -> int:
    """Return the index of `weights` that a random word below 2^64 picks. Raise ValueError as `Shuffler.pick` does."""
    if any(not 0 <= weight < math.inf for weight in weights) or not any(weights):
        raise ValueError("weights must be finite, not negative, and not all 0")
    total = 0.0
    for weight in weights:  # sum() adds floats more exactly from Python 3.12 on
        total += weight
    left = (word >> 11) / (1 << 53) * total
    for at, weight in enumerate(weights):
        if left < weight:
            return at
        left -= weight
    return max(at for at, weight in enumerate(weights) if weight)  # the sum was rounded up


def _drawn(deck: list[T], key: bytes, label: str) -> Iterator[T]:
    """Yield the cards of a deck in random order. Each number of the stream `words(key, label)` chooses one card.

    The function computes these numbers itself, which is faster. Cards that are not drawn take no time.
    """
    left, start = len(deck), key + label.encode()
    for number in map(_four_bytes, range((left + 3) // 4)):
        for word in _four_words(hashlib.sha256(start + number).digest()):
            at = word % left
            yield deck[at]
            left -= 1
            if not left:
                return
            deck[at] = deck[left]


class Luck:
    """The randomness of one table: the same root and path give the same cards in every language (docs/checking.md).

    Each shuffle has a separate stream, which is named after its number. `below` and `pick` have one stream each.
    """

    def __init__(self, root: bytes, path: str) -> None:
        self._begin(derive(root, path))

    @classmethod
    def of_key(cls, key: bytes) -> Self:
        """Return the randomness of a table from its key, which is the result of `derive` for its root and path."""
        luck = cls.__new__(cls)
        luck._begin(key)
        return luck

    def _begin(self, key: bytes) -> None:
        self._key, self._shuffles = key, 0
        self._below, self._pick = words(key, "below"), words(key, "pick")
        self._numbers = False  # whether one has been drawn

    @property
    def drawn(self) -> bool:
        """Whether anything has been drawn."""
        return self._numbers or self._shuffles > 0

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in the order of the next shuffle."""
        return _drawn(list(cards), self._key, self._next_shuffle())

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the remaining cards in their present order."""
        return cards

    def below(self, n: int) -> int:
        """Return a whole number from 0 to n - 1 (see `Shuffler`)."""
        if not 0 < n <= MAX_BELOW:
            raise ValueError(f"below({n}): the number must be 1 to {MAX_BELOW}")
        self._numbers = True
        return next(self._below) % n

    def pick(self, weights: Sequence[float]) -> int:
        """Return an index of `weights` (see `Shuffler`)."""
        self._numbers = True
        return index_of(next(self._pick), weights)

    def _next_shuffle(self) -> str:
        """Return the label of the next shuffle."""
        self._shuffles += 1
        return "shuffle" if self._shuffles == 1 else f"shuffle {self._shuffles}"


class Deal(Luck):
    """The randomness that several tables share: each shuffle is the same at all of them, whatever was drawn before.

    After a hand, the rest of a deck is shuffled again. So a bot that draws one card more does not change the order of
    the other cards in the next hand. No bot has seen these cards, so they stay random; at all tables, the cards that
    are not drawn yet come in the same order.
    """

    def _begin(self, key: bytes) -> None:
        super()._begin(key)
        self._deck: list[object] = []
        self._left: set[int] = set()

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the cards one by one, in the order of this deal's next shuffle."""
        deck = list(cards)
        self._deck, self._left = list(deck), set(range(len(deck)))
        return self._undrawn(deck, self._left, self._next_shuffle())

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the rest of the deck that was shuffled last, in the order of this deal's next shuffle."""
        if not self._deck:  # nothing has been shuffled yet
            return cards
        return self._undrawn(cast(list[T], self._deck), self._left, self._next_shuffle())

    def _undrawn(self, deck: list[T], left: set[int], label: str) -> Iterator[T]:
        """Yield the cards that are left. The order of the whole deck is fixed, whatever cards are left."""
        for at in _drawn(list(range(len(deck))), self._key, label):
            if at in left:
                left.discard(at)
                yield deck[at]


class Stacked:
    """Returns given decks instead of random ones, one for each shuffle, and given draws."""

    drawn = True

    def __init__(self, decks: Iterable[Iterable[object]], draws: Iterable[int] = ()) -> None:
        self._decks, self._draws = iter(decks), iter(draws)

    def shuffled(self, cards: Iterable[T]) -> Iterator[T]:
        """Return the next given deck, whatever the cards are. Raise IndexError if no deck is left."""
        deck = next(self._decks, None)
        if deck is None:
            raise IndexError("no deck is left in this stack")
        return iter(deck)  # type: ignore[arg-type]  # the stack holds the game's own cards

    def rest(self, cards: Iterator[T]) -> Iterator[T]:
        """Return the remaining cards in the given order."""
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
