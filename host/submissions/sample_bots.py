"""The bots that ship with croupier: `sample:NAME` means one of them wherever a bot is named."""

from pathlib import Path

from host.base.config_file import closest_match, to_toml
from host.base.errors import Problem, UserError
from host.base.paths import SAMPLE_PREFIX
from host.games import GAMES

ATTACKED_GAME = "cardshark"
"""The game of rogues that name no other, and of the honest bot that `croupier doctor --attack` seats beside them."""


def folder() -> Path:
    """Return where the sample bots lie: in the installed package, or in the clone beside it."""
    host = Path(__file__).parents[1]
    installed = host / "data" / "sample_bots"
    return installed if installed.is_dir() else host.parent / "sample_bots"


def samples(game: str) -> dict[str, Path]:
    """Return the sample bots of a game by name, in alphabetical order; those of every game for ""."""
    games = [game] if game else list(GAMES)
    found: dict[str, Path] = {}
    for place in (path for name in games if name in GAMES for path in (folder() / name).glob("*")):
        if not place.name.startswith((".", "_", "README")):
            found[place.name if place.is_dir() else place.stem] = place
    return dict(sorted(found.items()))


def sample(name: str, game: str | None = None) -> Path:
    """Return where a sample bot lies, named with or without `sample:`; raise UserError with what was probably meant."""
    known, name = samples(game or ""), name.removeprefix(SAMPLE_PREFIX)
    if name in known:
        return known[name]
    of = f" of {game}" if game else ""
    meant = closest_match(name, known)
    hint = SAMPLE_PREFIX + meant if meant else ", ".join(known) or f"croupier ships none{of}"
    raise UserError([Problem("C012", "", f"there is no sample bot{of} called {to_toml(name)}", hint=hint)], 2)
