"""Decides which processor cores each worker and its bots use.

A worker and the bots that it plays take turns. Therefore they share one core: waking another core takes longer than
most answers.
"""

import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from host.base.format import plural
from host.play.jobs import WorkerSetup
from host.sandbox import cgroup

SYSTEM_CPUS = Path("/sys/devices/system/cpu")


class Placement(NamedTuple):
    """The number of workers, and the cores of each; without cores, workers and bots use every core."""

    workers: int
    cores: tuple[tuple[int, ...], ...] = ()
    reason: str = ""  # why "auto" did not choose cores, as text for people
    fewer: str = ""  # why there are fewer workers than were asked for, as text for people

    @property
    def name(self) -> str:
        """Return "core" if each worker has its own cores, otherwise "free"."""
        return "core" if self.cores else "free"

    def cores_of(self, index: int) -> tuple[int, ...]:
        """Return the cores of the worker with this index, from 0; () for every core."""
        return self.cores[index] if self.cores else ()

    def __str__(self) -> str:
        counted = f"{self.workers} {plural(self.workers, 'worker')}{f' {self.fewer}' if self.fewer else ''}"
        if not self.cores:
            return f"{counted} on any core{f' ({self.reason})' if self.reason else ''}"
        own = "a core" if len(self.cores[0]) == 1 else f"{len(self.cores[0])} cores"
        return f"{counted} on {own} of its own" if self.workers == 1 else f"{counted}, each on {own} of its own"


class PlacementRequest(NamedTuple):
    """The needs of a tournament that decide the placement of its workers."""

    placement: str = "auto"  # one of PLACEMENTS
    workers: int = 0  # 0 = as many as the machine has room for
    cores: int = 1  # the largest number of cores that a bot asks for
    pondering: bool = False
    models: bool = False  # whether a bot asks language models: while it waits for one, its core can do something else


def placement_request(setup: WorkerSetup, workers: int) -> PlacementRequest:
    """Return the placement request of a tournament. If `workers` is 0, the machine decides the number of workers."""
    cores = max((bot.spec.cores for bot in setup.bots), default=1)
    models = any(bot.limits.models for bot in setup.bots)
    return PlacementRequest(setup.placement, workers, cores, setup.pondering, models)


def place(request: PlacementRequest, cores: Sequence[int], usable: int) -> Placement:
    """Return the placement on a machine without other programs.

    `cores` are its cores in the order of their use. `usable` is how many of them may be used at the same time.
    """
    width = min(request.cores, usable)
    most = usable // width
    if request.placement == "free":
        return Placement(request.workers or most)
    if request.placement == "auto" and request.models:
        return Placement(request.workers or most, reason="bots ask models")
    workers = min(request.workers or most, most)
    are = "s are" if usable > 1 else " is"
    fewer = f"instead of {request.workers} ({usable} core{are} usable)" if request.workers > most else ""
    if request.placement == "auto":
        if request.pondering:
            return Placement(workers, reason="bots may ponder", fewer=fewer)
        if usable < len(cores):  # the other programs of these cores come and go, and a worker could not avoid them
            return Placement(workers, reason=f"{usable} of {len(cores)} cores by quota", fewer=fewer)
    return Placement(
        workers, tuple(tuple(cores[index * width : (index + 1) * width]) for index in range(workers)), fewer=fewer
    )


def usable_cores() -> int:
    """Return the number of cores that this process may use, by its affinity and the quota of its control group."""
    allowed = len(os.sched_getaffinity(0))
    return max(int(min(allowed, _quota())), 1)


def ordered_cores(allowed: Collection[int], system: Path = SYSTEM_CPUS) -> list[int]:
    """Return cores in the order of their use: one thread of each physical core first, then the sibling threads."""

    def rank(core: int) -> tuple[int, int]:
        return sum(each < core for each in _siblings(core, system) if each in allowed), core

    return sorted(allowed, key=rank)


def _siblings(core: int, system: Path) -> set[int]:
    """Return the numbers of all hardware threads of one physical core. `core` is the number of one of them."""
    with suppress(OSError, ValueError):
        return parse_cores((system / f"cpu{core}/topology/thread_siblings_list").read_text())
    return {core}


def parse_cores(text: str) -> set[int]:
    """Parse a list of cores that the kernel has written, such as "0-2,5". Raise ValueError for any other text."""
    cores = set[int]()
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return cores


def _quota() -> float:
    """Return how many cores the control groups of this process allow it; infinity without a limit."""
    with suppress(OSError, cgroup.NoGroup):
        first, second = cgroup.mounts(Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text())
        groups = [*second, *(mount for mount in first if "cpu" in mount.controllers)]
        return min((quota_of(mount.own) for mount in groups), default=float("inf"))
    return float("inf")


def quota_of(group: Path) -> float:
    """Return the lowest CPU quota of a control group and of the groups above it, in cores; infinity without a quota."""
    least = float("inf")
    for folder in (group, *group.parents):
        with suppress(OSError, ValueError, ZeroDivisionError):
            if (folder / "cpu.max").exists():
                quota, period = (folder / "cpu.max").read_text().split()
            else:
                quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            if quota != "max" and int(quota) > 0:
                least = min(least, int(quota) / int(period))
    return least
