"""Compares a new bot with an old one: they play until a sequential test (GSPRT) decides."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from host.games.engine import Game
from host.play.fixture_id import FixtureId, contestants
from host.play.jobs import Job
from host.play.records import Fixture, Record
from host.play.table_plans import table_setups
from host.rating.statistics import Elo, Interval, Verdict, Z, elo_between, sequential, sequential_mean
from host.results.descriptions import fixture_metadata
from host.stages.kind import MAX_BLOCK_TABLES, blocks
from host.tournament.adhoc import AdhocSession

DUEL = "duel"  # the name of its stage
FIRST_TEST_TABLES = 80  # tables before the first test
GROWTH = 4  # a batch has a fourth of the number of all tables before it
BATCH_FIXTURES = 8  # fixtures in a batch, for any number of workers, so that all of them have work


class Comparison(NamedTuple):
    """The results of two sides after some tables; `lead` and `squares` sum the first side's lead at each table."""

    tables: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    lead: float = 0.0
    squares: float = 0.0

    def after(self, ours: float, theirs: float, ahead: int) -> "Comparison":
        """Return the results after one more table with these scores; `ahead` is 1, 0 or -1."""
        tables, won, drawn, lost, lead, squares = self
        by = ours - theirs
        return Comparison(
            *(tables + 1, won + (ahead > 0), drawn + (ahead == 0), lost + (ahead < 0)), lead + by, squares + by * by
        )

    @property
    def mean(self) -> float:
        """The mean lead of the first side at a table."""
        return self.lead / self.tables

    @property
    def deviation(self) -> float:
        """The standard deviation of the lead from table to table."""
        variance = (self.squares - self.lead * self.mean) / max(1, self.tables - 1)
        return math.sqrt(max(0.0, variance))

    @property
    def elo(self) -> Elo:
        """The Elo difference of the first side above the other, from its wins."""
        return elo_between(self.won, self.drawn, self.lost)

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the mean lead."""
        half = Z * self.deviation / math.sqrt(self.tables)
        return Interval(self.mean - half, self.mean + half)

    def verdict(self, game: Game, bounds: tuple[float, float]) -> Verdict:
        """Return the state of the test: by wins, or by the lead at each table if a game has no winners."""
        if game.winners is None:
            return sequential_mean(self.tables, self.mean, self.deviation, bounds)
        return sequential(self.won, self.drawn, self.lost, bounds)


def sides(game: Game) -> int:
    """Return how many seats each side takes: one, or more if a game needs more than two bots."""
    return -(-game.seats[0] // 2)


def batches(most: int) -> Iterator[tuple[int, int]]:
    """Yield the first table and the size of each batch. Batches grow, so that a few of them are enough."""
    first = 1
    while first <= most:
        size = min(max(FIRST_TEST_TABLES, (first - 1) // GROWTH), most - first + 1)
        yield first, size
        first += size


async def run_comparison(
    session: AdhocSession,
    game: Game,
    most: int,
    bounds: tuple[float, float],
    on_batch: Callable[[Comparison, Verdict], None],
) -> Comparison:
    """Play the bots of the new and the old side in turn, with rotating seats; call `on_batch` after every batch.

    Each batch is played completely before the test looks at it. So the end does not depend on the speed of the bots.
    """
    names = [bot.name for bot in session.bots]
    group, pool = FixtureId(DUEL, meeting=contestants(names)).group, session.pool
    duel = Comparison()
    for first, size in batches(most):
        share = min(MAX_BLOCK_TABLES, -(-size // BATCH_FIXTURES))
        due = {fixture.path: fixture for fixture in blocks(session.blank, group, names, first + size - 1, share, first)}
        for fixture in due.values():
            await pool.submit(Job(fixture))
        for _ in due:
            record = await pool.next_result()
            fixture = due[record.path]
            session.journal.add(DUEL, record, fixture_metadata(fixture))
            duel = add_result(duel, game, fixture, session.seed, record)
        verdict = duel.verdict(game, bounds)
        on_batch(duel, verdict)
        if verdict.accepted:
            break
    return duel


def add_result(duel: Comparison, game: Game, fixture: Fixture, seed: bytes, record: Record) -> Comparison:
    """Return the results after one more fixture; bots at even indexes of the fixture belong to the first side."""
    new = set(fixture.bots[::2])
    for sitting, scores in zip(table_setups(fixture, seed, record.scores), record.scores, strict=True):
        mine = [bot in new for bot in sitting.bots]
        ours, theirs = (
            sum(score for score, is_ours in zip(scores, mine, strict=True) if is_ours is side) for side in (True, False)
        )
        duel = duel.after(ours, theirs, _ahead(game, scores, mine, ours - theirs))
    return duel


def _ahead(game: Game, scores: Sequence[int], mine: Sequence[bool], by: float) -> int:
    """Return 1 if only the first side won a table, -1 if only the other won it, 0 if both or neither did."""
    if game.winners is None:
        return (by > 0) - (by < 0)
    winners = {mine[seat] for seat in game.winners(tuple(scores))}
    return 0 if len(winners) != 1 else 1 if True in winners else -1
