"""A run seen from another terminal: `status` prints one frame, `watch` draws frames until the run ends. Both only read."""

import time
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.cli import CliContext, print_json
from host.cli.common import print_standings, the_stage
from host.cli.progress import FRAMES, Tally, frame, progress_view
from host.play.records import count_replays
from host.tournament.journal import Journal, lock_holder, reading
from host.tournament.stage_runner import Progress
from host.tournament.stages import kind_of, stages_of
from host.tournament.tournament_dir import Folder


@click.command()
@click.pass_obj
def status(context: CliContext) -> None:
    """Print how far a run is: one frame of what `watch` draws. It only reads."""
    with reading(Folder(context.folder).journal) as journal:
        the_stage(journal, None)
        if context.json:
            facts = journal.metadata()
            rows = stage_rows(journal, {name: len(journal.paths(name)) for name, _ in states(facts)})
            twice = count_replays(record for _, record in journal.records())
            about = {key: facts[key] for key in ("name", "game", "state", "seed_sha256")}
            about |= {"sandbox": facts["level"], "by": lock_holder(journal.path)}
            print_json("status", **about, rows=[row._asdict() for row in rows], **twice._asdict())
            return
        from rich.console import Console

        tally = tally_of(journal, {name for name, _ in states(journal.metadata())})
        Console(highlight=False).print(frame(run_lines(journal, tally), tally), crop=False)


@click.command()
@click.pass_obj
def watch(context: CliContext) -> None:
    """Show a run from another terminal until it ends: live, or as plain lines in a pipe. ^C leaves the run alone.

    Exit code 5 when the run has been interrupted, as its own is.
    """
    with reading(Folder(context.folder).journal) as journal:
        the_stage(journal, None)
        how = "json" if context.json else "auto"
        over = frozenset(name for name, state in states(journal.metadata()) if state == "finished")
        tally = tally_of(journal, over)
        lines = partial(run_lines, journal)
        with progress_view(how, quiet=context.quiet, stop="leave; the run goes on", head=lines, tally=tally) as view:
            for progress in poll_progress(journal, over):
                view.progress(progress)
        finished = journal.metadata()["state"] == "finished"
    print_standings(context, context.folder, None, interrupted=not finished, on_one_line=context.json)
    raise click.exceptions.Exit(0 if finished else 5)


class StageRow(NamedTuple):
    """How far one stage is."""

    stage: str
    kind: str
    fixtures: int
    known: int  # fixtures played and due
    state: str
    seal: str | None  # of a finished stage


def stage_rows(journal: Journal, done: Mapping[str, int]) -> list[StageRow]:
    """Return how far each stage is; `done` counts the finished fixtures by stage."""
    facts = journal.metadata()
    rows = []
    for stage in stages_of(facts):
        name = stage.name
        state = facts.get(f"stage {name}", "waiting")
        seal = journal.seal(name) if state == "finished" else None
        known = int(facts.get(f"known {name}", 0))
        shown_state = state.replace("running", facts["state"])
        rows.append(StageRow(name, stage.kind, done.get(name, 0), known, shown_state, seal))
    return rows


def run_lines(journal: Journal, tally: Tally) -> Iterator[str]:
    """Yield the lines about a whole run: where it is played, each stage with its seal, and what was played again."""
    facts, by = journal.metadata(), lock_holder(journal.path)
    yield one_line(" · ".join([facts["name"], facts["game"], f"level {facts['level']}", facts["state"]])) + (
        f" by {by}" if by else ""
    )
    for row in stage_rows(journal, tally.done):
        some = f"{row.fixtures} of {row.known} fixtures" if row.known else ""
        yield f"  {row.stage:<16} {row.kind:<12} {some:<24} {row.state}"
        if row.seal:
            yield f"    to publish: seal {row.seal}"
    if tally.replayed:
        times = f"{tally.replayed} times, {len(tally.stalls)} of them because the machine stalled"
        yield f"  played again, for no fault of a bot: {times}"
        for stall in tally.stalls[-3:]:
            yield f"    {one_line(stall)}"


def tally_of(journal: Journal, wanted: Container[str]) -> Tally:
    """Count the finished fixtures of the stages that are wanted."""
    tally, facts = Tally(), journal.metadata()
    for name, state in states(facts):
        if name in wanted:
            records = [record for _, record in sorted(journal.records(name), key=itemgetter(0))]
            if not records and state == "waiting":
                continue
            known = max(int(facts.get(f"known {name}", 0)), len(records))
            for done, record in enumerate([None, *records]):
                tally.add(Progress(name, done, known, record))
    return tally


def poll_progress(journal: Journal, over: Container[str]) -> Iterator[Progress]:
    """Yield each finished fixture of all stages but those that are over, until the run ends or stops.

    Raise Refused when the journal is removed or replaced in the meantime.
    """
    file = _file(journal.path)
    done, newest = Counter[str](), Counter[str]()
    seen: set[str] = set()
    running = True
    while running:
        facts = journal.metadata()
        running = facts["state"] == "running"  # asked first: what is journalled last is still read
        more = {stage.name: kind_of(stage).places is not None for stage in stages_of(facts)}
        for name, state in states(facts):
            if name not in over and state != "waiting":
                fresh = sorted(journal.records(name, newest[name]), key=itemgetter(0))
                done[name] += len(fresh)
                newest[name] = max([newest[name], *(number for number, _ in fresh)])
                known = max(int(facts.get(f"known {name}", 0)), done[name])
                for record in [None] * (name not in seen) + [record for _, record in fresh]:
                    yield Progress(name, done[name], known, record, more[name])
                seen.add(name)
        if running:
            time.sleep(1 / FRAMES)
        if _file(journal.path) != file:
            hint = "croupier watch"
            raise UserError(
                [Problem("R006", str(journal.path), "what was played is gone: the run began anew", hint=hint)], 5
            )


def states(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return how far each stage is, in their order: waiting, running or finished."""
    return [(stage.name, facts.get(f"stage {stage.name}", "waiting")) for stage in stages_of(facts)]


def _file(path: Path) -> int:
    """Return which file it is; 0 where there is none."""
    return path.stat().st_ino if path.exists() else 0
