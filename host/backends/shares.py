"""Divides the waiting fixtures into shares, so that the fixtures of the same bots are played by the same worker. Pure.

A worker keeps the sandboxes of BOTS_AT_ONCE bots. What it plays next never changes what a fixture results in.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from host.play.jobs import Job
from host.play.records import BOTS_AT_ONCE

MAX_SHARE = (BOTS_AT_ONCE // 2) ** 2
"""Most fixtures of a share: every bot of one half of its bots against every bot of the other half."""


class Share:
    """Waiting fixtures of at most BOTS_AT_ONCE bots, or of one fixture that has more. `bots` are those of all it ever had."""

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = deque(jobs)
        self.bots = {bot for job in jobs for bot in job.fixture.bots}

    def has_room(self, job: Job) -> bool:
        """Return whether a fixture can be added."""
        return len(self.jobs) < MAX_SHARE and len(self.bots.union(job.fixture.bots)) <= BOTS_AT_ONCE

    def add(self, job: Job) -> None:
        """Add a fixture at the end."""
        self.jobs.append(job)
        self.bots.update(job.fixture.bots)

    def half(self) -> "Share":
        """Remove half of the fixtures, the larger one, and return it: those with the same first bots."""
        ordered = sorted(self.jobs, key=lambda job: job.fixture.bots)  # stable: the order of the stage
        middle = len(ordered) // 2
        self.jobs = deque(ordered[:middle])
        return Share(ordered[middle:])


class Shares:
    """All waiting fixtures of a run: the shares of workers, and those that no worker has, in the order of the stage."""

    def __init__(self) -> None:
        self._free = list[Share]()
        self._hands = list[Hand]()

    def add(self, job: Job) -> None:
        """Add a fixture at the end."""
        if not self._free or not self._free[-1].has_room(job):
            self._free.append(Share([]))
        self._free[-1].add(job)

    @contextmanager
    def hand(self) -> Iterator["Hand"]:
        """Let a worker take fixtures for the length of the block. What is left of its share is free then."""
        hand = Hand(self._free, self._hands)
        self._hands.append(hand)
        try:
            yield hand
        finally:
            self._hands.remove(hand)
            self._free[:0] = [hand.share] if hand.share.jobs else []


class Hand:
    """A worker that takes fixtures. At least one must be waiting whenever it takes one."""

    def __init__(self, free: list[Share], hands: list["Hand"]) -> None:
        self.share = Share([])
        self._free, self._hands = free, hands

    def take_first(self) -> Job:
        """Remove and return the first waiting fixture that is in no share of a worker, or else the first of such a share."""
        if not self._free:
            return max((hand.share.jobs for hand in self._hands), key=len).popleft()
        job = self._free[0].jobs.popleft()
        if not self._free[0].jobs:
            del self._free[0]
        return job

    def take_similar(self) -> Job:
        """Remove and return a fixture of the worker's own share.

        When that is empty, the worker first gets the free share with the most of its bots, or half of another worker's.
        """
        if not self.share.jobs:
            if self._free:
                last = self.share.bots
                self.share = max(self._free, key=lambda share: len(share.bots & last))  # the first of equal ones
                self._free.remove(self.share)
            else:
                self.share = max((hand.share for hand in self._hands), key=lambda share: len(share.jobs)).half()
        return self.share.jobs.popleft()
