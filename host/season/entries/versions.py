"""Stores the versions of a season, and which of them play."""

import json
from collections import Counter
from collections.abc import Collection
from typing import Any

from host.base.errors import Problem, UserError
from host.season.entries.database import Database
from host.season.entries.names import whole_number
from host.season.entries.submissions import OF_AUTHORS
from host.season.entries.table import Table
from host.season.entries.values import Version

VERSION = Table(
    "version",
    Version,
    *("bot", "number"),
    own={"bot": "REFERENCES bot", "submission": "REFERENCES submission"},
    more=", UNIQUE (bot, content)",
)
NEWEST_FIRST = "ORDER BY entered DESC, number DESC"


class Versions:
    """The versions of a season."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Version]:
        """Return all versions in the order in which they were entered."""
        return self._some("ORDER BY entered, bot, number")

    def of_authors(self, authors: Collection[str]) -> list[Version]:
        """Return the versions of some authors in the order in which they were entered."""
        return self._some(f"WHERE {OF_AUTHORS} ORDER BY entered, bot, number", json.dumps([*authors]))

    def playing(self) -> list[Version]:
        """Return the versions that play: active, not taken off the ladder, and of no withdrawn bot."""
        return self._some(
            "WHERE active AND off_ladder = '' AND bot NOT IN (SELECT name FROM bot WHERE withdrawn != '') "
            "ORDER BY entered, bot, number"
        )

    def of_author(self, author: str) -> list[Version]:
        """Return the versions of an author, the newest first."""
        return self._some(f"WHERE author = ? {NEWEST_FIRST}", author)

    def count(self, author: str) -> int:
        """Return how many versions an author has."""
        return self._database.number("SELECT count(*) FROM version WHERE author = ?", author)

    def get(self, bot: str, number: int) -> Version:
        """Return a version. Raise UserError if it does not exist."""
        if found := self._some("WHERE bot = ? AND number = ?", bot, number):
            return found[0]
        problem = Problem(
            "E009", f"{bot}-{number}", "there is no such version in the season", hint="see the bot's page"
        )
        raise UserError([problem], 3)

    def labelled(self, label: str) -> Version:
        """Return the version with a label. Raise UserError if it does not exist."""
        bot, _, number = label.rpartition("-")
        known = whole_number(number)
        return self.get(bot if known else label, known)

    def with_content(self, bot: str, content: str) -> Version | None:
        """Return the version of a bot whose files have the SHA-256 `content`; None if there is none."""
        found = self._some("WHERE bot = ? AND content = ?", bot, content)
        return found[0] if found else None

    def next_number(self, bot: str) -> int:
        """Return the number of the next version of a bot."""
        return self._database.number("SELECT max(number) FROM version WHERE bot = ?", bot) + 1

    def late(self, at: float) -> list[tuple[float, Version]]:
        """Return pairs (time of submission, version) of the versions submitted at `at` or later, oldest first."""
        times = dict(self._database.rows("SELECT id, at FROM submission WHERE at >= ?", at))
        found = [(times[version.submission], version) for version in self.all() if version.submission in times]
        return sorted(found, key=lambda each: each[0])

    def _some(self, condition: str, *values: Any) -> list[Version]:
        return self._database.select(VERSION, condition, *values)

    def add(self, version: Version) -> None:
        """Add a version."""
        self._database.add(VERSION, version)

    def activate(self, version: Version, most: int) -> list[Version]:
        """Let a version play, also if it was taken off the ladder. Return the author's versions that no longer play.

        At most `most` versions of an author play: this one, and those that were entered last.
        """
        with self._database.transaction():
            others = [each for each in self.of_author(version.author) if each.active and each.label != version.label]
            stopped = others[max(most, 1) - 1 :]
            for each in stopped:
                self.deactivate(each)
            self._database.put(VERSION, version._replace(active=True, off_ladder=""))
        return stopped

    def keep_newest(self, most: int) -> list[Version]:
        """Stop the versions of each author that play, except the `most` that were entered last. Return those stopped."""
        playing, kept = self._some(f"WHERE active {NEWEST_FIRST}"), Counter[str]()
        stopped = []
        for version in playing:
            kept[version.author] += 1
            if kept[version.author] > most:
                self.deactivate(version)
                stopped.append(version)
        return stopped

    def deactivate(self, version: Version) -> None:
        """Stop a version: it no longer plays."""
        self._database.put(VERSION, version._replace(active=False))

    def take_off(self, label: str, reason: str) -> None:
        """Take a version off the ladder until its author acts. Raise UserError if it does not exist."""
        self._database.put(VERSION, self.labelled(label)._replace(off_ladder=reason))
