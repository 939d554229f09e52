"""The command `rating`: rates the bots of several tournaments together."""

from pathlib import Path

import click

from host.base.errors import Problem, UserError, nothing_played, wrong_usage
from host.cli import CliContext, options, print_result
from host.ops.journals import open_journal


@click.command()
@click.argument("folders", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.CSV
@click.pass_obj
def rating(context: CliContext, folders: tuple[Path, ...], as_csv: bool) -> None:
    """Print one rating of the bots of several tournaments, in Elo: each game counts the same.

    DIR is the folder of a tournament. A bot is known by its name.
    """
    from host.report.listings import of_rating
    from host.results.course import positions_of
    from host.results.joint_rating import JointRating, taken_from

    places = [context.folder / folder for folder in folders]
    resolved = [place.resolve() for place in places]
    for nth, place in enumerate(places):
        if not place.is_dir():
            raise wrong_usage(f"there is no folder {place}: name the folders of tournaments")
        if resolved[nth] in resolved[:nth]:
            raise wrong_usage(f"{place} is named twice: its tables would count twice")
    tournaments = []
    for place in places:
        with open_journal(place) as book:
            if not (positions := positions_of(book)):
                raise nothing_played(book.path)
            tournaments.append(taken_from(str(place), positions))
    found = JointRating(tournaments)
    if not found.games:
        problem = Problem(
            "R006", ", ".join(map(str, places)), "no table that orders bots has been played", hint="croupier run"
        )
        raise UserError([problem], 3)
    listing = of_rating(found)
    if as_csv:
        click.echo(listing.csv(), nl=False)
    else:
        print_result(context, listing.schema, listing)
