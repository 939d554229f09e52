"""The command `report`: writes a run as one HTML file."""

import contextlib
import webbrowser
from pathlib import Path

import click

from host.base.errors import UserError
from host.base.format import THIN_SPACE
from host.base.output import write
from host.cli import CliContext, Facts, options, print_result
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
@click.option("--open", "show", is_flag=True, help="open it in the browser")
@click.pass_obj
def report(
    context: CliContext, journal: Path | None, output: Path | None, replays: int | None, blind: bool, show: bool
) -> None:
    """Write the run as one HTML file: result, standings, pairs, bots, faults, replays. It needs no network."""
    from host.report.anonymize import REAL_NAMES, numbered
    from host.report.html_file import USUAL, report_of
    from host.report.offers import Quota

    with open_journal(context.folder, journal) as book:
        quota = USUAL if replays is None else Quota(replays)
        text, kept = report_of(book, quota, numbered(book) if blind else REAL_NAMES)
    path = output_path(context, output, "report.html")
    write(path, text)
    size = len(text.encode())
    about = f"{path}: {size / 1000:,.0f} kB, {kept} replays".replace(",", THIN_SPACE)
    print_result(context, "report", Facts({"path": str(path), "bytes": size, "replays": kept}, [about]))
    if show:
        webbrowser.open(path.resolve().as_uri())


def output_path(context: CliContext, chosen: Path | None, usual: str) -> Path:
    """Return the chosen path, otherwise the one in croupier.toml, otherwise the usual name in the folder."""
    if chosen is not None:
        return chosen
    if (context.folder / "croupier.toml").exists():
        from host.config.tournament_config import load

        with contextlib.suppress(UserError):  # the journal can be reported even if croupier.toml is invalid
            usual = load(context.folder).html or usual
    return context.folder / usual
