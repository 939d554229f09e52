"""Computes the grades of the bots of a stage: points for beating references with the certainty that a stage demands."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from host.base.format import thousands
from host.base.grouping import grouped
from host.journal.state import RecordedBot
from host.play.lines import repeats_in
from host.play.records import Record
from host.rating.evidence import Evidence, Meeting
from host.rating.statistics import percent, sure_at_least
from host.rating.units import meeting_of
from host.stages import kind_of, references_of
from host.stages.kind import GradeTerms, StageConfig


class Mark(NamedTuple):
    """Results of a bot against one reference, and the points for them."""

    reference: str
    tables: int
    share: float | None  # share of tables won (a draw counts half), or of the scores of both; None if unknown
    sure: float | None  # the probability (0 to 1) that the result in the long run is as high as the grade demands
    beaten: bool
    points: int  # points of the bot
    most: int  # points that the reference is worth
    needed: float | None  # the smallest share of `tables` that is enough for the points; None if none is, or if unknown
    planned: int  # tables against the reference in the whole stage
    different: int = 0  # tables that repeat no other
    scores: tuple[float, float] | None = None  # the mean scores of the bot and of the reference, if scores decide
    goal: float | None = None  # the mean score that the grade demands; None: the reference's, or a share decides

    @property
    def words(self) -> str:
        """Return the verdict with its certainty: "beaten 99.9 %", "not yet 81 %"."""
        if self.sure is None:
            return "not played"
        return f"{'beaten' if self.beaten else 'not yet'} {percent(self.sure)}"

    @property
    def result(self) -> str:
        """Return the result in words: "10.8 % of 500 tables, 53.8 % would be enough"."""
        if self.sure is None:
            return f"0 of {thousands(self.planned)} tables played"
        tables = f"{thousands(self.tables)} tables"
        if self.scores is not None:
            ours, theirs = (thousands(score, 2) for score in self.scores)
            goal = (
                f"{theirs} of {self.reference}" if self.goal is None else f"{thousands(self.goal, 2)} that are needed"
            )
            return f"{ours} on average at {tables}, against {goal}"
        needed = (
            "even all of them would not be enough"
            if self.needed is None
            else f"{100 * self.needed:.1f} % would be enough"
        )
        return f"{100 * (self.share or 0):.1f} % of {tables}" + ("" if self.beaten else f", {needed}")


class Graded(NamedTuple):
    """Grade of a bot: the sum of its points for all references."""

    bot: str
    author: str
    marks: tuple[Mark, ...]
    grade: int
    most: int  # the largest possible grade


def grades_of(
    stage: StageConfig, bots: Mapping[str, RecordedBot], field: Sequence[str], records: Sequence[Record]
) -> list[Graded]:
    """Return the grades of the bots of a stage, sorted by bot; an empty list if the stage gives no grades.

    `field` are the bots of the stage. The grade of a bot depends only on the records of that bot.
    """
    kind = kind_of(stage)
    terms = kind.grades(stage) if kind.grades else {}
    if not terms:
        return []
    references = {*references_of(stage)}
    met = grouped(
        ((bot, reference), record)
        for record in records
        for bot in record.results.keys() - references
        for reference in record.results.keys() & references
    )
    found = []
    for bot in sorted(bot for bot in field if bot not in references):
        marks = tuple(_mark(bot, name, terms[name], met.get((bot, name), [])) for name in terms)
        points = sum(mark.points for mark in marks)
        author = bots[bot].author if bot in bots else ""
        found.append(Graded(bot, author, marks, points, sum(each.points for each in terms.values())))
    return found


def _mark(bot: str, reference: str, terms: GradeTerms, played: Sequence[Record]) -> Mark:
    """Return the mark of a bot for one reference. `played` are the records of the fixtures with both."""
    mark = Mark(
        reference=reference,
        tables=0,
        share=None,
        sure=None,
        beaten=False,
        points=0,
        most=terms.points,
        needed=None,
        planned=terms.tables,
    )
    if not played:
        return mark
    mark = mark._replace(different=repeats_in(played).different)
    if any(record.scores for record in played):
        return _mark_by_scores(mark, bot, terms, played)
    meeting = meeting_of(played, "wins")
    won, drawn, lost = Evidence([meeting]).counts(bot)
    counted = won + drawn + lost
    sure = sure_at_least(won, drawn, lost, terms.at_least)
    beaten = sure >= terms.sure
    return mark._replace(
        tables=meeting.size,
        share=(1 + (won - lost) / counted) / 2,
        sure=sure,
        beaten=beaten,
        points=terms.points if beaten else 0,
        needed=_needed(meeting.size, counted, terms),
    )


def _mark_by_scores(mark: Mark, bot: str, terms: GradeTerms, played: Sequence[Record]) -> Mark:
    """Return the mark of a bot for one reference in a game decided by scores, which are compared table by table."""
    evidence = Evidence(_meetings(played))
    means = evidence.lead({bot: 1.0}).value, evidence.lead({mark.reference: 1.0}).value
    if terms.score is None:
        sure = evidence.sure({bot: 1 - terms.at_least, mark.reference: -terms.at_least})
    else:
        sure = evidence.sure({bot: 1.0}, terms.score)
    return mark._replace(
        tables=sum(record.results[bot].tables for record in played),
        share=means[0] / sum(means) if min(means) >= 0 < sum(means) else None,
        sure=sure,
        beaten=sure >= terms.sure,
        points=terms.points if sure >= terms.sure else 0,
        scores=means,
        goal=terms.score,
    )


def _meetings(played: Sequence[Record]) -> list[Meeting]:
    """Return one meeting for each set of bots that played together.

    There are several sets if tables have more than two seats, because then other references play too.
    """
    met = grouped((frozenset(record.results), record) for record in played)
    return [meeting_of(some, "score") for some in met.values()]


def _needed(tables: int, counted: float, terms: GradeTerms) -> float | None:
    """Return the smallest share of won tables (0 to 1) that is enough for the points if there are no draws.

    Return None if no share is enough. `counted` is the number of independent tables among `tables`.
    """
    low, high = 0, tables + 1
    while low < high:
        middle = (low + high) // 2
        won = middle * counted / tables
        if sure_at_least(won, 0, counted - won, terms.at_least) >= terms.sure:
            high = middle
        else:
            low = middle + 1
    return math.ceil(1000 * low / tables) / 1000 if low <= tables else None
