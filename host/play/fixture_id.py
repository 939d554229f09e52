"""The identity of a fixture, and its spelled form: the path that names it in seeds, records and commands.

No other module splits a path. A path has up to four parts: `swiss/3/ada+grace/1` is the block that starts with table 1
of the meeting of ada and grace, in round 3 of the stage `swiss`. Parts that a kind of stage does not need are left out.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote


class FixtureId(NamedTuple):
    """Identity of one fixture in a tournament. Seeds depend on its spelled form, `str(...)`.

    `meeting` names the bots that meet, and the set if they play several sets: `ada+grace/set 2`. It is empty for a
    tourney of all bots. A FixtureId can also name a single table. Then `first_table` is the number of this table.
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
        """Return the path without the number of the table. All fixtures and tables of a meeting share this path."""
        number = "" if self.round is None else f"/{self.round}"
        return f"{self.stage}{number}/{self.meeting}" if self.meeting else self.stage + number

    @property
    def meeting_parts(self) -> list[str]:
        """Return the parts of the meeting: the bots, joined by "+", and the set if there is one."""
        return self.meeting.split("/") if self.meeting else []

    @property
    def set_number(self) -> int:
        """Return the number, from 1, of the set to which a fixture of a bracket belongs; 0 if it belongs to no set."""
        _, found, number = self.meeting.rpartition("/set ")
        return int(number) if found and _is_number(number) else 0

    @property
    def sort_key(self) -> list[tuple[bool, int, str]]:
        """Return a sort key that compares paths part by part, and numbers as numbers."""
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
    """Return whether `path` is equal to `name`, or is in the meeting, round or stage with the path `name`."""
    return path == name or path.startswith(f"{name}/")


def contestants(bots: Iterable[str]) -> str:
    """Return the bots as one part of a path: escaped, sorted and joined by "+". The order of entry has no effect."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


@lru_cache(maxsize=100_000)
def contestants_in(part: str) -> tuple[str, ...]:
    """Return the bots in one part of a meeting, such as `ada+grace`.

    A part without bots, `set 2`, is taken as one name.
    """
    return tuple(map(unquote, part.split("+")))


def with_sorted_bots(name: str) -> str:
    """Return a path that a person has typed, with the bots of its meeting sorted."""
    return "/".join("+".join(sorted(part.split("+"))) for part in name.split("/"))
