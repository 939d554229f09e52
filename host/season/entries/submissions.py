"""Stores the submissions of a season with their verdicts, the requests for practice, and the processor time of both."""

import json
from collections.abc import Collection, Container
from typing import Any, Generic, NamedTuple, TypeVar

from host.base.errors import Problem, UserError
from host.season.entries.database import Database
from host.season.entries.names import season_bot_name
from host.season.entries.queue import HOUR_S, Used, Waiting
from host.season.entries.table import Table
from host.season.entries.values import Bot, Practice, PracticeResult, Submission, SubmissionState, Usage, Verdict

BOT = Table("bot", Bot, "name", own={"name": "COLLATE NOCASE", "author": "REFERENCES author"})
"""The names of bots. The case of letters does not count when names are compared."""
SUBMISSION = Table("submission", Submission, "id", own={"author": "REFERENCES author"})
PRACTICE = Table("practice", Practice, "id", own={"author": "REFERENCES author"})
USAGE = Table("usage", Usage, "what", "at")
OF_AUTHORS = "author IN (SELECT value FROM json_each(?))"
WITHOUT_VERDICT = "state IN ('waiting', 'building', 'checking', 'practising')"
W = TypeVar("W", Submission, Practice)


class Upload(NamedTuple):
    """The file of a submission. It is needed while the submission has no verdict, and if it became a version."""

    sha256: str
    size: int
    at: float
    needed: bool


class _Queued(Generic[W]):
    """Values that wait, are begun, and may be interrupted: submissions, or requests for practice."""

    def __init__(self, database: Database, table: Table[W], begun: SubmissionState) -> None:
        self._database, self._begun = database, begun
        self._table: Table[W] = table

    def get(self, identity: str) -> W | None:
        """Return the submission or request with this id; None if there is none."""
        return self._database.first(self._table, "WHERE id = ?", identity)

    def of_author(self, author: str) -> list[W]:
        """Return the submissions or requests of an author, the newest first."""
        return self._database.select(self._table, "WHERE author = ? ORDER BY at DESC, id", author)

    def open(self) -> list[W]:
        """Return all submissions or requests without a result, in the order in which they were received."""
        return self._database.select(self._table, f"WHERE {WITHOUT_VERDICT} ORDER BY at, id")

    def waiting(self) -> list[Waiting]:
        """Return the submissions or requests that wait to begin, in the order in which they were received."""
        return [
            Waiting(each.id, each.author, each.at, each.attempts) for each in self.open() if each.state == "waiting"
        ]

    def begin(self, which: W, now: float) -> None:
        """Store that the examination of a submission, or the practice of a request, begins.

        If it was interrupted before, both attempts count as one for the author's limits.
        """
        with self._database.transaction():
            known = self.get(which.id)
            self._update(which.id, state=self._begun, reason="", attempts=known.attempts + 1 if known else 1)
            again = known and known.attempts and self._database.first(USAGE, "WHERE what = ?", which.id)
            if not again:
                self._database.put(USAGE, Usage(which.id, which.author, now))

    def spent(self, identity: str, seconds: float) -> None:
        """Store the processor time, in seconds, of the last examination or practice with this id."""
        last = "(SELECT max(at) FROM usage WHERE what = ?)"
        self._database.change(
            f"UPDATE usage SET seconds = ? WHERE what = ? AND at = {last}", seconds, identity, identity
        )

    def recover(self, running: Container[str] = ()) -> None:
        """Let each interrupted submission or request wait again, except those whose ids are in `running`."""
        for each in self.open():
            if each.state != "waiting" and each.id not in running:
                self._update(each.id, state=SubmissionState.WAITING, reason="")

    def _update(self, identity: str, **fields: Any) -> None:
        if (known := self.get(identity)) is not None:
            self._database.put(self._table, known._replace(**fields))


class Practices(_Queued[Practice]):
    """The requests of authors for practice tables."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, PRACTICE, SubmissionState.PRACTISING)

    def add(self, practice: Practice) -> None:
        """Add a request for practice that waits. Change nothing if it has been added before."""
        if self.get(practice.id) is None:
            self._database.add(PRACTICE, practice)

    def finish(self, identity: str, state: SubmissionState, results: tuple[PracticeResult, ...]) -> None:
        """Store the final state of a practice, and its results; an empty tuple if it was refused."""
        self._update(identity, state=state, results=results)


class Submissions(_Queued[Submission]):
    """The submissions of a season, the names of bots, and the usage of authors."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, SUBMISSION, SubmissionState.BUILDING)

    def uploads(self) -> list[Upload]:
        """Return the files of all submissions, the newest first."""
        versions = {found for (found,) in self._database.rows("SELECT submission FROM version")}
        query = f"SELECT sha256, size, at, {WITHOUT_VERDICT}, id FROM submission ORDER BY at DESC, id"
        return [
            Upload(sha256, size, at, needed=bool(is_open) or identity in versions)
            for sha256, size, at, is_open, identity in self._database.rows(query)
        ]

    def files(self, authors: Collection[str]) -> dict[str, tuple[str, float]]:
        """Return the SHA-256 and the time of each submitted file of some authors, by the id of the submission."""
        query = f"SELECT id, sha256, at FROM submission WHERE {OF_AUTHORS}"
        rows = self._database.rows(query, json.dumps([*authors]))
        return {identity: (sha256, at) for identity, sha256, at in rows}

    def owner(self, bot: str) -> str:
        """Return the author of a bot; empty if there is no bot of this name. The case of letters does not count."""
        found = self._database.first(BOT, "WHERE name = ?", bot)
        return found.author if found else ""

    def check_name(self, bot: str, author: str) -> None:
        """Raise UserError if a bot of this author cannot have the name, or if it belongs to another author's bot.

        Raise it also if the author has a bot whose name differs in the case of letters only.
        """
        season_bot_name(bot)
        known = self._database.first(BOT, "WHERE name = ?", bot)
        if known is not None and (known.author, known.name) != (author, bot):
            foreign = known.author != author
            other = "another author" if foreign else f"you, spelled {known.name}"
            hint = "choose another name for the bot" if foreign else f"spell it {known.name}"
            raise UserError([Problem("E003", bot, f"this bot belongs to {other}", hint=hint)], 3)

    def take_name(self, bot: str, author: str) -> None:
        """Reserve the name of a bot for an author. Raise UserError as `check_name` does."""
        self.check_name(bot, author)
        if not self.owner(bot):
            self._database.add(BOT, Bot(bot, author))

    def withdrawn(self, bot: str) -> str:
        """Return why a bot is withdrawn; empty if it is not withdrawn."""
        found = self._database.first(BOT, "WHERE name = ?", bot)
        return found.withdrawn if found else ""

    def set_withdrawn(self, bot: str, reason: str) -> str:
        """Withdraw a bot for a reason, or take it back if the reason is empty. Return its name as it is stored.

        Raise UserError if there is no such bot.
        """
        if (known := self._database.first(BOT, "WHERE name = ?", bot)) is None:
            raise UserError(
                [Problem("E009", bot, "there is no bot of this name in the season", hint="see the ladder")], 3
            )
        self._database.put(BOT, known._replace(withdrawn=reason))
        return known.name

    def add(self, submission: Submission) -> None:
        """Add a submission that waits."""
        self._database.add(SUBMISSION, submission)

    def set_state(self, identity: str, state: SubmissionState, reason: str = "") -> None:
        """Store the state of a submission, and the reason for it."""
        self._update(identity, state=state, reason=reason)

    def rename(self, identity: str, bot: str) -> None:
        """Give a submission the name of another bot."""
        self._update(identity, bot=bot)

    def wait_again(self, identity: str, reason: str, **also: Any) -> None:
        """Let a submission wait again, as if it had not been examined. `also` has other fields that change."""
        self._update(
            identity, **{"state": SubmissionState.WAITING, "reason": reason, "verdict": None, "attempts": 0} | also
        )

    def set_verdict(self, identity: str, verdict: Verdict, reason: str, number: int = 0) -> None:
        """Store the verdict on a submission, and the number of the version that it became; 0 if it became none."""
        state = SubmissionState.ACCEPTED if verdict.accepted else SubmissionState.REFUSED
        self._update(identity, state=state, reason=reason, verdict=verdict, number=number)

    def served(self) -> dict[str, float]:
        """Return when the last examination or practice of an author began, in seconds since 1970, by author."""
        return dict(self._database.rows("SELECT author, max(at) FROM usage GROUP BY author"))

    def used(self, author: str, now: float, versions: int) -> Used:
        """Return an author's usage at the time `now`. `versions` is the number of the author's versions."""
        waiting = self._database.number(
            f"SELECT count(*) FROM submission WHERE author = ? AND {WITHOUT_VERDICT}", author
        )
        recent = self._database.select(USAGE, "WHERE author = ? AND at > ?", author, now - HOUR_S)
        known = {found for (found,) in self._database.rows("SELECT id FROM submission WHERE author = ?", author)}
        began = tuple(each.at for each in recent if each.what in known)
        return Used(waiting, versions, began, tuple((each.at, each.seconds) for each in recent))
