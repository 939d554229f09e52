"""The command `watch`: follows a run from another terminal until it ends."""

from functools import partial

import click

from host.cli import CliContext
from host.cli.common import print_standings
from host.cli.progress import progress_view
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.ops.journals import find_stage
from host.tournament.follow import poll_progress, run_lines, tally_of


@click.command()
@click.pass_obj
def watch(context: CliContext) -> None:
    """Follow a run from another terminal until it ends: live, or as plain lines in a pipe. ^C does not stop the run.

    The exit code is 5 if the run was interrupted.
    """
    with reading(Folder(context.folder).journal, context.registry) as journal:
        find_stage(journal, None)
        how = "json" if context.json else "auto"
        over = frozenset(stage.name for stage in journal.state().stages if stage.over)
        tally = tally_of(journal, over)
        lines = partial(run_lines, journal)
        with progress_view(how, quiet=context.quiet, stop="leave; the run goes on", head=lines, tally=tally) as view:
            for progress in poll_progress(journal, over):
                view.progress(progress)
        finished = journal.state().finished
    print_standings(context, Folder(context.folder).journal, interrupted=not finished, on_one_line=context.json)
    raise click.exceptions.Exit(0 if finished else 5)
