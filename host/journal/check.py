"""Checks a file that claims to be a journal before anything is read from it. It may come from a stranger."""

import contextlib
import os
import sqlite3
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host.base.errors import Problem, UserError
from host.journal.descriptions import stored_value
from host.journal.schema import APPLICATION, VERSION, strange_definition
from host.journal.state import RunState, bot_from_row, run_from_rows
from host.stages import Registry


def journal_exists(path: Path) -> bool:
    """Return whether there is a journal at a path. In an empty file nothing has been played: it counts as missing."""
    return path.exists() and path.stat().st_size > 0


@contextlib.contextmanager
def reject_corrupt(path: Path) -> Iterator[None]:
    """Raise UserError if the block cannot decode a row. A row that SQLite can read may still contain anything."""
    try:
        yield
    except (ValueError, LookupError, TypeError, RecursionError, zlib.error) as damaged:  # msgspec's are ValueErrors
        raise UserError([refusal(path, f"is damaged: {damaged}")], 3) from damaged


def check_file(path: Path, registry: Registry) -> None:
    """Raise UserError if a file is not a journal, is damaged, or has another format version. Do not change the file."""
    try:
        with connected(path) as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            readable = application == APPLICATION and version == VERSION
            # Before anything else is read: SQLite's own check evaluates expressions in the definitions of the file.
            wrong = strange_definition(database) if readable else ""
            (health,) = ("ok",) if wrong else database.execute("PRAGMA quick_check(1)").fetchone()
            wrong = wrong or (_misfit(database, registry) if readable and health == "ok" else "")
    except (sqlite3.DatabaseError, UnicodeDecodeError) as broken:  # SQLite's message repeats damaged names
        raise UserError([refusal(path, f"is not a journal: {broken}")], 3) from broken
    if application != APPLICATION:
        raise UserError([refusal(path, "is a database, but not a journal of croupier")], 3)
    if version != VERSION:
        writer = f"{'a newer' if version > VERSION else 'an older'} croupier"
        what = f"was written by {writer} (format {version}; this version reads {VERSION})"
        raise UserError([refusal(path, what)], 3)
    if health != "ok":
        raise UserError([refusal(path, f"is damaged: {health}")], 3)
    if wrong:
        raise UserError([refusal(path, f"is damaged: {wrong}")], 3)


def stored_state(database: sqlite3.Connection, registry: Registry) -> RunState:
    """Return the stored state of a run, without its changes. Raise ValueError with the reason if it is damaged."""
    stages = database.execute("SELECT name, number, config, status, field, places, known FROM stage ORDER BY number")
    return run_from_rows(
        dict(database.execute("SELECT key, value FROM run")), stages, registry, played=has_begun(database)
    )


def has_begun(database: sqlite3.Connection) -> bool:
    """Return whether a fixture has been recorded, with or without a result."""
    (found,) = database.execute("SELECT EXISTS(SELECT 1 FROM fixture UNION ALL SELECT 1 FROM undecided)").fetchone()
    return bool(found)


def _misfit(database: sqlite3.Connection, registry: Registry) -> str:
    """Return the first missing or malformed part of a journal, as text for people; empty if the journal is sound."""
    if wrong := "".join(_wrong_types(database)):
        return wrong
    try:
        stages = stored_state(database, registry).stages
    except ValueError as wrong_state:
        return str(wrong_state)
    entered = {name for (name,) in database.execute("SELECT name FROM version")}
    for stage in stages:
        for stranger in sorted({*stage.field, *stage.places} - entered):
            return f"its run's stages: {stranger!r}, a bot of {stage.name}, is not in the list of bots"
    query = "SELECT path FROM fixture LEFT JOIN record ON fixture.id = record.fixture WHERE record.fixture IS NULL"
    for (path,) in database.execute(f"{query} LIMIT 1"):
        return f"it has no record of {path!r}"
    for row in database.execute("SELECT name, sha256, language, about FROM version"):
        try:
            bot_from_row(*row)
        except (ValueError, LookupError) as wrong:
            return f"the entry of the bot {row[0]!r}: {wrong}"
    return _wrong_change(database)


def _wrong_types(database: sqlite3.Connection) -> Iterator[str]:
    """Yield at most one problem: a column with a value of a wrong type, or a table with a text that is not UTF-8.

    SQLite accepts any value in any column, and any bytes as a text.
    """
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = database.execute(f"PRAGMA table_info({table})").fetchall()
        right = [
            f"(typeof({name}) = '{kind.lower()}'{'' if needed or key else f' OR {name} IS NULL'})"
            for _, name, kind, needed, _, key in columns
        ]
        for row in database.execute(
            f"SELECT {', '.join(right)} FROM {table} WHERE NOT ({' AND '.join(right)}) LIMIT 1"
        ):
            yield f"{table}.{columns[row.index(0)][1]} has a value that is not {columns[row.index(0)][2]}"
            return
        texts = [name for _, name, kind, _, _, _ in columns if kind == "TEXT"]
        try:
            deque(database.execute(f"SELECT {', '.join(texts or ['NULL'])} FROM {table}"), maxlen=0)
        except sqlite3.OperationalError:
            yield f"{table} has a text that is not UTF-8"
            return


def _wrong_change(database: sqlite3.Connection) -> str:
    """Return the first malformed change, or the first path with two records that count; empty if there is neither."""
    query = "SELECT id, kind, what, stage, reason, about FROM change ORDER BY id"
    for number, *texts in database.execute(query):
        try:
            stored_value(texts[-1], dict[str, Any])
        except ValueError as wrong:
            return f"change {number}: {wrong}"
    twice = "SELECT path FROM fixture WHERE id NOT IN (SELECT fixture FROM set_aside) GROUP BY path HAVING count(*) > 1"
    for (path,) in database.execute(f"{twice} LIMIT 1"):
        return f"it has two records of {path!r} that count"
    return ""


def connected(path: Path) -> contextlib.closing[sqlite3.Connection]:
    """Return a connection for reading only, which the `with` block closes.

    SQLite takes no lock if this process cannot write the folder (for example on read-only media) and no write-ahead log
    is left.
    """
    log, _index = wal_files(path)
    still = not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    how = "mode=ro&immutable=1" if still else "mode=ro"
    return contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=10))


def refusal(path: Path, what: str) -> Problem:
    """Return the problem of a file that cannot be read as a journal."""
    return Problem(
        "R005", str(path), what, hint="croupier did not change it; move it away, or restore it from a backup"
    )


def does_not_fit(path: Path, why: Exception) -> UserError:
    """Return the error for a journal whose fixtures or answers contradict the rules of its games."""
    return UserError([Problem("R008", str(path), f"the journal does not fit the rules: {why}")], 1)


def wal_files(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite writes next to a journal: its write-ahead log, and the index of that log."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")
