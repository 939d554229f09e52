"""Keeps what the site has made, so that it is made once for each state of what is published."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Cache(Generic[V]):
    """Keeps values by their keys. The one that was used least recently is forgotten first."""

    def __init__(self, size: int) -> None:
        self._size, self._kept = size, OrderedDict[Hashable, V]()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Return the value of a key. It is made if it is not kept."""
        if key not in self._kept:
            self._kept[key] = make()
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]
