"""The command `season pause`: stops the rounds and the examinations."""

import click

from host.cli import CliContext
from host.season.commands.manage import print_answer


@click.command("pause")
@click.option("--reason", default="", metavar="TEXT", help="shown on the site")
@click.pass_obj
def command(context: CliContext, reason: str) -> None:
    """Pause the season at once: no round and no examination begins or goes on. Nothing that was played is lost.

    People may still hand in bots, which wait. `croupier season resume` goes on.
    """
    print_answer(context, "pause", reason)
