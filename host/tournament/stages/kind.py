"""What a kind of stage is, and what the kinds share."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar

from host.base.config_file import Flag, ValueType, integer, matches, one_of
from host.games.engine import Game
from host.play.records import Fixture, Record

BLOCK = 10_000
"""Tables of one fixture between two bots; never less for speed's sake, or results would depend on it."""

BLANK = Fixture("", None, "", "", (), 0)

Records = Mapping[str, Record]
"""What has been played in a stage, by path."""


# What croupier.toml and the journal say of a stage.

FORBID: Any = {"extra": "forbid"}

StageName = Annotated[str, matches("[A-Za-z0-9_-]{1,40}", "name of a stage", "up to 40 letters, digits, _ and -")]
BotCount = Annotated[int, integer(1, 10_000)]
Many = Annotated[int, integer(1, 10_000_000)]
Few = Annotated[int, integer(1, 1000)]
OWN_RANKINGS: list[str] = []
"""Names of the rankings that organisers have brought: every kind may be ranked by them."""


def rankings(*names: str) -> ValueType:
    """Return what a word of `rank_by` is: one of these rankings, or an organiser's own."""
    return one_of(lambda: (*names, *OWN_RANKINGS), "way to rank here")


Ranked = Annotated[str, rankings("games", "hands", "chips", "advances")]


@dataclass(frozen=True)
class StageConfig:
    """What a [[stage]] says, whatever its kind. A kind adds keys of its own, and narrows `kind` and `rank_by`."""

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


# What a kind is given, and what it gives.


class Field(NamedTuple):
    """The bots that play a stage, best first where an earlier stage has ranked them, and the tournament's seed for draws.

    With `stop_early` a pair ends when its order is certain, judged by its blocks one after another.
    """

    bots: Sequence[str]
    seed: bytes
    stop_early: bool = False


class Size(NamedTuple):
    """How much a whole stage plays, and how many bots go on from it."""

    fixtures: int
    tables: int
    left: int
    bounds: str = "exactly"  # or "at least"


class Tie(NamedTuple):
    """Two bots that meet in a bracket; None is a bye or still open. The sets are those won so far."""

    bots: tuple[str | None, str | None]
    sets: tuple[int, int]
    winner: str | None


class Bracket(NamedTuple):
    """One round of a bracket in one part of the field: the ties that play for places `first` to `last`."""

    round: int
    first: int
    last: int
    ties: tuple[Tie, ...]


class GroupSeat(NamedTuple):
    """A bot in a group: its mean chips, the games in which it was among the first, and whether it has played on since.

    A share of a tie counts as a part of a game.
    """

    bot: str
    chips: float
    first: float
    on: bool


class Group(NamedTuple):
    """Bots that sat at the same tables, best first."""

    name: str
    round: int
    games: int
    seats: tuple[GroupSeat, ...]


C = TypeVar("C", bound=StageConfig)


@dataclass(frozen=True)
class Kind(Generic[C]):
    """A kind of stage: one object with everything that is particular to it. All functions are pure.

    The first five fields are needed; the others have the values of a plain kind, whose standings alone rank the bots.
    """

    name: str  # the `kind` of croupier.toml, and that of `config`
    config: type[C]
    due: Callable[[C, Fixture, Field, Records], list[Fixture]]
    """Return what may be played now, nothing if the stage is over; the fixture given has the game and its rules."""
    suits: Callable[[Game, Any], bool]
    """Return whether a game and its rules can be played so."""
    needs: str  # what `suits` asks for, in words

    complete: Callable[[C], C] | None = None
    """Fill in what depends on other keys. Raise ImpossibleStageError if they contradict each other."""
    default_stages: tuple[C, ...] = ()
    """The stages of a tournament that names none. The first kind that suits its game, and has any, decides."""
    template: str = ""
    """What `croupier new` writes into croupier.toml; {tables}, {tourneys} and {set} are numbers."""

    places: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots in the order of what they have reached so far. None: the standings rank them."""
    left: Callable[[C, Field, Records], list[str]] | None = None
    """Return the bots that play the next stage, best first. None: all of them do."""
    size: Callable[[C, Fixture, int], Size] | None = None
    """Count a whole stage of a number of bots. None: all of it is due at once."""
    drawn: bool = False  # whether the seed decides who meets whom
    tourneys: bool = False
    """Whether a fixture is a whole tourney: its tables follow from each other, and the seed draws their seats."""

    counted: Callable[[C, Sequence[Record]], list[Record]] | None = None
    """Return records as the standings count them. None: as they are."""
    unit: Literal["table", "fixture"] = "table"  # what is independent of all others: the unit of luck
    unit_key: str = "tables"  # the key of croupier.toml that decides how many units are played
    comparison: Literal["all", "shared", "none"] = "all"
    """Which results compare two bots: all, those of units in which both took part, or none: places need no intervals."""

    bracket: Callable[[C, Sequence[str], Records], tuple[Bracket, ...]] | None = None
    """Return the rounds of a bracket, from the bots in the order of the stage before. None: there is no bracket."""
    groups: Callable[[Sequence[Record], Container[str]], tuple[Group, ...]] | None = None
    """Return the groups of a stage; the second argument are the bots of later stages. None: there are no groups."""


# What the kinds share.


def contestants(bots: Sequence[str]) -> str:
    """Return how a seed path names the bots that play: sorted, so that the order of entry decides nothing."""
    return "+".join(sorted(bot.replace("%", "%25").replace("+", "%2B") for bot in bots))


def with_plan(stage: StageConfig, blank: Fixture) -> Fixture:
    """Return a blank fixture with the plan of a stage: whether tables share their deals."""
    return blank._replace(plan="mirrored" if stage.mirror else "independent")


def blocks(
    blank: Fixture, group: str, bots: Sequence[str], tables: int, block: int = BLOCK, start: int = 1
) -> list[Fixture]:
    """Return a number of tables between the same bots as fixtures of at most `block`; those before `start` left out.

    No deal that tables share is cut in two.
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
    """Return whether two bots can play a game, and one can win it."""
    return game.seats[0] <= 2 <= game.seats[1] and game.winners is not None
