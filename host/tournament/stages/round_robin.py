"""The kind `round-robin`: every pair of bots plays."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from host.play.records import Fixture, Record
from host.tournament import pairing
from host.tournament.stages.kind import (
    BotCount,
    Field,
    Kind,
    Many,
    Records,
    StageConfig,
    blocks,
    contestants,
    rankings,
    two_can_play,
    unplayed,
    with_plan,
)
from host.tournament.statistics import sequential

CERTAIN_ELO = (-5.0, 5.0)
"""The bounds, in Elo, of the sequential test that can end a pair early."""


@dataclass(frozen=True)
class RoundRobin(StageConfig):
    """Every pair plays, with alternating seats."""

    kind: Literal["round-robin"] = "round-robin"
    tables_per_pair: Many = 100_000
    rank_by: tuple[Annotated[str, rankings("games", "hands", "elo")], ...] = ("games", "hands")
    min_bots: BotCount = 2


def due(stage: RoundRobin, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return the unplayed blocks of every pair; only the next one if a pair may end early."""
    due = []
    for pair in pairing.round_robin(sorted(field.bots)):
        group = f"{stage.name}/{contestants(pair)}"
        planned = blocks(with_plan(stage, blank), group, pair, stage.tables_per_pair)
        left = unplayed(planned, records)
        if field.stop_early and left:
            played = [records[block.path] for block in planned[: planned.index(left[0])]]
            left = [] if certain(played, pair) else left[:1]
        due += left
    return due


def certain(played: Sequence[Record], pair: pairing.Pair) -> bool:
    """Return whether the sequential test has decided which bot of a pair is the better one."""
    one, two = (round(sum(record.results[bot].wins for record in played)) for bot in pair)
    tables = sum(record.results[pair[0]].tables for record in played)
    return bool(sequential(one, tables - one - two, two, CERTAIN_ELO).accepted)


ROUND_ROBIN = Kind(
    name="round-robin",
    config=RoundRobin,
    due=due,
    suits=two_can_play,
    needs="a game for two bots with one winner",
    default_stages=(RoundRobin(name="league"),),
    template="""\
[[stage]]                      # stages run in order
name            = "league"
kind            = "round-robin"
tables_per_pair = {tables}
rank_by         = ["games", "hands"]
""",
    unit_key="tables_per_pair",
)
