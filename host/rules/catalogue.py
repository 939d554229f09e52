"""Finds games by name: croupier's own, and those of an organiser's code or of a library.

`game = "package.module:GAME"` in croupier.toml names a value in the organiser's Python code. The code is trusted as
croupier's own. Only croupier.toml can name it; a bot.toml cannot.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from host.base.errors import Problem, UserError
from host.base.on_demand import OnDemand
from host.base.paths import absolute, display_path
from host.base.safe_text import one_line
from host.base.value_types import OwnName
from host.bots.bot_spec import BuiltBot
from host.games import GAMES
from host.games.engine import Display, Game, GameFailed
from host.rules.foreign import game_folder, is_foreign
from host.rules.own_code import files_of, import_from, line_of
from protocols.wire import View

LIBRARIES: Mapping[str, Callable[[str], Game]] = OnDemand({"openspiel": "host.rules.openspiel:game_named"})
"""Libraries of games by the word before the colon, as in `openspiel:chess`. They get the rest, and may raise NotPlayable."""


class CustomName(NamedTuple):
    """A name in croupier.toml for a value in the organiser's code: `key = "package.module:NAME"`."""

    key: str
    said: str
    where: str = ""  # file and line

    def refused(self, why: str, hint: str) -> UserError:
        """Return the UserError (exit code 3) for a value that cannot be used."""
        return UserError([Problem("C018", self.where, f'{self.key} = "{self.said}" {why}', hint=hint)], 3)


def import_value(named: CustomName, folder: str) -> object:
    """Import the value that a name refers to. Its module is searched in the folder, then where Python searches.

    Raise UserError (exit code 3) if the value does not exist.
    """
    module, _, attributes = named.said.partition(":")
    try:
        found: object = import_from(folder, module)
        for attribute in filter(None, attributes.split(".")):
            if not hasattr(found, attribute):
                raise AttributeError(f"module {module!r} has no attribute {attribute!r}")
            found = getattr(found, attribute)
    except (ImportError, SyntaxError, AttributeError, NameError, TypeError, ValueError) as failed:
        hint = f"{module.replace('.', '/')}.py beside croupier.toml, or a package that is installed"
        raise named.refused(f"cannot be imported: {failed}", hint) from failed
    return found


def is_folder(said: str) -> bool:
    """Return whether a game is called as a folder with a game.toml: `scopa/`, `./scopa`."""
    return "/" in said and ":" not in said


def has_referee(said: str) -> bool:
    """Return whether a game is called as a program that knows the rules: a folder, or a referee for another host."""
    return is_folder(said) or is_foreign(said)


FILES_HINT = "of a module only its code is sent there; a package, a folder with __init__.py, is sent with all its files"
FIRST_QUESTION = "the first question of a table"


class GameOrigin(NamedTuple):
    """Where a game that is not croupier's own comes from; empty for croupier's own games."""

    said: str = ""  # its name in croupier.toml
    folder: str = ""  # the folder in which it is searched
    packed: bool = False  # whether the folder is the hash of files that are sent to another machine
    referee: BuiltBot | None = None  # the program that knows the rules, once it is built on this machine
    question: tuple[Any, ...] = ()  # the first one of a table, by its fields, for a game.toml without edge cases

    @property
    def has_referee(self) -> bool:
        """Whether the rules are in a program: the folder has a game.toml."""
        return has_referee(self.said)


class OwnGame(NamedTuple):
    """A game of an organiser's code, or of a library."""

    game: Game
    origin: GameOrigin


def of_library(game: str) -> bool:
    """Return whether a game is called as a game of a library, which every process can load by its name alone."""
    return game.partition(":")[0] in LIBRARIES and ":" in game


def library_game(game: str) -> str:
    """Return the name of a library's game, which carries it; the plain name if the library cannot load it here."""
    with suppress(UserError):
        return reload_game(GameOrigin(game)).name
    return game


def _own(game: str) -> OwnGame | None:
    return game.value if isinstance(game, OwnName) and isinstance(game.value, OwnGame) else None


def origin(game: str) -> GameOrigin:
    """Return the source of a game, so that another process can load it."""
    own = _own(game)
    return own.origin if own else GameOrigin()


def sources(game: str) -> list[Path]:
    """Return the Python files of a custom game in its folder. Installed files are left out."""
    known = origin(game)
    return files_of(known.folder) if known.folder and not known.has_referee else []


def load_game(said: str, folder: Path, where: str = "") -> Game:
    """Load the game that `package.module:GAME`, `openspiel:GAME`, `folder/` or `botzone:judge/` names.

    Raise UserError if there is none.
    Its name carries it, so that everything that has the name finds the game: see `game_by_name`.
    """
    if is_folder(said):
        return reload_game(GameOrigin(said, str(absolute(folder / said))), where)
    if is_foreign(said):
        return reload_game(GameOrigin(said, str(game_folder(said, folder, where))), where)
    return reload_game(GameOrigin(said, str(folder.absolute())), where)


def reload_game(known: GameOrigin, where: str = "") -> Game:
    """Load a game that another process has loaded. Raise UserError as `load_game` does."""
    named = CustomName("game", known.said, where)
    if known.has_referee:
        return _referee_game(known, named)
    library, _, name = known.said.partition(":")
    if library in LIBRARIES:
        from host.rules.openspiel import NotPlayable  # only these games need it

        try:
            return own_game(LIBRARIES[library](name), known)
        except NotPlayable as failed:
            raise named.refused(str(failed), failed.hint) from failed
    try:
        game = import_value(named, known.folder)
    except OSError as failed:
        if not known.packed:
            raise
        raise named.refused(f"cannot read a file on a machine of the cluster: {failed}", FILES_HINT) from failed
    if not isinstance(game, Game):
        raise named.refused(f"is not a Game but a {type(game).__name__}", "see docs/adding-a-game.md")
    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", game.name):
        raise named.refused(f"is called {game.name!r}", "use only small letters, digits and _")
    if GAMES.get(game.name, game) is not game:
        raise named.refused(f"has the name of another game, {game.name}", "choose another name")
    return own_game(game, known)


def _referee_game(known: GameOrigin, named: CustomName) -> Game:
    """Load the game of a folder with a game.toml. Without the built referee it cannot be played."""
    from host.rules.game_toml import GAME_FILE, load_referee_game  # only these games need it

    folder = Path(known.referee.folder if known.referee else known.folder)
    if not (folder / GAME_FILE).is_file():
        hint = f"a folder with a {GAME_FILE}; croupier init --referee LANGUAGE {known.said}  makes one"
        raise named.refused(f"is not a folder with a {GAME_FILE}", hint)
    game = load_referee_game(folder).game
    if known.question:
        game = game._replace(edges={FIRST_QUESTION: game.view(*known.question)})
    return own_game(game, known)


def attach_referee(game: str, built: BuiltBot, question: View) -> None:
    """Let every holder of a game's name play it with a referee that has been built.

    The question is the only edge case of a game that has none of its own; () for one that has.
    """
    own = _own(game)
    if isinstance(game, OwnName) and own is not None:
        edges = {FIRST_QUESTION: question} if question else own.game.edges
        known = own.origin._replace(referee=built, question=tuple(question))
        game.value = OwnGame(own.game._replace(edges=edges), known)


def own_game(game: Game, origin: GameOrigin) -> Game:
    """Return a game whose name carries it, for the length of its life."""
    name = OwnName.carrying(game.name, origin.said, None)
    game = game._replace(name=name)
    name.value = OwnGame(game, origin)
    return game


HINT = "no bot is charged, and what was played is kept: fix the game or report this to its authors, then run again"


def failed_game(game: str, what: str, where: str = "") -> UserError:
    """Return the UserError (exit code 3) for an organiser's own game that fails while it is played."""
    return UserError([Problem("C020", where, f"the game {origin(game).said} {what}", hint=HINT)], 3)


class OwnGameFailed(Exception):
    """Raised when an organiser's own game fails in a process of its own, in a check of bots: no bot is to blame."""

    def __init__(self, error: UserError) -> None:
        super().__init__(str(error))
        self.error = error


def own_code_error(error: BaseException) -> UserError | None:
    """Return the UserError (exit code 3) for an exception in an organiser's code; None if it was raised elsewhere."""
    if isinstance(error, OwnGameFailed):
        return error.error
    where = place_in_own_code(error)
    why = error.__cause__ if isinstance(error, GameFailed) and error.__cause__ else error
    return UserError([Problem("C020", where, f"raised {_words(why)}", hint=HINT)], 3) if where else None


def place_in_own_code(error: BaseException) -> str:
    """Return the file and the line of an organiser's code that raised an exception; "" if other code did."""
    place = line_of(error)
    return f"{display_path(place[0])}:{place[1]}" if place else ""


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(str(error))[:300]}"


class GameFailure(NamedTuple):
    """What an organiser's own game has raised, as text for people, and the file and line of its code if they are known."""

    reason: str
    where: str


def game_failure(failed: BaseException) -> GameFailure:
    """Return what the rules of a game have raised. Raise it if it is a UserError."""
    why = failed.__cause__ if isinstance(failed, GameFailed) and failed.__cause__ else failed
    if isinstance(why, UserError):
        raise why
    return GameFailure(_words(why), place_in_own_code(failed))


def blame_game(game: str, failed: GameFailed) -> NoReturn:
    """Raise UserError (exit code 3) if an organiser's own game has failed, `failed` if the game is croupier's own."""
    if not origin(game).said:
        raise failed
    reason, where = game_failure(failed)
    raise failed_game(game, f"failed at table {failed.table}: {reason}", where) from failed.__cause__


def game_by_name(game: str) -> Game:
    """Return one of croupier's games by name, or the game that its name carries. Raise UserError (exit code 3) for none."""
    if own := _own(game):
        return own.game
    if of_library(game):
        return reload_game(GameOrigin(game))
    if game not in GAMES:
        message, hint = f"the game {game} is not known here", "-C DIR, where DIR/croupier.toml names its code"
        raise UserError([Problem("C018", "", message, hint=hint)], 3)
    return GAMES[game]


def rules_type(game: str) -> type[Any]:
    """Return the type of a game's rules. Raise UserError as `game_by_name` does."""
    return type(next(iter(game_by_name(game).presets.values())))


def knows_game(game: str) -> bool:
    """Return whether `game_by_name` finds a game."""
    return _own(game) is not None or game in GAMES


def display_of(game: str) -> Display:
    """Return how tables of a game are displayed. Tables of an unknown game are displayed as plain text."""
    return game_by_name(game).display if knows_game(game) else Display()
