"""What several commands need: the game, the level, the bots that are meant, standings on the screen."""

import shutil
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, print_json, print_json_line, unknown_name
from host.games import GAMES
from host.games.engine import Game
from host.sandbox.levels import UNPROTECTED, Level
from host.submissions.bot_spec import SAMPLE_PREFIX
from host.submissions.discovery import Entry, load_submission
from host.submissions.sample_bots import sample

if TYPE_CHECKING:
    from host.tournament.journal import Journal
    from host.tournament.stages.kind import StageConfig

NOBODY = "no fixture is finished yet, so nobody is ahead"


def find_game(name: str) -> Game:
    """Return a game by name; a wrong one brings the nearest."""
    if name not in GAMES:
        raise click.UsageError(f"{unknown_name('game', name, GAMES)}  (games: {', '.join(GAMES)})")
    return GAMES[name]


def level_in_force(demanded: Level, unsafe: bool) -> Level:
    """Return the level in force. Raise Refused (exit code 6) when the machine has less than demanded."""
    from host.sandbox.detect import require_level

    if unsafe or not demanded.traits.isolates:
        click.echo("WARNING  no sandbox: every bot may read, change and send whatever you may", err=True)
        return UNPROTECTED
    return require_level(demanded)


def wrap_prose(text: str) -> str:
    """Return prose in lines that fit a terminal, and 100 columns."""
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    return "\n".join(textwrap.fill(line, width, break_long_words=False) for line in text.splitlines())


def find_entries(tournament: Any, folder: Path, names: tuple[str, ...]) -> list[Entry]:
    """Return the cup's bots, or those that are named, with what is wrong with any of them."""
    entered: list[Entry] = tournament.entries(folder)
    known = {entry.place.stem: entry for entry in entered} | {entry.name: entry for entry in entered}
    return [find_entry(name, known, tournament) for name in names] if names else entered


def find_entry(name: str, known: dict[str, Entry], tournament: Any) -> Entry:
    """Return the bot of a name; one of croupier's own need not be entered."""
    if name.startswith(SAMPLE_PREFIX):
        place = sample(name, tournament.game)
        return Entry(place, load_submission(place, tournament.limits))
    if name not in known:
        raise click.UsageError(unknown_name("bot", name, known))
    return known[name]


def the_stage(journal: "Journal", name: str | None) -> "StageConfig":
    """Return a stage by name, or the last in which anything has been played. Raise Refused when nothing is known."""
    from host.tournament.stages import stages_of

    stages = stages_of(journal.metadata())
    if not stages:
        raise UserError(
            [Problem("R006", str(journal.path), "nothing has been played here yet", hint="croupier run")], 3
        )
    wanted = [stage for stage in stages if name in (None, stage.name)]
    if not wanted:
        raise click.UsageError(unknown_name("stage", str(name), [stage.name for stage in stages]))
    return next((stage for stage in reversed(wanted) if journal.paths(stage.name)), wanted[0])


class Standing(NamedTuple):
    """A stage as its standings are told: what was played, by whom, and the facts that come with them as JSON."""

    stage: "StageConfig"
    facts: dict[str, str]
    bots: dict[str, dict[str, Any]]
    records: list[Any]
    told: dict[str, Any]

    @property
    def head(self) -> str:
        """One line of what this is about."""
        some = f"{len(self.records)} fixture{'' if len(self.records) == 1 else 's'}"
        return (
            f"{self.facts['name']} · {self.stage.name} · {some} · level {self.facts['level']} · "
            f"seed sha256 {self.facts['seed_sha256'][:8]}… · {self.facts['state']}"
        )


def standing(journal: Any, name: str | None, *, interrupted: bool = False) -> Standing:
    """Return a stage; by default the last in which anything has been played."""
    from host.inspect.recorded import known_seed
    from host.play.records import count_replays
    from host.tournament.tournament_dir import committed_at

    stage = the_stage(journal, name)
    facts, bots = journal.metadata(), journal.bots()
    seed = known_seed(journal)  # None where it is not the one whose hash the run began with
    records = [record for _, record in journal.records(stage.name)]
    told = {
        "run": facts["name"],
        "game": facts["game"],
        "sandbox": facts["level"],
        "seed_sha256": facts["seed_sha256"],
        "committed": committed_at(facts),
        "seed": seed.hex() if seed is not None and facts["state"] == "finished" else None,
        "state": facts["state"],
        "interrupted": interrupted,
        "stage": stage.name,
        "seal": journal.seal(stage.name) if facts.get(f"stage {stage.name}") == "finished" else None,
        "fixtures": len(records),
        **count_replays(records)._asdict(),
    }
    return Standing(stage, facts, bots, records, told)


def print_standings(
    context: CliContext,
    place: Path,
    stage_name: str | None,
    *,
    as_csv: bool = False,
    interrupted: bool = False,
    on_one_line: bool = False,
) -> None:
    """Print a stage's standings; by default those of the last stage in which anything has been played."""
    from host.base.safe_text import one_line
    from host.report import terminal
    from host.tournament.journal import reading
    from host.tournament.standings import stage_standings
    from host.tournament.tournament_dir import Folder

    with reading(Folder(place).journal) as journal:
        now = standing(journal, stage_name, interrupted=interrupted)
    rows, sure, advice = stage_standings(now.stage, now.facts, now.records, now.bots)
    if as_csv:
        terminal.write_csv(rows)
    elif context.json:
        show = print_json_line if on_one_line else print_json
        advised = [each._asdict() for each in advice]
        show("standings", **now.told, rows=terminal.json_rows(rows), sure=sure, advice=advised)
    elif now.records:
        terminal.print_standings(now.head, rows, sure, advice=advice)
        for line in terminal.details(rows, advice) if context.verbose else ():
            click.echo(line)
    else:
        click.echo(f"{one_line(now.head)}\n{NOBODY}")
