"""Estimates the advantage of each seat, and of playing late, with 95 % intervals.

The independent unit is a deal. Tables that share a deal (`mirror`) count together. So do all tables of a tourney, because
chips are carried over from table to table. Some pairs are more unequal than others, which is not luck, so differences
between meetings are removed. Two seats are compared by the deals in which both were taken, because only a table of five
has a fifth seat.

A game may favour a seat. A stage is fair if every bot sits in every seat equally often, and if it makes no difference
whether a table is played early or late. The intervals of `late` are read together. They are widened so that all of
them hold at the same time with 95 % probability (Šidák 1967).
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from host.games.engine import Scores
from host.journal.descriptions import fixture_of
from host.journal.journal import Journal, decompress_scores
from host.play.fixture_id import FixtureId, group_of
from host.play.lines import NO_LINE, lines_of
from host.play.records import Fixture
from host.play.table_plans import TableSetup, table_setups
from host.rating.statistics import CONFIDENCE, MIN_CERTAINTY, NORMAL, mean_interval, needed, ratio_units, sure_ahead
from host.rating.units import Units
from host.results.standings import Advice, comparisons
from host.rules.catalogue import game_by_name
from host.stages import kind_of
from host.stages.kind import StageConfig

MAX_UNITS = 2_000  # deals of very many tables are joined into about this many
MIN_DEALS = 20  # in each half of the tables; with fewer deals there is no interval

TableContext = tuple[str, Hashable]
"""The name of a deal, the independent unit. Its first part is the same for all deals between the same bots."""

Sums = dict[TableContext, tuple[float, int]]
"""The sum of the gains and the number of tables, by deal."""


class SeatResult(NamedTuple):
    """A played table: its deal, its bots by seat, and what each bot gained (1 for a win, or its chips).

    All tables of a meeting (a pair, a group) have the same bots.
    """

    meeting: str
    deal: TableContext
    bots: tuple[str, ...]
    worth: tuple[float, ...]


class SeatRow(NamedTuple):
    """The gains in one seat; `tables` counts the tables where it was taken, `mean` is the gain per table."""

    seat: str
    tables: int
    won: float  # games won, or chips gained
    mean: float
    low: float | None  # the 95 % interval of the mean; None if there is too little data
    high: float | None


class Seats(NamedTuple):
    """The seats, best first; sentences about how sure their order is; and how much more play would make it sure."""

    rows: tuple[SeatRow, ...]
    sure: tuple[str, ...]
    advice: tuple[Advice, ...]


class LateEffect(NamedTuple):
    """How much more a bot gained per table in the second half than in the first; None if there is too little data."""

    bot: str
    tables: int
    more: float | None
    low: float | None
    high: float | None

    @property
    def seen(self) -> bool:
        """Whether the effect is larger than chance explains: its interval does not contain 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class Effects(NamedTuple):
    """The effects in a stage: of each seat, and of playing late on each bot.

    `apart` is the largest difference, over all bots, between the tables in a bot's most frequent and rarest seat.
    `gained` is the most that a bot gained or lost by unequal seats, in `unit` per table.
    """

    unit: str  # "games" (1 is a game won) or "chips"
    tables: int
    seats: Seats
    late: tuple[LateEffect, ...]
    apart: int
    gained: float


def seat_results(
    stage: StageConfig, journal: Journal, seed: bytes, paths: Sequence[str] | None = None
) -> Iterator[SeatResult]:
    """Yield the tables of a stage, or of some of its fixtures, in the order of their paths.

    `seed` is needed where seats are drawn from it (tourneys).
    """
    most, lines = 0, dict[str, Sequence[bytes]]()
    for _, record in journal.records(stage.name):
        most += max(result.tables for result in record.results.values())
        if record.lines:
            lines[record.path] = lines_of(record)
    joined = 1 + most // MAX_UNITS
    for path in journal.paths(stage.name) if paths is None else paths:
        about, squeezed = journal.scores_of(path)
        fixture, scores = fixture_of(about), decompress_scores(squeezed)
        for nth, sitting in enumerate(table_setups(fixture, seed, scores)):
            deal = deal_of(stage, fixture, nth, joined, lines.get(path, ()))
            yield SeatResult(group_of(path), deal, sitting.bots, worth_of(fixture, sitting, scores[nth]))


def worth_of(fixture: Fixture, sitting: TableSetup, scores: Scores) -> tuple[float, ...]:
    """Return the gain of each seat at a table: 1 for a win, or the chips gained."""
    winners = game_by_name(fixture.game).winners
    if winners:
        won = winners(scores)
        return tuple(float(seat in won) for seat in range(len(scores)))
    brought = sitting.rules.stacks or (sitting.rules.chips,) * len(scores)
    return tuple(float(left - had) for left, had in zip(scores, brought, strict=True))


def deal_of(
    stage: StageConfig, fixture: Fixture, nth: int, joined: int = 1, lines: Sequence[bytes] = ()
) -> TableContext:
    """Return the deal of table `nth` of a fixture, counted from 0. `joined` independent deals in a row count as one.

    Deals whose tables have equal `lines` are the same deal, played again.
    """
    place, seats = FixtureId.parse(fixture.path), len(fixture.bots)
    if kind_of(stage).sampling.by_fixture:
        return stage.name, (place.group, ((place.first_table or 1) - 1) // (seats if stage.mirror else 1))
    size, before = seats * joined, fixture.first - 1
    number = (before + nth) // size
    played = tuple(lines[max(number * size - before, 0) : (number + 1) * size - before])
    return place.group, played if played and NO_LINE not in played else number


def by_seat(tables: Iterable[SeatResult]) -> Seats:
    """Compare the seats; two seats are compared by the deals in which both were taken."""
    sums: dict[str, Sums] = {}
    for table in tables:
        for number, worth in enumerate(table.worth, 1):
            _add(sums.setdefault(f"seat {number}", {}), table.deal, worth)

    @cache
    def units(seat: str, other: str) -> Units:
        return _units({deal: won for deal, won in sums[seat].items() if deal in sums[other]})

    @cache
    def sure(one: str, other: str) -> float | None:
        ours, theirs = units(one, other), units(other, one)
        return sure_ahead(ours, theirs) if ours and theirs else None

    rows = sorted((_row(seat, of) for seat, of in sums.items()), key=lambda row: (-row.mean, row.seat))
    advice = []
    for one, other in pairwise(rows):
        how_sure, played = sure(one.seat, other.seat), min(one.tables, other.tables)
        if how_sure is not None and how_sure < MIN_CERTAINTY:
            advice.append(Advice((one.seat, other.seat), how_sure, needed(how_sure, played), played, "tables"))
    return Seats(tuple(rows), tuple(comparisons([row.seat for row in rows], sure)), tuple(advice))


def effects(unit: str, tables: Sequence[SeatResult]) -> Effects:
    """Return the effects in some tables, in the order of their numbers. The second half of a meeting is late."""
    seats = by_seat(tables)
    mean_of = {row.seat: row.mean for row in seats.rows}
    means = [mean_of[f"seat {number}"] for number in range(1, len(mean_of) + 1)]
    taken: dict[str, list[int]] = {}
    for table in tables:
        for number, bot in enumerate(table.bots):
            taken.setdefault(bot, [0] * len(means))[number] += 1
    gained = (abs(_weighted(times, means) - sum(means) / len(means)) for times in taken.values())
    apart = (max(times) - min(times) for times in taken.values())
    return Effects(unit, len(tables), seats, _late(tables), max(apart, default=0), max(gained, default=0.0))


def _late(tables: Sequence[SeatResult]) -> tuple[LateEffect, ...]:
    meetings: dict[str, list[SeatResult]] = {}
    for table in tables:
        meetings.setdefault(table.meeting, []).append(table)
    halves: dict[str, tuple[Sums, Sums]] = {}
    for meeting in meetings.values():
        for number, table in enumerate(meeting):
            late = 2 * number >= len(meeting)
            for bot, worth in zip(table.bots, table.worth, strict=True):
                _add(halves.setdefault(bot, ({}, {}))[late], table.deal, worth)
    z = NORMAL.inv_cdf((1 + CONFIDENCE ** (1 / max(1, len(halves)))) / 2)
    return tuple(_late_effect(bot, *sums, z) for bot, sums in sorted(halves.items()))


def _late_effect(bot: str, early: Sums, late: Sums, z: float) -> LateEffect:
    tables = sum(times for sums in (early, late) for _, times in sums.values())
    if min(len(early), len(late)) < MIN_DEALS:
        return LateEffect(bot, tables, None, None, None)
    (before, unsure), (after, as_unsure) = _mean_and_variance(early), _mean_and_variance(late)
    more, half = after - before, z * math.sqrt(unsure + as_unsure)
    return LateEffect(bot, tables, more, more - half, more + half)


def _mean_and_variance(sums: Sums) -> tuple[float, float]:
    """Return the mean over all tables, and the variance of this mean."""
    values = list(_units(sums).values())
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / len(values) / (len(values) - 1)


def _add(sums: Sums, deal: TableContext, worth: float) -> None:
    won, times = sums.get(deal, (0.0, 0))
    sums[deal] = won + worth, times + 1


def _weighted(times: Sequence[int], values: Sequence[float]) -> float:
    return sum(count * value for count, value in zip(times, values, strict=True)) / sum(times)


def _row(seat: str, sums: Sums) -> SeatRow:
    won, tables = map(sum, zip(*sums.values(), strict=True))
    interval = mean_interval(list(_units(sums).values()))
    low, high = interval or (None, None)
    return SeatRow(seat=seat, tables=int(tables), won=won, mean=won / tables, low=low, high=high)


def _units(sums: Sums) -> Units:
    """Return one value per deal. Their mean is the mean over all tables, and they differ only by luck.

    Differences between meetings are removed (a stratified sample: Cochran, "Sampling Techniques", 1977) if every
    meeting has at least two deals.
    """
    strata: dict[str, list[tuple[float, int]]] = {}
    for (meeting, _), of in sums.items():
        strata.setdefault(meeting, []).append(of)
    if not strata:
        return {}
    if any(len(deals) < 2 for deals in strata.values()):
        return dict(zip(sums, ratio_units(*zip(*sums.values(), strict=True)), strict=True))
    means = {who: sum(won for won, _ in deals) / sum(times for _, times in deals) for who, deals in strata.items()}
    stretch = {who: math.sqrt(len(deals) / (len(deals) - 1)) for who, deals in strata.items()}
    won, tables = map(sum, zip(*sums.values(), strict=True))
    return {
        at: won / tables + stretch[at[0]] * (here - means[at[0]] * times) * len(sums) / tables
        for at, (here, times) in sums.items()
    }
