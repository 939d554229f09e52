"""Holds values whose modules are imported when the values are first asked for, so that a command loads only what it uses."""

import importlib
from collections.abc import Iterator, Mapping
from typing import TypeVar, cast

T = TypeVar("T")


class OnDemand(Mapping[str, T]):
    """Values by name. `places` has the place of each, as `package.module:NAME`."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> T:
        module, _, constant = self._places[name].partition(":")
        return cast(T, getattr(importlib.import_module(module), constant))

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
