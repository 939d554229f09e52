"""The kind `independent`: the tables of `croupier play` and `croupier compare`; no croupier.toml names it."""

from dataclasses import dataclass
from typing import Any, Literal

from host.games.engine import Game
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    MAX_BLOCK_TABLES,
    Field,
    GameCondition,
    Kind,
    Many,
    StageConfig,
    StageName,
    blocks,
    with_plan,
)

MIN_BLOCKS = 16
"""The number of fixtures of an ad-hoc game. It does not depend on the number of workers; all of them have work."""


@dataclass(frozen=True)
class Adhoc(StageConfig):
    """Some tables between the same bots. They are ranked by games if any are won, otherwise by chips."""

    kind: Literal["independent"] = "independent"
    name: StageName = "play"
    tables: Many = 100


def schedule(stage: Adhoc, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield all blocks of tables. The bots sit in the given order at table 1, and then rotate."""
    share = min(MAX_BLOCK_TABLES, -(-stage.tables // MIN_BLOCKS))
    group = FixtureId(stage.name, meeting=contestants(field.bots)).group
    yield blocks(with_plan(stage, blank), group, field.bots, stage.tables, share)


def suits(_game: Game, _rules: Any) -> bool:
    """Return True: every game can be played ad hoc."""
    return True


ADHOC = Kind(
    name="independent", config=Adhoc, schedule=schedule, plays=GameCondition("any game", suits), own_deals=True
)
