"""The kind `independent`: the tables of `croupier play` and `croupier compare`; no croupier.toml names it."""

from dataclasses import dataclass
from typing import Any, Literal

from host.games.engine import Game
from host.play.records import Fixture
from host.tournament.stages.kind import (
    BLOCK,
    Field,
    Kind,
    Many,
    Records,
    StageConfig,
    StageName,
    blocks,
    contestants,
    unplayed,
    with_plan,
)

SHARES = 16
"""Fixtures that an ad-hoc game is cut into, whatever the number of workers, so that all of them have work."""


@dataclass(frozen=True)
class Adhoc(StageConfig):
    """Some tables between the same bots. The records decide what ranks."""

    kind: Literal["independent"] = "independent"
    name: StageName = "play"
    tables: Many = 100


def due(stage: Adhoc, blank: Fixture, field: Field, records: Records) -> list[Fixture]:
    """Return the blocks: the bots in the given order at table 1, changing seats from then on."""
    share = min(BLOCK, -(-stage.tables // SHARES))
    group = f"{stage.name}/{contestants(field.bots)}"
    return unplayed(blocks(with_plan(stage, blank), group, field.bots, stage.tables, share), records)


def suits(_game: Game, _rules: Any) -> bool:
    """Return True: every game can be played so."""
    return True


ADHOC = Kind(name="independent", config=Adhoc, due=due, suits=suits, needs="any game")
