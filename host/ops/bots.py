"""Find games and bots by name. A bot is a file, a folder, a bot of the tournament, or sample:NAME."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from host.base.errors import unknown_name, unknown_with_list, wrong_usage
from host.base.paths import SAMPLE_PREFIX
from host.bots.bot_spec import Submission
from host.config.resolver import registry_of
from host.games import GAMES, OTHER_NAMES
from host.games.engine import Game
from host.rules.catalogue import LIBRARIES, has_referee, load_game, of_library, ref_of
from host.sandbox.limits import Limits
from host.stages import CROUPIERS, Registry
from host.submissions.discovery import Entry, disambiguate, load_submission
from host.submissions.sample_bots import sample

if TYPE_CHECKING:  # imported when there is a tournament
    from host.config.tournament_config import Tournament


Loader = Callable[[Path, Limits, Game | None], Submission]


class GameAndBots(NamedTuple):
    """Bots that were named, and the game that they play."""

    game: Game
    submissions: list[Submission]


def find_game(name: str, registry: Registry = CROUPIERS) -> Game:
    """Return a game by name. Raise UserError (exit code 2) for an unknown name, with the most similar one.

    The name of a game from a library or a folder has the form of croupier.toml. Raise UserError (exit code 3) if such a
    game cannot be played. `registry` has the games that a tournament names.
    """
    if known := registry.known_game(name) or GAMES.get(OTHER_NAMES.get(name.lower(), "")):
        return known
    if (Path(name) / "game.toml").is_file():
        name = name.rstrip("/") + "/"
    if name.partition(":")[0] in LIBRARIES or has_referee(name):
        return load_game(name, Path.cwd())
    raise wrong_usage(f"{unknown_name('game', name, GAMES)}  (games: {', '.join(GAMES)})")


def tournament_here(folder: Path) -> "Tournament | None":
    """Load the tournament of a folder; None if there is none. Raise UserError if its config is wrong."""
    if not (folder / "croupier.toml").exists():
        return None
    from host.config.tournament_config import load

    return load(folder)


def find_bots(
    folder: Path, names: Sequence[str], game: Game | str | None = None, load: Loader = load_submission
) -> GameAndBots:
    """Find bots by name, and their game. `load` loads bots whose names are paths. `folder` can be that of a tournament.

    Raise UserError (exit code 2) for an unknown bot, or if the bots do not determine one game.
    """
    registry = registry_of(folder)
    if isinstance(game, str):
        game = find_game(game, registry) if game else None
    tournament = tournament_here(folder)
    wanted = game or (tournament.game if tournament else None)
    finder = _Finder(folder, tournament, wanted, load)
    submissions = [finder.find(name) for name in names]
    if wanted:  # the game that a bot's file names is compared as text, and not loaded
        spelled = {name: wanted for name in (wanted.name, ref_of(wanted).said) if name}
    else:
        spelled = {name: find_game(name, registry) for each in submissions if of_library(name := each.spec.game)}
    submissions = [
        each.for_game(spelled[said]) if (said := each.spec.game) in spelled else each for each in submissions
    ]
    declared = {each.spec.game for each in submissions if each.spec.game}
    only = declared.pop() if len(declared) == 1 else ""
    loads = only and not (game or (wanted and of_library(only)))
    chosen = spelled.get(only) or find_game(only) if loads else wanted
    if chosen is None:
        raise wrong_usage("which game? The bots do not declare one: name it with -g GAME")
    if others := [
        f"{each.name} plays {each.spec.game}" for each in submissions if each.spec.game not in ("", chosen.name)
    ]:
        raise wrong_usage(f"{', '.join(others)}, and this is {chosen.name}")
    return GameAndBots(chosen, disambiguate(submissions))


class _Finder:
    """Finds bots by name. Errors in the tournament's bots are raised only for bots that are named."""

    def __init__(self, folder: Path, tournament: "Tournament | None", game: Game | None, load: Loader) -> None:
        self._folder, self._tournament, self._load = folder, tournament, load
        self._game = game
        self._limits = tournament.limits if tournament else Limits()
        self._entries: dict[str, Entry] | None = None

    def find(self, name: str) -> Submission:
        if name.startswith(SAMPLE_PREFIX):
            folder = sample(name, self._game.name if self._game else None)
            return load_submission(folder, self._limits).with_keys(game=folder.parent.name)
        if (path := Path(name)).exists():
            return self._load(path, self._limits, self._game)
        if self._entries is None:
            self._entries = _by_name(self._tournament.entries(self._folder) if self._tournament else [])
        if name in self._entries:
            return self._entries[name].playable
        if self._entries:
            raise wrong_usage(unknown_with_list("bot", name, self._entries))
        message = unknown_name("bot", name, self._entries)
        raise wrong_usage(f"{message}; a bot is a file, a folder, a name here, or sample:NAME")


def find_entries(tournament: "Tournament", folder: Path, names: Sequence[str]) -> list[Entry]:
    """Return all bots of a tournament, or only the bots in `names`, each with its problems."""
    entries = tournament.entries(folder)
    known = _by_name(entries)
    return [_entry(name, known, tournament) for name in names] if names else entries


def _by_name(entries: Sequence[Entry]) -> dict[str, Entry]:
    """Return the bots by name, and by the name of their file or folder if no bot has that name."""
    places = {entry.path.name if entry.path.is_dir() else entry.path.stem: entry for entry in entries}
    return (names := {entry.name: entry for entry in entries}) | places | names  # messages list the names first


def _entry(name: str, known: dict[str, Entry], tournament: "Tournament") -> Entry:
    """Return the bot with this name; a sample bot does not have to be in the tournament. Raise UserError for others."""
    if name.startswith(SAMPLE_PREFIX):
        path = sample(name, tournament.game.name)
        return Entry(path, load_submission(path, tournament.limits, tournament.game))
    if name not in known:
        raise wrong_usage(unknown_with_list("bot", name, known))
    return known[name]
