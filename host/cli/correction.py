"""What `redo` and `withdraw` share: an organiser's correction of a run is planned, made and printed."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from host.base.safe_text import one_line
from host.cli import CliContext, Facts, in_folder, print_result
from host.journal.changes import checked_reason

if TYPE_CHECKING:
    from host.journal.reader import Journal
    from host.tournament.corrections import Correction

REASON = click.option(
    "--reason", required=True, metavar="TEXT", help="why; it is published with the change in all results"
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="print what would happen; change nothing")


def correct(
    context: CliContext,
    command: str,
    reason: str,
    plan: "Callable[[Journal, bytes, str], Correction]",
    dry_run: bool,
) -> None:
    """Call `plan` for a correction, make the correction, and print it. With `dry_run`, print the plan and make nothing.

    Raise UserError if a run is playing the tournament.
    """
    from host.inspect.recorded import root_of
    from host.journal.reader import reading
    from host.journal.tournament_dir import Folder
    from host.journal.writer import writing
    from host.tournament.corrections import make
    from host.tournament.stage_runner import forget_answers

    folder, why = Folder(context.folder), checked_reason(reason)
    path = folder.journal
    with reading(path, context.registry) as journal:  # a missing journal is reported, not created
        planned = plan(journal, root_of(journal), why)
        change, left = None, not journal.state().finished
    if not dry_run:
        with writing(path, context.registry) as journal:
            seed = root_of(journal)
            planned = plan(journal, seed, why)
            for fixture in planned.draft.set_aside:  # a run that was killed may have left some
                forget_answers(str(folder.open), fixture)
            change = make(journal, seed, planned)
            left = not journal.state().finished
    facts = {
        "changed": change is not None,
        "change": change and change.json(),
        "effects": planned.effects,
        "next": "croupier run" if left else None,
    }
    lines = [one_line(change.text()) if change else "nothing has been changed; this would happen:"]
    lines += [in_folder(f"  {effect}", str(context.folder)) for effect in planned.effects]
    lines += [f"  sealed: {change.seal}"] if change else []
    lines += [in_folder("  continue with:  croupier run", str(context.folder))] if left else []
    print_result(context, command, Facts(facts, lines))
