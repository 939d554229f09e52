"""Stores what has been played: one SQLite file with one writer. Each fixture is stored completely or not at all."""

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import sqlite3
import time
import zlib
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.config_file import OwnName
from host.base.errors import Problem, UserError
from host.bots.values import BankTime, Evidence, Timing
from host.play.records import Record, States
from host.results.changes import Change, Draft, withdrawn
from host.results.journal_schema import BotRow, Kept, json_error, schema_error
from host.results.stage_sums import StageSums
from host.stages import CROUPIERS, Registry

APPLICATION, UNCHANGED, VERSION = 0x63726F75, 2, 3  # "crou"
"""A journal has the format UNCHANGED, and VERSION from its first change on. Versions of croupier that know no changes
refuse the latter, because they would count the fixtures that were set aside."""

SCHEMA = """
CREATE TABLE run    (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bot    (name TEXT PRIMARY KEY, sha256 TEXT NOT NULL, language TEXT NOT NULL, about TEXT NOT NULL);
CREATE TABLE fixture(id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, stage TEXT NOT NULL, about TEXT NOT NULL,
                     at REAL NOT NULL);
CREATE TABLE record (fixture INTEGER PRIMARY KEY REFERENCES fixture, summary BLOB NOT NULL, scores BLOB NOT NULL,
                     answers BLOB NOT NULL, seal BLOB NOT NULL);
CREATE TABLE fault  (id INTEGER PRIMARY KEY, fixture INTEGER NOT NULL REFERENCES fixture, bot TEXT NOT NULL,
                     kind TEXT NOT NULL, evidence BLOB NOT NULL);
CREATE TABLE state  (stage TEXT NOT NULL, bot TEXT NOT NULL, content BLOB NOT NULL, PRIMARY KEY (stage, bot))
                     WITHOUT ROWID;
CREATE INDEX fault_by_bot ON fault(bot, kind);
CREATE INDEX fault_by_fixture ON fault(fixture);
"""
COLUMNS = {
    "run": {"key", "value"},
    "bot": {"name", "sha256", "language", "about"},
    "fixture": {"id", "path", "stage", "about", "at"},
    "record": {"fixture", "summary", "scores", "answers", "seal"},
    "fault": {"id", "fixture", "bot", "kind", "evidence"},
    "state": {"stage", "bot", "content"},
}
TIMED = "CREATE TABLE IF NOT EXISTS timed(fixture INTEGER PRIMARY KEY REFERENCES fixture, times BLOB NOT NULL)"
"""The times of decisions. Older journals do not have this table; they are read without it."""

BEGAN = (
    "CREATE TABLE IF NOT EXISTS began(fixture INTEGER NOT NULL REFERENCES fixture, bot TEXT NOT NULL, "
    "content BLOB NOT NULL, PRIMARY KEY (fixture, bot)) WITHOUT ROWID"
)
"""The state files with lifetime "stage", compressed, as each fixture found them, each only if it differs from the last one
of its bot. Older journals are read without it."""

CHANGES = """
CREATE TABLE change    (id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, what TEXT NOT NULL,
                        stage TEXT NOT NULL, reason TEXT NOT NULL, about TEXT NOT NULL, after INTEGER NOT NULL,
                        seal BLOB NOT NULL);
CREATE TABLE set_aside (fixture INTEGER PRIMARY KEY REFERENCES fixture, change INTEGER NOT NULL REFERENCES change);
CREATE TABLE former_bot(change INTEGER NOT NULL REFERENCES change, name TEXT NOT NULL, sha256 TEXT NOT NULL,
                        language TEXT NOT NULL, about TEXT NOT NULL, PRIMARY KEY (change, name)) WITHOUT ROWID;
CREATE TABLE again     (id INTEGER PRIMARY KEY, path TEXT NOT NULL, stage TEXT NOT NULL, about TEXT NOT NULL,
                        at REAL NOT NULL);
INSERT INTO again SELECT id, path, stage, about, at FROM fixture;
DROP TABLE fixture;
ALTER TABLE again RENAME TO fixture;
CREATE INDEX fixture_by_path ON fixture(path);
"""
"""What the first change adds to a journal: its tables, and a table of fixtures in which a path can be there again."""

CHANGED_COLUMNS = {
    "change": {"id", "at", "kind", "what", "stage", "reason", "about", "after", "seal"},
    "set_aside": {"fixture", "change"},
    "former_bot": {"change", "name", "sha256", "language", "about"},
}
COUNTED = "CREATE TEMP VIEW counted AS SELECT * FROM fixture"
"""The fixtures that count: all of them in a journal without changes."""

BANKED = "CREATE TABLE IF NOT EXISTS banked(fixture INTEGER PRIMARY KEY REFERENCES fixture, banks BLOB NOT NULL)"
"""What was left in the time banks at each question. Older journals do not have this table; they are read without it."""

SUMMED = (
    "CREATE TABLE IF NOT EXISTS summed(stage TEXT PRIMARY KEY, fixture INTEGER NOT NULL, changes INTEGER NOT NULL, "
    "sums BLOB NOT NULL) WITHOUT ROWID"
)
"""The sums over the records of a stage that count, up to a fixture and after a number of changes. They follow from the
records, are not sealed, and no longer count after the next change. Small and older journals do not have this table."""

SUMMED_COLUMNS = {"stage", "fixture", "changes", "sums"}
SUMS_INTERVAL = 1000
"""Number of fixtures after which the sums are stored: it costs the host 10 µs a record, and `status` at most 10 ms."""

pack, unpack = msgspec.msgpack.encode, msgspec.msgpack.decode


class Seal(NamedTuple):
    """The seal of a fixture or of a change, in hexadecimal: the hash of all its rows and of the seal before it."""

    path: str  # of the fixture; empty for a change
    sha256: str
    sound: bool  # whether the rows are those that were sealed, and nothing before them is missing
    fixture: int = 0  # the number of the fixture; 0 for a change
    change: Change | None = None


class Journal:
    """An open journal. Only a journal opened by `writing` can be changed."""

    def __init__(self, database: sqlite3.Connection, path: Path, registry: Registry = CROUPIERS) -> None:
        self._database, self.path, self._registry = database, path, registry
        self._count()

    def _count(self) -> None:
        """Make the view of the fixtures that count."""
        self._database.execute("DROP VIEW IF EXISTS temp.counted")
        aside = " WHERE id NOT IN (SELECT fixture FROM set_aside)" if self._has("set_aside") else ""
        self._database.execute(COUNTED + aside)

    def metadata(self) -> dict[str, str]:
        """Return the metadata of the run: game, rules, seed hash, level, versions, stage states, withdrawn bots.

        A run without a live process is "interrupted", however it ended.
        """
        facts = dict(self._database.execute("SELECT key, value FROM run"))
        facts |= {"game": self._registry.game(facts["game"])} if "game" in facts else {}
        facts["stages"] = OwnName.carrying(facts.get("stages", "[]"), "", self._registry)
        if facts.get("state") == "running" and not lock_holder(self.path):
            facts["state"] = "interrupted"
        if out := withdrawn(self.changes()):
            facts["withdrawn"] = json.dumps(list(out))
        return facts

    def set_metadata(self, facts: Mapping[str, str]) -> None:
        """Write metadata of the run."""
        with self._written():
            self._database.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", facts.items())

    def bots(self, fixture: int | None = None) -> dict[str, dict[str, Any]]:
        """Return the data of each bot by name: its sha256, its language, and what `bot_metadata` returns.

        With the number of a fixture, return the bots as they were when it was played.
        """
        if fixture is None or not self._has("former_bot"):
            rows = self._database.execute("SELECT name, sha256, language, about FROM bot ORDER BY rowid")
        else:
            rows = self._database.execute(f"SELECT name, sha256, language, about FROM {self._bots_then()}", (fixture,))
        return {name: {"sha256": sha, "language": language} | json.loads(about) for name, sha, language, about in rows}

    def add_bot(self, name: str, sha256: str, language: str, about: Mapping[str, Any]) -> None:
        """Add or replace a bot."""
        with self._written():
            row = (name, sha256, language, json.dumps(about))
            self._database.execute("INSERT OR REPLACE INTO bot VALUES (?, ?, ?, ?)", row)

    def remove_bot(self, name: str) -> None:
        """Delete a bot that does not play."""
        with self._written():
            self._database.execute("DELETE FROM bot WHERE name = ?", (name,))

    def add(
        self, stage: str, record: Record, about: Mapping[str, Any], began: States = (), *, with_scores: bool = False
    ) -> None:
        """Add one complete fixture. If it is already there, change nothing.

        `began` has the state files with which it began, without those that the last fixture of the same bot and stage
        began with as well; `record.states` has those that it changed. `with_scores`: `records` returns the scores too.
        """
        with self._written():
            before = bytes.fromhex(self.seal())
            if self.place_of(record.path) is not None:
                return
            row = (record.path, stage, json.dumps(about), time.time())
            fixture = self._database.execute(
                "INSERT INTO fixture(path, stage, about, at) VALUES (?, ?, ?, ?)", row
            ).lastrowid
            self._database.executemany(
                "INSERT INTO fault(fixture, bot, kind, evidence) VALUES (?, ?, ?, ?)",
                [(fixture, piece.bot, piece.kind, pack(piece)) for piece in record.evidence],
            )
            if record.times:
                self._database.execute("INSERT INTO timed VALUES (?, ?)", (fixture, _compress(record.times)))
            if record.banks:
                self._database.execute("INSERT INTO banked VALUES (?, ?)", (fixture, _compress(record.banks)))
            self._database.executemany(
                "INSERT INTO began VALUES (?, ?, ?)",
                [(fixture, bot, zlib.compress(content, 3)) for bot, content in began],
            )
            self._database.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?)",
                [(stage, bot, content) for bot, content in record.states],
            )
            summary = record.summary()._replace(scores=record.scores if with_scores else ())
            kept = (fixture, pack(summary), _compress(record.scores), record.answers)
            self._database.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?)", (*kept, b""))
            seal = self._seal(int(fixture or 0), before)
            self._database.execute("UPDATE record SET seal = ? WHERE fixture = ?", (seal, fixture))
            if int(fixture or 0) % SUMS_INTERVAL == 0:
                self._store_sums(stage)

    def forget_states(self, bot: str) -> None:
        """Delete the state files with lifetime "stage" of a bot."""
        with self._written():
            self._database.execute("DELETE FROM state WHERE bot = ?", (bot,))

    def states(self, stage: str) -> dict[str, bytes]:
        """Return the state files with lifetime "stage", as the last fixture of a stage left them."""
        return dict(self._database.execute("SELECT bot, content FROM state WHERE stage = ?", (stage,)))

    def initial_states(self, path: str) -> dict[str, bytes]:
        """Return the state files with lifetime "stage" as a fixture found them; {} in a journal without this table."""
        if not self._has("began"):
            return {}
        query = (
            "SELECT bot, content, max(began.fixture) FROM fixture AS this "
            "JOIN fixture ON fixture.stage = this.stage AND fixture.id <= this.id "
            "JOIN began ON began.fixture = fixture.id AND bot IN (SELECT value FROM json_each(this.about, '$.bots')) "
            "WHERE this.id IN (SELECT id FROM counted WHERE path = ?) GROUP BY bot"
        )  # a fixture has a row only for a state file that differs from the bot's last one, so the latest row counts
        with reject_corrupt(self.path):
            return {bot: zlib.decompress(content) for bot, content, _ in self._database.execute(query, (path,))}

    def change(self, draft: Draft, then: Callable[[], None] = lambda: None) -> Change:
        """Append a change. Everything is written, also what `then` writes to the journal, or nothing.

        Raise UserError if a fixture to be set aside does not count.
        """
        with self._written():
            self._database.execute("BEGIN IMMEDIATE")
            if not self._has("change"):
                self._database.execute("DROP VIEW temp.counted")  # a view would hinder the renaming
                for statement in CHANGES.split(";"):
                    self._database.execute(statement)
                self._database.execute(f"PRAGMA user_version = {VERSION}")
                self._count()
            before, summed = bytes.fromhex(self.seal()), self._stored_sums()
            (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM fixture").fetchone()
            row = (time.time(), draft.kind, draft.what, draft.stage, draft.reason, json.dumps(draft.about), last, b"")
            number = self._database.execute(
                "INSERT INTO change(at, kind, what, stage, reason, about, after, seal) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ).lastrowid
            for path in draft.set_aside:
                added = self._database.execute(
                    "INSERT INTO set_aside SELECT id, ? FROM counted WHERE path = ?", (number, path)
                )
                if added.rowcount != 1:
                    raise UserError([Problem("R006", path, "has not been played", hint="croupier status")], 3)
            self._database.executemany(
                "INSERT INTO former_bot SELECT ?, name, sha256, language, about FROM bot WHERE name = ?",
                [(number, bot) for bot in draft.former_bots],
            )
            seal = self._seal_of_change(int(number or 0), before)
            self._database.execute("UPDATE change SET seal = ? WHERE id = ?", (seal, number))
            then()
            for stage in summed:
                self._store_sums(stage)
        return self.changes()[-1]

    def changes(self, since: int = 0) -> list[Change]:
        """Return the changes of the run after change number `since`, in their order."""
        if not self._has("change"):
            return []
        query = "SELECT id, at, kind, what, stage, reason, about, after, lower(hex(seal)) FROM change WHERE id > ? ORDER BY id"
        rows = self._database.execute(query, (since,)).fetchall()
        with reject_corrupt(self.path):
            return [Change._make([*row[:6], json.loads(row[6]), *row[7:]]) for row in rows]

    def seals(self) -> Iterator[Seal]:
        """Yield the seal of each fixture and of each change, in their order, and whether it is correct."""
        before, changes = b"", deque(self.changes())
        fixtures = self._database.execute(
            "SELECT fixture.id, path, seal FROM fixture LEFT JOIN record ON fixture.id = record.fixture ORDER BY fixture.id"
        ).fetchall()
        for fixture, path, kept in [*fixtures, (None, "", b"")]:
            while changes and (fixture is None or changes[0].after < fixture):
                change = changes.popleft()
                seal = bytes.fromhex(change.seal)
                sound = seal == self._seal_of_change(change.number, before)
                yield Seal("", change.seal, sound, change=change)
                before = seal
            if fixture is None:
                return
            seal = kept if isinstance(kept, bytes) else b""
            try:
                yield Seal(path, seal.hex(), seal == self._seal(fixture, before), fixture)
            except sqlite3.OperationalError:  # the column `about` is not even JSON
                yield Seal(path, seal.hex(), sound=False, fixture=fixture)
            before = seal

    def seal(self, stage: str | None = None) -> str:
        """Return the seal of what was last played or changed in a stage, or in all; empty if nothing has been played.

        It depends on everything before it. A published seal proves that nothing was changed in secret, or cut off.
        """
        query = (
            "SELECT fixture.id AS after, 0 AS number, seal FROM fixture JOIN record ON fixture.id = record.fixture "
            "WHERE ?1 IS NULL OR stage = ?1"
        )
        if self._has("change"):
            query += " UNION ALL SELECT after, id, seal FROM change WHERE ?1 IS NULL OR stage IN (?1, '')"
        query = f"SELECT lower(hex(seal)) FROM ({query}) ORDER BY after DESC, number DESC LIMIT 1"
        found = self._database.execute(query, (stage,)).fetchone()
        return str(found[0]) if found else ""

    def _seal(self, fixture: int, before: bytes) -> bytes:
        """Return the hash of all rows about a fixture and its bots, and of the seal before it."""
        queries = (
            "SELECT path, stage, about, at FROM fixture WHERE id = ?",
            "SELECT summary, scores, answers FROM record WHERE fixture = ?",
            "SELECT bot, kind, evidence FROM fault WHERE fixture = ? ORDER BY id",
            "SELECT times FROM timed WHERE fixture = ?",
            f"SELECT name, sha256, language, about FROM {self._bots_then()} WHERE name IN "
            "(SELECT value FROM json_each((SELECT about FROM fixture WHERE id = ?1), '$.bots')) ORDER BY name",
            "SELECT key, value FROM run WHERE key IN ('game', 'level', 'seed_sha256') AND ? ORDER BY key",
        )
        rows = [self._database.execute(query, (fixture,)).fetchall() for query in queries]
        began = "SELECT bot, content FROM began WHERE fixture = ? ORDER BY bot"
        if self._has("began") and (states := self._database.execute(began, (fixture,)).fetchall()):
            rows.append(states)
        banked = "SELECT banks FROM banked WHERE fixture = ?"
        if self._has("banked") and (banks := self._database.execute(banked, (fixture,)).fetchall()):
            rows.append(banks)
        return _hash(before, rows)

    def _bots_then(self) -> str:
        """Return a table of the bots as they were when fixture ?1 was played, for a query."""
        if not self._has("former_bot"):
            return "bot"
        return (
            "(SELECT name, former_bot.sha256, former_bot.language, former_bot.about, min(change.id) "
            "FROM former_bot JOIN change ON change.id = former_bot.change WHERE after >= ?1 GROUP BY name "
            "UNION ALL SELECT name, sha256, language, about, 0 FROM bot WHERE name NOT IN (SELECT name "
            "FROM former_bot JOIN change ON change.id = former_bot.change WHERE after >= ?1))"
        )

    def _seal_of_change(self, change: int, before: bytes) -> bytes:
        """Return the hash of all rows about a change, and of the seal before it."""
        queries = (
            "SELECT id, at, kind, what, stage, reason, about, after FROM change WHERE id = ?",
            "SELECT fixture FROM set_aside WHERE change = ? ORDER BY fixture",
            "SELECT name, sha256, language, about FROM former_bot WHERE change = ? ORDER BY name",
        )
        return _hash(before, [self._database.execute(query, (change,)).fetchall() for query in queries])

    def set_aside(self) -> dict[int, int]:
        """Return the numbers of the fixtures that no longer count, each with the number of the change that says so."""
        return dict(self._database.execute("SELECT fixture, change FROM set_aside")) if self._has("set_aside") else {}

    @property
    def begun(self) -> bool:
        """Whether a fixture has been recorded, also if it no longer counts."""
        return self._database.execute("SELECT 1 FROM fixture LIMIT 1").fetchone() is not None

    def paths(self, stage: str | None = None, without: Collection[str] = ()) -> list[str]:
        """Return the paths of the played fixtures that count, in the order in which they ended; none of some bots."""
        query = "SELECT path FROM counted WHERE (?1 IS NULL OR stage = ?1)"
        if without:
            query += " AND NOT EXISTS (SELECT 1 FROM json_each(about, '$.bots') WHERE value IN (SELECT value FROM json_each(?2)))"
        values = (stage, json.dumps([*without])) if without else (stage,)
        return [path for (path,) in self._database.execute(f"{query} ORDER BY id", values)]

    def has_played(self, stage: str) -> bool:
        """Return whether a fixture of a stage has been played."""
        (found,) = self._database.execute("SELECT EXISTS(SELECT 1 FROM counted WHERE stage = ?)", (stage,)).fetchone()
        return bool(found)

    def paths_of(self, stage: str, bot: str) -> list[str]:
        """Return the paths of the played fixtures of a bot in a stage."""
        query = "SELECT path FROM counted WHERE stage = ? AND ? IN (SELECT value FROM json_each(about, '$.bots')) ORDER BY id"
        return [path for (path,) in self._database.execute(query, (stage, bot))]

    def sizes(self, stage: str) -> dict[str, int]:
        """Return the number of tables of every fixture ever recorded in a stage, by path, also of those set aside."""
        query = "SELECT path, json_extract(about, '$.tables') FROM fixture WHERE stage = ? AND json_valid(about)"
        return {path: int(tables) for path, tables in self._database.execute(query, (stage,)) if type(tables) is int}

    def place_of(self, path: str) -> tuple[str, int] | None:
        """Return the stage of a played fixture and its number, from 1 in the order in which fixtures ended."""
        row = self._database.execute("SELECT stage, id FROM counted WHERE path = ?", (path,)).fetchone()
        return None if row is None else (row[0], row[1])

    def path_of(self, number: int) -> str | None:
        """Return the path of the fixture with this number; None if there is none, or if it no longer counts."""
        row = self._database.execute("SELECT path FROM counted WHERE id = ?", (number,)).fetchone()
        return None if row is None else row[0]

    def records(self, stage: str | None = None) -> Iterator[tuple[int, Record]]:
        """Yield the id and the record of each fixture in the order of their paths.

        The records have no answers and evidence, and in most stages no scores.
        """
        return self._records("WHERE ?1 IS NULL OR stage = ?1 ORDER BY path", (stage,))

    def records_since(self, stage: str, since: int = 0) -> Iterator[tuple[int, Record]]:
        """Yield the same of each fixture of a stage after the one with id `since`, in the order in which they ended."""
        return self._records("WHERE stage = ?1 AND counted.id > ?2 ORDER BY counted.id", (stage, since))

    def _records(self, where: str, values: tuple[Any, ...]) -> Iterator[tuple[int, Record]]:
        query = f"SELECT counted.id, path, summary FROM counted JOIN record ON counted.id = record.fixture {where}"
        entered = {name for (name,) in self._database.execute("SELECT name FROM bot")}
        decode = msgspec.msgpack.Decoder(Record).decode
        for fixture, path, summary in self._database.execute(query, values):
            try:
                record = decode(summary)
                if record.path != path:
                    raise ValueError(f"the record of {path!r} is that of {record.path!r}")
                if not record.results.keys() <= entered:
                    stranger = min(record.results.keys() - entered)
                    raise ValueError(f"{record.path} was played by {stranger!r}, which is not in the list of bots")
            except (ValueError, TypeError) as damaged:  # a context manager would take longer than decoding
                raise UserError([_refusal(self.path, f"is damaged: {damaged}")], 3) from damaged
            yield fixture, record

    def sums(self, stage: str) -> StageSums:
        """Return the sums over the records of a stage that count: those stored, and the records after them."""
        since, stored = self._stored_sums().get(stage, (0, b""))
        found = StageSums()
        if stored:
            with reject_corrupt(self.path):
                found = msgspec.msgpack.decode(stored, type=StageSums)
        for _, record in self.records_since(stage, since):
            found.add(record)
        return found

    def wrong_sums(self) -> Iterator[str]:
        """Yield the stages whose stored sums are not those of their records."""
        for stage, (last, sums) in self._stored_sums().items():
            found = StageSums()
            for fixture, record in self.records_since(stage):
                if fixture <= last:
                    found.add(record)
            if pack(found) != sums:
                yield stage

    def _stored_sums(self) -> dict[str, tuple[int, bytes]]:
        """Return the stored sums of each stage, with the last fixture in them; none from before the last change."""
        if not self._has("summed"):
            return {}
        query = "SELECT stage, fixture, sums FROM summed WHERE changes = ?"
        rows = self._database.execute(query, (len(self.changes()),))
        with reject_corrupt(self.path):
            return {stage: msgspec.convert((fixture, sums), tuple[int, bytes]) for stage, fixture, sums in rows}

    def _store_sums(self, stage: str) -> None:
        """Store the sums over all records of a stage."""
        self._database.execute(SUMMED)
        (last,) = self._database.execute(
            "SELECT coalesce(max(id), 0) FROM counted WHERE stage = ?", (stage,)
        ).fetchone()
        with contextlib.suppress(OverflowError):  # no honest sum has more than 64 bits
            row = (stage, last, len(self.changes()), pack(self.sums(stage)))
            self._database.execute("INSERT OR REPLACE INTO summed VALUES (?, ?, ?, ?)", row)

    def stage_records(self, stage: str) -> "StageRecords":
        """Return the records of a stage, as a mapping that follows what is added to the journal."""
        return StageRecords(self, self._database, stage)

    def first_number(self, stage: str) -> int | None:
        """Return the number of the first fixture of a stage, also if it no longer counts; None if none was played."""
        found = self._database.execute("SELECT min(id) FROM fixture WHERE stage = ?", (stage,)).fetchone()
        return None if found is None else found[0]

    def full_record(self, path: str, fixture: int | None = None) -> tuple[Record, dict[str, Any]] | None:
        """Return the complete record of a fixture, and its description; None if it has not been played.

        With the number of a fixture, return that record of the path, also if it no longer counts.
        """
        query = (
            "SELECT fixture.id, summary, scores, answers, about FROM fixture JOIN record ON fixture.id = record.fixture "
            "WHERE path = ?1 AND (fixture.id = ?2 OR ?2 IS NULL AND fixture.id IN (SELECT id FROM counted WHERE path = ?1))"
        )
        row = self._database.execute(query, (path, fixture)).fetchone()
        if row is None:
            return None
        number, summary, scores, answers, about = row
        with reject_corrupt(self.path):
            record = msgspec.msgpack.decode(summary, type=Record)._replace(
                scores=decompress_scores(scores), answers=answers
            )
        pieces = tuple(piece for _, _, piece in self._evidence("fixture", "WHERE fixture.id = ?", (number,)))
        return record._replace(evidence=pieces, banks=self._banks(number)), self._kept(about)

    def scores_of(self, path: str) -> tuple[dict[str, Any], bytes]:
        """Return the description of a fixture, and its scores, compressed (see `decompress_scores`)."""
        query = "SELECT about, scores FROM counted JOIN record ON counted.id = record.fixture WHERE path = ?"
        row = self._database.execute(query, (path,)).fetchone()
        if row is None:
            raise UserError([_refusal(self.path, f"is damaged: it has no scores of {path}")], 3)
        return self._kept(row[0]), row[1]

    def _kept(self, about: str) -> dict[str, Any]:
        if wrong := json_error(about, Kept):
            raise UserError([_refusal(self.path, f"is damaged: the description of a fixture: {wrong}")], 3)
        kept: dict[str, Any] = json.loads(about)
        return kept | {"game": self._registry.game(kept["game"])}

    def times(self, path: str) -> tuple[Timing, ...]:
        """Return the times of decisions at the first tables of a fixture; () if the journal has none."""
        query = "SELECT times FROM timed JOIN counted ON counted.id = timed.fixture WHERE path = ?"
        if not self._has("timed"):
            return ()
        row = self._database.execute(query, (path,)).fetchone()
        with reject_corrupt(self.path):
            return msgspec.msgpack.decode(zlib.decompress(row[0]), type=tuple[Timing, ...]) if row else ()

    def _banks(self, fixture: int) -> tuple[BankTime, ...]:
        """Return what was left in the time banks at each question of a fixture; () if its bots have none."""
        if not self._has("banked"):
            return ()
        row = self._database.execute("SELECT banks FROM banked WHERE fixture = ?", (fixture,)).fetchone()
        with reject_corrupt(self.path):
            return msgspec.msgpack.decode(zlib.decompress(row[0]), type=tuple[BankTime, ...]) if row else ()

    def evidence(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[tuple[int, str, Evidence]]:
        """Yield the id, fixture path and evidence of faults and of the slowest decisions, in fixtures that count."""
        return self._evidence("counted", where, values)

    def _evidence(self, table: str, where: str, values: tuple[Any, ...]) -> Iterator[tuple[int, str, Evidence]]:
        query = f"SELECT fault.id, path, evidence FROM fault JOIN {table} ON {table}.id = fault.fixture {where} ORDER BY fault.id"
        for number, path, piece in self._database.execute(query, values):
            with reject_corrupt(self.path):
                evidence = msgspec.msgpack.decode(piece, type=Evidence)
            yield number, path, evidence

    def _has(self, table: str) -> bool:
        """Return whether the journal has this table; older journals may not have it."""
        return self._database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is not None

    @contextlib.contextmanager
    def _written(self) -> Iterator[None]:
        """Commit all that the block writes, or nothing. Raise UserError if writing fails, for example on a full disk."""
        if self._database.in_transaction:  # the block is part of a larger one
            yield
            return
        try:
            with self._database:
                yield
        except sqlite3.OperationalError as failed:
            raise UserError([_unwritable(self.path, str(failed))], 6) from failed


class StageRecords(Mapping[str, Record]):
    """The records of a stage by path, without answers, scores and evidence. Each is read from the journal when it is used."""

    def __init__(self, journal: Journal, database: sqlite3.Connection, stage: str) -> None:
        self._journal, self._database, self._stage = journal, database, stage

    def __getitem__(self, path: str) -> Record:
        query = "SELECT summary FROM counted JOIN record ON counted.id = record.fixture WHERE path = ? AND stage = ?"
        row = self._database.execute(query, (path, self._stage)).fetchone()
        if row is None:
            raise KeyError(path)
        with reject_corrupt(self._journal.path):
            return msgspec.msgpack.decode(row[0], type=Record)

    def __contains__(self, path: object) -> bool:
        query = "SELECT 1 FROM counted WHERE path = ? AND stage = ?"
        return self._database.execute(query, (path, self._stage)).fetchone() is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._journal.paths(self._stage))

    def __len__(self) -> int:
        (count,) = self._database.execute("SELECT count(*) FROM counted WHERE stage = ?", (self._stage,)).fetchone()
        return int(count)


@contextlib.contextmanager
def reject_corrupt(path: Path | str) -> Iterator[None]:
    """Raise UserError if the block cannot decode a row. A row that SQLite can read may still contain anything."""
    try:
        yield
    except (ValueError, TypeError, zlib.error) as damaged:  # msgspec's errors are ValueErrors
        raise UserError([_refusal(path, f"is damaged: {damaged}")], 3) from damaged


def _hash(before: bytes, rows: Sequence[Any]) -> bytes:
    return hashlib.sha256(before + repr(rows).encode("utf-8", "surrogateescape")).digest()


def _compress(scores: Sequence[tuple[int, ...]]) -> bytes:
    return zlib.compress(pack(scores), 3)


def decompress_scores(squeezed: bytes) -> tuple[tuple[int, ...], ...]:
    """Return the scores of a fixture's tables from their compressed form."""
    with reject_corrupt("the journal"):
        return msgspec.msgpack.decode(zlib.decompress(squeezed), type=tuple[tuple[int, ...], ...])


def _checked(path: Path, registry: Registry) -> None:
    """Raise UserError if a file is not a journal, is damaged, or has another format version. It is not changed."""
    try:
        with _connected(path) as database:
            (application,) = database.execute("PRAGMA application_id").fetchone()
            (version,) = database.execute("PRAGMA user_version").fetchone()
            (health,) = database.execute("PRAGMA quick_check(1)").fetchone()
            readable = application == APPLICATION and version in (UNCHANGED, VERSION) and health == "ok"
            wrong = _misfit(database, version, registry) if readable else ""
    except sqlite3.DatabaseError as broken:
        raise UserError([_refusal(path, f"is not a journal: {broken}")], 3) from broken
    if application != APPLICATION:
        raise UserError([_refusal(path, "is a database, but not a journal of croupier")], 3)
    if version > VERSION:
        reads = f"this version reads {VERSION}"
        raise UserError([_refusal(path, f"was written by a newer croupier (format {version}; {reads})")], 3)
    if version < UNCHANGED:
        raise UserError(
            [_refusal(path, f"was written by an older croupier (format {version}; this version reads {UNCHANGED})")], 3
        )
    if health != "ok":
        raise UserError([_refusal(path, f"is damaged: {health}")], 3)
    if wrong:
        raise UserError([_refusal(path, f"is damaged: {wrong}")], 3)


def _misfit(database: sqlite3.Connection, version: int, registry: Registry) -> str:
    """Return what is missing or malformed in a journal of this format; empty if nothing is."""
    tables = COLUMNS | (CHANGED_COLUMNS if version == VERSION else {})
    if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'summed'").fetchone():
        tables |= {"summed": SUMMED_COLUMNS}
    for table, columns in tables.items():
        found = {name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}
        if lacking := columns - found:
            return f"it has no {table}.{min(lacking)}"
    (played,) = database.execute("SELECT EXISTS(SELECT 1 FROM fixture)").fetchone()
    if wrong := schema_error(dict(database.execute("SELECT key, value FROM run")), played, registry):
        return wrong
    query = (
        "SELECT path, typeof(path) = 'text' AND typeof(stage) = 'text' FROM fixture LEFT JOIN record "
        "ON fixture.id = record.fixture WHERE record.fixture IS NULL OR typeof(path) != 'text' OR typeof(stage) != 'text'"
    )  # one query, because it goes through all fixtures
    for path, is_text in database.execute(f"{query} LIMIT 1"):
        return f"it has no record of {path!r}" if is_text else f"a fixture's path or stage is not text: {path!r}"
    for *said, about in database.execute("SELECT name, sha256, language, about FROM bot"):
        if not all(isinstance(each, str) for each in said) or (wrong := json_error(about, BotRow)):
            return f"the entry of the bot {said[0]!r}: {wrong or 'not text'}"
    return _wrong_change(database) if version == VERSION else ""


def _wrong_change(database: sqlite3.Connection) -> str:
    """Return what is malformed in the changes of a journal; empty if nothing is."""
    query = "SELECT id, at, after, seal, kind, what, stage, reason, about FROM change ORDER BY id"
    for number, at, after, seal, *texts in database.execute(query):
        if not (isinstance(at, float) and isinstance(after, int) and isinstance(seal, bytes)):
            return f"change {number} has no time, place or seal"
        if not all(isinstance(each, str) for each in texts) or (wrong := json_error(texts[-1], dict[str, Any])):
            return f"change {number}: {wrong or 'not text'}"
    twice = "SELECT path FROM fixture WHERE id NOT IN (SELECT fixture FROM set_aside) GROUP BY path HAVING count(*) > 1"
    for (path,) in database.execute(f"{twice} LIMIT 1"):
        return f"it has two records of {path!r} that count"
    return ""


def _connected(path: Path) -> contextlib.closing[sqlite3.Connection]:
    """Connect for reading only. A journal that nobody can write, for example on read-only media, is read without a lock."""
    log, _index = wal_files(path)
    still = not os.access(path.parent, os.W_OK) and not (log.exists() and log.stat().st_size)
    how = "mode=ro&immutable=1" if still else "mode=ro"
    return contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?{how}", uri=True, timeout=10))


def _refusal(path: Path | str, what: str) -> Problem:
    return Problem(
        "R005", str(path), what, hint="croupier did not change it; move it away, or restore it from a backup"
    )


def _unwritable(path: Path, why: str) -> Problem:
    hint = "finished fixtures are saved; check the disk and the folder's permissions, then continue"
    return Problem("R009", str(path), f"cannot be written: {why}", hint=hint)


@contextlib.contextmanager
def reading(path: Path, registry: Registry = CROUPIERS) -> Iterator[Journal]:
    """Open a journal for reading; a run may be writing it. Raise UserError if it is missing or not a journal.

    `registry` knows what the names in it stand for.
    """
    if not path.exists() or not path.stat().st_size:
        problem = Problem("R006", str(path), "nothing has been played here yet", hint="croupier run")
        raise UserError([problem], 3)
    with path.open("rb"):  # SQLite does not tell why it cannot open a file; the system does
        pass
    _checked(path, registry)
    with _connected(path) as database:
        yield Journal(database, path, registry)


@contextlib.contextmanager
def writing(path: Path, registry: Registry = CROUPIERS, fresh: Callable[[], None] | None = None) -> Iterator[Journal]:
    """Open a journal as its only writer; create it if it is missing. Raise UserError if another process writes it.

    `fresh` is called under the lock, before anything is opened, to delete the earlier run.
    """
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(path.with_suffix(".lock")))
            if fresh is not None:
                fresh()
            if path.exists() and path.stat().st_size:
                _checked(path, registry)
            else:
                _make(path)
            database = stack.enter_context(contextlib.closing(sqlite3.connect(path, timeout=10)))
            database.execute("PRAGMA synchronous = NORMAL")
            database.execute(TIMED)
            database.execute(BEGAN)
            database.execute(BANKED)
        except (OSError, sqlite3.OperationalError) as failed:
            raise UserError([_unwritable(path, getattr(failed, "strerror", None) or str(failed))], 6) from failed
        yield Journal(database, path, registry)


def _make(path: Path) -> None:
    """Create an empty journal completely or not at all: a process killed on the way leaves no partial journal."""
    making = path.with_suffix(".making")
    for stale in (making, *wal_files(making), *wal_files(path)):
        stale.unlink(missing_ok=True)  # SQLite would replay a leftover log into the new file
    with contextlib.closing(sqlite3.connect(making)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            f"BEGIN; {SCHEMA} PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {UNCHANGED}; COMMIT;"
        )
    making.rename(path)


def wal_files(path: Path) -> tuple[Path, Path]:
    """Return the files that SQLite writes next to a journal: its write-ahead log, and the index of that log."""
    return path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")


def lock_holder(path: Path) -> str:
    """Return the process that is writing a journal, from its lock file; empty if there is none."""
    try:
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "somebody"
    finally:
        os.close(descriptor)
    return ""


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a run and write the holder into it. The kernel releases it when the process ends."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {platform.node()} since {time.strftime('%H:%M:%S')}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path) -> None:
    """Take a lock; raise UserError if it is held. `lock_holder` also holds it for a moment, so try three times."""
    for patience in (0.05, 0.1, None):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            if patience is None:
                holds = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
                raise UserError([in_use(path.parent, holds)], 5) from taken
            time.sleep(patience)


def in_use(place: Path, holds: str) -> Problem:
    """Return the problem of a run that another process is playing."""
    return Problem("R003", str(place), f"is in use by {holds}", hint="croupier watch")
