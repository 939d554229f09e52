"""Limits the requests that clients may send, with a token bucket for each address and each author."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import trio

from host.base.errors import Problem
from host.season.site.cache import Cache
from host.season.site.errors import Refusal

MAX_KEYS = 20_000  # clients that are remembered; the one that asked least recently is forgotten first


class Rate(NamedTuple):
    """An allowed rate of requests: `per_second` on average, and up to `burst` requests without a pause."""

    per_second: float
    burst: int


REQUESTS = Rate(20, 200)  # by address
LOCAL_REQUESTS = Rate(500, 5000)  # from this machine: programs, or all readers behind a proxy that nobody has named
CHANGES = Rate(1, 30)  # by author: everything that goes into the inbox
JOINS = Rate(1 / 60, 30)  # by address: a class of students may have one address
UPLOADS_OF_AN_AUTHOR, UPLOADS = 2, 16  # at the same time
STREAMS_OF_AN_ADDRESS, STREAMS = 64, 500  # of events: a class of students may have one address


class RateLimiter:
    """Limits the rate of requests for each key. A key is, for example, an address or an author."""

    def __init__(self, rate: Rate, now: Callable[[], float] = trio.current_time) -> None:
        self._rate, self._now = rate, now
        self._left = Cache[tuple[float, float]](MAX_KEYS)  # by key: how many tokens were left, and when

    def wait(self, key: str) -> float:
        """Count a request of `key`. Return 0 if it is allowed, otherwise the seconds until one will be allowed."""
        now = self._now()
        left, at = self._left.known(key) or (self._rate.burst, now)
        left = min(self._rate.burst, left + (now - at) * self._rate.per_second)
        allowed = left >= 1
        self._left.keep(key, (left - allowed, now))
        return 0.0 if allowed else (1 - left) / self._rate.per_second

    def check(self, key: str, what: str) -> None:
        """Count a request. Raise Refusal (429) if the rate is too high. `what` names the requests, for the message."""
        if seconds := self.wait(key):
            raise too_many(f"too many {what} from here", math.ceil(seconds))


class Slots:
    """Limits the slots that are held at the same time: `each` for one key, and `all_together` in total."""

    def __init__(self, each: int, all_together: int) -> None:
        self._each, self._all = each, all_together
        self._used: dict[str, int] = {}

    @property
    def used(self) -> int:
        """Return the number of slots that are held."""
        return sum(self._used.values())

    @contextmanager
    def held(self, key: str, what: str) -> Iterator[None]:
        """Hold a slot for a key during the block. Raise Refusal (429) if no slot is free.

        `what` is the noun for the slots in the message of the refusal, for example "uploads".
        """
        if self._used.get(key, 0) >= self._each:
            raise too_many(f"{self._each} {what} of yours are under way already", 5)
        if self.used >= self._all:
            raise too_many(f"{self._all} {what} are under way already", 5)
        self._used[key] = self._used.get(key, 0) + 1
        try:
            yield
        finally:
            self._used[key] -= 1
            if not self._used[key]:
                del self._used[key]


def too_many(message: str, seconds: int) -> Refusal:
    """Return the refusal (429) of a request above a limit. The client may send it again after `seconds`."""
    return Refusal(429, Problem("W007", "", message, hint=f"try again in {seconds} s"), max(1, seconds))
