"""Follows a run from another process: the progress of each stage, and the sums over its finished fixtures."""

import time
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.safe_text import one_line
from host.journal.lock import lock_holder
from host.journal.reader import Journal
from host.journal.state import RunStatus, StageStatus
from host.play.records import cause_text
from host.results.course import Position, positions_of
from host.results.withdrawal import left_out
from host.tournament.progress import Progress, Tally, ranked_in_turn

POLL_INTERVAL_S = 0.2


class StageProgress(NamedTuple):
    """The progress of one stage."""

    stage: str
    kind: str
    fixtures: int
    known: int  # fixtures played and due
    state: str
    seal: str | None  # of a finished stage
    undecided: int  # fixtures that have no result


def stage_rows(journal: Journal, done: Mapping[str, int]) -> list[StageProgress]:
    """Return the progress of each stage. `done` has the number of finished fixtures, by stage."""
    run, rows = journal.state(), []
    for stage in run.stages:
        seal = journal.seal(stage.name) if stage.over else None
        status = run.status if stage.status is StageStatus.RUNNING else stage.status
        undecided = len(journal.undecided(stage.name))
        rows.append(
            StageProgress(stage.name, stage.config.kind, done.get(stage.name, 0), stage.known, status, seal, undecided)
        )
    return rows


def run_lines(journal: Journal, tally: Tally) -> Iterator[str]:
    """Yield lines about a run: the process that plays it, each stage with its seal, and the replayed fixtures."""
    run, by = journal.state(), lock_holder(journal.path)
    parts = [run.name, run.game, f"level {run.level.label}", run.workers, run.status]
    yield one_line(" · ".join(filter(None, parts))) + (f" by {by}" if by else "")
    for row in stage_rows(journal, tally.done):
        some = f"{row.fixtures} of {row.known} fixtures" if row.known else ""
        yield f"  {row.stage:<16} {row.kind:<12} {some:<24} {row.state}"
        if row.undecided:
            why = cause_text(each.why for each in journal.undecided(row.stage))
            yield f"    {counted(row.undecided, 'fixture')} undecided: {why}"
        if row.seal:
            yield f"    to publish: seal {row.seal}"
    for change in run.changes:
        yield f"  changed  {one_line(change.text())}"
    yield from tally.replay_lines()


def tally_of(journal: Journal, wanted: Container[str]) -> Tally:
    """Return a tally of the finished fixtures of the wanted stages that have begun."""
    tally, withdrawn, entered = Tally(), journal.state().withdrawn, journal.bots()
    for position in positions_of(journal):
        name = position.state.name
        if name in wanted:
            done = len(journal.stage_records(name))
            if not done and position.state.status is StageStatus.WAITING:
                continue
            progress = _progress(position, done, entered)
            early, out = progress.early_order(), left_out(position.config, withdrawn)
            if early is None:
                tally.add(progress._replace(earlier=journal.sums(name, out)))
                continue
            tally.add(progress)
            tally.early = early
            for _, record in islice(journal.records_since(name), done):  # a run may be adding more
                if out.isdisjoint(record.results):
                    tally.count(position.config, record)
    return tally


def poll_progress(journal: Journal, over: Container[str]) -> Iterator[Progress]:
    """Yield the progress of a stage for each finished fixture, until the run ends or stops. Omit stages in `over`.

    Fixtures without a result are finished too; fixtures that no longer count are left out. The first progress of each
    stage has no record. `done` counts all fixtures that were finished when the journal was read. Raise UserError if the
    journal is removed or replaced.
    """
    inode = _inode(journal.path)
    done, newest, newest_undecided = Counter[str](), Counter[str](), Counter[str]()
    seen: set[str] = set()
    running = True
    while running:
        # read first, so that the last records are still read below
        running = journal.state().status is RunStatus.RUNNING
        entered = journal.bots()
        for position in positions_of(journal):
            name, out = position.state.name, left_out(position.config, position.tournament.run.withdrawn)
            if name not in over and position.state.status is not StageStatus.WAITING:
                fresh = [*journal.records_since(name, newest[name])]
                done[name] += len(fresh)
                newest[name] = max([newest[name], *(number for number, _ in fresh)])
                undecided = journal.undecided(name)
                failed = [each for each in undecided if each.number > newest_undecided[name]]
                newest_undecided[name] = max([newest_undecided[name], *(each.number for each in failed)])
                progress = _progress(position, done[name] + len(undecided), entered)
                if name not in seen:
                    yield progress
                for record in [*(record for _, record in fresh), *(each.record for each in failed)]:
                    if out.isdisjoint(record.results):
                        yield progress._replace(record=record)
                seen.add(name)
        if running:
            time.sleep(POLL_INTERVAL_S)
        if _inode(journal.path) != inode:
            hint = "croupier status --follow"
            raise UserError(
                [Problem("R006", str(journal.path), "the journal was replaced: the run was started again", hint=hint)],
                5,
            )


def _progress(position: Position, done: int, entered: Iterable[str]) -> Progress:
    """Return the progress of a recorded stage with this number of finished fixtures."""
    bots = ranked_in_turn(position.config, entered, position.staying)
    return Progress(position.config, done, max(position.state.known, done), None, bots)


def _inode(path: Path) -> int:
    """Return the inode of a file; 0 if it does not exist."""
    return path.stat().st_ino if path.exists() else 0
