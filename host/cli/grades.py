"""The command `grades`: prints the points of each bot or student, or why a bot has its points."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import unknown_with_list
from host.cli import CliContext, completers, in_folder, options, print_result
from host.ops.journals import open_journal

if TYPE_CHECKING:
    from host.inspect.gradebook import Gradebook
    from host.inspect.roster import Roster


@click.command()
@click.argument("bot", shell_complete=completers.bots, required=False)
@click.option("--stage", shell_complete=completers.stages, metavar="NAME", help="default: the last that gives grades")
@click.option(
    "--roster",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="a table of the students; prints one row for each of them, in its order",
)
@options.CSV
@options.JOURNAL
@click.pass_obj
def grades(
    context: CliContext, bot: str | None, stage: str | None, roster: Path | None, as_csv: bool, journal: Path | None
) -> None:
    """Print the points of each bot for beating references, or, for one BOT, why it has its points.

    Submissions that `croupier add` has refused have a row, too.
    """
    from host.inspect.gradebook import gradebook, no_grades, reason, with_grades
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
            row = found.row(bot)
            if row is None:
                raise click.UsageError(unknown_with_list("bot", bot, [row.bot for row in found.rows]))
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
    for line in _unmatched(found, students) if students else ():
        click.echo(f"WARNING  {line}", err=True)


def _unmatched(book: "Gradebook", roster: "Roster") -> Sequence[str]:
    """Return a line for each bot that suits no student, and for each student that several bots suit."""
    from host.base.safe_text import one_line
    from host.inspect.roster import match, roster_name

    found = match(roster, [row.entrant for row in book.rows])
    lines = [
        f"{one_line(roster_name(student.row))} may be {' or '.join(one_line(each.bot) for each in student.candidates)}: "
        "a column `bot` in the roster decides"
        for student in found.students
        if student.candidates
    ]
    if found.others:
        several = ", ".join(one_line(f"{each.bot} ({each.file})" if each.file else each.bot) for each in found.others)
        lines.append(f"no student of the roster has handed in {several}: a column `bot` in the roster decides")
    return lines
