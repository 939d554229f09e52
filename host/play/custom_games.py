"""Loads custom games: `game = "package.module:GAME"` in croupier.toml names a value in the organiser's Python code.

The code is trusted as croupier's own. Only croupier.toml can name it; a bot.toml cannot.
"""

import pkgutil
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.games import GAMES
from host.games.engine import Display, Game, GameFailed
from host.play import openspiel

LINE = re.compile(r"""^[^\S\n]*+game\s*=\s*["'](?P<said>[\w.]+:\w+(?:\([^"'\n]*\))?)["']""", re.MULTILINE)
OURS = frozenset({"host", "protocols", "__main__"})
"""Packages that never belong to a custom game, even if the tournament's folder is inside a clone of croupier."""
LIBRARIES: Mapping[str, Callable[[str], Game]] = {openspiel.PREFIX: openspiel.game_named}
"""Libraries of games by the word before the colon, as in `openspiel:chess`. They get the rest, and may raise NotPlayable."""


class CustomName(NamedTuple):
    """A name in croupier.toml for a value in the organiser's code: `key = "package.module:NAME"`."""

    key: str
    said: str
    where: str = ""  # file and line

    def refused(self, why: str, hint: str) -> UserError:
        """Return the UserError (exit code 3) for a value that cannot be used."""
        return UserError([Problem("C018", self.where, f'{self.key} = "{self.said}" {why}', hint=hint)], 3)


def import_value(named: CustomName, folder: str, *, first: bool = False) -> object:
    """Import the value that a name refers to. Modules are searched where Python searches, then in the folder.

    With `first` the folder is searched first. Raise UserError (exit code 3) if the value does not exist.
    """
    sys.path.insert(0 if first else len(sys.path), folder)
    try:
        found: object = pkgutil.resolve_name(named.said)
    except (ImportError, SyntaxError, AttributeError, NameError, TypeError, ValueError) as failed:
        module = named.said.partition(":")[0].replace(".", "/")
        hint = f"{module}.py beside croupier.toml, or a package that is installed"
        raise named.refused(f"cannot be imported: {failed}", hint) from failed
    finally:
        sys.path.remove(folder)
    return found


class GameOrigin(NamedTuple):
    """Source of a custom game; empty for croupier's own games."""

    said: str = ""  # its name in croupier.toml
    folder: str = ""  # the additional folder in which it is searched
    first: bool = False  # whether that folder is searched first, for a copy of the game on another machine


_origins: dict[str, GameOrigin] = {}


def origin(game: str) -> GameOrigin:
    """Return the source of a game, so that another process can load it."""
    return _origins.get(game, GameOrigin())


def sources(game: str) -> list[Path]:
    """Return the source files of a custom game. For a package these are all files in it. Installed files are left out."""
    if game not in _origins:
        return []
    folder, found = Path(origin(game).folder), set[Path]()
    for name, module in list(sys.modules.items()):
        place, file = folder.joinpath(*name.split(".")), getattr(module, "__file__", None)
        if file is None or name.partition(".")[0] in OURS:
            continue
        if Path(file).parent == place:
            found |= {path for path in place.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
        elif Path(file).parent == place.parent:
            found.add(Path(file))
    return sorted(found)


def load_game(said: str, folder: Path, where: str = "") -> Game:
    """Import the game that `package.module:GAME` names, and register it under its own name.

    Modules are searched where Python searches, then in the folder. Raise UserError (exit code 3) if there is no such
    game.
    """
    return reload_game(GameOrigin(said, str(folder.absolute())), where)


def reload_game(known: GameOrigin, where: str = "") -> Game:
    """Load a game that another process has loaded. Raise UserError as `load_game` does."""
    named = CustomName("game", known.said, where)
    library, _, name = known.said.partition(":")
    if library in LIBRARIES:
        try:
            game: object = LIBRARIES[library](name)
        except openspiel.NotPlayable as failed:
            raise named.refused(str(failed), failed.hint) from failed
    else:
        game = import_value(named, known.folder, first=known.first)
    if not isinstance(game, Game):
        raise named.refused(f"is not a Game but a {type(game).__name__}", "see docs/adding-a-game.md")
    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", game.name):
        raise named.refused(f"is called {game.name!r}", "use only small letters, digits and _")
    if GAMES.setdefault(game.name, game) is not game:
        raise named.refused(f"is called {game.name} like another game", "choose another name")
    _origins[game.name] = known
    return game


HINT = "no bot is charged, and what was played is kept: fix the game or report this to its authors, then run again"


def failed_game(game: str, what: str) -> UserError:
    """Return the UserError (exit code 3) for an organiser's own game that fails while it is played."""
    return UserError([Problem("C020", "", f"the game {origin(game).said} {what}", hint=HINT)], 3)


def blame_game(game: str, failed: GameFailed) -> None:
    """Raise UserError (exit code 3) if an organiser's own game has failed. Return if the game is croupier's own."""
    why = failed.__cause__
    if isinstance(why, UserError):
        raise why
    if origin(game).said:
        said = f"{type(why).__name__}: {one_line(str(why))[:300]}"
        raise failed_game(game, f"failed at table {failed.table}: {said}") from why


def game_by_name(game: str) -> Game:
    """Return a registered game by its name in a journal. Raise UserError (exit code 3) if it is not registered."""
    if game not in GAMES:
        message, hint = f"the game {game} is not known here", "-C DIR, where DIR/croupier.toml names its code"
        raise UserError([Problem("C018", "", message, hint=hint)], 3)
    return GAMES[game]


def display_of(game: str) -> Display:
    """Return how tables of a game are displayed. Tables of an unknown game are displayed as plain text."""
    return GAMES[game].display if game in GAMES else Display()


def register_from_config(config: Path) -> None:
    """Register the custom game named in croupier.toml, if it names one. Errors are ignored here and reported later."""
    try:
        line = LINE.search(config.read_text())
        if line is not None:
            load_game(line["said"], config.parent)
    except (OSError, UnicodeDecodeError, UserError):
        return
