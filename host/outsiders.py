"""Games that organisers bring: `game = "package.module:GAME"` in croupier.toml names a value of their own Python code.

The code is trusted as croupier is: only the tournament's own file can name it, never a bot's.
"""

import importlib
import re
import sys
from pathlib import Path

from host.games import GAMES
from host.games.engine import Game
from host.problems import Problem, Refused

NAMED = re.compile(r"(?P<module>[A-Za-z_]\w*(\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")
LINE = re.compile(r"""^\s*game\s*=\s*["'](?P<said>[\w.]+:\w+)["']""", re.MULTILINE)
Origin = tuple[str, str]
"""Where a game comes from: what names it, and the folder that it is looked for in too; empty for croupier's own."""

_origins: dict[str, Origin] = {}


def origin(game: str) -> Origin:
    """Return where a game comes from, for another process to bring it too."""
    return _origins.get(game, ("", ""))


def bring(said: str, folder: Path, where: str = "") -> Game:
    """Return the game that `package.module:GAME` names, and know it by its own name from now on.

    Modules are looked for where Python looks, then in the folder. Raise Refused (exit code 3) when there is none.
    """
    named = NAMED.fullmatch(said)
    if named is None:
        raise _refused(where, said, "names no value of a module", 'game = "package.module:GAME"')
    sys.path.append(str(folder.absolute()))
    try:
        game = getattr(importlib.import_module(named["module"]), named["name"])
    except (ImportError, SyntaxError, AttributeError, NameError, TypeError, ValueError) as failed:
        hint = f"{named['module'].replace('.', '/')}.py beside croupier.toml, or a package that is installed"
        raise _refused(where, said, f"cannot be imported: {failed}", hint) from failed
    finally:
        sys.path.remove(str(folder.absolute()))
    if not isinstance(game, Game):
        raise _refused(where, said, f"is no Game but {type(game).__name__}", "see docs/adding-a-game.md")
    if not re.fullmatch("[a-z][a-z0-9_]{0,30}", game.name):
        raise _refused(where, said, f"is called {game.name!r}", "small letters, digits and _ make a game's name")
    if GAMES.setdefault(game.name, game) is not game:
        raise _refused(where, said, f"is called {game.name}, as another game is", "give it a name of its own")
    _origins[game.name] = said, str(folder.absolute())
    return game


def game_called(game: str) -> Game:
    """Return a game that croupier knows by now, for what a journal tells of it; raise Refused (exit code 3) else."""
    if game not in GAMES:
        message, hint = f"the game {game} is not known here", "-C DIR, where DIR/croupier.toml names its code"
        raise Refused([Problem("C018", "", message, hint=hint)], 3)
    return GAMES[game]


def bring_what_is_named_in(config: Path) -> None:
    """Know the game that a tournament's file names, if it is an organiser's own; what is wrong with it is told later."""
    try:
        line = LINE.search(config.read_text())
        if line is not None:
            bring(line["said"], config.parent)
    except (OSError, UnicodeDecodeError, Refused):
        return


def _refused(where: str, said: str, why: str, hint: str) -> Refused:
    return Refused([Problem("C018", where, f'game = "{said}" {why}', hint=hint)], 3)
