"""The command `season backup`: copies a season into a file while it runs."""

from pathlib import Path

import click

from host.base.format import counted
from host.cli import CliContext, print_json


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.pass_obj
def command(context: CliContext, file: Path) -> None:
    """Copy the season into a compressed tar file, while it runs. The file has the seed: keep it secret.

    `mkdir NEW && tar xzf FILE -C NEW` restores it, and `croupier -C NEW season open` goes on.
    """
    from host.season.backup import back_up
    from host.season.service import loaded_season

    loaded_season(context.folder)
    made = back_up(context.folder, file)
    if context.json:
        print_json("season-backup", file=str(file), files=made.files, bytes=made.bytes, round=made.round)
    else:
        size = f"{made.bytes / 2**20:.1f} MiB"
        click.echo(
            f"{file}: {counted(made.files, 'file')}, {size}, up to round {made.round}; it has the seed: keep it secret"
        )
