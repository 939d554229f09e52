"""The command `packet`: writes what the author of a bot may see of a tournament into a file for him."""

from pathlib import Path

import click

from host.base.format import counted
from host.base.output import write
from host.cli import CliContext, completers, options, print_json
from host.ops.journals import journal_of


@click.command()
@click.argument("bot", shell_complete=completers.bots)
@options.JOURNAL
@click.option(
    "-o", "output", metavar="FILE", type=click.Path(path_type=Path), help="default: BOT.zip in the tournament's folder"
)
@click.pass_obj
def packet(context: CliContext, bot: str, journal: Path | None, output: Path | None) -> None:
    """Write what the author of BOT may see into a zip: its faults, its own tables, its slowest answers.

    Each fault has its question, answer and standard error; tables are shown as the bot's seat saw them. Of other bots it
    has their names and what they did in the open. The page in it needs no server; NDJSON files have the same for programs.
    """
    from host.base.paths import SAMPLE_PREFIX
    from host.inspect.packet import packet_of
    from host.journal.reader import reading
    from host.report.packet_file import packet_zip

    bot = bot.removeprefix(SAMPLE_PREFIX)
    with reading(journal_of(context.folder, journal), context.registry) as book:
        found = packet_of(book, bot)
    target = output or context.folder / f"{bot}.zip"
    write(target, packet_zip(found))
    faults = sum(found.fault_counts.values())
    if context.json:
        print_json("packet", path=str(target), bot=bot, tables=len(found.own_tables), faults=faults)
        return
    shown = f"{counted(faults, 'fault')}, {counted(len(found.own_tables), 'table')}"
    click.echo(f"{target}: {shown}{'. ' + found.left_out if found.left_out else ''}")
