"""Stores the rounds of a season: who plays, and what came of it."""

from typing import Any

import msgspec

from host.season.entries.database import Database, damaged
from host.season.entries.values import RoundEntry

COLUMNS = "number, state, players, meetings, uniform, began, ended, seal, seed, note"


class RoundStore:
    """The rounds of a season. Sums are bytes that the season process encodes with its own types."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[RoundEntry]:
        """Return all rounds in their order."""
        return self._some("ORDER BY number")

    def get(self, number: int) -> RoundEntry | None:
        """Return a round; None if there is none with this number."""
        found = self._some("WHERE number = ?", number)
        return found[0] if found else None

    def last(self) -> RoundEntry | None:
        """Return the newest round; None if there is none."""
        found = self._some("ORDER BY number DESC LIMIT 1")
        return found[0] if found else None

    def _some(self, condition: str, *values: Any) -> list[RoundEntry]:
        rows = self._database.rows(f"SELECT {COLUMNS} FROM round {condition}", *values)
        try:
            return [_round(row) for row in rows]
        except msgspec.MsgspecError as wrong:
            raise damaged(self._database.path, wrong) from wrong

    def set(self, entry: RoundEntry) -> None:
        """Write a round: add it, or replace what is known of it. Its sums stay."""
        self._database.change(
            "INSERT INTO round(number, state, players, meetings, uniform, began, ended, seal, seed, note) "
            "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT(number) DO UPDATE SET state = ?2, players = ?3, "
            "meetings = ?4, uniform = ?5, began = ?6, ended = ?7, seal = ?8, seed = ?9, note = ?10",
            entry.number,
            entry.state,
            msgspec.json.encode(entry.players),
            msgspec.json.encode(entry.meetings),
            int(entry.uniform),
            *entry[5:],
        )

    def set_sums(self, number: int, sums: bytes) -> None:
        """Write the sums of the results of a round."""
        self._database.change("UPDATE round SET sums = ? WHERE number = ?", sums, number)

    def sums(self) -> list[tuple[int, bytes]]:
        """Return the sums of all rounds that have some, with their numbers, in their order."""
        return [(n, sums) for n, sums in self._database.rows("SELECT number, sums FROM round ORDER BY number") if sums]


def _round(row: tuple[Any, ...]) -> RoundEntry:
    number, state, players, meetings, uniform, *rest = row
    return RoundEntry(
        number,
        state,
        msgspec.json.decode(players, type=tuple[str, ...]),
        msgspec.json.decode(meetings, type=tuple[tuple[tuple[str, ...], int], ...]),
        bool(uniform),
        *rest,
    )
