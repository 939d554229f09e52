"""Opens the databases of a season: its store, and the database of its site. Only the season process writes to them."""

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.season.entries.table import Table, V

SCHEMA = 1
BUSY_TIMEOUT_S = 10.0
RESTORE = "croupier did not change it; restore it from a backup of croupier season backup"


class Schema(NamedTuple):
    """The kind of a database: its application number in SQLite, and the statements that create its tables."""

    application: int
    tables: str


def damaged(path: Path, why: object) -> UserError:
    """Return the error of a database that is damaged, or does not belong to a season."""
    return UserError([Problem("E012", str(path), f"cannot be used: {why}", hint=RESTORE)], 3)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Turn errors of SQLite in the block into UserError, which names the file. IntegrityError is not changed."""
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
    """An open database of a season. Each change is on the disk when the outermost `transaction` has ended."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self.path = connection, path
        self._depth = 0

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raise UserError if the file is damaged."""
        with naming(self.path):
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> tuple[Any, ...] | None:
        """Return the first row of a query; None if it finds none. Raise UserError if the file is damaged."""
        found = self.rows(query, *values)
        return found[0] if found else None

    def has(self, table: Table[Any]) -> bool:
        """Return whether a table has been created."""
        return self.row("SELECT 1 FROM sqlite_master WHERE name = ?", table.name) is not None

    def select(self, table: Table[V], condition: str = "", *values: Any) -> list[V]:
        """Return the values of a table that fulfil a condition, for example "WHERE name = ?".

        Raise UserError if the file is damaged.
        """
        rows = self.rows(f"SELECT {table.names} FROM {table.name} {condition}", *values)
        try:
            return [table.value(row) for row in rows]
        except (ValueError, msgspec.MsgspecError) as wrong:
            raise damaged(self.path, wrong) from wrong

    def first(self, table: Table[V], condition: str = "", *values: Any) -> V | None:
        """Return the first value of a table that fulfils a condition; None if there is none."""
        found = self.select(table, f"{condition} LIMIT 1", *values)
        return found[0] if found else None

    def add(self, table: Table[V], value: V) -> None:
        """Add a value to a table as a row. Raise sqlite3.IntegrityError if the table has a row with its key."""
        self.change(table.add, *table.row(value))

    def put(self, table: Table[V], value: V) -> int:
        """Add a value to a table, or replace the row with its key.

        Return 1; 0 if the table has an equal row already.
        """
        return self.change(table.put, *table.row(value))

    def number(self, query: str, *values: Any) -> int:
        """Return the number that a query selects; 0 if that is NULL."""
        (found,) = self.rows(query, *values)[0]
        return int(found or 0)

    def change(self, statement: str, *values: Any) -> int:
        """Run a statement that changes the database. Return the number of changed rows."""
        with self.transaction(), naming(self.path):
            return self._connection.execute(statement, values).rowcount

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Let the changes in the block happen together or not at all.

        An exception undoes them. Blocks may be nested.
        """
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

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let all queries in the block read the same state, even if the season process is writing.

        Use it only for a database that `reading` has opened.
        """
        self.rows("BEGIN")
        try:
            yield
        finally:
            self._connection.rollback()

    def script(self, statements: str) -> None:
        """Run several statements."""
        with naming(self.path):
            self._connection.executescript(statements)

    def copy_to(self, target: Path) -> None:
        """Write a copy of the database, as it is now, into a new file."""
        with naming(self.path):
            self._connection.execute("VACUUM INTO ?", (str(target),))


def _make(path: Path, schema: Schema, mode: str) -> None:
    """Create an empty database completely or not at all."""
    making = path.with_suffix(".making")
    ends = ("-wal", "-shm", "-journal")
    for name in (making, *(path.with_name(f"{each.name}{end}") for each in (making, path) for end in ends)):
        name.unlink(missing_ok=True)  # SQLite would replay a leftover log into the new file
    with contextlib.closing(sqlite3.connect(making)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.executescript(
            f"BEGIN; {schema.tables} PRAGMA application_id = {schema.application}; PRAGMA user_version = {SCHEMA}; COMMIT;"
        )
    making.rename(path)


def check(connection: sqlite3.Connection, path: Path, application: int) -> None:
    """Raise UserError if a file is damaged, is not a database of a season, or has the schema of another croupier."""
    with naming(path):
        (found,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        if found != application:
            raise damaged(path, "it is not the database of a season")
        if schema != SCHEMA:
            raise damaged(path, f"it has schema {schema}, and this croupier reads schema {SCHEMA}")
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(path, found)
        if (missing := connection.execute("PRAGMA foreign_key_check").fetchone()) is not None:
            table, _, parent, _ = missing
            raise damaged(path, f"a row of the table {table} refers to a row of {parent} that is missing")


@contextlib.contextmanager
def writing(path: Path, schema: Schema, mode: str = "WAL") -> Iterator[Database]:
    """Open a database as its only writer; create it if it is missing. Raise UserError if it is damaged.

    `mode` is SQLite's journal mode. Use a mode other than WAL for a file that can be made again: SQLite does not force
    changes to the disk, and waits only one second for a lock.
    """
    with contextlib.ExitStack() as stack, naming(path):
        if not (path.exists() and path.stat().st_size):
            _make(path, schema, mode)
        connection = stack.enter_context(
            contextlib.closing(
                sqlite3.connect(path, timeout=BUSY_TIMEOUT_S if mode == "WAL" else 1.0, isolation_level=None)
            )
        )
        check(connection, path, schema.application)
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute(f"PRAGMA synchronous = {'FULL' if mode == 'WAL' else 'OFF'}")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA temp_store = MEMORY")
        yield Database(connection, path)


@contextlib.contextmanager
def reading(path: Path, application: int) -> Iterator[Database]:
    """Open a database for reading, while the season process may write to it.

    Raise UserError if it is missing or damaged.
    """
    if not (path.exists() and path.stat().st_size):
        raise UserError(
            [Problem("E012", str(path), "does not exist", hint="croupier season open  begins the season")], 3
        )
    with naming(path), contextlib.closing(read_only(path)) as connection:
        check(connection, path, application)
        yield Database(connection, path)


def read_only(path: Path) -> sqlite3.Connection:
    """Open a connection that cannot change the file."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=BUSY_TIMEOUT_S)


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a season during the block. Raise UserError if another process holds it.

    The kernel releases the lock when the process ends.
    """
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
