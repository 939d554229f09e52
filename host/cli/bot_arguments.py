"""Finds the bots that a command line names: files, folders, bots of the tournament, and sample:NAME."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from host.base.paths import SAMPLE_PREFIX
from host.bots.bot_spec import Submission
from host.cli import CliContext, unknown_name, unknown_with_list
from host.cli.common import find_game
from host.games.engine import Game
from host.rules.catalogue import knows_game, of_library
from host.sandbox.limits import Limits
from host.submissions.discovery import Entry, disambiguate, load_submission, refuse_broken
from host.submissions.sample_bots import sample

if TYPE_CHECKING:  # imported when the command runs
    from host.config.tournament_config import Tournament


Loader = Callable[[Path, Limits, str], Submission]


class GameAndBots(NamedTuple):
    """Bots that a command line names, and the game that they play."""

    game: Game
    submissions: list[Submission]


def tournament_here(context: CliContext) -> "Tournament | None":
    """Load the tournament of the current folder; None if there is none. Raise UserError if its config is wrong."""
    if not (context.folder / "croupier.toml").exists():
        return None
    from host.config.tournament_config import load

    return load(context.folder)


def find_bots(
    context: CliContext, names: Sequence[str], game: str | None = None, load: Loader = load_submission
) -> GameAndBots:
    """Find bots by name, and their game; `load` loads those that are paths.

    Raise UsageError for an unknown bot, or if the game is not clear.
    """
    if game:
        game = find_game(
            game if knows_game(game) else context.registry.game(game)
        ).name  # a library's in its one spelling
    tournament = tournament_here(context)
    submissions = _Finder(context, tournament, game, load).find_all(names)
    submissions = [each.with_keys(game=_known(context, each.spec.game)) for each in submissions]
    declared = {each.spec.game for each in submissions if each.spec.game}
    chosen = game or (declared.pop() if len(declared) == 1 else None) or (tournament.game if tournament else None)
    if chosen is None:
        raise click.UsageError("which game? The bots do not declare one: name it with -g GAME")
    if others := [f"{each.name} plays {each.spec.game}" for each in submissions if each.spec.game not in ("", chosen)]:
        raise click.UsageError(f"{', '.join(others)}, and this is {chosen}")
    return GameAndBots(find_game(chosen), disambiguate(submissions))


def _known(context: CliContext, game: str) -> str:
    """Return the name of a game that a bot.toml names; that of a library's game in its one spelling, which carries it."""
    return find_game(context.registry.game(game)).name if of_library(game) and not knows_game(game) else game


class _Finder:
    """Finds bots by name. Errors in the tournament's bots are raised only for bots that are named."""

    def __init__(self, context: CliContext, tournament: "Tournament | None", game: str | None, load: Loader) -> None:
        self._context, self._tournament, self._load = context, tournament, load
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
            tournament = self._tournament
            entries = tournament.entries(self._context.folder) if tournament else []
            self._entries = {entry.name: entry for entry in entries}
        if name in self._entries:
            entry = self._entries[name]
            refuse_broken([entry])
            assert entry.submission is not None  # otherwise refuse_broken has raised
            return entry.submission
        if self._entries:
            raise click.UsageError(unknown_with_list("bot", name, self._entries))
        message = unknown_name("bot", name, self._entries)
        raise click.UsageError(f"{message}; a bot is a file, a folder, a name here, or sample:NAME")
