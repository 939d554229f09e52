"""What seats, or languages, are worth: what everybody has won who sat there, or was written so, with intervals.

The unit of luck is a deal: tables that share one (`mirror`) count together, and of a tourney, whose chips are carried
over, or a game of groups, the whole. That some pairs are more unequal than others is no luck, and is left out of it. Two
seats are compared by the deals in which both were taken, for a fifth seat has the odds of a table of five. A language is
no more than its bots here: what is sure is sure of them, not of whatever else may be written so; and where games are won,
a table among bots of one language says nothing of it.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from host.play.custom_games import game_called
from host.play.records import Fixture
from host.play.table_plans import sittings
from host.tournament.effects import seated
from host.tournament.journal import Journal, spread
from host.tournament.stage_runner import fixture_of
from host.tournament.standings import Advice, Units, sentences
from host.tournament.statistics import SURE, mean_interval, needed, ratio_units, sure_ahead

MOST_UNITS = 2_000  # deals of very many tables are joined into about so many

Deal = tuple[str, Hashable]
"""Names what is independent of all others; the first part is the same where the same bots met."""

Taken = tuple[str, float]
"""A seat or a language at one table, and what its bot has won there: 1 for a game, or chips."""


Sums = dict[Deal, tuple[float, int]]
"""What was won of a seat or a language, and how often it was taken, by deal."""


class Factor(NamedTuple):
    """One seat, or one language; `tables` counts each of its bots at every table, `mean` is what one has won at one."""

    name: str
    tables: int
    won: float  # games, or chips more than were brought
    mean: float
    low: float | None  # the 95 % interval of the mean; None where there is too little to tell
    high: float | None


class Factors(NamedTuple):
    """What there is to say of seats, or languages, the best first."""

    rows: list[Factor]
    sure: list[str]
    advice: list[Advice]


def factors(by: str, stage: Mapping[str, Any], journal: Journal, seed: bytes) -> Factors:
    """Return what the seats (`by` "seat") or languages of a stage are worth; a tourney's seats are drawn from the seed."""
    languages = {bot: str(about["language"]) for bot, about in journal.bots().items()}
    by_seat, games_won = by == "seat", game_called(journal.facts()["game"]).winners is not None
    most = (max(result.tables for result in record.results.values()) for _, record in journal.records(stage["name"]))
    joined = 1 + sum(most) // MOST_UNITS

    def taken() -> Iterator[tuple[Deal, list[Taken]]]:
        for path in journal.paths(stage["name"]):
            about, squeezed = journal.scored(path)
            fixture, scores = fixture_of(about), spread(squeezed)
            for nth, sitting in enumerate(sittings(fixture, seed, scores)):
                bots, worth = seated(fixture, sitting, scores[nth])
                names = [f"seat {at}" if by_seat else languages[bot] for at, bot in enumerate(bots, 1)]
                if by_seat or not games_won or len({*names}) > 1:
                    yield deal(stage, fixture, nth, joined), list(zip(names, worth, strict=True))

    return compared(taken(), together=by_seat)


def deal(stage: Mapping[str, Any], fixture: Fixture, nth: int, joined: int = 1) -> Deal:
    """Return the deal of a fixture's nth table; of independent deals, so many in a row are one."""
    group, _, number = fixture.path.rpartition("/")
    seats = len(fixture.bots)
    if stage["kind"] in ("tables", "groups"):
        return stage["name"], (group, (int(number) - 1) // (seats if stage.get("mirror") else 1))
    return group, (fixture.first - 1 + nth) // (seats * joined)


def compared(tables: Iterable[tuple[Deal, Sequence[Taken]]], *, together: bool) -> Factors:
    """Return what has been won at tables, each with its deal; `together`: two are compared where both took part."""
    sums: dict[str, Sums] = {}
    for at, taken in tables:
        for name, worth in taken:
            won, times = sums.setdefault(name, {}).get(at, (0.0, 0))
            sums[name][at] = won + worth, times + 1

    @cache
    def units(name: str, other: str) -> Units:
        """Return one's worth by deal, where the other took part too if that is asked for."""
        return _units({at: of for at, of in sums[name].items() if not together or at in sums[other]})

    @cache
    def sure(one: str, other: str) -> float | None:
        ours, theirs = units(one, other), units(other, one)
        return sure_ahead(ours, theirs) if ours and theirs else None

    rows = sorted((_factor(name, of) for name, of in sums.items()), key=lambda row: (-row.mean, row.name))
    advice = []
    for one, other in pairwise(rows):
        how_sure, played = sure(one.name, other.name), min(one.tables, other.tables)
        if how_sure is not None and how_sure < SURE:
            advice.append(Advice((one.name, other.name), how_sure, needed(how_sure, played), played, "tables"))
    return Factors(rows, sentences([row.name for row in rows], sure), advice)


def _factor(name: str, sums: Sums) -> Factor:
    won, tables = map(sum, zip(*sums.values(), strict=True))
    interval = mean_interval(list(_units(sums).values()))
    return Factor(name, int(tables), won, won / tables, *(interval or (None, None)))


def _units(sums: Sums) -> Units:
    """Return one value a deal, so that their mean is that of all tables and they differ by luck.

    What differs between those who met is taken out (a stratified sample: Cochran, "Sampling Techniques", 1977) wherever
    all of them have met in two deals or more.
    """
    strata: dict[str, list[tuple[float, int]]] = {}
    for (who, _), of in sums.items():
        strata.setdefault(who, []).append(of)
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
