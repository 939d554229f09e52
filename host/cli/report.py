"""The commands `report`, `serve`, `export` and `import`."""

import contextlib
import os
import shlex
import webbrowser
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.cli import CliContext, options, print_json, print_json_line
from host.cli.journals import journal_of
from host.cli.output import whole_file, write


def output_path(context: CliContext, chosen: Path | None, usual: str) -> Path:
    """Return the chosen path, otherwise the one in croupier.toml, otherwise the usual name in the folder."""
    if chosen is not None:
        return chosen
    if (context.folder / "croupier.toml").exists():
        from host.config.tournament_config import load

        with contextlib.suppress(UserError):  # the journal can be reported even if croupier.toml is invalid
            usual = load(context.folder).html or usual
    return context.folder / usual


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
    from host.cli.common import keep_everything
    from host.report.anonymize import REAL_NAMES, numbered
    from host.report.html_file import USUAL, report_of
    from host.report.offers import Quota
    from host.results.journal import reading

    keep_everything()
    with reading(journal_of(context, journal), context.registry) as book:
        quota = USUAL if replays is None else Quota(replays)
        text, kept = report_of(book, quota, numbered(book) if blind else REAL_NAMES)
    path = output_path(context, output, "report.html")
    write(path, text)
    size = len(text.encode())
    if context.json:
        print_json("report", path=str(path), bytes=size, replays=kept)
    else:
        click.echo(f"{path}: {size / 1000:,.0f} kB, {kept} replays".replace(",", "\u202f"))
    if show:
        webbrowser.open(path.resolve().as_uri())


@click.command()
@click.argument("form", type=click.Choice(["csv", "jsonl", "playlog", "bundle", "changes", "chain"]))
@click.argument("selection", required=False, metavar="[STAGE|TABLE|fault:ID|last]")
@options.JOURNAL
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: standard output")
@click.option("--spoilers", is_flag=True, help="include stages that are still running: their cards and results")
@click.pass_obj
def export(
    context: CliContext, form: str, selection: str | None, journal: Path | None, output: Path | None, spoilers: bool
) -> None:
    """Export results for other programs: csv (one row per seat), jsonl (one event per line) or playlog (format of 2018).

    A bundle contains one faulty decision and what led to it; `croupier ask FILE` repeats it on another machine. changes
    lists the organiser's corrections. chain has one line of JSON for all that is sealed, to check it without croupier.
    """
    import sys

    from host.report.export import one_playlog, write_chain, write_changes, write_csv, write_events
    from host.results.journal import reading

    if form == "bundle":
        from host.cli.ask import Export, bundled

        export = Export(journal=journal, where=selection, output=output, spoilers=spoilers)
        output, questions = bundled(context, export)
        if context.json:
            print_json("export", path=str(output), form=form, count=questions)
        else:
            click.echo(
                f"{output}: {questions} question{'s' * (questions > 1)} → croupier ask {shlex.quote(str(output))}"
            )
        return
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(reading(journal_of(context, journal), context.registry))
        file = sys.stdout if output is None else stack.enter_context(whole_file(output))
        if form == "playlog":
            file.write(one_playlog(book, selection or "last", spoilers))
            count = 1
        elif form == "changes":
            count = write_changes(book, file)
        elif form == "chain":
            count = write_chain(book, spoilers, file)
        else:
            count = (write_csv if form == "csv" else write_events)(book, selection, spoilers, file)
    if output is None:
        return
    if context.json:
        print_json("export", path=str(output), form=form, count=count)
    elif not context.quiet:
        things = (
            "lines"
            if form == "chain"
            else "rows"
            if form in ("csv", "changes")
            else "table"
            if count == 1
            else "tables"
        )
        click.echo(f"{output}: {count:,} {things}".replace(",", "\u202f"))


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: next to the file")
@click.option("--open", "show", is_flag=True, help="open it in the browser")
@click.pass_obj
def import_(context: CliContext, file: Path, output: Path | None, show: bool) -> None:
    """Convert a play.log, of croupier or of 2018, to a page that shows the game."""
    from host.report.export import told_playlog
    from host.report.html_file import casino_of

    try:
        text = file.read_text()
    except OSError as failed:
        raise UserError([file_problem("read", file, failed)], 2) from failed
    except UnicodeDecodeError as failed:
        raise UserError([Problem("R013", str(file), "cannot be read: it is not a text")], 2) from failed
    summary = told_playlog(text, str(file))
    path = output or file.with_name(f"{file.name.removesuffix('.log').removesuffix('.play')}.html")
    write(path, casino_of(file.name, text))
    if context.json:
        print_json("import", path=str(path), **summary._asdict())
    else:
        left = ", ".join(f"{name} {chips}" for name, chips in summary.left.items())
        click.echo(
            f"{file}: {summary.rounds} rounds, {len(summary.players)} players, {summary.faults} faults; left: {left}"
        )
        click.echo(f"  {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@options.JOURNAL
@click.option(
    "--bind", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="port 0 chooses a free port"
)
@click.option("--spoilers", is_flag=True, help="include cards and replays of running stages; for the organiser only")
@click.pass_obj
def serve(context: CliContext, folder: Path | None, journal: Path | None, bind: str, spoilers: bool) -> None:
    """Show a run live in the browser, read-only. Cards are hidden while their stage runs."""
    import trio

    try:
        from host.web.server import open_listener, serve_journal
    except ImportError as lacking:
        hint = "pip install '.[web]'   in a clone of croupier"
        raise UserError([Problem("S008", "", f"serve needs the extra web: {lacking}", hint=hint)], 6) from lacking

    place = context._replace(folder=folder) if folder else context
    try:
        path = journal_of(place, journal)
    except UserError:
        if journal is not None:
            raise
        path = place.folder / "run" / "run.sqlite"  # spectators may come before the first table
    socket = open_listener(bind)
    host, port = socket.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if context.json:
        print_json_line("serve", url=url, journal=str(path))
    else:
        click.echo(f"{path} at {url}   (^C stops it; the tournament goes on)")
        if spoilers:
            click.echo("  with spoilers: readers of this page see the cards of bots that are still playing", err=True)
    lower_priority()
    trio.run(serve_journal, path, socket, spoilers, context.registry)


def lower_priority() -> None:
    """Give processes that play on this machine priority over this one: their bots have deadlines."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):  # containers may forbid it; the nice value is the larger part
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def __getattr__(name: str) -> click.Command:
    """Return the command `import`, which cannot be the name of a function."""
    if name == "import":
        return import_
    raise AttributeError(name)
