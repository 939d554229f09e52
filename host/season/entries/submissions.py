"""Stores the submissions of a season and their verdicts."""

from typing import Any, NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.season.entries.database import Database, damaged
from host.season.entries.names import season_bot_name
from host.season.entries.queue import HOUR_S, Used, Waiting
from host.season.entries.values import Submission, SubmissionState, Verdict

COLUMNS = "id, author, bot, file_name, sha256, size, at, door, state, reason, verdict, licence, number"
WITHOUT_VERDICT = "state IN ('waiting', 'building', 'checking', 'practising')"


class Upload(NamedTuple):
    """The file of a submission. It is needed if the submission has no verdict yet, or a version was made of it."""

    sha256: str
    size: int
    at: float
    needed: bool


class Submissions:
    """The submissions of a season, and what their examinations have used."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, identity: str) -> Submission | None:
        """Return a submission by its id; None if there is none."""
        found = self._some("WHERE id = ?", identity)
        return found[0] if found else None

    def of_author(self, author: str) -> list[Submission]:
        """Return the submissions of an author, the newest first."""
        return self._some("WHERE author = ? ORDER BY at DESC, id", author)

    def open(self) -> list[Submission]:
        """Return all submissions without a verdict, in the order in which they were received."""
        return self._some(f"WHERE {WITHOUT_VERDICT} ORDER BY at, id")

    def uploads(self) -> list[Upload]:
        """Return the files of all submissions, the newest first."""
        query = (
            f"SELECT sha256, size, at, {WITHOUT_VERDICT} OR id IN (SELECT submission FROM version) FROM submission "
            "ORDER BY at DESC, id"
        )
        return [Upload(sha256, size, at, bool(needed)) for sha256, size, at, needed in self._database.rows(query)]

    def _some(self, condition: str, *values: Any) -> list[Submission]:
        rows = self._database.rows(f"SELECT {COLUMNS} FROM submission {condition}", *values)
        try:
            return [_submission(row) for row in rows]
        except (ValueError, msgspec.MsgspecError) as wrong:
            raise damaged(self._database.path, wrong) from wrong

    def owner(self, bot: str) -> str:
        """Return the author of a bot; empty if there is no bot of this name, whatever its case."""
        row = self._database.row("SELECT author FROM bot WHERE name = ?", bot)
        return str(row[0]) if row else ""

    def take_name(self, bot: str, author: str) -> None:
        """Let a bot belong to an author. Raise UserError if it cannot have this name, or belongs to another author."""
        season_bot_name(bot)
        row = self._database.row("SELECT author, name FROM bot WHERE name = ?", bot)
        if row is None:
            self._database.change("INSERT INTO bot(name, author) VALUES (?, ?)", bot, author)
        elif row != (author, bot):
            other = "another author" if row[0] != author else f"you, spelled {row[1]}"
            hint = "choose another name for the bot" if row[0] != author else f"spell it {row[1]}"
            raise UserError([Problem("E003", bot, f"this bot belongs to {other}", hint=hint)], 3)

    def withdrawn(self, bot: str) -> str:
        """Return why a bot is withdrawn; empty if it is not."""
        row = self._database.row("SELECT withdrawn FROM bot WHERE name = ?", bot)
        return str(row[0]) if row else ""

    def set_withdrawn(self, bot: str, reason: str) -> None:
        """Withdraw a bot for a reason, or take it back with an empty one. Raise UserError if there is no such bot."""
        if not self._database.change("UPDATE bot SET withdrawn = ? WHERE name = ?", reason, bot):
            raise UserError(
                [Problem("E009", bot, "there is no bot of this name in the season", hint="see the ladder")], 3
            )

    def add(self, submission: Submission) -> None:
        """Add a submission that waits."""
        values = tuple(submission[: COLUMNS.split(", ").index("verdict")])
        marks = ", ".join("?" * len(values))
        names = COLUMNS.partition(", verdict")[0]
        self._database.change(
            f"INSERT INTO submission({names}, licence) VALUES ({marks}, ?)", *values, submission.licence
        )

    def set_state(self, identity: str, state: SubmissionState, reason: str = "") -> None:
        """Write how far a submission is, and why."""
        self._database.change("UPDATE submission SET state = ?, reason = ? WHERE id = ?", state, reason, identity)

    def wait_again(self, identity: str, reason: str, *, keep_attempts: bool = False) -> None:
        """Let a submission wait again, as if it had not been examined."""
        attempts = "attempts" if keep_attempts else "0"
        self._database.change(
            f"UPDATE submission SET state = 'waiting', reason = ?, verdict = NULL, attempts = {attempts} WHERE id = ?",
            reason,
            identity,
        )

    def hand_in_again(self, identity: str, at: float, door: str) -> None:
        """Let a submission wait that was cancelled and handed in again. The time of a submission is that of the last time."""
        with self._database.transaction():
            self.wait_again(identity, "")
            self._database.change("UPDATE submission SET at = ?, door = ? WHERE id = ?", at, door, identity)

    def set_verdict(self, identity: str, verdict: Verdict, reason: str, number: int = 0) -> None:
        """Write the verdict on a submission, and the number of the version that it became."""
        state = SubmissionState.ACCEPTED if verdict.accepted else SubmissionState.REFUSED
        self._database.change(
            "UPDATE submission SET state = ?, reason = ?, verdict = ?, number = ? WHERE id = ?",
            state,
            reason,
            msgspec.json.encode(verdict),
            number,
            identity,
        )

    # The queue.

    def waiting(self) -> list[Waiting]:
        """Return the submissions that wait for their examination."""
        query = "SELECT id, author, at, attempts FROM submission WHERE state = 'waiting' ORDER BY at, id"
        return [Waiting(*row) for row in self._database.rows(query)]

    def served(self) -> dict[str, float]:
        """Return when something of each author was last examined."""
        return dict(self._database.rows("SELECT author, max(at) FROM usage GROUP BY author"))

    def begin(self, identity: str, author: str, now: float) -> None:
        """Write that an examination begins. One that was interrupted before counts once for the limits of its author."""
        with self._database.transaction():
            attempts = self._database.number("SELECT attempts FROM submission WHERE id = ?", identity)
            query = "UPDATE submission SET state = 'building', reason = '', attempts = attempts + 1 WHERE id = ?"
            self._database.change(query, identity)
            begin_usage(self._database, identity, author, now, again=attempts > 0)

    def spent(self, identity: str, seconds: float) -> None:
        """Write the processor time of the examination that began last."""
        spend(self._database, identity, seconds)

    def used(self, author: str, now: float, versions: int) -> Used:
        """Return what an author has used of his limits in the last hour; `versions` is how many he has."""
        waiting = self._database.number(
            f"SELECT count(*) FROM submission WHERE author = ? AND {WITHOUT_VERDICT}", author
        )
        query = "SELECT at, seconds, what IN (SELECT id FROM submission) FROM usage WHERE author = ? AND at > ?"
        rows = self._database.rows(query, author, now - HOUR_S)
        began = tuple(at for at, _, is_submission in rows if is_submission)
        return Used(waiting, versions, began, tuple((at, seconds) for at, seconds, _ in rows))

    def recover(self) -> None:
        """Let every submission wait again whose examination was interrupted."""
        self._database.change(
            f"UPDATE submission SET state = 'waiting', reason = '' WHERE {WITHOUT_VERDICT} AND state != 'waiting'"
        )


def begin_usage(database: Database, what: str, author: str, now: float, *, again: bool) -> None:
    """Write that something of an author begins to run; `again` if it was interrupted before."""
    if not (again and database.row("SELECT 1 FROM usage WHERE what = ?", what)):
        database.change("INSERT INTO usage(author, at, what, seconds) VALUES (?, ?, ?, 0)", author, now, what)


def spend(database: Database, what: str, seconds: float) -> None:
    """Write the processor time of what has begun last under this id."""
    query = "UPDATE usage SET seconds = ? WHERE id = (SELECT max(id) FROM usage WHERE what = ?)"
    database.change(query, seconds, what)


def _submission(row: tuple[Any, ...]) -> Submission:
    identity, author, bot, file_name, sha256, size, at, door, state, reason, verdict, licence, number = row
    found = None if verdict is None else msgspec.json.decode(verdict, type=Verdict)
    known = SubmissionState(state)
    return Submission(identity, author, bot, file_name, sha256, size, at, door, known, reason, found, licence, number)
