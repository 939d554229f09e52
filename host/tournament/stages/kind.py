"""Defines a kind of stage, and what all kinds share."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from host.base.config_file import Flag, ValueType, integer, matches, one_of
from host.games.engine import Game
from host.play.records import Fixture, Record

BLOCK = 10_000
"""Tables in one fixture between two bots. Do not change it for speed: results would depend on it."""

BLANK = Fixture("", None, "", "", (), 0)

Records = Mapping[str, Record]
"""The records of a stage, by path."""


# A stage in croupier.toml and in the journal.

FORBID: Any = {"extra": "forbid"}

StageName = Annotated[str, matches("[A-Za-z0-9_-]{1,40}", "name of a stage", "up to 40 letters, digits, _ and -")]
BotCount = Annotated[int, integer(1, 10_000)]
Many = Annotated[int, integer(1, 10_000_000)]
Few = Annotated[int, integer(1, 1000)]
OWN_RANKINGS: list[str] = []
"""The names of custom rankings; every kind of stage can use them."""


def rankings(*names: str) -> ValueType:
    """Return the type of a name in `rank_by`: one of these rankings, or a custom one."""
    return one_of(lambda: (*names, *OWN_RANKINGS), "way to rank here")


Ranked = Annotated[str, rankings("games", "hands", "chips", "advances")]


@dataclass(frozen=True)
class StageConfig:
    """The keys that every [[stage]] has. Each kind adds its own keys, and restricts `kind` and `rank_by`."""

    __pydantic_config__: ClassVar[Any] = FORBID

    kind: str = ""
    name: StageName = ""
    rank_by: tuple[Ranked, ...] = ()
    mirror: Flag = False
    min_bots: BotCount = 1
    practice: Flag = False


class ImpossibleStageError(ValueError):
    """Raised by `Kind.complete` if a stage cannot be played as configured; `key` is the key to change."""

    def __init__(self, key: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.key, self.message, self.hint = key, message, hint


# The arguments and results of a kind's functions.


class Field(NamedTuple):
    """The bots of a stage, best first if an earlier stage has ranked them, and the seed of the tournament for draws.

    With `stop_early`, a pair ends as soon as its order is certain; this is tested after each of its blocks.
    """

    bots: Sequence[str]
    seed: bytes
    stop_early: bool = False


class Size(NamedTuple):
    """The number of fixtures and tables of a whole stage, and how many bots play the next stage."""

    fixtures: int
    tables: int
    left: int
    bounds: str = "exactly"  # or "at least"


class Tie(NamedTuple):
    """Two bots that meet in a bracket; None is a bye or still open. `sets` counts the sets that each has won."""

    bots: tuple[str | None, str | None]
    sets: tuple[int, int]
    winner: str | None


class Bracket(NamedTuple):
    """One round of a part of a bracket: the ties for places `first` to `last`."""

    round: int
    first: int
    last: int
    ties: tuple[Tie, ...]


class GroupSeat(NamedTuple):
    """A bot in a group: its mean chips, the games in which it advanced, and whether it has played in a later round.

    If equal bots share a place, a fraction of a game counts.
    """

    bot: str
    chips: float
    first: float
    on: bool


class Group(NamedTuple):
    """The bots of a group, best first."""

    name: str
    round: int
    games: int
    seats: tuple[GroupSeat, ...]


C = TypeVar("C", bound=StageConfig)


@dataclass(frozen=True)
class Kind(Generic[C]):
    """A kind of stage: one object with everything that is specific to it. All functions are pure.

    The first five fields are required. The defaults of the others describe a kind whose standings rank the bots.
    """

    name: str  # the `kind` of croupier.toml, and that of `config`
    config: type[C]
    due: Callable[[C, Fixture, Field, Records], list[Fixture]]
    """Return the fixtures that may be played now; none if the stage is over. The given fixture has the game and its rules."""
    suits: Callable[[Game, Any], bool]
    """Return whether a game with these rules can be played in this kind of stage."""
    needs: str  # the condition of `suits` in words

    complete: Callable[[C], C] | None = None
    """Fill in keys that depend on other keys. Raise ImpossibleStageError if keys contradict each other."""
    default_stages: tuple[C, ...] = ()
    """The stages of a tournament that configures none, from the first suitable kind that has default stages."""
    template: str = ""
    """What `croupier new` writes into croupier.toml; {tables}, {tourneys} and {set} are numbers."""

    places: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots in the order of their places so far. None: the standings rank them."""
    left: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots that play the next stage, best first. None: all of them do."""
    size: Callable[[C, Fixture, int], Size] | None = None
    """Count a whole stage with this many bots. None: all its fixtures are due at once."""
    drawn: bool = False  # whether the seed decides which bots meet
    tourneys: bool = False
    """Whether a fixture is a whole tourney: each table depends on the previous ones, and the seed draws the seats."""

    counted: Callable[[C, Sequence[Record]], list[Record]] | None = None
    """Return records as the standings count them. None: as they are."""
    unit: Literal["table", "fixture"] = "table"  # the statistically independent unit
    unit_key: str = "tables"  # the key of croupier.toml that decides how many units are played
    comparison: Literal["all", "shared", "none"] = "all"
    """The results that compare two bots: all; only those of units that both played; or none, if places rank the bots."""

    bracket: Callable[[C, Sequence[str], Records], tuple[Bracket, ...]] | None = None
    """Return the rounds of a bracket, from the bots in the order of the stage before. None: there is no bracket."""
    groups: Callable[[Sequence[Record], Container[str]], tuple[Group, ...]] | None = None
    """Return the groups of a stage; the second argument has the bots of later stages. None: there are no groups."""


# Shared by the kinds.


def contestants(bots: Sequence[str]) -> str:
    """Return the bots as part of a seed path. They are sorted, so that the order of entry has no effect."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


def with_plan(stage: StageConfig, blank: Fixture) -> Fixture:
    """Return a blank fixture with the plan of a stage: whether tables share their deals."""
    return blank._replace(plan="mirrored" if stage.mirror else "independent")


def blocks(
    blank: Fixture, group: str, bots: Sequence[str], tables: int, block: int = BLOCK, start: int = 1
) -> list[Fixture]:
    """Divide tables `start` to `tables` between the same bots into fixtures of at most `block` tables.

    Tables that share a deal stay in one fixture.
    """
    if blank.plan == "mirrored":
        block += -block % len(bots)
    return [
        blank._replace(
            plan=blank.plan or "independent",
            path=f"{group}/{first}",
            bots=tuple(bots),
            first=first,
            tables=min(block, tables - first + 1),
        )
        for first in range(start, tables + 1, block)
    ]


def unplayed(fixtures: Sequence[Fixture], records: Records) -> list[Fixture]:
    """Return the fixtures that have no record yet."""
    return [fixture for fixture in fixtures if fixture.path not in records]


def two_can_play(game: Game, _rules: Any) -> bool:
    """Return whether two bots can play a game, and the game has winners."""
    return game.seats[0] <= 2 <= game.seats[1] and game.winners is not None
