"""Describes fixtures as the journal stores them, and reads and validates the stored fixtures."""

from typing import Any

import msgspec

from host.journal.chain import canonical
from host.play.records import Fixture
from host.play.table_plans import TOURNEYS
from host.rules.catalogue import check_numbers
from host.stages import Registry
from protocols.strict_json import JsonError, read_json


class Description(msgspec.Struct, frozen=True):
    """A fixture as the journal stores it. Its rules have the keys of croupier.toml."""

    game: str
    rules: dict[str, Any]
    plan: str
    path: str
    bots: tuple[str, ...]
    tables: int
    first: int

    def fixture(self, registry: Registry) -> Fixture:
        """Return the fixture.

        Raise LookupError, ValueError or UserError if its game does not allow these rules or this number of bots.
        """
        game = registry.game(self.game)
        kind = type(game.default_rules)
        rules = kind._field_defaults | self.rules  # every game's rules are a NamedTuple
        converted = msgspec.convert([rules[name] for name in kind._fields], kind)
        check_numbers(game, converted)
        fewest, most = game.seats
        if self.plan in TOURNEYS:  # a tourney seats some of its bots at a table, and may have a single one
            fewest, most = 1, len(self.bots)
        if not fewest <= len(self.bots) <= most:
            raise ValueError(f"{len(self.bots)} bots, where {game.name} has {fewest} to {most} seats")
        return Fixture(**(msgspec.structs.asdict(self) | {"rules": converted}))


def description_text(fixture: Fixture) -> str:
    """Return the description of a fixture that the journal stores, as canonical JSON."""
    return canonical(fixture._asdict() | {"rules": fixture.rules._asdict()})


def read_description(text: Any) -> Description:
    """Return the description of a fixture from its JSON text in a journal. Raise ValueError if the text is damaged."""
    found: Description = stored_value(text, Description)
    return found


def stored_value(text: Any, shape: Any) -> Any:
    """Return the value of type `shape` from a JSON text in a journal. Raise ValueError if the text has no such value.

    Nothing in a journal is trusted.
    """
    text = msgspec.convert(text, str)
    try:
        value = read_json(text)
    except JsonError as wrong:
        raise ValueError(f"a JSON text {wrong}") from wrong
    return msgspec.convert(value, shape)
