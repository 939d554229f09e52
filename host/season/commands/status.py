"""The command `season status`: prints the status of a season."""

import click

from host.cli import CliContext, print_result


@click.command("status")
@click.pass_obj
def command(context: CliContext) -> None:
    """Print the status of the season: its round, its bots, the waiting submissions, and the time of the next round."""
    from host.season.service import require_season
    from host.season.status import season_status

    require_season(context.folder)
    print_result(context, "season-status", season_status(context.folder))
