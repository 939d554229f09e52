"""Finds out whether a folder is that of a season or that of a tournament, without parsing its croupier.toml."""

import re
from pathlib import Path

from host.base.errors import Problem, UserError

SEASON_TABLE = re.compile(r"^[ \t]*\[[ \t]*season[ \t]*\]", re.MULTILINE)
"""The header of [season] in a croupier.toml."""

IN_A_SEASON = {
    "run": "croupier season open",
    "add": "croupier submit FILE",
    "serve": "croupier season open",
    "status": "croupier season status",
    "verify": "croupier season verify",
    "seed": "croupier season open  commits to the seed",
    "ls": "croupier season status",
    "remove": "croupier season withdraw BOT",
    "withdraw": "croupier season withdraw BOT",
} | dict.fromkeys(
    ("standings", "grades", "faults", "replay", "report", "redo", "export", "ask"),
    "each round is a tournament: -C rounds/0001, in the folder of the season",
)
"""The replacement, in a season, of each command that is for tournaments."""


def refuse_in_a_season(folder: Path, command: str) -> None:
    """Raise UserError if a command is for tournaments, and the folder is a season."""
    if command in IN_A_SEASON and is_season(folder):
        message = f"is a season, and `croupier {command}` is for a tournament"
        raise UserError([Problem("E101", str(folder), message, hint=IN_A_SEASON[command])], 3)


def is_season(folder: Path) -> bool:
    """Return whether the first 64 KiB of a folder's croupier.toml have a table [season]. The file may have errors."""
    try:
        with (folder / "croupier.toml").open("rb") as file:
            return bool(SEASON_TABLE.search(file.read(64 * 1024).decode(errors="replace")))
    except OSError:
        return False
