"""The command `season`: runs a season of rounds. `croupier season x` is host/season/commands/x.py, imported when it runs."""

import importlib
from collections.abc import Mapping

import click

SUBCOMMANDS: Mapping[str, str] = {
    "open": "open the season: the site, the queue and the rounds",
    "invite": "draw a secret link for each author",
    "status": "say how the season stands",
    "pause": "pause the season at once",
    "resume": "let a paused season go on",
    "freeze": "close entry now, or open it again",
    "withdraw": "take a bot out of the season",
    "readmit": "take a bot back, or examine a submission again",
    "cancel": "cancel a submission that waits",
    "rename": "rename an author",
    "remove": "remove an author who has handed in nothing",
    "final": "close entry and make the folder of the final",
    "verify": "compute every round's list and every score again",
    "export": "write what anyone needs to check the season",
    "backup": "copy the season into a file while it runs",
    "site": "serve the pages and the HTTP API of a season alone",
}
"""The one-line help of each command, by its name, in the order of `croupier season --help`."""

MANAGED = ("pause", "resume", "freeze", "withdraw", "readmit", "cancel", "rename", "remove")
"""The commands that host/season/commands/manage.py defines."""


class SeasonGroup(click.Group):
    """A group that imports a command only when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands in the order of the help."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it; None if it does not exist."""
        if cmd_name not in SUBCOMMANDS:
            return None
        name = "manage" if cmd_name in MANAGED else cmd_name
        module = importlib.import_module(f"host.season.commands.{name}")
        command: click.Command = getattr(module, cmd_name if cmd_name in MANAGED else "command")
        command.short_help = SUBCOMMANDS[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group(cls=SeasonGroup, invoke_without_command=True)
@click.pass_context
def season(context: click.Context) -> None:
    """Run a season: people hand in bots, a ladder of rounds runs until a deadline, and a final decides."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
