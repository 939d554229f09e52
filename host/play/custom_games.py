"""Games that organisers bring: `game = "package.module:GAME"` in croupier.toml names a value of their own Python code.

The code is trusted as croupier is: only the tournament's own file can name it, never a bot's.
"""

import pkgutil
import re
import sys
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.games import GAMES
from host.games.engine import Display, Game

LINE = re.compile(r"""^\s*game\s*=\s*["'](?P<said>[\w.]+:\w+)["']""", re.MULTILINE)
OURS = frozenset({"host", "protocols", "__main__"})
"""Modules that belong to no game, though a clone of croupier may hold a tournament too."""


class CustomName(NamedTuple):
    """A value of an organiser's own code, as croupier.toml names it: `key = "package.module:NAME"`."""

    key: str
    said: str
    where: str = ""  # file and line

    def refused(self, why: str, hint: str) -> UserError:
        """Return the refusal of a value that cannot be used."""
        return UserError([Problem("C018", self.where, f'{self.key} = "{self.said}" {why}', hint=hint)], 3)


def import_value(named: CustomName, folder: str, *, first: bool = False) -> object:
    """Return the value that a name stands for. Modules are looked for where Python looks, then in the folder.

    With `first` the folder is searched before all others. Raise UserError (exit code 3) if there is no such value.
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
    """Where a game comes from; empty for croupier's own."""

    said: str = ""  # what names it
    folder: str = ""  # where it is looked for, too
    first: bool = False  # whether it is looked for there before anywhere else: it has travelled, alone


_origins: dict[str, GameOrigin] = {}


def origin(game: str) -> GameOrigin:
    """Return where a game comes from, for another process to bring it too."""
    return _origins.get(game, GameOrigin())


def sources(game: str) -> list[Path]:
    """Return the files that a game was made of, of a package all that lie in it; none that are installed."""
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
    """Return the game that `package.module:GAME` names, and know it by its own name from now on.

    Modules are looked for where Python looks, then in the folder. Raise Refused (exit code 3) when there is none.
    """
    return reload_game(GameOrigin(said, str(folder.absolute())), where)


def reload_game(known: GameOrigin, where: str = "") -> Game:
    """Return a game that another process has brought; raise Refused as `bring` does."""
    named = CustomName("game", known.said, where)
    game = import_value(named, known.folder, first=known.first)
    if not isinstance(game, Game):
        raise named.refused(f"is no Game but {type(game).__name__}", "see docs/adding-a-game.md")
    if not re.fullmatch("[a-z][a-z0-9_]{0,30}", game.name):
        raise named.refused(f"is called {game.name!r}", "small letters, digits and _ make a game's name")
    if GAMES.setdefault(game.name, game) is not game:
        raise named.refused(f"is called {game.name}, as another game is", "give it a name of its own")
    _origins[game.name] = known
    return game


def game_by_name(game: str) -> Game:
    """Return a game that croupier knows by now, for what a journal tells of it; raise Refused (exit code 3) else."""
    if game not in GAMES:
        message, hint = f"the game {game} is not known here", "-C DIR, where DIR/croupier.toml names its code"
        raise UserError([Problem("C018", "", message, hint=hint)], 3)
    return GAMES[game]


def display_of(game: str) -> Display:
    """Return how a game's tables are displayed; a game that is not known here is displayed in words."""
    return GAMES[game].display if game in GAMES else Display()


def register_from_config(config: Path) -> None:
    """Know the game that a tournament's file names, if it is an organiser's own; what is wrong with it is told later."""
    try:
        line = LINE.search(config.read_text())
        if line is not None:
            load_game(line["said"], config.parent)
    except (OSError, UnicodeDecodeError, UserError):
        return
