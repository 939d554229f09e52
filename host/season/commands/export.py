"""The command `season export`: writes a folder with which anyone can check the season."""

import shlex
from pathlib import Path

import click

from host.base.format import counted
from host.cli import CliContext, Facts, print_result


@click.command("export")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.pass_obj
def command(context: CliContext, folder: Path) -> None:
    """Write the chain of the season, its ladder and the records of its rounds, with a program that checks them.

    The command can be repeated while the season runs. When the final is over, the chain has the seed of the season.
    """
    from host.season.export import export_season
    from host.season.service import played_season

    rounds = export_season(context.folder, played_season(context.folder), folder)
    about = f"{folder}: {counted(rounds, 'round')}\n  python3 {shlex.quote(str(folder / 'check.py'))}"
    print_result(context, "season-export", Facts({"folder": str(folder), "rounds": rounds}, [about]))
