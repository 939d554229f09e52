"""Writes and reads published/site.sqlite, a copy of all that the site may show. Private rows are selected only here."""

import contextlib
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

from host.base.errors import UserError
from host.base.value_types import plain_word
from host.season.documents import (
    ANSWER,
    AUTHOR,
    BOT,
    DOCUMENT,
    OWN_TABLES,
    PUBLISHED,
    REVISION,
    ROUND,
    SITE_FILE,
    SUBMISSION,
    AuthorDocument,
    BotDocument,
    Document,
    PublishedRound,
    Revision,
    RoundsDocument,
)
from host.season.entries.database import Database, writing
from host.season.entries.queue import Quota
from host.season.entries.table import Table, V
from host.season.folder import SeasonFolder

MAX_NUMBER = (1 << 63) - 1  # of SQLite
D = TypeVar("D")
_encode = msgspec.json.Encoder(enc_hook=plain_word).encode


@contextlib.contextmanager
def published(folder: SeasonFolder) -> Iterator["SiteDatabase"]:
    """Open the database of the site for writing. Replace a damaged database by an empty one."""
    path = folder.published / SITE_FILE
    with contextlib.ExitStack() as stack:
        # Without a write-ahead log, the site can read the database from a disk to which it may not write.
        opened = partial(writing, path, PUBLISHED, mode="DELETE")
        try:
            database = stack.enter_context(opened())
        except UserError as broken:
            if broken.exit_code != 3:
                raise
            path.unlink()
            database = stack.enter_context(opened())
        path.chmod(0o640)  # it has private rows
        yield SiteDatabase(database)


class SiteDatabase:
    """The database that the site reads. The revision of a topic changes whenever one of its rows changes."""

    def __init__(self, database: Database) -> None:
        self.database = database

    # Written by the season process.

    def put(self, topic: str, table: Table[V], value: V) -> None:
        """Write a row of a table, and change the revision of `topic`. Do nothing if an equal row is there already."""
        if self.database.put(table, value):
            self._revise(topic)

    def document(self, name: str, document: msgspec.Struct) -> None:
        """Write a document under its name. It replaces an older document."""
        self.put(name, DOCUMENT, Document(name, _encode(document)))

    def remove(self, topic: str, table: Table[Any], **which: Any) -> None:
        """Remove the rows of a table whose columns have the values of `which`.

        Change the revision of `topic` if a row was removed.
        """
        condition = " AND ".join(f"{column} = ?" for column in which)
        if self.database.change(f"DELETE FROM {table.name} WHERE {condition}", *which.values()):
            self._revise(topic)

    def remove_old(self, topic: str, table: Table[Any], column: str, least: float, author: str = "") -> None:
        """Remove the rows of a table whose `column` is less than `least`; only those of `author`, if it is not empty.

        Change the revision of `topic` if a row was removed.
        """
        of_author, values = (" AND author = ?", (least, author)) if author else ("", (least,))
        if self.database.change(f"DELETE FROM {table.name} WHERE {column} < ?{of_author}", *values):
            self._revise(topic)

    def _revise(self, topic: str) -> None:
        last = self.database.number("SELECT max(number) FROM revision")
        # With the time, the number also changes if the database was made again.
        self.database.put(REVISION, Revision(topic, max(time.time_ns(), last + 1)))

    def rounds_with_report(self) -> list[PublishedRound]:
        """Return the rounds that have a report."""
        return self.database.select(ROUND, "WHERE report != ''")

    def round_without_report(self) -> int:
        """Return the number of the newest round whose report has not been made; 0 if there is none."""
        return self.database.number("SELECT max(number) FROM round WHERE report IS NULL")

    # Read by the site: what everybody may see.

    def revisions(self) -> dict[str, int]:
        """Return the revision numbers by topic."""
        return {each.topic: each.number for each in self.database.select(REVISION)}

    def read(self, name: str, kind: type[D]) -> D | None:
        """Return the document of a name; None if there is none. Raise MsgspecError if it is not of the type `kind`."""
        found = self.database.first(DOCUMENT, "WHERE name = ?", name)
        return msgspec.json.decode(found.content, type=kind) if found else None

    def rounds(self) -> RoundsDocument:
        """Return all rounds, newest first."""
        found = self.database.rows("SELECT row FROM round ORDER BY number DESC")
        return msgspec.convert({"rows": [msgspec.json.decode(row) for (row,) in found]}, RoundsDocument)

    def round(self, number: int) -> PublishedRound | None:
        """Return a round; None if there is none."""
        return self.database.first(ROUND, "WHERE number = ?", min(number, MAX_NUMBER))

    def bot(self, name: str) -> BotDocument | None:
        """Return a bot; None if there is none."""
        return self.database.first(BOT, "WHERE bot = ?", name)

    # What one author may see. Private rows are selected here and nowhere else.

    def tokens(self) -> dict[str, str]:
        """Return the SHA-256 of the secret in each link, by author. The organiser's name is ""."""
        return dict(self.database.rows("SELECT author, token_sha256 FROM author"))

    def author(self, name: str) -> AuthorDocument:
        """Return the document with the data for one author."""
        found = self.database.first(AUTHOR, "WHERE author = ?", name)
        answers = self.database.select(ANSWER, "WHERE author = ? ORDER BY at, request", name)
        bots = self.database.select(BOT, "WHERE author = ?", name)
        versions = [version for bot in bots for version in bot.versions]
        query = "SELECT DISTINCT round FROM own_tables JOIN bot USING (bot) WHERE author = ? ORDER BY round DESC"
        tables = self.database.rows(query, name)
        return AuthorDocument(
            author=name,
            submissions=tuple(self.database.select(SUBMISSION, "WHERE author = ? ORDER BY at DESC, id", name)),
            versions=tuple(sorted(versions, key=lambda each: (-each.entered, -each.number))),
            faults=found.faults if found else (),
            tables=tuple(number for (number,) in tables),
            quota=found.quota if found else Quota(),
            answers={answer.request: answer for answer in answers},
        )

    def own_tables(self, author: str, number: int) -> bytes | None:
        """Return a round's tables as the author's bots saw them, as NDJSON; None if they are not kept any more."""
        own = "WHERE round = ? AND bot IN (SELECT bot FROM bot WHERE author = ?) ORDER BY bot"
        found = self.database.select(OWN_TABLES, own, number, author)
        return "".join(each.content for each in found).encode() if found else None
