"""The command `redo`: lets a fixture be played again."""

import click

from host.cli import CliContext
from host.cli.correction import DRY_RUN, REASON, correct


@click.command()
@click.argument("fixture", metavar="FIXTURE")
@REASON
@DRY_RUN
@click.pass_obj
def redo(context: CliContext, fixture: str, reason: str, dry_run: bool) -> None:
    """Let `croupier run` play a fixture again, with the same cards. Its record is kept, and no longer counts.

    FIXTURE is its path, for example league/ada+grace/1, or a pairing: league/ada+grace.
    """
    from host.tournament.corrections import plan_redo

    correct(context, "redo", reason, lambda journal, seed, why: plan_redo(journal, seed, fixture, why), dry_run)
