"""The command `season hook`: the pre-receive hook of a repository of git, whose pushes are handed in."""

import os
import sys

import click

from host.base.safe_text import escape_control_chars
from host.cli import CliContext


@click.command("hook")
@click.option("--author", metavar="NAME", help="who pushes; default: the user that the server of git names")
@click.option("--bot", metavar="NAME", help="default: the name of the repository")
@click.pass_obj
def command(context: CliContext, author: str | None, bot: str | None) -> None:
    """Hand in what is pushed to the main branch. The pusher sees the verdict; a refused bot refuses the push.

    It is the file hooks/pre-receive of a repository: `exec croupier -C SEASON season hook --author NAME`. After 60 s the push
    is accepted without a verdict. No program of the push is run.
    """
    from host.season.folder import SeasonFolder
    from host.season.intake.git_hook import Repository, hand_in, pushes
    from host.season.service import loaded_season

    tournament = loaded_season(context.folder)
    assert tournament.season is not None  # `loaded_season` has checked it
    repository = Repository.of(author, bot, os.environ)
    folder = SeasonFolder(context.folder.absolute())
    found = hand_in(folder, repository, pushes(sys.stdin), tournament.season.author_limits.size, _say)
    if found is None:
        return
    for line in found.lines():
        _say(line)
    if not found.final:
        address = tournament.season.address
        submission = f"/submissions/{found.answer.submission}" if found.answer else ""
        where = f"{address}/mine{submission}" if address else "your page"
        _say(f"the push is accepted; the verdict will be on {where}")
    raise click.exceptions.Exit(1 if found.refused else 0)


def _say(line: str) -> None:
    """Print a line at once: git passes it to the pusher while the hook runs."""
    click.echo(escape_control_chars(line))
    sys.stdout.flush()
