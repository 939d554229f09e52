"""What a seat, or the time at which one plays, is worth: effects that a fair cup has balanced, with their intervals.

What a bot won at a table is compared with what that same bot won in the mean, so that who sat where cannot be mistaken
for a seat's worth. A game may well favour a seat (who moves first has its own chances): fair is that everybody sits in
every seat equally often, and that it does not matter whether a table is played early or late. Many effects are looked
at together, so each interval is so wide that all of them hold at once, 95 % sure (Šidák 1967).
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from host.games.engine import Scores
from host.play.custom_games import game_called
from host.play.match import Sitting
from host.play.records import Fixture
from host.tournament.statistics import CONFIDENCE, NORMAL

FEWEST = 20  # tables; fewer look more alike, or more different, than they are


class Seated(NamedTuple):
    """A table that has been played: the bots by seat, and what each has won (1 a game, or its chips)."""

    bots: tuple[str, ...]
    worth: tuple[float, ...]


class Effect(NamedTuple):
    """How much more is won here than elsewhere, and the interval; both None where too little was played."""

    what: str
    tables: int
    more: float | None
    low: float | None
    high: float | None

    @property
    def seen(self) -> bool:
        """Whether it is more than chance would make it."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class Effects(NamedTuple):
    """The effects of a stage: of each seat on whoever sits there, and of playing late on each bot.

    `apart` is by how many tables the seat that a bot had most often and the one that it had least differ, at most.
    `gained` is what that has brought or cost a bot, at most, in what `unit` says, a table.
    """

    unit: str  # "games" (1 is a game won) or "chips"
    tables: int
    seats: tuple[Effect, ...]
    late: tuple[Effect, ...]
    apart: int
    gained: float


class Sums:
    """Count, sum and sum of squares of what was seen."""

    __slots__ = ("count", "squares", "total")

    def __init__(self) -> None:
        self.count, self.total, self.squares = 0, 0.0, 0.0

    def add(self, value: float) -> None:
        """See one more."""
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def mean(self) -> float:
        """The mean of what was seen."""
        return self.total / self.count if self.count else 0.0

    @property
    def variance(self) -> float:
        """The variance of the mean."""
        if self.count < FEWEST:
            return math.inf
        return max(0.0, self.squares / self.count - self.mean**2) / (self.count - 1)


def seated(fixture: Fixture, sitting: Sitting, scores: Scores) -> Seated:
    """Return a table with what it was worth to each seat: a game won, or chips more than were brought."""
    winners = game_called(fixture.game).winners
    if winners:
        won = winners(scores)
        return Seated(sitting.bots, tuple(float(seat in won) for seat in range(len(scores))))
    brought = sitting.rules.stacks or (sitting.rules.chips,) * len(scores)
    return Seated(sitting.bots, tuple(float(left - had) for left, had in zip(scores, brought, strict=True)))


def effects(unit: str, meetings: Iterable[Sequence[Seated]]) -> Effects:
    """Return the effects of tables, given by meeting in the order in which they are numbered.

    A meeting is whatever is the same bots at the same tables: a pair, a group. Late is its second half.
    """
    tables = [table for meeting in meetings for table in _halved(meeting)]
    own: dict[str, Sums] = {}
    for table, _ in tables:
        for bot, worth in zip(*table, strict=True):
            own.setdefault(bot, Sums()).add(worth)
    width = max((len(table.bots) for table, _ in tables), default=0)
    seats, halves = [Sums() for _ in range(width)], {bot: (Sums(), Sums()) for bot in own}
    sat = {bot: [0] * width for bot in own}
    for table, late in tables:
        for seat, (bot, worth) in enumerate(zip(*table, strict=True)):
            seats[seat].add(worth - own[bot].mean)
            halves[bot][late].add(worth)
            sat[bot][seat] += 1
    z = _together(width), _together(len(own))
    by_seat = [_effect(f"seat {at}", seat, None, z[0]) for at, seat in enumerate(seats, 1)]
    by_bot = [_effect(bot, late, early, z[1]) for bot, (early, late) in sorted(halves.items())]
    means = [seat.mean for seat in seats]
    gained = (abs(_mean(sat[bot], means) - sum(means) / width) for bot in sat)
    apart = (max(times) - min(times) for times in sat.values())
    return Effects(unit, len(tables), tuple(by_seat), tuple(by_bot), max(apart, default=0), max(gained, default=0.0))


def _halved(meeting: Sequence[Seated]) -> list[tuple[Seated, bool]]:
    """Return tables, each with whether it lies in the second half."""
    return [(table, 2 * number >= len(meeting)) for number, table in enumerate(meeting)]


def _mean(times: Sequence[int], values: Sequence[float]) -> float:
    return sum(count * value for count, value in zip(times, values, strict=True)) / sum(times)


def _together(many: int) -> float:
    """Return how many standard errors an interval reaches to when so many are to hold at once."""
    return NORMAL.inv_cdf((1 + CONFIDENCE ** (1 / max(1, many))) / 2)


def _effect(what: str, here: Sums, elsewhere: Sums | None, z: float) -> Effect:
    tables = here.count + (elsewhere.count if elsewhere else 0)
    more = here.mean - (elsewhere.mean if elsewhere else 0.0)
    error = math.sqrt(here.variance + (elsewhere.variance if elsewhere else 0.0))
    if not math.isfinite(error):
        return Effect(what, tables, None, None, None)
    return Effect(what, tables, more, more - z * error, more + z * error)
