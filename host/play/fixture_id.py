"""The identity of a fixture, and its spelled form: the path that names it in seeds, records and commands.

A path is never cut anywhere else. It has up to four parts: `swiss/3/ada+grace/1` is the block from table 1 on of the
meeting of ada and grace in round 3 of the stage `swiss`. What a kind of stage does not need is left out.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote


class FixtureId(NamedTuple):
    """Which fixture of a tournament. Seeds depend on its spelled form, `str(...)`.

    `meeting` names the bots that meet, and a set of theirs if there are several: `ada+grace/set 2`. It is empty for a
    tourney of all bots. The same value names a table, with the number of the table as `first_table`.
    """

    stage: str
    round: int | None = None  # the number of the round, or of a meeting if the same bots can meet again
    meeting: str = ""
    first_table: int | None = None

    @classmethod
    def parse(cls, path: str) -> "FixtureId":
        """Return the identity that a path spells. Parts of an unknown form belong to the meeting."""
        stage, *parts = path.split("/")
        first = int(parts.pop()) if parts and _is_number(parts[-1]) else None
        number = int(parts.pop(0)) if parts and _is_number(parts[0]) else None
        return cls(stage, number, "/".join(parts), first)

    def __str__(self) -> str:
        return self.group if self.first_table is None else f"{self.group}/{self.first_table}"

    @property
    def group(self) -> str:
        """The path without the table: what all fixtures and tables of a meeting share."""
        number = "" if self.round is None else f"/{self.round}"
        return f"{self.stage}{number}/{self.meeting}" if self.meeting else self.stage + number

    @property
    def meeting_parts(self) -> list[str]:
        """The parts of the meeting: its bots, joined by "+", and its set."""
        return self.meeting.split("/") if self.meeting else []

    @property
    def set_number(self) -> int:
        """The number of the set that a fixture of a bracket belongs to, from 1; 0 if it belongs to none."""
        _, found, number = self.meeting.rpartition("/set ")
        return int(number) if found and _is_number(number) else 0

    @property
    def sort_key(self) -> list[tuple[bool, int, str]]:
        """A sort key in which numbers are compared as numbers, part by part."""
        return [(_is_number(part), int(part) if _is_number(part) else 0, part) for part in str(self).split("/")]

    def with_bots(self, rename: Callable[[str], str]) -> "FixtureId":
        """Return the identity with `rename` applied to each part of its meeting."""
        return self._replace(meeting="/".join(map(rename, self.meeting_parts)))


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdecimal() and (part[0] != "0" or part == "0") and len(part) < 19


def group_of(path: str) -> str:
    """Return the path of a fixture or table without the number of its table."""
    return FixtureId.parse(path).group


def is_within(path: str, name: str) -> bool:
    """Return whether a fixture has this name, or belongs to the meeting, round or stage with this name."""
    return path == name or path.startswith(f"{name}/")


def contestants(bots: Iterable[str]) -> str:
    """Return the bots as part of a path. They are sorted, so that the order of entry has no effect."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


@lru_cache(maxsize=100_000)
def contestants_in(part: str) -> tuple[str, ...]:
    """Return the bots that a part of a meeting names, if it names any."""
    return tuple(map(unquote, part.split("+")))


def with_sorted_bots(name: str) -> str:
    """Return a path that a person has typed, with the bots of its meeting in their order."""
    return "/".join("+".join(sorted(part.split("+"))) for part in name.split("/"))
