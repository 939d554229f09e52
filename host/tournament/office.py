"""The organiser's office: takes a tournament folder, makes its bots ready, has its stages played, keeps the books."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import trio

from host import __version__
from host.bots.build import Bot
from host.bots.ready import ready
from host.bots.sandboxes import demand
from host.executors.processes import processes, usable_cores
from host.games import GAMES
from host.journal import Journal, writing
from host.problems import Problem, Refused
from host.record import Fixture, Setup
from host.tournament import cup as cups
from host.tournament.folder import Folder, commitment
from host.tournament.run import Progress, run_stage
from host.tournament.stages import STAGES, Field
from host.tournament.standings import standings


class Watch(Protocol):
    """Whoever shows a run while it goes on."""

    def say(self, text: str) -> None:
        """Show one line."""
        ...

    def progress(self, progress: Progress) -> None:
        """Show how far a stage is."""
        ...


class Outcome(NamedTuple):
    """How a run ended: `words` say why when it was interrupted."""

    interrupted: bool
    words: str
    level: str


async def play_cup(
    place: Path,
    watch: Watch,
    *,
    fresh: bool = False,
    last: str | None = None,
    workers: int | None = None,
    until: float | None = None,
    unsafe: bool = False,
) -> Outcome:
    """Play a tournament's stages, or what is left of them; `until` are seconds after which it stops, resumably.

    Raise Refused for whatever is wrong, before any table is played.
    """
    cup = cups.load(place)
    folder = Folder(place if place.is_dir() else place.parent)
    game = GAMES[cup.game]
    names = [stage.name for stage in cup.stages]
    if last is not None and last not in names:
        raise Refused([Problem("C017", str(place), f'has no stage "{last}"', hint=f"stages: {', '.join(names)}")], 2)
    for warning in cup.warnings:
        watch.say("WARNING  " + str(warning).removeprefix("error"))
    refuse_what_is_missing(cup)
    level = "none" if unsafe else demand(cup.level)
    if level == "none":
        watch.say(
            "WARNING  no sandbox: every bot may read, change and send whatever you may; this is recorded in the results"
        )
    with writing(folder.journal, fresh=folder.forget if fresh else None) as journal:
        specs = cup.specs(folder.path)
        if few := [problem for stage in cup.stages if (problem := cups.too_few(stage, [s.name for s in specs], {}))]:
            raise Refused([problem._replace(where=str(cup.path)) for problem in few], 3)
        bots = await ready(specs, game, cup.limits, level, lambda name: watch.say(f"ready  {name}"))
        seed = folder.seed(cup.seed)
        check_unchanged(journal, cup, bots, level)
        enter(journal, cup, bots, level, seed)
        count = workers or cup.workers or usable_cores()
        watch.say(
            f"{cup.name} · {cup.game} · {len(bots)} bots · level {level} · {count} workers · seed sha256 {commitment(seed)[:16]}…"
        )
        setup = Setup(cup.game, cup.rules, tuple(bots), seed, level, cup.abreast or 0)
        blank = Fixture(cup.game, cup.rules, "", "", (), 0)
        why = ""
        with trio.CancelScope() as scope:
            if until is not None:
                scope.deadline = trio.current_time() + until
            async with trio.open_nursery() as nursery:

                def stop(words: str) -> None:
                    nonlocal why
                    why = words
                    scope.cancel()

                await nursery.start(signals, stop)
                async with processes(setup, count, watch.say) as hands:
                    order = [bot.name for bot in bots]
                    for stage in cup.stages:
                        journal.note({f"stage {stage.name}": "running"})
                        field = Field(order, seed, cup.stop_early)
                        records = await run_stage(stage, blank, field, journal, hands, watch.progress)
                        order = [
                            row.bot
                            for row in standings(stage.kind, stage.rank_by, list(records.values()), journal.bots())
                        ]
                        if places := STAGES[stage.kind].places:
                            order = places(stage, field, records)
                        journal.note({f"stage {stage.name}": "finished", f"order {stage.name}": json.dumps(order)})
                        if stage.name == last:
                            break
                nursery.cancel_scope.cancel()
        if scope.cancelled_caught:
            journal.note({"state": "interrupted"})
            return Outcome(True, why or "its time is up", level)
        finished = last is None or last == names[-1]
        journal.note({"state": "finished" if finished else "interrupted"})
    if finished:
        folder.reveal()
    return Outcome(False, "", level)


def refuse_what_is_missing(cup: cups.Cup) -> None:
    """Raise Refused for settings that this version reads but does not carry out: silence would be a wrong result."""
    asked = [
        ("cluster", bool(cup.cluster), "leave it out: the workers of this machine play"),
    ]
    problems = [
        Problem("C020", str(cup.path), f"{what} is not carried out by this version", hint=hint)
        for what, is_asked, hint in asked
        if is_asked
    ]
    if problems:
        raise Refused(problems, 3)


async def signals(stop: Callable[[str], None], task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
    """Stop in good order at the first ^C or SIGTERM, at once at the second: the journal is whole either way."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        count = 0
        async for number in received:
            count += 1
            if count > 1:
                os._exit(130)
            stop(f"{signal.Signals(number).name}; the fixtures in flight are dropped")


def check_unchanged(journal: Journal, cup: cups.Cup, bots: list[Bot], level: str) -> None:
    """Raise Refused when what has been played was played under another config, by other bots, or less protected."""
    facts, before = journal.facts(), journal.bots()
    if "config" not in facts or not journal.paths():
        return
    where = str(cup.path)
    anew = "`croupier run --fresh` starts anew; put it back to go on"
    problems = []
    if changed := cups.difference(json.loads(facts["config"]), cups.canonical(cup)):
        problems.append(Problem("R001", where, f"changed since this run began ({changed})", hint=anew))
    now = {bot.name: bot.sha256 for bot in bots}
    for name in before.keys() & now.keys():
        if before[name]["sha256"] != now[name]:
            old, new = before[name]["sha256"][:8], now[name][:8]
            told = f"changed since this run began (sha256 {old}… → {new}…): its results would mix two bots"
            problems.append(Problem("R002", name, told, hint="add it under a new name, or croupier run --fresh"))
    if before.keys() != now.keys():
        came, left = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
        told = "; ".join(f"{', '.join(names)} {verb}" for names, verb in ((came, "came"), (left, "left")) if names)
        problems.append(Problem("R004", where, f"the field has changed since this run began: {told}", hint=anew))
    if facts["level"] != level:
        told = f"this run began at level {facts['level']}, and would go on at {level}"
        problems.append(Problem("R007", where, told, hint=anew))
    if problems:
        raise Refused(problems, 3)


def enter(journal: Journal, cup: cups.Cup, bots: list[Bot], level: str, seed: bytes) -> None:
    """Write down what the run is, and who plays."""
    stages = [{"name": stage.name, "kind": stage.kind, "rank_by": list(stage.rank_by)} for stage in cup.stages]
    journal.note(
        {
            "game": cup.game,
            "name": cup.name,
            "level": level,
            "state": "running",
            "seed_sha256": commitment(seed),
            "config": json.dumps(cups.canonical(cup)),
            "stages": json.dumps(stages),
            "version": __version__,
            "began": journal.facts().get("began", str(time.time())),
        }
    )
    for bot in bots:
        about = {"author": bot.author, "protocol": bot.protocol, "limits": bot.limits._asdict()}
        journal.enter(bot.name, bot.sha256, bot.language, about)
