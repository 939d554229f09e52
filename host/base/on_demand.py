"""Holds values whose modules are imported when the values are first asked for, so that a command loads only what it uses."""

import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, cast

T = TypeVar("T")


class OnDemand(Mapping[str, T]):
    """Values by name. `places` has the place of each, as `package.module:NAME`.

    `renamed` has the present names of values that had other names: a value is found by both, and listed by the present one.
    """

    def __init__(self, places: Mapping[str, str], renamed: Mapping[str, str] = MappingProxyType({})) -> None:
        self._places, self._renamed = places, renamed

    def __getitem__(self, name: str) -> T:
        module, _, constant = self._places[self._renamed.get(name, name)].partition(":")
        return cast(T, getattr(importlib.import_module(module), constant))

    def __contains__(self, name: object) -> bool:
        return name in self._places or name in self._renamed

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
