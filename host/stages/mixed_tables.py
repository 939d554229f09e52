"""The kind `mixed-tables`: tourneys in which all bots play the same number of rounds at changing tables."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from host.games.engine import Game
from host.play.fixture_id import FixtureId
from host.play.records import Fixture
from host.rating.results import Fact, Sampling
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    ChangePolicy,
    Field,
    GameCondition,
    Kind,
    Many,
    Ranked,
    StageConfig,
    StageName,
)


@dataclass(frozen=True)
class MixedTables(StageConfig):
    """All bots play the same number of rounds at changing tables and keep their chips during a tourney."""

    kind: Literal["mixed-tables", "mixed_tables"] = "mixed-tables"
    """The kind as croupier.toml spells it: results of a file with the old word keep the old word."""
    name: StageName = "tables"
    tourneys: Many = 25
    """The number of tourneys. Each starts again with the same chips; the result is the mean of all. Example: `tourneys = 100`"""
    rounds: Many = 5
    """The number of tables of each bot in a tourney. Example: `rounds = 10`"""
    rank_by: tuple[Ranked, ...] = ("score",)

    def as_begun(self, recorded: StageConfig) -> Self:
        """Return the stage with `kind` as the journal spells it, because the other spelling is not a change of the settings."""
        return replace(self, kind=recorded.kind) if isinstance(recorded, MixedTables) else self


def schedule(stage: MixedTables, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield every tourney. Tourneys do not depend on each other, so all may be played at the same time."""
    plan = "mirrored tourney" if stage.mirror else "tourney"
    tourney = blank._replace(plan=plan, bots=tuple(sorted(field.bots)), tables=stage.rounds)
    numbers = range(1, stage.tourneys + 1)
    tourneys = (
        tourney._replace(path=str(FixtureId(stage.name, first_table=number)), first=number) for number in numbers
    )
    yield Lazy(stage.tourneys, tourneys)


def suits(game: Game, _rules: Any) -> bool:
    """Return whether the chips of a game can be carried from table to table."""
    return game.chips == "tourney"


MIXED_TABLES = Kind(
    name="mixed-tables",
    config=MixedTables,
    schedule=schedule,
    plays=GameCondition("a game in which chips are carried from table to table", suits),
    usual=(MixedTables(),),
    own_deals=True,
    sampling=Sampling("tourney", "tourneys"),
    changes=ChangePolicy.field_decides("all bots play in every tourney", more=("tourneys",)),
    provides=frozenset({Fact.MEETINGS, Fact.BALLOTS}),
)
