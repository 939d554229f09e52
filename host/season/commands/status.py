"""The command `season status`: prints the status of a season."""

import click

from host.cli import CliContext, print_result


@click.command("status")
@click.pass_obj
def command(context: CliContext) -> None:
    """Say how the season stands: its round, its bots, what waits, and when the next round begins."""
    from host.season.service import require_season
    from host.season.status import season_status

    require_season(context.folder)
    print_result(context, "season-status", season_status(context.folder))
