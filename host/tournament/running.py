"""Runs a tournament: prepares its bots, plays its stages, and writes its journal."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

from host.base.errors import UserError
from host.base.format import counted
from host.base.paths import absolute, display_path
from host.base.safe_text import one_line
from host.config.tournament_config import Tournament
from host.journal.late_bots import LateBots
from host.journal.reader import Journal
from host.journal.state import RunStatus, StageStatus
from host.journal.tournament_dir import Folder, commitment
from host.journal.writer import JournalWriter, writing
from host.play.jobs import WorkerSetup
from host.play.records import cause_text
from host.results.bot_logs import Logs
from host.results.course import Played, Position, course
from host.results.disqualification import excess, rule
from host.results.undecided import write_bundle
from host.stages.kind import SkippedStage
from host.tournament.corrections import may_be_tried_again, try_again
from host.tournament.loading import Loaded, load_checked
from host.tournament.opening import choose_level, open_run
from host.tournament.progress import Progress
from host.tournament.signals import interruptible
from host.tournament.stage_runner import Backend, BackendFactory, Run, run_stage

if TYPE_CHECKING:
    from host.tournament.run_budget import RunBudget

SLOW_PREPARATION_S = 1.0  # a preparation that takes longer is reported


class Observer(Protocol):
    """Displays a run while it is played."""

    def say(self, text: str) -> None:
        """Show one line."""
        ...

    def progress(self, progress: Progress) -> None:
        """Show the progress of a stage."""
        ...


class LoggingObserver(NamedTuple):
    """Observer that passes everything to another observer, logs the bots' standard error, and adds warnings."""

    watch: Observer
    logs: Logs
    late: LateBots
    undecided: Callable[[str], str]  # keeps the bundle of a fixture without a result, and returns its path
    unrecorded: set[str]  # the warnings about missing recordings that were shown

    def say(self, text: str) -> None:
        """Show one line."""
        self.watch.say(text)

    def progress(self, progress: Progress) -> None:
        """Show the progress of a stage. Log the texts of the bots, and warn about late bots and undecided fixtures."""
        if progress.record is not None and progress.record.undecided is not None:
            why = progress.record.undecided
            where = f"{why.where}: " if why.where else ""
            at = f" at table {why.table}" if why.table else ""
            after = f", after an answer of {' and '.join(why.given_by)}" if why.given_by else ""
            self.say(
                f"WARNING  {one_line(progress.record.path)} is undecided: {where}{cause_text([why])}{one_line(at + after)}: "
                f"{one_line(why.reason)}; no bot is charged, and the rest is played; kept as "
                f"{self.undecided(progress.record.path)}"
            )
        elif progress.record is not None:
            self.logs.heard(progress.record)
            self.late.add(progress.stage, progress.record)
            for sentence in self.late.new_warnings():
                self.say(f"WARNING  {sentence}")
        for sentence in progress.record.unrecorded if progress.record else ():
            if sentence not in self.unrecorded:
                self.unrecorded.add(sentence)
                self.say(f"WARNING  {one_line(sentence)}")
        self.watch.progress(progress)


class RunOutcome(NamedTuple):
    """Outcome of a run. `reason` says why the run was interrupted.

    `undecided` is the number of fixtures without a result, `cause` the reason for them in words, and `again` the number
    of these fixtures that the next run tries again.
    """

    interrupted: bool = False
    reason: str = ""
    undecided: int = 0
    again: int = 0
    cause: str = ""


class RunOptions(NamedTuple):
    """Options of a run. Its results do not depend on them."""

    fresh: bool = False
    last: str | None = None  # the last stage to play; None: all
    workers: int | None = None  # None: as the config says
    cluster: str = ""  # the address of a Dask scheduler, instead of the one in the config
    until: float | None = None  # seconds after which it stops, and can be resumed; None: it does not stop
    unsafe: bool = False
    reason: str = ""  # recorded with late bots and more tables, if the run began without them


async def run_tournament(place: Path, watch: Observer, open_backend: BackendFactory, options: RunOptions) -> RunOutcome:
    """Play all stages of a tournament, or continue its run, until it is finished or interrupted. Return the outcome.

    Raise UserError for any problem, before any table is played.
    """
    loaded, outcome = load_checked(place, watch.say, last=options.last), RunOutcome()
    async with (
        interruptible(watch.say) as stop,
        open_backend(options.cluster or loaded.tournament.run.cluster, watch.say) as backend,
    ):

        def begin() -> None:
            if options.until is not None:
                stop.scope.deadline = trio.current_time() + options.until

        outcome = await play_tournament(loaded, watch, backend, options, begin, stop.now)
    return outcome._replace(interrupted=True, reason=stop.reason) if stop.scope.cancelled_caught else outcome


def _try_again(journal: JournalWriter, root: bytes, say: Callable[[str], None]) -> None:
    """Let undecided fixtures be played again if no other fixture depends on them. Report their number to `say`."""
    if tried := try_again(journal, root):
        journal.set_status(RunStatus.RUNNING)
        say(f"trying {counted(len(tried), 'undecided fixture')} again")


def keep_bundle(journal: Journal, folder: Folder, root: bytes, path: str) -> str:
    """Write the bundle of an undecided fixture. Return its path, or a text with the reason why it cannot be written."""
    undecided = journal.undecided_at(path)
    assert undecided is not None  # it has just been stored
    try:
        return display_path(write_bundle(folder.undecided, undecided, journal.game, root))
    except OSError as failed:
        return f"nothing, because {folder.undecided} cannot be written: {failed.strerror}"


def _budget(
    tournament: Tournament, setup: WorkerSetup, journal: Journal, stop: Callable[[str], None]
) -> "RunBudget | None":
    """Return the budget of the models in all fixtures, with the usage in the journal; None if no model has a budget."""
    limited = [model for model in tournament.limits.models if model.is_limited_in_all]
    if not limited:
        return None
    from host.tournament.run_budget import RunBudget  # only these runs need it

    budget = RunBudget(setup, limited, stop)
    for record in journal.all_records():
        budget.count(record)
    return budget


async def play_tournament(
    loaded: "Loaded",
    watch: Observer,
    backend: Backend,
    options: RunOptions,
    begin: Callable[[], None] = lambda: None,
    stop: Callable[[str], None] = lambda _reason: None,
) -> RunOutcome:
    """Play all fixtures that are left in a loaded tournament, on an open backend. Call `begin` before the first table.

    Call `stop` with the reason if a budget for all fixtures is used up. `stop` must cancel this call.

    Return the outcome: the number of fixtures without a result, and the cause. A caller that cancels this call loses only the
    unfinished fixtures. Raise UserError for any problem, before any table is played.
    """
    tournament, folder, submissions = loaded
    level = await choose_level(backend, tournament, folder, watch.say, fresh=options.fresh, unsafe=options.unsafe)
    logs = Logs(folder.run, watch.say)
    try:
        game, bots = await backend.ready(
            submissions, tournament.game, tournament.limits, level, slow_preparation_reporter(watch.say)
        )
    except UserError as refused:
        raise logs.refused(refused) from refused
    if options.fresh and folder.has_journal and folder.commitment_file.exists():
        watch.say("WARNING  --fresh deletes the committed seed too: publish the hash of the new one")
    with writing(folder.journal, tournament.registry, fresh=folder.reset if options.fresh else None) as journal:
        before = len(journal.changes())
        seed = open_run(journal, folder, tournament, bots, level, options.reason)
        for change in journal.changes(before):
            watch.say(change.sentence)
        logs.built(bots)
        _try_again(journal, seed, watch.say)
        setup = tournament._replace(game=game).setup(bots, seed, level)
        if any(bot.limits.models for bot in bots):
            recordings = str(absolute(folder.recordings)) if tournament.records_models else ""
            setup = setup._replace(open_folder=str(absolute(folder.open)), recordings=recordings)
        async with backend.executor(setup, watch.say, options.workers or tournament.run.workers) as pool:
            journal.set_state(replace(journal.state(), workers=pool.description))
            watch.say(
                f"{tournament.name} · {game.name} · {counted(len(bots), 'bot')} · "
                f"level {level.label} · {pool.description} · seed sha256 {commitment(seed)[:16]}…"
            )
            if tournament.max_faults:
                watch.say(rule(tournament.max_faults))
            begin()
            bundles = partial(keep_bundle, journal, folder, seed)
            observer = LoggingObserver(watch, logs, LateBots(), bundles, set())
            budget = _budget(tournament, setup, journal, stop)
            run = Run(tournament.blank, journal, pool, observer.progress, setup.open_folder, budget)
            await play_stages(tournament, options.last, setup, run, observer.say)
        finished = all(found.over or found.status is StageStatus.SKIPPED for found in journal.state().stages)
        journal.set_status(RunStatus.FINISHED if finished else RunStatus.INTERRUPTED)
        undecided, again = journal.undecided(), may_be_tried_again(journal, seed)
        cause = cause_text(each.why for each in undecided)
        outcome = RunOutcome(undecided=len(undecided), again=len(again), cause=cause)
    if finished:
        folder.reveal()
    return outcome


async def play_stages(
    tournament: Tournament, last: str | None, setup: WorkerSetup, run: Run, say: Callable[[str], None]
) -> None:
    """Play all fixtures that are left in the stages, up to stage `last` (None: all stages).

    The bots that advance begin the next stage in the order of their places.
    """
    journal = run.journal
    played = Played(journal.stage_records, journal.sizes)

    def position_in(number: int) -> Position:
        """Return the position in a stage as it is now. It never changes, so call this again after new records."""
        return course(journal.state(), journal.bots(), setup.seed, played)[number]

    for number, stage in enumerate(tournament.stages):
        position = position_in(number)
        if position.skipped:
            journal.set_stage(stage.name, StageStatus.SKIPPED, field=position.bots)
            say(f"WARNING  {SkippedStage(stage, len(position.bots))}")
        else:
            begins = None if position.state.over else StageStatus.RUNNING
            journal.set_stage(stage.name, begins, field=position.bots)
            before = journal.seal(stage.name)
            await run_stage(position.config, position.field, run)
            ended = position_in(number)
            journal.set_stage(stage.name, StageStatus.FINISHED, places=ended.outcome.places)
            if (seal := journal.seal(stage.name)) != before:
                say(f"{stage.name} is over; publish its seal: {seal}")
                for bot, faults in ended.disqualified.items():
                    why = excess(faults, tournament.max_faults)
                    say(f"WARNING  {bot} is disqualified in {stage.name}: {why}")
        if stage.name == last:
            return


def slow_preparation_reporter(say: Callable[[str], None]) -> Callable[[str, float], None]:
    """Return a function that reports a bot whose preparation took longer than SLOW_PREPARATION_S."""
    return lambda name, took: say(f"ready  {name}  {took:.1f} s") if took > SLOW_PREPARATION_S else None
