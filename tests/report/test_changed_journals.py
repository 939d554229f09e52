"""Journals in which a stranger has changed any value: each command shows them or refuses them, and none fails."""

import contextlib
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from math import inf, nan
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from command import croupier
from helpers import breadth

from tests.browser import games

COMMANDS = [
    *("status", "report", "standings", "standings --by pair", "rating", "faults", "grades", "ls", "verify"),
    *("export csv", "export jsonl"),
]
NUMBERS = (0, 1, 2, -1, 10**6, 2**63 - 1, -(2**63))


def places(value: Any, *above: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value in a value."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in below:
        yield (*above, key)
        yield from places(inner, *above, key)


def other(value: Any, luck: Random) -> Any:
    """Return another value of the same kind."""
    match value:
        case bool() | None:
            return not value
        case int():
            return luck.choice([*NUMBERS, value + 1])
        case float():
            return luck.choice([0.0, -1.0, value + 1, 1e300, nan, inf])
        case str():
            return luck.choice(["", value + "x", "\0", "<b>"])
        case bytes():
            return luck.choice([b"", value[:-1], value + b"x"])
        case dict():
            return luck.choice([{}, dict(list(value.items())[1:]), {**value, "zed": next(iter(value.values()), 1)}])
        case _:
            return luck.choice([[], value[:-1], value + value[-1:]])


def read(cell: Any) -> tuple[Any, Callable[[Any], Any]]:
    """Return the value in a cell of a journal, and what stores another one: JSON, or MessagePack, which may be compressed."""
    if isinstance(cell, str):
        return json.loads(cell), json.dumps
    with contextlib.suppress(zlib.error):
        return msgspec.msgpack.decode(zlib.decompress(cell)), lambda value: zlib.compress(msgspec.msgpack.encode(value))
    return msgspec.msgpack.decode(cell), msgspec.msgpack.encode


def change(cell: Any, luck: Random) -> Any:
    """Return a cell of a journal after a change of one value in it."""
    try:
        value, stored = read(cell)
        *way, last = luck.choice([*places(value)])
    except (ValueError, TypeError, IndexError):  # it is one number, a name, or bytes
        return other(cell, luck)
    inner = value
    for key in way:
        inner = inner[key]
    inner[last] = other(inner[last], luck)
    return stored(value)


@pytest.fixture(scope="module", params=breadth(games.KINDS, 3))
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tournament that was played."""
    rules = {"rounds": 6} if request.param == "holdem" else {}
    return games.played(tmp_path_factory.mktemp("changed"), request.param, **rules).parents[1]


@pytest.mark.parametrize("seed", breadth(range(30), 7))
def test_a_journal_with_a_changed_value_ends_no_command(seed: int, played: Path, tmp_path: Path) -> None:
    luck, cup = Random(seed), shutil.copytree(played, tmp_path / "cup")
    with contextlib.closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database, database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = luck.choice([name for name in names if database.execute(f"SELECT 1 FROM {name}").fetchone()])
        column = luck.choice([name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")])
        if seed % 2:
            table, column = "record", "summary"  # which has most of the numbers
        ((cell,), *_) = luck.sample(database.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall(), 1)
        with contextlib.suppress(sqlite3.IntegrityError):
            database.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS ?", (change(cell, luck), cell))
    for command in COMMANDS:
        done = croupier("-C", cup, *command.split())
        assert "H001" not in done.err + done.out, (table, column, cell, command, done.err)
