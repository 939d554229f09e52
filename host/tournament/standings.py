"""Who is ahead, by how much, and how sure that is: a stage's standings from its records.

What ranks is said by `rank_by`, whose first word decides:

    games   tables won. The win rate carries its Wilson interval; equals are ranked by the score (hands, chips)
    chips   the mean score: of a whole tourney's end where a fixture is one, of a table elsewhere. Its interval is
            bootstrapped over whole tourneys, or tables where the records still have their scores, or else fixtures
    advances  games of a group in which a bot was among those who advance; then the mean chips, bootstrapped by game

Tables that share a deal (`mirror`) are no independent units: they are joined into one, or their wins' variance is told
by the squares that the records keep.

All tables of a round robin count alike, so who is ranked before it is over is ranked by the rate, not by the sum: a bot
that has played more is not ahead for that. Once all have played as many tables the order is the same.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from host.bots.values import Usage
from host.play.records import Record, Result
from host.tournament.stages import kind_of
from host.tournament.stages.kind import Field, Kind, StageConfig
from host.tournament.statistics import (
    SURE,
    Interval,
    Won,
    mean_interval,
    needed,
    percent,
    ratio_units,
    spread,
    sure_ahead,
    sure_by_wins,
    wilson,
    words,
)

NAMED = 5  # bots in one sentence; of more, the first and the last are named

Units = dict[Hashable, float]
"""Independent results of one bot, by tourney, table or fixture."""

Sure = Callable[[str, str], float | None]
"""Says how sure it is that one bot is ahead of another; None where nothing tells."""


class Row(NamedTuple):
    """One bot's line. What cannot be known yet is None: an interval from a single tourney, say."""

    rank: int  # from 1; equals share it
    bot: str
    language: str
    author: str
    rank_by: tuple[str, ...]  # what ranks, as a stage says it
    tables: int
    wins: float | None  # None where wins do not rank; whole but where equals share a win
    rate: float | None  # of tables won, 0 to 1
    score: float | None  # the sum of hands in a round robin; else the mean of what the stage counts
    low: float | None  # the 95 % interval of what ranks: the rate where there are wins, else the score
    high: float | None
    score_low: float | None  # the 95 % interval of the score, where it is a mean
    score_high: float | None
    faults: int
    faults_by_kind: dict[str, int]
    p99: float | None  # seconds: 99 of 100 answers took no longer
    cpu_per_decision: float | None  # seconds
    benched: int  # fixtures
    note: str = ""
    pauses: int = 0  # times it was stopped while others thought
    pondered: float = 0.0  # seconds that it computed before it stood still
    mirror: bool = False  # whether tables shared their deals


class Pair(NamedTuple):
    """How one bot has fared against another; `sure` is how sure it is that it is the better of the two, 0 to 1."""

    tables: int
    won: int
    drawn: int
    lost: int
    rate: float
    low: float
    high: float
    sure: float

    @property
    def certain(self) -> bool:
        """Whether the order of the two is certain, either way."""
        return max(self.sure, 1 - self.sure) >= SURE


class Advice(NamedTuple):
    """Two neighbours whose order is not certain, and how many units would make it so; None: no number in sight.

    The unit is what an organiser can set: tourneys, tables_per_pair, games (repeat), tables.
    """

    bots: tuple[str, str]
    sure: float
    needed: int | None
    played: int
    unit: str


class StageStandings(NamedTuple):
    """What there is to say of a stage so far."""

    rows: list[Row]
    sure: list[str]
    advice: list[Advice]


def stage_standings(
    stage: StageConfig, facts: Mapping[str, str], records: Sequence[Record], bots: Mapping[str, Mapping[str, Any]]
) -> StageStandings:
    """Return a stage's standings.

    `facts` are the run's: who plays the stage, and the order that it has come to where places are won otherwise than by
    a rate over all tables. Then only who sat at the same tables is compared.
    """
    name, kind = stage.name, kind_of(stage)
    records = as_counted_by(stage, records)
    rows = standings(stage, records, bots)
    field = json.loads(facts.get(f"field {name}", "null"))
    rows = [row._replace(note="is out") if field and row.bot not in field else row for row in rows]
    if kind.places and (order := json.loads(facts.get(f"order {name}", "[]"))):
        rows = reordered(rows, order)
    if kind.comparison == "none":
        return StageStandings(rows, [], [])
    playing = [row for row in rows if row.tables]
    sure = _comparing(stage, playing, records)
    said = comparisons([row.bot for row in playing], sure)
    return StageStandings(rows, said, advice_for(stage, playing, records, sure))


class Outcome(NamedTuple):
    """What a stage that is over comes to: who has reached which place, and who plays the next stage, best first."""

    places: list[str]
    left: list[str]


def outcome(
    stage: StageConfig, field: Field, records: Mapping[str, Record], bots: Mapping[str, Mapping[str, Any]]
) -> Outcome:
    """Return the outcome of a stage."""
    kind = kind_of(stage)
    if kind.places:
        places = kind.places(stage, field, records)
    else:
        places = [row.bot for row in stage_standings(stage, {}, list(records.values()), bots).rows]
    return Outcome(places, kind.left(stage, field, records) if kind.left else places)


def standings(stage: StageConfig, records: Sequence[Record], bots: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Return a row a bot, best first; equals in the given order, who has not played last.

    `bots` is what the journal knows of them: language, author. The order of the records does not matter.
    """
    records = sorted(records, key=lambda record: record.path)
    rank_by = stage.rank_by or _default(records)
    if rank_by[0] not in ("games", "chips", "advances"):
        raise ValueError(f'rank_by starts with "games", "chips" or "advances", not "{rank_by[0]}"')
    rows = [_row(stage, rank_by, records, bot, about) for bot, about in bots.items()]
    rows.sort(key=_merit, reverse=True)
    merits = [_merit(row) for row in rows]
    return [row._replace(rank=merits.index(merit) + 1) for row, merit in zip(rows, merits, strict=True)]


def as_counted_by(stage: StageConfig, records: Sequence[Record]) -> list[Record]:
    """Return records as a stage counts them."""
    counted = kind_of(stage).counted
    return counted(stage, records) if counted else list(records)


def reordered(rows: Sequence[Row], places: Sequence[str]) -> list[Row]:
    """Return the rows in the order of places won elsewhere (a cup, groups); who has none yet comes after."""
    order = {bot: place for place, bot in enumerate(places)}
    ordered = sorted(rows, key=lambda row: order.get(row.bot, len(order)))
    return [row._replace(rank=rank) for rank, row in enumerate(ordered, 1)]


def comparisons(names: Sequence[str], sure: Sure) -> list[str]:
    """Return what can be said of neighbours, by the names of all, the best first."""
    return [_sentence(some, how_sure) for some, how_sure in neighbours(names, sure)]


def neighbours(names: Sequence[str], sure: Sure) -> list[tuple[Sequence[str], float]]:
    """Return neighbours, and how sure it is that the first is ahead of the last: two, or more that are alike.

    Of several that cannot be told apart, even the first is not surely ahead of the last; the figure is about these two.
    """
    found, first = list[tuple[Sequence[str], float]](), 0
    while first < len(names) - 1:
        last, how_sure = first + 1, sure(names[first], names[first + 1])
        while how_sure is not None and how_sure < SURE and last + 1 < len(names):
            closer, wider = sure(names[last], names[last + 1]), sure(names[first], names[last + 1])
            if closer is None or wider is None or closer >= SURE or wider >= SURE:
                break
            last, how_sure = last + 1, wider
        if how_sure is not None:
            found.append((names[first : last + 1], how_sure))
        first = last
    return found


def advice_for(stage: StageConfig, playing: Sequence[Row], records: Sequence[Record], sure: Sure) -> list[Advice]:
    """Return for every two neighbours whose order is not certain how much would have to be played until it is."""
    unit, found = kind_of(stage).unit_key, list[Advice]()
    for one, other in pairwise(playing):
        how_sure = sure(one.bot, other.bot)
        if how_sure is None or how_sure >= SURE:
            continue
        done = _done(stage, records, one.bot, other.bot)
        found.append(Advice((one.bot, other.bot), how_sure, needed(how_sure, done), done, unit))
    return found


def _done(stage: StageConfig, records: Sequence[Record], one: str, other: str) -> int:
    """Return how many of a stage's units have been played: tourneys, games of a group, or tables of two bots."""
    both = [record for record in records if one in record.results and other in record.results]
    if kind_of(stage).unit == "fixture":
        return len(both)
    if not both:  # two who have not met yet: as many tables as either has had with anybody
        return max(result.tables for record in records for bot, result in record.results.items() if bot in (one, other))
    return sum(record.results[one].tables for record in both)


def by_pair(records: Sequence[Record]) -> dict[tuple[str, str], Pair]:
    """Return how every two bots that have met alone at a table have fared, seen from the first: both orders."""
    met: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if len(record.results) == 2:
            one, other = record.results
            for pair in ((one, other), (other, one)):
                met.setdefault(pair, []).append(record)
    return {
        pair: _pair(*(_won([record.results[bot] for record in met[pair]], 2) for bot in pair)) for pair in sorted(met)
    }


def _pair(ours: Won, theirs: Won) -> Pair:
    tables, won, lost = ours.tables, int(ours.wins), int(theirs.wins)
    rate, interval = won / tables, wilson(won / ours.spread, tables / ours.spread)
    return Pair(tables, won, tables - won - lost, lost, rate, *interval, sure_by_wins({"": ours}, {"": theirs}))


def _won(results: Sequence[Result], seats: int) -> Won:
    """Return what a bot has won in fixtures with the same bots, so many of them."""
    tables, wins = sum(result.tables for result in results), sum(result.wins for result in results)
    squares = sum(result.squares for result in results)
    return Won(tables, wins, spread(tables, wins, squares, seats) if squares else 1.0)


def _sentence(names: Sequence[str], sure: float) -> str:
    if len(names) == 2:
        return words(names[0], names[1], sure)
    few = f"{', '.join(names[:-1])} and {names[-1]}"
    who = few if len(names) <= NAMED else f"{names[0]} to {names[-1]} ({len(names)} bots)"
    return f"{who} cannot be told apart ({percent(sure)})"


def _default(records: Sequence[Record]) -> tuple[str, ...]:
    won = any(result.wins for record in records for result in record.results.values())
    return ("games", "chips") if won else ("chips",)


def _row(
    stage: StageConfig, rank_by: Sequence[str], records: Sequence[Record], bot: str, about: Mapping[str, Any]
) -> Row:
    """Return a bot's row, its rank open."""
    mine = [record for record in records if bot in record.results or bot in record.usage]
    results = [record.results[bot] for record in mine if bot in record.results]
    tables, wins = sum(result.tables for result in results), sum(result.wins for result in results)
    rate: float | None = None
    score: float | None = None
    interval: Interval | None = None
    of_score: Interval | None = None
    by_games = rank_by[0] in ("games", "advances")
    if tables and by_games:
        rate, interval = wins / tables, _rate_interval(stage, mine, bot)
        total = sum(result.score for result in results)
        score = total if "hands" in rank_by else total / tables
        if rank_by[0] == "advances":
            of_score = mean_interval(list(_units(stage, mine, bot).values()))
    elif tables:
        units = list(_units(stage, mine, bot).values())
        score, interval = sum(units) / len(units), mean_interval(units)
        of_score = interval
    kinds = Counter[str]()
    for record in mine:
        kinds.update(record.faults.get(bot, {}))
    benched = sum(bot in record.benched for record in mine)
    note = f"benched in {benched} of {len(mine)} fixtures" if benched else "" if tables else "has not played yet"
    used = [record.usage[bot] for record in mine if bot in record.usage]
    p99, cpu = _spent(used)
    return Row(
        rank=0,
        bot=bot,
        language=str(about.get("language", "")),
        author=str(about.get("author", "")),
        rank_by=tuple(rank_by),
        tables=tables,
        wins=_whole_if_it_is(wins) if by_games else None,
        rate=rate,
        score=score,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        score_low=of_score.low if of_score else None,
        score_high=of_score.high if of_score else None,
        faults=kinds.total(),
        faults_by_kind=dict(kinds.most_common()),
        p99=p99,
        cpu_per_decision=cpu,
        benched=benched,
        note=note,
        pauses=sum(usage.pauses for usage in used),
        pondered=sum(usage.pondered for usage in used),
        mirror=stage.mirror,
    )


def _whole_if_it_is(wins: float) -> float:
    """Return wins as a whole number, unless equals have shared one."""
    return round(wins) if math.isclose(wins, round(wins), abs_tol=1e-9) else wins


def _rate_interval(stage: StageConfig, records: Sequence[Record], bot: str) -> Interval:
    """Return the interval of the share of games that a bot has won, or advanced in."""
    if kind_of(stage).unit == "fixture" and stage.mirror:
        return _of_deals(records, bot)
    met = _meetings(records, bot).values()
    tables, wins = sum(won.tables for won in met), sum(won.wins for won in met)
    alone = sum(won.wins * (1 - won.wins / won.tables) for won in met)
    wider = sum(won.spread * won.wins * (1 - won.wins / won.tables) for won in met) / alone if alone else 1.0
    return wilson(wins / wider, tables / wider)


def _of_deals(records: Sequence[Record], bot: str) -> Interval:
    """Return the interval of the share of its groups' games in which a bot has advanced, where games share deals."""
    mine = [record for record in records if bot in record.results]
    deals, wins = dict[Hashable, float](), sum(record.results[bot].wins for record in mine)
    for record in mine:
        deals[_deal(record)] = deals.get(_deal(record), 0) + record.results[bot].wins
    whole = max(1, round(len(mine) / len(deals)))  # games of a deal
    wider = spread(len(mine), wins, sum(count * count for count in deals.values()), whole)
    return wilson(wins / wider, len(mine) / wider)


def _merit(row: Row) -> tuple[bool, float, float]:
    """Return what a row is ranked by, the greater the better."""
    if row.score is None:
        return False, 0.0, 0.0
    return True, row.rate or 0.0, row.score


def _spent(usages: Sequence[Usage]) -> tuple[float | None, float | None]:
    """Return the 99th percentile of answer times and the processor time a decision, in seconds; None without any.

    The percentile is the upper edge of its bucket, or the slowest answer when that was faster.
    """
    questions = sum(usage.questions for usage in usages)
    if not questions:
        return None, None
    walls = [sum(counts) for counts in zip(*(usage.walls for usage in usages), strict=True)]
    cpu = sum(usage.cpu for usage in usages) / questions
    seen = 0
    slowest = max(usage.slowest for usage in usages)
    for bucket, count in enumerate(walls):
        seen += count
        if 100 * seen >= 99 * sum(walls):
            return min(2**bucket / 1e6, slowest) if bucket < len(walls) - 1 else slowest, cpu
    return slowest, cpu


def _units(stage: StageConfig, records: Sequence[Record], bot: str) -> Units:
    """Return what a bot has won or lost in independent units; their mean is its score."""
    mine = [record for record in records if bot in record.results]
    kind = kind_of(stage)
    if kind.unit == "fixture":
        return _by_deal({record.path: _worth(kind, record.results[bot]) for record in mine}, mine, stage.mirror)
    if all(record.scores for record in mine):
        return {unit: worth for record in mine for unit, worth in _tables(record, bot, stage.mirror).items()}
    results = [record.results[bot] for record in mine]
    values = ratio_units([result.score for result in results], [result.tables for result in results])
    return {record.path: value for record, value in zip(mine, values, strict=True)}


def _worth(kind: Kind[Any], result: Result) -> int:
    """Return what a bot has won in a fixture: where chips are carried from table to table, those at the end."""
    return result.final if kind.tourneys else result.score


def _advances(records: Sequence[Record], bot: str, mirror: bool) -> Units:
    """Return in how much of each game of its groups a bot has advanced."""
    mine = [record for record in records if bot in record.results]
    return _by_deal({record.path: record.results[bot].wins for record in mine}, mine, mirror)


def _by_deal(values: Units, records: Sequence[Record], mirror: bool) -> Units:
    """Return values by fixture, or those of fixtures that share a deal joined: as many in a row as there are bots."""
    if not mirror:
        return values
    deals: dict[Hashable, list[float]] = {}
    for record in records:
        deals.setdefault(_deal(record), []).append(values[record.path])
    return _joined(deals)


def _deal(record: Record) -> Hashable:
    """Return which deal a fixture has where as many in a row share one as there are bots."""
    group, _, number = record.path.rpartition("/")
    return group, (int(number) - 1) // len(record.results)


def _tables(record: Record, bot: str, mirror: bool) -> Units:
    """Return a bot's score at each table of a fixture, or those that share a deal joined."""
    scores = _scores(record, bot)
    if not mirror:
        return {(record.path, table): score for table, score in enumerate(scores)}
    group, _, first = record.path.rpartition("/")
    deals: dict[Hashable, list[float]] = {}
    for number, score in enumerate(scores, int(first)):
        deals.setdefault((group, (number - 1) // len(record.results)), []).append(score)
    return _joined(deals)


def _joined(deals: Mapping[Hashable, Sequence[float]]) -> Units:
    """Return one value a deal, so that their mean is that of all; the last deal may not have been played whole."""
    parts = deals.values()
    return dict(zip(deals, ratio_units([sum(part) for part in parts], [len(part) for part in parts]), strict=True))


def _scores(record: Record, bot: str) -> list[int]:
    """Return a bot's score at each table of a fixture played by plan `independent` or `mirrored`.

    There the seats rotate from table to table, and `results` names the bots as they sat at the first.
    """
    seats = list(record.results)
    seat = seats.index(bot)
    return [scores[(seat - table) % len(seats)] for table, scores in enumerate(record.scores)]


def _meetings(records: Sequence[Record], bot: str) -> dict[frozenset[str], Won]:
    """Return what a bot has won, by whom it met."""
    met: dict[frozenset[str], list[Result]] = {}
    for record in records:
        if (result := record.results.get(bot)) is not None:
            met.setdefault(frozenset(record.results), []).append(result)
    return {who: _won(results, len(who)) for who, results in met.items()}


def _comparing(stage: StageConfig, rows: Sequence[Row], records: Sequence[Record]) -> Sure:
    """Return what says how sure it is that one bot is ahead of another, by what ranks them; None where nothing tells.

    Where opponents differ from fixture to fixture, two bots are compared by those in which both sat.
    """
    records = sorted(records, key=lambda record: record.path)
    if kind_of(stage).comparison == "shared":
        shares = {row.bot: _advances(records, row.bot, row.mirror) for row in rows}
        return cache(lambda one, other: _shared(shares[one], shares[other]))
    if any(row.wins is not None for row in rows):
        meetings = {row.bot: _meetings(records, row.bot) for row in rows}
        return cache(lambda one, other: sure_by_wins(meetings[one], meetings[other]))
    units = {row.bot: _units(stage, records, row.bot) for row in rows}
    return cache(lambda one, other: sure_ahead(units[one], units[other]))


def _shared(ours: Units, theirs: Units) -> float | None:
    both = [unit for unit in ours if unit in theirs]
    return sure_ahead({unit: ours[unit] for unit in both}, {unit: theirs[unit] for unit in both}) if both else None
