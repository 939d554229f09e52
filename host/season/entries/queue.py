"""Decides the order in which submissions are examined, why each waits, and what an author may still submit. Pure.

The authors take turns: the first submission of every author is examined before the second one of any author.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from host.base.errors import Problem
from host.base.format import counted, rough_duration
from host.season.season_config import AuthorLimits

HOUR_S = 3600.0
TRUSTED_ATTEMPTS = 2
"""A submission whose examination has begun more often than this, without a verdict, comes last in the queue.

So a submission that makes the machine fail cannot keep all others waiting for ever."""
MAX_ATTEMPTS = 5
"""The number of examinations of a submission that may fail because its bot could not be unpacked or measured.

After the last one the submission is refused, because the entries of the final cannot be fixed while it waits."""


class Waiting(NamedTuple):
    """A submission that waits for its examination, or an author's request for practice."""

    id: str
    author: str
    at: float  # when it was received, seconds since 1970
    attempts: int = 0  # how often its examination has begun


class Used(NamedTuple):
    """An author's usage, to be compared with the limits."""

    waiting: int = 0  # submissions without a verdict
    versions: int = 0
    began: tuple[float, ...] = ()  # when the examinations of the last hour began, in seconds since 1970
    cpu: tuple[tuple[float, float], ...] = ()  # processor time of the last hour: (when, seconds used)

    def recent(self, now: float) -> tuple[float, ...]:
        """Return the times at which the examinations of the hour before `now` began, oldest first."""
        return tuple(sorted(each for each in self.began if each > now - HOUR_S))

    def cpu_seconds(self, now: float) -> float:
        """Return the seconds of processor time that were used in the hour before `now`."""
        return sum(seconds for at, seconds in self.cpu if at > now - HOUR_S)


class Quota(NamedTuple):
    """The limits of an author, and the author's usage."""

    limits: AuthorLimits = AuthorLimits()
    used: Used = Used()

    def words(self, now: float) -> dict[str, str]:
        """Return the usage of each limit as a text such as "2 of 5", by the name of the limit."""
        limits, used = self
        return {
            "submissions without a verdict": f"{used.waiting} of {limits.queue}",
            "submissions in the last hour": f"{len(used.recent(now))} of {limits.per_hour}",
            "versions": f"{used.versions} of {limits.versions}",
            "processor time in the last hour": f"{used.cpu_seconds(now) / 60:.0f} of {limits.cpu_minutes} minutes",
        }

    def free_in(self, now: float) -> float:
        """Return the seconds until the limit per hour allows another examination; 0 if it allows one now."""
        recent, most = self.used.recent(now), self.limits.per_hour
        return recent[-most] + HOUR_S - now if len(recent) >= most else 0.0


class Place(NamedTuple):
    """The place of a submission in the queue, from 1, and why it waits, in one line."""

    place: int
    reason: str


def fair_order(waiting: Iterable[Waiting], served: Mapping[str, float], held: Iterable[str] = ()) -> list[Waiting]:
    """Return the waiting submissions and requests in the order in which they are examined.

    `served` has the time of the last examination, by author. Submissions whose examination has begun more than
    TRUSTED_ATTEMPTS times come after the others. The submissions of the authors in `held`, whose limits are used up,
    come last.
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
    """Return why an author cannot submit a file of `size` bytes now; None if the author can."""
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
    """Return why no submission of an author is examined at the moment, in one line; empty if one may be examined."""
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
    """Return the place in the queue, and the reason for waiting, of each submission or request in `order`, by its id.

    `held` has by author the reason why none of the author's submissions is examined. `running` names what is examined
    now, and `paused` is the reason why the season examines nothing.
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
