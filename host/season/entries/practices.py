"""Stores the practice that authors have asked for, and its results."""

from typing import Any

import msgspec

from host.season.entries.database import Database
from host.season.entries.queue import Waiting
from host.season.entries.submissions import begin_usage, spend
from host.season.entries.values import Practice, PracticeResult, SubmissionState

COLUMNS = "id, author, bot, number, opponents, tables, at, state, reason, results"


class Practices:
    """The requests of authors for practice tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, identity: str) -> Practice | None:
        """Return the practice of a request; None if there is none."""
        found = self._some("WHERE id = ?", identity)
        return found[0] if found else None

    def of_author(self, author: str) -> list[Practice]:
        """Return the practice of an author, the newest first."""
        return self._some("WHERE author = ? ORDER BY at DESC, id", author)

    def _some(self, condition: str, *values: Any) -> list[Practice]:
        return [_practice(row) for row in self._database.rows(f"SELECT {COLUMNS} FROM practice {condition}", *values)]

    def add(self, practice: Practice) -> None:
        """Add practice that waits. If the request is already there, change nothing."""
        self._database.change(
            f"INSERT OR IGNORE INTO practice({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)",
            *practice[:4],
            msgspec.json.encode(practice.opponents).decode(),
            *practice[5:9],
        )

    def count_waiting(self, author: str) -> int:
        """Return how many requests of an author have no result yet."""
        query = "SELECT count(*) FROM practice WHERE author = ? AND state IN ('waiting', 'practising')"
        return self._database.number(query, author)

    def waiting(self) -> list[Waiting]:
        """Return the requests that wait."""
        query = "SELECT id, author, at, attempts FROM practice WHERE state = 'waiting' ORDER BY at, id"
        return [Waiting(*row) for row in self._database.rows(query)]

    def begin(self, practice: Practice, now: float) -> None:
        """Write that practice begins."""
        with self._database.transaction():
            attempts = self._database.number("SELECT attempts FROM practice WHERE id = ?", practice.id)
            query = "UPDATE practice SET state = 'practising', reason = '', attempts = attempts + 1 WHERE id = ?"
            self._database.change(query, practice.id)
            begin_usage(self._database, practice.id, practice.author, now, again=attempts > 0)

    def finish(
        self, identity: str, state: SubmissionState, results: tuple[PracticeResult, ...], reason: str = ""
    ) -> None:
        """Write the results of practice, or why it has none."""
        query = "UPDATE practice SET state = ?, reason = ?, results = ? WHERE id = ?"
        self._database.change(query, state, reason, msgspec.json.encode(results), identity)

    def spent(self, identity: str, seconds: float) -> None:
        """Write the processor time of the practice that began last."""
        spend(self._database, identity, seconds)

    def recover(self) -> None:
        """Let practice wait again that was interrupted."""
        self._database.change("UPDATE practice SET state = 'waiting' WHERE state = 'practising'")


def _practice(row: tuple[Any, ...]) -> Practice:
    identity, author, bot, number, opponents, tables, at, state, reason, results = row
    against = msgspec.json.decode(opponents, type=tuple[str, ...])
    found = () if results is None else msgspec.json.decode(results, type=tuple[PracticeResult, ...])
    return Practice(identity, author, bot, number, against, tables, at, SubmissionState(state), reason, found)
