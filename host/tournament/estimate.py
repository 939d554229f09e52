"""Estimates the fixtures and the duration of a run: counts the fixtures left in each stage, and times a short trial.

Fixtures that may be played now are listed. Later ones depend on results, so they are only counted.
"""

import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import trio

from host.bots.bot_spec import BuiltBot
from host.config.tournament_config import Tournament
from host.journal.check import journal_exists
from host.journal.reader import reading
from host.journal.state import RecordedBot, RunState
from host.play.fixture_id import FixtureId
from host.play.jobs import Job
from host.play.records import Fixture
from host.results.course import NOTHING, Played, Position, course
from host.sandbox.levels import Level
from host.tournament.loading import load_checked
from host.tournament.opening import check_unchanged, choose_level, entered_digest, with_terms
from host.tournament.running import Observer, RunOptions, slow_preparation_reporter
from host.tournament.signals import interruptible
from host.tournament.stage_runner import BackendFactory, CheckedPool, WorkerPool, require_decided

TRIAL_S = 20.0  # at most, for the whole trial
PAIRINGS_ON_TRIAL = 16


class PlannedMeeting(NamedTuple):
    """Bots that will sit at the same tables, and the number of their fixtures and tables."""

    bots: tuple[str, ...]
    fixtures: int
    tables: int


class StageEstimate(NamedTuple):
    """The fixtures and tables left in a stage. `meetings` has the fixtures that may be played now."""

    stage: str
    kind: str
    bots: int
    bounds: str  # "exactly", "at least", "at most", or "skipped": too few bots reach the stage
    fixtures: int
    tables: int  # a tourney counts as many as it has rounds
    tourneys: bool
    meetings: tuple[PlannedMeeting, ...] = ()
    about: str = ""  # a sentence about the stage, for example a guarantee


class TrialRound(NamedTuple):
    """The number of tables in a round of the trial, and the seconds that workers used for them in total."""

    tables: int
    seconds: float


class Cost(NamedTuple):
    """The measurements of a trial."""

    tables: int  # in the whole trial
    seconds: float  # duration of the trial
    table_seconds: float | None  # of one worker for a table; None if no round was finished in time


class Forecast(NamedTuple):
    """The estimate of a run. `cost` is None if nothing is left to play."""

    name: str
    game: str
    level: Level
    workers: int
    stages: list[StageEstimate]
    cost: Cost | None
    max_faults: int = 0  # of a bot in a stage; 0: no bot is disqualified

    @property
    def seconds(self) -> float | None:
        """Return the estimated duration of the run in seconds; None if the trial has no result."""
        if self.cost is None or self.cost.table_seconds is None:
            return None
        return sum(stage.tables for stage in self.stages) * self.cost.table_seconds / self.workers


def remaining(
    tournament: Tournament, names: Sequence[str], seed: bytes | None, journal: Path, bots: Sequence[BuiltBot] = ()
) -> tuple[list[StageEstimate], Sequence[Fixture]]:
    """Return the estimate of each stage, and the fixtures that may be played now. `seed` is None if it is not drawn yet."""
    blank = tournament.blank
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(reading(journal, tournament.registry)) if journal_exists(journal) else None
        known, recorded = (book.state(), book.bots()) if book and book.begun else (RunState(), {})
        entered = recorded | {name: RecordedBot(name) for name in names if name not in recorded}
        played = Played(book.stage_records, book.sizes) if book else NOTHING
        stages, now = list[StageEstimate](), list[Fixture]()
        for position in course(with_terms(known, tournament, bots), entered, seed, played, blank):
            stages.append(estimate_of(position, blank))
            now = now or position.due
        return stages, now


def estimate_of(position: Position, blank: Fixture) -> StageEstimate:
    """Return the estimate of a stage: the number of fixtures and tables that are left."""
    stage, kind, field, records, wave = position.config, position.kind, position.field, position.records, position.due
    none = StageEstimate(stage.name, stage.kind, len(field.bots), "exactly", 0, 0, tourneys=False)
    if position.skipped:
        return none._replace(bounds="skipped")
    if not wave:
        return none
    named = position.decided and position.seeded is not None and not (kind.drawn and position.tournament.seed is None)
    none = none._replace(meetings=meetings(wave) if named else ())
    if kind.size is not None:
        size = kind.size(stage, blank, len(field.bots))
        tables = sum(next(iter(record.results.values())).tables for record in records.values())
        return none._replace(
            bounds="at most" if field.withdrawn else size.bounds,
            about=size.about,
            fixtures=max(size.fixtures - len(records), len(wave)),
            tables=max(size.tables - tables, sum(fixture.tables for fixture in wave)),
        )
    undecided = {fixture.bots for fixture in wave}
    whole = kind.due(stage, blank, field._replace(stop_early=False), records)
    whole = [fixture for fixture in whole if fixture.bots in undecided]
    return none._replace(
        bounds="at most" if field.stop_early else "exactly",
        fixtures=len(whole),
        tables=sum(fixture.tables for fixture in whole),
        tourneys=kind.tourneys,
    )


def meetings(wave: Sequence[Fixture]) -> tuple[PlannedMeeting, ...]:
    """Return each set of bots that meets in these fixtures, with the number of its fixtures and tables."""
    met: dict[tuple[str, ...], PlannedMeeting] = {}
    for fixture in wave:
        before = met.get(fixture.bots, PlannedMeeting(fixture.bots, 0, 0))
        met[fixture.bots] = PlannedMeeting(fixture.bots, before.fixtures + 1, before.tables + fixture.tables)
    return tuple(met.values())


async def forecast(
    place: Path,
    watch: Observer,
    open_backend: BackendFactory,
    options: RunOptions,
) -> Forecast:
    """Return the forecast of a tournament's run. Write nothing into its folder.

    Raise UserError for any problem that would prevent the run. The trial has its own seed, so it reveals no cards.
    """
    tournament, folder, submissions = load_checked(place, watch.say)
    cost, count = None, 0
    async with interruptible(watch.say), open_backend(options.cluster or tournament.run.cluster, watch.say) as backend:
        level = await choose_level(backend, tournament, folder, watch.say, unsafe=options.unsafe)
        game, bots = await backend.ready(
            submissions, tournament.game, tournament.limits, level, slow_preparation_reporter(watch.say)
        )
        known = tournament.seed != "random" or folder.seed_file.exists()
        seed = folder.seed(tournament.seed) if known else None
        run = RunState(bound=entered_digest(tournament, bots))
        if folder.has_journal:
            with reading(folder.journal, tournament.registry) as journal:
                check_unchanged(journal, tournament, bots, level)
                run = journal.state() if journal.begun else run
        root = None if seed is None else run.root(seed)
        stages, now = remaining(tournament, [bot.name for bot in bots], root, folder.journal, bots)
        setup = tournament._replace(game=game).setup(bots, secrets.token_bytes(16), level)
        if now:
            async with backend.executor(setup, watch.say, options.workers or tournament.run.workers) as pool:
                count = pool.count
                checked = CheckedPool(pool, partial(require_decided, tournament.game))
                cost = await trial(now, checked, watch.say)
    return Forecast(tournament.name, tournament.game.name, level, count, stages, cost, tournament.max_faults)


async def trial(wave: Sequence[Fixture], pool: WorkerPool, say: Callable[[str], None]) -> Cost:
    """Play a part of one fixture for some pairings in `wave`, for at most TRIAL_S; return the measured cost.

    Each round plays up to ten times as many tables as the round before, because the first round mostly starts the bots.
    """
    say(f"trial  plays some tables for at most {TRIAL_S:.0f} s")
    chosen = pairings_on_trial(wave)
    chosen *= -(-pool.count // len(chosen))  # so that every worker is busy, as in the run
    whole = sum(fixture.tables for fixture in chosen)
    rounds, size, began = list[TrialRound](), 1, trio.current_time()
    with trio.move_on_after(TRIAL_S) as limit:
        while size:
            started = trio.current_time()
            for number, fixture in enumerate(chosen):
                path, tables = str(FixtureId(f"trial {size}", number, first_table=1)), min(size, fixture.tables)
                await pool.submit(Job(fixture._replace(path=path, first=1, tables=tables)))
            seconds = sum([(await pool.next_result()).seconds for _ in chosen])
            rounds.append(TrialRound(sum(min(size, fixture.tables) for fixture in chosen), seconds))
            affordable = (limit.deadline - trio.current_time()) / (trio.current_time() - started)
            longer = min(10 * size, int(size * affordable))
            size = longer if longer > size and rounds[-1].tables < whole else 0
    played = sum(each.tables for each in rounds)
    return Cost(played, trio.current_time() - began, table_seconds(rounds, whole) if rounds else None)


def pairings_on_trial(wave: Sequence[Fixture]) -> list[Fixture]:
    """Return one fixture for up to PAIRINGS_ON_TRIAL sets of bots that meet. Cover as many bots as possible."""
    left, seen = {fixture.bots: fixture for fixture in wave}, Counter[str]()
    chosen: list[Fixture] = []
    while left and len(chosen) < PAIRINGS_ON_TRIAL:
        pairing = min(left, key=lambda bots: sum(seen[bot] for bot in bots) / len(bots))
        seen.update(pairing)
        chosen.append(left.pop(pairing))
    return chosen


def table_seconds(rounds: Sequence[TrialRound], whole: int) -> float:
    """Return the seconds that one worker takes for a table, on average over whole fixtures.

    `rounds` are the rounds of a trial, each with more tables than the round before. `whole` is the number of tables in
    complete fixtures. Every round starts the bots once. So the cost of a further table is the difference in seconds
    between the last two rounds, divided by the difference in tables.
    """
    last = rounds[-1]
    before = rounds[-2] if len(rounds) > 1 else TrialRound(0, 0.0)
    further = max(0.0, last.seconds - before.seconds) / (last.tables - before.tables)
    return (last.seconds + (whole - last.tables) * further) / whole
