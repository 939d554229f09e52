"""The commands `status`, which prints one frame about a run, and `watch`, which draws frames until it ends."""

import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping
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
from host.results.tournament_dir import Folder
from host.results.withdrawal import left_out, withdrawn_now
from host.stages import field_of, kind_of, stages_of
from host.tournament.progress import AllMeet, Progress


@click.command()
@click.pass_obj
def status(context: CliContext) -> None:
    """Print the progress of a run: one frame of `croupier watch`."""
    keep_everything()
    with reading(Folder(context.folder).journal, context.registry) as journal:
        find_stage(journal, None)
        if context.json:
            facts = journal.metadata()
            rows = stage_rows(journal, {name: len(journal.stage_records(name)) for name, _ in states(facts)})
            replays = count_replays(record for _, record in journal.records())
            about: dict[str, Any] = {key: facts[key] for key in ("name", "game", "state", "seed_sha256")}
            about |= {"changes": [change.json() for change in journal.changes()]}
            about |= {"sandbox": facts["level"], "workers": facts.get("workers", ""), "by": lock_holder(journal.path)}
            print_json("status", **about, rows=[row._asdict() for row in rows], **replays._asdict())
            return
        from host.report.console import open_console

        tally = tally_of(journal, {name for name, _ in states(journal.metadata())})
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
        over = frozenset(name for name, state in states(journal.metadata()) if state == "finished")
        tally = tally_of(journal, over)
        lines = partial(run_lines, journal)
        with progress_view(how, quiet=context.quiet, stop="leave; the run goes on", head=lines, tally=tally) as view:
            for progress in poll_progress(journal, over):
                view.progress(progress)
        finished = journal.metadata()["state"] == "finished"
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
    facts = journal.metadata()
    rows = []
    for stage in stages_of(facts):
        name = stage.name
        state = facts.get(f"stage {name}", "waiting")
        seal = journal.seal(name) if state == "finished" else None
        known = int(facts.get(f"known {name}", 0))
        stage_state = state.replace("running", facts["state"])
        rows.append(StageRow(name, stage.kind, done.get(name, 0), known, stage_state, seal))
    return rows


def run_lines(journal: Journal, tally: Tally) -> Iterator[str]:
    """Yield lines about a run: the process that plays it, each stage with its seal, and the replayed fixtures."""
    facts, by = journal.metadata(), lock_holder(journal.path)
    parts = [facts["name"], facts["game"], f"level {facts['level']}", facts.get("workers", ""), facts["state"]]
    yield one_line(" · ".join(filter(None, parts))) + (f" by {by}" if by else "")
    for row in stage_rows(journal, tally.done):
        some = f"{row.fixtures} of {row.known} fixtures" if row.known else ""
        yield f"  {row.stage:<16} {row.kind:<12} {some:<24} {row.state}"
        if row.seal:
            yield f"    to publish: seal {row.seal}"
    for change in journal.changes():
        yield f"  changed  {one_line(change.text())}"
    yield from tally.replay_lines()


def tally_of(journal: Journal, wanted: Container[str]) -> Tally:
    """Count the finished fixtures of the wanted stages."""
    tally, facts = Tally(), journal.metadata()
    meeting = all_meet_stages(journal, facts)
    stages = {stage.name: stage for stage in stages_of(facts)}
    for name, state in states(facts):
        if name in wanted:
            done = len(journal.stage_records(name))
            if not done and state == "waiting":
                continue
            known = max(int(facts.get(f"known {name}", 0)), done)
            more = kind_of(stages[name]).places is not None
            tally.add(Progress(name, done, known, None, more, meeting.get(name)))
            tally.early = early_order(meeting.get(name))
            out = left_out(stages[name], withdrawn_now(facts))
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
        facts = journal.metadata()
        running = facts["state"] == "running"  # read first, so that the last records are still read below
        more = {stage.name: kind_of(stage).places is not None for stage in stages_of(facts)}
        meeting = all_meet_stages(journal, facts)
        for name, state in states(facts):
            if name not in over and state != "waiting":
                fresh = [*journal.records_since(name, newest[name])]
                done[name] += len(fresh)
                newest[name] = max([newest[name], *(number for number, _ in fresh)])
                known = max(int(facts.get(f"known {name}", 0)), done[name])
                for record in [None] * (name not in seen) + [record for _, record in fresh]:
                    yield Progress(name, done[name], known, record, more[name], meeting.get(name))
                seen.add(name)
        if running:
            time.sleep(1 / FRAMES_PER_S)
        if _inode(journal.path) != inode:
            hint = "croupier watch"
            raise UserError(
                [Problem("R006", str(journal.path), "the journal was replaced: the run was started again", hint=hint)],
                5,
            )


def all_meet_stages(journal: Journal, facts: Mapping[str, str]) -> dict[str, AllMeet]:
    """Return the stages in which every two bots meet, with their bots."""
    bots = journal.bots()
    stages = [stage for stage in stages_of(facts) if kind_of(stage).all_meet]
    gone = withdrawn_now(facts)
    fields = {stage.name: field_of(stage, facts, bots) for stage in stages}
    return {stage.name: AllMeet(stage, [bot for bot in fields[stage.name] if bot not in gone]) for stage in stages}


def states(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the name and state of each stage in order: waiting, running or finished."""
    return [(stage.name, facts.get(f"stage {stage.name}", "waiting")) for stage in stages_of(facts)]


def _inode(path: Path) -> int:
    """Return the inode of a file; 0 if it does not exist."""
    return path.stat().st_ino if path.exists() else 0
