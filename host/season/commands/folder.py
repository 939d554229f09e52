"""The command `season folder`: watches a folder, and hands in what authors put there."""

import sys
from pathlib import Path

import click

from host.base.safe_text import escape_control_chars
from host.cli import CliContext


@click.command("folder")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.pass_obj
def command(context: CliContext, directory: Path) -> None:
    """Watch DIRECTORY, and hand in what lies in DIRECTORY/AUTHOR once it no longer changes. ^C ends it.

    The verdict on mine.py is written beside it, as mine.py.verdict.txt. Whoever can write into the folder of an author can
    submit in his name.
    """
    from host.season.folder import SeasonFolder
    from host.season.intake.watched_folder import WatchedFolder
    from host.season.service import loaded_season

    tournament = loaded_season(context.folder)
    assert tournament.season is not None  # `loaded_season` has checked it
    folder = SeasonFolder(context.folder)
    WatchedFolder(folder, directory, tournament.season.author_limits, _say).watch()


def _say(line: str) -> None:
    click.echo(escape_control_chars(line))
    sys.stdout.flush()
