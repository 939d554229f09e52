"""The input of a ranking: records as their stage counts them, and the evidence in them (evidence.py).

Tables that share a deal (`mirror`) are one unit. If the units of a stage are whole fixtures, fixtures that share a deal
are one unit.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import groupby
from typing import Literal

from host.base.grouping import grouped
from host.play.fixture_id import FixtureId
from host.play.lines import may_repeat, repeats_in
from host.play.records import Record, Result
from host.rating.evidence import Evidence, Meeting
from host.rating.results import PairedRound, Sampling, Sums
from host.rating.runoff import RunOff
from host.rating.statistics import ratio_units
from host.rating.strength import Ratings, TableOrder, ratings

What = Literal["wins", "score"]


@dataclass(frozen=True)
class Results:
    """The input of a ranking: the records as their stage counts them, in the order of their paths."""

    records: Sequence[Record]
    bots: Sequence[str]  # that have played
    sampling: Sampling
    mirror: bool = False  # whether tables share their deals
    rounds: Sequence[PairedRound] = ()  # if every bot plays one set in each

    def of(self, bot: str) -> list[Result]:
        """Return the results of a bot, one for each of its fixtures, in the order of `records`."""
        return [record.results[bot] for record in self._by_bot.get(bot, ())]

    @cached_property
    def sums(self) -> Mapping[str, Sums]:
        """Return the sums of the results of each bot, by bot."""
        return {bot: reduce(Sums.plus, self.of(bot), Sums()) for bot in self.bots}

    @cached_property
    def _by_bot(self) -> Mapping[str, Sequence[Record]]:
        return grouped((bot, record) for record in self.records for bot in record.results)

    @cached_property
    def _met(self) -> Sequence[Sequence[Record]]:
        """Return the records of each set of bots that have played tables, one list for each set."""
        played = (each for each in self.records if any(result.tables for result in each.results.values()))
        return [*grouped((frozenset(record.results), record) for record in played).values()]

    def _evidence(self, what: What) -> Evidence:
        if self.sampling.by_fixture:
            return Evidence([_of_fixtures(met, what, self.sampling, self.mirror) for met in self._met])
        return Evidence([meeting_of(met, what) for met in self._met])

    @cached_property
    def wins(self) -> Evidence:
        """Return the evidence about the share of tables won, or of games in which a bot advanced."""
        return self._evidence("wins")

    @cached_property
    def scores(self) -> Evidence:
        """Return the evidence about the mean scores."""
        return self._evidence("score")

    @cached_property
    def strengths(self) -> Ratings:
        """Return the strengths of all bots in Elo, for the values and for the comparisons."""
        return ratings(orders(self), evidence(self))

    @cached_property
    def run_off(self) -> RunOff:
        """Return the instant run-off of all tables."""
        return RunOff(orders(self), self.bots, evidence(self))


def meeting_of(records: Sequence[Record], what: What) -> Meeting:
    """Return the meeting of fixtures with the same bots. Its units are tables, or groups of tables that share a deal."""
    bots = tuple(sorted(records[0].results))
    sums = [_sums(record, bots, what) for record in records]
    return Meeting(
        bots=bots,
        size=sum([record.results[bots[0]].tables for record in records]),
        units=sum([units for units, _, _, _ in sums]),
        totals=tuple([sum(column) for column in zip(*[totals for _, totals, _, _ in sums], strict=True)]),
        products=_added([products for _, _, products, _ in sums]),
        fixtures=len(records),
        between=sum([between for _, _, _, between in sums]),
        repeats=_repeats(records),
    )


Products = tuple[tuple[float, ...], ...]


def _added(several: Sequence[Products]) -> Products:
    """Return the sum of some matrices."""
    if len(several) == 1:
        return several[0]
    return tuple([tuple(map(sum, zip(*rows, strict=True))) for rows in zip(*several, strict=True)])


def _sums(record: Record, bots: Sequence[str], what: What) -> tuple[int, tuple[float, ...], Products, float]:
    """Return the number of units of a fixture, and its part of `totals`, `products` and `between` of a Meeting."""
    results = [record.results[bot] for bot in bots]
    totals = tuple([float(getattr(result, what)) for result in results])
    units = results[0].units or results[0].tables
    known = [result.wins_with if what == "wins" else result.scores_with for result in results]
    products: Products
    if all(known):
        place = {bot: nth for nth, bot in enumerate(record.results)}
        columns = [place[bot] for bot in bots]
        products = tuple([tuple([row[column] for column in columns]) for row in known])
    elif what == "wins":
        products = tuple(
            [tuple([total if nth == at else 0.0 for nth in range(len(bots))]) for at, total in enumerate(totals)]
        )
    else:  # only the sum is known
        units, products = 1, tuple([tuple([one * other for other in totals]) for one in totals])
    return units, totals, products, sum([total * total for total in totals]) / max(1, units)


def _of_fixtures(records: Sequence[Record], what: What, sampling: Sampling, mirror: bool) -> Meeting:
    """Return the meeting of fixtures that are units. With `mirror`, the fixtures that share a deal are one unit."""
    bots = tuple(sorted(records[0].results))
    deals = grouped((deal_of(record) if mirror else record.path, record) for record in records)
    values = [
        tuple(
            ratio_units(
                [_value(what, sampling, [record.results[bot] for record in some]) for some in deals.values()],
                [len(some) for some in deals.values()],
            )
        )
        for bot in bots
    ]
    totals = tuple(map(sum, values))
    return Meeting(bots, len(deals), len(deals), totals, values=tuple(values), repeats=_repeats(records))


def _repeats(records: Sequence[Record]) -> float:
    return repeats_in(records).per_unit if may_repeat(records) else 1.0


def _value(what: What, sampling: Sampling, results: Iterable[Result]) -> float:
    return float(sum([result.wins if what == "wins" else _worth(sampling, result) for result in results]))


def orders(results: Results) -> dict[TableOrder, float]:
    """Return the number of tables at which the bots ended in each order, by order.

    With two bots the wins decide. With more bots the scores decide: at each table if the records have them, otherwise in
    each fixture, for example a whole tourney.
    """
    return _orders(results, {})


def evidence(results: Results) -> dict[TableOrder, float]:
    """Return the numbers of `orders`, in independent tables: the information of a table decides how much it counts.

    Tables of two bots count as more if some are drawn or share their deals: their results vary less than those of
    tables that are won or lost. They count as fewer if they repeat others, or if bots remember events of a fixture.
    """
    weights = {frozenset(met.bots): met.repeats * results.scores.effect.factor for met in results.scores.meetings}
    return _orders(results, weights | {frozenset(bots): weight for bots, weight in results.wins.weights().items()})


def _orders(results: Results, weights: Mapping[frozenset[str], float]) -> dict[TableOrder, float]:
    found = dict[TableOrder, float]()
    for record in results.records:
        who = frozenset(record.results)
        counts = 1 / weights.get(who, 1.0)
        if len(who) == 2:  # most records are of two bots
            (one, ours), (other, theirs) = sorted(record.results.items())
            drawn = ours.tables - ours.wins - theirs.wins
            ended: tuple[tuple[TableOrder, float], ...] = (
                (((one,), (other,)), ours.wins),
                (((other,), (one,)), theirs.wins),
                (((one, other),), drawn),
            )
            for order, times in ended:
                found[order] = found.get(order, 0.0) + times * counts
            continue
        playing = [bot for bot, result in record.results.items() if result.tables]
        if len(playing) < 3:
            continue
        if record.scores and not results.sampling.by_fixture:
            tables = [*zip(*(_scores(record, bot) for bot in playing), strict=True)]
        else:
            tables = [tuple(_worth(results.sampling, record.results[bot]) for bot in playing)]
        for scores in tables:
            order = _by_score(dict(zip(playing, scores, strict=True)))
            found[order] = found.get(order, 0.0) + counts
    return found


def _by_score(scores: Mapping[str, float]) -> TableOrder:
    """Return bots in the order of their scores, best first; bots with equal scores form a group."""
    best_first = sorted(scores, key=lambda bot: (-scores[bot], bot))
    return tuple(tuple(equal) for _, equal in groupby(best_first, key=scores.__getitem__))


def _worth(sampling: Sampling, result: Result) -> int:
    """Return the score of a bot in a fixture; in a tourney, its chips at the end."""
    return result.final if sampling.unit == "tourney" else result.score


def deal_of(record: Record) -> Hashable:
    """Return a key of the deal of a mirrored fixture. Successive fixtures share a deal, in groups of the number of bots."""
    place = FixtureId.parse(record.path)
    return place.group, ((place.first_table or 1) - 1) // len(record.results)


def _scores(record: Record, bot: str) -> list[int]:
    """Return a bot's score at each table of a fixture played by plan `independent` or `mirrored`.

    In these plans the seats rotate from table to table. The order of `results` is the seating at the first table.
    """
    seats = list(record.results)
    seat = seats.index(bot)
    return [scores[(seat - table) % len(seats)] for table, scores in enumerate(record.scores)]
