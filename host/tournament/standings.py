"""Who is ahead, by how much, and how sure that is: a stage's standings from its records.

What ranks is said by `rank_by`, whose first word decides:

    games   tables won. The win rate carries its Wilson interval; equals are ranked by the score (hands, chips)
    chips   the mean score: of a whole tourney's end in a stage of kind `tables`, of a table elsewhere. Its interval is
            bootstrapped over whole tourneys, or tables where the records still have their scores, or else fixtures

All tables of a round robin count alike, so who is ranked before it is over is ranked by the rate, not by the sum: a bot
that has played more is not ahead for that. Once all have played as many tables the order is the same.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from host.bots.told import Usage
from host.record import Record, Result
from host.tournament.groups import shares
from host.tournament.statistics import (
    SURE,
    Interval,
    Won,
    mean_interval,
    percent,
    ratio_units,
    sure_ahead,
    sure_by_wins,
    wilson,
    words,
)

DEFAULTS: Mapping[str, tuple[str, ...]] = {"tables": ("chips",), "round-robin": ("games", "hands")}
"""What ranks a kind of stage that does not say; elsewhere games where anybody has won one, else chips."""

NAMED = 5  # bots in one sentence; of more, the first and the last are named

Units = dict[Hashable, float]
"""Independent results of one bot, by tourney, table or fixture."""


class Row(NamedTuple):
    """One bot's line. What cannot be known yet is None: an interval from a single tourney, say."""

    rank: int  # from 1; equals share it
    bot: str
    language: str
    author: str
    kind: str  # of the stage
    tables: int
    wins: int | None  # None where the game has no winners
    rate: float | None  # of tables won, 0 to 1
    score: float | None  # the sum of hands in a round robin; else the mean of what the stage counts
    low: float | None  # the 95 % interval of what ranks: the rate where there are wins, else the score
    high: float | None
    faults: int
    faults_by_kind: dict[str, int]
    p99: float | None  # seconds: 99 of 100 answers took no longer
    cpu_per_decision: float | None  # seconds
    benched: int  # fixtures
    note: str = ""
    pauses: int = 0  # times it was stopped while others thought
    pondered: float = 0.0  # seconds that it computed before it stood still


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


def standings(
    kind: str, rank_by: Sequence[str], records: Sequence[Record], bots: Mapping[str, Mapping[str, Any]]
) -> list[Row]:
    """Return a row a bot, best first; equals in the given order, who has not played last.

    `bots` is what the journal knows of them: language, author. The order of the records does not matter.
    """
    records = sorted(records, key=lambda record: record.path)
    rank_by = rank_by or DEFAULTS.get(kind) or _default(records)
    if rank_by[0] not in ("games", "chips", "advances"):
        raise ValueError(f'rank_by starts with "games", "chips" or "advances", not "{rank_by[0]}"')
    rows = [_row(kind, rank_by, records, bot, about) for bot, about in bots.items()]
    rows.sort(key=_merit, reverse=True)
    merits = [_merit(row) for row in rows]
    return [row._replace(rank=merits.index(merit) + 1) for row, merit in zip(rows, merits, strict=True)]


def counted(stage: Mapping[str, Any], records: Sequence[Record]) -> list[Record]:
    """Return records as a stage counts them: in groups a game is won by advancing, and nobody has less than no chips.

    Equals at the edge share what is left of the places, so that a win may be a half: the luck of a lot counts for nobody.
    """
    if stage["kind"] != "groups":
        return list(records)
    return [record._replace(results=_advanced(record.results, stage["advance"])) for record in records]


def _advanced(results: Mapping[str, Result], advance: int) -> dict[str, Result]:
    shared = shares(tuple(result.final for result in results.values()), advance)
    return {
        bot: result._replace(wins=cast(int, share), score=max(result.final, 0))
        for (bot, result), share in zip(results.items(), shared, strict=True)
    }


def placed(rows: Sequence[Row], places: Sequence[str]) -> list[Row]:
    """Return the rows in the order of places won elsewhere (a cup, groups); who has none yet comes after."""
    order = {bot: place for place, bot in enumerate(places)}
    ordered = sorted(rows, key=lambda row: order.get(row.bot, len(order)))
    return [row._replace(rank=rank) for rank, row in enumerate(ordered, 1)]


def sureness(rows: Sequence[Row], records: Sequence[Record]) -> list[str]:
    """Return what can be said of neighbours: "A ahead of B, 97 % sure", or who cannot be told apart.

    Of several that cannot be told apart, even the first is not surely ahead of the last; the figure is about these two.
    """
    playing = [row for row in rows if row.tables]
    if len(playing) < 2:
        return []
    sure = _comparing(playing, sorted(records, key=lambda record: record.path))
    names = [row.bot for row in playing]
    sentences, first = [], 0
    while first < len(names) - 1:
        last, how_sure = first + 1, sure(names[first], names[first + 1])
        while how_sure < SURE and last + 1 < len(names) and sure(names[last], names[last + 1]) < SURE:
            if (wider := sure(names[first], names[last + 1])) >= SURE:
                break
            last, how_sure = last + 1, wider
        sentences.append(_sentence(names[first : last + 1], how_sure))
        first = last
    return sentences


def by_pair(records: Sequence[Record]) -> dict[tuple[str, str], Pair]:
    """Return how every two bots that have met alone at a table have fared, seen from the first: both orders."""
    met: dict[tuple[str, str], list[int]] = {}
    for record in records:
        if len(record.results) != 2:
            continue
        (one, ours), (other, theirs) = record.results.items()
        for pair, won, lost in (((one, other), ours.wins, theirs.wins), ((other, one), theirs.wins, ours.wins)):
            so_far = met.setdefault(pair, [0, 0, 0])
            so_far[:] = so_far[0] + ours.tables, so_far[1] + won, so_far[2] + lost
    return {pair: _pair(*met[pair]) for pair in sorted(met)}


def _pair(tables: int, won: int, lost: int) -> Pair:
    sure = sure_by_wins({"": Won(tables, won)}, {"": Won(tables, lost)})
    return Pair(tables, won, tables - won - lost, lost, won / tables, *wilson(won, tables), sure)


def _sentence(names: Sequence[str], sure: float) -> str:
    if len(names) == 2:
        return words(names[0], names[1], sure)
    few = f"{', '.join(names[:-1])} and {names[-1]}"
    who = few if len(names) <= NAMED else f"{names[0]} to {names[-1]} ({len(names)} bots)"
    return f"{who} cannot be told apart ({percent(sure)})"


def _default(records: Sequence[Record]) -> tuple[str, ...]:
    won = any(result.wins for record in records for result in record.results.values())
    return ("games", "chips") if won else ("chips",)


def _row(kind: str, rank_by: Sequence[str], records: Sequence[Record], bot: str, about: Mapping[str, Any]) -> Row:
    """Return a bot's row, its rank open."""
    mine = [record for record in records if bot in record.results or bot in record.usage]
    results = [record.results[bot] for record in mine if bot in record.results]
    tables, wins = sum(result.tables for result in results), sum(result.wins for result in results)
    rate: float | None = None
    score: float | None = None
    interval: Interval | None = None
    by_games = rank_by[0] in ("games", "advances")
    if tables and by_games:
        rate, interval = wins / tables, wilson(wins, tables)
        total = sum(result.score for result in results)
        score = total if "hands" in rank_by else total / tables
    elif tables:
        units = list(_units(kind, mine, bot).values())
        score, interval = sum(units) / len(units), mean_interval(units)
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
        kind=kind,
        tables=tables,
        wins=round(wins) if by_games else None,
        rate=rate,
        score=score,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        faults=kinds.total(),
        faults_by_kind=dict(kinds.most_common()),
        p99=p99,
        cpu_per_decision=cpu,
        benched=benched,
        note=note,
        pauses=sum(usage.pauses for usage in used),
        pondered=sum(usage.pondered for usage in used),
    )


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


def _units(kind: str, records: Sequence[Record], bot: str) -> Units:
    """Return what a bot has won or lost in independent units; their mean is its score."""
    mine = [record for record in records if bot in record.results]
    if kind == "tables":
        return {record.path: record.results[bot].final for record in mine}
    if all(record.scores for record in mine):
        return {(record.path, table): score for record in mine for table, score in enumerate(_scores(record, bot))}
    results = [record.results[bot] for record in mine]
    values = ratio_units([result.score for result in results], [result.tables for result in results])
    return {record.path: value for record, value in zip(mine, values, strict=True)}


def _scores(record: Record, bot: str) -> list[int]:
    """Return a bot's score at each table of a fixture played by plan `independent`.

    There the seats rotate from table to table, and `results` names the bots as they sat at the first.
    """
    seats = list(record.results)
    seat = seats.index(bot)
    return [scores[(seat - table) % len(seats)] for table, scores in enumerate(record.scores)]


def _meetings(records: Sequence[Record], bot: str) -> dict[frozenset[str], Won]:
    """Return what a bot has won, by whom it met."""
    met: dict[frozenset[str], Won] = {}
    for record in records:
        if (result := record.results.get(bot)) is not None:
            who = frozenset(record.results)
            tables, wins = met.get(who, Won(0, 0))
            met[who] = Won(tables + result.tables, wins + result.wins)
    return met


def _comparing(rows: Sequence[Row], records: Sequence[Record]) -> Callable[[str, str], float]:
    """Return what says how sure it is that one bot is ahead of another, by what ranks them."""
    if rows[0].wins is not None:
        meetings = {row.bot: _meetings(records, row.bot) for row in rows}
        return lambda one, other: sure_by_wins(meetings[one], meetings[other])
    units = {row.bot: _units(row.kind, records, row.bot) for row in rows}
    return lambda one, other: sure_ahead(units[one], units[other])
