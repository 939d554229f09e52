"""Adds up the records of a stage, one by one: the sums that `status` and a live view show.

A journal stores the sums up to some fixture (`Journal.sums`), so that a long stage need not be read from its beginning.
"""

import msgspec

from host.journal.late_bots import count_late
from host.play.records import Record
from host.rating.results import Sums

SHOWN_REPLAYS = 3
"""Maximum number of restarts in each of the lists `stalls` and `failures`. They have the newest ones."""


class StageSums(msgspec.Struct):
    """The scores, faults and replays of the fixtures of a stage so far. Equal records in equal order give equal sums."""

    bots: dict[str, Sums] = {}  # of each bot that has played
    faults: dict[str, dict[str, int]] = {}  # by bot, then kind
    asked: dict[str, int] = {}  # questions of each bot
    late: dict[str, int] = {}  # timeouts of each bot
    last_fault: tuple[str, str, str] | None = None  # bot, kind and path of the fixture
    replayed: int = 0  # restarts of bots and of whole fixtures after host failures
    stalled: int = 0  # number of restarts because the machine was busy
    stalls: list[str] = []  # the newest of these restarts: fixture, bot and table, and the evidence
    failures: list[str] = []  # the newest restarts because a keeper or a worker had died

    @property
    def won(self) -> bool:
        """Whether any table has been won."""
        return any(sums.wins for sums in self.bots.values())

    def add(self, record: Record) -> None:
        """Add the record of one fixture, as its stage counts it."""
        count_late(record, self.asked, self.late)
        if record.replayed:
            self.replayed += record.replayed
            self.stalled += len(record.stalls)
            self.stalls = [*self.stalls, *(f"{record.path}: {stall}" for stall in record.stalls)][-SHOWN_REPLAYS:]
            failures = (f"{record.path}: {failure}" for failure in record.failures)
            self.failures = [*self.failures, *failures][-SHOWN_REPLAYS:]
        for bot, result in record.results.items():
            self.bots[bot] = self.bots.get(bot, Sums()).plus(result)
        for bot, kinds in record.faults.items():
            sums = self.faults.setdefault(bot, {})
            for kind, count in kinds.items():
                sums[kind] = sums.get(kind, 0) + count
                self.last_fault = bot, kind, record.path
