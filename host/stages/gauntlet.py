"""The kind `gauntlet`: every bot plays fixed references, and no other bot. Results can become grades.

In a game for two bots with one winner, each reference is a bot's only opponent. In other games, references fill the other
seats of a bot's table.

The fixtures of a bot depend on the bot, the references and the stage alone. So the result and the grade of a bot do not
depend on which other bots entered, and an unchanged bot that is graded again from the same seed has the same grade.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from host.base.errors import UserError, closest_match
from host.base.toml_file import to_toml
from host.base.value_types import Flag, InvalidValue, Text, ValueType, integer, integer_or_auto, plain_string
from host.games.engine import Game
from host.play.records import Fixture
from host.play.table_plans import SAME_CARDS
from host.rating.results import PAIRS, Fact
from host.rating.statistics import sure_at_least
from host.stages.agenda import Records, Schedule
from host.stages.kind import (
    TWO_BOTS,
    TWO_OR_MORE,
    ChangePolicy,
    Field,
    GradeTerms,
    ImpossibleStageError,
    Kind,
    Many,
    Meeting,
    Ranked,
    StageConfig,
    Surroundings,
    block_plans,
    meeting_path,
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


def _score(value: Any) -> float | None:
    if value is None:  # in a journal
        return None
    if type(value) not in (int, float):
        raise InvalidValue("C006", "is not a number", "score = 210")
    if not abs(value) <= MAX_SCORE:
        raise InvalidValue("C009", "is not a mean score", f"a number from {-MAX_SCORE} to {MAX_SCORE}")
    return float(value)


MAX_SCORE = 1_000_000_000
SCORE = {"type": "number", "title": "number", "examples": [210]}
PERCENTAGE = {"type": "string", "title": "percentage", "pattern": f"^{PERCENT.pattern}$", "examples": ["95 %"]}


@dataclass(frozen=True)
class Grade:
    """The points for beating one reference."""

    points: Annotated[int, integer(1, 1_000_000)]
    """The points. Example: `points = 40`"""
    sure: Annotated[str, ValueType(_sure, PERCENTAGE)] = ""
    """How certain it must be that the bot is better than the reference: more than 50 %. Every grade needs this key.
    Example: `sure = "95 %"`"""
    at_least: Annotated[str, ValueType(_percent, PERCENTAGE)] = "50 %"
    """The share of tables that the bot must win in the long run, with that certainty; a draw counts half. In a game of
    chips: its share of the chips that it and the reference have. Example: `at_least = "60 %"`"""
    score: Annotated[float | None, ValueType(_score, SCORE)] = None
    """The mean score of a table that the bot must reach in the long run, with that certainty, whatever the reference
    scores. Not in a game for two bots with one winner. Example: `score = 210`"""


@dataclass(frozen=True)
class Gauntlet(StageConfig):
    """Every bot plays each reference, and no other bot. What a bot achieves does not depend on who else entered."""

    kind: Literal["gauntlet"] = "gauntlet"
    references: tuple[Text, ...] = ()
    """The references: names of entered bots, or patterns as in `bots`. A reference that `bots` does not enter plays only
    here. Every gauntlet needs this key. Example: `references = ["sample:davey", "staff/*"]`"""
    tables: Many = 2_000
    """The number of tables of each bot against each reference; with more seats, with each group of references at its table.
    Example: `tables = 500`"""
    seats: Annotated[int, integer_or_auto(100, "seats", 2, auto=0)] = 0
    """The seats of a table: one bot, and references in the others. `"auto"`: 2 in a game for two bots with one winner; in
    other games those of the rules, or fewer if there are fewer references. If there are more references than seats for
    them, each of them sits equally often with a bot. Example: `seats = 2`"""
    same_cards: Flag = False
    """`true`: all bots meet the same deals in the same seats. Table 7 against a reference has the same cards for
    every bot."""
    grades: dict[str, Grade] = field(default_factory=dict)
    rank_by: tuple[Ranked, ...] = ()

    def completed(self) -> "Gauntlet":
        """Return the stage. Raise ImpossibleStageError if it has no references, or a grade has no certainty."""
        if not self.references:
            raise ImpossibleStageError("references", "no reference is named", 'references = ["sample:NAME"]', "C007")
        for name, grade in self.grades.items():
            if not grade.sure:
                message = f"the grade for {to_toml(name)} has no certainty: equal bots often beat each other by luck"
                raise ImpossibleStageError(("grades", name), message, 'sure = "95 %"', "C007")
        return self

    def settled(self, around: Surroundings) -> "Gauntlet":
        """Return the stage with names of references instead of patterns, and with `seats` and `rank_by` for the game.

        Names replace patterns in the grades, too. Raise ImpossibleStageError if a reference is unknown, if a grade
        is not possible, or if the game or the number of references does not allow the seats.
        """
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
                self._check_grade(key, grade, around.game)
                grades[name] = grade
        usual = ("win_rate", "total_score") if _by_wins(around.game) else ("score",)
        return replace(
            self,
            references=tuple(names),
            grades=grades,
            seats=self._seats(len(names), around),
            rank_by=self.rank_by or usual,
        )

    def _check_grade(self, name: str, grade: Grade, game: Game) -> None:
        """Raise ImpossibleStageError if the stage has too few tables to prove a grade, or the grade has wrong keys.

        The keys are wrong if they contradict the game or each other.
        """
        if not grade.sure:  # `completed` reports it
            return
        if _by_wins(game):
            if grade.score is not None:
                message = f"{game.name} has a winner at each table, and its grades are for the share of tables won"
                raise ImpossibleStageError(("grades", name, "score"), message, 'at_least = "60 %"')
            all_won = sure_at_least(self.tables, 0, 0, fraction(grade.at_least))
            if all_won < fraction(grade.sure):
                message = f"{self.tables} tables cannot show that a bot beats {to_toml(name)} with {grade.sure}"
                raise ImpossibleStageError(("grades", name, "sure"), message, "more tables, or a lower sure")
        elif fraction(grade.at_least) != 0.5:
            if grade.score is not None:
                message = f"the grade for {to_toml(name)} has both at_least and score"
                raise ImpossibleStageError(("grades", name, "score"), message, "leave out one of the two")
            if game.chips == "none":
                message = f"the scores of {game.name} can be below zero, so a bot has no share of them"
                raise ImpossibleStageError(
                    ("grades", name, "at_least"), message, "score = …, the mean score of a table"
                )

    def _seats(self, references: int, around: Surroundings) -> int:
        """Return the number of seats of a table.

        Raise ImpossibleStageError if the game or the number of references does not allow it.
        """
        game = around.game
        fewest, most = game.seats
        if not references:  # `completed` reports it
            return self.seats
        seats = self.seats or (2 if _by_wins(game) else min(around.seats, references + 1))
        if self.seats == 1 or self.seats > most or (_by_wins(game) and self.seats > 2):
            message = f"{game.name} has no grades at tables of {self.seats}"
            raise ImpossibleStageError("seats", message, f"seats = {2 if _by_wins(game) else most}")
        if seats < fewest or seats > references + 1:
            needed = max(seats, fewest)
            message = f"a table of {game.name} has {needed} seats: it needs {needed - 1} references, and {references} are named"
            raise ImpossibleStageError("references", message, f"name at least {needed - 1} references")
        return seats

    @property
    def meetings(self) -> list[tuple[str, ...]]:
        """Return the groups of references that a bot meets; a group fills the other seats of a table.

        Each reference is in the same number of groups.
        """
        others, names = (self.seats or 2) - 1, self.references
        if others == len(names):
            return [names]
        return [(names + names)[first : first + others] for first in range(len(names))]


def _by_wins(game: Game) -> bool:
    """Return whether a game is for two bots with one winner, so that grades are for the share of tables won."""
    return TWO_BOTS.is_met(game, None)


def _named(pattern: str, around: Surroundings, key: tuple[str | int, ...]) -> Sequence[str]:
    """Return the names of the bots that a pattern names: one entered bot, or bots in files and folders.

    Raise ImpossibleStageError if it names none. `key` is the path of keys to the pattern in the stage's table.
    """
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
    """Yield the first block of every bot against every group of references, then the second block of all, and so on."""
    bots = [bot for bot in sorted(field.bots) if bot not in stage.references]
    seats = stage.seats or 2
    blank = with_plan(stage, blank)
    if stage.same_cards:
        blank = blank._replace(plan=SAME_CARDS[blank.plan])
    plans = block_plans(blank, stage.tables, MAX_GAUNTLET_BLOCK_TABLES, field, seats)
    sets = [(bot, *references) for bot in bots for references in stage.meetings]
    meetings = [Meeting(meeting_path(stage, some), seated(stage, some)) for some in sets]
    yield plans.in_turn(len(meetings), lambda: meetings)


def seated(stage: Gauntlet, meeting: tuple[str, ...]) -> tuple[str, ...]:
    """Return the bots of a meeting in the order of their seats at the first table. `meeting` names the references last.

    The bot has the first seat if all bots meet the same deals, or if there are several references. Otherwise the two
    bots sit in the order of their names.
    """
    return meeting if stage.same_cards or len(meeting) > 2 else tuple(sorted(meeting))


def terms(stage: Gauntlet) -> Mapping[str, GradeTerms]:
    """Return the terms of each grade, by the name of its reference."""
    return {
        name: GradeTerms(
            points=grade.points,
            sure=fraction(grade.sure),
            at_least=fraction(grade.at_least),
            score=grade.score,
            tables=stage.tables * sum(name in meeting for meeting in stage.meetings),
        )
        for name, grade in stage.grades.items()
    }


GAUNTLET = Kind(
    name="gauntlet",
    config=Gauntlet,
    schedule=schedule,
    plays=TWO_OR_MORE,
    references=lambda stage: stage.references,
    grades=terms,
    changes=ChangePolicy.pairs_decide("tables"),
    provides=PAIRS - {Fact.MEETINGS} | {Fact.TABLE_SCORES},
    scored_tables=MAX_GAUNTLET_BLOCK_TABLES,
)
