"""Commands of whoever watches: report, serve, export, import."""

import contextlib
import os
import shlex
import webbrowser
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, options, print_json, print_json_line
from host.cli.journals import the_journal
from host.cli.output import making, write


def output_path(context: CliContext, chosen: Path | None, usual: str) -> Path:
    """Return where a file goes: as said, from where we are, or under its usual name in the folder."""
    if chosen is not None:
        return chosen
    if (context.folder / "croupier.toml").exists():
        from host.tournament.config import load

        with contextlib.suppress(UserError):  # a report can be made of what was played whatever the config has become
            usual = load(context.folder).html or usual
    return context.folder / usual


@click.command()
@options.JOURNAL
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: as the config says")
@click.option("--replays", type=click.IntRange(0, 200), default=20, show_default=True, help="tables to keep, at most")
@click.option("--no-names", "blind", is_flag=True, help="bots wear numbers, for judges: no names, authors or hashes")
@click.option("--open", "show", is_flag=True, help="show it in the browser")
@click.pass_obj
def report(
    context: CliContext, journal: Path | None, output: Path | None, replays: int, blind: bool, show: bool
) -> None:
    """Write the whole run as one HTML file: result, standings, pairs, bots, faults, replays. It needs no network."""
    from host.report.anonymize import REAL_NAMES, numbered
    from host.report.html_file import report_of
    from host.tournament.journal import reading

    with reading(the_journal(context, journal)) as book:
        text, kept = report_of(book, replays, numbered(book) if blind else REAL_NAMES)
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
@click.argument("form", type=click.Choice(["csv", "jsonl", "playlog", "bundle"]))
@click.argument("selection", required=False, metavar="[STAGE|TABLE|fault:ID|last]")
@options.JOURNAL
@click.option("-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: standard output")
@click.option("--spoilers", is_flag=True, help="also what is still being played: cards, and all that follows from them")
@click.pass_obj
def export(
    context: CliContext, form: str, selection: str | None, journal: Path | None, output: Path | None, spoilers: bool
) -> None:
    """Write what has been played for other programs: a row a seat, an event a line, or the play.log of 2018.

    A bundle is one faulty decision with all that led to it; `croupier ask FILE` plays it on another machine.
    """
    import sys

    from host.report.export import one_playlog, write_csv, write_events
    from host.tournament.journal import reading

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
        book = stack.enter_context(reading(the_journal(context, journal)))
        file = sys.stdout if output is None else stack.enter_context(making(output))
        if form == "playlog":
            file.write(one_playlog(book, selection or "last", spoilers))
            count = 1
        else:
            count = (write_csv if form == "csv" else write_events)(book, selection, spoilers, file)
    if output is None:
        return
    if context.json:
        print_json("export", path=str(output), form=form, count=count)
    elif not context.quiet:
        things = "rows" if form == "csv" else "table" if count == 1 else "tables"
        click.echo(f"{output}: {count:,} {things}".replace(",", "\u202f"))


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "output", metavar="FILE.html", type=click.Path(path_type=Path), help="default: beside the file")
@click.option("--open", "show", is_flag=True, help="show it in the browser")
@click.pass_obj
def import_(context: CliContext, file: Path, output: Path | None, show: bool) -> None:
    """Take in a play.log, croupier's or one of 2018, and write a page that shows the game."""
    from host.report.export import told_playlog
    from host.report.html_file import casino_of

    try:
        text = file.read_text()
    except (OSError, UnicodeDecodeError) as failed:
        what = failed.strerror if isinstance(failed, OSError) else "is no text"
        raise UserError([Problem("R013", str(file), f"cannot be read: {what}")], 2) from failed
    told = told_playlog(text, str(file))
    path = output or file.with_name(f"{file.name.removesuffix('.log').removesuffix('.play')}.html")
    write(path, casino_of(file.name, text))
    if context.json:
        print_json("import", path=str(path), **told._asdict())
    else:
        left = ", ".join(f"{name} {chips}" for name, chips in told.left.items())
        click.echo(f"{file}: {told.rounds} rounds, {len(told.players)} players, {told.faults} faults; left: {left}")
        click.echo(f"  {path}")
    if show:
        webbrowser.open(path.resolve().as_uri())


@click.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@options.JOURNAL
@click.option("--bind", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="port 0: any free one")
@click.option("--spoilers", is_flag=True, help="also cards and replays of what is still being played: for you alone")
@click.pass_obj
def serve(context: CliContext, folder: Path | None, journal: Path | None, bind: str, spoilers: bool) -> None:
    """Show a run live in the browser: read-only, in a process of its own, cards withheld while a stage runs."""
    import trio

    try:
        from host.web.server import open_listener, serve_journal
    except ImportError as lacking:
        hint = 'pip install "croupier[web]"'
        raise UserError([Problem("S008", "", f"serve needs the extra web: {lacking}", hint=hint)], 6) from lacking

    place = context._replace(folder=context.folder / folder) if folder else context
    try:
        path = the_journal(place, journal)
    except UserError:
        if journal is not None:
            raise
        path = place.folder / "run" / "run.sqlite"  # a spectator may come before the first table
    socket = open_listener(bind)
    host, port = socket.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if context.json:
        print_json_line("serve", url=url, journal=str(path))
    else:
        click.echo(f"{path} at {url}   (^C stops it; the tournament goes on)")
        if spoilers:
            click.echo("  with spoilers: who reads this page sees cards of bots that are still playing", err=True)
    stand_back()
    trio.run(serve_journal, path, socket, spoilers)


def stand_back() -> None:
    """Let whoever plays here have the processor first, and never push them aside at waking up: bots have deadlines."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):  # a container may not allow it, and being nice is most of it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def __getattr__(name: str) -> click.Command:
    """Return the command that Python does not let us name as people do."""
    if name == "import":
        return import_
    raise AttributeError(name)
