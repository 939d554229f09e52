"""The kind `round-robin`: every pair of bots plays."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import comb
from typing import Literal, NamedTuple

from host.play.records import Fixture, Record
from host.rating.evidence import Evidence
from host.rating.results import PAIRS, Fact, Sampling
from host.rating.units import meeting_of
from host.stages import pairing
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    TWO_BOTS,
    BotCount,
    ChangePolicy,
    Field,
    Kind,
    Many,
    Meeting,
    PairStageConfig,
    Ranked,
    block_plans,
    block_size,
    meeting_path,
    with_plan,
)

CERTAIN_FROM = 0.9995
"""Certainty of its order at which a pair ends early. The bound is so high that a test after each block hardly changes the
error probability (Haybittle & Peto, "Design and analysis of randomized clinical trials", 1976)."""


@dataclass(frozen=True)
class RoundRobin(PairStageConfig):
    """Every pair plays, with alternating seats."""

    kind: Literal["round-robin"] = "round-robin"
    tables_per_pair: Many = 100_000
    """The number of tables of each pair of bots. Example: `tables_per_pair = 2_000`"""
    rank_by: tuple[Ranked, ...] = ("win_rate", "total_score")
    min_bots: BotCount = 2


def schedule(stage: RoundRobin, blank: Fixture, field: Field, records: Records) -> Schedule:
    """Yield the first block of every pair, then the second block of every pair, and so on.

    If a pair may end early (`field.stop_early`), no pair plays a block before all pairs have played the previous one.
    """
    bots, count = sorted(field.bots), comb(len(field.bots), 2)
    size = field.block or block_size(stage, stage.tables_per_pair, count)
    plans = block_plans(with_plan(stage, blank), stage.tables_per_pair, size, field)

    def meetings(pairs: Iterable[pairing.Pair]) -> Iterator[Meeting]:
        return (Meeting(meeting_path(stage, pair), pair) for pair in pairs)

    if not field.stop_early:
        yield plans.in_turn(count, lambda: meetings(pairing.round_robin(bots)))
        return
    open_pairs = {pair: PairTally(pair) for pair in pairing.round_robin(bots)}
    for nth in range(plans.longest):
        due = list(plans.blocks(nth, meetings(open_pairs)))
        yield Lazy(len(due), iter(due))
        for block in due:
            record = records.get(block.path)
            if record is None or record.undecided:  # None: it is not played, because a bot is withdrawn
                continue
            pair = block.bots[0], block.bots[1]
            open_pairs[pair] = so_far = open_pairs[pair].after(record)
            if so_far.certain:
                del open_pairs[pair]


class PairTally(NamedTuple):
    """The records of a pair so far."""

    pair: pairing.Pair
    records: tuple[Record, ...] = ()

    def after(self, record: Record) -> "PairTally":
        """Return the tally with the record of one more block."""
        return self._replace(records=(*self.records, record))

    @property
    def certain(self) -> bool:
        """Whether it is certain which bot is better (CERTAIN_FROM). Tables that repeat one another count as one."""
        sure = Evidence([meeting_of(self.records, "wins")]).sure_ahead(*self.pair) or 0.5
        return max(sure, 1 - sure) >= CERTAIN_FROM


ROUND_ROBIN = Kind(
    name="round-robin",
    config=RoundRobin,
    schedule=schedule,
    plays=TWO_BOTS,
    usual=(RoundRobin(name="league"),),
    sampling=Sampling(key="tables_per_pair"),
    own_deals=True,
    changes=ChangePolicy.pairs_decide("tables_per_pair"),
    provides=PAIRS | {Fact.ALL_PAIRS, Fact.BALLOTS},
)
