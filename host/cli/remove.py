"""The command `remove`: removes a bot from a tournament before it has played."""

import time
from pathlib import Path

import click

from host.base.errors import UserError, wrong_usage
from host.base.paths import absolute, display_path
from host.base.safe_text import one_line
from host.cli import CliContext, Facts, completers, print_result


@click.command()
@click.argument("bot", shell_complete=completers.bots)
@click.pass_obj
def remove(context: CliContext, bot: str) -> None:
    """Remove a bot that has not played yet, or a submission that was refused. A bot's files are moved to bots/.replaced.

    If a bot and a refused submission have the same name, give the path of one. A bot of a run that has begun is withdrawn
    instead: `croupier withdraw`.
    """
    from host.config.tournament_config import load
    from host.journal.tournament_dir import Folder
    from host.ops.bots import find_entries
    from host.submissions import intake_log
    from host.tournament.entries import remove_bot

    tournament = load(context.folder)
    bots, path = context.folder / "bots", Path(bot)
    refusals = intake_log.open_refusals(intake_log.read(bots))
    refused = [row for row in refusals if bot == row.bot or Path(intake_log.stored(bot)) == Path(row.submission)]
    entries = [entry for entry in tournament.entries(context.folder) if "/" in bot and entry.path == absolute(path)]
    try:
        entries = entries or find_entries(tournament, context.folder, (bot,))
    except UserError:
        if not refused:
            raise
    if entries and refused:
        file = refused[0].submission
        shown = one_line(f"./{file}" if file == bot else file)
        message = f"{bot} is a bot, {display_path(entries[0].path)}, and a refused submission, {shown}"
        raise wrong_usage(f"{message}: name the path of one")
    for row in refused:
        intake_log.append(bots, row._replace(result=intake_log.REMOVED, at=time.time()))
    lines = [f"removed the refused submission {one_line(row.submission)}" for row in refused]
    facts = Facts({"bot": bot, "kept": None}, lines)
    for entry in entries:
        kept = display_path(remove_bot(tournament, Folder(context.folder), entry.name, entry.path))
        facts = Facts({"bot": entry.name, "kept": kept}, [f"removed {entry.name}; its files are kept as {kept}"])
    print_result(context, "remove", facts)
