"""The command `play`: lets bots play some tables outside a tournament."""

from dataclasses import replace
from typing import Any

import click

from host.cli import STARTED, CliContext, completers, options, print_result


@click.command()
@click.argument("names", shell_complete=completers.bots, nargs=-1, required=True, metavar="BOT...")
@click.option(
    "-n",
    "tables",
    type=click.IntRange(1, 10_000_000),
    default=100,
    show_default=True,
    help="tables to play, or to play by each pair",
)
@click.option("--mirror", is_flag=True, help="play every deal from every seat, so that luck counts less")
@click.option("--show", is_flag=True, help="print the first table")
@options.conditions
@click.pass_obj
def play(context: CliContext, /, names: tuple[str, ...], tables: int, show: bool, **chosen: Any) -> None:
    """Let bots play against each other, and print the standings with error bars. Faults do not change the exit code.

    In a two-player game, three or more bots play a round robin: each pair plays the given number of tables.
    """
    import trio

    from host.backends.local import local_workers
    from host.cli.progress import progress_view
    from host.ops.adhoc import Conditions, adhoc_journal, plan_tables, play_tables
    from host.ops.bots import find_bots
    from host.ops.journals import journal_option

    conditions = Conditions(**chosen)
    found = find_bots(context.folder, names, conditions.game)
    planned = plan_tables(context.folder, found, tables, conditions)
    journal = adhoc_journal(context.folder, found.game)
    with progress_view("none" if context.json or planned.tables <= 2 else "auto", quiet=context.quiet) as view:
        result = trio.run(play_tables, planned, journal, local_workers, view, STARTED)
    print_result(context, "play", replace(result, option=journal_option(context.folder, journal), show=show))
