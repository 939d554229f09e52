"""The store of a season: the authors, submissions, versions and rounds in season.sqlite, as typed values."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from host.base.counts import Seconds
from host.base.errors import Problem, UserError
from host.season.entries.database import Database, Schema, damaged, locked, reading, writing
from host.season.entries.names import author_name
from host.season.entries.queue import Used
from host.season.entries.submissions import BOT, PRACTICE, SUBMISSION, USAGE, Practices, Submissions
from host.season.entries.table import Table
from host.season.entries.values import Answer, Author, Event
from host.season.entries.versions import VERSION, Versions

T = TypeVar("T")
STORE_FILE = "season.sqlite"
AUTHOR = Table("author", Author, "name", own={"token_sha256": "UNIQUE"})
ANSWER = Table("answer", Answer, "request")
EVENT = Table("event", Event, "number")
TABLES = "".join(table.create for table in (AUTHOR, BOT, SUBMISSION, VERSION, PRACTICE, USAGE, ANSWER, EVENT))
SCHEMA = Schema(
    0x63727365,  # "crse"
    f"{TABLES} CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX submission_by_author ON submission(author, at);"
    "CREATE INDEX submission_by_state ON submission(state);"
    "CREATE INDEX version_by_author ON version(author);"
    "CREATE INDEX usage_by_author ON usage(author, at);"
    "CREATE INDEX answer_by_author ON answer(author, at);",
)
KEPT_ANSWERS = 200  # of each author
INVITE_AGAIN = "croupier season invite --again NAME  draws another link"


TOUCHED = "CREATE TEMP TABLE touched (kind TEXT, name TEXT, PRIMARY KEY (kind, name)) WITHOUT ROWID;" + "".join(
    f"CREATE TEMP TRIGGER {table}_{column}_{change} AFTER {change} ON {table} "
    f"BEGIN INSERT INTO touched SELECT '{kind}', new.{column} "
    f"WHERE NOT EXISTS (SELECT 1 FROM touched WHERE kind = '{kind}' AND name = new.{column}); END;"
    for table, kind, column in (
        ("author", "author", "name"),
        ("submission", "submission", "id"),
        *((each, "author", "author") for each in ("bot", "submission", "version", "practice", "usage", "answer")),
    )
    for change in ("INSERT", "UPDATE")
)
"""Statements that make the database note each changed author and submission, until the change has been published."""


class Touched(NamedTuple):
    """The names of the authors, and the ids of the submissions, that have changed since they were last published."""

    authors: set[str]
    submissions: set[str]


class Authors:
    """The authors of a season, and the hashes of the secrets of their links."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Author]:
        """Return all authors, sorted by name."""
        return self._database.select(AUTHOR, "ORDER BY name")

    def get(self, name: str) -> Author:
        """Return the author of this name. Raise UserError if there is none."""
        if found := self._database.first(AUTHOR, "WHERE name = ?", name):
            return found
        raise UserError([Problem("E001", "", "there is no author of this name in the season", hint=INVITE_AGAIN)], 3)

    def add(self, name: str, token_sha256: str, now: float) -> Author:
        """Add an author and return it. If an author has this name and this secret already, return that author.

        Raise UserError if an author cannot have the name, or if another author has it.
        """
        author_name(name)
        known = self._database.first(AUTHOR, "WHERE name = ? COLLATE NOCASE", name)
        if known is not None and (known.name, known.token_sha256) != (name, token_sha256):
            message = "is the name of another author, whatever the case of its letters"
            raise UserError([Problem("E008", name, message, hint="choose another name")], 3)
        added = known or Author(name, token_sha256, now)
        self._database.put(AUTHOR, added)
        return added

    def replace_token(self, name: str, token_sha256: str) -> None:
        """Replace the secret of an author's link: the old link no longer works.

        Raise UserError if there is no such author.
        """
        self._database.put(AUTHOR, self.get(name)._replace(token_sha256=token_sha256))

    def rename(self, name: str, new: str, now: float) -> None:
        """Rename an author, who keeps the link, the bots and the submissions.

        Raise UserError if there is no such author, or if an author cannot have the new name.
        """
        known = self.get(name)
        with self._database.transaction():
            self._database.change("UPDATE author SET token_sha256 = '' WHERE name = ?", name)
            self.add(new, known.token_sha256, now)
            for table in ("bot", "submission", "version", "practice", "usage", "answer"):
                self._database.change(f"UPDATE {table} SET author = ? WHERE author = ?", new, name)
            self._database.change("DELETE FROM author WHERE name = ?", name)

    def remove(self, name: str) -> None:
        """Remove an author without submissions.

        Raise UserError for an unknown author, or one with submissions.
        """
        self.get(name)
        if self._database.row(
            "SELECT 1 FROM submission WHERE author = ? UNION SELECT 1 FROM bot WHERE author = ?", *[name] * 2
        ):
            hint = "croupier season withdraw BOT  takes his bots out, and  invite --again NAME  ends his link"
            raise UserError([Problem("E008", name, "has handed in bots, so that the name stays", hint=hint)], 3)
        self._database.change("DELETE FROM author WHERE name = ?", name)


class Events:
    """The log of a season, and its answers to requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, at: float, kind: str, subject: str, text: str) -> None:
        """Append an event to the log. `at` is its time in seconds since 1970."""
        number = self._database.number("SELECT max(number) FROM event") + 1
        self._database.add(EVENT, Event(number, at, kind, subject, text))

    def last(self, most: int, *kinds: str) -> list[Event]:
        """Return the last events of some kinds, or of all kinds if none is given, the newest last: at most `most`."""
        among = f"WHERE kind IN ({', '.join('?' * len(kinds))})" if kinds else ""
        return self._database.select(EVENT, f"{among} ORDER BY number DESC LIMIT ?", *kinds, most)[::-1]

    def of(self, *kinds: str, after: int = 0) -> list[Event]:
        """Return the events of some kinds that follow event number `after`, in their order."""
        among = ", ".join("?" * len(kinds))
        return self._database.select(EVENT, f"WHERE number > ? AND kind IN ({among}) ORDER BY number", after, *kinds)

    def answer(self, answer: Answer) -> None:
        """Store the answer to a request. Delete the oldest answers to its author, so that KEPT_ANSWERS remain."""
        with self._database.transaction():
            self._database.put(ANSWER, answer)
            self._database.change(
                "DELETE FROM answer WHERE author = ?1 AND request NOT IN "
                "(SELECT request FROM answer WHERE author = ?1 ORDER BY at DESC, request DESC LIMIT ?2)",
                answer.author,
                KEPT_ANSWERS,
            )

    def answers(self, author: str) -> list[Answer]:
        """Return the answers to the last requests of an author, the newest last."""
        return self._database.select(ANSWER, "WHERE author = ? ORDER BY at, request", author)

    def answered(self, request: str) -> Answer | None:
        """Return the answer to the request with this id; None if it has not been answered yet."""
        return self._database.first(ANSWER, "WHERE request = ?", request)


class Store:
    """The open store of a season. Only the season process opens it for writing (`Store.open`)."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.authors, self.events = Authors(database), Events(database)
        self.submissions, self.versions = Submissions(database), Versions(database)
        self.practices = Practices(database)

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path) -> Iterator["Store"]:
        """Open the store of a season folder as its only writer; create it if it is missing.

        Interrupted examinations wait again. Raise UserError if the store is damaged, or if another process has it open.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / STORE_FILE), writing(folder / STORE_FILE, SCHEMA) as database:
            store = cls(database)
            database.script(TOUCHED)
            with store.transaction():
                store.submissions.recover()
                store.practices.recover()
                database.change("INSERT OR IGNORE INTO touched SELECT 'author', name FROM author")
                database.change("INSERT OR IGNORE INTO touched SELECT 'submission', id FROM submission")
            yield store

    @classmethod
    @contextlib.contextmanager
    def reading(cls, folder: Path) -> Iterator["Store"]:
        """Open the store of a season folder for reading. Raise UserError if it does not exist or is damaged."""
        with reading(folder / STORE_FILE, SCHEMA.application) as database:
            yield cls(database)

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """Let the changes in a block happen together or not at all."""
        return self.database.transaction()

    def snapshot(self) -> contextlib.AbstractContextManager[None]:
        """Let all queries in the block read the same state of a store that was opened for reading."""
        return self.database.snapshot()

    def setting(self, name: str, usual: str = "") -> str:
        """Return a setting of the season process, for example the state of the season; `usual` if it is not set."""
        row = self.database.row("SELECT value FROM setting WHERE name = ?", name)
        return str(row[0]) if row else usual

    def value(self, name: str, kind: type[T]) -> T | None:
        """Return a setting that is stored as JSON; None if it is not set. Raise UserError if it is damaged."""
        value: T | None = self._decoded(name, kind)
        return value

    def time(self, name: str) -> float | None:
        """Return a setting that is a time, in seconds since 1970; None if it is not set. Raise UserError as `value`."""
        at: float | None = self._decoded(name, Seconds)
        return at

    def _decoded(self, name: str, kind: Any) -> Any:
        said = self.setting(name)
        try:
            return msgspec.json.decode(said, type=kind) if said else None
        except msgspec.MsgspecError as wrong:
            raise damaged(self.database.path, f"the setting {name}: {wrong}") from wrong

    def set_setting(self, name: str, value: str) -> None:
        """Set a setting of the season process."""
        self.database.change("INSERT OR REPLACE INTO setting VALUES (?, ?)", name, value)

    def touched(self) -> Touched:
        """Return the authors and submissions that have changed since they were published.

        Right after the store was opened, these are all authors and all submissions.
        """
        found = self.database.rows("SELECT kind, name FROM touched")
        return Touched(*({name for kind, name in found if kind == which} for which in ("author", "submission")))

    def forget(self, touched: Touched) -> None:
        """Note that these authors and submissions have been published."""
        with self.transaction():
            for kind, names in zip(("author", "submission"), touched, strict=True):
                for name in names:
                    self.database.change("DELETE FROM touched WHERE kind = ? AND name = ?", kind, name)

    def used(self, author: str, now: float) -> Used:
        """Return an author's usage at the time `now`."""
        return self.submissions.used(author, now, self.versions.count(author))

    def copy_to(self, target: Path) -> None:
        """Write a copy of the store, as it is now, into a new file."""
        self.database.copy_to(target)
