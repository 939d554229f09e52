"""What has been played: one SQLite file, one writer, a fixture whole or not at all."""

import contextlib
import fcntl
import json
import os
import platform
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from host.bots.told import Evidence
from host.problems import Problem, Refused
from host.record import Record

APPLICATION, VERSION = 0x63726F75, 1  # "crou"
SCHEMA = """
CREATE TABLE run    (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bot    (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, language TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE fixture(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stage TEXT NOT NULL, about TEXT NOT NULL,
                     at REAL NOT NULL);
CREATE TABLE record (fixture INTEGER PRIMARY KEY REFERENCES fixture, summary BLOB NOT NULL, scores BLOB NOT NULL,
                     answers BLOB NOT NULL);
CREATE TABLE fault  (id INTEGER PRIMARY KEY, fixture INTEGER NOT NULL REFERENCES fixture, bot TEXT NOT NULL,
                     kind TEXT NOT NULL, evidence BLOB NOT NULL);
CREATE INDEX fault_by_bot ON fault(bot, kind);
"""
pack, unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Journal:
    """An open journal. Only `writing` gives one that can be added to."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._database, self.path = database, path

    def facts(self) -> dict[str, str]:
        """Return what is known of the run: game, rules, seed hash, level, versions, stage states."""
        return dict(self._database.execute("SELECT key, value FROM run"))

    def note(self, facts: Mapping[str, str]) -> None:
        """Write facts of the run."""
        with self._database:
            self._database.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", facts.items())

    def bots(self) -> dict[str, dict[str, Any]]:
        """Return what each bot is: sha256, language and what it said about itself."""
        rows = self._database.execute("SELECT name, sha256, language, about FROM bot ORDER BY rowid")
        return {name: {"sha256": sha, "language": language} | json.loads(about) for name, sha, language, about in rows}

    def enter(self, name: str, sha256: str, language: str, about: Mapping[str, Any]) -> None:
        """Write down a bot."""
        with self._database:
            row = (name, sha256, language, json.dumps(about))
            self._database.execute("INSERT OR REPLACE INTO bot VALUES (?, ?, ?, ?)", row)

    def add(self, stage: str, record: Record, about: Mapping[str, Any]) -> None:
        """Add one fixture, whole; a fixture that is there already stays as it is."""
        summary = record._replace(evidence=(), scores=(), answers=b"")
        with self._database:
            row = (record.path, stage, json.dumps(about), time.time())
            added = self._database.execute(
                "INSERT OR IGNORE INTO fixture(path, stage, about, at) VALUES (?, ?, ?, ?)", row
            )
            if not added.rowcount:
                return
            fixture = added.lastrowid
            self._database.execute(
                "INSERT INTO record VALUES (?, ?, ?, ?)",
                (fixture, pack(summary), _squeezed(record.scores), record.answers),
            )
            self._database.executemany(
                "INSERT INTO fault(fixture, bot, kind, evidence) VALUES (?, ?, ?, ?)",
                [(fixture, piece.bot, piece.kind, pack(piece)) for piece in record.evidence],
            )

    def paths(self, stage: str | None = None) -> list[str]:
        """Return the paths of the fixtures that have been played, in the order in which they ended."""
        query = "SELECT path FROM fixture WHERE ?1 IS NULL OR stage = ?1 ORDER BY id"
        return [path for (path,) in self._database.execute(query, (stage,))]

    def records(self, stage: str | None = None, since: int = 0) -> Iterator[tuple[int, Record]]:
        """Yield the id and the record of each fixture, without its answers, scores and evidence."""
        query = (
            "SELECT fixture.id, summary FROM fixture JOIN record ON fixture.id = record.fixture "
            "WHERE (?1 IS NULL OR stage = ?1) AND fixture.id > ?2 ORDER BY fixture.path"
        )
        for fixture, summary in self._database.execute(query, (stage, since)):
            yield fixture, msgspec.msgpack.decode(summary, type=Record)

    def whole(self, path: str) -> tuple[Record, dict[str, Any]] | None:
        """Return a fixture's record with everything, and what it was about; None when it has not been played."""
        query = (
            "SELECT fixture.id, summary, scores, answers, about FROM fixture JOIN record ON fixture.id = record.fixture "
            "WHERE path = ?"
        )
        row = self._database.execute(query, (path,)).fetchone()
        if row is None:
            return None
        fixture, summary, scores, answers, about = row
        record = msgspec.msgpack.decode(summary, type=Record)
        pieces = tuple(piece for _, _, piece in self.evidence("WHERE fixture.id = ?", (fixture,)))
        return record._replace(scores=_spread(scores), answers=answers, evidence=pieces), json.loads(about)

    def evidence(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[tuple[int, str, Evidence]]:
        """Yield id, fixture path and evidence of faults and slowest decisions."""
        query = f"SELECT fault.id, path, evidence FROM fault JOIN fixture ON fixture.id = fault.fixture {where} ORDER BY fault.id"
        for number, path, piece in self._database.execute(query, values):
            yield number, path, msgspec.msgpack.decode(piece, type=Evidence)


def _squeezed(scores: tuple[tuple[int, ...], ...]) -> bytes:
    return zlib.compress(pack(scores), 3)


def _spread(squeezed: bytes) -> tuple[tuple[int, ...], ...]:
    return msgspec.msgpack.decode(zlib.decompress(squeezed), type=tuple[tuple[int, ...], ...])


def _checked(path: Path) -> None:
    """Raise Refused when a file is no journal of ours, is damaged, or is newer than we are; it is not touched."""
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (health,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as broken:
        raise Refused([_refusal(path, f"is no journal: {broken}")], 3) from broken
    if application != APPLICATION:
        raise Refused([_refusal(path, "is a database, but not a journal of croupier")], 3)
    if version > VERSION:
        raise Refused(
            [_refusal(path, f"was written by a newer croupier (format {version}, this one knows {VERSION})")], 3
        )
    if health != "ok":
        raise Refused([_refusal(path, f"is damaged: {health}")], 3)


def _refusal(path: Path, what: str) -> Problem:
    return Problem("R005", str(path), what, hint="it was left untouched; move it away, or restore it from a copy")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[Journal]:
    """Open a journal for reading, while a run may be writing it. Raise Refused when it is none or there is none."""
    if not path.exists():
        problem = Problem("R006", str(path), "nothing has been played here yet", hint="croupier run")
        raise Refused([problem], 3)
    _checked(path)
    with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=10)) as database:
        yield Journal(database, path)


@contextlib.contextmanager
def writing(path: Path, fresh: Callable[[], None] | None = None) -> Iterator[Journal]:
    """Open a journal as its one writer, making it if need be. Raise Refused when somebody else writes it.

    `fresh` is called under the lock, before anything is opened, to throw away what was there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.with_suffix(".lock")):
        if fresh is not None:
            fresh()
        if path.exists() and path.stat().st_size:
            _checked(path)
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            if not database.execute("PRAGMA application_id").fetchone()[0]:
                database.executescript(
                    f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
                )
            yield Journal(database, path)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the run's lock, which says who holds it; the kernel lets go of it with the process."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            holder = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
            problem = Problem("R003", str(path.parent), f"is in use by {holder}", hint="croupier status")
            raise Refused([problem], 5) from taken
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {platform.node()} since {time.strftime('%H:%M:%S')}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)
