"""The command `status`: prints the progress of a run."""

from typing import Any

import click

from host.cli import CliContext, print_json
from host.journal.lock import lock_holder
from host.journal.reader import reading
from host.journal.tournament_dir import Folder
from host.ops.journals import find_stage
from host.play.records import count_replays
from host.report.console import open_console
from host.tournament.follow import run_lines, stage_rows, tally_of


@click.command()
@click.pass_obj
def status(context: CliContext) -> None:
    """Print the progress of a run: one frame of `croupier watch`."""
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
