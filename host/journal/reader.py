"""Reads the state and the records of a run from its journal, which is one SQLite file."""

import contextlib
import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.bounded_zlib import decompress
from host.base.errors import Problem, UserError, nothing_played
from host.bots.values import BankTime, Evidence, Timing
from host.games.engine import Game
from host.journal.chain import SALT_BYTES
from host.journal.changes import WITHDRAW, Change, withdrawn
from host.journal.check import (
    check_file,
    connected,
    does_not_fit,
    has_begun,
    journal_exists,
    refusal,
    reject_corrupt,
    stored_state,
)
from host.journal.descriptions import Description, read_description, stored_value
from host.journal.kept_lines import kept_lines, kept_lines_file
from host.journal.lock import lock_holder
from host.journal.schema import COUNTED
from host.journal.seals import Link, Seals
from host.journal.stage_sums import StageSums
from host.journal.state import RecordedBot, RunState, RunStatus, Withdrawn, bot_from_row, run_rows, stage_rows
from host.play.lines import lines_of
from host.play.records import Fixture, Record, Undecided, UnpackedLimits, read_summary, undecided_record
from host.stages import CROUPIERS, Registry, as_counted_by
from host.stages.kind import BLANK

pack = msgspec.msgpack.encode


class Version(NamedTuple):
    """A version of a bot, as it was entered. `sha256` is the hash of the built program."""

    number: int
    bot: str
    sha256: str
    entered: float  # seconds since 1970
    entered_by: str  # the user that entered it
    replaces: int | None  # the number of the version whose place it took


class UndecidedFixture(NamedTuple):
    """A fixture without a result, because its game has failed. `number` counts such failures from 1."""

    number: int
    path: str
    stage: str
    game: str
    bots: tuple[str, ...]
    at: float  # seconds since 1970
    why: Undecided

    @property
    def record(self) -> Record:
        """Return the record of the fixture, with results of 0."""
        return undecided_record(self.path, self.bots, self.why)

    def json(self) -> dict[str, Any]:
        """Return the values of the fixture for JSON output, by key."""
        why = self.why
        return {
            "fixture": self.path,
            "stage": self.stage,
            "at": self.at,
            "table": why.table or None,
            "answer": why.answer,
            "bots": list(why.given_by),
            "reason": why.reason,
            "where": why.where or None,
            "cause": why.cause,
        }


FIRST = """\
SELECT stage, min(number) FROM (
    SELECT stage, 'fixture' AS kind, min(id) AS ref FROM fixture GROUP BY stage
    UNION ALL SELECT stage, 'undecided', min(id) FROM undecided GROUP BY stage
) JOIN chain USING (kind, ref) GROUP BY stage"""
"""Selects the number of the first entry in the chain of each stage that has begun, even if all its fixtures are undecided."""


class Journal:
    """An open journal, for reading. `JournalWriter` can change it."""

    def __init__(self, database: sqlite3.Connection, path: Path, registry: Registry = CROUPIERS) -> None:
        self._database, self.path, self.registry = database, path, registry
        self._seals = Seals(database, cache(lambda: kept_lines(path)))
        self._database.execute(COUNTED)

    def state(self) -> RunState:
        """Return the state of the run. If no process plays it, the status RUNNING is returned as INTERRUPTED.

        Raise UserError if the journal is damaged.
        """
        with reject_corrupt(self.path):
            found = stored_state(self._database, self.registry)
        if found.status is RunStatus.RUNNING and not lock_holder(self.path):
            found = replace(found, status=RunStatus.INTERRUPTED)
        changes = self.changes()
        if not any(change.kind == WITHDRAW for change in changes):
            return replace(found, changes=changes)
        first: dict[str, int] = dict(self._database.execute(FIRST))
        order: dict[int, int] = dict(self._database.execute("SELECT ref, number FROM chain WHERE kind = 'change'"))
        numbered = [(order.get(change.number, 0), change) for change in changes]
        stages = tuple(
            replace(stage, withdrawn=_withdrawn([stage.name for stage in found.stages[number:]], first, numbered))
            for number, stage in enumerate(found.stages)
        )
        return replace(found, stages=stages, changes=changes)

    def bots(self, fixture: int | None = None) -> dict[str, RecordedBot]:
        """Return the newest version of each bot, by bot name, in the order in which the bots were entered.

        With the number of a fixture, return the versions that played at that time. Raise UserError if the journal is
        damaged.
        """
        query = (
            "SELECT name, sha256, language, about FROM version JOIN "
            "(SELECT min(id) AS first, max(id) AS last FROM version WHERE ?1 IS NULL OR after < ?1 GROUP BY name) "
            "ON id = last ORDER BY first"
        )
        rows = self._database.execute(query, (fixture,))
        with reject_corrupt(self.path):
            return {row[0]: bot_from_row(*row) for row in rows}

    def versions(self) -> list[Version]:
        """Return all versions of all bots, in the order in which they were entered."""
        query = "SELECT id, name, sha256, entered, entered_by, replaces FROM version ORDER BY id"
        with reject_corrupt(self.path):
            return [msgspec.convert(row, Version) for row in self._database.execute(query)]

    @cached_property
    def game(self) -> Game:
        """Return the game of the run; it never changes. Raise UserError (exit code 3) if its code is missing here."""
        return self.registry.game(self.state().game)

    def undecided(self, stage: str | None = None) -> list[UndecidedFixture]:
        """Return the fixtures without a result, of one stage or of all stages, in the order of the failures."""
        return self._undecided("?1 IS NULL OR stage = ?1", stage)

    def undecided_at(self, path: str) -> UndecidedFixture | None:
        """Return the fixture with this path if it has no result; otherwise None."""
        return next(iter(self._undecided("path = ?1", path)), None)

    def _undecided(self, where: str, value: str | None) -> list[UndecidedFixture]:
        query = f"SELECT id, path, stage, about, at, why FROM undecided WHERE open AND ({where}) ORDER BY id"
        with reject_corrupt(self.path):
            return [
                UndecidedFixture(
                    number, path, stage, told.game, told.bots, at, msgspec.msgpack.decode(why, type=Undecided)
                )
                for number, path, stage, about, at, why in self._database.execute(query, (value,))
                for told in [self._described(about)]
            ]

    def states(self, stage: str) -> dict[str, bytes]:
        """Return the contents of the state files with lifetime "stage" after a stage's last fixture, by bot name."""
        return self._states(stage, None)

    def initial_states(self, path: str) -> dict[str, bytes]:
        """Return the contents of the state files with lifetime "stage" before a fixture, by bot name.

        A bot's first fixture begins with an empty file. Return {} if no fixture with this path counts.
        """
        place = self.place_of(path)
        if place is None:
            return {}
        stage, number = place
        left, seated = self._states(stage, number), self.fixture(path).bots
        return {name: left.get(name, b"") for name, bot in self.bots(number).items() if bot.lasting and name in seated}

    def _states(self, stage: str, before: int | None) -> dict[str, bytes]:
        """Return the contents of the state files after a stage's fixtures, by bot name.

        `before`: use only the fixtures with a lower number.
        """
        query = (
            "SELECT bot, content, max(state.fixture) FROM state JOIN fixture ON fixture.id = state.fixture "
            "WHERE stage = ?1 AND (?2 IS NULL OR fixture.id < ?2) AND fixture.id > "
            "(SELECT max(after) FROM version WHERE name = bot AND (?2 IS NULL OR after < ?2)) GROUP BY bot"
        )  # a new version begins with an empty file
        with reject_corrupt(self.path):
            return {bot: decompress(content) for bot, content, _ in self._database.execute(query, (stage, before))}

    def changes(self, since: int = 0) -> list[Change]:
        """Return the changes of the run after change number `since`, in their order."""
        query = (
            "SELECT id, at, change.kind, what, stage, reason, about, after, coalesce(seal, '') FROM change "
            "LEFT JOIN chain ON chain.kind = 'change' AND ref = id WHERE id > ? ORDER BY id"
        )
        rows = self._database.execute(query, (since,)).fetchall()
        with reject_corrupt(self.path):
            return [Change._make([*row[:6], stored_value(row[6], dict[str, Any]), *row[7:]]) for row in rows]

    def copy_to(self, target: Path) -> None:
        """Write a copy of the journal, as it is now, into a new file. A run may be writing the journal meanwhile."""
        with reject_corrupt(self.path):
            self._database.execute("VACUUM INTO ?", (str(target),))

    @property
    def reduced(self) -> bool:
        """Whether the answers have been removed to save space (`remove_answers`)."""
        return kept_lines_file(self.path).exists()

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let the block read the journal as it is at one moment, although a run may be writing it.

        Only for a journal opened by `reading`.
        """
        if self._database.in_transaction:  # the live page opens its journal in one
            yield
            return
        self._database.execute("BEGIN")
        try:
            yield
        finally:
            self._database.rollback()

    def entries(self) -> Iterator[Link]:
        """Yield the entries of the chain in order. `Link.sound` says whether an entry still matches its seal."""
        return self._seals.entries()

    def unsealed(self) -> Iterator[str]:
        """Yield a sentence for each difference between the run's state and the chain.

        Also yield a sentence for each row without an entry in the chain, and for each row that croupier would write in
        another form.
        """
        state = self.state()
        yield from self._seals.differences(state)
        stored = dict(self._database.execute("SELECT key, value FROM run WHERE key != 'status'"))
        other = {key for key, _ in stored.items() ^ run_rows(state).items()} - {"status"}
        yield from (f"run: {key} is missing, or not spelled as croupier spells it" for key in sorted(other))
        rows = self._database.execute("SELECT * FROM stage ORDER BY number").fetchall()
        for row, due in zip(rows, stage_rows(state), strict=True):
            if row != due:
                yield f"stage {due.name}: its row is not spelled as croupier spells it"

    def seal(self, stage: str | None = None) -> str:
        """Return the last seal of a stage, or of the run if `stage` is None; empty if nothing has been played.

        A seal depends on all entries before it. With a published seal, everybody can detect that an entry before it was
        changed or removed.
        """
        return self._seals.last(stage)

    def set_aside(self) -> dict[int, int]:
        """Return the number of the change that set a fixture aside, by fixture number."""
        return dict(self._database.execute("SELECT fixture, change FROM set_aside"))

    @property
    def begun(self) -> bool:
        """Whether a fixture has been recorded, even if it no longer counts or has no result."""
        return has_begun(self._database)

    def paths(self, stage: str | None = None, without: Collection[str] = ()) -> list[str]:
        """Return the paths of the fixtures that count, in the order in which they ended.

        Omit the fixtures in which a bot in `without` plays.
        """
        query = "SELECT path FROM counted WHERE (?1 IS NULL OR stage = ?1)"
        if without:
            query += " AND NOT EXISTS (SELECT 1 FROM json_each(about, '$.bots') WHERE value IN (SELECT value FROM json_each(?2)))"
        values = (stage, json.dumps([*without])) if without else (stage,)
        return [path for (path,) in self._database.execute(f"{query} ORDER BY id", values)]

    def has_played(self, stage: str) -> bool:
        """Return whether a stage has a fixture that counts, or a fixture without a result."""
        query = (
            "SELECT EXISTS(SELECT 1 FROM counted WHERE stage = ?1 "
            "UNION ALL SELECT 1 FROM undecided WHERE stage = ?1 AND open)"
        )
        (found,) = self._database.execute(query, (stage,)).fetchone()
        return bool(found)

    def paths_of(self, stage: str, bot: str) -> list[str]:
        """Return the paths of a bot's fixtures in a stage that count, in the order in which they ended."""
        query = "SELECT path FROM counted WHERE stage = ? AND ? IN (SELECT value FROM json_each(about, '$.bots')) ORDER BY id"
        return [path for (path,) in self._database.execute(query, (stage, bot))]

    def sizes(self, stage: str) -> dict[str, int]:
        """Return the number of tables of each fixture of a stage, by path. Include undecided ones, and those set aside."""
        query = "SELECT path, json_extract(about, '$.tables') FROM {} WHERE stage = ? AND json_valid(about)"
        rows = (
            row for table in ("undecided", "fixture") for row in self._database.execute(query.format(table), (stage,))
        )
        return {path: int(tables) for path, tables in rows if type(tables) is int}

    def place_of(self, path: str) -> tuple[str, int] | None:
        """Return the stage and the number of the fixture with this path; None if no such fixture counts.

        Fixtures are numbered from 1 in the order in which they ended.
        """
        row = self._database.execute("SELECT stage, id FROM counted WHERE path = ?", (path,)).fetchone()
        return None if row is None else (row[0], row[1])

    def path_of(self, number: int) -> str | None:
        """Return the path of the fixture with this number; None if there is none, or if it no longer counts."""
        row = self._database.execute("SELECT path FROM counted WHERE id = ?", (number,)).fetchone()
        return None if row is None else row[0]

    def records(self, stage: str | None = None) -> Iterator[tuple[int, Record]]:
        """Yield (fixture number, record) for each fixture that counts, of one stage or of all stages, sorted by path.

        The records have no answers and no evidence. They have scores only if `JournalWriter.add` was called
        `with_scores`, or if tables can repeat others.
        """
        return self._records("WHERE ?1 IS NULL OR stage = ?1 ORDER BY path", (stage,))

    def records_at(self, path: str, stage: str) -> Iterator[tuple[int, Record]]:
        """Yield (fixture number, record) for the fixture of a stage with this path, if it counts."""
        return self._records("WHERE path = ?1 AND stage = ?2", (path, stage))

    def records_since(self, stage: str, since: int = 0) -> Iterator[tuple[int, Record]]:
        """Yield (fixture number, record) for the fixtures of a stage with a number above `since`, sorted by number."""
        return self._records("WHERE stage = ?1 AND counted.id > ?2 ORDER BY counted.id", (stage, since))

    def all_records(self) -> Iterator[Record]:
        """Yield the records of all fixtures, like `records`. Include fixtures that no longer count."""
        return (record for _, record in self._records("ORDER BY path", (), "fixture"))

    def played_by(self, bot: str, version: int) -> Iterator[tuple[int, Record]]:
        """Yield (fixture number, record) for each fixture that a version of a bot has played, like `records`.

        `version` counts the versions of the bot from 1. Fixtures that no longer count are included.
        """
        where = "WHERE counted.id > ?1 AND (?2 IS NULL OR counted.id <= ?2) ORDER BY path"
        for number, record in self._records(where, self._span(bot, version), "fixture"):
            if bot in record.results:
                yield number, record

    def _span(self, bot: str, version: int) -> tuple[int, int | None]:
        """Return two fixture numbers: the last one before a version was entered, and the last one with this version.

        The second number is None for the newest version.
        """
        query = "SELECT after FROM version WHERE name = ? ORDER BY id LIMIT 2 OFFSET ?"
        first, *end = (after for (after,) in self._database.execute(query, (bot, version - 1)))
        return first, end[0] if end else None

    def _records(self, where: str, values: tuple[Any, ...], table: str = "counted") -> Iterator[tuple[int, Record]]:
        query = f"SELECT counted.id, path, summary FROM {table} AS counted JOIN record ON counted.id = record.fixture {where}"
        entered = {name for (name,) in self._database.execute("SELECT name FROM version")}
        for fixture, path, summary in self._database.execute(query, values):
            try:
                record = read_summary(summary)
                lines_of(record)
                if record.path != path:
                    raise ValueError(f"the record of {path!r} is that of {record.path!r}")
                if not record.results.keys() <= entered:
                    stranger = min(record.results.keys() - entered)
                    raise ValueError(f"{record.path} was played by {stranger!r}, which is not in the list of bots")
            except (ValueError, TypeError) as damaged:  # a context manager would take longer than decoding
                raise UserError([refusal(self.path, f"is damaged: {damaged}")], 3) from damaged
            yield fixture, record

    def sums(self, stage: str, without: Collection[str] = frozenset()) -> StageSums:
        """Return the sums over the records of a stage that count: the stored sums plus all later records.

        Omit the fixtures in which a bot in `without` plays.
        """
        since, found = (0, StageSums()) if without else self._stored_sums().get(stage, (0, StageSums()))
        for _, record in self._counted_since(stage, since):
            if record.results.keys().isdisjoint(without):
                found.add(record)
        return found

    def _counted_since(self, stage: str, since: int = 0) -> Iterator[tuple[int, Record]]:
        """Yield (fixture number, record) like `records_since`, with each record as the kind of the stage counts it."""
        config = self.state().stage(stage).config
        for fixture, record in self.records_since(stage, since):
            (counted,) = as_counted_by(config, [record])
            yield fixture, counted

    def wrong_sums(self) -> Iterator[str]:
        """Yield the name of each stage whose stored sums differ from the sums of its records."""
        for stage, (last, sums) in self._stored_sums().items():
            found = StageSums()
            for fixture, record in self._counted_since(stage):
                if fixture <= last:
                    found.add(record)
            if found != sums:
                yield stage

    def _stored_sums(self) -> dict[str, tuple[int, StageSums]]:
        """Return (number of the last fixture in the sums, stored sums) by stage. Omit sums from before the last change.

        Also omit sums that an older croupier stored: they lack the sums of bots.
        """
        query = "SELECT stage, fixture, sums FROM summed WHERE changes = ? AND stage IN (SELECT name FROM stage)"
        rows = self._database.execute(query, (len(self.changes()),))
        with reject_corrupt(self.path):
            stored = [(stage, msgspec.convert((fixture, sums), tuple[int, bytes])) for stage, fixture, sums in rows]
            found = [(stage, last, msgspec.msgpack.decode(sums, type=StageSums)) for stage, (last, sums) in stored]
        return {stage: (last, sums) for stage, last, sums in found if sums.bots}

    def stage_records(self, stage: str) -> "StageRecords":
        """Return a mapping of a stage's records by path. It includes records that are added to the journal later."""
        return StageRecords(self, self._database, stage)

    def first_number(self, stage: str) -> int | None:
        """Return the number of a stage's first fixture, even if it no longer counts; None if there is no record."""
        (number,) = self._database.execute("SELECT min(id) FROM fixture WHERE stage = ?", (stage,)).fetchone()
        return None if number is None else int(number)

    def blank(self) -> Fixture:
        """Return a fixture without bots and tables, with the game and the rules of the run.

        Raise UserError if nothing has been played.
        """
        query = "SELECT about FROM fixture UNION ALL SELECT about FROM undecided LIMIT 1"
        row = self._database.execute(query).fetchone()
        played = self._fixture(row[0] if row else None)
        return BLANK._replace(game=played.game, rules=played.rules)

    def fixture(self, path: str, fixture: int | None = None) -> Fixture:
        """Return the fixture with this path that counts, or the one with number `fixture`, even if it does not count.

        Raise UserError if it has not been played, or does not match the rules of its game.
        """
        query = (
            "SELECT about FROM counted WHERE path = ?1 AND ?2 IS NULL UNION ALL SELECT about FROM fixture WHERE id = ?2"
        )
        row = self._database.execute(query, (path, fixture)).fetchone()
        if row is None:
            raise not_played(path)
        return self._fixture(row[0])

    def full_record(self, path: str, fixture: int | None = None) -> Record:
        """Return the complete record of the fixture with this path that counts.

        With a fixture number in `fixture`, return the record of that fixture, even if it no longer counts. Raise
        UserError if it has not been played.
        """
        query = (
            "SELECT fixture.id, summary, seats, scores, answers, banks, transcript FROM fixture "
            "JOIN record ON fixture.id = record.fixture "
            "WHERE path = ?1 AND (fixture.id = ?2 OR ?2 IS NULL AND fixture.id IN (SELECT id FROM counted WHERE path = ?1))"
        )
        row = self._database.execute(query, (path, fixture)).fetchone()
        if row is None:
            raise not_played(path)
        number, summary, seats, scores, answers, banks, transcript = row
        with reject_corrupt(self.path):
            record = read_summary(summary)
            limits = UnpackedLimits.of(record)
            record = record._replace(
                seats=decompress_scores(Packed(seats, limits.tables, self.path)),
                scores=decompress_scores(Packed(scores, limits.tables, self.path)),
                answers=answers,
                transcript=transcript,
                banks=msgspec.msgpack.decode(decompress(banks, limits.questions), type=tuple[BankTime, ...])
                if banks
                else (),
            )
        pieces = tuple(piece for _, _, piece in self._evidence("fixture", "WHERE fixture.id = ?", (number,)))
        return record._replace(evidence=pieces)

    def salted_answers(self) -> Iterator[tuple[int, str, bytes, str]]:
        """Yield (number, stage, salt, text of the answers) for each fixture. Include fixtures that no longer count.

        The line of a fixture in the chain has the hash of the salt and the text. Yield nothing if the answers have been
        removed.
        """
        query = (
            "SELECT fixture.id, stage, salt, answers, summary FROM fixture JOIN record ON fixture.id = record.fixture "
            "JOIN chain ON chain.kind = 'fixture' AND ref = fixture.id ORDER BY fixture.id"
        )
        with reject_corrupt(self.path):
            for number, stage, salt, answers, summary in () if self.reduced else self._database.execute(query):
                limits = UnpackedLimits.of(read_summary(summary))
                text = decompress(answers, limits.answers) if answers else b""
                yield number, stage, salt[: SALT_BYTES // 2], text.decode()

    def scores_of(self, path: str) -> "Packed":
        """Return the scores of a fixture, compressed (see `decompress_scores`)."""
        query = "SELECT scores, summary FROM counted JOIN record ON counted.id = record.fixture WHERE path = ?"
        row = self._database.execute(query, (path,)).fetchone()
        if row is None:
            raise UserError(
                [refusal(self.path, f"has no scores of {path}: it has not been played, or no longer counts")], 3
            )
        with reject_corrupt(self.path):
            limits = UnpackedLimits.of(read_summary(row[1]))
        return Packed(row[0], limits.tables, self.path)

    def _described(self, text: Any) -> Description:
        try:
            return read_description(text)
        except ValueError as wrong:
            raise UserError([refusal(self.path, f"is damaged: the description of a fixture: {wrong}")], 3) from wrong

    def _fixture(self, text: Any) -> Fixture:
        described = self._described(text)
        try:
            return described.fixture(self.registry)
        except (LookupError, ValueError) as differs:
            raise does_not_fit(self.path, differs) from differs

    def times(self, path: str) -> tuple[Timing, ...]:
        """Return the times of decisions at the first tables of a fixture; () if the journal has none."""
        query = "SELECT times, summary FROM record JOIN counted ON counted.id = record.fixture WHERE path = ?"
        row = self._database.execute(query, (path,)).fetchone()
        with reject_corrupt(self.path):
            if not (row and row[0]):
                return ()
            limits = UnpackedLimits.of(read_summary(row[1]))
            return msgspec.msgpack.decode(decompress(row[0], limits.questions), type=tuple[Timing, ...])

    def evidence(self, where: str = "", values: tuple[Any, ...] = ()) -> Iterator[tuple[int, str, Evidence]]:
        """Yield (id, fixture path, evidence) for faults and the slowest decisions, in fixtures that count.

        `where` is a WHERE clause in SQL, with the parameters `values`.
        """
        return self._evidence("counted", where, values)

    def evidence_by(self, bot: str, version: int) -> Iterator[tuple[int, str, Evidence]]:
        """Yield (id, fixture path, evidence) for each fault of a version of a bot.

        `version` counts the versions of the bot from 1. Fixtures that no longer count are included.
        """
        where = "WHERE bot = ?1 AND kind != 'slowest' AND fixture.id > ?2 AND (?3 IS NULL OR fixture.id <= ?3)"
        return self._evidence("fixture", where, (bot, *self._span(bot, version)))

    def fault(self, number: int) -> tuple[int, str, Evidence] | None:
        """Return (fixture number, fixture path, evidence) of the fault with this id; None if there is no such fault.

        The fixture may no longer count.
        """
        for (fixture,) in self._database.execute("SELECT fixture FROM fault WHERE id = ?", (number,)):
            for _, path, piece in self._evidence("fixture", "WHERE fault.id = ?", (number,)):
                return fixture, path, piece
        return None

    def _evidence(self, table: str, where: str, values: tuple[Any, ...]) -> Iterator[tuple[int, str, Evidence]]:
        query = f"SELECT fault.id, path, evidence FROM fault JOIN {table} ON {table}.id = fault.fixture {where} ORDER BY fault.id"
        for number, path, piece in self._database.execute(query, values):
            with reject_corrupt(self.path):
                evidence = msgspec.msgpack.decode(piece, type=Evidence)
            yield number, path, evidence


class StageRecords(Mapping[str, Record]):
    """Mapping of a stage's records by path, without answers, scores and evidence. Each access reads the journal.

    A fixture without a result has a record with results of 0, so that the fixtures after it can be played.
    """

    def __init__(self, journal: Journal, database: sqlite3.Connection, stage: str) -> None:
        self._journal, self._database, self._stage = journal, database, stage

    def __getitem__(self, path: str) -> Record:
        for _, record in self._journal.records_at(path, self._stage):
            return record
        undecided = self._journal.undecided_at(path)
        if undecided is None or undecided.stage != self._stage:
            raise KeyError(path)
        return undecided.record

    def __contains__(self, path: object) -> bool:
        query = (
            "SELECT 1 FROM counted WHERE path = ?1 AND stage = ?2 "
            "UNION ALL SELECT 1 FROM undecided WHERE path = ?1 AND stage = ?2 AND open"
        )
        return self._database.execute(query, (path, self._stage)).fetchone() is not None

    def __iter__(self) -> Iterator[str]:
        yield from self._journal.paths(self._stage)
        yield from (each.path for each in self._journal.undecided(self._stage))

    def __len__(self) -> int:
        query = (
            "SELECT (SELECT count(*) FROM counted WHERE stage = ?1) + "
            "(SELECT count(*) FROM undecided WHERE stage = ?1 AND open)"
        )
        (count,) = self._database.execute(query, (self._stage,)).fetchone()
        return int(count)


class Packed(NamedTuple):
    """Compressed scores or seats of a fixture."""

    squeezed: bytes
    limit: int  # the maximum number of bytes when decompressed
    journal: Path


def decompress_scores(packed: Packed) -> tuple[tuple[int, ...], ...]:
    """Return the decompressed scores or seats of a fixture: one tuple for each table. Raise UserError if damaged."""
    with reject_corrupt(packed.journal):
        tables = msgspec.msgpack.decode(decompress(packed.squeezed, packed.limit), type=tuple[tuple[int, ...], ...])
        if not (tables and all(tables)):
            raise ValueError("a fixture, or one of its tables, has no scores or seats")
        return tables


def not_played(path: str) -> UserError:
    """Return the error for a path without a fixture that counts."""
    return UserError([Problem("R006", path, "has not been played", hint="croupier status")], 3)


def _withdrawn(names: Sequence[str], first: Mapping[str, int], changes: Sequence[tuple[int, Change]]) -> Withdrawn:
    """Return the bots that are withdrawn from the stage `names[0]`. The other names are the stages after it.

    `first` has the number of a stage's first entry in the chain, by stage name, for each stage that has begun. Each
    change has the number of its entry, too.
    """
    own, later = first.get(names[0]), min((first[name] for name in names[1:] if name in first), default=None)
    before, during = (
        frozenset(withdrawn(change for number, change in changes if end is None or number < end))
        for end in (own, later)
    )
    return Withdrawn(before, during)


@contextlib.contextmanager
def reading(path: Path, registry: Registry = CROUPIERS) -> Iterator[Journal]:
    """Open a journal for reading; a run may be writing it. Raise UserError if it is missing or not a journal.

    `registry` has the games, kinds of stage and rankings that the journal names.
    """
    if not journal_exists(path):
        raise nothing_played(path)
    with path.open("rb"):  # SQLite does not tell why it cannot open a file; the system does
        pass
    check_file(path, registry)
    with connected(path) as database:
        yield Journal(database, path, registry)
