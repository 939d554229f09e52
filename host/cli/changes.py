"""The commands `redo` and `withdraw`: an organiser's corrections of a run."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.cli import CliContext, completion, in_folder, print_result, unknown_with_list

if TYPE_CHECKING:
    from host.results.changes import Change
    from host.results.journal import Journal
    from host.tournament.corrections import Correction

REASON = click.option(
    "--reason", required=True, metavar="TEXT", help="why; it is published with the change in all results"
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="print what would happen; change nothing")


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

    _correct(context, "redo", reason, lambda journal, seed, why: plan_redo(journal, seed, fixture, why), dry_run)


@click.command()
@click.argument("bot", shell_complete=completion.bots)
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
        if bot not in (bots := journal.bots()):
            raise click.UsageError(unknown_with_list("bot", bot, bots))
        return (plan_readmit if undo else plan_withdraw)(journal, seed, bot, why)

    _correct(context, "withdraw", reason, plan, dry_run)


class Corrected(NamedTuple):
    """A correction, and the change that was written; None if nothing was changed."""

    correction: "Correction"
    change: "Change | None"
    left: bool  # whether `croupier run` has something to do
    folder: str = "."

    def json(self) -> dict[str, Any]:
        """Return the correction as JSON keys."""
        return {
            "changed": self.change is not None,
            "change": self.change and self.change.json(),
            "effects": list(self.correction.effects),
            "next": "croupier run" if self.left else None,
        }

    def text(self) -> Iterator[str]:
        """Yield the correction as lines."""
        from host.base.safe_text import one_line

        yield one_line(self.change.text()) if self.change else "nothing has been changed; this would happen:"
        for effect in self.correction.effects:
            yield in_folder(f"  {effect}", self.folder)
        if self.change:
            yield f"  sealed: {self.change.seal}"
        if self.left:
            yield in_folder("  continue with:  croupier run", self.folder)


def _correct(
    context: CliContext,
    command: str,
    reason: str,
    plan: "Callable[[Journal, bytes, str], Correction]",
    dry_run: bool,
) -> None:
    """Plan a correction, make it, and print it. Raise UserError if a run is playing the tournament."""
    from host.inspect.recorded import seed_of
    from host.results.changes import checked_reason
    from host.results.journal import reading, writing
    from host.results.tournament_dir import Folder
    from host.tournament.corrections import make

    path, why = Folder(context.folder).journal, checked_reason(reason)
    with reading(path, context.registry) as journal:  # a missing journal is reported, not created
        planned = plan(journal, seed_of(journal), why)
        change, left = None, journal.metadata()["state"] != "finished"
    if not dry_run:
        with writing(path, context.registry) as journal:
            seed = seed_of(journal)
            planned = plan(journal, seed, why)
            change = make(journal, seed, planned)
            left = journal.metadata()["state"] != "finished"
    print_result(context, command, Corrected(planned, change, left, str(context.folder)))
