"""Finds games by name: croupier's own, and those of an organiser's code or of a library.

`game = "package.module:GAME"` in croupier.toml names a value in the organiser's Python code. The code is trusted as
croupier's own. Only croupier.toml can name it; a bot.toml cannot.
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
"""Libraries of games by the word before the colon, as in `openspiel:chess`. They get the rest, and may raise NotPlayable."""
LISTS: Mapping[str, Callable[[], "list[Playable]"]] = OnDemand(
    {"openspiel": "host.rules.openspiel:playable_games", "textarena": "host.rules.textarena:playable_games"}
)
"""Functions that return all games of a library."""


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


class GameRef(NamedTuple):
    """Where the code of a game lies, so that every process can load it; empty for croupier's own games."""

    said: str = ""  # its name in croupier.toml
    folder: str = ""  # the folder in which it is searched
    packed: bool = False  # whether the folder is the hash of files that are sent to another machine
    referee: BuiltBot | None = None  # the program that knows the rules, once it is built on this machine
    question: tuple[Any, ...] = ()  # the first one of a table, by its fields, for a game.toml without edge cases

    @property
    def has_referee(self) -> bool:
        """Whether the rules are in a program: the folder has a game.toml."""
        return has_referee(self.said)


CROUPIERS_OWN = GameRef()


def ref_of(game: Game) -> GameRef:
    """Return where the code of a game lies."""
    return game.ref if isinstance(game.ref, GameRef) else CROUPIERS_OWN


def of_library(game: str) -> bool:
    """Return whether a game is called as a game of a library, which every process can load by its name alone."""
    return game.partition(":")[0] in LIBRARIES and ":" in game


def allows_at_once(game: Game, rules: Any) -> Callable[[View, Move], bool]:
    """Return what says whether the rules allow a move, before they play it.

    The code of an organiser never runs here. So it allows all moves of his games.
    """
    said = ref_of(game).said
    if said and not of_library(said):
        return lambda _view, _move: True
    return partial(game.allows, rules)


def sources(game: Game) -> list[Path]:
    """Return the Python files of a custom game in its folder. Installed files are left out."""
    ref = ref_of(game)
    return files_of(ref.folder) if ref.folder and not ref.has_referee else []


def load_game(said: str, folder: Path, where: str = "") -> Game:
    """Load the game that `package.module:GAME`, `openspiel:GAME`, `textarena:GAME`, `folder/` or `botzone:judge/` names.

    Raise UserError if there is none.
    """
    if is_folder(said):
        return reload_game(GameRef(said, str(absolute(folder / said))), where)
    if is_foreign(said):
        return reload_game(GameRef(said, str(game_folder(said, folder, where))), where)
    return reload_game(GameRef(said, str(folder.absolute())), where)


def reload_game(ref: GameRef, where: str = "") -> Game:
    """Load a game that another process has loaded. Raise UserError as `load_game` does."""
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
    """Load the game of a folder with a game.toml. Without the built referee it cannot be played."""
    from host.rules.game_toml import GAME_FILE, load_referee_game  # only these games need it

    folder = Path(ref.referee.folder if ref.referee else ref.folder)
    if not (folder / GAME_FILE).is_file():
        hint = f"a folder with a {GAME_FILE}; croupier init --referee LANGUAGE {ref.said}  makes one"
        raise named.refused(f"is not a folder with a {GAME_FILE}", hint)
    return _asking(load_referee_game(folder).game, ref)


def with_referee(game: Game, built: BuiltBot, question: View) -> Game:
    """Return a game with its built referee. The question is its only edge case if it has none of its own; () for one that has."""
    return _asking(game, ref_of(game)._replace(referee=built, question=tuple(question)))


def _asking(game: Game, ref: GameRef) -> Game:
    edges = {FIRST_QUESTION: game.view(*ref.question)} if ref.question else game.edges
    return game._replace(edges=edges, ref=ref)


HINT = "no bot is charged, and what was played is kept: fix the game or report this to its authors, then run again"


def failed_game(game: Game, what: str, where: str = "") -> UserError:
    """Return the UserError (exit code 3) for an organiser's own game that fails while it is played."""
    return UserError([Problem("C020", where, f"the game {ref_of(game).said} {what}", hint=HINT)], 3)


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


def blame_game(game: Game, failed: GameFailed) -> NoReturn:
    """Raise UserError (exit code 3) if an organiser's own game has failed, `failed` if the game is croupier's own."""
    if not ref_of(game).said:
        raise failed
    reason, where = game_failure(failed)
    raise failed_game(game, f"failed at table {failed.table}: {reason}", where) from failed.__cause__


_hints = lru_cache(maxsize=64)(partial(get_type_hints, include_extras=True))


def rule_type(game: Game, rules: Any, key: str) -> ValueType:
    """Return the type of one rule; it depends on its value in the preset."""
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
    """Raise ValueError for rules of a stranger's file with a number that croupier.toml cannot have."""
    for key, value in rules._asdict().items():
        if type(value) is int:
            lowest = min(game.presets.values(), key=lambda preset, key=key: getattr(preset, key))  # type: ignore[misc]
            try:
                rule_type(game, lowest, key).check(value)
            except InvalidValue as wrong:
                raise ValueError(f"its rule {key} = {value} {wrong.message}") from wrong


def game_of(name: str, ref: GameRef) -> Game:
    """Return the game that another process knows by this name and reference. Raise UserError as `load_game` does."""
    return reload_game(ref) if ref.said else GAMES[name]


def rules_type(game: Game) -> type[Any]:
    """Return the type of a game's rules."""
    return type(next(iter(game.presets.values())))


def display_of(game: Game | None) -> Display:
    """Return how tables of a game are displayed. Tables of an unknown game are displayed as plain text."""
    return game.display if game else Display()
