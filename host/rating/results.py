"""The results of a stage, as its rankings read them."""

from enum import Enum
from typing import Annotated, Literal, NamedTuple

import msgspec

from host.play.records import Result


class Sampling(NamedTuple):
    """How the results of a stage count in statistics."""

    unit: Literal["table", "fixture", "tourney"] = "table"
    """The statistically independent unit. A tourney is a fixture in which each table depends on the previous ones."""
    key: str = "tables"
    """The key of croupier.toml that decides how many units are played."""
    per_bot: bool = False
    """Whether `key` counts the units of each bot; otherwise those of each pair."""
    compare: Literal["all", "shared", "none"] = "all"
    """The results that compare two bots: all; only those of units that both played; or none, if places rank the bots."""

    @property
    def by_fixture(self) -> bool:
        """Whether the unit is a whole fixture."""
        return self.unit != "table"


class Sums(NamedTuple):
    """The sums of a bot's results over its fixtures. The value of the bot in a ranking by wins or scores follows from them.

    Equal sums give equal values, and so equal ranks, however the results are spread over fixtures and opponents.
    """

    tables: Annotated[int, msgspec.Meta(ge=1)] = 0  # a journal has the sums of bots that have played
    wins: float = 0.0
    score: int = 0
    fixtures: Annotated[int, msgspec.Meta(ge=1)] = 0
    finals: int = 0  # its scores at the last table of each fixture

    def plus(self, result: Result) -> "Sums":
        """Return the sums with the result of one more fixture."""
        return Sums(
            self.tables + result.tables,
            self.wins + result.wins,
            self.score + result.score,
            self.fixtures + 1,
            self.finals + result.final,
        )


class PairedSet(NamedTuple):
    """A set of two bots in a round: the points of each (1, ½ or 0), its tables won, and the number of tables of the set."""

    bots: tuple[str, str]
    points: tuple[float, float]
    won: tuple[int | float, int | float]
    tables: int


class PairedRound(NamedTuple):
    """A round in which every bot plays one set, or has a bye."""

    number: int
    sets: tuple[PairedSet, ...]
    bye: str | None


class Fact(Enum):
    """A property of the results of a kind of stage, in words. A ranking can need some of these properties."""

    TWO_SEATS = "two bots at every table"
    WINNERS = "tables with winners"
    MEETINGS = "bots that play each other"
    ALL_PAIRS = "a meeting of every two bots"
    TABLE_SCORES = "the scores of each table"
    BALLOTS = "tables of many bots, or of every two bots"
    ADVANCING = "groups from which bots advance"
    ROUNDS = "rounds in which every bot plays one set"


PAIRS = frozenset({Fact.TWO_SEATS, Fact.WINNERS, Fact.MEETINGS})
"""The facts of a stage in which two bots sit at each table, and the bots play each other."""
