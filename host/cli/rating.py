"""The command `rating`: rates bots over several tournaments."""

import shlex
from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, options, print_result
from host.cli.in_a_season import is_season


@click.command()
@click.argument("folders", nargs=-1, required=True, metavar="DIR...", type=click.Path(path_type=Path))
@options.CSV
@click.pass_obj
def rating(context: CliContext, folders: tuple[Path, ...], as_csv: bool) -> None:
    """Rate the bots of several tournaments together, in Elo; each game has the same weight.

    Each DIR is the folder of a tournament, finished or not. Bots of the same name are one bot.
    """
    from host.ops.rating import rate

    places = [context.folder / folder for folder in folders]
    for folder in places:
        if is_season(folder):
            message, hint = (
                "is a season, and `croupier rating` is for tournaments",
                f"each round is one: {shlex.quote(str(folder))}/rounds/*",
            )
            raise UserError([Problem("E101", str(folder), message, hint=hint)], 3)
    listing = rate(places)
    if as_csv:
        click.echo(listing.csv(), nl=False)
    else:
        print_result(context, listing.schema, listing)
