"""Is the new bot better than the old one? They play until a sequential test is sure, and no longer."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from host.games.engine import Game
from host.play.records import Fixture, Job, Record
from host.play.table_plans import table_setups
from host.tournament.adhoc import AdhocSession
from host.tournament.stage_runner import benched, fixture_metadata
from host.tournament.stages import stages_to_json
from host.tournament.stages.adhoc import Adhoc
from host.tournament.stages.kind import BLOCK, blocks, contestants
from host.tournament.statistics import Elo, Interval, Verdict, Z, elo_between, sequential, sequential_mean

FIRST = 80  # tables that are played before anybody asks who is better
GROWTH = 4  # a batch is a fourth of all tables before it
SHARES = 8  # fixtures of a batch, whatever the workers, so that all of them have work


class Comparison(NamedTuple):
    """How two sides stand after some tables; `lead` and `squares` sum what the first was ahead by at each."""

    tables: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    lead: float = 0.0
    squares: float = 0.0

    def after(self, ours: float, theirs: float, ahead: int) -> "Comparison":
        """Return how they stand after one more table, whose scores they are; `ahead` is 1, 0 or -1."""
        tables, won, drawn, lost, lead, squares = self
        by = ours - theirs
        return Comparison(
            *(tables + 1, won + (ahead > 0), drawn + (ahead == 0), lost + (ahead < 0)), lead + by, squares + by * by
        )

    @property
    def mean(self) -> float:
        """By how much the first is ahead at a table."""
        return self.lead / self.tables

    @property
    def deviation(self) -> float:
        """The standard deviation of that, from table to table."""
        variance = (self.squares - self.lead * self.mean) / max(1, self.tables - 1)
        return math.sqrt(max(0.0, variance))

    @property
    def elo(self) -> Elo:
        """By how much the first is stronger, by its wins."""
        return elo_between(self.won, self.drawn, self.lost)

    @property
    def interval(self) -> Interval:
        """Where the true mean lies, 95 % sure."""
        half = Z * self.deviation / math.sqrt(self.tables)
        return Interval(self.mean - half, self.mean + half)

    def verdict(self, game: Game, bounds: tuple[float, float]) -> Verdict:
        """Return where the test stands: by wins, or by how much a table brought where a game has no winners."""
        if game.winners is None:
            return sequential_mean(self.tables, self.mean, self.deviation, bounds)
        return sequential(self.won, self.drawn, self.lost, bounds)


def sides(game: Game) -> int:
    """Return how many seats each of the two takes: one, or as many as a game asks for."""
    return -(-game.seats[0] // 2)


def batches(most: int) -> Iterator[tuple[int, int]]:
    """Yield the first table and the size of one batch after another; they grow, so that few of them do."""
    first = 1
    while first <= most:
        size = min(max(FIRST, (first - 1) // GROWTH), most - first + 1)
        yield first, size
        first += size


async def run_comparison(
    friends: AdhocSession,
    game: Game,
    most: int,
    bounds: tuple[float, float],
    told: Callable[[Comparison, Verdict], None],
) -> Comparison:
    """Play a duel: bots in turn of the new and of the old, seats rotating; `told` hears of it after every batch.

    A batch is played whole before anybody looks at it, so that the end does not depend on who plays how fast.
    """
    names = [bot.name for bot in friends.bots]
    group, hands = f"duel/{contestants(names)}", friends.hands
    friends.journal.set_metadata({"stages": stages_to_json(Adhoc(name="duel", tables=most))})
    duel, records = Comparison(), dict[str, Record]()
    for first, size in batches(most):
        share = min(BLOCK, -(-size // SHARES))
        due = {fixture.path: fixture for fixture in blocks(friends.blank, group, names, first + size - 1, share, first)}
        for fixture in due.values():
            await hands.submit(Job(fixture, benched(records)))
        for _ in due:
            record = await hands.next_result()
            records[record.path] = record.summary()
            fixture = due[record.path]
            friends.journal.add("duel", record, fixture_metadata(fixture))
            duel = add_result(duel, game, fixture, friends.seed, record)
        verdict = duel.verdict(game, bounds)
        told(duel, verdict)
        if verdict.accepted:
            break
    return duel


def add_result(duel: Comparison, game: Game, fixture: Fixture, seed: bytes, record: Record) -> Comparison:
    """Return how two sides stand after one more fixture: who is named at an even place belongs to the first."""
    new = set(fixture.bots[::2])
    for sitting, scores in zip(table_setups(fixture, seed, record.scores), record.scores, strict=True):
        mine = [bot in new for bot in sitting.bots]
        ours, theirs = (
            sum(score for score, is_ours in zip(scores, mine, strict=True) if is_ours is side) for side in (True, False)
        )
        duel = duel.after(ours, theirs, _ahead(game, scores, mine, ours - theirs))
    return duel


def _ahead(game: Game, scores: Sequence[int], mine: Sequence[bool], by: float) -> int:
    """Return 1 when a table was the first side's, -1 when it was the other's, 0 when it was both's or nobody's."""
    if game.winners is None:
        return (by > 0) - (by < 0)
    winners = {mine[seat] for seat in game.winners(tuple(scores))}
    return 0 if len(winners) != 1 else 1 if True in winners else -1
