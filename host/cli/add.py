"""The command `add`: adds submissions to a tournament, or replaces a bot by a new version."""

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, completers, in_folder, print_json

if TYPE_CHECKING:  # pydantic takes longer to import than most commands take
    from host.config.tournament_config import Tournament
    from host.sandbox.levels import Level
    from host.submissions.intake import Intake


@click.command()
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="the name of the bot (for one submission only)")
@click.option(
    "--replace",
    shell_complete=completers.bots,
    metavar="BOT",
    help="this is a new version of BOT: what the old one played no longer counts and is played again",
)
@click.option("--reason", metavar="TEXT", help="why the bot is replaced; it is published with the change")
@click.option("--unsafe", is_flag=True, help="build and start the bot without a sandbox")
@click.pass_obj
def add(
    context: CliContext,
    submissions: tuple[Path, ...],
    name: str | None,
    replace: str | None,
    reason: str | None,
    unsafe: bool,
) -> None:
    """Add submissions (a file, a folder, a .zip or .tar) to the tournament: copy, build and start them.

    A submission that does not build or start is not added. Each is asked the questions of `croupier check`; what it does
    wrong is printed, but does not keep it out. After a run has begun, `croupier run` plays what a new bot has missed.
    """
    from host.cli.common import level_in_force
    from host.config.tournament_config import load

    if name and len(submissions) > 1:
        raise click.UsageError("--as names a single submission; several are given")
    if (replace is None) != (reason is None):
        raise click.UsageError(
            "--replace BOT needs --reason TEXT"
            if replace
            else "--reason belongs to --replace BOT; `croupier run --reason TEXT` says why a bot came late"
        )
    if replace and (name or len(submissions) > 1):
        raise click.UsageError("--replace BOT takes a single submission, and no --as")
    tournament = load(context.folder)
    level = level_in_force(tournament.level, unsafe)
    if replace:
        from host.cli.replacement import replace_one

        replace_one(context, tournament, submissions[0], replace, reason or "", level)
        return
    bots = context.folder / "bots"
    journal = context.folder / "run" / "run.sqlite"
    begun = journal.exists() and journal.stat().st_size > 0
    new = not bots.exists()
    bots.mkdir(exist_ok=True)
    taken: list[dict[str, Any]] = []
    refused: list[UserError] = []
    try:
        for submission in submissions:
            try:
                taken.append(_add_one(context, tournament, submission, name, level))
            except UserError as error:
                refused.append(error)
    finally:
        if new and not taken:
            bots.rmdir()
    if len(submissions) > 1 and not context.json:
        noted = sum(not row["accepted"] for row in taken)
        notes = f", {noted} of them would fail `croupier check`" if noted else ""
        click.echo(f"{len(taken)} of {len(submissions)} submissions added{notes}, {len(refused)} refused")
    if begun and not context.json:
        _print_late(context, tournament, [row["bot"] for row in taken if row["plays"]], journal)
    if refused:
        raise UserError([problem for error in refused for problem in error.problems], max(e.exit_code for e in refused))
    if context.json:
        print_json("add", sandbox=level, run_begun=begun, rows=taken)


def _print_late(context: CliContext, tournament: "Tournament", names: list[str], path: Path) -> None:
    """Print whether the run that has begun can still take these bots."""
    from host.results.journal import reading
    from host.tournament.additions import late_problems

    with reading(path, context.registry) as journal:
        problems = late_problems(tournament, journal, names) if journal.begun else []
        late = sorted({*names} - journal.bots().keys()) if journal.begun else []
    for problem in problems:
        click.echo(f"WARNING  {problem.message}: `croupier run` will refuse the new list ({problem.code})", err=True)
    if problems:
        said = f"WARNING  leave {', '.join(names)} out, or begin again with all bots: croupier run --fresh"
        click.echo(in_folder(said, str(context.folder)), err=True)
    elif late:
        it = "it has" if len(late) == 1 else "they have"
        said = f"a run has begun here: {', '.join(late)} came late; `croupier run` plays the tables that {it} missed"
        click.echo(in_folder(said, str(context.folder)))


def _add_one(
    context: CliContext, tournament: "Tournament", submission: Path, name: str | None, level: "Level"
) -> dict[str, Any]:
    """Add one submission, and print what it answered. Return its row. Raise UserError if it does not build or start."""
    import trio

    from host.base.paths import SAMPLE_PREFIX
    from host.cli.common import find_game
    from host.sandbox.detect import require_clock
    from host.submissions.check import report_on
    from host.submissions.discovery import expand_patterns
    from host.submissions.examine import examine
    from host.submissions.intake import Intake
    from host.submissions.sample_bots import sample

    bots, game = context.folder / "bots", find_game(tournament.game)
    ours = str(submission).startswith(SAMPLE_PREFIX)
    path = sample(str(submission), tournament.game) if ours else submission
    with Intake(bots) as intake, intake.naming_the_original():
        checked = intake.load(path, tournament.limits, tournament.game, name)
        target = bots / intake.copy.name
        refuse_duplicate(tournament, intake, target, checked.name)
        require_clock(tournament.limits.clock, level)
        found = trio.run(examine, checked, game, tournament.limits, level, tournament.rules)
        bot, report = found.playable(), report_on(found, game, level, tournament.rules)
        intake.copy.rename(target)
    entry = {"bot": bot.name, "path": str(target), "sha256": bot.sha256, "at": time.time()}
    plays = target.absolute() in expand_patterns(tournament.bots, context.folder, tournament.game)
    if not context.json:
        click.echo(f"added {bot.name} as {target}  sha256 {bot.sha256[:16]}…")
        for line in report.remarks():
            click.echo(f"  {line}")
    if not plays:
        click.echo(f"WARNING  {target} does not play: `bots` in {tournament.path} does not include it", err=True)
    return entry | {"plays": plays, "accepted": report.accepted, "remarks": report.remarks()}


def refuse_duplicate(tournament: "Tournament", intake: "Intake", target: Path, name: str) -> None:
    """Raise UserError if a file or a bot of this name already exists."""
    from host.submissions.discovery import expand_patterns, load_submission

    if os.path.lexists(target):
        hint = "use --as NAME, or remove the old one"
        raise UserError([Problem("C016", str(target), "already exists", hint=hint)], 3)
    duplicates = []
    for path in expand_patterns(tournament.bots, tournament.path.parent, tournament.game):
        with contextlib.suppress(UserError):  # the problems of other bots are reported when they play
            duplicates += [path] if load_submission(path, game=tournament.game).name == name else []
    if duplicates:
        message = f'a bot called "{name}" already exists: {duplicates[0]}'
        hint = "--as NAME adds it under another name" + (
            "; or name = … in its bot.toml" if intake.copy.is_dir() else ""
        )
        raise UserError([Problem("C003", str(intake.copy), message, hint=hint)], 3)
