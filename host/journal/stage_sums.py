"""Adds up the records of a stage, one by one: the sums that `status` and a live view show.

A journal stores the sums up to some fixture (`Journal.sums`), so that a large one need not be read from its beginning.
"""

import math
from typing import Annotated

import msgspec

from host.journal.late_bots import count_late
from host.play.records import Record

SHOWN_REPLAYS = 3
"""How many reasons of replays are kept, the newest ones."""


class Mean(msgspec.Struct, array_like=True):
    """The mean of some values, and half the width of its 95 % interval; it does not store the values.

    `squares` is infinite if the values may repeat each other: then there is no interval.
    """

    count: Annotated[int, msgspec.Meta(ge=1)]
    total: float
    squares: float

    def add(self, value: float) -> None:
        """Add one value."""
        self.count += 1
        self.total += value
        self.squares += value * value

    @property
    def value(self) -> float:
        """The mean."""
        return self.total / self.count

    @property
    def margin(self) -> float:
        """Half the width of the 95 % interval; 0.0 with less than two values, or if values may repeat each other."""
        if self.count < 2 or self.squares == math.inf:
            return 0.0
        variance = max(0.0, self.squares - self.total * self.value) / (self.count - 1)
        return float(1.96 * (variance / self.count) ** 0.5)


class StageSums(msgspec.Struct):
    """The scores, faults and replays of the fixtures of a stage so far. Equal records in equal order give equal sums."""

    wins: dict[str, Mean] = {}  # of each bot in a fixture
    finals: dict[str, Mean] = {}  # scores of each bot at the last table of a fixture
    faults: dict[str, dict[str, int]] = {}  # by bot, then kind
    asked: dict[str, int] = {}  # questions of each bot
    late: dict[str, int] = {}  # timeouts of each bot
    last_fault: tuple[str, str, str] | None = None  # bot, kind and path of the fixture
    replayed: int = 0  # restarts of bots and of whole fixtures after host failures
    stalled: int = 0  # how often because the machine was busy
    stalls: list[str] = []  # the newest of these: fixture, bot and table, and the evidence
    failures: list[str] = []  # likewise after a keeper or a worker had died

    @property
    def scores(self) -> dict[str, Mean]:
        """What a bot gains in a fixture: wins, or its last score if the game has no winners."""
        return self.wins if any(mean.total for mean in self.wins.values()) else self.finals

    def add(self, record: Record) -> None:
        """Add the record of one fixture."""
        count_late(record, self.asked, self.late)
        if record.replayed:
            self.replayed += record.replayed
            self.stalled += len(record.stalls)
            self.stalls = [*self.stalls, *(f"{record.path}: {stall}" for stall in record.stalls)][-SHOWN_REPLAYS:]
            failures = (f"{record.path}: {failure}" for failure in record.failures)
            self.failures = [*self.failures, *failures][-SHOWN_REPLAYS:]
        for bot, result in record.results.items():
            for means, value in ((self.wins, result.wins), (self.finals, result.final)):
                mean = means.get(bot)
                if mean is None:
                    mean = means[bot] = Mean(0, 0.0, 0.0)
                mean.add(value)
                if record.lines:
                    mean.squares = math.inf
        for bot, kinds in record.faults.items():
            sums = self.faults.setdefault(bot, {})
            for kind, count in kinds.items():
                sums[kind] = sums.get(kind, 0) + count
                self.last_fault = bot, kind, record.path
