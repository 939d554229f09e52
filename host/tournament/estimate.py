"""What a tournament will play and how long that takes: its stages carried through on paper, and a short real trial.

A stage is a pure function of what has been played, so it tells what it will ask for when it is given invented results:
whoever is ahead wins everything. Who will have come where is not known yet: "#1 of league" stands in for it. A cup needs
at least what is told here, a pair that may end early at the most.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import trio

from host.games import GAMES
from host.play.records import Fixture, Job, Record, Result
from host.tournament.config import Tournament
from host.tournament.journal import reading
from host.tournament.runner import Observer, choose_level, interruptible, load_checked, slow_preparation_reporter
from host.tournament.stage_runner import Venues, WorkerPool
from host.tournament.stages import STAGES, Field

LONGEST = 8.0  # seconds of a trial
SIZES = (1, 10, 100, 1_000)
"""Tables of a fixture on trial, one after another as long as there is time."""
MOST_ON_TRIAL = 12  # different meetings

Bots = tuple[str, ...]


class Meeting(NamedTuple):
    """Bots that will sit at the same tables."""

    bots: Bots
    fixtures: int
    tables: int


class StageEstimate(NamedTuple):
    """What is left to play of a stage. `waves` are fixtures that may be played at the same time, one wave after another.

    `open` says that who meets whom will be drawn from a seed, or among bots, that nobody knows yet.
    """

    stage: str
    kind: str
    bots: int
    waves: list[list[Fixture]]
    bounds: str  # "exactly", "at least" or "at most"
    open: bool

    @property
    def fixtures(self) -> list[Fixture]:
        """All of them."""
        return [fixture for wave in self.waves for fixture in wave]

    @property
    def meetings(self) -> list[Meeting]:
        """Who meets whom as far as that is certain: in the fixtures that are due first."""
        met: dict[Bots, Meeting] = {}
        for fixture in () if self.open else self.waves[0] if self.waves else ():
            before = met.get(fixture.bots, Meeting(fixture.bots, 0, 0))
            met[fixture.bots] = Meeting(fixture.bots, before.fixtures + 1, before.tables + fixture.tables)
        return list(met.values())


class Cost(NamedTuple):
    """What a trial has told: seconds of one worker a fixture, and a table of it (a round, in a tourney)."""

    fixture: float
    table: float
    tables: int  # played on trial
    seconds: float  # that the trial took
    enough: bool  # False: not one fixture ended in time, so that this is the least

    def of(self, waves: Sequence[Sequence[Fixture]], workers: int) -> float:
        """Return how long so many workers take for these waves."""
        total = 0.0
        for wave in waves:
            costs = [self.fixture + self.table * fixture.tables for fixture in wave]
            total += max(sum(costs) / workers, max(costs))
        return total


class Forecast(NamedTuple):
    """What a run would do. `cost` is None when nothing is left to play."""

    name: str
    game: str
    level: str
    workers: int
    stages: list[StageEstimate]
    cost: Cost | None

    @property
    def seconds(self) -> float:
        """How long the run will take."""
        return sum(self.cost.of(stage.waves, self.workers) for stage in self.stages) if self.cost else 0.0


def assumed_record(fixture: Fixture, order: Sequence[str]) -> Record:
    """Return a record in which the first in this order has won every table."""
    best = min(fixture.bots, key=order.index)
    results = {
        bot: Result(fixture.tables, *(fixture.tables * (bot == best),) * 2, 0, 1, int(bot == best))
        for bot in fixture.bots
    }
    return Record(fixture.path, results, {}, {}, (), (), b"")


def ahead(stage: Any, blank: Fixture, field: Field, played: Mapping[str, Record]) -> tuple[list[list[Fixture]], int]:
    """Return the waves that are left of a stage, and how many bots will go on from it."""
    records, waves = dict(played), list[list[Fixture]]()
    while wave := STAGES[stage.kind].due(stage, blank, field, records):
        waves.append(wave)
        records |= {fixture.path: assumed_record(fixture, field.bots) for fixture in wave}
    left = STAGES[stage.kind].left
    return waves, len(left(stage, field, records)) if left else len(field.bots)


def remaining(cup: Tournament, names: Sequence[str], seed: bytes | None, journal: Path) -> list[StageEstimate]:
    """Return what is left to play of every stage, from what has been played so far."""
    played, orders = dict[str, dict[str, Record]](), dict[str, list[str]]()
    if journal.exists():
        with reading(journal) as book:
            facts = book.metadata()
            for stage in cup.stages:
                played[stage.name] = {record.path: record for _, record in book.records(stage.name)}
                if facts.get(f"stage {stage.name}") == "finished":
                    orders[stage.name] = json.loads(facts[f"order {stage.name}"])
    blank = Fixture(cup.game, cup.rules, "", "", (), 0)
    field, stages = list(names), list[StageEstimate]()
    for stage in cup.stages:
        records = played.get(stage.name, {})
        going = Field(field, seed or b"", False)
        waves, count = ahead(stage, blank, going, records)
        bounds = "at least" if stage.kind == "cup" else "at most" if cup.stop_early else "exactly"
        is_open = stage.kind == "groups" and (seed is None or field[0] not in names)
        stages.append(StageEstimate(stage.name, stage.kind, len(field), waves, bounds if waves else "exactly", is_open))
        if stage.name in orders:
            left = STAGES[stage.kind].left
            field = left(stage, going, records) if left else orders[stage.name]
        else:
            field = [place(number, stage.name) for number in range(1, count + 1)]
    return stages


def place(number: int, stage: str) -> str:
    """Return who stands in for a bot that will come somewhere."""
    return f"#{number} of {stage}"


async def forecast(
    place: Path, watch: Observer, venues: Venues, *, cluster: str = "", workers: int = 0, unsafe: bool = False
) -> Forecast:
    """Return what a run of this tournament would do; nothing is written into its folder.

    Raise Refused for whatever would keep it from being played. The trial has a seed of its own: it shows no cards.
    """
    cup, folder, specs = load_checked(place, watch.say)
    cost, count = None, 0
    async with interruptible(watch.say), venues(cluster or cup.cluster, watch.say) as venue:
        level = await choose_level(venue, cup, folder, watch.say, unsafe=unsafe)
        bots = await venue.ready(specs, GAMES[cup.game], cup.limits, level, slow_preparation_reporter(watch.say))
        known = cup.seed != "random" or folder.seed_file.exists()
        seed = folder.seed(cup.seed) if known else None
        stages = remaining(cup, [bot.name for bot in bots], seed, folder.journal)
        setup = cup.setup(bots, secrets.token_bytes(16), level)
        if first := next((stage.waves[0] for stage in stages if stage.waves), None):
            async with venue.executor(setup, watch.say, workers or cup.workers) as hands:
                count = hands.count
                cost = await trial(first, hands)
    return Forecast(cup.name, cup.game, level, count, stages, cost)


async def trial(wave: Sequence[Fixture], hands: WorkerPool) -> Cost:
    """Play some tables of many meetings of a wave; return what they cost."""
    different = list({fixture.bots: fixture for fixture in wave}.values())
    chosen = different[:: -(-len(different) // MOST_ON_TRIAL)]
    chosen *= -(-hands.count // len(chosen))  # every worker is busy, as it will be
    longest = max(fixture.tables for fixture in chosen)
    rounds = list[list[tuple[int, float]]]()
    tables, started = 0, trio.current_time()
    with trio.move_on_after(LONGEST):
        for size in [*(size for size in SIZES if size < longest), longest]:
            left = started + LONGEST - trio.current_time()
            if rounds[1:] and fit_cost(rounds).table * size * len(chosen) / hands.count > left:
                break
            sizes = [min(size, fixture.tables) for fixture in chosen]
            for number, fixture in enumerate(chosen):
                await hands.submit(
                    Job(fixture._replace(path=f"trial {size}/{number}/1", first=1, tables=sizes[number]))
                )
            now = list[tuple[int, float]]()
            for _ in chosen:
                record = await hands.next_result()
                now.append((sizes[int(record.path.split("/")[1])], record.seconds))
                tables += now[-1][0]
            rounds.append(now)
    took = trio.current_time() - started
    if not rounds:
        return Cost(0.0, LONGEST * hands.count / len(chosen), tables, took, False)
    return fit_cost(rounds)._replace(tables=tables, seconds=took)


def fit_cost(rounds: Sequence[Sequence[tuple[int, float]]]) -> Cost:
    """Return the line through what whole rounds of a trial took: (tables, seconds) of each fixture.

    The first round has made the sandboxes too, which is done once; it counts only where there are not two others.
    """
    means = [(fmean(tables for tables, _ in now), fmean(seconds for _, seconds in now)) for now in rounds]
    (few, short), (many, long) = means[-2] if means[2:] else means[0], means[-1]
    if many == few:
        return Cost(0.0, long / many, 0, 0.0, True)
    table = max(0.0, (long - short) / (many - few))
    return Cost(max(0.0, long - table * many), table, 0, 0.0, True)
