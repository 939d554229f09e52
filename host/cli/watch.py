"""The commands `status`, which prints one frame about a run, and `watch`, which draws frames until it ends."""

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.cli import CliContext, print_json
from host.cli.common import find_stage, keep_everything, print_standings
from host.cli.progress import FRAMES_PER_S, Tally, early_order, frame, progress_view
from host.play.records import count_replays
from host.results.journal import Journal, lock_holder, reading
from host.results.state import RunState, RunStatus, StageStatus
from host.results.tournament_dir import Folder
from host.results.withdrawal import left_out
from host.stages import kind_of
from host.tournament.progress import AllMeet, Progress


@click.command()
@click.pass_obj
def status(context: CliContext) -> None:
    """Print the progress of a run: one frame of `croupier watch`."""
    keep_everything()
    with reading(Folder(context.folder).journal, context.registry) as journal:
        find_stage(journal, None)
        if context.json:
            run = journal.state()
            rows = stage_rows(journal, {stage.name: len(journal.stage_records(stage.name)) for stage in run.stages})
            replays = count_replays(record for _, record in journal.records())
            about: dict[str, Any] = {"name": run.name, "game": run.game, "state": run.status}
            about |= {"seed_sha256": run.seed_sha256, "changes": [change.json() for change in run.changes]}
            about |= {"sandbox": run.level, "workers": run.workers, "by": lock_holder(journal.path)}
            print_json("status", **about, rows=[row._asdict() for row in rows], **replays._asdict())
            return
        from host.report.console import open_console

        tally = tally_of(journal, {stage.name for stage in journal.state().stages})
        open_console().print(frame(run_lines(journal, tally), tally), crop=False)


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
    print_standings(context, Folder(context.folder).journal, None, interrupted=not finished, on_one_line=context.json)
    raise click.exceptions.Exit(0 if finished else 5)


class StageRow(NamedTuple):
    """The progress of one stage."""

    stage: str
    kind: str
    fixtures: int
    known: int  # fixtures played and due
    state: str
    seal: str | None  # of a finished stage


def stage_rows(journal: Journal, done: Mapping[str, int]) -> list[StageRow]:
    """Return the progress of each stage; `done` has the finished fixtures of each stage."""
    run, rows = journal.state(), []
    for stage in run.stages:
        seal = journal.seal(stage.name) if stage.over else None
        status = run.status if stage.status is StageStatus.RUNNING else stage.status
        rows.append(StageRow(stage.name, stage.config.kind, done.get(stage.name, 0), stage.known, status, seal))
    return rows


def run_lines(journal: Journal, tally: Tally) -> Iterator[str]:
    """Yield lines about a run: the process that plays it, each stage with its seal, and the replayed fixtures."""
    run, by = journal.state(), lock_holder(journal.path)
    parts = [run.name, run.game, f"level {run.level}", run.workers, run.status]
    yield one_line(" · ".join(filter(None, parts))) + (f" by {by}" if by else "")
    for row in stage_rows(journal, tally.done):
        some = f"{row.fixtures} of {row.known} fixtures" if row.known else ""
        yield f"  {row.stage:<16} {row.kind:<12} {some:<24} {row.state}"
        if row.seal:
            yield f"    to publish: seal {row.seal}"
    for change in run.changes:
        yield f"  changed  {one_line(change.text())}"
    yield from tally.replay_lines()


def tally_of(journal: Journal, wanted: Container[str]) -> Tally:
    """Count the finished fixtures of the wanted stages."""
    tally, run = Tally(), journal.state()
    meeting = all_meet_stages(run, journal.bots())
    for stage in run.stages:
        name, kind = stage.name, kind_of(stage.config)
        if name in wanted:
            done = len(journal.stage_records(name))
            if not done and stage.status is StageStatus.WAITING:
                continue
            known = max(stage.known, done)
            tally.add(Progress(name, done, known, None, kind.places is not None, meeting.get(name)))
            tally.early = early_order(meeting.get(name))
            out = left_out(stage.config, run.withdrawn)
            if tally.early is None and not out:
                tally.stages[name] = journal.sums(name)
                continue
            for _, record in islice(journal.records_since(name), done):  # a run may be adding more
                if out.isdisjoint(record.results):
                    tally.count(name, record)
    return tally


def poll_progress(journal: Journal, over: Container[str]) -> Iterator[Progress]:
    """Yield each finished fixture of the stages that are not over, until the run ends or stops.

    Raise UserError if the journal is removed or replaced.
    """
    inode = _inode(journal.path)
    done, newest = Counter[str](), Counter[str]()
    seen: set[str] = set()
    running = True
    while running:
        run = journal.state()
        running = run.status is RunStatus.RUNNING  # read first, so that the last records are still read below
        meeting = all_meet_stages(run, journal.bots())
        for stage in run.stages:
            name = stage.name
            if name not in over and stage.status is not StageStatus.WAITING:
                more = kind_of(stage.config).places is not None
                fresh = [*journal.records_since(name, newest[name])]
                done[name] += len(fresh)
                newest[name] = max([newest[name], *(number for number, _ in fresh)])
                known = max(stage.known, done[name])
                for record in [None] * (name not in seen) + [record for _, record in fresh]:
                    yield Progress(name, done[name], known, record, more, meeting.get(name))
                seen.add(name)
        if running:
            time.sleep(1 / FRAMES_PER_S)
        if _inode(journal.path) != inode:
            hint = "croupier watch"
            raise UserError(
                [Problem("R006", str(journal.path), "the journal was replaced: the run was started again", hint=hint)],
                5,
            )


def all_meet_stages(run: RunState, bots: Iterable[str]) -> dict[str, AllMeet]:
    """Return the stages in which every two bots meet, with their bots."""
    gone, entered = run.withdrawn, list(bots)
    return {
        stage.name: AllMeet(stage.config, [bot for bot in stage.bots(entered) if bot not in gone])
        for stage in run.stages
        if kind_of(stage.config).all_meet
    }


def _inode(path: Path) -> int:
    """Return the inode of a file; 0 if it does not exist."""
    return path.stat().st_ino if path.exists() else 0
