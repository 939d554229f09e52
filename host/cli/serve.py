"""The command `serve`: shows a run live in a browser."""

import contextlib
import os
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, options, print_json_line
from host.ops.journals import journal_of


@click.command()
@options.JOURNAL
@click.option(
    "--bind", default=options.DEFAULT_BIND, show_default=True, metavar="HOST:PORT", help="port 0 chooses a free port"
)
@click.option("--spoilers", is_flag=True, help="include cards and replays of running stages; for the organiser only")
@click.pass_obj
def serve(context: CliContext, journal: Path | None, bind: str, spoilers: bool) -> None:
    """Show a run live in the browser, read-only. Cards are hidden while their stage runs."""
    import trio

    try:
        from host.web.server import address_for_others, open_listener, serve_journal
    except ImportError as lacking:
        hint = "pip install '.[web]'   in a clone of croupier"
        raise UserError([Problem("S008", "", f"serve needs the extra web: {lacking}", hint=hint)], 6) from lacking

    try:
        path = journal_of(context.folder, journal)
    except UserError:
        if journal is not None:
            raise
        path = context.folder / "run" / "run.sqlite"  # spectators may come before the first table
    socket = open_listener(bind)
    host, port = socket.getsockname()[:2]
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    others = address_for_others(socket)
    if context.json:
        print_json_line("serve", url=url, url_for_others=others, journal=str(path))
    else:
        click.echo(f"{path} at {url}   (^C stops it; the tournament goes on)")
        if others not in ("", url):
            click.echo(f"  for phones and other machines: {others}")
        if spoilers:
            click.echo("  with spoilers: readers of this page see the cards of bots that are still playing", err=True)
    lower_priority()
    trio.run(serve_journal, path, socket, spoilers, context.registry)


def lower_priority() -> None:
    """Lower the priority of this process, because bots that play on this machine have deadlines."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    with contextlib.suppress(OSError):  # containers may forbid it; the nice value is the larger part
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
