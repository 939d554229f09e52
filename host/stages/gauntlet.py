"""The kind `gauntlet`: every bot plays fixed references, and no other bot. Results can become grades.

The fixtures of a bot depend on the bot, the references and the stage alone. So the result and the grade of a bot do not
depend on which other bots entered, and an unchanged bot that is graded again from the same seed has the same grade.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

from host.base.config_file import InvalidValue, Text, ValueType, closest_match, integer, plain_string, to_toml
from host.base.errors import UserError
from host.play.fixture_id import FixtureId, contestants
from host.play.records import Fixture
from host.rating.results import PAIRS, Fact
from host.rating.statistics import Won, sure_at_least
from host.stages.agenda import Lazy, Records, Schedule
from host.stages.kind import (
    FORBID,
    TWO_BOTS,
    ChangePolicy,
    Field,
    GradeTerms,
    ImpossibleStageError,
    Kind,
    Many,
    Ranked,
    StageConfig,
    Surroundings,
    block_plans,
    with_plan,
)

MAX_GAUNTLET_BLOCK_TABLES = 500
"""Most tables in one fixture. It must not depend on the number of bots: each fixture starts its bots again."""

PERCENT = re.compile(r"([0-9]{1,2}(?:\.[0-9]{1,3})?) ?%")


def _percent(value: Any) -> str:
    if not isinstance(value, str):
        hint = f'"{value} %"' if isinstance(value, int | float) and type(value) is not bool else '"95 %"'
        raise InvalidValue("C006", "is not a percentage", hint)
    if not PERCENT.fullmatch(plain_string(value)):
        raise InvalidValue("C009", "is not a percentage below 100 %", '"95 %"')
    return value


def _sure(value: Any) -> str:
    if fraction(_percent(value)) <= 0.5:
        raise InvalidValue("C009", "is not a certainty: two equal bots reach 50 %", '"95 %"')
    return str(value)


def fraction(percent: str) -> float:
    """Return a percentage as a number from 0 to 1."""
    return float(percent.rstrip("% ")) / 100


PERCENTAGE = {"type": "string", "title": "percentage", "pattern": f"^{PERCENT.pattern}$", "examples": ["95 %"]}


@dataclass(frozen=True)
class Grade:
    """The points for beating one reference."""

    __pydantic_config__: ClassVar[Any] = FORBID

    points: Annotated[int, integer(1, 1_000_000)]
    """The points. Example: `points = 40`"""
    sure: Annotated[str, ValueType(_sure, PERCENTAGE)] = ""
    """How certain it must be that the bot is better than the reference: more than 50 %. Every grade needs this key.
    Example: `sure = "95 %"`"""
    at_least: Annotated[str, ValueType(_percent, PERCENTAGE)] = "50 %"
    """The share of tables that the bot must win in the long run, with that certainty; a draw counts half.
    Example: `at_least = "60 %"`"""


@dataclass(frozen=True)
class Gauntlet(StageConfig):
    """Every bot plays each reference, and no other bot. What a bot achieves does not depend on who else entered."""

    kind: Literal["gauntlet"] = "gauntlet"
    references: tuple[Text, ...] = ()
    """The references: names of entered bots, or patterns as in `bots`. A reference that `bots` does not enter plays only
    here. Every gauntlet needs this key. Example: `references = ["sample:davey", "staff/*"]`"""
    tables: Many = 2_000
    """The number of tables of each bot against each reference. Example: `tables = 500`"""
    grades: dict[str, Grade] = field(default_factory=dict)
    rank_by: tuple[Ranked, ...] = ("win_rate", "total_score")

    def completed(self) -> "Gauntlet":
        """Raise ImpossibleStageError for a stage without references, or a grade that no bot can be given."""
        if not self.references:
            raise ImpossibleStageError("references", "no reference is named", 'references = ["sample:NAME"]', "C007")
        for name, grade in self.grades.items():
            if not grade.sure:
                message = f"the grade for {to_toml(name)} has no certainty: equal bots often beat each other by luck"
                raise ImpossibleStageError(("grades", name), message, 'sure = "95 %"', "C007")
            all_won = sure_at_least(Won(self.tables, self.tables), Won(self.tables, 0), fraction(grade.at_least))
            if all_won < fraction(grade.sure):
                message = f"{self.tables} tables cannot show that a bot beats {to_toml(name)} with {grade.sure}"
                raise ImpossibleStageError(("grades", name, "sure"), message, "more tables, or a lower sure")
        return self

    def settled(self, around: Surroundings) -> "Gauntlet":
        """Replace patterns by the names of the references, also in the grades. Raise ImpossibleStageError if one is unknown."""
        names = dict[str, None]()
        for number, pattern in enumerate(self.references):
            names |= dict.fromkeys(_named(pattern, around, ("references", number)))
        grades = dict[str, Grade]()
        for key, grade in self.grades.items():
            for name in [key] if key in names else _named(key, around, ("grades", key)):
                if name not in names:
                    message = f"a grade names {to_toml(key)}, which is not a reference of this stage"
                    hint = closest_match(name, names) or f"one of {', '.join(names)}"
                    raise ImpossibleStageError(("grades", key), message, hint)
                if name in grades:
                    raise ImpossibleStageError(
                        ("grades", key), f"two grades are for {name}", "leave out one of the two"
                    )
                grades[name] = grade
        return replace(self, references=tuple(names), grades=grades)


def _named(pattern: str, around: Surroundings, key: tuple[str | int, ...]) -> Sequence[str]:
    """Return the names of the bots that a pattern means: those of an entered bot, or of files and folders."""
    if pattern in around.bots():
        return [pattern]
    message, hint = f"{to_toml(pattern)} is not a bot", "the name of an entered bot, a file, a folder, or sample:NAME"
    try:
        found = around.matching(pattern)
    except UserError as refused:
        hint = refused.problems[0].hint or hint
        raise ImpossibleStageError(key, f"unknown reference: {message}", hint, "C012") from refused
    if not found:
        raise ImpossibleStageError(key, f"unknown reference: {to_toml(pattern)} matches no bot", hint, "C012")
    return found


def schedule(stage: Gauntlet, blank: Fixture, field: Field, _records: Records) -> Schedule:
    """Yield the first block of every bot against every reference, then the second block of all, and so on."""
    bots = [bot for bot in sorted(field.bots) if bot not in stage.references]
    plans = block_plans(with_plan(stage, blank), stage.tables, MAX_GAUNTLET_BLOCK_TABLES, field)
    pairs = [(bot, reference) for bot in bots for reference in stage.references]
    fixtures = (
        plan[nth]._replace(path=f"{path_of(stage, pair)}/{plan[nth].first}", bots=(min(pair), max(pair)))
        for nth in range(plans.longest)
        for pair in pairs
        for plan in [plans.of(path_of(stage, pair))]
        if nth < len(plan)
    )
    yield Lazy(plans.number(len(pairs), (path_of(stage, pair) for pair in pairs)), fixtures)


def path_of(stage: Gauntlet, pair: tuple[str, str]) -> str:
    """Return the seed path of a bot and a reference."""
    return FixtureId(stage.name, meeting=contestants(pair)).group


def terms(stage: Gauntlet) -> Mapping[str, GradeTerms]:
    """Return what each reference with a grade is worth."""
    return {
        name: GradeTerms(grade.points, fraction(grade.sure), fraction(grade.at_least))
        for name, grade in stage.grades.items()
    }


GAUNTLET = Kind(
    name="gauntlet",
    config=Gauntlet,
    schedule=schedule,
    plays=TWO_BOTS,
    references=lambda stage: stage.references,
    grades=terms,
    changes=ChangePolicy.pairs_decide("tables"),
    provides=PAIRS - {Fact.MEETINGS},
)
