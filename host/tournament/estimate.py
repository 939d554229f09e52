"""Estimates what a run will play and how long that takes: counts what is left of each stage, and times a short trial.

Fixtures that may be played now are listed. Later ones depend on results, so they are only counted.
"""

import contextlib
import secrets
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import trio

from host.base.format import thousands
from host.bots.bot_spec import BuiltBot
from host.config.tournament_config import Tournament
from host.journal.reader import reading
from host.journal.state import RunState
from host.play.fixture_id import FixtureId
from host.play.jobs import Job
from host.play.records import Fixture
from host.results.course import NOTHING, Played, Position, course
from host.rules.catalogue import game_by_name
from host.sandbox.levels import Level
from host.tournament.loading import load_checked
from host.tournament.opening import check_unchanged, choose_level, entered_digest, with_terms
from host.tournament.running import Observer, PlayTerms, slow_preparation_reporter
from host.tournament.signals import interruptible
from host.tournament.stage_runner import BackendFactory, CheckedPool, WorkerPool, require_decided

TRIAL_S = 20.0  # at most, for the whole trial
LONG_ROUND_S = 3.0  # a round of the trial that takes this long is the last
TRIAL_TABLES = (1, 10, 100, 1_000)  # for each pairing: the rounds of the trial, while there is time
PAIRINGS_ON_TRIAL, MAX_PAIRINGS_ON_TRIAL = 12, 24  # more than the first only if some bots would be left out
REPEATS = 5  # rounds of whole fixtures, if they are short
STARTUP_S = 1.0  # at most, the part of a first round in which sandboxes are made and bots are started
MARGIN = 0.15  # of an estimate: a trial is not repeated more exactly than this, even by itself
MAX_RATIO = 6.0  # of the ends of an estimate; beyond it, the trial cannot tell how long the run will take


class PlannedMeeting(NamedTuple):
    """Bots that will sit at the same tables."""

    bots: tuple[str, ...]
    fixtures: int
    tables: int


class StageEstimate(NamedTuple):
    """What is left to play of a stage. `meetings` has the fixtures that may be played now."""

    stage: str
    kind: str
    bots: int
    bounds: str  # "exactly", "at least", "at most", or "skipped": too few bots reach the stage
    fixtures: int
    tables: int  # a tourney counts as many as it has rounds
    tourneys: bool
    meetings: tuple[PlannedMeeting, ...] = ()
    about: str = ""  # what the stage promises


class TrialSample(NamedTuple):
    """The tables of one pairing in one round of the trial, and how many seconds one worker took for them."""

    tables: int
    seconds: float
    longest: int  # tables of a whole fixture of this pairing


class Bounds(NamedTuple):
    """The bounds of an estimate in seconds."""

    low: float
    high: float


class Cost(NamedTuple):
    """The measurements of a trial. Intervals are seconds of one worker for a table; None if the trial cannot tell."""

    mean: Bounds | None  # the mean table of the pairings on trial
    any: Bounds | None  # a table of any pairing: of a later stage, nobody knows who will meet
    tables: int  # in the whole trial
    seconds: float  # duration of the trial


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
    def seconds(self) -> Bounds | None:
        """The bounds of the duration of the run in seconds; None if the trial cannot tell."""
        if self.cost is None or self.cost.mean is None or self.cost.any is None:
            return None
        known = sum(stage.tables for stage in self.stages if stage.meetings)
        later = sum(stage.tables for stage in self.stages) - known
        low, high = (
            (known * one + later * other) / self.workers
            for one, other in zip(self.cost.mean, self.cost.any, strict=True)
        )
        return Bounds(low, high) if high <= MAX_RATIO * low else None


def remaining(
    tournament: Tournament, names: Sequence[str], seed: bytes | None, journal: Path, bots: Sequence[BuiltBot] = ()
) -> tuple[list[StageEstimate], Sequence[Fixture]]:
    """Return what is left of each stage, and the fixtures that may be played now. `seed` is None if it is not drawn yet."""
    blank = Fixture(tournament.game, tournament.rules, "", "", (), 0)
    entered = [name for name in names if name not in tournament.guests]
    with contextlib.ExitStack() as stack:
        book = stack.enter_context(reading(journal, tournament.registry)) if journal.exists() else None
        known, recorded = (book.state(), book.bots()) if book else (RunState(), {})
        known = known if book and book.begun else replace(known, stages=())
        played = Played(book.stage_records, book.sizes) if book else NOTHING
        stages, now = list[StageEstimate](), list[Fixture]()
        for position in course(with_terms(known, tournament, bots), recorded, seed, played, entered, blank):
            stages.append(estimate_of(position, blank))
            now = now or position.due
        return stages, now


def estimate_of(position: Position, blank: Fixture) -> StageEstimate:
    """Count what is left of a stage."""
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
    """Return the sets of bots that meet in these fixtures, with the number of fixtures and tables of each."""
    met: dict[tuple[str, ...], PlannedMeeting] = {}
    for fixture in wave:
        before = met.get(fixture.bots, PlannedMeeting(fixture.bots, 0, 0))
        met[fixture.bots] = PlannedMeeting(fixture.bots, before.fixtures + 1, before.tables + fixture.tables)
    return tuple(met.values())


async def forecast(
    place: Path,
    watch: Observer,
    open_backend: BackendFactory,
    terms: PlayTerms,
) -> Forecast:
    """Return what a run of this tournament would do; write nothing into its folder.

    Raise UserError for any problem that would prevent the run. The trial has its own seed, so it reveals no cards.
    """
    tournament, folder, submissions = load_checked(place, watch.say)
    cost, count = None, 0
    async with interruptible(watch.say), open_backend(terms.cluster or tournament.run.cluster, watch.say) as backend:
        level = await choose_level(backend, tournament, folder, watch.say, unsafe=terms.unsafe)
        bots = await backend.ready(
            submissions, game_by_name(tournament.game), tournament.limits, level, slow_preparation_reporter(watch.say)
        )
        known = tournament.seed != "random" or folder.seed_file.exists()
        seed = folder.seed(tournament.seed) if known else None
        run = RunState(bound=entered_digest(tournament, bots))
        if folder.journal.exists():
            with reading(folder.journal, tournament.registry) as journal:
                check_unchanged(journal, tournament, bots, level)
                run = journal.state() if journal.begun else run
        root = None if seed is None else run.root(seed)
        stages, now = remaining(tournament, [bot.name for bot in bots], root, folder.journal, bots)
        setup = tournament.setup(bots, secrets.token_bytes(16), level)
        if now:
            async with backend.executor(setup, watch.say, terms.workers or tournament.run.workers) as pool:
                count = pool.count
                checked = CheckedPool(pool, partial(require_decided, tournament.game))
                cost = await trial(now, checked, watch.say, sum(stage.tables for stage in stages))
    return Forecast(tournament.name, tournament.game, level, count, stages, cost, tournament.max_faults)


async def trial(wave: Sequence[Fixture], pool: WorkerPool, say: Callable[[str], None], left: int) -> Cost:
    """Play a few tables of some pairings of a wave, then more of them while there is time; return the measured cost.

    `left` is the number of tables that the run has not played yet. The trial ends when it has taken as long as they will.
    """
    say(f"trial  plays some tables for at most {TRIAL_S:.0f} s")
    chosen = pairings_on_trial(wave)
    share = len(chosen) / len({fixture.bots for fixture in wave})
    chosen *= -(-pool.count // len(chosen))  # so that every worker is busy, as in the run
    longest = max(fixture.tables for fixture in chosen)
    samples: list[list[TrialSample]] = [[] for _ in chosen]
    started = trio.current_time()
    with trio.move_on_after(TRIAL_S) as time:
        for nth, size in enumerate([*(size for size in TRIAL_TABLES if size < longest), *[longest] * REPEATS]):
            began = trio.current_time()
            size = min(size, _affordable(samples, nth, pool.count, time.deadline - began))
            if nth and size < min(samples[0][-1].tables * 2, longest):
                break
            for number, fixture in enumerate(chosen):
                path, some = str(FixtureId(f"trial {nth}", number, first_table=1)), min(size, fixture.tables)
                await pool.submit(Job(fixture._replace(path=path, first=1, tables=some)))
            for _ in chosen:
                record = await pool.next_result()
                number = FixtureId.parse(record.path).round or 0
                whole = chosen[number].tables
                samples[number].append(TrialSample(min(size, whole), record.seconds, whole))
            played = sum(sample.tables for some in samples for sample in some)
            say(f"trial  {trio.current_time() - started:.0f} s of at most {TRIAL_S:.0f} s, {thousands(played)} tables")
            run_time = left * fmean(some[-1].seconds / some[-1].tables for some in samples) / pool.count
            if nth and (trio.current_time() - began > LONG_ROUND_S or trio.current_time() - started > run_time):
                break
    return cost_of(samples, share, trio.current_time() - started)


def pairings_on_trial(wave: Sequence[Fixture]) -> list[Fixture]:
    """Choose sets of bots that meet, covering as many bots as possible. Return one fixture for each set."""
    left, seen = {fixture.bots: fixture for fixture in wave}, Counter[str]()
    bots = {bot for fixture in wave for bot in fixture.bots}
    chosen: list[Fixture] = []
    while left and len(chosen) < MAX_PAIRINGS_ON_TRIAL and (len(chosen) < PAIRINGS_ON_TRIAL or len(seen) < len(bots)):
        pairing = min(left, key=lambda bots: sum(seen[bot] for bot in bots) / len(bots))
        seen.update(pairing)
        chosen.append(left.pop(pairing))
    return chosen


def _affordable(samples: Sequence[Sequence[TrialSample]], nth: int, workers: int, seconds: float) -> int:
    """Return how many tables of each pairing fit into the time that is left for the trial."""
    if nth < 2:
        return TRIAL_TABLES[nth]  # the first round says little about the second: it starts the bots
    each = sum(some[-1].seconds / some[-1].tables for some in samples) / workers
    return int(0.7 * seconds / each)


def cost_of(samples: Sequence[Sequence[TrialSample]], share: float, seconds: float) -> Cost:
    """Return the cost of a table from the samples of each pairing of a trial, the latest last.

    `share` is the share of all pairings that were on trial. The largest samples of a pairing give its upper bound.
    Without what a smaller one took, which includes the start of the bots, they give the lower bound.
    """
    tables = sum(sample.tables for some in samples for sample in some)
    if not all(samples):
        return Cost(None, None, tables, seconds)
    bounds = list(map(_bounds, samples))
    low, high = (fmean(each) for each in zip(*bounds, strict=True))
    middles = [(one.low + one.high) / 2 for one in bounds]
    spread = stdev(middles) if len(middles) > 1 else 0.0
    error = 2 * spread * sqrt(max(0.0, 1 - share) / len(middles)) + 2 * fmean(map(_noise, samples)) / sqrt(len(samples))
    mean = Bounds(max(0.0, (1 - MARGIN) * low - error), (1 + MARGIN) * high + error)
    other = Bounds(min(mean.low, max(min(middles), low - spread)), max(mean.high, min(max(middles), high + spread)))
    return Cost(mean, other, tables, seconds)


def _bounds(samples: Sequence[TrialSample]) -> Bounds:
    """Return the bounds of the cost of one pairing's table."""
    tables, longest = samples[-1].tables, samples[-1].longest
    seconds = fmean(sample.seconds for sample in samples if sample.tables == tables)
    before = next((sample for sample in reversed(samples) if sample.tables < tables), None)
    if tables == longest:
        return Bounds(seconds / tables, seconds / tables)
    if before is None:
        return Bounds(max(0.0, seconds - STARTUP_S) / tables, seconds / tables)
    without_start = (seconds - before.seconds) / (tables - before.tables)
    return Bounds(min(max(0.0, without_start), seconds / tables), seconds / tables)


def _noise(samples: Sequence[TrialSample]) -> float:
    """Return how uncertain the mean of a pairing's largest samples is, as far as they show it."""
    same = [sample.seconds / sample.tables for sample in samples if sample.tables == samples[-1].tables]
    return stdev(same) / sqrt(len(same)) if len(same) > 1 else 0.0
