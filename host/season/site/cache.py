"""Keeps values that were used recently: pages, responses and documents of the site, and the allowances of clients."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Keeps up to `size` values by their keys. A full cache forgets the value that was used least recently."""

    def __init__(self, size: int) -> None:
        self._size, self._kept = size, OrderedDict[Hashable, V]()

    def known(self, key: Hashable) -> V | None:
        """Return the value of a key; None if the cache does not have it."""
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key]

    def keep(self, key: Hashable, value: V) -> V:
        """Keep a value under a key, instead of its old value, and return it."""
        self._kept[key] = value
        self._kept.move_to_end(key)
        while len(self._kept) > self._size:
            self._kept.popitem(last=False)
        return value

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key. Make the value with `make` if the cache does not have it."""
        known = self.known(key)
        return self.keep(key, make()) if known is None else known
