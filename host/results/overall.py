"""Ranks the bots over all stages of a run: by the last stage that they reached, then by their place in it."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from host.results.course import Position


class OverallRow(NamedTuple):
    """Row of a bot over all stages: the last stage that it reached, its place there, and its tables and faults."""

    rank: int
    bot: str
    language: str
    author: str
    stage: str
    place: int
    tables: int
    faults: int


def overall(positions: Sequence[Position]) -> list[OverallRow]:
    """Return a row per bot, sorted by the last stage that the bot reached, then by its place there.

    Return no rows if nothing has been played.
    """
    found, tables, faults = dict[str, OverallRow](), Counter[str](), Counter[str]()
    for position in positions:
        if not position.counted:
            continue
        name, field = position.state.name, position.shown_bots
        for row in position.standings.rows:
            tables[row.bot] += row.tables
            faults[row.bot] += row.costs.faults
            out = None if row.bot in field else found.get(row.bot)
            found[row.bot] = OverallRow(
                rank=row.rank,
                bot=row.bot,
                language=row.language,
                author=row.author,
                stage=out.stage if out else name,
                place=out.place if out else row.rank,
                tables=tables[row.bot],
                faults=faults[row.bot],
            )
    return sorted(found.values(), key=lambda row: row.rank)
