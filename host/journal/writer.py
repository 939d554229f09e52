"""Writes the journal of a run, by one process at a time. Each fixture is stored completely or not at all."""

import contextlib
import json
import os
import pwd
import sqlite3
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from host.base.errors import Problem, UserError
from host.journal.chain import canonical
from host.journal.changes import Change, Draft
from host.journal.check import check_file, journal_exists, refusal, reject_corrupt, wal_files
from host.journal.descriptions import description_text
from host.journal.kept_lines import write_kept_lines
from host.journal.lock import locked
from host.journal.reader import Journal, not_played, pack
from host.journal.schema import APPLICATION, JOURNAL_TABLES, VERSION
from host.journal.seals import CHAIN_TABLE
from host.journal.state import RecordedBot, RunState, RunStatus, StageStatus, run_rows, stage_rows
from host.play.records import Fixture, Record
from host.stages import CROUPIERS, Registry

SUMS_INTERVAL = 1000
"""Number of fixtures after which the journal stores the sums. This costs the host 10 µs per record; `status` then takes
at most 10 ms for the records after the stored sums."""


class JournalWriter(Journal):
    """A journal opened by `writing`. Only such a journal can be changed."""

    def set_state(self, state: RunState) -> None:
        """Write the state of the run, except its changes: `change` appends them."""
        with self._written():
            self._database.execute("DELETE FROM run")
            self._database.execute("DELETE FROM stage")
            self._database.executemany("INSERT INTO run VALUES (?, ?)", run_rows(state).items())
            self._database.executemany("INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?, ?)", stage_rows(state))
            self._reseal()

    def set_status(self, status: RunStatus) -> None:
        """Write whether the run is running, interrupted or finished."""
        with self._written():
            self._database.execute("INSERT OR REPLACE INTO run VALUES ('status', ?)", (status,))

    def set_stage(
        self,
        name: str,
        status: StageStatus | None = None,
        *,
        field: Sequence[str] | None = None,
        places: Sequence[str] | None = None,
        known: int | None = None,
    ) -> None:
        """Write some values of a stage; None leaves a value as it is. A status other than FINISHED removes the places."""
        if status not in (None, StageStatus.FINISHED):
            places = ()
        lists = [None if bots is None else json.dumps(list(bots)) for bots in (field, places)]
        query = (
            "UPDATE stage SET status = coalesce(?, status), field = coalesce(?, field), places = coalesce(?, places), "
            "known = coalesce(?, known) WHERE name = ?"
        )
        with self._written():
            self._database.execute(query, (status, *lists, known, name))
            if (status, field, places) != (None, None, None):
                self._reseal()

    def _reseal(self) -> None:
        """Append the parts of the run's state that have changed to the chain, if the run has begun."""
        if self.begun:
            self._seals.update(self.state())

    def add_bot(self, bot: RecordedBot) -> None:
        """Enter a version of a bot, which plays all later fixtures instead of the version before.

        If nothing has been played, delete the version before.
        """
        with self._written():
            if not self.begun:
                self.delete_bot(bot.name)
            (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM fixture").fetchone()
            (old,) = self._database.execute("SELECT max(id) FROM version WHERE name = ?", (bot.name,)).fetchone()
            row = (*bot.row(), time.time(), user_name(), old, last)
            self._database.execute(
                "INSERT INTO version(name, sha256, language, about, entered, entered_by, replaces, after) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
            self._reseal()

    def delete_bot(self, name: str) -> None:
        """Delete all versions of a bot. Call this only before the bot has played."""
        with self._written():
            self._database.execute("DELETE FROM version WHERE name = ?", (name,))

    def add(self, stage: str, record: Record, fixture: Fixture, *, with_scores: bool = False) -> None:
        """Add one fixture with its result. If a fixture with its path already counts, change nothing.

        `record.states` has the state files that the fixture changed. `with_scores`: `records` yields the scores too.
        """
        with self._written():
            if self.place_of(record.path) is not None:
                return
            if not self.begun:
                self._seals.update(self.state())
            row = (record.path, stage, description_text(fixture), time.time())
            number = self._database.execute(
                "INSERT INTO fixture(path, stage, about, at) VALUES (?, ?, ?, ?)", row
            ).lastrowid
            assert number is not None  # a row has been inserted
            self._database.executemany(
                "INSERT INTO fault(fixture, bot, kind, evidence) VALUES (?, ?, ?, ?)",
                [(number, piece.bot, piece.kind, pack(piece)) for piece in record.evidence],
            )
            self._database.executemany(
                "INSERT INTO state VALUES (?, ?, ?)",
                [(number, bot, zlib.compress(content, 3)) for bot, content in record.states],
            )
            summary = record.summary()._replace(scores=record.scores if with_scores or record.lines else ())
            lists = [_compress(each) for each in (record.seats, record.scores)]
            measured = [_compress(each) if each else b"" for each in (record.times, record.banks)]
            kept = (number, pack(summary.stored_summary()), *lists, record.answers, *measured, record.transcript)
            self._database.execute("INSERT INTO record VALUES (?, ?, ?, ?, ?, ?, ?, ?)", kept)
            self._database.execute("UPDATE undecided SET open = 0 WHERE path = ?", (record.path,))
            self._seals.add("fixture", number)
            if number % SUMS_INTERVAL == 0:
                self._store_sums(stage)

    def add_undecided(self, stage: str, record: Record, fixture: Fixture) -> None:
        """Add a fixture that has no result.

        Change nothing if a fixture with its path counts, or has already been added as one without a result.
        """
        with self._written():
            if self.place_of(record.path) is not None or self.undecided_at(record.path) is not None:
                return
            if not self._seals.last():
                self._seals.update(self.state())
            row = (record.path, stage, description_text(fixture), time.time(), pack(record.undecided))
            number = self._database.execute(
                "INSERT INTO undecided(path, stage, about, at, why, open) VALUES (?, ?, ?, ?, ?, 1)", row
            ).lastrowid
            assert number is not None  # a row has been inserted
            self._seals.add("undecided", number)

    def try_again(self, paths: Collection[str]) -> None:
        """Forget that fixtures have no result, so that they are played again."""
        with self._written():
            self._database.executemany("UPDATE undecided SET open = 0 WHERE path = ?", [(path,) for path in paths])

    def change(self, draft: Draft, then: Callable[[], None] = lambda: None) -> Change:
        """Append a change, then call `then`. Commit both the change and everything that `then` writes, or nothing.

        Raise UserError if a fixture to be set aside does not count.
        """
        with self._written():
            self._database.execute("BEGIN IMMEDIATE")
            summed = self._stored_sums()
            (last,) = self._database.execute("SELECT coalesce(max(id), 0) FROM fixture").fetchone()
            row = (time.time(), draft.kind, draft.what, draft.stage, draft.reason, canonical(draft.about), last)
            number = self._database.execute(
                "INSERT INTO change(at, kind, what, stage, reason, about, after) VALUES (?, ?, ?, ?, ?, ?, ?)", row
            ).lastrowid
            assert number is not None  # a row has been inserted
            for path in draft.set_aside:
                added = self._database.execute(
                    "INSERT INTO set_aside SELECT id, ? FROM counted WHERE path = ?", (number, path)
                )
                if added.rowcount != 1:
                    raise not_played(path)
            self._seals.add("change", number)
            then()
            for stage in summed:
                self._store_sums(stage)
        return self.changes()[-1]

    def remove_answers(self) -> None:
        """Remove all answers, times of decisions and times left in banks. Write the fixtures' lines into another file.

        Results, scores, faults with their evidence, and all seals stay. Tables can no longer be played again. Raise
        UserError and remove nothing if an entry was changed after it was sealed. After a crash, call this again.
        """
        if not self.reduced:
            lines = {}
            for entry in self.entries():
                if not entry.sound:
                    raise UserError(
                        [refusal(self.path, f"is damaged: {entry.name} was changed after it was sealed")], 3
                    )
                if entry.kind == "fixture":
                    lines[entry.ref] = entry.line
            write_kept_lines(self.path, lines)
        with self._written():
            self._database.execute("UPDATE record SET answers = x'', times = x'', banks = x''")
        with reject_corrupt(self.path):
            self._database.execute("VACUUM")

    def _store_sums(self, stage: str) -> None:
        """Store the sums over all records of a stage."""
        (last,) = self._database.execute(
            "SELECT coalesce(max(id), 0) FROM counted WHERE stage = ?", (stage,)
        ).fetchone()
        with contextlib.suppress(OverflowError):  # no honest sum has more than 64 bits
            row = (stage, last, len(self.changes()), pack(self.sums(stage)))
            self._database.execute("INSERT OR REPLACE INTO summed VALUES (?, ?, ?, ?)", row)

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


def _compress(scores: Sequence[tuple[int, ...]]) -> bytes:
    return zlib.compress(pack(scores), 3)


def _unwritable(path: Path, why: str) -> Problem:
    hint = "finished fixtures are saved; check the disk and the folder's permissions, then continue"
    return Problem("R009", str(path), f"cannot be written: {why}", hint=hint)


@contextlib.contextmanager
def writing(
    path: Path, registry: Registry = CROUPIERS, fresh: Callable[[], None] | None = None
) -> Iterator[JournalWriter]:
    """Open a journal as its only writer; create it if it is missing. Raise UserError if another process writes it.

    `fresh` is called under the lock, before anything is opened, to delete the earlier run.
    """
    with contextlib.ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(path.with_suffix(".lock")))
            if fresh is not None:
                fresh()
            if journal_exists(path):
                check_file(path, registry)
            else:
                _make(path)
            database = stack.enter_context(contextlib.closing(sqlite3.connect(path, timeout=10)))
            database.execute("PRAGMA synchronous = NORMAL")
        except (OSError, sqlite3.OperationalError) as failed:
            raise UserError([_unwritable(path, getattr(failed, "strerror", None) or str(failed))], 6) from failed
        yield JournalWriter(database, path, registry)


def _make(path: Path) -> None:
    """Create an empty journal completely or not at all: a process killed during this leaves no partial journal."""
    making = path.with_suffix(".making")
    for stale in (making, *wal_files(making), *wal_files(path)):
        stale.unlink(missing_ok=True)  # SQLite would replay a leftover log into the new file
    with contextlib.closing(sqlite3.connect(making)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.executescript(
            f"BEGIN; {JOURNAL_TABLES} {CHAIN_TABLE} "
            f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}; COMMIT;"
        )
    making.rename(path)


def user_name() -> str:
    """Return the name of the user of this process; its number if it has no name, as in some containers."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
