"""The command `replay`: prints a recorded table, or writes a page that plays it."""

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from host.base.output import write
from host.cli import CliContext, Facts, completers, options, print_result
from host.cli.common import recorded_bot
from host.ops.journals import find_table, split

if TYPE_CHECKING:
    from host.inspect.table_replays import ReplayedTable, TableLocation


@click.command()
@click.argument("table", default="last")
@click.option(
    *("--as", "bot"),
    shell_complete=completers.bots,
    metavar="BOT",
    help="as this bot saw it: its own questions, and the moves of the others that are no secret",
)
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="write a page that plays it")
@click.option("--open", "show", is_flag=True, help="open the page in the browser")
@click.option(
    "--spoilers", is_flag=True, help="also secret cards and evidence of a running stage; for the organiser only"
)
@click.option(
    "--logs",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="also what the bots wrote to standard error: the folder that `play --logs` wrote",
)
@options.JOURNAL
@click.pass_obj
def replay(
    context: CliContext,
    table: str,
    bot: str | None,
    output: Path | None,
    show: bool,
    spoilers: bool,
    logs: Path | None,
    journal: Path | None,
) -> None:
    """Print a recorded table: BOTS/NUMBER, as `standings` and `faults` name it, or `last`."""
    from host.inspect.replay import as_text
    from host.inspect.table_replays import as_seen_by, load_table

    if logs and (output is not None or show):
        raise click.UsageError("--logs is for the printed table: a page does not have it")
    location = find_table(context.folder, journal, split(table)[0])._replace(spoilers=spoilers)
    found = load_table(location)
    seat = None if bot is None else _seat_of(found, bot)
    if output is not None or show:
        path = output or context.folder / "replay.html"
        url = write_page(location, seat, path)
        facts: dict[str, Any] = {"table": found.sitting.path, "path": str(path), "url": url}
        print_result(context, "replay", Facts(facts, [url]))
        if show:
            webbrowser.open(url)
        return
    stderr = _stderr(logs, found, seat) if logs else {}
    seen = found if seat is None else as_seen_by(found, seat)
    facts = {"table": seen.sitting.path, "events": [{"ev": event, **about} for event, about in seen.events]}
    lines = as_text(seen.events, seen.sitting.bots, seen.evidence, stderr)
    print_result(context, "replay", Facts(facts | ({"stderr": stderr} if stderr else {}), lines))


def _stderr(logs: Path, table: "ReplayedTable", seat: int | None) -> dict[int, str]:
    """Return the standard error of all bots of a table, or of the bot in `seat`, by the number of the question."""
    from host.results.bot_logs import logged

    seen = table.sitting.bots if seat is None else (table.sitting.bots[seat],)
    return {number: said for bot in seen for number, said in logged(logs, bot, table.sitting.path).items()}


def write_page(location: "TableLocation", seat: int | None, path: Path) -> str:
    """Write a page that plays a table, and return its URL. If `seat` is given, the page shows the view of that seat."""
    from host.journal.reader import reading
    from host.report.html_file import page_of_table

    with reading(location.journal, location.registry) as journal:
        text, name = page_of_table(journal, location.fixture, location.nth, location.spoilers)
    write(path, text)
    fragment = f"r={quote(name, safe='')}" + ("" if seat is None else f"&as={seat}")
    return f"{path.resolve().as_uri()}#{fragment}"


def _seat_of(table: "ReplayedTable", bot: str) -> int:
    bot = recorded_bot(bot, table.sitting.bots)
    return table.sitting.bots.index(bot)
