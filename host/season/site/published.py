"""Reads the documents in published/site.sqlite, and keeps each decoded document until its revision changes."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from host.base.errors import UserError
from host.season.documents import (
    PUBLISHED,
    SITE_FILE,
    AdminDocument,
    AuthorDocument,
    BotDocument,
    EntriesDocument,
    LadderDocument,
    RoundDocument,
    RoundsDocument,
    SiteDocument,
    topic_of,
)
from host.season.entries.database import Database, check, read_only
from host.season.site.cache import Cache
from host.season.site.errors import Refusal, not_found, unpublished
from host.season.site_database import SiteDatabase

MAX_CACHED_VALUES = 512
BUSY_TIMEOUT_S = 1.0  # the season process writes for some milliseconds

D = TypeVar("D")


class Loaded(NamedTuple, Generic[D]):
    """A published document or another value, and the revision of its topic."""

    value: D
    revision: int


class Published:
    """The documents that the season process has published."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._database: SiteDatabase | None = None
        self._file, self._version = 0, 0  # of the open database: inode, and SQLite's data_version
        self._revisions: Mapping[str, int] = {}
        self._tokens: Loaded[Mapping[str, str]] | None = None
        self._cache = Cache[Loaded[Any]](MAX_CACHED_VALUES)

    # What everybody may see.

    def site(self) -> Loaded[SiteDocument]:
        """Return the document about the season as a whole. Raise Refusal (503) if it is missing."""
        return self._required("site", self._document("site", SiteDocument))

    def ladder(self) -> Loaded[LadderDocument] | None:
        """Return the ladder; None before the first round."""
        return self._document("ladder", LadderDocument)

    def entries(self) -> Loaded[EntriesDocument] | None:
        """Return the entries of the final; None before they are fixed."""
        return self._document("entries", EntriesDocument)

    def rounds(self) -> Loaded[RoundsDocument]:
        """Return all rounds, newest first."""

        return self._loaded("rounds", "", SiteDatabase.rounds)

    def round(self, number: int) -> Loaded[RoundDocument]:
        """Return a round. Raise Refusal (404) if there is none."""

        def read(database: SiteDatabase) -> RoundDocument | None:
            found = database.round(number)
            return found and RoundDocument(found.row, found.meetings, found.report or "")

        return self._named("rounds", str(number), read, "round")

    def bot(self, name: str) -> Loaded[BotDocument]:
        """Return a bot. Raise Refusal (404) if there is none."""
        return self._named("bots", name, lambda database: database.bot(name), "bot")

    def owner(self, bot: str) -> str:
        """Return the author of a bot; empty if there is no such bot. Upper and lower case in `bot` are equal."""
        found = self._loaded("bots", bot, lambda database: database.bot(bot)).value
        return found.author if found else ""

    # What one author, or the organiser, may see.

    def author(self, name: str) -> Loaded[AuthorDocument]:
        """Return the document with the data for one author."""

        return self._loaded(topic_of(name), "", lambda database: database.author(name), "bots")

    def own_tables(self, author: str, number: int) -> bytes:
        """Return a round's tables as the author's bots saw them, as NDJSON. Raise Refusal (404) if there are none."""
        topic = topic_of(author)
        return self._named(topic, str(number), lambda database: database.own_tables(author, number), "file").value

    def admin(self) -> Loaded[AdminDocument]:
        """Return the document with the data for the organiser. Raise Refusal (503) if it is missing."""
        return self._required("admin", self._document("admin", AdminDocument))

    def tokens(self) -> Mapping[str, str]:
        """Return the SHA-256 of the secret in each link, by author. The organiser's name is ""."""
        self.refresh()
        return self._required("tokens", self._tokens).value

    # How it is read.

    def refresh(self) -> None:
        """Open the database if its file is new, and read all revisions and tokens again if a row has changed.

        If the database is locked for longer than BUSY_TIMEOUT_S, leave the known revisions as they are. Raise Refusal
        (503) if the database is missing or damaged.
        """
        path = self.folder / SITE_FILE
        try:
            file = path.stat().st_ino
            if self._database is None or file != self._file:
                connection = read_only(path)
                connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_TIMEOUT_S)}")
                check(connection, path, PUBLISHED.application)
                self._database, self._file, self._version = SiteDatabase(Database(connection, path)), file, -1
            version = self._database.database.number("PRAGMA data_version")
            if version != self._version:
                self._revisions = self._database.revisions()
                self._tokens = Loaded(self._database.tokens(), 0) if self._revisions else None
                self._version = version
        except FileNotFoundError as missing:
            raise unpublished(SITE_FILE, "the season has not published this yet") from missing
        except (OSError, sqlite3.Error) as error:
            raise unpublished(SITE_FILE, f"cannot be read: {error}") from error
        except UserError as failed:
            if self._tokens is None or failed.exit_code != 6:
                raise self._unreadable(failed) from failed
            # The season has locked the database for long, for example because it was stopped: the old revisions stay.

    def revision(self, *topics: str) -> int:
        """Return a number that changes whenever one of `topics` changes; without topics, whenever any topic changes."""
        return max((self._revisions.get(topic, 0) for topic in topics or self._revisions), default=0)

    def _loaded(self, topic: str, name: str, read: Callable[[SiteDatabase], D], *also: str) -> Loaded[D]:
        """Return the value with a name in a topic, and its revision.

        Call `read` only if the topic, or one of `also`, has changed since the last call. If the database is locked,
        return the value of the last call. Raise Refusal (503) if the database cannot be read.
        """
        self.refresh()
        revision, known = self.revision(topic, *also), self._cache.known((topic, name))
        if known is None or known.revision != revision:
            assert self._database is not None  # `refresh` has opened it
            try:
                known = self._cache.keep((topic, name), Loaded(read(self._database), revision))
            except (UserError, ValueError) as failed:
                if known is None or not isinstance(failed, UserError) or failed.exit_code != 6:
                    raise self._unreadable(failed) from failed
        return known

    def _unreadable(self, failed: Exception) -> Refusal:
        """Return the refusal for a database that cannot be read. `refresh` opens the database again the next time."""
        self._database = None
        if isinstance(failed, UserError) and failed.exit_code == 6:
            return unpublished(SITE_FILE, failed.problems[0].message)
        return unpublished(SITE_FILE, "is damaged, or another version of croupier has published it")

    def _document(self, name: str, kind: type[D]) -> Loaded[D] | None:
        found = self._loaded(name, "", lambda database: database.read(name, kind))
        return None if found.value is None else Loaded(found.value, found.revision)

    def _named(self, topic: str, name: str, read: Callable[[SiteDatabase], D | None], what: str) -> Loaded[D]:
        """Return the value of a name that a visitor has sent.

        Raise Refusal (404) if there is none; `what` is the word for such a value in its message.
        """
        found = self._loaded(topic, name, read)
        if found.value is None:
            raise not_found(f"there is no {what} of this name", name[:200])
        return Loaded(found.value, found.revision)

    def _required(self, name: str, found: Loaded[D] | None) -> Loaded[D]:
        if found is None:
            raise unpublished(name, "the season has not published this yet")
        return found

    def file(self, name: str) -> Path:
        """Return the path of a file below published/. Raise Refusal (404) if it is missing or in another folder."""
        top = self.folder.resolve()
        path = (top / name).resolve()
        if "\0" in name or not path.is_relative_to(top) or not path.is_file():
            raise not_found("the season does not keep this file any more", name)
        return path
