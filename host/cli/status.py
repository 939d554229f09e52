"""The command `status`: prints the progress of a run, or follows it from another terminal."""

from functools import partial
from typing import Any, NoReturn

import click

from host.cli import CliContext, print_json
from host.cli.common import print_standings
from host.cli.progress import progress_view
from host.journal.lock import lock_holder
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.ops.journals import find_stage
from host.play.records import count_replays
from host.report.console import open_console
from host.tournament.follow import poll_progress, run_lines, stage_rows, tally_of


@click.command()
@click.option("--follow", is_flag=True, help="follow the run until it ends: live, or as plain lines in a pipe")
@click.pass_obj
def status(context: CliContext, follow: bool) -> None:
    """Print the progress of a run.

    With --follow, ^C does not stop the run, and the exit code is 5 if the run was interrupted.
    """
    if follow:
        _follow(context)
    with reading(Folder(context.folder).journal, context.registry) as journal:
        find_stage(journal, None)
        if context.json:
            run = journal.state()
            rows = stage_rows(journal, {stage.name: len(journal.stage_records(stage.name)) for stage in run.stages})
            replays = count_replays(record for _, record in journal.records())
            about: dict[str, Any] = {"name": run.name, "game": run.game, "state": run.status}
            about |= {
                "seed_sha256": run.seed_sha256,
                "bound": run.bound or None,
                "changes": [change.json() for change in run.changes],
            }
            about |= {"versions": [version._asdict() for version in journal.versions()]}
            about |= {"sandbox": run.level, "workers": run.workers, "by": lock_holder(journal.path)}
            print_json("status", **about, rows=[row._asdict() for row in rows], **replays._asdict())
            return
        from host.cli.live_view import frame

        tally = tally_of(journal, {stage.name for stage in journal.state().stages})
        open_console().print(frame(run_lines(journal, tally), tally), crop=False)


def _follow(context: CliContext) -> NoReturn:
    """Print the progress until the run ends, then its standings. End with exit code 0, or 5 if it was interrupted."""
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
