"""The command `remove`: removes a bot from a tournament before it has played."""

import time

import click

from host.base.errors import UserError
from host.base.paths import display_path
from host.cli import CliContext, Facts, completers, print_result


@click.command()
@click.argument("bot", shell_complete=completers.bots)
@click.pass_obj
def remove(context: CliContext, bot: str) -> None:
    """Remove a bot that has not played yet, or a submission that was refused. A bot's files are moved to bots/.replaced.

    A bot of a run that has begun is withdrawn instead: `croupier withdraw`.
    """
    from host.config.tournament_config import load
    from host.journal.tournament_dir import Folder
    from host.ops.bots import find_entries
    from host.submissions import intake_log
    from host.tournament.entries import remove_bot

    tournament = load(context.folder)
    try:
        (entry,) = find_entries(tournament, context.folder, (bot,))
    except UserError:
        bots = context.folder / "bots"
        refused = [row for row in intake_log.open_refusals(intake_log.read(bots)) if bot in (row.bot, row.submission)]
        if not refused:
            raise
        for row in refused:
            intake_log.append(bots, row._replace(result=intake_log.REMOVED, at=time.time()))
        lines = [f"removed the refused submission {row.submission}" for row in refused]
        print_result(context, "remove", Facts({"bot": bot, "kept": None}, lines))
        return
    kept = display_path(remove_bot(tournament, Folder(context.folder), entry.name, entry.path))
    removed = Facts({"bot": entry.name, "kept": kept}, [f"removed {entry.name}; its files are kept as {kept}"])
    print_result(context, "remove", removed)
