"""A run seen from another terminal: what is journalled is shown as it comes, until the run ends. Nothing is written."""

import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from operator import itemgetter
from pathlib import Path

import click

from host.base.errors import Problem, Refused
from host.cli import Office
from host.cli.common import print_standings, the_stage
from host.cli.progress import FRAMES, shown
from host.tournament.journal import Journal, reading
from host.tournament.stage_runner import Progress
from host.tournament.stages import STAGES
from host.tournament.tournament_dir import Folder


@click.command()
@click.pass_obj
def watch(office: Office) -> None:
    """Show a run from another terminal until it ends: live, or as plain lines in a pipe. ^C leaves the run alone.

    Exit code 5 when the run has been interrupted, as its own is.
    """
    with reading(Folder(office.folder).journal) as journal:
        the_stage(journal, None)
        leaving = "leave; the run goes on"
        with shown("json" if office.json else "auto", quiet=office.quiet, stop=leaving) as view:
            for progress in news(journal):
                view.progress(progress)
        finished = journal.facts()["state"] == "finished"
    print_standings(office, office.folder, None, interrupted=not finished, on_one_line=office.json)
    raise click.exceptions.Exit(0 if finished else 5)


def news(journal: Journal) -> Iterator[Progress]:
    """Yield the stage under way, fixture by fixture, and what comes after it, until nobody plays any more.

    Raise Refused when the journal is thrown away meanwhile.
    """
    file = _file(journal.path)
    done, newest = Counter[str](), Counter[str]()
    seen: set[str] = set()
    over = {name for name, state in states(journal.facts()) if state == "finished"}
    running = True
    while running:
        facts = journal.facts()
        running = facts["state"] == "running"  # asked first: what is journalled last is still read
        more = {stage["name"]: STAGES[stage["kind"]].places is not None for stage in json.loads(facts["stages"])}
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
            raise Refused(
                [Problem("R006", str(journal.path), "what was played is gone: the run began anew", hint=hint)], 5
            )


def states(facts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return how far each stage is, in their order: waiting, running or finished."""
    return [(stage["name"], facts.get(f"stage {stage['name']}", "waiting")) for stage in json.loads(facts["stages"])]


def _file(path: Path) -> int:
    """Return which file it is; 0 where there is none."""
    return path.stat().st_ino if path.exists() else 0
