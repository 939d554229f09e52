"""Keeps the pages and responses of the site, so that each is made only once for each state of the documents."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Keeps up to `size` values by their keys. A full cache forgets the value that was used least recently."""

    def __init__(self, size: int) -> None:
        self._size, self._kept = size, OrderedDict[Hashable, V]()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key. Make the value with `make` if the cache does not have it."""
        if key not in self._kept:
            self._kept[key] = make()
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
