"""The command `report`: writes a run as one HTML file, or a zip for the author of one bot."""

import contextlib
import webbrowser
from pathlib import Path

import click

from host.base.errors import UserError
from host.base.format import THIN_SPACE, counted
from host.base.output import write
from host.base.paths import SAMPLE_PREFIX
from host.cli import CliContext, Facts, completers, options, print_result
from host.ops.journals import open_journal


@click.command()
@options.JOURNAL
@click.option(
    "-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: [report] html, or report.html"
)
@click.option(
    "--replays", type=click.IntRange(0, 200), help="maximum number of replays; default: 20, or more to show every bot"
)
@click.option(
    "--no-names", "blind", is_flag=True, help="replace names, authors and hashes of bots by numbers, for judges"
)
@options.ROSTER
@click.option("--open", "show", is_flag=True, help="open it in the browser")
@click.option(
    *("--for", "bot"),
    shell_complete=completers.bots,
    metavar="BOT",
    help="write a zip for the author of BOT: its faults, its own tables, its slowest answers; default: BOT.zip",
)
@click.pass_obj
def report(
    context: CliContext,
    journal: Path | None,
    output: Path | None,
    replays: int | None,
    blind: bool,
    roster: Path | None,
    show: bool,
    bot: str | None,
) -> None:
    """Write the run as one HTML file: result, standings, pairs, bots, faults, replays. It needs no network.

    With --for, the file is a zip with a page and NDJSON. It has the questions, answers and standard error of BOT, and
    tables as its seat saw them; of other bots only their names and what they did in the open.
    """
    from host.inspect.gradebook import class_lists, no_grades
    from host.inspect.roster import read_roster
    from host.report.anonymize import REAL_NAMES, numbered
    from host.report.html_file import USUAL, report_of
    from host.report.offers import Quota

    if bot is not None:
        if replays is not None or blind or show or roster:
            raise click.UsageError(
                "--replays, --no-names, --roster and --open are for the report of the whole run, not for --for"
            )
        _write_packet(context, journal, bot.removeprefix(SAMPLE_PREFIX), output)
        return
    if blind and roster:
        raise click.UsageError("--roster names the students, so it does not go with --no-names")
    students = read_roster(roster) if roster else None
    with open_journal(context.folder, journal) as book:
        quota = USUAL if replays is None else Quota(replays)
        classes = {} if blind else class_lists(book, context.folder / "bots", students)
        if students and not classes:
            raise no_grades(str(book.path), None)
        text, kept = report_of(book, quota, numbered(book) if blind else REAL_NAMES, classes)
    path = _output_path(context, output)
    write(path, text)
    size = len(text.encode())
    about = f"{path}: {size / 1000:,.0f} kB, {kept} replays".replace(",", THIN_SPACE)
    print_result(context, "report", Facts({"path": str(path), "bytes": size, "replays": kept}, [about]))
    for warning in dict.fromkeys(line for each in classes.values() for line in each.unmatched):
        click.echo(f"WARNING  {warning}", err=True)
    if show:
        webbrowser.open(path.resolve().as_uri())


def _write_packet(context: CliContext, journal: Path | None, bot: str, output: Path | None) -> None:
    """Write the zip with everything that the author of a bot may see, and print a summary of it."""
    from host.inspect.packet import packet_of
    from host.report.packet_file import packet_zip

    with open_journal(context.folder, journal) as book:
        found = packet_of(book, bot)
    path = output or context.folder / f"{bot}.zip"
    write(path, packet_zip(found))
    faults, tables = sum(found.fault_counts.values()), len(found.own_tables)
    shown = f"{path}: {counted(faults, 'fault')}, {counted(tables, 'table')}"
    facts = {"path": str(path), "bot": bot, "tables": tables, "faults": faults}
    print_result(context, "packet", Facts(facts, [f"{shown}{'. ' + found.left_out if found.left_out else ''}"]))


def _output_path(context: CliContext, chosen: Path | None) -> Path:
    """Return the path `chosen`; without it, the path in croupier.toml; without both, report.html in the folder."""
    if chosen is not None:
        return chosen
    usual = "report.html"
    if (context.folder / "croupier.toml").exists():
        from host.config.tournament_config import load

        with contextlib.suppress(UserError):  # the journal can be reported even if croupier.toml is invalid
            usual = load(context.folder).html
    return context.folder / usual
