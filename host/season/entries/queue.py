"""Decides the order in which submissions are examined, why one waits, and what an author may still submit. Pure.

The queue goes round the authors: nobody's second submission is examined before everybody's first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from host.base.errors import Problem
from host.base.format import counted, rough_duration
from host.season.season_config import AuthorLimits

HOUR_S = 3600.0
TRUSTED_ATTEMPTS = 2
"""A submission whose examination has ended this often with the season process waits until all others are done, so that it
cannot keep them waiting for ever, whatever it does to the machine."""
MAX_ATTEMPTS = 5
"""Examinations of a submission that may fail because its bot could not be measured. After the last it is refused: entry cannot
be closed for the final while it waits."""


class Waiting(NamedTuple):
    """A submission that waits, or the request of an author for practice."""

    id: str
    author: str
    at: float  # when it was received, seconds since 1970
    attempts: int = 0  # how often its examination has begun


class Used(NamedTuple):
    """What an author has used of his limits."""

    waiting: int = 0  # submissions without a verdict
    versions: int = 0
    began: tuple[float, ...] = ()  # when the examinations of the last hour began
    cpu: tuple[tuple[float, float], ...] = ()  # processor time of the last hour: when, and how many seconds

    def recent(self, now: float) -> tuple[float, ...]:
        """Return when the examinations of the hour before `now` began, the oldest first."""
        return tuple(sorted(each for each in self.began if each > now - HOUR_S))

    def cpu_seconds(self, now: float) -> float:
        """Return the processor time of the hour before `now`."""
        return sum(seconds for at, seconds in self.cpu if at > now - HOUR_S)


class Quota(NamedTuple):
    """The limits of an author, and what he has used of them."""

    limits: AuthorLimits = AuthorLimits()
    used: Used = Used()

    def words(self, now: float) -> dict[str, str]:
        """Return what is used of each limit, in words."""
        limits, used = self
        return {
            "submissions without a verdict": f"{used.waiting} of {limits.queue}",
            "submissions in the last hour": f"{len(used.recent(now))} of {limits.per_hour}",
            "versions": f"{used.versions} of {limits.versions}",
            "processor time in the last hour": f"{used.cpu_seconds(now) / 60:.0f} of {limits.cpu_minutes} minutes",
        }

    def free_in(self, now: float) -> float:
        """Return after how many seconds another submission may run; 0 if it may now."""
        recent, most = self.used.recent(now), self.limits.per_hour
        return recent[-most] + HOUR_S - now if len(recent) >= most else 0.0


class Place(NamedTuple):
    """The place of a submission in the queue, from 1, and why it waits, in one line."""

    place: int
    reason: str


def fair_order(waiting: Iterable[Waiting], served: Mapping[str, float], held: Iterable[str] = ()) -> list[Waiting]:
    """Return what waits in the order in which it is examined.

    `served` says when something of an author was last examined. `held` are the authors whose limits are used up: what they
    have handed in comes last.
    """
    own = defaultdict[str, list[Waiting]](list)
    for each in sorted(waiting, key=lambda each: (each.attempts > TRUSTED_ATTEMPTS, each.at, each.id)):
        own[each.author].append(each)
    late = {*held}

    def key(item: tuple[int, Waiting]) -> tuple[bool, bool, int, float, float, str]:
        turn, each = item
        last = served.get(each.author, 0.0)
        return each.author in late, each.attempts > TRUSTED_ATTEMPTS, turn, last, each.at, each.id

    return [each for _, each in sorted((item for some in own.values() for item in enumerate(some)), key=key)]


def why_refused(quota: Quota, size: int, now: float) -> Problem | None:
    """Return why an author cannot hand in a file of this size now; None if he can."""
    limits, used = quota
    if size > limits.size:
        message = f"the file has {counted(size, 'byte')}, and an author may hand in {counted(limits.size, 'byte')}"
        return Problem("E006", "", message, hint="leave out what the bot does not need; the organiser sets the limit")
    if used.waiting >= limits.queue:
        message = f"{counted(used.waiting, 'submission')} of yours wait for a verdict, and {limits.queue} may"
        return Problem("E004", "", message, hint="wait for one of them, or cancel one: what never ran costs nothing")
    if left := quota.free_in(now):
        ran = counted(len(used.recent(now)), "submission")
        message = f"{ran} of yours ran in the last hour, and {limits.per_hour} may"
        hint = f"the next one may be handed in in {rough_duration(left)}"
        return Problem("E005", "", message, hint=hint)
    if used.versions >= limits.versions:
        message = f"you have {counted(used.versions, 'version')}, and an author may have {limits.versions}"
        return Problem("E007", "", message, hint="choose one of your versions; the organiser sets the limit")
    return None


def why_held(quota: Quota, now: float) -> str:
    """Return why nothing of an author is examined for the moment, in one line; empty if it is."""
    limits, used = quota
    if left := quota.free_in(now):
        return f"{limits.per_hour} of your submissions ran in the last hour: goes on in {rough_duration(left)}"
    most, spent = limits.cpu_minutes * 60.0, used.cpu_seconds(now)
    if spent < most:
        return ""
    until = now
    for at, seconds in sorted(each for each in used.cpu if each[0] > now - HOUR_S):
        spent, until = spent - seconds, at + HOUR_S
        if spent < most:
            break
    back = rough_duration(until - now)
    return f"your {limits.cpu_minutes} minutes of processor time in an hour are used up: goes on in {back}"


def places(order: Sequence[Waiting], held: Mapping[str, str], running: str = "", paused: str = "") -> dict[str, Place]:
    """Return the place and the reason of everything that waits, by id.

    `held` says why nothing of an author is examined, `running` what is examined now, `paused` why nothing is.
    """
    found = {}
    for number, each in enumerate(order, 1):
        before = f"{number - 1} before it" if number > 1 else "the next one"
        doing = f" (now: {running})" if running else ""
        reason = paused or held.get(each.author, "") or before + doing
        if each.attempts and not paused:
            reason += f"; examination {each.attempts + 1}, because the season process ended in the one before"
        found[each.id] = Place(number, reason)
    return found
