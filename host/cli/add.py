"""The command `add`: adds submissions to a tournament, or replaces a bot by a new version."""

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from host.base.errors import Problem, UserError
from host.base.paths import absolute
from host.base.safe_text import escape_control_chars, one_line
from host.cli import CliContext, Facts, completers, in_folder, print_json, print_result
from host.journal.changes import checked_reason
from host.ops.bots import find_entries
from host.ops.level import level_in_force
from host.sandbox.levels import Level
from host.submissions import intake_log
from host.submissions.intake_log import IntakeRow

if TYPE_CHECKING:  # imported when the command runs
    from host.config.tournament_config import Tournament
    from host.tournament.entries import Entered


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
@click.option("--force", is_flag=True, help="add also a bot that the run that has begun cannot take")
@click.option(
    *("--csv", "sheet"),
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="write what has been handed in so far: a row for each submission, added or refused, and why",
)
@click.option("--unsafe", is_flag=True, help="build and start the bot without a sandbox")
@click.pass_obj
def add(
    context: CliContext,
    submissions: tuple[Path, ...],
    name: str | None,
    replace: str | None,
    reason: str | None,
    force: bool,
    sheet: Path | None,
    unsafe: bool,
) -> None:
    """Add submissions (a file, a folder, a .zip or .tar) to the tournament: copy, build and start them.

    A submission that does not build or start is not added. Each one is asked the questions of `croupier check`; its
    errors are printed, but it is added all the same. After a run has begun, `croupier run` plays the tables that a new bot
    has missed.
    """
    from host.config.tournament_config import load
    from host.journal.check import journal_exists

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
    bots = context.folder / "bots"
    if replace:
        _replace(context, tournament, submissions[0], replace, reason or "", level)
        _write_log(bots, sheet)
        return
    journal = context.folder / "run" / "run.sqlite"
    begun = journal_exists(journal)
    bots.mkdir(exist_ok=True)
    taken: list[dict[str, Any]] = []
    refused: list[UserError] = []
    for submission in submissions:
        try:
            taken.append(_add_one(context, tournament, submission, name, level, force=force))
        except UserError as error:
            refused.append(_naming_both(error, submission, [row["from"] for row in taken]))
            if os.path.lexists(submission):
                intake_log.append(bots, IntakeRow.refused(submission, name, refused[-1].problems[0], time.time()))
    if not any(bots.iterdir()):
        bots.rmdir()
    _write_log(bots, sheet)
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


def _write_log(bots: Path, sheet: Path | None) -> None:
    """Write the log of all intakes as CSV to `sheet`. Do nothing if `sheet` is None."""
    from host.base.output import write
    from host.base.sheet import as_csv

    if sheet is not None:
        write(sheet, as_csv(IntakeRow._fields, [row.cells() for row in intake_log.read(bots)]))


def _naming_both(error: UserError, submission: Path, before: list[str]) -> UserError:
    """Return the error of a submission.

    If the error is about the name, and this command has added another submission with the same name, return an error
    that names both. `before` are the paths of the submissions that were added.
    """
    name = intake_log.bot_name_of(submission)
    twin = next((path for path in before if intake_log.bot_name_of(Path(path)) == name), "")
    if not twin or error.problems[0].code not in ("C003", "C016"):
        return error
    message = f"two submissions are called {name}: {twin}, which is added, and {submission}, which is not"
    hint = f"croupier add {submission} --as NAME adds it under another name"
    return UserError(
        [Problem("C003", str(submission), escape_control_chars(message), hint=escape_control_chars(hint))], 3
    )


def _print_late(context: CliContext, tournament: "Tournament", names: list[str], path: Path) -> None:
    """Print whether the run that has begun can still take these bots."""
    from host.journal.reader import reading
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
    context: CliContext, tournament: "Tournament", submission: Path, name: str | None, level: Level, *, force: bool
) -> dict[str, Any]:
    """Add one submission, print the remarks of its check, and return its row for --json.

    Raise UserError if it does not build or start.
    """
    import trio

    from host.base.paths import display_path
    from host.submissions.discovery import expand_patterns
    from host.tournament.entries import add_bot

    bots = context.folder / "bots"
    entered = trio.run(partial(add_bot, tournament, bots, submission, name, level, force=force))
    bot, target, report = entered.bot, entered.path, entered.report
    intake_log.append(bots, _logged(entered, submission))
    identical = [display_path(path) for path in entered.identical]
    plays = absolute(target) in expand_patterns(tournament.bots, context.folder, tournament.game)
    if not context.json:
        click.echo(f"added {bot.name} as {target}  sha256 {bot.sha256[:16]}…")
        for line in report.remarks():
            click.echo(f"  {line}")
        if identical:
            click.echo(f"  ! identical: the same files as {', '.join(identical)}")
    if not plays:
        click.echo(f"WARNING  {target} does not play: `bots` in {tournament.path} does not include it", err=True)
    row = {"bot": bot.name, "path": str(target), "sha256": bot.sha256, "at": time.time(), "from": str(submission)}
    return row | {
        "plays": plays,
        "accepted": report.accepted,
        "remarks": report.remarks(),
        "identical": identical,
    }


def _logged(entered: "Entered", submission: Path) -> IntakeRow:
    """Return the row for an added bot in the log of intakes."""
    problem = next(iter(entered.report.problems), Problem("", "", ""))
    return IntakeRow(
        submission=str(submission),
        result=intake_log.ADDED,
        bot=entered.bot.name,
        author=entered.bot.spec.author,
        code=problem.code,
        why=problem.message,
        cure=problem.hint,
        remarks=tuple(entered.report.remarks()),
        sha256=entered.bot.sha256,
        path=entered.path.name,
        at=time.time(),
    )


def _replace(
    context: CliContext, tournament: "Tournament", submission: Path, name: str, reason: str, level: Level
) -> None:
    """Replace a bot by a new version, and print the remarks of its check. Raise UserError if the run cannot take it."""
    import trio

    from host.tournament.entries import replace_version

    reason, bots = checked_reason(reason), context.folder / "bots"
    (entry,) = find_entries(tournament, context.folder, (name,))
    if entry.path.parent != absolute(bots):
        message = f"is {entry.path}, and `add` replaces only what is in {bots}"
        raise UserError([Problem("R015", name, message, hint="croupier ls -v lists the files of the bots")], 3)
    old = bots / entry.path.name
    entered = trio.run(replace_version, tournament, old, submission, entry.name, reason, level)
    bot, target, report, change, _ = entered
    intake_log.append(bots, _logged(entered, submission))
    row = {"bot": bot.name, "path": str(target), "sha256": bot.sha256, "accepted": report.accepted}
    facts = {"sandbox": level, "run_begun": change is not None, "rows": [row], "change": change and change.json()}
    lines = [f"replaced {bot.name} by {target}  sha256 {bot.sha256[:16]}…", *(f"  {each}" for each in report.remarks())]
    if change:
        lines += [f"  {one_line(change.text())}\n  sealed: {change.seal}"]
        lines += [in_folder("  continue with:  croupier run", str(context.folder))]
    else:
        lines += ["  it had not played, so nothing is recorded"]
    print_result(context, "add", Facts(facts, lines))
