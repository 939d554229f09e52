"""The command `grades`: prints the points of each bot or student, or why a bot has its points."""

from pathlib import Path

import click

from host.base.errors import unknown_with_list
from host.cli import CliContext, completers, in_folder, options, print_result
from host.cli.common import recorded_bot
from host.ops.journals import open_journal


@click.command()
@click.argument("bot", shell_complete=completers.bots, required=False)
@click.option("--stage", shell_complete=completers.stages, metavar="NAME", help="default: the last that gives grades")
@options.ROSTER
@options.CSV
@options.JOURNAL
@click.pass_obj
def grades(
    context: CliContext, bot: str | None, stage: str | None, roster: Path | None, as_csv: bool, journal: Path | None
) -> None:
    """Print the points of each bot for beating references, or, for one BOT, why it has its points.

    Submissions that `croupier add` has refused have a row, too.
    """
    from host.inspect.gradebook import gradebook, no_grades, reason, unmatched, with_grades
    from host.inspect.roster import read_roster
    from host.report.grade_listings import grade_list, roster_list
    from host.report.listings import results_of
    from host.results.course import positions_of
    from host.submissions.intake_log import read

    if bot is not None and (roster or as_csv):
        raise click.UsageError("one BOT has no list: give no --roster and no --csv")
    students = read_roster(roster) if roster else None
    with open_journal(context.folder, journal) as book:
        positions = positions_of(book)
        if stage is not None and stage not in (names := [each.state.name for each in positions]):
            raise click.UsageError(unknown_with_list("stage", stage, names))
        position = with_grades(positions, stage)
        if position is None:
            raise no_grades(str(book.path), stage)
        found = gradebook(book, position, read(context.folder / "bots"))
        if bot is not None:
            name = recorded_bot(bot, [row.bot for row in found.rows])
            row = next(row for row in found.rows if row.bot == name)
            print_result(context, "grade", reason(position, row, found.intake))
            return
        results = results_of(book, position)
        listing = roster_list(results, found, students) if students else grade_list(results, found)
    if as_csv:
        mark = "\ufeff" if students and students.marked else ""
        click.echo(mark + listing.csv(students.delimiter if students else ","), nl=False)
    else:
        print_result(context, listing.schema, listing)
        if not context.json and any(row.points < row.most for row in found.rows):
            click.echo(in_folder("why?  croupier grades BOT", str(context.folder)))
    for warning in unmatched(found.rows, students) if students else ():
        click.echo(f"WARNING  {warning}", err=True)
