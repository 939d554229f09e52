"""The kind `independent`: the tables of `croupier play` and `croupier compare`; no croupier.toml names it."""

from dataclasses import dataclass
from typing import Literal

from host.play.records import Fixture
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    Field,
    GameCondition,
    Kind,
    Many,
    PairStageConfig,
    StageName,
    block_size,
    blocks,
    meeting_path,
    with_plan,
)


@dataclass(frozen=True)
class Adhoc(PairStageConfig):
    """Tables between the same bots. Their win rate ranks them if any table was won, otherwise their mean score."""

    kind: Literal["independent"] = "independent"
    name: StageName = "play"
    tables: Many = 100


def schedule(stage: Adhoc, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield all blocks of tables. The bots sit in the given order at table 1, and rotate from table to table."""
    share = field.block or block_size(stage, stage.tables, 1, least=1)
    path, bots = meeting_path(stage, field.bots), tuple(field.bots)
    yield blocks(with_plan(stage, blank)._replace(path=path, bots=bots, tables=stage.tables), share)


ADHOC = Kind(
    name="independent",
    config=Adhoc,
    schedule=schedule,
    plays=GameCondition("any game", lambda _game, _rules: True),
    own_deals=True,
)
