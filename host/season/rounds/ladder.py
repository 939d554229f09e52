"""Computes the ladder of a season from the tables of all rounds: ratings, their errors, and why a version moved."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from host.rating.statistics import ELO, percent
from host.rating.strength import TableOrder
from host.season.documents import LadderDocument, LadderRow
from host.season.rounds.fit import Fit, IntArray, fitted
from host.season.rounds.moves import Moves, played
from host.season.rounds.scheduler import Sums

MEAN_RATING = 1500
"""The rating of a version of average strength."""

NEIGHBOURS = 3
"""The greatest difference in rank at which an opponent is a neighbour."""

SAMPLES, SAMPLING_SEED = 2000, 1979
"""The number of random samples of the ratings, and the seed of their generator.

The samples give the ranges of ranks, and the chance that the first places are right."""

JITTER = 0.01
"""Variance in Elo² that is added to each rating, because rounding may leave a covariance matrix that has no root."""

CYCLES_FROM = 0.99
"""If `Residuals.sure` is at least this, the ladder says that one rating for each version does not fit the results."""


class Listed(NamedTuple):
    """A version as the ladder lists it.

    A version with a note is not ranked: it was taken off the ladder, or withdrawn.
    """

    label: str
    bot: str
    number: int
    author: str
    language: str = ""
    faults: int = 0
    tried: int = 1  # versions of this bot so far
    note: str = ""


class LastRound(NamedTuple):
    """The last round that counts, whose results the ladder explains.

    `orders` counts how often the tables of this round ended in each order; mirrored tables may have weights. `tables`
    is the number of tables without weights, by set of versions.
    """

    number: int
    at: float  # seconds since 1970
    orders: Mapping[TableOrder, float]
    tables: Mapping[frozenset[str], int] = MappingProxyType({})


class Before(NamedTuple):
    """The ladder before the last round, by label: ranks (0: not ranked), and ratings after each round, newest last."""

    ranks: Mapping[str, int]
    history: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, document: LadderDocument | None) -> "Before":
        """Return the ranks and ratings of a published ladder; both are empty if there is none."""
        rows = document.rows if document else ()
        return cls({row.label: row.rank for row in rows}, {row.label: row.history for row in rows})


NO_LADDER = Before({}, {})


def ladder(
    versions: Sequence[Listed], sums: Sums, last: LastRound, before: Before = NO_LADDER, places: int = 8
) -> LadderDocument:
    """Return the ladder after a round. It has only versions that have played.

    `sums` has the results of all rounds, `last` has the results of the last round, and `before` is the ladder before
    it. `places` is the number of first places that the season has to find.
    """
    fit = fitted(sums.orders)
    table = _Table.of(versions, fit)
    chances = Chances(fit, [each.label for each in table.ranked], places)
    ratings = {label: _rating(fit, label) for label in fit.number}
    known = {label: past[-1] for label, past in before.history.items() if past}
    moves = Moves.of(played(last.orders, last.tables), ratings, before.ranks, known)
    near = _near(table.ranks, fit)
    ahead = {one.label: fit.sure_ahead(one.label, other.label) for one, other in pairwise(table.ranked)}
    rows = tuple(
        LadderRow(
            rank=(rank := table.ranks.get(each.label, 0)),
            label=each.label,
            bot=each.bot,
            number=each.number,
            author=each.author,
            language=each.language,
            rating=ratings[each.label],
            interval=round(fit.interval(each.label), 1),
            ranks=chances.ranks.get(each.label, (rank, rank)),
            tables=sums.tables.get(each.label, 0),
            faults=each.faults,
            tried=each.tried,
            history=(*before.history.get(each.label, ()), ratings[each.label]),
            ahead=ahead.get(each.label),
            moved=moves.sentence(each.label, table.ranks),
            neighbours=near.get(each.label, 0.0),
            note=table.notes.get(each.label, ""),
        )
        for each in table.all
    )
    return LadderDocument(round=last.number, at=last.at, rows=rows, fit=fit_sentence(fit), outside=chances.sentence)


def _rating(fit: Fit, label: str) -> float:
    return round(MEAN_RATING + float(fit.elo[fit.number[label]]), 1)


class _Table(NamedTuple):
    """The versions in the order of the ladder. Of several versions of one author, only the best one is ranked.

    `ranks` and `notes` are by label.
    """

    all: Sequence[Listed]
    ranked: Sequence[Listed]
    ranks: Mapping[str, int]
    notes: Mapping[str, str]

    @classmethod
    def of(cls, versions: Sequence[Listed], fit: Fit) -> "_Table":
        played = [each for each in versions if each.label in fit.number]
        played.sort(key=lambda each: (-fit.elo[fit.number[each.label]], each.label))
        best, notes = dict[str, str](), {each.label: each.note for each in played}
        for each in played:
            if not each.note and each.author in best:
                notes[each.label] = f"not ranked: {best[each.author]} of the same author is ahead"
            elif not each.note:
                best[each.author] = each.label
        ranked = [each for each in played if not notes[each.label]]
        ranks = {each.label: rank for rank, each in enumerate(ranked, 1)}
        listed = [each for each in played if not each.note] + [each for each in played if each.note]
        return cls(listed, ranked, ranks, notes)


def _near(ranks: Mapping[str, int], fit: Fit) -> dict[str, float]:
    """Return the share (0 to 1) of a version's tables that it played against its neighbours in rank, by label."""
    number, counts = fit.number, fit.counts
    rank = np.array([ranks.get(label, 0) for label in number], np.int64)
    one, other = rank[counts.one], rank[counts.other]
    close = np.where((one > 0) & (other > 0) & (np.abs(one - other) <= NEIGHBOURS), counts.tables, 0.0)
    near, every = np.zeros(len(rank)), np.zeros(len(rank))
    for side in (counts.one, counts.other):
        np.add.at(near, side, close)
        np.add.at(every, side, counts.tables)
    share = near / np.maximum(every, 1e-9)
    return {label: round(float(share[nth]), 3) for label, nth in number.items()}


@dataclass(frozen=True)
class Chances:
    """Probabilities of ranks, from samples of the joint normal distribution of the ratings of the ranked versions."""

    fit: Fit
    labels: Sequence[str]  # best first
    places: int

    @cached_property
    def _orders(self) -> IntArray:
        """Return a row for each sample: the positions of the versions in `labels`, ordered by their sampled ratings."""
        rows = np.array([self.fit.number[label] for label in self.labels], np.int64)
        covariance = self.fit.covariance[np.ix_(rows, rows)] + JITTER * np.eye(len(rows))
        root = np.linalg.cholesky(covariance)
        # RandomState is the only generator whose values numpy guarantees to keep.
        noise = np.random.RandomState(SAMPLING_SEED).standard_normal((SAMPLES, len(rows)))
        found: IntArray = np.argsort(-(self.fit.elo[rows] + noise @ root.T), axis=1, kind="stable")
        return found

    @cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """Return the best and the worst likely rank (95 %) of each ranked version, by label."""
        if not self.labels:
            return {}
        ranks: IntArray = np.argsort(self._orders, axis=1, kind="stable") + 1
        cut = int(0.025 * SAMPLES)
        low, high = np.sort(ranks, axis=0)[[cut, SAMPLES - 1 - cut]].tolist()
        return {label: (low[nth], high[nth]) for nth, label in enumerate(self.labels)}

    @property
    def nobody_outside(self) -> float:
        """Return the probability (0 to 1) that the versions on the first `places` ranks are really the best ones."""
        return float((self._orders[:, : self.places] < self.places).all(axis=1).mean())

    @property
    def sentence(self) -> str:
        """Return a sentence with the chance that the first `places` ranks have the best versions.

        Return an empty string if no more than `places` versions are ranked.
        """
        if len(self.labels) <= self.places:
            return ""
        chance = percent(self.nobody_outside)
        return f"The chance that nobody outside the first {self.places} belongs inside is {chance}."


def fit_sentence(fit: Fit) -> str:
    """Return the result of the test of the fit in plain words; empty if too few pairs have met for a test."""
    residuals = fit.residuals
    if residuals.expected < 1:
        return ""
    figures = f"chi² {residuals.chi2:.0f}, {residuals.expected:.0f} ± {residuals.deviation:.0f} expected"
    if residuals.sure < CYCLES_FROM:
        return f"One rating for each version describes the results of the pairs ({figures})."
    spread = f"a pair differs from its ratings by about {residuals.spread:.0f} Elo ({figures})"
    return (
        f"One rating for each version does not describe the results of the pairs: {spread}. "
        f"{_example(fit)} The intervals are wider for it, and many tables of one pair count as fewer."
    )


def _example(fit: Fit) -> str:
    """Return a sentence about three versions that beat each other in a circle.

    If there is no circle, the sentence is about the pair whose results differ most from its ratings.
    """
    labels, counts = [*fit.number], fit.counts
    surplus = counts.won - counts.tables / 2
    sure = np.abs(surplus) > np.sqrt(counts.tables)  # two standard deviations of even tables
    beats = np.zeros((len(labels), len(labels)))
    winner, loser = np.where(surplus > 0, counts.one, counts.other), np.where(surplus > 0, counts.other, counts.one)
    beats[winner[sure], loser[sure]] = np.abs(surplus[sure]) / np.sqrt(counts.tables[sure])
    circles = ((beats > 0) @ (beats > 0).astype(float)) * (beats.T > 0)
    if circles.any():
        one, last = (int(each[0]) for each in np.nonzero(circles))
        middle = int(np.nonzero((beats[one] > 0) & (beats[:, last] > 0))[0][0])
        names = labels[one], labels[middle], labels[last]
        return f"For example {names[0]} beats {names[1]}, {names[1]} beats {names[2]}, and {names[2]} beats {names[0]}."
    chance = 1 / (1 + np.exp((fit.elo[counts.other] - fit.elo[counts.one]) / ELO))
    surprise = (counts.won - counts.tables * chance) / np.sqrt(counts.tables * chance * (1 - chance))
    nth = int(np.argmax(np.abs(surprise)))
    who, against = labels[counts.one[nth]], labels[counts.other[nth]]
    won, due = percent(float(counts.won[nth] / counts.tables[nth])), percent(float(chance[nth]))
    return f"For example {who} wins {won} of its tables against {against}, and {due} were expected."
