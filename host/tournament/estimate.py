"""Estimates what a run will play and how long that takes: counts what is left of each stage, and times a short trial.

Fixtures that may be played now are listed. Later ones depend on results, so they are only counted.
"""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import trio

from host.games import GAMES
from host.play.records import Fixture, Job, Record
from host.sandbox.levels import Level
from host.tournament.config import Tournament
from host.tournament.journal import reading
from host.tournament.runner import Observer, choose_level, interruptible, load_checked, slow_preparation_reporter
from host.tournament.stage_runner import Venues, WorkerPool
from host.tournament.stages import kind_of
from host.tournament.stages.kind import Field, StageConfig

TRIAL_S = 8.0  # at most, for the whole trial
TRIAL_TABLES = (1, 10, 100, 1_000)  # for each pairing: the rounds of the trial, while there is time
MAX_PAIRINGS_ON_TRIAL = 12


class Meeting(NamedTuple):
    """Bots that will sit at the same tables."""

    bots: tuple[str, ...]
    fixtures: int
    tables: int


class StageEstimate(NamedTuple):
    """What is left to play of a stage. `meetings` has the fixtures that may be played now."""

    stage: str
    kind: str
    bots: int
    bounds: str  # "exactly", "at least" or "at most"
    fixtures: int
    tables: int  # a tourney counts as many as it has rounds
    tourneys: bool
    meetings: tuple[Meeting, ...] = ()


class Cost(NamedTuple):
    """The measurements of a trial."""

    table: float  # mean seconds per table on one worker
    tables: int  # in the whole trial
    seconds: float  # duration of the trial
    enough: bool  # False: not every pairing played a table in time, so `table` is a lower bound


class Forecast(NamedTuple):
    """The estimate of a run. `cost` is None if nothing is left to play."""

    name: str
    game: str
    level: Level
    workers: int
    stages: list[StageEstimate]
    cost: Cost | None

    @property
    def seconds(self) -> float:
        """The estimated duration of the run in seconds: all tables, times the mean of the trial."""
        tables = sum(stage.tables for stage in self.stages)
        return tables * self.cost.table / self.workers if self.cost else 0.0


def remaining(
    tournament: Tournament, names: Sequence[str], seed: bytes | None, journal: Path
) -> tuple[list[StageEstimate], Sequence[Fixture]]:
    """Return what is left of each stage, and the fixtures that may be played now. `seed` is None if it is not drawn yet."""
    played, orders = dict[str, dict[str, Record]](), dict[str, list[str]]()
    if journal.exists():
        with reading(journal) as book:
            facts = book.metadata()
            for stage in tournament.stages:
                played[stage.name] = {record.path: record for _, record in book.records(stage.name)}
                if facts.get(f"stage {stage.name}") == "finished":
                    orders[stage.name] = json.loads(facts[f"order {stage.name}"])
    blank = Fixture(tournament.game, tournament.rules, "", "", (), 0)
    bots, known, stages, now = list(names), True, list[StageEstimate](), list[Fixture]()
    for stage in tournament.stages:
        kind, records = kind_of(stage), played.get(stage.name, {})
        field = Field(bots, seed or b"", tournament.stop_early)
        wave = [] if stage.name in orders else kind.due(stage, blank, field, records)
        named = known and not (kind.drawn and seed is None)
        stages.append(
            estimate_of(stage, blank, field, records, wave)._replace(meetings=meetings(wave) if named else ())
        )
        now = now or wave
        if stage.name in orders:
            bots = kind.left(stage, field, records) if kind.left else orders[stage.name]
        else:  # the advancing bots are unknown; only their number matters
            bots, known = bots[: kind.size(stage, blank, len(bots)).left if kind.size else len(bots)], False
    return stages, now


def estimate_of(
    stage: StageConfig, blank: Fixture, field: Field, records: dict[str, Record], wave: Sequence[Fixture]
) -> StageEstimate:
    """Count what is left of a stage; the fixtures of `wave` may be played now."""
    kind = kind_of(stage)
    none = StageEstimate(stage.name, stage.kind, len(field.bots), "exactly", 0, 0, tourneys=False)
    if not wave:
        return none
    if kind.size is not None:
        size = kind.size(stage, blank, len(field.bots))
        tables = sum(next(iter(record.results.values())).tables for record in records.values())
        return none._replace(
            bounds=size.bounds,
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


def meetings(wave: Sequence[Fixture]) -> tuple[Meeting, ...]:
    """Return the sets of bots that meet in these fixtures, with the number of fixtures and tables of each."""
    met: dict[tuple[str, ...], Meeting] = {}
    for fixture in wave:
        before = met.get(fixture.bots, Meeting(fixture.bots, 0, 0))
        met[fixture.bots] = Meeting(fixture.bots, before.fixtures + 1, before.tables + fixture.tables)
    return tuple(met.values())


async def forecast(
    place: Path, watch: Observer, venues: Venues, *, cluster: str = "", workers: int = 0, unsafe: bool = False
) -> Forecast:
    """Return what a run of this tournament would do; write nothing into its folder.

    Raise UserError for any problem that would prevent the run. The trial has its own seed, so it reveals no cards.
    """
    tournament, folder, submissions = load_checked(place, watch.say)
    cost, count = None, 0
    async with interruptible(watch.say), venues(cluster or tournament.cluster, watch.say) as venue:
        level = await choose_level(venue, tournament, folder, watch.say, unsafe=unsafe)
        bots = await venue.ready(
            submissions, GAMES[tournament.game], tournament.limits, level, slow_preparation_reporter(watch.say)
        )
        known = tournament.seed != "random" or folder.seed_file.exists()
        seed = folder.seed(tournament.seed) if known else None
        stages, now = remaining(tournament, [bot.name for bot in bots], seed, folder.journal)
        setup = tournament.setup(bots, secrets.token_bytes(16), level)
        if now:
            async with venue.executor(setup, watch.say, workers or tournament.workers) as hands:
                count = hands.count
                cost = await trial(now, hands)
    return Forecast(tournament.name, tournament.game, level, count, stages, cost)


async def trial(wave: Sequence[Fixture], hands: WorkerPool) -> Cost:
    """Play a few tables of each pairing of a wave, then more while there is time; return the measured cost.

    Only the last round of the trial counts. The first also creates the sandboxes, which happens once per fixture.
    """
    pairings = list({fixture.bots: fixture for fixture in wave}.values())
    chosen = pairings[:: -(-len(pairings) // MAX_PAIRINGS_ON_TRIAL)]
    chosen *= -(-hands.count // len(chosen))  # so that every worker is busy, as in the run
    longest = max(fixture.tables for fixture in chosen)
    mean, tables, started = 0.0, 0, trio.current_time()
    with trio.move_on_after(TRIAL_S):
        for size in [*(size for size in TRIAL_TABLES if size < longest), longest]:
            if size > TRIAL_TABLES[1] and mean * size * len(chosen) / hands.count > (
                started + TRIAL_S - trio.current_time()
            ):
                break
            sizes = [min(size, fixture.tables) for fixture in chosen]
            for number, fixture in enumerate(chosen):
                await hands.submit(
                    Job(fixture._replace(path=f"trial {size}/{number}/1", first=1, tables=sizes[number]))
                )
            seconds = 0.0
            for _ in chosen:
                record = await hands.next_result()
                tables += sizes[int(record.path.split("/")[1])]
                seconds += record.seconds
            mean = seconds / sum(sizes)
    took = trio.current_time() - started
    return Cost(mean or TRIAL_S * hands.count / len(chosen), tables, took, mean > 0)
