"""Shared by several commands: find a game, a bot or a stage; choose the level; print standings."""

import gc
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import nothing_played
from host.base.paths import SAMPLE_PREFIX
from host.cli import MAX_COLUMNS, CliContext, print_json, print_json_line, unknown_name, unknown_with_list
from host.sandbox.levels import UNPROTECTED, Level

if TYPE_CHECKING:
    from host.config.tournament_config import Tournament
    from host.games.engine import Game
    from host.play.records import Record
    from host.results.course import Position
    from host.results.journal import Journal
    from host.results.standings import StageStandings
    from host.results.state import RecordedBot, RunState
    from host.stages.kind import StageConfig
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


def find_stage(journal: "Journal", name: str | None) -> "StageConfig":
    """Return a stage by name, or the last stage with results. Raise UserError if the journal has no stages."""
    stages = journal.state().configs
    if not stages:
        raise nothing_played(journal.path)
    wanted = [stage for stage in stages if name in (None, stage.name)]
    if not wanted:
        raise click.UsageError(unknown_with_list("stage", str(name), [stage.name for stage in stages]))
    return next((stage for stage in reversed(wanted) if journal.has_played(stage.name)), wanted[0])


class StageResults(NamedTuple):
    """The records of a stage, and what the journal says about its run."""

    stage: "StageConfig"
    run: "RunState"
    bots: "Mapping[str, RecordedBot]"
    records: list["Record"]
    facts_json: dict[str, Any]  # about the run and the stage
    order: list[str]  # the bots of the stage, as the stage before has ranked them
    standings: "StageStandings"
    changes: list[str]  # of the run, in words

    @property
    def title(self) -> str:
        """The run, the stage, and their state in one line."""
        from host.base.format import plural

        fixtures = f"{len(self.records)} {plural(len(self.records), 'fixture')}"
        return (
            f"{self.run.name} · {self.stage.name} · {fixtures} · level {self.run.level.label} · "
            f"seed sha256 {self.run.seed_sha256[:8]}… · {self.run.status}"
        )

    def print_nothing(self) -> None:
        """Print that there are no standings yet."""
        from host.base.safe_text import one_line

        click.echo(f"{one_line(self.title)}\n{NO_STANDINGS}")


def load_results(journal: "Journal", name: str | None, *, interrupted: bool = False) -> StageResults:
    """Return the results of a stage, by default of the last stage with results."""
    from host.inspect.recorded import known_seed
    from host.play.records import count_replays
    from host.results.tournament_dir import seed_text

    stage = find_stage(journal, name)
    (position,) = (each for each in positions_of(journal) if each.state.name == stage.name)
    run, bots = position.tournament.run, position.tournament.bots
    seed = known_seed(journal)  # None if its hash is not the one in the journal
    records = position.counted
    facts_json = {
        "run": run.name,
        "game": run.game,
        "sandbox": run.level,
        "seed_sha256": run.seed_sha256,
        "committed": run.committed,
        "seed": seed_text(seed) if seed is not None and run.finished else None,
        "state": run.status,
        "interrupted": interrupted,
        "stage": stage.name,
        "seal": journal.seal(stage.name) if position.state.over else None,
        "fixtures": len(records),
        "changes": [change.json() for change in run.changes],
        "skipped": [skipped.stage.name for skipped in run.skipped],
        **count_replays(records)._asdict(),
    }
    changes = [change.text() for change in run.changes]
    return StageResults(stage, run, bots, records, facts_json, position.shown_bots, position.standings, changes)


def positions_of(journal: "Journal") -> "list[Position]":
    """Return the stages of a run. The records of each stage are read once, when they are needed."""
    from host.results.course import Played, course

    def read(name: str) -> dict[str, "Record"]:
        return {record.path: record for _, record in journal.records(name)}

    return course(journal.state(), journal.bots(), None, Played(read, journal.sizes))


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
    from host.stages import kind_of

    with reading(path, context.registry) as journal:
        results = load_results(journal, stage_name, interrupted=interrupted)
    (rows, sure, advice, so_far), kind = results.standings, kind_of(results.stage)
    records = as_counted_by(results.stage, results.records)
    picture = kind.picture(results.stage, results.order, records) if kind.picture else None
    if as_csv:
        terminal.write_csv(rows)
    elif context.json:
        show = print_json_line if on_one_line else print_json
        advised = [each._asdict() for each in advice]
        ways = {"so_far": so_far, **picture_json(picture)}
        show("standings", **results.facts_json, rows=terminal.json_rows(rows), sure=sure, advice=advised, **ways)
    elif results.records:
        terminal.print_standings(results.title, rows, [so_far, *sure] if so_far else sure, advice=advice)
        for line in picture_lines(picture, verbose=context.verbose):
            click.echo(line)
        for line in terminal.details(rows, advice) if context.verbose else ():
            click.echo(line)
    elif results.stage in [skipped.stage for skipped in results.run.skipped]:
        click.echo(one_line(results.title))
    else:
        results.print_nothing()
    if not (as_csv or context.json):
        for skipped in results.run.skipped:
            click.echo(str(skipped))
        for change in results.changes:
            click.echo(f"changed  {one_line(change)}")
