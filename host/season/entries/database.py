"""Opens the database of a season, season.sqlite, and defines its tables. Only the season process writes it."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from host.base.errors import Problem, UserError

APPLICATION = 0x63727365  # "crse"
SCHEMA = 1
BUSY_TIMEOUT_S = 10.0
RESTORE = "croupier did not change it; restore it from a backup of croupier season backup"

TABLES = """
CREATE TABLE author     (name TEXT PRIMARY KEY, token_sha256 TEXT NOT NULL UNIQUE, joined REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE bot        (name TEXT PRIMARY KEY COLLATE NOCASE, author TEXT NOT NULL REFERENCES author,
                         withdrawn TEXT NOT NULL DEFAULT '') WITHOUT ROWID;
CREATE TABLE submission (id TEXT PRIMARY KEY, author TEXT NOT NULL REFERENCES author, bot TEXT NOT NULL REFERENCES bot,
                         file_name TEXT NOT NULL, sha256 TEXT NOT NULL, size INTEGER NOT NULL, at REAL NOT NULL,
                         door TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, verdict BLOB,
                         licence TEXT NOT NULL, number INTEGER NOT NULL DEFAULT 0,
                         attempts INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE version    (bot TEXT NOT NULL REFERENCES bot, number INTEGER NOT NULL, author TEXT NOT NULL,
                         sha256 TEXT NOT NULL, submission TEXT NOT NULL REFERENCES submission, entered REAL NOT NULL,
                         active INTEGER NOT NULL, off_ladder TEXT NOT NULL, content TEXT NOT NULL,
                         language TEXT NOT NULL, PRIMARY KEY (bot, number), UNIQUE (bot, content)) WITHOUT ROWID;
CREATE TABLE practice   (id TEXT PRIMARY KEY, author TEXT NOT NULL REFERENCES author, bot TEXT NOT NULL,
                         number INTEGER NOT NULL, opponents TEXT NOT NULL, tables INTEGER NOT NULL, at REAL NOT NULL,
                         state TEXT NOT NULL, reason TEXT NOT NULL, results BLOB, attempts INTEGER NOT NULL DEFAULT 0)
                         WITHOUT ROWID;
CREATE TABLE usage      (id INTEGER PRIMARY KEY, author TEXT NOT NULL, at REAL NOT NULL, what TEXT NOT NULL,
                         seconds REAL NOT NULL);
CREATE TABLE answer     (request TEXT PRIMARY KEY, author TEXT NOT NULL, at REAL NOT NULL, text TEXT NOT NULL,
                         submission TEXT NOT NULL, code TEXT NOT NULL, cure TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE event      (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
                         text TEXT NOT NULL);
CREATE TABLE setting    (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE round      (number INTEGER PRIMARY KEY, state TEXT NOT NULL, began REAL, ended REAL, uniform INTEGER NOT NULL,
                         players BLOB NOT NULL, meetings BLOB NOT NULL, seal TEXT NOT NULL DEFAULT '',
                         seed TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '', sums BLOB);
CREATE INDEX submission_by_author ON submission(author, at);
CREATE INDEX submission_by_state ON submission(state);
CREATE INDEX version_by_author ON version(author);
CREATE INDEX usage_by_author ON usage(author, at);
CREATE INDEX answer_by_author ON answer(author, at);
"""
"""author: with the SHA-256 of the secret of its link. bot: names belong to the author who used them first, whatever their
case. submission: `attempts` counts how often its examination has begun since it waits. version: `content` is the SHA-256
of its files as handed in. usage: a row for each examination and each practice that has begun, with its processor time when
it is over; `what` is the id of the submission or of the request. answer: to the requests of the inbox. round: players,
meetings and sums as JSON of the types that wrote them."""


def damaged(path: Path, why: object) -> UserError:
    """Return the error of a database that is damaged or not that of a season."""
    return UserError([Problem("E012", str(path), f"cannot be used: {why}", hint=RESTORE)], 3)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn the errors of SQLite in the block into a UserError that names the file."""
    try:
        yield
    except sqlite3.OperationalError as failed:
        hint = "check the disk and the permissions of the folder:  df -h; then continue"
        raise UserError([Problem("E012", str(path), f"cannot be used: {failed}", hint=hint)], 6) from failed
    except sqlite3.IntegrityError:
        raise
    except sqlite3.DatabaseError as wrong:
        raise damaged(path, wrong) from wrong


class Database:
    """An open season.sqlite. Each change is on the disk when the outermost `transaction` has ended."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path
        self._depth = 0

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raise UserError if the file is damaged."""
        with naming(self.path):
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of a query, or None."""
        found = self.rows(query, *values)
        return found[0] if found else None

    def number(self, query: str, *values: Any) -> int:
        """Return the number that a query counts."""
        (found,) = self.rows(query, *values)[0]
        return int(found or 0)

    def change(self, statement: str, *values: Any) -> int:
        """Change the database; return how many rows have changed."""
        with self.transaction(), naming(self.path):
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Let the changes in the block happen together or not at all; blocks may be nested. An exception undoes the block."""
        begin, commit, undo = "BEGIN IMMEDIATE", "COMMIT", ["ROLLBACK"]
        if self._depth:
            name = f"inner{self._depth}"
            begin, commit, undo = f"SAVEPOINT {name}", f"RELEASE {name}", [f"ROLLBACK TO {name}", f"RELEASE {name}"]
        with naming(self.path):
            self._connection.execute(begin)
        self._depth += 1
        try:
            yield
            with naming(self.path):
                self._connection.execute(commit)
        except BaseException:
            if self._connection.in_transaction:  # a full disk may have ended it already
                for statement in undo:
                    self._connection.execute(statement)
            raise
        finally:
            self._depth -= 1

    def copy_to(self, target: Path) -> None:
        """Write a copy of the database, as it is now, into a new file."""
        with naming(self.path):
            self._connection.execute("VACUUM INTO ?", (str(target),))


def _make(path: Path) -> None:
    """Create an empty database completely or not at all."""
    making = path.with_suffix(".making")
    for name in (making, *(path.with_name(f"{each.name}{end}") for each in (making, path) for end in ("-wal", "-shm"))):
        name.unlink(missing_ok=True)  # SQLite would replay a leftover log into the new file
    with contextlib.closing(sqlite3.connect(making)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(
            f"BEGIN; {TABLES} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT;"
        )
    making.rename(path)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise UserError if a file is not the database of a season, or of another version of croupier, or damaged."""
    with naming(path):
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if application != APPLICATION:
            raise damaged(path, "it is not the database of a season")
        if schema != SCHEMA:
            raise damaged(path, f"it has schema {schema}, and this croupier reads schema {SCHEMA}")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(path, found)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[Database]:
    """Open a database as its only writer; create it if it is missing. Raise UserError if another process writes it."""
    with contextlib.ExitStack() as stack, naming(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        stack.enter_context(_locked(path))
        if not (path.exists() and path.stat().st_size):
            _make(path)
        connection = stack.enter_context(
            contextlib.closing(sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None))
        )
        _check(connection, path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield Database(connection, path)


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Database]:
    """Open a database for reading; the season process may be writing it. Raise UserError if it does not exist."""
    if not (path.exists() and path.stat().st_size):
        raise UserError(
            [Problem("E012", str(path), "does not exist", hint="croupier season open  begins the season")], 3
        )
    with (
        naming(path),
        contextlib.closing(
            sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)
        ) as connection,
    ):
        _check(connection, path)
        yield Database(connection, path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a season; the kernel releases it when the process ends. Raise UserError if it is held."""
    lock = path.with_suffix(".lock")
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "another process"
            hint = "croupier season status  shows it"
            raise UserError([Problem("R003", str(path.parent), f"is in use by {holder}", hint=hint)], 5) from taken
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
