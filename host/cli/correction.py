"""What `redo` and `withdraw` share: an organiser's correction of a run is planned, made and printed."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.safe_text import one_line
from host.cli import CliContext, in_folder, print_result
from host.journal.changes import Change, checked_reason

if TYPE_CHECKING:
    from host.journal.reader import Journal
    from host.tournament.corrections import Correction

REASON = click.option(
    "--reason", required=True, metavar="TEXT", help="why; it is published with the change in all results"
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="print what would happen; change nothing")


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
        yield one_line(self.change.text()) if self.change else "nothing has been changed; this would happen:"
        for effect in self.correction.effects:
            yield in_folder(f"  {effect}", self.folder)
        if self.change:
            yield f"  sealed: {self.change.seal}"
        if self.left:
            yield in_folder("  continue with:  croupier run", self.folder)


def correct(
    context: CliContext,
    command: str,
    reason: str,
    plan: "Callable[[Journal, bytes, str], Correction]",
    dry_run: bool,
) -> None:
    """Plan a correction, make it, and print it. Raise UserError if a run is playing the tournament."""
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
    print_result(context, command, Corrected(planned, change, left, str(context.folder)))
