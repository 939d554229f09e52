"""Orders the bots of a stage in which every two bots meet, until all pairs have met: by strength, which depends on the
strength of the opponents."""

import time
from collections.abc import Collection, Iterable
from itertools import combinations
from math import comb
from typing import NamedTuple

from host.base.format import thousands
from host.play.records import Record
from host.rating.rankings import ranking_of
from host.rating.strength import MODEL_BOTS, Strength, quick_strengths
from host.rating.units import orders
from host.stages import results_of
from host.stages.kind import StageConfig

OPPONENTS_COUNT = "elo"
"""The ranking until all pairs have met. The share of tables won misleads while some bots have met only weak ones."""

MAX_TIME_SHARE = 0.05  # the share of the elapsed time that `EarlyOrder.recent` may take


class PairsMet(NamedTuple):
    """Number of pairs of bots that have met, and number of pairs in total."""

    met: int
    all: int

    @classmethod
    def of(cls, records: Iterable[Record], bots: int) -> "PairsMet":
        """Count the pairs in the records of a stage in which every two bots meet. `bots` is the number of bots."""
        return cls(len(pairs_met(records)), comb(bots, 2))

    @property
    def missing(self) -> bool:
        """Whether some pairs have not met."""
        return self.met < self.all

    @property
    def sentence(self) -> str:
        """Return a sentence: the number of pairs that have met, and the ranking that decides until all have."""
        some = f"{thousands(self.met)} of {thousands(self.all)} pairs {'has' if self.met == 1 else 'have'} met"
        by = f"bots are ranked by {ranking_of(OPPONENTS_COUNT).title}, which takes their opponents into account"
        return f"so far {some}; until all have, {by}"


def pairs_met(records: Iterable[Record]) -> set[tuple[str, str]]:
    """Return the pairs of bots that play in at least one of the records. The bots of a pair are sorted."""
    return {pair for record in records for pair in combinations(sorted(record.results), 2)}


class EarlyOrder:
    """Order of the bots after each fixture, until all pairs have met. `pairs` is the number of all pairs; None if every
    two bots meet."""

    def __init__(self, stage: StageConfig, bots: Collection[str], pairs: int | None = None) -> None:
        self._stage, self._bots, self._records = stage, bots, list[Record]()
        self._met, self._all = set[tuple[str, str]](), comb(len(bots), 2) if pairs is None else pairs
        self._recent: dict[str, Strength] = {}
        self._computed, self._not_before = 0, 0.0

    @property
    def pairs(self) -> PairsMet:
        """Return the number of pairs that have met."""
        return PairsMet(len(self._met), self._all)

    def add(self, record: Record) -> None:
        """Count the pairs of a fixture that has been played. Store the part of its record that the strengths need."""
        if self.pairs.missing:
            self._met |= pairs_met([record])
            self._records.append(record._replace(answers=b"", evidence=(), times=()))

    def strengths(self) -> dict[str, Strength]:
        """Return the strengths that rank the bots now, by bot; {} for more than MODEL_BOTS bots, which take too long."""
        if len(self._bots) > MODEL_BOTS:
            return {}
        return quick_strengths(orders(results_of(self._stage, self._records, self._bots)))

    def recent(self) -> dict[str, Strength]:
        """Return the strengths by bot. They are computed again unless that would take more than MAX_TIME_SHARE of the time."""
        started = time.monotonic()
        if self._computed != len(self._records) and started >= self._not_before:
            self._recent, self._computed = self.strengths(), len(self._records)
            self._not_before = time.monotonic() + (time.monotonic() - started) / MAX_TIME_SHARE
        return self._recent
