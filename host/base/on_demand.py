"""Provides values whose modules are imported at the first access, so that a command loads only the modules it uses."""

import importlib
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar, cast

T = TypeVar("T")


class OnDemand(Mapping[str, T]):
    """Mapping of values by name. `places` has the place of each value, by name, as `package.module:NAME`.

    `renamed` has the new names of renamed values, by old name. A renamed value is found under both names, but listed
    only under the new one.
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
