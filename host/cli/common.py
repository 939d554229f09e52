"""Shared by several commands: find a game, a bot or a stage; choose the level; print standings."""

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import nothing_played
from host.base.paths import SAMPLE_PREFIX
from host.cli import MAX_COLUMNS, CliContext, print_json_line, print_result, unknown_name, unknown_with_list
from host.sandbox.levels import UNPROTECTED, Level

if TYPE_CHECKING:
    from host.config.tournament_config import Tournament
    from host.games.engine import Game
    from host.journal.journal import Journal
    from host.results.course import Position
    from host.submissions.discovery import Entry


def find_game(name: str) -> "Game":
    """Return a game by name. Raise UsageError for an unknown name, with the most similar one.

    A game of a library, or of a folder, is named as in croupier.toml. Raise UserError (exit code 3) if it cannot be played.
    """
    from host.games import GAMES, OTHER_NAMES
    from host.rules.catalogue import LIBRARIES, game_by_name, has_referee, knows_game, load_game

    name = OTHER_NAMES.get(name.lower(), name)
    if not knows_game(name) and (Path(name) / "game.toml").is_file():
        name = name.rstrip("/") + "/"
    if name.partition(":")[0] in LIBRARIES or has_referee(name):
        return load_game(name, Path.cwd())
    if not knows_game(name):
        raise click.UsageError(f"{unknown_name('game', name, GAMES)}  (games: {', '.join(GAMES)})")
    return game_by_name(name)


def level_in_force(demanded: Level, unsafe: bool) -> Level:
    """Return the level to play at. Raise UserError (exit code 6) if the machine cannot provide the demanded level."""
    from host.sandbox.detect import require_level

    if unsafe or not demanded.traits.isolates:
        click.echo("WARNING  no sandbox: every bot can read, change and send everything that you can", err=True)
        return UNPROTECTED
    return require_level(demanded)


def wrap_prose(text: str) -> str:
    """Wrap prose at the width of the terminal, at most MAX_COLUMNS."""
    width = min(MAX_COLUMNS, shutil.get_terminal_size((MAX_COLUMNS, 24)).columns)
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.splitlines())


def find_entries(tournament: "Tournament", folder: Path, names: tuple[str, ...]) -> "list[Entry]":
    """Return the bots of a tournament, or those of these names, with their problems."""
    entries = tournament.entries(folder)
    known = {entry.path.stem: entry for entry in entries} | {entry.name: entry for entry in entries}
    return [find_entry(name, known, tournament) for name in names] if names else entries


def find_entry(name: str, known: "dict[str, Entry]", tournament: "Tournament") -> "Entry":
    """Return the bot of a name. Sample bots do not have to be in the tournament."""
    from host.submissions.discovery import Entry, load_submission
    from host.submissions.sample_bots import sample

    if name.startswith(SAMPLE_PREFIX):
        path = sample(name, tournament.game)
        return Entry(path, load_submission(path, tournament.limits, tournament.game))
    if name not in known:
        raise click.UsageError(unknown_with_list("bot", name, known))
    return known[name]


def find_stage(journal: "Journal", name: str | None) -> "Position":
    """Return a stage by name, or the last stage with results. Raise UserError if the journal has no stages."""
    from host.results.course import positions_of

    positions = {position.state.name: position for position in positions_of(journal)}
    if not positions:
        raise nothing_played(journal.path)
    if name is not None and name not in positions:
        raise click.UsageError(unknown_with_list("stage", name, positions))
    wanted = [*positions] if name is None else [name]
    return positions[next((each for each in reversed(wanted) if journal.has_played(each)), wanted[0])]


def print_standings(context: CliContext, path: Path, *, interrupted: bool = False, on_one_line: bool = False) -> None:
    """Print the standings of the last stage with results of a journal; if it gives grades, print these as text."""
    from host.journal.journal import reading
    from host.report.listings import by_bot
    from host.stages import gives_grades

    with reading(path, context.registry) as journal:
        position = find_stage(journal, None)
        if gives_grades(position.config) and position.counted and not context.json:
            from host.inspect.gradebook import gradebook
            from host.report.grade_listings import grade_list
            from host.submissions.intake_log import read

            listing = grade_list(journal, position, gradebook(journal, position, read(context.folder / "bots")))
        else:
            listing = by_bot(journal, position, interrupted=interrupted, verbose=context.verbose)
    if context.json and on_one_line:
        print_json_line(listing.schema, **listing.json())
    else:
        print_result(context, listing.schema, listing)
