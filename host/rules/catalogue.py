"""Finds games by name: croupier's own, and those of an organiser's code or of a library.

`game = "package.module:GAME"` in croupier.toml names a value in the organiser's Python code. croupier trusts this code
like its own. Only croupier.toml can name it; a bot.toml cannot.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NoReturn, get_args, get_origin, get_type_hints

from host.base.errors import Problem, UserError
from host.base.on_demand import OnDemand
from host.base.paths import absolute, display_path
from host.base.safe_text import one_line
from host.base.value_types import FLAG, InvalidValue, ValueType, integer, one_of
from host.bots.bot_spec import BuiltBot
from host.games import GAMES
from host.games.engine import Display, Game, GameFailed
from host.rules.foreign import game_folder, is_foreign
from host.rules.own_code import files_of, import_from, line_of
from protocols.wire import Move, View

if TYPE_CHECKING:
    from host.rules.libraries import Playable

LIBRARIES: Mapping[str, Callable[[str], Game]] = OnDemand(
    {"openspiel": "host.rules.openspiel:game_named", "textarena": "host.rules.textarena:game_named"}
)
"""Functions that load a game (`chess` of `openspiel:chess`), by library. A function may raise NotPlayable."""
LISTS: Mapping[str, Callable[[], "list[Playable]"]] = OnDemand(
    {"openspiel": "host.rules.openspiel:playable_games", "textarena": "host.rules.textarena:playable_games"}
)
"""Functions that return all games of a library, by library."""


class CustomName(NamedTuple):
    """Name in croupier.toml of a value in the organiser's code: `key = "package.module:NAME"`."""

    key: str
    said: str  # the name
    where: str = ""  # file and line of the name

    def refused(self, why: str, hint: str) -> UserError:
        """Return a UserError (exit code 3): the value cannot be used, for the reason `why`."""
        return UserError([Problem("C018", self.where, f'{self.key} = "{self.said}" {why}', hint=hint)], 3)


def import_value(named: CustomName, folder: str) -> object:
    """Import and return the value that a name refers to.

    Search its module in the folder, then in the places where Python searches. Raise UserError (exit code 3) if the
    module cannot be imported or does not have the value.
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


def is_folder(game: str) -> bool:
    """Return whether the name of a game is a folder with a game.toml, as in `scopa/` or `./scopa`."""
    return "/" in game and ":" not in game


def has_referee(game: str) -> bool:
    """Return whether the name of a game means a program with the rules: a folder, or a referee for another host."""
    return is_folder(game) or is_foreign(game)


FILES_HINT = "of a module only its code is sent there; a package, a folder with __init__.py, is sent with all its files"
FIRST_QUESTION = "the first question of a table"


class GameRef(NamedTuple):
    """Reference to the code of a game, with which every process can load the game; empty for croupier's own games."""

    said: str = ""  # name of the game in croupier.toml
    folder: str = ""  # the folder in which the code is searched
    packed: bool = False  # whether the folder is the hash of files that are sent to another machine
    referee: BuiltBot | None = None  # the program that knows the rules, once it is built on this machine
    question: tuple[Any, ...] = ()  # the fields of the first question of a table, for a game.toml without edge cases

    @property
    def has_referee(self) -> bool:
        """Whether the rules are in a program: a referee in a folder with a game.toml, or for another host."""
        return has_referee(self.said)


CROUPIERS_OWN = GameRef()


def ref_of(game: Game) -> GameRef:
    """Return the reference to the code of a game."""
    return game.ref if isinstance(game.ref, GameRef) else CROUPIERS_OWN


def of_library(game: str) -> bool:
    """Return whether the name of a game means a game of a library.

    Every process can load such a game by its name alone.
    """
    return game.partition(":")[0] in LIBRARIES and ":" in game


def allows_at_once(game: Game, rules: Any) -> Callable[[View, Move], bool]:
    """Return a function that says whether the rules allow a move in a view, before the rules play the move.

    For a game of an organiser it allows every move, because the organiser's code must not run in this process.
    """
    said = ref_of(game).said
    if said and not of_library(said):
        return lambda _view, _move: True
    return partial(game.allows, rules)


def sources(game: Game) -> list[Path]:
    """Return the files of the modules that an organiser's game has imported from its folder; [] for any other game."""
    ref = ref_of(game)
    return files_of(ref.folder) if ref.folder and not ref.has_referee else []


def load_game(said: str, folder: Path, where: str = "") -> Game:
    """Load a game by its name: `package.module:GAME`, `openspiel:GAME`, `textarena:GAME`, `folder/`, `botzone:judge/`.

    `folder` is the folder of croupier.toml, `where` the file and line of the name. Raise UserError (exit code 3) if
    there is no such game, or if it cannot be loaded.
    """
    if is_folder(said):
        return reload_game(GameRef(said, str(absolute(folder / said))), where)
    if is_foreign(said):
        return reload_game(GameRef(said, str(game_folder(said, folder, where))), where)
    return reload_game(GameRef(said, str(folder.absolute())), where)


def reload_game(ref: GameRef, where: str = "") -> Game:
    """Load the game that a reference of another process means. Raise UserError (exit code 3) if it cannot be loaded."""
    named = CustomName("game", ref.said, where)
    if ref.has_referee:
        return _referee_game(ref, named)
    library, _, name = ref.said.partition(":")
    if library in LIBRARIES:
        from host.rules.libraries import NotPlayable  # only these games need it

        try:
            return LIBRARIES[library](name)._replace(ref=ref)
        except NotPlayable as failed:
            listed = f"croupier games --{library} lists the games that can be played"
            raise named.refused(str(failed), failed.hint or listed) from failed
    try:
        game = import_value(named, ref.folder)
    except OSError as failed:
        if not ref.packed:
            raise
        raise named.refused(f"cannot read a file on a machine of the cluster: {failed}", FILES_HINT) from failed
    if not isinstance(game, Game):
        raise named.refused(f"is not a Game but a {type(game).__name__}", "see docs/adding-a-game.md")
    if not re.fullmatch("[a-z][a-z0-9_]{0,40}", game.name):
        raise named.refused(f"is called {game.name!r}", "use only small letters, digits and _")
    if GAMES.get(game.name, game) is not game:
        raise named.refused(f"has the name of another game, {game.name}", "choose another name")
    return game._replace(ref=ref)


def _referee_game(ref: GameRef, named: CustomName) -> Game:
    """Load the game of a folder with a game.toml. It can be played only if `ref` has the built referee.

    Raise UserError (exit code 3) if the folder has no game.toml, or if that file is wrong.
    """
    from host.rules.game_toml import GAME_FILE, load_referee_game  # only these games need it

    folder = Path(ref.referee.folder if ref.referee else ref.folder)
    if not (folder / GAME_FILE).is_file():
        hint = f"a folder with a {GAME_FILE}; croupier init --referee LANGUAGE {ref.said}  makes one"
        raise named.refused(f"is not a folder with a {GAME_FILE}", hint)
    return _asking(load_referee_game(folder).game, ref)


def with_referee(game: Game, built: BuiltBot, question: View) -> Game:
    """Return a game with its built referee.

    `question` becomes the only edge case of a game whose game.toml has none. It is () for a game that has edge cases.
    """
    return _asking(game, ref_of(game)._replace(referee=built, question=tuple(question)))


def _asking(game: Game, ref: GameRef) -> Game:
    edges = {FIRST_QUESTION: game.view(*ref.question)} if ref.question else game.edges
    return game._replace(edges=edges, ref=ref)


MAX_RULES_S = 60.0
"""Seconds for which the rules of an organiser may compute until the next questions of the tables.

After that, croupier ends their process.
"""

HINT = "no bot is charged, and what was played is kept: fix the game or report this to its authors, then run again"


def failed_game(game: Game, what: str, where: str = "") -> UserError:
    """Return a UserError (exit code 3): an organiser's game failed while it was played. `what` is the reason."""
    return UserError([Problem("C020", where, f"the game {ref_of(game).said} {what}", hint=HINT)], 3)


class OwnGameFailed(Exception):
    """Raised when an organiser's game fails in a separate process while bots are checked. No bot is to blame."""

    def __init__(self, error: UserError) -> None:
        super().__init__(str(error))
        self.error = error


def own_code_error(error: BaseException) -> UserError | None:
    """Return a UserError (exit code 3) for an exception that an organiser's code raised; None for other exceptions."""
    if isinstance(error, OwnGameFailed):
        return error.error
    where = place_in_own_code(error)
    why = error.__cause__ if isinstance(error, GameFailed) and error.__cause__ else error
    return UserError([Problem("C020", where, f"raised {_words(why)}", hint=HINT)], 3) if where else None


def place_in_own_code(error: BaseException) -> str:
    """Return "FILE:LINE" of the organiser's code that raised an exception; "" if other code raised it."""
    place = line_of(error)
    return f"{display_path(place[0])}:{place[1]}" if place else ""


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {one_line(str(error))[:300]}"


class GameFailure(NamedTuple):
    """Failure of an organiser's game: the exception as a text for people, and "FILE:LINE" of its code, or ""."""

    reason: str
    where: str


def game_failure(failed: BaseException) -> GameFailure:
    """Return the failure that an exception of the rules means. If the exception is a UserError, raise it instead."""
    why = failed.__cause__ if isinstance(failed, GameFailed) and failed.__cause__ else failed
    if isinstance(why, UserError):
        raise why
    return GameFailure(_words(why), place_in_own_code(failed))


def blame_game(game: Game, failed: GameFailed) -> NoReturn:
    """Raise `failed` if croupier's own game has failed, UserError (exit code 3) if an organiser's game has."""
    if not ref_of(game).said:
        raise failed
    reason, where = game_failure(failed)
    raise failed_game(game, f"failed at table {failed.table}: {reason}", where) from failed.__cause__


_hints = lru_cache(maxsize=64)(partial(get_type_hints, include_extras=True))


def rule_type(game: Game, rules: Any, key: str) -> ValueType:
    """Return the type of the rule `key`, which says its possible values. `rules` are the values of a preset."""
    usual, kind = getattr(rules, key), _hints(type(rules))[key]  # type: ignore[arg-type]
    if get_origin(kind) is Annotated and isinstance(bounds := get_args(kind)[1], ValueType):  # as a game.toml has them
        return bounds
    if key == "seats":
        return integer(*game.seats)
    if isinstance(usual, bool):
        return FLAG
    if isinstance(usual, int):
        return integer(min(1, usual, rules._field_defaults.get(key, 1)), 1_000_000)
    words = get_args(kind) if get_origin(kind) is Literal else {getattr(each, key): 0 for each in game.presets.values()}
    return one_of(lambda: words, key)


def check_numbers(game: Game, rules: Any) -> None:
    """Check the numbers in the rules of a stranger's file.

    Raise ValueError for a number that croupier.toml cannot have.
    """
    for key, value in rules._asdict().items():
        if type(value) is int:
            lowest = min(game.presets.values(), key=lambda preset, key=key: getattr(preset, key))  # type: ignore[misc]
            try:
                rule_type(game, lowest, key).check(value)
            except InvalidValue as wrong:
                raise ValueError(f"its rule {key} = {value} {wrong.message}") from wrong


def game_of(name: str, ref: GameRef) -> Game:
    """Return the game that a name and a reference from another process mean.

    Raise UserError (exit code 3) if it cannot be loaded.
    """
    return reload_game(ref) if ref.said else GAMES[name]


def display_of(game: Game | None) -> Display:
    """Return the display settings of a game. Tables of an unknown game (None) are displayed as plain text."""
    return game.display if game else Display()
