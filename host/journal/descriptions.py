"""Describes fixtures as the journal stores them, and reads and validates the stored fixtures."""

import json
from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from host.play.records import Fixture
from host.rules.catalogue import rules_type


def fixture_metadata(fixture: Fixture) -> dict[str, Any]:
    """Return what the journal stores about a fixture; its rules have the keys of croupier.toml."""
    return fixture._asdict() | {"rules": fixture.rules._asdict()}


def fixture_of(stored: Mapping[str, Any]) -> Fixture:
    """Return a fixture from what the journal stores about it. Raise LookupError or ValueError if that is invalid."""
    kind = rules_type(stored["game"])
    rules = kind._field_defaults | stored["rules"]  # every game's rules are a NamedTuple
    return Fixture(
        game=msgspec.convert(stored["game"], str),
        rules=msgspec.convert([rules[name] for name in kind._fields], kind),
        plan=msgspec.convert(stored["plan"], str),
        path=msgspec.convert(stored["path"], str),
        bots=msgspec.convert(stored["bots"], tuple[str, ...]),
        tables=msgspec.convert(stored["tables"], int),
        first=msgspec.convert(stored["first"], int),
    )


class Kept(TypedDict):
    """The part of a fixture's description that pages use before they replay it."""

    game: str
    path: str
    rules: dict[str, Any]
    bots: list[str]
    first: int


def json_error(text: Any, shape: Any) -> str:
    """Return why a text is not JSON of this type; empty if it is. Journals are not trusted."""
    if not isinstance(text, str):
        return "no text"
    try:
        msgspec.convert(json.loads(text), shape)
    except (ValueError, RecursionError) as wrong:  # msgspec's errors are ValueErrors, and so are json's
        return str(wrong)
    return ""
