"""Describes bots and fixtures as the journal stores them, and reads the stored fixtures back."""

from collections.abc import Mapping
from typing import Any

import msgspec

from host.bots.bot_spec import BuiltBot
from host.play.custom_games import rules_type
from host.play.records import Fixture


def bot_metadata(bot: BuiltBot) -> dict[str, Any]:
    """Return what the journal stores about a bot besides its hash: its author, its protocol and its limits."""
    return {
        "author": bot.spec.author,
        "protocol": bot.spec.protocol,
        "parallel_tables": bot.spec.parallel_tables,
        "table_ids": bot.spec.table_ids,
        "lifetime": bot.spec.lifetime,
        "state": bot.spec.state,
        "state_lifetime": bot.spec.state_lifetime,
        "limits": bot.limits.by_name(),
    }


def fixture_metadata(fixture: Fixture) -> dict[str, Any]:
    """Return what the journal stores about a fixture; its rules have the keys of croupier.toml."""
    return {
        "game": fixture.game,
        "rules": fixture.rules._asdict(),
        "plan": fixture.plan,
        "path": fixture.path,
        "bots": fixture.bots,
        "tables": fixture.tables,
        "first": fixture.first,
    }


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
