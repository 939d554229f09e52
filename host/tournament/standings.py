"""Computes the standings of a stage from its records: the order of the bots, and how sure it is (see ranking.py)."""

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from host.bots.values import Usage
from host.play.records import Record
from host.tournament.ranking import RANKINGS, Estimate, Ranking, Results, Sure, won_in, words_of
from host.tournament.stages import kind_of
from host.tournament.stages.kind import Field, StageConfig
from host.tournament.statistics import SURE, Won, needed, percent, sure_by_wins, wilson, words

NAMED = 5  # bots at most in one sentence; of more bots, only the first and the last are named

UNKNOWN = Estimate(None)


class Costs(NamedTuple):
    """The faults of a bot in a stage, and the time it used."""

    faults: int
    faults_by_kind: dict[str, int]
    p99: float | None  # seconds; 99 of 100 answers were not slower
    cpu_per_decision: float | None  # seconds
    benched: int  # number of fixtures in which it was benched
    pauses: int  # how often it was frozen while other bots were thinking
    pondered: float  # seconds that it computed before it was frozen


class Row(NamedTuple):
    """The row of one bot. A value that is not known yet is None, for example an interval after a single tourney."""

    rank: int  # from 1; equal bots share a rank
    bot: str
    language: str
    author: str
    kind: str  # of the stage
    mirror: bool  # whether tables shared their deals
    tables: int
    wins: float | None  # None if wins do not rank; not a whole number if equal bots share a win
    estimates: Mapping[str, Estimate]  # by the names in `rank_by`, in their order
    costs: Costs
    note: str = ""

    @property
    def ranking(self) -> Ranking:
        """The first ranking of the stage."""
        return RANKINGS[next(iter(self.estimates))]

    @property
    def first(self) -> Estimate:
        """The value of the bot in the first ranking."""
        return next(iter(self.estimates.values()))

    @property
    def points(self) -> Estimate:
        """The score counted by the games themselves: the sum of hands, or mean chips."""
        return next(estimate for word, estimate in self.estimates.items() if RANKINGS[word].points)

    @property
    def rate(self) -> float | None:
        """The share of tables won, 0 to 1; None if wins do not rank."""
        return next((estimate.value for word, estimate in self.estimates.items() if RANKINGS[word].counted), None)

    def flat(self) -> dict[str, Any]:
        """Return the row as one flat dict, with the keys of JSON and CSV in their order."""
        costs = self.costs._asdict()
        late = {key: costs.pop(key) for key in ("pauses", "pondered")}
        own = {
            word + end: value
            for word, estimate in self.estimates.items()
            if not RANKINGS[word].in_row
            for end, value in (("", estimate.value), ("_low", estimate.low), ("_high", estimate.high))
        }
        known = {key: getattr(self, key) for key in ("rank", "bot", "language", "author", "tables", "wins", "rate")}
        ranked = {"score": self.first.value, "low": self.first.low, "high": self.first.high}
        points = {"score_low": self.points.low, "score_high": self.points.high}
        return known | ranked | points | costs | {"note": self.note} | late | {"points": self.points.value} | own


class Pair(NamedTuple):
    """The results of one bot against another; `sure` is the probability (0 to 1) that it is the better of the two."""

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
        """Whether the order of the two bots is certain."""
        return max(self.sure, 1 - self.sure) >= SURE


class Advice(NamedTuple):
    """Two neighbours whose order is not certain, and how many units would make it certain; None: too many to name.

    The unit is a key that the organiser can set: tourneys, tables_per_pair, repeat, tables.
    """

    bots: tuple[str, str]
    sure: float
    needed: int | None
    played: int
    unit: str


class StageStandings(NamedTuple):
    """The standings of a stage so far: rows, sentences about how sure the order is, and advice."""

    rows: list[Row]
    sure: list[str]
    advice: list[Advice]


def stage_standings(
    stage: StageConfig, facts: Mapping[str, str], records: Sequence[Record], bots: Mapping[str, Mapping[str, Any]]
) -> StageStandings:
    """Return a stage's standings.

    `facts` is the metadata of the run: the bots of the stage, and their final order if a kind decides places itself.
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
    compare = RANKINGS[words_of(stage, records)[0]].compare
    if compare is None:
        return StageStandings(rows, [], [])
    sure = compare(results_of(stage, records, [row.bot for row in playing]))
    said = comparisons([row.bot for row in playing], sure)
    return StageStandings(rows, said, advice_for(stage, playing, records, sure))


class Outcome(NamedTuple):
    """The outcome of a finished stage: the bots in the order of their places, and the bots of the next stage, best first."""

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
    """Return one row per bot, best first. Equal bots have the given order; bots that have not played come last.

    `bots` has the journal's data about each bot: language, author. The order of the records does not matter.
    """
    results = results_of(stage, records, bots)
    by_word = {word: RANKINGS[word].estimates(results) for word in words_of(stage, records)}
    rows = []
    for bot, about in bots.items():
        estimates = {word: found.get(bot, UNKNOWN) for word, found in by_word.items()}
        rows.append(_row(stage, estimates, results.records, bot, about))
    rows.sort(key=_merit, reverse=True)
    merits = [_merit(row) for row in rows]
    return [row._replace(rank=merits.index(merit) + 1) for row, merit in zip(rows, merits, strict=True)]


def results_of(stage: StageConfig, records: Sequence[Record], bots: Collection[str]) -> Results:
    """Return the input of the rankings of a stage; `records` come from `as_counted_by`."""
    ordered = sorted(records, key=lambda record: record.path)
    playing = {bot for record in ordered for bot, result in record.results.items() if result.tables}
    return Results(stage, ordered, [bot for bot in bots if bot in playing])


def _merit(row: Row) -> tuple[float, ...]:
    """Return the sort key of a row; greater is better."""
    return (row.tables > 0, *(estimate.merit for estimate in row.estimates.values()))


def as_counted_by(stage: StageConfig, records: Sequence[Record]) -> list[Record]:
    """Return the records as the kind of the stage counts them."""
    counted = kind_of(stage).counted
    return counted(stage, records) if counted else list(records)


def reordered(rows: Sequence[Row], places: Sequence[str]) -> list[Row]:
    """Return the rows in the order of places (of a knockout, of groups); bots without a place come last."""
    order = {bot: place for place, bot in enumerate(places)}
    ordered = sorted(rows, key=lambda row: order.get(row.bot, len(order)))
    return [row._replace(rank=rank) for rank, row in enumerate(ordered, 1)]


def comparisons(names: Sequence[str], sure: Sure) -> list[str]:
    """Return sentences about neighbours; `names` has all bots, best first."""
    return [_sentence(some, how_sure) for some, how_sure in neighbours(names, sure)]


def neighbours(names: Sequence[str], sure: Sure) -> list[tuple[Sequence[str], float]]:
    """Return neighbours, and the probability that the first is ahead of the last: two bots, or more with an unclear order.

    In a group of more than two, even the first bot is not surely ahead of the last. The probability is about these two.
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
    """Return advice for every two neighbours whose order is not certain: how much play would make it certain."""
    unit, found = kind_of(stage).unit_key, list[Advice]()
    for one, other in pairwise(playing):
        how_sure = sure(one.bot, other.bot)
        if how_sure is None or how_sure >= SURE:
            continue
        done = _done(stage, records, one.bot, other.bot)
        found.append(Advice((one.bot, other.bot), how_sure, needed(how_sure, done), done, unit))
    return found


def _done(stage: StageConfig, records: Sequence[Record], one: str, other: str) -> int:
    """Return how many units two bots have played: tourneys, games of a group, or tables."""
    both = [record for record in records if one in record.results and other in record.results]
    if kind_of(stage).unit == "fixture":
        return len(both)
    if not both:  # they have not met yet: take the tables of a fixture against other bots
        return max(result.tables for record in records for bot, result in record.results.items() if bot in (one, other))
    return sum(record.results[one].tables for record in both)


def by_pair(records: Sequence[Record]) -> dict[tuple[str, str], Pair]:
    """Return the results of every two bots that met at tables of two, in both orders."""
    met: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        if len(record.results) == 2:
            one, other = record.results
            for pair in ((one, other), (other, one)):
                met.setdefault(pair, []).append(record)
    return {
        pair: _pair(*(won_in([record.results[bot] for record in met[pair]], 2) for bot in pair)) for pair in sorted(met)
    }


def _pair(ours: Won, theirs: Won) -> Pair:
    tables, won, lost = ours.tables, int(ours.wins), int(theirs.wins)
    rate, interval = won / tables, wilson(won / ours.spread, tables / ours.spread)
    return Pair(tables, won, tables - won - lost, lost, rate, *interval, sure_by_wins({"": ours}, {"": theirs}))


def _sentence(names: Sequence[str], sure: float) -> str:
    if len(names) == 2:
        return words(names[0], names[1], sure)
    few = f"{', '.join(names[:-1])} and {names[-1]}"
    who = few if len(names) <= NAMED else f"{names[0]} to {names[-1]} ({len(names)} bots)"
    return f"{who} cannot be distinguished ({percent(sure)})"


def _whole_if_it_is(wins: float) -> float:
    """Return wins as a whole number, unless equal bots shared a win."""
    return round(wins) if math.isclose(wins, round(wins), abs_tol=1e-9) else wins


def _row(
    stage: StageConfig, estimates: Mapping[str, Estimate], records: Sequence[Record], bot: str, about: Mapping[str, Any]
) -> Row:
    """Return the row of a bot, still without its rank; `estimates` has its values by the names in `rank_by`."""
    mine = [record for record in records if bot in record.results or bot in record.usage]
    results = [record.results[bot] for record in mine if bot in record.results]
    tables, wins = sum(result.tables for result in results), sum(result.wins for result in results)
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
        kind=stage.kind,
        mirror=stage.mirror,
        tables=tables,
        wins=_whole_if_it_is(wins) if any(RANKINGS[word].counted for word in estimates) else None,
        estimates=estimates,
        costs=Costs(
            faults=kinds.total(),
            faults_by_kind=dict(kinds.most_common()),
            p99=p99,
            cpu_per_decision=cpu,
            benched=benched,
            pauses=sum(usage.pauses for usage in used),
            pondered=sum(usage.pondered for usage in used),
        ),
        note=note,
    )


def _spent(usages: Sequence[Usage]) -> tuple[float | None, float | None]:
    """Return the 99th percentile of answer times and the CPU time per decision, in seconds; None without answers.

    The percentile is the upper edge of its bucket, or the slowest answer if that was faster.
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
