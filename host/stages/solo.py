"""The kind `solo`: every bot plays alone, and all bots meet the same deals."""

from dataclasses import dataclass
from typing import Literal

from host.play.records import Fixture
from host.rating.results import Fact, Sampling
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    ChangePolicy,
    Field,
    GameCondition,
    Kind,
    Many,
    Meeting,
    Ranked,
    StageConfig,
    block_plans,
    meeting_path,
)

MAX_SOLO_BLOCK_TABLES = 100


@dataclass(frozen=True)
class Solo(StageConfig):
    """Every bot plays alone. Table 7 of one bot has the deal of table 7 of every other bot."""

    kind: Literal["solo"] = "solo"
    tables: Many = 100
    """The number of tables of each bot. Example: `tables = 1_000`"""
    rank_by: tuple[Ranked, ...] = ("score",)


def schedule(stage: Solo, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield the first block of every bot, then the second block of every bot, and so on."""
    bots = sorted(field.bots)
    plans = block_plans(blank._replace(plan="same cards"), stage.tables, MAX_SOLO_BLOCK_TABLES, field, 1)
    meetings = [Meeting(meeting_path(stage, (bot,)), (bot,)) for bot in bots]
    yield plans.in_turn(len(meetings), lambda: meetings)


SOLO = Kind(
    name="solo",
    config=Solo,
    schedule=schedule,
    plays=GameCondition("a game for one bot", lambda game, _rules: game.seats[0] == 1),
    sampling=Sampling(per_bot=True),
    changes=ChangePolicy.pairs_decide("tables"),
    provides=frozenset({Fact.TABLE_SCORES}),
    scored_tables=MAX_SOLO_BLOCK_TABLES,
)
