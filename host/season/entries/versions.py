"""Stores the versions of a season: which there are, and which play."""

from typing import Any

from host.base.errors import Problem, UserError
from host.season.entries.database import Database
from host.season.entries.values import Version

COLUMNS = "bot, number, author, sha256, submission, entered, active, off_ladder, content"
NEWEST_FIRST = "ORDER BY entered DESC, number DESC"


class Versions:
    """The versions of a season."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Version]:
        """Return all versions in the order in which they were entered."""
        return self._some("ORDER BY entered, bot, number")

    def playing(self) -> list[Version]:
        """Return the versions that play: active, not taken off the ladder, and of no withdrawn bot."""
        return self._some(
            "WHERE active AND off_ladder = '' AND bot NOT IN (SELECT name FROM bot WHERE withdrawn != '') "
            "ORDER BY entered, bot, number"
        )

    def of_bot(self, bot: str) -> list[Version]:
        """Return the versions of a bot, the newest first."""
        return self._some("WHERE bot = ? ORDER BY number DESC", bot)

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
        known = number.isascii() and number.isdecimal() and len(number) < 10
        return self.get(bot if known else label, int(number) if known else 0)

    def with_content(self, bot: str, content: str) -> Version | None:
        """Return the version of a bot with the same files; None if there is none."""
        found = self._some("WHERE bot = ? AND content = ?", bot, content)
        return found[0] if found else None

    def next_number(self, bot: str) -> int:
        """Return the number of the next version of a bot."""
        return self._database.number("SELECT max(number) FROM version WHERE bot = ?", bot) + 1

    def language(self, label: str) -> str:
        """Return the language of a version; empty if it does not exist."""
        bot, _, number = label.rpartition("-")
        row = self._database.row("SELECT language FROM version WHERE bot = ? AND number = ?", bot, number)
        return str(row[0]) if row else ""

    def with_times(self) -> list[tuple[float, Version]]:
        """Return all versions with the times when their submissions were handed in."""
        times = dict(self._database.rows("SELECT id, at FROM submission"))
        return [(times[version.submission], version) for version in self.all()]

    def _some(self, condition: str, *values: Any) -> list[Version]:
        rows = self._database.rows(f"SELECT {COLUMNS} FROM version {condition}", *values)
        return [_version(row) for row in rows]

    def add(self, version: Version, language: str) -> None:
        """Add a version."""
        row = (*version[:6], int(version.active), version.off_ladder, version.content, language)
        self._database.change(f"INSERT INTO version VALUES ({', '.join('?' * len(row))})", *row)

    def activate(self, version: Version, most: int) -> list[Version]:
        """Let a version play, and clear why it was taken off the ladder. Return those of its author that no longer play.

        At most `most` versions of an author play: those that were entered last.
        """
        with self._database.transaction():
            others = [each for each in self.of_author(version.author) if each.active and each.label != version.label]
            stopped = others[max(most, 1) - 1 :]
            for each in stopped:
                self.deactivate(each)
            query = "UPDATE version SET active = 1, off_ladder = '' WHERE bot = ? AND number = ?"
            self._database.change(query, version.bot, version.number)
        return stopped

    def deactivate(self, version: Version) -> None:
        """Let a version no longer play."""
        query = "UPDATE version SET active = 0 WHERE bot = ? AND number = ?"
        self._database.change(query, version.bot, version.number)

    def take_off(self, label: str, reason: str) -> None:
        """Take a version off the ladder until its author acts. Raise UserError if it does not exist."""
        version = self.labelled(label)
        query = "UPDATE version SET off_ladder = ? WHERE bot = ? AND number = ?"
        self._database.change(query, reason, version.bot, version.number)


def _version(row: tuple[Any, ...]) -> Version:
    bot, number, author, sha256, submission, entered, active, off_ladder, content = row
    return Version(bot, number, author, sha256, submission, entered, bool(active), off_ladder, content)
