"""The commands `new`, `add`, `ls`, `build` and `standings`."""

import contextlib
import os
import shlex
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.cli import CliContext, completion, in_folder, options, print_json

if TYPE_CHECKING:  # pydantic takes longer to import than most commands take
    from host.config.tournament_config import Tournament
    from host.sandbox.levels import Level
    from host.submissions.intake import Intake


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "-g", "--game", shell_complete=completion.games, required=True, metavar="GAME", help="`croupier games` lists them"
)
@click.option("--with-samples", is_flag=True, help="add the sample bots of the game")
@click.pass_obj
def new(context: CliContext, folder: Path, game: str, with_samples: bool) -> None:
    """Create a tournament folder."""
    from host.cli.common import find_game
    from host.config.reference import write_with_schema
    from host.config.template import template
    from host.submissions.sample_bots import samples

    found = find_game(game)
    game, seats = found.name, found.seats[0]
    if (folder / "croupier.toml").exists():
        raise UserError(
            [Problem("C016", str(folder / "croupier.toml"), "already exists", hint="choose another folder")], 2
        )
    names = sorted(samples(game)) if with_samples else []
    try:
        (folder / "bots").mkdir(parents=True, exist_ok=True)
        write_with_schema(folder / "croupier.toml", template(game, with_samples, names))
    except OSError as failed:
        raise UserError([file_problem("created", folder, failed)], 2) from failed
    if context.json:
        print_json("new", folder=str(folder), game=game, samples=names)
    else:
        more = "" if len(names) >= seats else f"; a table needs {seats}"  # hearts has three sample bots
        sampled = f" with {len(names)} sample bots{more}"
        click.echo(f"{folder}: a {game} tournament" + (sampled if names else ", bots go into bots/"))
        here = f"  croupier -C {shlex.quote(str(folder))}"
        click.echo(f"{here} run" if names and not more else f"{here} add FILE…\n{here} run")


@click.command()
@click.argument("submissions", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--as", "name", metavar="NAME", help="the name of the bot (for one submission only)")
@click.option(
    "--replace",
    shell_complete=completion.bots,
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


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1)
@click.pass_obj
def ls(context: CliContext, names: tuple[str, ...]) -> None:
    """List the bots of the tournament: language, protocol, missing programs, problems."""
    from host.base.safe_text import escape_control_chars
    from host.cli.common import find_entries
    from host.config.tournament_config import load
    from host.submissions.build import protocol_of
    from host.submissions.discovery import refuse_broken
    from host.submissions.languages import missing

    tournament = load(context.folder)
    entered = find_entries(tournament, context.folder, names)
    rows = [
        {
            "bot": entry.name,
            "language": submission.spec.language if submission else "",
            "protocol": protocol_of(submission.with_keys(game=tournament.game)) if submission else "",
            "path": str(entry.path),
            "author": submission.spec.author if submission else "",
            "missing": missing(submission) if submission else [],
            "problems": [problem.code for problem in entry.problems],
        }
        for entry in entered
        for submission in [entry.submission]
    ]
    if context.json:
        print_json("ls", rows=rows)
        raise click.exceptions.Exit(3 if any(row["problems"] for row in rows) else 0)
    if not rows:
        click.echo(in_folder("no bots yet: croupier add FILE", str(context.folder)))
    for row in rows:
        lack = f"   ✗ missing {', '.join(row['missing'])}" if row["missing"] else ""
        lack += f"   ✗ {', '.join(row['problems'])}" if row["problems"] else ""
        path = f"   {escape_control_chars(str(row['path']))}" if context.verbose else ""
        about = f"{escape_control_chars(str(row['bot'])):<24} {row['language']:<8} {row['protocol']:<6}"
        click.echo(f"{about}{path}{lack}".rstrip())
    refuse_broken(entered)


@click.command()
@click.argument("names", shell_complete=completion.bots, nargs=-1)
@click.option("--force", is_flag=True, help="build all bots again")
@click.option("--unsafe", is_flag=True, help="build without a sandbox")
@click.pass_obj
def build(context: CliContext, names: tuple[str, ...], force: bool, unsafe: bool) -> None:
    """Build the bots that are not built yet, in a sandbox."""
    import trio

    from host.base.safe_text import escape_control_chars
    from host.cli.common import find_entries, level_in_force
    from host.config.tournament_config import load
    from host.submissions.build import build as build_bot
    from host.submissions.build import build_log
    from host.submissions.discovery import refuse_broken

    tournament = load(context.folder)
    level = level_in_force(tournament.level, unsafe)
    problems: list[Problem] = []
    rows, exit_code = [], 0
    for entry in find_entries(tournament, context.folder, names):
        started = time.monotonic()
        try:
            refuse_broken([entry])
            submission = entry.submission
            assert submission is not None  # otherwise refuse_broken has raised
            bot = trio.run(partial(build_bot, submission.with_keys(game=tournament.game), level, force=force))
        except UserError as refused:
            problems += refused.problems
            exit_code = max(exit_code, refused.exit_code)
            continue
        took = time.monotonic() - started
        rows.append({"bot": bot.name, "language": bot.spec.language, "sha256": bot.sha256, "seconds": round(took, 3)})
        if not context.json:
            click.echo(f"  ✓ {escape_control_chars(bot.name):<24} {bot.spec.language:<8} {took:.2f} s")
            if context.verbose and build_log(bot.sha256).exists():
                click.echo(build_log(bot.sha256).read_text())
    if context.json and not problems:
        print_json("build", sandbox=level, rows=rows)
    if problems:
        raise UserError(problems, exit_code)


@click.command()
@click.argument("stage", shell_complete=completion.stages, required=False)
@click.option(
    "--by", type=click.Choice(["bot", "pair", "seat"]), default="bot", help="one row per bot, pair of bots, or seat"
)
@click.option("--grades", is_flag=True, help="the points of each bot for beating references")
@click.option("--overall", is_flag=True, help="all stages: by the last stage that a bot reached, then its place there")
@click.option("--csv", "as_csv", is_flag=True, help="print comma-separated values")
@options.JOURNAL
@click.pass_obj
def standings(
    context: CliContext,
    stage: str | None,
    by: str,
    grades: bool,
    overall: bool,
    as_csv: bool,
    journal: Path | None,
) -> None:
    """Print the standings with error bars, or the results of each pair, or the advantage of each seat."""
    from host.cli.common import keep_everything
    from host.cli.journals import journal_of

    keep_everything()
    path = journal_of(context, journal)
    if overall:
        from host.cli.standings_by import print_overall

        if stage or by != "bot":
            raise click.UsageError("--overall is about all stages: give no STAGE and no --by")
        print_overall(context, path, as_csv=as_csv)
        return
    if grades:
        from host.cli.standings_by import print_grades

        if by != "bot":
            raise click.UsageError("--grades has one row per bot: give no --by")
        print_grades(context, path, stage, as_csv=as_csv)
        return
    if by == "bot":
        from host.cli.common import print_standings

        print_standings(context, path, stage, as_csv=as_csv)
        return
    from host.cli.standings_by import print_pairs, print_seats

    if by == "pair":
        print_pairs(context, path, stage, as_csv=as_csv)
    else:
        print_seats(context, path, stage, as_csv=as_csv)
