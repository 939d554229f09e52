"""Find the games and the bots that words name: files, folders, bots of the tournament, and sample:NAME."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from host.base.errors import unknown_name, unknown_with_list, wrong_usage
from host.base.paths import SAMPLE_PREFIX
from host.bots.bot_spec import Submission
from host.config.resolver import registry_of
from host.games import GAMES, OTHER_NAMES
from host.games.engine import Game
from host.rules.catalogue import LIBRARIES, game_by_name, has_referee, knows_game, load_game, of_library, origin
from host.sandbox.limits import Limits
from host.submissions.discovery import Entry, disambiguate, load_submission, refuse_broken
from host.submissions.sample_bots import sample

if TYPE_CHECKING:  # imported when there is a tournament
    from host.config.tournament_config import Tournament


Loader = Callable[[Path, Limits, str], Submission]


class GameAndBots(NamedTuple):
    """Bots that were named, and the game that they play."""

    game: Game
    submissions: list[Submission]


def find_game(name: str) -> Game:
    """Return a game by name. Raise UserError (exit code 2) for an unknown name, with the most similar one.

    A game of a library, or of a folder, is named as in croupier.toml. Raise UserError (exit code 3) if it cannot be played.
    """
    name = OTHER_NAMES.get(name.lower(), name)
    if not knows_game(name) and (Path(name) / "game.toml").is_file():
        name = name.rstrip("/") + "/"
    if name.partition(":")[0] in LIBRARIES or has_referee(name):
        return load_game(name, Path.cwd())
    if not knows_game(name):
        raise wrong_usage(f"{unknown_name('game', name, GAMES)}  (games: {', '.join(GAMES)})")
    return game_by_name(name)


def tournament_here(folder: Path) -> "Tournament | None":
    """Load the tournament of a folder; None if there is none. Raise UserError if its config is wrong."""
    if not (folder / "croupier.toml").exists():
        return None
    from host.config.tournament_config import load

    return load(folder)


def find_bots(
    folder: Path, names: Sequence[str], game: str | None = None, load: Loader = load_submission
) -> GameAndBots:
    """Find bots by name, and their game; `load` loads those that are paths. `folder` may be that of a tournament.

    Raise UserError (exit code 2) for an unknown bot, or if the game is not clear.
    """
    registry = registry_of(folder)

    def known(name: str) -> Game:
        return find_game(name if knows_game(name) else registry.game(name))

    if game:
        game = known(game).name  # a library's in its one spelling
    tournament = tournament_here(folder)
    submissions = _Finder(folder, tournament, game, load).find_all(names)
    wanted = game or (tournament.game if tournament else "")
    if wanted:  # what a bot's file names is compared as text, and not loaded
        spelled = {name: wanted for name in (wanted, origin(wanted).said) if name}
    else:
        libraries = {name for each in submissions if of_library(name := each.spec.game)}
        spelled = {name: known(name).name for name in libraries}
    submissions = [each.with_keys(game=spelled.get(each.spec.game, each.spec.game)) for each in submissions]
    declared = {each.spec.game for each in submissions if each.spec.game}
    only = declared.pop() if len(declared) == 1 else ""
    chosen = game or (wanted if wanted and of_library(only) else only) or wanted
    if not chosen:
        raise wrong_usage("which game? The bots do not declare one: name it with -g GAME")
    if others := [f"{each.name} plays {each.spec.game}" for each in submissions if each.spec.game not in ("", chosen)]:
        raise wrong_usage(f"{', '.join(others)}, and this is {chosen}")
    return GameAndBots(find_game(chosen), disambiguate(submissions))


class _Finder:
    """Finds bots by name. Errors in the tournament's bots are raised only for bots that are named."""

    def __init__(self, folder: Path, tournament: "Tournament | None", game: str | None, load: Loader) -> None:
        self._folder, self._tournament, self._load = folder, tournament, load
        self._game = game or (tournament.game if tournament else None)
        self._limits = tournament.limits if tournament else Limits()
        self._entries: dict[str, Entry] | None = None

    def find_all(self, names: Sequence[str]) -> list[Submission]:
        return [self._find(name) for name in names]

    def _find(self, name: str) -> Submission:
        if name.startswith(SAMPLE_PREFIX):
            folder = sample(name, self._game)
            return load_submission(folder, self._limits).with_keys(game=folder.parent.name)
        if (path := Path(name)).exists():
            return self._load(path, self._limits, self._game or "")
        if self._entries is None:
            entries = self._tournament.entries(self._folder) if self._tournament else []
            self._entries = {entry.name: entry for entry in entries}
        if name in self._entries:
            entry = self._entries[name]
            refuse_broken([entry])
            assert entry.submission is not None  # otherwise refuse_broken has raised
            return entry.submission
        if self._entries:
            raise wrong_usage(unknown_with_list("bot", name, self._entries))
        message = unknown_name("bot", name, self._entries)
        raise wrong_usage(f"{message}; a bot is a file, a folder, a name here, or sample:NAME")


def find_entries(tournament: "Tournament", folder: Path, names: Sequence[str]) -> list[Entry]:
    """Return the bots of a tournament, or those of these names, with their problems."""
    entries = tournament.entries(folder)
    known = {entry.path.stem: entry for entry in entries} | {entry.name: entry for entry in entries}
    return [_entry(name, known, tournament) for name in names] if names else entries


def _entry(name: str, known: dict[str, Entry], tournament: "Tournament") -> Entry:
    """Return the bot of a name. Sample bots do not have to be in the tournament."""
    if name.startswith(SAMPLE_PREFIX):
        path = sample(name, tournament.game)
        return Entry(path, load_submission(path, tournament.limits, tournament.game))
    if name not in known:
        raise wrong_usage(unknown_with_list("bot", name, known))
    return known[name]
