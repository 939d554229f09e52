"""Finds the bots that ship with croupier. `sample:NAME` means one of them wherever croupier expects a bot."""

from pathlib import Path

from host.base.errors import Problem, UserError, closest_match
from host.base.paths import SAMPLE_PREFIX, shipped
from host.base.toml_file import to_toml
from host.games import GAMES

ATTACKED_GAME = "cardshark"
"""The game of rogue bots that name no game, and of the honest bot at their table in `croupier doctor --attack`."""

HONEST = {"cardshark": "lim17", "holdem": "always_bet"}
"""The honest bots at the tables of rogues, by game."""

SHORT_RULES: dict[str, dict[str, int]] = {"cardshark": {"hands": 1}, "holdem": {"rounds": 2}}
"""The rules of short tables, by game."""


def folder() -> Path:
    """Return the folder of the sample bots."""
    return shipped("sample_bots")


def samples(game: str) -> dict[str, Path]:
    """Return the paths of a game's sample bots by name, in alphabetical order; for "", those of all games."""
    games = [game] if game else list(GAMES)
    found: dict[str, Path] = {}
    for place in (path for name in games if name in GAMES for path in (folder() / name).glob("*")):
        if not place.name.startswith((".", "_", "README")):
            found[place.name if place.is_dir() else place.stem] = place
    return dict(sorted(found.items()))


def sample(name: str, game: str | None = None) -> Path:
    """Return the path of a sample bot; its name may start with `sample:`. Raise UserError with a hint if it is unknown."""
    known, name = samples(game or ""), name.removeprefix(SAMPLE_PREFIX)
    if name in known:
        return known[name]
    of = f" of {game}" if game else ""
    meant = closest_match(name, known)
    hint = SAMPLE_PREFIX + meant if meant else ", ".join(known) or f"croupier ships none{of}"
    raise UserError([Problem("C012", "", f"there is no sample bot{of} called {to_toml(name)}", hint=hint)], 2)
