"""The store of a season: what season.sqlite says about authors, submissions, versions and rounds, as typed values."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from host.base.errors import Problem, UserError
from host.season.entries.database import Database, reading, writing
from host.season.entries.names import author_name
from host.season.entries.practices import Practices
from host.season.entries.queue import Used
from host.season.entries.round_store import RoundStore
from host.season.entries.submissions import Submissions
from host.season.entries.values import Answer, Author, Event
from host.season.entries.versions import Versions

STORE_FILE = "season.sqlite"
KEPT_ANSWERS = 200  # of each author
INVITE_AGAIN = "croupier season invite --again NAME  draws another link"


class Authors:
    """The authors of a season, and the hashes of the secrets of their links."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Author]:
        """Return all authors by name."""
        return [Author(*row) for row in self._database.rows("SELECT * FROM author ORDER BY name")]

    def get(self, name: str) -> Author:
        """Return an author. Raise UserError if there is none of this name."""
        if row := self._database.row("SELECT * FROM author WHERE name = ?", name):
            return Author(*row)
        raise UserError([Problem("E001", "", "there is no author of this name in the season", hint=INVITE_AGAIN)], 3)

    def add(self, name: str, token_sha256: str, now: float) -> Author:
        """Add an author. The same name with the same secret is the same author. Raise UserError if the name is taken."""
        author_name(name)
        row = self._database.row("SELECT * FROM author WHERE name = ? COLLATE NOCASE", name)
        if row is not None and Author(*row)[:2] == (name, token_sha256):
            return Author(*row)
        if row is not None:
            message = "is the name of another author, whatever the case of its letters"
            raise UserError([Problem("E008", name, message, hint="choose another name")], 3)
        self._database.change("INSERT INTO author VALUES (?, ?, ?)", name, token_sha256, now)
        return Author(name, token_sha256, now)

    def replace_token(self, name: str, token_sha256: str) -> None:
        """Replace the secret of an author: the old link no longer works. Raise UserError if there is no such author."""
        self.get(name)
        self._database.change("UPDATE author SET token_sha256 = ? WHERE name = ?", token_sha256, name)

    def rename(self, name: str, new: str, now: float) -> None:
        """Rename an author. His link, bots and submissions stay his. Raise UserError if the new name is not possible."""
        known = self.get(name)
        with self._database.transaction():
            self._database.change("UPDATE author SET token_sha256 = '' WHERE name = ?", name)
            self.add(new, known.token_sha256, now)
            for table in ("bot", "submission", "version", "practice", "usage", "answer"):
                self._database.change(f"UPDATE {table} SET author = ? WHERE author = ?", new, name)
            self._database.change("DELETE FROM author WHERE name = ?", name)

    def remove(self, name: str) -> None:
        """Remove an author who has handed in nothing. Raise UserError for an unknown author, or one with submissions."""
        self.get(name)
        if self._database.row(
            "SELECT 1 FROM submission WHERE author = ? UNION SELECT 1 FROM bot WHERE author = ?", *[name] * 2
        ):
            hint = "croupier season withdraw BOT  takes his bots out, and  invite --again NAME  ends his link"
            raise UserError([Problem("E008", name, "has handed in bots, so that the name stays", hint=hint)], 3)
        self._database.change("DELETE FROM author WHERE name = ?", name)

    def bots(self) -> dict[str, str]:
        """Return all bots, with the names of their authors."""
        return dict(self._database.rows("SELECT name, author FROM bot ORDER BY name"))


class Events:
    """What has happened in a season: its log, and the answers to requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, at: float, kind: str, subject: str, text: str) -> None:
        """Append an event."""
        self._database.change("INSERT INTO event(at, kind, subject, text) VALUES (?, ?, ?, ?)", at, kind, subject, text)

    def last(self, most: int) -> list[Event]:
        """Return the last events, the newest last."""
        rows = self._database.rows("SELECT at, kind, subject, text FROM event ORDER BY id DESC LIMIT ?", most)
        return [Event(*row) for row in reversed(rows)]

    def answer(self, author: str, answer: Answer) -> None:
        """Store the answer to a request; delete the oldest ones of its author."""
        values = (answer.request, author, answer.at, answer.text, answer.submission, answer.code, answer.cure)
        with self._database.transaction():
            self._database.change("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?, ?)", *values)
            self._database.change(
                "DELETE FROM answer WHERE author = ?1 AND request NOT IN "
                "(SELECT request FROM answer WHERE author = ?1 ORDER BY at DESC, request DESC LIMIT ?2)",
                author,
                KEPT_ANSWERS,
            )

    def answered(self, request: str) -> Answer | None:
        """Return the answer to a request; None if it has none yet."""
        query = "SELECT request, at, text, submission, code, cure FROM answer WHERE request = ?"
        row = self._database.row(query, request)
        return Answer(*row) if row else None

    def answers(self, author: str) -> list[Answer]:
        """Return the answers to the last requests of an author, the newest last."""
        query = "SELECT request, at, text, submission, code, cure FROM answer WHERE author = ? ORDER BY at, request"
        return [Answer(*row) for row in self._database.rows(query, author)]


class Store:
    """The open store of a season. Only the season process opens it for writing (`Store.open`)."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.authors, self.events = Authors(database), Events(database)
        self.submissions, self.versions = Submissions(database), Versions(database)
        self.practices, self.rounds = Practices(database), RoundStore(database)

    @classmethod
    @contextlib.contextmanager
    def open(cls, folder: Path) -> Iterator["Store"]:
        """Open the store of a season folder as its only writer; create it if it is missing.

        Examinations that were interrupted wait again. Raise UserError if it is damaged, or another process has it open.
        """
        with writing(folder / STORE_FILE) as database:
            store = cls(database)
            with store.transaction():
                store.submissions.recover()
                store.practices.recover()
            yield store

    @classmethod
    @contextlib.contextmanager
    def reading(cls, folder: Path) -> Iterator["Store"]:
        """Open the store of a season folder for reading. Raise UserError if it does not exist or is damaged."""
        with reading(folder / STORE_FILE) as database:
            yield cls(database)

    @property
    def path(self) -> Path:
        """Its file."""
        return self._database.path

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """Let the changes in a block happen together or not at all."""
        return self._database.transaction()

    def setting(self, name: str, usual: str = "") -> str:
        """Return a setting of the season process, for example the state of the season; `usual` if it is not set."""
        row = self._database.row("SELECT value FROM setting WHERE name = ?", name)
        return str(row[0]) if row else usual

    def set_setting(self, name: str, value: str) -> None:
        """Set a setting of the season process."""
        self._database.change("INSERT OR REPLACE INTO setting VALUES (?, ?)", name, value)

    def used(self, author: str, now: float) -> Used:
        """Return what an author has used of his limits."""
        return self.submissions.used(author, now, self.versions.count(author))

    def copy_to(self, target: Path) -> None:
        """Write a copy of the store, as it is now, into a new file."""
        self._database.copy_to(target)
