"""Computes the course of a run over time: the ranks of the bots, the scores of pairs, and the chips at a table."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from host.base.grouping import grouped
from host.games.engine import Game, Scores
from host.inspect.table_replays import ReplayedTable
from host.journal.check import reject_corrupt
from host.journal.reader import Packed, decompress_scores
from host.play.fixture_id import FixtureId, group_of
from host.play.records import Fixture, Record, Result
from host.rating.evidence import sure_by_wins
from host.rating.rankings import Ranking
from host.rating.statistics import wilson, wilson_tables
from host.results.early_order import EarlyOrder, pairs_met
from host.results.standings import PairResult
from host.stages import results_of
from host.stages.kind import StageConfig

MAX_LINE_POINTS = 40  # most points of a line
FEWEST = 3  # fewest fixtures of which a line is drawn
MAX_HEAD_TO_HEADS = 66  # most pairs that have a page: all pairs of twelve bots


Scored = Callable[[str], tuple[Fixture, Game, Packed]]
"""A function that returns the fixture with a path, its game, and its compressed scores: `Anonymizer.scored`."""


class Ranks(NamedTuple):
    """Ranks of each bot at several moments of a stage."""

    unit: str  # the unit of `after`: "fixtures", "tourneys" or "rounds"
    after: tuple[int, ...]  # for each moment, the number of units that have ended
    of: Mapping[str, tuple[int | None, ...]]  # by bot: its rank at each moment; None before its first fixture


class Point(NamedTuple):
    """Score of a pair after a number of tables or tourneys: the share that the first bot won, and its 95 % interval."""

    tables: int
    rate: float
    low: float
    high: float


class Won(NamedTuple):
    """Number of tables at which a bot played, and number of them that it won."""

    tables: int
    wins: float


class HeadToHead(NamedTuple):
    """Results of two bots against each other, and the score between them over time, as the first bot sees it."""

    bots: tuple[str, str]
    pair: PairResult
    points: tuple[Point, ...]
    seats: tuple[Won, ...]  # by the seat of the first bot; empty if unknown or still secret
    scores: tuple[int, int] | None  # the total score of each bot; None with more than two bots at a table
    group: str  # the path of the pair's tables; empty if other bots play at its tables, or if they are still secret


class SumsSoFar:
    """Order of the bots by the share of tables won (`by_rate`), or by their mean scores (see `score_rate`)."""

    def __init__(self, by_rate: bool, tourneys: bool) -> None:
        self._by_rate, self._tourneys, self._sums = by_rate, tourneys, dict[str, list[float]]()

    def add(self, record: Record) -> None:
        """Add the results of a fixture."""
        for bot, result in record.results.items():
            if result.tables:
                so_far = self._sums.setdefault(bot, [0.0, 0.0, 0.0])
                so_far[0] += result.wins if self._by_rate else score_rate(result, self._tourneys)
                so_far[1] += result.score if self._by_rate else 0.0  # the score decides between equal rates
                so_far[2] += result.tables if self._by_rate else 1

    def merits(self) -> Mapping[str, Any]:
        """Return a sort key by bot; greater is better."""
        return {bot: (got / of, then / of) for bot, (got, then, of) in self._sums.items()}


class RankedSoFar:
    """Order of the bots by rankings that are computed from all records, for example Elo or the points of a Swiss."""

    def __init__(self, stage: StageConfig, rankings: Sequence[Ranking], bots: Sequence[str]) -> None:
        self._stage, self._rankings, self._bots, self._records = stage, rankings, bots, list[Record]()

    def add(self, record: Record) -> None:
        """Add the results of a fixture."""
        self._records.append(record)

    def merits(self) -> Mapping[str, Any]:
        """Return a sort key by bot; greater is better. Leave out bots that a ranking cannot rank."""
        results = results_of(self._stage, self._records, self._bots)
        found = [ranking.keys(results) for ranking in self._rankings]
        return {bot: tuple(keys[bot] for keys in found) for bot in results.bots if all(bot in keys for keys in found)}


class UntilAllMet(NamedTuple):
    """Order of the bots in a stage in which every two bots meet."""

    early: EarlyOrder  # the order until all pairs have met: by strength
    then: "SumsSoFar | RankedSoFar"  # the order after that

    def add(self, record: Record) -> None:
        """Add the results of a fixture to both orders."""
        self.early.add(record)
        self.then.add(record)

    def merits(self) -> Mapping[str, Any]:
        """Return a sort key by bot; greater is better."""
        return self.early.strengths() if self.early.pairs.missing else self.then.merits()


def ranks(
    records: Sequence[Record],
    unit: str,
    order: SumsSoFar | RankedSoFar | UntilAllMet,
    now: Mapping[str, int],
) -> Ranks | None:
    """Return the ranks over time in a stage; None if there are too few records or moments for a line (FEWEST).

    `records` are in the order in which the fixtures ended. They are added to `order`, which must have none before. With
    the unit "rounds", there are ranks for the end of each round. The last ranks are `now`, the present ranks by bot.
    """
    ends = rounds_end(records) if unit == "rounds" else {count: count for count in marks(len(records))}
    if len(records) < FEWEST or len(ends) < FEWEST - 1:
        return None
    seen = {bot for record in records for bot in record.results}
    places: dict[str, list[int | None]] = {bot: [] for bot in now if bot in seen}
    for count, record in enumerate(records, 1):
        order.add(record)
        if count == len(records):
            for bot, line in places.items():
                line.append(now[bot])
        elif count in ends:
            merits = order.merits()
            best_first = sorted(merits.values(), reverse=True)
            for bot, line in places.items():
                line.append(best_first.index(merits[bot]) + 1 if bot in merits else None)
    return Ranks(unit, tuple(ends.values()), {bot: tuple(line) for bot, line in places.items()})


def rounds_end(records: Sequence[Record]) -> dict[int, int]:
    """Return the number of each round, by the number of records from the first one to the last one of the round."""
    last = {FixtureId.parse(record.path).round or 0: count for count, record in enumerate(records, 1)}
    return {count: number for number, count in sorted(last.items())}


def early_order(stage: StageConfig, records: Sequence[Record], *, complete: bool) -> EarlyOrder:
    """Return an empty order of the bots in some records, for the time until all their pairs have met.

    `complete` says whether all pairs of the stage have met.
    """
    bots = {bot for record in records for bot in record.results}
    return EarlyOrder(stage, bots, len(pairs_met(records)) + (not complete))


def marks(count: int) -> tuple[int, ...]:
    """Return up to MAX_LINE_POINTS whole numbers, evenly spaced, ascending. The last number is `count`."""
    some = min(count, MAX_LINE_POINTS)
    return tuple(count * nth // some for nth in range(1, some + 1))


def score_rate(result: Result, tourneys: bool) -> float:
    """Return a bot's mean score per table of a fixture; if the fixtures are tourneys, its chips at the end."""
    return result.final if tourneys else result.score / result.tables


# Pairs.


def head_to_head(records: Sequence[Record], tourneys: bool) -> dict[tuple[str, str], PairResult]:
    """Return the results of every two bots, by (bot, other bot), in both orders.

    They count how often each bot ended ahead of the other in a fixture (for example a tourney) that both played.
    """
    met: dict[tuple[str, str], list[int]] = {}
    for record in records:
        for pair, (mine, its) in _met(record, tourneys).items():
            so_far = met.setdefault(pair, [0, 0, 0])
            so_far[:] = so_far[0] + 1, so_far[1] + (mine > its), so_far[2] + (mine < its)
    pairs = {}
    for pair, (count, won, lost) in sorted(met.items()):
        drawn = count - won - lost
        sure = sure_by_wins(won, drawn, lost)
        pairs[pair] = PairResult(count, won, drawn, lost, won / count, *wilson(won, count), sure, count)
    return pairs


def _met(record: Record, tourneys: bool) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the results of every two bots in a fixture (see `score_rate`), by (bot, other bot), in both orders.

    Leave out bots that did not play.
    """
    made = {bot: score_rate(result, tourneys) for bot, result in record.results.items() if result.tables}
    return {(one, two): (mine, its) for one, mine in made.items() for two, its in made.items() if one != two}


def is_two_player(records: Sequence[Record]) -> bool:
    """Return whether every fixture has two bots, and at least one table has a winner."""
    by_two = all(len(record.results) == 2 for record in records)
    return by_two and any(result.wins for record in records for result in record.results.values())


def pair_timelines(
    scored: Scored, pairs: Mapping[tuple[str, str], PairResult], records: Sequence[Record], shown: bool, tourneys: bool
) -> tuple[HeadToHead, ...]:
    """Return the scores over time of the first MAX_HEAD_TO_HEADS pairs, in the order of `pairs`.

    Read the scores of single tables only if `shown`, which says whether spectators may see them.
    """
    met = grouped((pair, record) for record in records for pair in _met(record, tourneys) if pair[0] < pair[1])
    chosen = [pair for pair in pairs if pair in met][:MAX_HEAD_TO_HEADS]
    if not is_two_player(records):
        return tuple(_among(pair, pairs[pair], met[pair], tourneys) for pair in chosen)
    return tuple(_alone(scored, pair, pairs[pair], met[pair], shown) for pair in chosen)


def _among(pair: tuple[str, str], result: PairResult, met: Sequence[Record], tourneys: bool) -> HeadToHead:
    """Return the results of two bots that met at tables with other bots. Each fixture counts as one game."""
    made = [_met(record, tourneys)[pair] for record in met]
    return HeadToHead(pair, result, _points([Won(1, mine > its) for mine, its in made], result), (), None, "")


def _alone(scored: Scored, pair: tuple[str, str], result: PairResult, met: Sequence[Record], shown: bool) -> HeadToHead:
    """Return the results of two bots that met at tables without other bots, in the order of the tables."""
    met = sorted(met, key=lambda record: _first(record.path))
    mine, its = (sum(record.results[bot].score for record in met) for bot in pair)
    steps = [Won(record.results[pair[0]].tables, record.results[pair[0]].wins) for record in met]
    seats: tuple[Won, ...] = ()
    group = group_of(met[0].path) if shown else ""
    if shown:
        tallies = [_tallied(scored, record.path, pair[0], -(-MAX_LINE_POINTS // len(met))) for record in met]
        seats = tuple(_sum(piece[seat] for tally in tallies for piece in tally) for seat in (0, 1))
        steps = [_sum(piece) for tally in tallies for piece in tally]
    return HeadToHead(pair, result, _points(steps, result), seats, (mine, its), group)


def _tallied(scored: Scored, path: str, bot: str, pieces: int) -> tuple[tuple[Won, Won], ...]:
    fixture, game, kept = scored(path)
    assert game.winners is not None
    with reject_corrupt(kept.journal):
        place = fixture.bots.index(bot)
    return _tally(game.winners, place, fixture.first, pieces, kept)


@lru_cache(maxsize=2048)
def _tally(
    winners: Callable[[Scores], tuple[int, ...]], place: int, first: int, pieces: int, kept: Packed
) -> tuple[tuple[Won, Won], ...]:
    """Divide the tables of a fixture of two bots into at most `pieces` parts. Return a bot's wins by part and seat.

    `place` is the index of the bot in the fixture, and `first` the number of the first table. The bots change seats
    after each table, as in `table_plans.independent`. `kept` are the compressed scores.
    """
    scores = decompress_scores(kept)
    some = min(pieces, len(scores))
    edges = [len(scores) * nth // some for nth in range(some + 1)]
    tally = []
    for start, end in pairwise(edges):
        by_seat = [Won(0, 0), Won(0, 0)]
        for turn in (0, 1):  # every other table
            counts = Counter(scores[start + turn : end : 2])
            seat = (place + first + start + turn - 1) % 2
            by_seat[seat] = Won(counts.total(), sum(count for score, count in counts.items() if seat in winners(score)))
        tally.append((by_seat[0], by_seat[1]))
    return tuple(tally)


def _sum(some: Iterable[Won]) -> Won:
    tables, wins, *_ = map(sum, zip(*some, strict=True))
    return Won(round(tables), wins)


def _points(steps: Sequence[Won], result: PairResult) -> tuple[Point, ...]:
    """Return the share of tables won after each step, but at most MAX_LINE_POINTS points.

    `steps` are the results of parts of the tables, in order. Each table has the weight that gives the last point the
    same interval as `result`, the result of all tables.
    """
    after, tables, wins = marks(len(steps)), 0, 0.0
    weight = result.tables / wilson_tables(result.rate, (result.low, result.high))
    points = []
    for count, step in enumerate(steps, 1):
        tables, wins = tables + step.tables, wins + step.wins
        if count in after:
            points.append(Point(tables, wins / tables, *wilson(wins / weight, tables / weight)))
    return tuple(points)


def _first(path: str) -> int:
    """Return the number of a fixture's first table, from its path; 0 if the path has none."""
    return FixtureId.parse(path).first_table or 0


# Chips.


class Chips(NamedTuple):
    """Chips of each bot at the start of each round of a table, and at its end."""

    table: str  # the name of the table
    rounds: tuple[int, ...]  # the number of the round at each of these moments
    of: tuple[tuple[str, tuple[int, ...]], ...]  # by seat: the bot, and its chips at each moment; 0 if it is out


def chips(table: ReplayedTable) -> Chips | None:
    """Return the chips of each bot by round; None for a game that does not report chips."""
    if not table.game.display.chips_by_round:
        return None
    looks = [facts for ev, facts in table.events if ev in ("round.start", "table.end") and "round" in facts]
    held = [dict(zip(look["seats"], look["chips"], strict=True)) for look in looks]
    lines = tuple((bot, tuple(at.get(seat, 0) for at in held)) for seat, bot in enumerate(table.sitting.bots))
    return Chips(table.sitting.path, tuple(look["round"] for look in looks), lines)
