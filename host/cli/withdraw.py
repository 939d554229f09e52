"""The command `withdraw`: withdraws a bot, or takes it back."""

from typing import TYPE_CHECKING

import click

from host.cli import CliContext, completers
from host.cli.common import recorded_bot
from host.cli.correction import DRY_RUN, REASON, correct

if TYPE_CHECKING:
    from host.journal.reader import Journal
    from host.tournament.corrections import Correction


@click.command()
@click.argument("bot", shell_complete=completers.bots)
@REASON
@click.option("--undo", is_flag=True, help="take back a withdrawn bot: its tables count again")
@DRY_RUN
@click.pass_obj
def withdraw(context: CliContext, bot: str, reason: str, undo: bool, dry_run: bool) -> None:
    """Withdraw a bot: its tables no longer count, and it plays no more. Nothing is deleted.

    A bot cannot leave a stage under way in which results decide who meets whom, for example a bracket.
    """
    from host.tournament.corrections import plan_readmit, plan_withdraw

    def plan(journal: "Journal", seed: bytes, why: str) -> "Correction":
        name = recorded_bot(bot, journal.bots())
        return (plan_readmit if undo else plan_withdraw)(journal, seed, name, why)

    correct(context, "withdraw", reason, plan, dry_run)
