"""The kind `league`: tables of any number of seats, drawn so that all pairs of bots share a table equally often."""

from dataclasses import dataclass
from typing import Literal

from host.base.format import thousands
from host.games.luck import Luck
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture
from host.rating.results import Fact, Sampling
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    TWO_OR_MORE,
    BotCount,
    ChangePolicy,
    Field,
    Kind,
    Many,
    Ranked,
    Size,
    StageConfig,
    blocks,
    with_plan,
)
from host.stages.table_design import Design, design


@dataclass(frozen=True)
class League(StageConfig):
    """Every bot plays the same number of tables, in every seat equally often, and all pairs meet equally often."""

    kind: Literal["league"] = "league"
    tables: Many = 400
    """The number of tables of each bot. It is rounded up until the seats and the pairs are balanced. Example: `tables = 2_000`"""
    rank_by: tuple[Ranked, ...] = ("score",)
    min_bots: BotCount = 2


def design_of(stage: League, blank: Fixture, bots: int) -> Design:
    """Return the design of the tables for this number of bots. With fewer bots than seats, tables have fewer seats."""
    seats = min(blank.rules.seats, bots)
    return design(bots, seats, stage.tables, seats if stage.mirror else 1)


def blocks_of(stage: League, blank: Fixture, plan: Design) -> list[Fixture]:
    """Return the fixtures that each set of bots plays, without the names of the bots."""
    return blocks(with_plan(stage, blank)._replace(path="", bots=("",) * plan.seats, tables=plan.length))


def schedule(stage: League, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield all fixtures in one step, because none depends on another. The seed draws the bots' places in the design."""
    plan = design_of(stage, blank, len(field.bots))
    bots = list(Luck(field.seed, f"{stage.name}/draw").shuffled(sorted(field.bots)))
    whole = blocks_of(stage, blank, plan)
    yield Lazy(
        plan.meetings * len(whole),
        (
            meeting_of(stage, block, [bots[place] for place in plan.places(number)], number + 1)
            for block in whole
            for number in range(plan.meetings)
        ),
    )


def meeting_of(stage: League, block: Fixture, bots: list[str], number: int) -> Fixture:
    """Return a fixture of meeting `number`: `league/12/A+B+C+D/1`. The same bots can have several meetings."""
    path = str(FixtureId(stage.name, number, contestants(bots), block.first))
    return block._replace(path=path, bots=tuple(bots))


def size(stage: League, blank: Fixture, bots: int) -> Size:
    """Return the size of a whole stage with this number of bots."""
    plan = design_of(stage, blank, bots)
    fixtures = plan.meetings * len(blocks_of(stage, blank, plan))
    return Size(fixtures, plan.meetings * plan.length, bots, about=about(plan))


def about(plan: Design) -> str:
    """Return a sentence about the numbers of tables of each bot and of each pair."""
    low, high = map(thousands, plan.shared)
    each = f"each bot plays {thousands(plan.tables)} tables of {plan.seats}, {plan.length} in a row with the same bots"
    return f"{each}; every two bots share {low if low == high else f'{low} to {high}'} tables"


LEAGUE = Kind(
    name="league",
    config=League,
    schedule=schedule,
    plays=TWO_OR_MORE._replace(is_general=True),
    usual=(League(name="league"),),
    size=size,
    drawn=True,
    own_deals=True,
    sampling=Sampling(per_bot=True),
    changes=ChangePolicy.field_decides("its tables were drawn so that those bots meet equally often", leavable=True),
    provides=frozenset({Fact.WINNERS, Fact.MEETINGS, Fact.TABLE_SCORES, Fact.BALLOTS}),
)
