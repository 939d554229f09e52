"""The input of a ranking: records as their stage counts them, the independent units of luck in them, and wins by meeting.

Tables that share a deal (`mirror`) are not independent. They are joined into one unit, or the variance of their wins is
computed from the squares in the records.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from host.play.fixture_id import FixtureId
from host.play.lines import NO_LINE, lines_of, may_repeat, repeats_in
from host.play.records import Record, Result
from host.rating.results import PairedRound, Sampling
from host.rating.runoff import RunOff
from host.rating.statistics import Won, ratio_units, spread
from host.rating.strength import Ratings, TableOrder, ratings

Units = dict[Hashable, float]
"""Independent results of one bot, by tourney, table or fixture."""


@dataclass(frozen=True)
class Results:
    """The input of a ranking: the records as their stage counts them, in the order of their paths."""

    records: Sequence[Record]
    bots: Sequence[str]  # that have played
    sampling: Sampling
    mirror: bool = False  # whether tables share their deals
    rounds: Sequence[PairedRound] = ()  # if every bot plays one set in each

    def of(self, bot: str) -> list[Result]:
        """Return the result of a bot in each of its fixtures."""
        return [record.results[bot] for record in self.records_of(bot)]

    def records_of(self, bot: str) -> Sequence[Record]:
        """Return the records of a bot's fixtures."""
        return self._by_bot.get(bot, ())

    @cached_property
    def _by_bot(self) -> Mapping[str, Sequence[Record]]:
        found: dict[str, list[Record]] = {}
        for record in self.records:
            for bot in record.results:
                found.setdefault(bot, []).append(record)
        return found

    @cached_property
    def wins(self) -> Mapping[frozenset[str], Mapping[str, Won]]:
        """The wins of each bot at the tables of each set of bots."""
        met: dict[frozenset[str], list[Record]] = {}
        for record in self.records:
            met.setdefault(frozenset(record.results), []).append(record)
        return {who: {bot: won_in(some, bot, len(who)) for bot in some[0].results} for who, some in met.items()}

    @cached_property
    def meetings(self) -> Mapping[str, Mapping[frozenset[str], Won]]:
        """The same wins by bot."""
        found: dict[str, dict[frozenset[str], Won]] = {bot: {} for bot in self._by_bot}
        for who, wins in self.wins.items():
            for bot, won in wins.items():
                found[bot][who] = won
        return found

    @cached_property
    def strengths(self) -> Ratings:
        """The strengths of all bots in Elo, for the values and for the comparisons."""
        return ratings(orders(self), evidence(self))

    @cached_property
    def run_off(self) -> RunOff:
        """The instant run-off of all tables."""
        return RunOff(orders(self), self.bots, evidence(self))


def orders(results: Results) -> dict[TableOrder, float]:
    """Return how often the bots of a table ended in each order.

    With two bots the wins decide. Tables that share deals are weighted by their information: each counts as 1 / spread
    independent tables. With more bots the scores decide: at each table if the records have them, otherwise in each
    fixture, for example a whole tourney.
    """
    return _orders(results, lambda _who: 1.0)


def evidence(results: Results) -> dict[TableOrder, float] | None:
    """Return the same with repeated tables as one each; None if no table repeats another."""
    per_unit = {who: max(won.per_unit for won in wins.values()) for who, wins in results.wins.items()}
    return None if max(per_unit.values(), default=1.0) == 1.0 else _orders(results, per_unit.__getitem__)


def _orders(results: Results, per_unit: Callable[[frozenset[str]], float]) -> dict[TableOrder, float]:
    found = dict[TableOrder, float]()
    for who, wins in results.wins.items():
        if len(who) == 2:
            one, other = sorted(who)
            ours, theirs = wins[one], wins[other]
            drawn, weight = ours.tables - ours.wins - theirs.wins, ours.spread * per_unit(who)
            found[(one,), (other,)] = ours.wins / weight
            found[(other,), (one,)] = theirs.wins / weight
            found[((one, other),)] = drawn / weight
    for record in results.records:
        if len(record.results) < 3:  # most records are of two bots
            continue
        playing = [bot for bot, result in record.results.items() if result.tables]
        if len(playing) < 3:
            continue
        if record.scores and not results.sampling.by_fixture:
            tables = [*zip(*(_scores(record, bot) for bot in playing), strict=True)]
        else:
            tables = [tuple(_worth(results.sampling, record.results[bot]) for bot in playing)]
        counts = 1 / per_unit(frozenset(record.results))
        for scores in tables:
            order = _by_score(dict(zip(playing, scores, strict=True)))
            found[order] = found.get(order, 0.0) + counts
    return found


def _by_score(scores: Mapping[str, float]) -> TableOrder:
    """Return bots in the order of their scores; bots with equal scores are equal."""
    best_first = sorted(scores, key=lambda bot: (-scores[bot], bot))
    return tuple(tuple(equal) for _, equal in groupby(best_first, key=scores.__getitem__))


def units_of(results: Results, bot: str) -> Units:
    """Return the gains and losses of a bot in independent units; their mean is its score."""
    mine, mirror = results.records_of(bot), results.mirror
    if results.sampling.by_fixture:
        worth: Units = {record.path: _worth(results.sampling, record.results[bot]) for record in mine}
        return _by_deal(worth, mine, mirror)
    if all(record.scores for record in mine):
        units: dict[Hashable, list[float]] = {}
        for record in mine:
            for unit, score in _tables(record, bot, mirror):
                units.setdefault(unit, []).append(score)
        return _joined(units)
    scores = [record.results[bot].score for record in mine]
    values = ratio_units(scores, [record.results[bot].tables for record in mine])
    return {record.path: value for record, value in zip(mine, values, strict=True)}


def _worth(sampling: Sampling, result: Result) -> int:
    """Return the score of a bot in a fixture; in a tourney, its chips at the end."""
    return result.final if sampling.unit == "tourney" else result.score


def advances(records: Sequence[Record], bot: str, mirror: bool) -> Units:
    """Return how much a bot advanced in each game of its groups: 0 to 1, a part if equals share a place."""
    mine = [record for record in records if bot in record.results]
    return _by_deal({record.path: record.results[bot].wins for record in mine}, mine, mirror)


def _by_deal(values: Units, records: Sequence[Record], mirror: bool) -> Units:
    """Return values by independent unit: by fixture, or with `mirror` by deal, because mirrored fixtures share one."""
    if not mirror:
        return values
    deals: dict[Hashable, list[float]] = {}
    for record in records:
        deals.setdefault(deal_of(record), []).append(values[record.path])
    return _joined(deals)


def deal_of(record: Record) -> Hashable:
    """Identify the deal of a mirrored fixture. As many successive fixtures share a deal as there are bots."""
    place = FixtureId.parse(record.path)
    return place.group, ((place.first_table or 1) - 1) // len(record.results)


def _tables(record: Record, bot: str, mirror: bool) -> Iterator[tuple[Hashable, int]]:
    """Yield the unit of each table of a fixture and a bot's score there.

    With `mirror`, tables that share a deal are one unit. Tables, or deals, that are repeated are one unit, too.
    """
    place, lines = FixtureId.parse(record.path), lines_of(record)
    first, size = (place.first_table or 1) - 1, len(record.results) if mirror else 1
    for table, score in enumerate(_scores(record, bot)):
        deal = (first + table) // size
        start = deal * size - first
        of_deal = tuple(lines[max(start, 0) : start + size])
        yield of_deal if of_deal and NO_LINE not in of_deal else (place.group, deal), score


def _joined(deals: Mapping[Hashable, Sequence[float]]) -> Units:
    """Return one value per deal; their mean is the mean of all values. The last deal may be incomplete."""
    parts = deals.values()
    if all(len(part) == 1 for part in parts):
        return {deal: part[0] for deal, part in deals.items()}
    return dict(zip(deals, ratio_units([sum(part) for part in parts], [len(part) for part in parts]), strict=True))


def _scores(record: Record, bot: str) -> list[int]:
    """Return a bot's score at each table of a fixture played by plan `independent` or `mirrored`.

    In these plans the seats rotate from table to table. The order of `results` is the seating at the first table.
    """
    seats = list(record.results)
    seat = seats.index(bot)
    return [scores[(seat - table) % len(seats)] for table, scores in enumerate(record.scores)]


def won_in(records: Sequence[Record], bot: str, seats: int) -> Won:
    """Return the wins of a bot in fixtures with the same bots; `seats` is their number."""
    results = [record.results[bot] for record in records]
    per_unit = repeats_in(records).per_unit if may_repeat(records) else 1.0
    if len(results) == 1 and not results[0].squares:  # as below, in a third of the time: most pairs play one fixture
        return Won(results[0].tables, results[0].wins, 1.0, per_unit)
    tables, squares, wins = 0, 0, sum(result.wins for result in results)
    for result in results:
        tables, squares = tables + result.tables, squares + result.squares
    return Won(tables, wins, spread(tables, wins, squares, seats, per_unit) if squares else 1.0, per_unit)
