"""Divides the waiting fixtures into shares, so that the fixtures of the same bots are played by the same worker. Pure.

A worker keeps the sandboxes of BOTS_AT_ONCE bots. The order in which it plays fixtures never changes their results.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from host.play.jobs import Job
from host.play.records import BOTS_AT_ONCE

MAX_SHARE = (BOTS_AT_ONCE // 2) ** 2
"""Maximum number of fixtures in a share: every bot of one half of the bots plays every bot of the other half once."""


class Share:
    """Waiting fixtures with at most BOTS_AT_ONCE bots in total, or one fixture that has more bots.

    `bots` has the bots of all fixtures that were ever in the share.
    """

    def __init__(self, jobs: list[Job]) -> None:
        self.jobs = deque(jobs)
        self.bots = {bot for job in jobs for bot in job.fixture.bots}

    def has_room(self, job: Job) -> bool:
        """Return whether the share has room for a fixture and its bots."""
        return len(self.jobs) < MAX_SHARE and len(self.bots.union(job.fixture.bots)) <= BOTS_AT_ONCE

    def add(self, job: Job) -> None:
        """Add a fixture at the end."""
        self.jobs.append(job)
        self.bots.update(job.fixture.bots)

    def half(self) -> "Share":
        """Remove half of the fixtures, rounded up, and return them as a new share.

        The fixtures are sorted by their bots before they are divided, so that each half has few different first bots.
        """
        ordered = sorted(self.jobs, key=lambda job: job.fixture.bots)  # stable: the order of the stage
        middle = len(ordered) // 2
        self.jobs = deque(ordered[:middle])
        return Share(ordered[middle:])


class Shares:
    """All waiting fixtures of a run: the shares of workers, and the free shares, in the order of the stage.

    A free share belongs to no worker.
    """

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
        """Let a worker take fixtures for the length of the block. Then the rest of its share becomes free."""
        hand = Hand(self._free, self._hands)
        self._hands.append(hand)
        try:
            yield hand
        finally:
            self._hands.remove(hand)
            self._free[:0] = [hand.share] if hand.share.jobs else []


class Hand:
    """A worker that takes fixtures. It may take one only while at least one fixture is waiting."""

    def __init__(self, free: list[Share], hands: list["Hand"]) -> None:
        self.share = Share([])
        self._free, self._hands = free, hands

    def take_first(self) -> Job:
        """Remove and return the first fixture of the free shares. If no share is free, take it from the largest share."""
        if not self._free:
            return max((hand.share.jobs for hand in self._hands), key=len).popleft()
        job = self._free[0].jobs.popleft()
        if not self._free[0].jobs:
            del self._free[0]
        return job

    def take_similar(self) -> Job:
        """Remove and return a fixture of the worker's own share.

        If that share is empty, the worker first gets another share: the free share that has the most bots in common with
        the old one. If no share is free, the worker gets half of the largest share of a worker.
        """
        if not self.share.jobs:
            if self._free:
                last = self.share.bots
                self.share = max(self._free, key=lambda share: len(share.bots & last))  # the first of equal ones
                self._free.remove(self.share)
            else:
                self.share = max((hand.share for hand in self._hands), key=lambda share: len(share.jobs)).half()
        return self.share.jobs.popleft()
