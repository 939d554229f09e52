"""Decide which parts of a journal may be shown, for all code that shows tables. docs/watching.md states the rule."""

from dataclasses import dataclass

from host.base.errors import Problem, UserError
from host.journal.reader import Journal
from host.journal.state import RunState, StageState, StageStatus
from host.play.fixture_id import FixtureId, group_of
from host.stages import kind_of
from host.stages.kind import StageConfig


@dataclass(frozen=True)
class Visible:
    """The parts of a journal that spectators may see, as names of stages.

    They may see everything of the stages in `stages`, and the tables of finished fixtures of the stages in `tables`.
    """

    stages: frozenset[str]
    tables: frozenset[str]  # running stages: shown without evidence, times and the tables' own numbers

    def __contains__(self, stage: str) -> bool:
        return stage in self.stages or stage in self.tables


def visible(journal: Journal, spoilers: bool = False) -> Visible:
    """Return the parts of a journal that may be shown. With `spoilers`, for the organiser only, that is everything.

    The cards of a running stage stay secret if its tables share deals: they would reveal the cards of later tables.
    """
    state = journal.state()
    stages = state.configs
    over = {stage.name for stage in state.stages if spoilers or shown_status(state, stage) is StageStatus.FINISHED}
    apart = {stage.name for stage in stages if kind_of(stage).own_deals and not stage.mirror}
    return Visible(frozenset(over), frozenset(apart - over))


def shown_status(run: RunState, stage: StageState) -> StageStatus:
    """Return the status of a stage as pages show it. In a finished run each stage is finished or was skipped."""
    if run.finished and stage.status is not StageStatus.SKIPPED:
        return StageStatus.FINISHED
    return stage.status


def table_of(stage: StageConfig | None, path: str, number: int) -> str:
    """Return the name of a table, given the path of its fixture and its number in the fixture, from 1.

    In a tourney the name is the path and this number. Otherwise the name is that of the fixture's group, with the number
    of the table in the group. If the path of a fixture has no such number, the name is the path.
    """
    if stage is not None and kind_of(stage).tourneys:
        return f"{path}/{number}"
    place = FixtureId.parse(path)
    return path if place.first_table is None else str(place._replace(first_table=place.first_table + number - 1))


def running_name(path: str, fixture: int, number: int) -> str:
    """Return the name of a table while its stage runs.

    `fixture` is the number of its fixture in the journal. `number` is the number of the table in the fixture, from 1.
    """
    return f"{group_of(path)}/fixture {fixture}/{number}"


def still_running(stage: str) -> UserError:
    """Return the error for a table that must not be shown yet."""
    hint = "--spoilers, and do not publish the output"
    return UserError([Problem("R011", stage, "this stage is not over: its cards are still secret", hint=hint)], 5)
