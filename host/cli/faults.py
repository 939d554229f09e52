"""The command `faults`: groups the faults of the bots, with evidence."""

from pathlib import Path

import click

from host.base.errors import unknown_name
from host.base.format import counted
from host.cli import CliContext, Facts, completers, options, print_result
from host.cli.common import recorded_bot
from host.ops.journals import journal_option, open_journal
from protocols.wire import FaultKind


@click.command()
@click.argument("bot", shell_complete=completers.bots, required=False)
@click.option(
    "--kind", shell_complete=completers.kinds, metavar="KIND", help="only faults of this kind: timeout, illegal …"
)
@click.option(
    "--version",
    type=click.IntRange(1),
    metavar="N",
    help="of BOT's version N, from 1, also after `add --replace`; default: what counts",
)
@options.JOURNAL
@click.pass_obj
def faults(context: CliContext, bot: str | None, kind: str | None, version: int | None, journal: Path | None) -> None:
    """List the faults by bot and kind: how many, and the evidence of one."""
    from host.inspect.faults import fault_groups, report_lines

    if kind is not None:
        check_kind(kind)
    if version and bot is None:
        raise click.UsageError("--version N needs a bot: croupier faults BOT --version N")
    with open_journal(context.folder, journal) as book:
        bot = None if bot is None else recorded_bot(bot, book.bots())
        entered = sum(each.bot == bot for each in book.versions())
        if version and version > entered:
            raise click.UsageError(f"{bot} has no version {version}: it has {counted(entered, 'version')}")
        groups = fault_groups(book, bot or "", version or 0)
        undecided = book.undecided()
    chosen = [group for group in groups if bot in (None, group.bot) and kind in (None, group.kind)]
    option = journal_option(context.folder, book.path)
    rows, missing = [group.json() for group in chosen], [each.json() for each in undecided]
    facts = {"journal": str(book.path), "rows": rows, "undecided": missing}
    print_result(context, "faults", Facts(facts, report_lines(chosen, undecided, option, verbose=context.verbose)))


def check_kind(kind: str) -> None:
    """Raise UsageError if there is no such kind of fault."""
    kinds = [str(each) for each in FaultKind]
    if kind not in kinds:
        message = unknown_name("kind of fault", kind, kinds)
        raise click.UsageError(message if "did you mean" in message else f"{message}; kinds: {', '.join(kinds)}")
