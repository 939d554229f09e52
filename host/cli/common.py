"""Shared by several commands: find a game, a bot or a stage; choose the level; print standings."""

import gc
import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import nothing_played
from host.base.paths import SAMPLE_PREFIX
from host.cli import MAX_COLUMNS, CliContext, print_json, print_json_line, unknown_name, unknown_with_list
from host.sandbox.levels import UNPROTECTED, Level

if TYPE_CHECKING:
    from host.config.tournament_config import Tournament
    from host.games.engine import Game
    from host.results.course import Position
    from host.results.journal import Journal
    from host.submissions.discovery import Entry

NO_STANDINGS = "no fixture is finished yet, so there are no standings"


def find_game(name: str) -> "Game":
    """Return a game by name. Raise UsageError for an unknown name, with the most similar one.

    A game of a library is named as in croupier.toml. Raise UserError (exit code 3) if it cannot be played.
    """
    from host.games import GAMES
    from host.play.custom_games import LIBRARIES, game_by_name, knows_game, load_game

    if name.partition(":")[0] in LIBRARIES:
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


def keep_everything() -> None:
    """Switch off the garbage collector, for a command that reads a whole journal, prints and ends.

    Its values live until the end. Looking at them again and again takes twice the time of decoding them.
    """
    gc.disable()


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


def title_of(position: "Position") -> str:
    """Return the run, the stage, and their state in one line."""
    from host.base.format import plural

    run, fixtures = position.tournament.run, len(position.counted)
    return (
        f"{run.name} · {position.state.name} · {fixtures} {plural(fixtures, 'fixture')} · level {run.level.label} · "
        f"seed sha256 {run.seed_sha256[:8]}… · {run.status}"
    )


def facts_json(journal: "Journal", position: "Position", *, interrupted: bool = False) -> dict[str, Any]:
    """Return what the journal says about a run and a stage as JSON keys."""
    from host.inspect.recorded import known_seed
    from host.play.records import count_replays
    from host.results.tournament_dir import seed_text

    run, state, records = position.tournament.run, position.state, position.counted
    seed = known_seed(journal)  # None if its hash is not the one in the journal
    return {
        "run": run.name,
        "game": run.game,
        "sandbox": run.level,
        "seed_sha256": run.seed_sha256,
        "committed": run.committed,
        "seed": seed_text(seed) if seed is not None and run.finished else None,
        "state": run.status,
        "interrupted": interrupted,
        "stage": state.name,
        "seal": journal.seal(state.name) if state.over else None,
        "fixtures": len(records),
        "changes": [change.json() for change in run.changes],
        "skipped": [skipped.stage.name for skipped in run.skipped],
        **count_replays(records)._asdict(),
    }


def print_nothing(position: "Position") -> None:
    """Print that there are no standings yet."""
    from host.base.safe_text import one_line

    click.echo(f"{one_line(title_of(position))}\n{NO_STANDINGS}")


def print_standings(
    context: CliContext,
    path: Path,
    stage_name: str | None,
    *,
    as_csv: bool = False,
    interrupted: bool = False,
    on_one_line: bool = False,
) -> None:
    """Print the standings of a stage of a journal, by default of the last stage with results."""
    from host.base.safe_text import one_line
    from host.report import terminal
    from host.report.pictures import picture_json, picture_lines
    from host.results.journal import reading
    from host.results.standings import as_counted_by

    with reading(path, context.registry) as journal:
        position = find_stage(journal, stage_name)
        facts = facts_json(journal, position, interrupted=interrupted)
        rows, sure, advice, so_far = position.standings
    run, stage, kind = position.tournament.run, position.config, position.kind
    records = as_counted_by(stage, position.counted)
    picture = kind.picture(stage, position.shown_bots, records) if kind.picture else None
    if as_csv:
        terminal.write_csv(rows)
    elif context.json:
        show = print_json_line if on_one_line else print_json
        advised = [each._asdict() for each in advice]
        ways = {"so_far": so_far, **picture_json(picture)}
        show("standings", **facts, rows=terminal.json_rows(rows), sure=sure, advice=advised, **ways)
    elif position.counted:
        terminal.print_standings(title_of(position), rows, [so_far, *sure] if so_far else sure, advice=advice)
        for line in picture_lines(picture, verbose=context.verbose):
            click.echo(line)
        for line in terminal.details(rows, advice) if context.verbose else ():
            click.echo(line)
    elif stage in [skipped.stage for skipped in run.skipped]:
        click.echo(one_line(title_of(position)))
    else:
        print_nothing(position)
    if not (as_csv or context.json):
        for skipped in run.skipped:
            click.echo(str(skipped))
        for change in run.changes:
            click.echo(f"changed  {one_line(change.text())}")
