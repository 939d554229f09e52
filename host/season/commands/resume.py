"""The command `season resume`: lets a paused season go on."""

import click

from host.cli import CliContext
from host.season.commands.manage import print_answer


@click.command("resume")
@click.pass_obj
def command(context: CliContext) -> None:
    """Let a paused season go on: its round continues where it was."""
    print_answer(context, "resume")
