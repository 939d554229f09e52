"""The command `season backup`: copies a season into a file while it runs."""

from pathlib import Path

import click

from host.base.format import counted
from host.cli import CliContext, Facts, print_result


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
@click.pass_obj
def command(context: CliContext, file: Path) -> None:
    """Copy the season into a compressed tar file, while it runs. The file has the seed: keep it secret.

    `mkdir NEW && tar xzf FILE -C NEW` restores it, and `croupier -C NEW season open` goes on.
    """
    from host.season.backup import back_up
    from host.season.service import require_season

    require_season(context.folder)
    made = back_up(context.folder, file)
    size = f"{counted(made.files, 'file')}, {made.bytes / 2**20:.1f} MiB"
    about = f"{file}: {size}, up to round {made.round}; it has the seed: keep it secret"
    print_result(context, "season-backup", Facts(made._asdict() | {"file": str(file)}, [about]))
