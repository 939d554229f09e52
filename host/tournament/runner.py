"""Runs a tournament: prepares its bots, plays its stages, and writes its journal."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import trio

from host import __version__
from host.base import paths
from host.base.config_file import display_path
from host.base.errors import Problem, UserError
from host.base.format import counted, day
from host.base.safe_text import one_line
from host.bots.bot_spec import BuiltBot, Submission
from host.config.difference import canonical, difference
from host.config.tournament_config import Tournament, load, no_bots, not_enough_bots, skipped_stages
from host.games.luck import digest_of
from host.journal.journal import Journal, in_use, lock_holder, reading, writing
from host.journal.late_bots import LateBots
from host.journal.state import RecordedBot, RunState, RunStatus, StageStatus
from host.journal.tournament_dir import Folder, commitment
from host.play.jobs import WorkerSetup
from host.play.records import Fixture
from host.results.bot_logs import Logs
from host.results.course import Played, course
from host.results.disqualification import excess, rule
from host.results.undecided import write_bundle
from host.rules.catalogue import game_by_name
from host.sandbox.detect import require_clock, require_level
from host.sandbox.levels import UNPROTECTED, Level
from host.stages import references_of
from host.stages.kind import SkippedStage
from host.submissions.empty_start import slow_starts
from host.tournament.additions import (
    Additions,
    late_problems,
    more_problems,
    raised_keys,
    record_additions,
    with_raised,
)
from host.tournament.corrections import may_be_tried_again, try_again
from host.tournament.fixture_size import fewest_tables
from host.tournament.progress import Progress
from host.tournament.stage_runner import Backend, BackendFactory, WorkerPool, run_stage

NO_SANDBOX = (
    "WARNING  no sandbox: every bot can read, change and send everything that you can; this is recorded in the results"
)
BEGIN_AGAIN = "restore it to continue, or start again with  croupier run --fresh"
WONDER = 1.0  # seconds; a preparation that takes longer is reported


class Observer(Protocol):
    """Displays a run while it is played."""

    def say(self, text: str) -> None:
        """Show one line."""
        ...

    def progress(self, progress: Progress) -> None:
        """Show how far a stage is."""
        ...


class LoggingObserver(NamedTuple):
    """Passes everything to another observer, logs the stderr output of the bots, and warns about bots that are late."""

    watch: Observer
    logs: Logs
    late: LateBots
    undecided: Callable[[str], str]  # keeps the bundle of a fixture without a result, and returns its path

    def say(self, text: str) -> None:
        """Show one line."""
        self.watch.say(text)

    def progress(self, progress: Progress) -> None:
        """Show how far a stage is."""
        if progress.record is not None and progress.record.undecided is not None:
            why = progress.record.undecided
            where = f"{why.where}: " if why.where else ""
            at = f" at table {why.table}" if why.table else ""
            after = f", after an answer of {' and '.join(why.given_by)}" if why.given_by else ""
            self.say(
                f"WARNING  {one_line(progress.record.path)} is undecided: {where}the game failed{one_line(at + after)}: "
                f"{one_line(why.reason)}; no bot is charged, and the rest is played; kept as "
                f"{self.undecided(progress.record.path)}"
            )
        elif progress.record is not None:
            self.logs.heard(progress.record)
            self.late.add(progress.stage, progress.record)
            for sentence in self.late.new_warnings():
                self.say(f"WARNING  {sentence}")
        self.watch.progress(progress)


class RunOutcome(NamedTuple):
    """How a run ended; `reason` says why if it was interrupted.

    `undecided` is the number of fixtures without a result, and `again` the number of those that the next run tries again.
    """

    interrupted: bool
    reason: str
    undecided: int = 0
    again: int = 0


async def run_tournament(
    place: Path,
    watch: Observer,
    open_backend: BackendFactory,
    *,
    cluster: str = "",
    fresh: bool = False,
    last: str | None = None,
    workers: int = 0,
    until: float | None = None,
    unsafe: bool = False,
    reason: str = "",
) -> RunOutcome:
    """Play the stages of a tournament, or what is left of them. After `until` seconds it stops and can be resumed.

    `reason` is recorded with late bots and more tables, if the run began without them.

    `cluster` is the address of a Dask scheduler; it overrides the one in the config. `last` names the last stage to play.
    Raise UserError for any problem, before any table is played.
    """
    loaded, missing = load_checked(place, watch.say, last=last), Missing()
    terms = PlayTerms(fresh=fresh, last=last, workers=workers, unsafe=unsafe, reason=reason)
    async with (
        interruptible(watch.say) as stop,
        open_backend(cluster or loaded.tournament.run.cluster, watch.say) as backend,
    ):

        def begin() -> None:
            if until is not None:
                stop.scope.deadline = trio.current_time() + until

        missing = await play_tournament(loaded, watch, backend, terms, begin)
    stopped = stop.scope.cancelled_caught
    return RunOutcome(stopped, stop.reason if stopped else "", missing.undecided, missing.again)


def _try_again(journal: Journal, root: bytes, say: Callable[[str], None]) -> None:
    """Let undecided fixtures be played again, as far as nothing depends on them."""
    if tried := try_again(journal, root):
        journal.set_status(RunStatus.RUNNING)
        say(f"trying {counted(len(tried), 'undecided fixture')} again")


def keep_bundle(journal: Journal, folder: Folder, root: bytes, path: str) -> str:
    """Write the bundle of an undecided fixture. Return where it is, or why it could not be written."""
    undecided = next(each for each in journal.undecided() if each.path == path)
    try:
        return display_path(write_bundle(folder.undecided, undecided, root))
    except OSError as failed:
        return f"nothing, because {folder.undecided} cannot be written: {failed.strerror}"


class Missing(NamedTuple):
    """The number of fixtures without a result, and of those that the next run can try again."""

    undecided: int = 0
    again: int = 0


class PlayTerms(NamedTuple):
    """How a tournament is played: what `run_tournament` is given."""

    fresh: bool = False
    last: str | None = None
    workers: int = 0
    unsafe: bool = False
    reason: str = ""


async def play_tournament(
    loaded: "Loaded",
    watch: Observer,
    backend: Backend,
    terms: PlayTerms,
    begin: Callable[[], None] = lambda: None,
) -> Missing:
    """Play what is left of a loaded tournament on an open backend. Call `begin` before the first table.

    Return how many fixtures have no result because the game failed. A caller that cancels it loses only the fixtures in
    flight. Raise UserError for any problem, before any table is played.
    """
    tournament, folder, submissions = loaded
    level = await choose_level(backend, tournament, folder, watch.say, fresh=terms.fresh, unsafe=terms.unsafe)
    logs = Logs(folder.run, watch.say)
    try:
        bots = await backend.ready(
            submissions,
            game_by_name(tournament.game),
            tournament.limits,
            level,
            slow_preparation_reporter(watch.say),
        )
    except UserError as refused:
        raise logs.refused(refused) from refused
    if slow := slow_starts(bots, level):
        watch.say(f"WARNING  {slow} (docs/planning.md)")
    if terms.fresh and folder.journal.exists() and folder.commitment_file.exists():
        watch.say("WARNING  --fresh deletes the committed seed too: publish the hash of the new one")
    with writing(folder.journal, tournament.registry, fresh=folder.reset if terms.fresh else None) as journal:
        before = len(journal.changes())
        seed = open_run(journal, folder, tournament, bots, level, terms.reason)
        for change in journal.changes(before):
            watch.say(change.sentence)
        logs.built(bots)
        _try_again(journal, seed, watch.say)
        setup = tournament.setup(bots, seed, level)
        async with backend.executor(setup, watch.say, terms.workers or tournament.run.workers) as pool:
            journal.set_state(replace(journal.state(), workers=pool.description))
            watch.say(
                f"{tournament.name} · {tournament.game} · {counted(len(bots), 'bot')} · "
                f"level {level.label} · {pool.description} · seed sha256 {commitment(seed)[:16]}…"
            )
            if tournament.max_faults:
                watch.say(rule(tournament.max_faults))
            begin()
            bundles = partial(keep_bundle, journal, folder, seed)
            observer = LoggingObserver(watch, logs, LateBots(), bundles)
            await play_stages(tournament, terms.last, setup, journal, pool, observer)
        finished = all(found.over or found.status is StageStatus.SKIPPED for found in journal.state().stages)
        journal.set_status(RunStatus.FINISHED if finished else RunStatus.INTERRUPTED)
        missing = Missing(len(journal.undecided()), len(may_be_tried_again(journal, seed)))
    if finished:
        folder.reveal()
    return missing


class Loaded(NamedTuple):
    """A tournament that passed every check that is possible without building a bot."""

    tournament: Tournament
    folder: Folder
    submissions: list[Submission]


def load_checked(place: Path, say: Callable[[str], None], *, last: str | None = None) -> Loaded:
    """Load and check the tournament of a folder. Raise UserError for any problem that prevents the run."""
    loaded = load_playable(place, say)
    tournament, folder, _ = loaded
    names = [stage.name for stage in tournament.stages]
    if last is not None and last not in names:
        raise UserError([Problem("C017", str(place), f'has no stage "{last}"', hint=f"stages: {', '.join(names)}")], 2)
    if holds := lock_holder(folder.journal):
        raise UserError([in_use(folder.run, holds)], 5)
    return loaded


def load_playable(place: Path, say: Callable[[str], None]) -> Loaded:
    """Load the tournament of a folder. Raise UserError if its config, its bots or its seed prevent any run."""
    tournament = load(place)
    folder = Folder(place if place.is_dir() else place.parent)
    for warning in tournament.warnings:
        say("WARNING  " + str(warning).removeprefix("error"))
    submissions = tournament.submissions(folder.path)
    if not submissions:
        raise UserError([no_bots(tournament)], 3)
    entered = [submission.name for submission in submissions if submission.name not in tournament.guests]
    if few := not_enough_bots(tournament.stages[0], entered, game_by_name(tournament.game).seats[0]):
        raise UserError([few._replace(where=str(tournament.path))], 3)
    _refuse_learning_references(tournament, submissions)
    _refuse_other_seed(tournament, folder)
    for skipped in skipped_stages(tournament, len(entered)):
        say(f"WARNING  {skipped}")
    return Loaded(tournament, folder, submissions)


def check_playable(place: Path, say: Callable[[str], None]) -> Loaded:
    """Load and check a tournament as `load_playable` does, and check its machine and what has been played of it.

    Raise UserError for whatever a run would refuse before it builds a bot.
    """
    loaded = load_playable(place, say)
    tournament, folder, _ = loaded
    if not tournament.run.cluster:
        wanted = tournament.level
        require_clock(tournament.limits.clock, require_level(wanted) if wanted.traits.isolates else wanted)
    if folder.journal.exists() and folder.journal.stat().st_size:
        with reading(folder.journal, tournament.registry) as journal:
            late = {submission.name for submission in loaded.submissions} - journal.bots().keys()
            if problems := changed_config(journal, tournament) + late_problems(tournament, journal, late):
                raise UserError(problems, 3)
    return loaded


def changed_config(journal: Journal, tournament: Tournament) -> list[Problem]:
    """Return the problems of a config that differs from the one with which the run began; none if nothing is played.

    A stage may have more tables than before, if its kind and the stages after it can take that.
    """
    if not journal.begun:
        return []
    old, new = journal.state().config, canonical(tournament)
    raised = raised_keys(old, tournament.stages)
    if changed := difference(with_raised(old, raised), new):
        message = f"changed since this run began ({changed})"
        return [Problem("R001", str(tournament.path), message, hint=BEGIN_AGAIN)]
    return more_problems(tournament, journal, raised)


def _refuse_learning_references(tournament: Tournament, submissions: Sequence[Submission]) -> None:
    """Raise UserError if a reference keeps a state file in a stage: what a bot achieves would depend on the bots before."""
    references = {name for stage in tournament.stages for name in references_of(stage)}
    problems = [
        Problem("C013", submission.manifest, message, hint='state_lifetime = "fixture", or another reference')
        for submission in submissions
        if submission.name in references and submission.spec.state_lifetime == "stage"
        for message in [f"{submission.name} is a reference and keeps its state file from one bot to the next"]
    ]
    if problems:
        raise UserError(problems, 3)


def _refuse_other_seed(tournament: Tournament, folder: Folder) -> None:
    """Raise UserError if the config has a seed of its own, and another seed has been committed to."""
    if tournament.seed != "random" and (promised := folder.committed()):
        message = f'seed = "{tournament.seed}" is not the seed that was committed to on {day(promised.at)}'
        hint = 'seed = "random" plays with the committed seed, which is in run/seed'
        raise UserError([Problem("R010", str(tournament.path), message, hint=hint)], 3)


async def choose_level(
    backend: Backend,
    tournament: Tournament,
    folder: Folder,
    say: Callable[[str], None],
    *,
    fresh: bool = False,
    unsafe: bool = False,
) -> Level:
    """Return the level to play at: the level at which the run began if it is still possible, otherwise the backend's level.

    Raise UserError (exit code 6) if the backend cannot provide the level that the config demands.
    """
    wanted = UNPROTECTED if unsafe else tournament.level
    here = await backend.demand(wanted)
    if not wanted.traits.isolates:
        say(NO_SANDBOX)
        return wanted
    return _as_it_began(tournament, folder, here, fresh=fresh)


def _as_it_began(tournament: Tournament, folder: Folder, here: Level, *, fresh: bool) -> Level:
    """Return the level at which a run began if it is strong enough and still possible, otherwise the level `here`."""
    if fresh or not folder.journal.exists() or not folder.journal.stat().st_size:
        return here
    with reading(folder.journal, tournament.registry) as journal:
        deque(journal.records(), 0)  # read all records, so that damage is found before anything is played or written
        began = journal.state().level if journal.begun else here
    return began if tournament.level <= began <= here else here


async def play_stages(
    tournament: Tournament,
    last: str | None,
    setup: WorkerSetup,
    journal: Journal,
    pool: WorkerPool,
    watch: Observer,
) -> None:
    """Play what is left of the stages, up to stage `last`. Each stage gets its bots in the order of the previous one."""
    blank = Fixture(tournament.game, tournament.rules, "", "", (), 0)
    entered = [bot.name for bot in setup.bots if bot.name not in tournament.guests]
    played = Played(journal.stage_records, journal.sizes)
    for number, stage in enumerate(tournament.stages):
        state = journal.state()
        position = course(state, journal.bots(), setup.seed, played, entered)[number]
        if position.skipped:
            journal.set_stage(stage.name, StageStatus.SKIPPED, field=position.bots)
            watch.say(f"WARNING  {SkippedStage(stage, len(position.bots))}")
        else:
            begins = None if state.stage(stage.name).over else StageStatus.RUNNING
            journal.set_stage(stage.name, begins, field=position.bots)
            before = journal.seal(stage.name)
            await run_stage(position.config, blank, position.field, journal, pool, watch.progress)
            journal.set_stage(stage.name, StageStatus.FINISHED, places=position.outcome.places)
            if (seal := journal.seal(stage.name)) != before:
                watch.say(f"{stage.name} is over; publish its seal: {seal}")
                for bot, faults in position.disqualified.items():
                    why = excess(faults, tournament.max_faults)
                    watch.say(f"WARNING  {bot} is disqualified in {stage.name}: {why}")
        if stage.name == last:
            return


def slow_preparation_reporter(say: Callable[[str], None]) -> Callable[[str, float], None]:
    """Return a function that reports a bot whose preparation took longer than WONDER."""
    return lambda name, took: say(f"ready  {name}  {took:.1f} s") if took > WONDER else None


def open_run(
    journal: Journal, folder: Folder, tournament: Tournament, bots: list[BuiltBot], level: Level, reason: str = ""
) -> bytes:
    """Write what a run knows of itself and its bots, or check that only additions have changed it. Return the seed."""
    added = check_unchanged(journal, tournament, bots, level)
    if tournament.seed == "random" and not journal.begun:
        folder.create_seed()
    seed = folder.seed(tournament.seed)
    promised = folder.committed() if tournament.seed == "random" else None
    other = journal.begun and journal.state().seed_sha256 != commitment(seed)
    broken = "that this run began with" if other else ""
    if promised and promised.sha256 != commitment(seed):
        broken = "that was committed to"
    if broken:
        hint = "restore the old one, or start again with  croupier run --fresh"
        raise UserError([Problem("R010", str(folder.seed_file), f"is not the seed {broken}", hint=hint)], 3)
    record_additions(journal, added, reason, revealed=bool(added.late) and folder.revealed(journal))
    began = journal.state()
    committed = began.committed if journal.begun else promised.at if promised else None
    bound = began.bound if journal.begun else entered_digest(tournament, bots)
    known = replace(began, level=level, seed_sha256=commitment(seed), committed=committed, bound=bound)
    record_run(journal, known, tournament, bots)
    return known.root(seed)


def entered_digest(tournament: Tournament, bots: Sequence[BuiltBot]) -> str:
    """Return the digest of the entered bots in hexadecimal if the seed is bound to them, otherwise ""."""
    entered = (bytes.fromhex(bot.sha256) for bot in bots if bot.name not in tournament.guests)
    return digest_of(entered).hex() if tournament.bind_seed else ""


class Stop:
    """The cancel scope that stops a run in good order, and the reason for it."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.reason = "its time is up"


@asynccontextmanager
async def interruptible(say: Callable[[str], None]) -> AsyncIterator[Stop]:
    """Run a block that ^C, SIGTERM or a deadline can stop: finished fixtures are saved, those in flight are dropped.

    A UserError leaves the block as it was raised, without an exception group. Outside the main thread no signal arrives:
    then the caller cancels the block.
    """
    stop = Stop()
    refused: UserError | None = None
    try:
        with stop.scope:
            async with trio.open_nursery() as nursery:
                if threading.current_thread() is threading.main_thread():
                    await nursery.start(signals, stop, say)
                yield stop
                nursery.cancel_scope.cancel()
    except* UserError as wrapped:
        refused = next(leaves(wrapped))
    if refused is not None:
        raise refused


def leaves(group: BaseExceptionGroup[UserError]) -> Iterator[UserError]:
    """Yield the exceptions inside nested groups."""
    for inner in group.exceptions:
        if isinstance(inner, BaseExceptionGroup):
            yield from leaves(inner)
        else:
            yield inner


async def signals(stop: Stop, say: Callable[[str], None], task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
    """Stop in good order at the first ^C or SIGTERM, at once at the second. The journal stays intact in both cases."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        count = 0
        async for number in received:
            count += 1
            if count > 1:
                os._exit(130)
            stop.reason = "^C" if number == signal.SIGINT else signal.Signals(number).name
            say(f"{stop.reason}  dropping the unfinished fixtures; finished ones are saved")
            stop.scope.cancel()


def check_unchanged(journal: Journal, tournament: Tournament, bots: Sequence[BuiltBot], level: Level) -> Additions:
    """Return what has been added since the run began.

    Raise UserError if the run cannot take it, or if it began with another config, with other bots, or at another level.
    """
    if not journal.begun:
        return Additions()
    state, before = journal.state(), journal.bots()
    where = str(tournament.path)
    problems = changed_config(journal, tournament)
    now = {bot.name: bot.sha256 for bot in bots}
    for name in before.keys() & now.keys():
        if before[name].sha256 != now[name]:
            old, new = before[name].sha256[:8], now[name][:8]
            message = f"changed since this run began (sha256 {old}… → {new}…); the results would mix two bots"
            hint = f"restore it, or add it under a new name, or  croupier add FILE --replace {name} --reason …"
            problems.append(Problem("R002", name, message, hint=hint))
    if left := sorted(before.keys() - now.keys()):
        message = f"the list of bots has changed since this run began: {', '.join(left)} removed"
        problems.append(Problem("R004", where, message, hint=BEGIN_AGAIN))
    late = [bot for bot in bots if bot.name not in before]
    problems += late_problems(tournament, journal, [bot.name for bot in late])
    if state.level != level:
        message = f"this run began at level {state.level.label}, but the level is now {level.label}"
        unsafe = "croupier run --unsafe continues it, or start again with  croupier run --fresh"
        hint = BEGIN_AGAIN if state.level.traits.isolates else unsafe
        problems.append(Problem("R007", where, message, hint=hint))
    if problems:
        raise UserError(problems, 3)
    return Additions(late, raised_keys(state.config, tournament.stages))


def with_terms(known: RunState, tournament: Tournament, bots: Sequence[BuiltBot] = ()) -> RunState:
    """Return what a run knows of itself, with the terms of a tournament.

    `bots` are those with which it begins. What is known of its stages counts if a fixture has been played.
    """
    terms = replace(
        known,
        game=tournament.game,
        name=tournament.name,
        config=canonical(tournament),
        guests=sorted(tournament.guests),
        parallel_tables=tournament.run.parallel_tables,
    )
    known, number = terms.with_stages(*tournament.stages), fewest_tables(game_by_name(tournament.game), bots, 2)
    return known.with_stages(*(stage.with_fixture_tables(number) for stage in known.configs))


def record_run(journal: Journal, known: RunState, tournament: Tournament, bots: list[BuiltBot]) -> None:
    """Write what the run knows of itself, and its bots. `known` has the level and the hash of the seed."""
    state = replace(
        with_terms(known if journal.begun else replace(known, stages=()), tournament, bots),
        status=RunStatus.RUNNING,
        version=__version__,
        machine=paths.describe_machine(),
        began=known.began or time.time(),
    )
    journal.set_state(state)
    for name in journal.bots().keys() - {bot.name for bot in bots}:
        journal.remove_bot(name)
    fixed = journal.bots() if journal.begun else {}  # once fixtures are played, the rows of their bots must not change
    for bot in (bot for bot in bots if bot.name not in fixed):
        journal.add_bot(RecordedBot.of(bot))
