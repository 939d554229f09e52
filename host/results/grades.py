"""Grades: the points of each bot of a stage for beating references with a certainty."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from host.base.format import thousands
from host.play.records import Record
from host.rating.ranking import won_in
from host.rating.statistics import Won, percent, sure_at_least
from host.results.state import RecordedBot
from host.stages import kind_of, references_of
from host.stages.kind import GradeTerms, StageConfig


class Mark(NamedTuple):
    """The results of a bot against one reference, and the points for them."""

    reference: str
    tables: int
    share: float | None  # of tables won, a draw counts half; None before the first table
    sure: float | None  # the probability (0 to 1) that the share in the long run is as high as the grade demands
    beaten: bool
    points: int  # that the bot has got
    needed: float | None  # the smallest share of these tables that would get the points; None if none would

    @property
    def words(self) -> str:
        """The verdict with its certainty: "beaten 99.9 %", "not yet 81 %"."""
        if self.sure is None:
            return "not played"
        return f"{'beaten' if self.beaten else 'not yet'} {percent(self.sure)}"


class Graded(NamedTuple):
    """The grade of a bot: the sum of its points."""

    bot: str
    author: str
    marks: tuple[Mark, ...]
    grade: int
    most: int  # points that a bot can get

    def flat(self) -> dict[str, Any]:
        """Return the row as one flat dict, with the keys of CSV in their order."""
        cells: dict[str, Any] = {"bot": self.bot, "author": self.author, "grade": self.grade, "most": self.most}
        for mark in self.marks:
            for key in ("points", "beaten", "share", "sure", "tables"):
                cells[f"{mark.reference} {key}"] = getattr(mark, key)
        return cells

    @property
    def advice(self) -> list[str]:
        """Return a sentence for each reference that has been played and is not beaten."""
        return [
            f"{self.bot}: {100 * mark.share:.1f} % of {thousands(mark.tables)} tables against {mark.reference}; "
            + (
                "even all of them would not be enough"
                if mark.needed is None
                else f"{100 * mark.needed:.1f} % would be enough"
            )
            for mark in self.marks
            if mark.share is not None and not mark.beaten
        ]


def grades_of(
    stage: StageConfig, bots: Mapping[str, RecordedBot], field: Sequence[str], records: Sequence[Record]
) -> list[Graded]:
    """Return the grades of the bots of a stage, sorted by name. Empty if the stage gives no grades.

    The grade of a bot depends only on the records of that bot.
    """
    kind = kind_of(stage)
    terms = kind.grades(stage) if kind.grades else {}
    if not terms:
        return []
    met: dict[frozenset[str], list[Record]] = {}
    for record in records:
        met.setdefault(frozenset(record.results), []).append(record)
    found = []
    for bot in sorted(bot for bot in field if bot not in references_of(stage)):
        marks = tuple(_mark(bot, name, terms[name], met.get(frozenset((bot, name)), [])) for name in terms)
        points = sum(mark.points for mark in marks)
        author = bots[bot].author if bot in bots else ""
        found.append(Graded(bot, author, marks, points, sum(each.points for each in terms.values())))
    return found


def _mark(bot: str, reference: str, terms: GradeTerms, played: Sequence[Record]) -> Mark:
    """Return the mark of a bot for one reference."""
    if not played:
        return Mark(reference, 0, None, None, beaten=False, points=0, needed=None)
    ours, theirs = (won_in([record.results[name] for record in played], 2) for name in (bot, reference))
    share = (1 + (ours.wins - theirs.wins) / ours.tables) / 2
    sure = sure_at_least(ours, theirs, terms.at_least)
    beaten = sure >= terms.sure
    return Mark(reference, ours.tables, share, sure, beaten, terms.points if beaten else 0, _needed(ours, terms))


def _needed(ours: Won, terms: GradeTerms) -> float | None:
    """Return the smallest share of these tables that gets the points if there are no draws; None if no share does."""
    tables, low, high = ours.tables, 0, ours.tables + 1
    while low < high:
        middle = (low + high) // 2
        one, other = ours._replace(wins=middle), ours._replace(wins=tables - middle)
        if sure_at_least(one, other, terms.at_least) >= terms.sure:
            high = middle
        else:
            low = middle + 1
    return math.ceil(1000 * low / tables) / 1000 if low <= tables else None
