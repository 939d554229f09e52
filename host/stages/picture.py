"""The pictures of a stage's results that a kind can draw: a bracket, groups, or rounds."""

from collections.abc import Container
from typing import NamedTuple

from host.rating.results import PairedRound


class Tie(NamedTuple):
    """Two bots that meet in a bracket; None is a bye. `sets` counts the sets that each has won. An open tie has no winner.

    Bots that meet again continue the numbers of their sets: `first_set` is the number of the first set of this tie.
    With `by_seed`, the better seed has won, because too many sets have no result: the game failed.
    """

    bots: tuple[str | None, str | None]
    sets: tuple[int, int]
    winner: str | None
    first_set: int = 1
    by_seed: bool = False


class BracketRound(NamedTuple):
    """One round of a part of a bracket: the ties for places `first` to `last`."""

    round: int
    first: int
    last: int
    ties: tuple[Tie, ...]
    title: str  # "final", "for places 5 and 6", "round 1 for places 1 to 8"
    note: str = ""  # the reason for the round, if it needs one
    side: str = ""  # in a double elimination "unbeaten" or "beaten", except in its final


class Bracket(NamedTuple):
    """The rounds of a bracket in which a tie of two bots is known."""

    rounds: tuple[BracketRound, ...]


class GroupSeat(NamedTuple):
    """A bot in a group: its mean chips, and whether it went `on` to a later round or stage.

    `first` is the number of games in which it advanced; if equal bots share the last places, a fraction of a game
    counts. `score` is the mean score. Unlike `chips`, it counts negative scores, so it distinguishes bots that have
    lost all their chips.
    """

    bot: str
    chips: float
    first: float
    on: bool
    score: float

    @property
    def merit(self) -> tuple[float, ...]:
        """Return the sort key of the bot in its group; greater is better."""
        return self.first, self.chips, self.score


class Group(NamedTuple):
    """A group: its path, its round, the number of its games, and its bots, best first."""

    name: str
    round: int
    games: int
    seats: tuple[GroupSeat, ...]


class Groups(NamedTuple):
    """The groups of all rounds so far, in the order of the rounds."""

    groups: tuple[Group, ...]

    def followed_by(self, later: Container[str]) -> "Groups":
        """Return the groups, with `on` set also for the bots in `later`, which have played in a later stage."""
        return Groups(
            tuple(
                group._replace(seats=tuple(seat._replace(on=seat.on or seat.bot in later) for seat in group.seats))
                for group in self.groups
            )
        )


class Rounds(NamedTuple):
    """The rounds so far of a stage in which every bot plays one set in each."""

    rounds: tuple[PairedRound, ...]


Picture = Bracket | Groups | Rounds
"""A picture of the results of a stage, which a kind can have in addition to the standings."""
