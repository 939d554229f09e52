"""The command `remove`: removes a bot from a tournament before it has played."""

import click

from host.base.paths import display_path
from host.cli import CliContext, Facts, completers, print_result


@click.command()
@click.argument("bot", shell_complete=completers.bots)
@click.pass_obj
def remove(context: CliContext, bot: str) -> None:
    """Remove a bot that has not played yet. Its files are moved to bots/.replaced.

    A bot of a run that has begun is withdrawn instead: `croupier withdraw`.
    """
    from host.config.tournament_config import load
    from host.journal.tournament_dir import Folder
    from host.ops.bots import find_entries
    from host.tournament.entries import remove_bot

    tournament = load(context.folder)
    (entry,) = find_entries(tournament, context.folder, (bot,))
    kept = display_path(remove_bot(tournament, Folder(context.folder), entry.name, entry.path))
    removed = Facts({"bot": entry.name, "kept": kept}, [f"removed {entry.name}; its files are kept as {kept}"])
    print_result(context, "remove", removed)
