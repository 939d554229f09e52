"""Defines the tables of a journal, and checks that a stranger's file has these tables and nothing else."""

import contextlib
import sqlite3
from collections.abc import Mapping
from functools import cache

from host.journal.seals import CHAIN_TABLE

APPLICATION, VERSION = 0x63726F75, 7  # "crou"

JOURNAL_TABLES = """
CREATE TABLE run       (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stage     (name TEXT PRIMARY KEY, number INTEGER NOT NULL, config TEXT NOT NULL, status TEXT NOT NULL,
                        field TEXT NOT NULL, places TEXT NOT NULL, known INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE version   (id INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL, language TEXT NOT NULL,
                        about TEXT NOT NULL, entered REAL NOT NULL, entered_by TEXT NOT NULL,
                        replaces INTEGER REFERENCES version, after INTEGER NOT NULL);
CREATE TABLE fixture   (id INTEGER PRIMARY KEY, path TEXT NOT NULL, stage TEXT NOT NULL, about TEXT NOT NULL,
                        at REAL NOT NULL);
CREATE TABLE record    (fixture INTEGER PRIMARY KEY REFERENCES fixture, summary BLOB NOT NULL, seats BLOB NOT NULL,
                        scores BLOB NOT NULL, answers BLOB NOT NULL, times BLOB NOT NULL, banks BLOB NOT NULL,
                        transcript BLOB NOT NULL);
CREATE TABLE undecided (id INTEGER PRIMARY KEY, path TEXT NOT NULL, stage TEXT NOT NULL, about TEXT NOT NULL,
                        at REAL NOT NULL, why BLOB NOT NULL, open INTEGER NOT NULL);
CREATE TABLE fault     (id INTEGER PRIMARY KEY, fixture INTEGER NOT NULL REFERENCES fixture, bot TEXT NOT NULL,
                        kind TEXT NOT NULL, evidence BLOB NOT NULL);
CREATE TABLE state     (fixture INTEGER NOT NULL REFERENCES fixture, bot TEXT NOT NULL, content BLOB NOT NULL,
                        PRIMARY KEY (fixture, bot)) WITHOUT ROWID;
CREATE TABLE summed    (stage TEXT PRIMARY KEY, fixture INTEGER NOT NULL, changes INTEGER NOT NULL, sums BLOB NOT NULL)
                        WITHOUT ROWID;
CREATE TABLE change    (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL,
                        stage TEXT NOT NULL, reason TEXT NOT NULL, about TEXT NOT NULL, after INTEGER NOT NULL);
CREATE TABLE set_aside (fixture INTEGER PRIMARY KEY REFERENCES fixture, change INTEGER NOT NULL REFERENCES change);
CREATE INDEX version_by_name ON version(name, after);
CREATE INDEX fixture_by_path ON fixture(path);
CREATE INDEX undecided_by_path ON undecided(path);
CREATE INDEX fault_by_bot ON fault(bot, kind);
CREATE INDEX fault_by_fixture ON fault(fixture);
"""
"""The tables of a journal.

run, stage: the state of the run (state.py). version: the versions of bots; each plays the fixtures with numbers above
`after`, until the next version of the same bot. record: the result of a fixture; the times of decisions, the time left
in banks and the transcript are empty if there are none. undecided: one row for each failure that left a fixture without
a result; `open` is 0 once the fixture has a result or is tried again. state: the content of each state file with
lifetime "stage" that a fixture changed, compressed, after this fixture. summed: the sums over the records of a stage
that count, up to the fixture with the number `fixture`, after the given number of changes; they follow from the
records, are not sealed, and do not count after the next change. set_aside: the fixtures that no longer count; a later
fixture can have the same path. chain: the seals (seals.py).
"""

COUNTED = "CREATE TEMP VIEW counted AS SELECT * FROM fixture WHERE id NOT IN (SELECT fixture FROM set_aside)"
"""Creates a view of the fixtures that count."""


def _definitions(database: sqlite3.Connection) -> dict[str, tuple[str, str]]:
    """Return the kind and the SQL of each object of a database, by name. SQLite's own indexes have no SQL."""
    rows = database.execute("SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {name: (kind, " ".join(sql.split())) for name, kind, sql in rows}


@cache
def _schema() -> Mapping[str, tuple[str, str]]:
    """Return the definitions of an empty journal, like `_definitions`."""
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.executescript(JOURNAL_TABLES + CHAIN_TABLE)
        return _definitions(database)


def strange_definition(database: sqlite3.Connection) -> str:
    """Return a text about the first definition that is missing or is not that of a journal; "" if all are right.

    In a stranger's file, a view, a trigger or a computed column could let any query use unlimited time or memory. With a
    journal's own tables and indexes no query can: each one reads only rows of the file, and none is recursive.
    """
    found = _definitions(database)
    for name, definition in found.items():
        if definition[0] not in ("table", "index") or definition[1].startswith("CREATE VIRTUAL"):
            return f"{name!r} is neither a table nor an index"
        if _schema().get(name) != definition:
            return f"{name!r} is not defined as in a journal"
    return "".join(f"it has no {name!r}" for name in list(_schema().keys() - found.keys())[:1])
