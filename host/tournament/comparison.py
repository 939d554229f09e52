"""Compares a new bot with an old one: they play until a sequential test (GSPRT) decides."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from host.games.engine import Game
from host.play.jobs import Job
from host.play.lines import Repeats, repeats_in
from host.play.records import Fixture, Record
from host.play.table_plans import table_setups
from host.rating.evidence import Evidence, Meeting
from host.rating.statistics import (
    ALPHA,
    Elo,
    Interval,
    Verdict,
    elo_of,
    sequential_mean,
    sequential_points,
    student_quantile,
)
from host.stages.kind import block_size, blocks, meeting_path, shares_deals
from host.tournament.adhoc import AdhocSession

DUEL = "duel"  # the name of its stage
FIRST_TEST_TABLES = 80  # tables before the first test
AHEAD = {"new": 1.0, "old": -1.0}
GROWTH = 4  # a batch has a fourth of the number of all tables before it


class SequentialTest(NamedTuple):
    """The test of a comparison: two hypotheses in Elo, the most tables, and the probability of a wrong decision."""

    bounds: tuple[float, float] = (0.0, 10.0)
    max_tables: int = 50_000
    error: float = ALPHA


class Comparison(NamedTuple):
    """The results of two sides after some tables. All tables that share a deal count as one result.

    `lead` is the sum of the first side's lead at each table. `squares` and `cubes` are sums over deals of the second and
    the third power of the first side's mean lead in the deal. `leads` and `aheads` are sums over fixtures of the square
    of the first side's lead in the fixture (`leads`), or of its tables won minus lost there (`aheads`), each divided by
    the number of deals in the fixture.
    """

    tables: int = 0
    won: int = 0
    drawn: int = 0
    lost: int = 0
    lead: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    repeats: Repeats = Repeats()
    deals: int = 0
    points: Mapping[float, int] = MappingProxyType({})
    """Number of deals, by the first side's mean points at a table of the deal: 1 for a win, 0.5 for a draw."""
    by_wins: bool = True  # whether tables are won, or scores alone decide
    fixtures: int = 0
    leads: float = 0.0
    aheads: float = 0.0

    def after(self, deal: "Sequence[TableResult]") -> "Comparison":
        """Return the results after one more deal."""
        ahead, lead = [table.ahead for table in deal], sum([table.lead for table in deal])
        points = (1 + sum(ahead) / len(deal)) / 2
        return self._replace(
            tables=self.tables + len(deal),
            won=self.won + ahead.count(1),
            drawn=self.drawn + ahead.count(0),
            lost=self.lost + ahead.count(-1),
            lead=self.lead + lead,
            squares=self.squares + (lead / len(deal)) ** 2,
            cubes=self.cubes + (lead / len(deal)) ** 3,
            deals=self.deals + 1,
            points={**self.points, points: self.points.get(points, 0) + 1},
        )

    @property
    def mean(self) -> float:
        """Return the mean lead of the first side at a table."""
        return self.lead / self.tables

    @property
    def deviation(self) -> float:
        """Return the standard deviation, over deals, of the mean lead in a deal."""
        variance = (self.squares - self.deals * self.mean**2) / max(1, self.deals - 1)
        return math.sqrt(max(0.0, variance))

    @property
    def skewness(self) -> float:
        """Return the skewness, over deals, of the mean lead in a deal."""
        mean, deviation = self.mean, self.deviation
        third = self.cubes / self.deals - 3 * mean * self.squares / self.deals + 2 * mean**3
        return third / deviation**3 if deviation else 0.0

    @property
    def evidence(self) -> Evidence:
        """Return the evidence about tables won minus lost, or about the lead if scores alone decide."""
        return self._evidence_of_wins if self.by_wins else self._evidence_of_leads

    @property
    def _evidence_of_wins(self) -> Evidence:
        each = self.tables / self.deals
        squares = sum([times * ((2 * points - 1) * each) ** 2 for points, times in self.points.items()])
        return self._evidence(self.won - self.lost, squares, self.aheads)

    @property
    def _evidence_of_leads(self) -> Evidence:
        return self._evidence(self.lead, self.squares * (self.tables / self.deals) ** 2, self.leads)

    def _evidence(self, total: float, squares: float, between: float) -> Evidence:
        """Return the evidence about a difference between the two sides. Each side gets half of it, with opposite signs.

        `total` is the sum of the difference over all tables. `squares` is the sum of its squares over deals. `between`
        is the sum of its squares over fixtures, each divided by the number of deals in the fixture.
        """
        rows = (squares / 4, -squares / 4), (-squares / 4, squares / 4)
        return Evidence(
            [
                Meeting(
                    bots=("new", "old"),
                    size=self.tables,
                    units=self.deals,
                    totals=(total / 2, -total / 2),
                    products=rows,
                    fixtures=self.fixtures,
                    between=between / 2,
                    repeats=self.repeats.per_unit,
                )
            ]
        )

    @property
    def sure(self) -> float:
        """Return the probability (0 to 1) that the first side is ahead, if the number of tables was fixed before."""
        return self.evidence.sure(AHEAD)

    @property
    def units(self) -> float:
        """Return the number of independent deals: fewer if tables repeat others, or if bots remember earlier tables."""
        return self.deals / self.repeats.per_unit / self.evidence.effect.factor

    @property
    def counted(self) -> dict[float, float]:
        """Return `points`, the highest first, with the numbers of deals scaled so that their sum is `units`."""
        part = self.units / self.deals
        return {points: times * part for points, times in sorted(self.points.items(), reverse=True)}

    @property
    def elo(self) -> Elo:
        """Return the difference in Elo, first side minus other side, from the tables won."""
        return elo_of([*self.counted.items()])

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the mean lead at a table."""
        lead = self._evidence_of_leads.lead(AHEAD)
        half = student_quantile(lead.freedom) * math.sqrt(lead.variance)
        return Interval(self.mean - half, self.mean + half)

    def verdict(self, bounds: tuple[float, float], error: float = ALPHA) -> Verdict:
        """Return the state of the test: by wins, or by the lead at each table if a game has no winners."""
        if self.by_wins:
            return sequential_points(self.counted, bounds, error)
        return sequential_mean(self.units, self.mean, self.deviation, bounds, error, self.skewness)


class TableResult(NamedTuple):
    """Result of a table for the first side: its lead in points, and 1, 0 or -1 for a win, a draw or a loss."""

    lead: float
    ahead: int


def sides(game: Game) -> int:
    """Return the number of seats for each side: one, or more if a game needs more than two bots."""
    return -(-game.seats[0] // 2)


def batches(most: int, deal: int = 1) -> Iterator[tuple[int, int]]:
    """Yield (number of the first table, number of tables) for each batch. Batches grow, so that a few are enough.

    `deal` is the number of tables that share a deal. Such tables stay in one batch. The total is `most`, rounded down
    to complete deals, but at least one deal.
    """
    first, most = 1, max(deal, most - most % deal)
    while first <= most:
        size = max(FIRST_TEST_TABLES, (first - 1) // GROWTH)
        size = min(size + -size % deal, most - first + 1)
        yield first, size
        first += size


async def run_comparison(
    session: AdhocSession, game: Game, test: SequentialTest, on_batch: Callable[[Comparison, Verdict], None]
) -> Comparison:
    """Play the new side against the old side, with rotating seats. Call `on_batch` after every batch.

    Each batch is played completely before the test uses it, so the end does not depend on the speed of the bots. The
    comparison also ends if a whole batch repeats earlier tables, because more such tables would decide nothing.
    """
    names = [bot.name for bot in session.bots]
    pool = session.pool
    whole = session.blank._replace(path=meeting_path(session.stage, names), bots=tuple(names))
    duel, played = Comparison(), list[Record]()
    for first, size in batches(test.max_tables, len(names) if shares_deals(session.blank) else 1):
        share = block_size(session.stage, size, 1, least=1)
        due = {fixture.path: fixture for fixture in blocks(whole._replace(first=first, tables=size), share)}
        for fixture in due.values():
            await pool.submit(Job(fixture))
        for _ in due:
            record = await pool.next_result()
            fixture = due[record.path]
            session.journal.add(DUEL, record, fixture)
            duel = add_result(duel, game, fixture, session.seed, record)
            played.append(record.summary())
        before, duel = duel.repeats.different, duel._replace(repeats=repeats_in(played))
        verdict = duel.verdict(test.bounds, test.error)
        on_batch(duel, verdict)
        if verdict.accepted or duel.repeats.different == before:
            break
    return duel


def add_result(duel: Comparison, game: Game, fixture: Fixture, seed: bytes, record: Record) -> Comparison:
    """Return the results after one more fixture. The bots at even indexes of the fixture belong to the first side."""
    new, before = set(fixture.bots[::2]), duel
    deals: dict[str, list[TableResult]] = {}
    for sitting, scores in zip(table_setups(fixture, seed, record.scores), record.scores, strict=True):
        mine = [bot in new for bot in sitting.bots]
        lead = sum([score if is_ours else -score for score, is_ours in zip(scores, mine, strict=True)])
        deals.setdefault(sitting.luck or sitting.path, []).append(TableResult(lead, _ahead(game, scores, mine, lead)))
    for deal in deals.values():
        duel = duel.after(deal)
    ahead = duel.won - before.won - (duel.lost - before.lost)
    return duel._replace(
        by_wins=game.winners is not None,
        fixtures=duel.fixtures + 1,
        leads=duel.leads + (duel.lead - before.lead) ** 2 / len(deals),
        aheads=duel.aheads + ahead**2 / len(deals),
    )


def _ahead(game: Game, scores: Sequence[int], mine: Sequence[bool], by: float) -> int:
    """Return 1 if only the first side won a table, -1 if only the other won it, 0 if both or neither did.

    If the game has no winners, return the sign of `by`, the first side's lead.
    """
    if game.winners is None:
        return (by > 0) - (by < 0)
    winners = {mine[seat] for seat in game.winners(tuple(scores))}
    return 0 if len(winners) != 1 else 1 if True in winners else -1
