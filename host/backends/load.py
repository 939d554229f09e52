"""Measures the load of other programs, and chooses the placement of workers on this machine by it.

It imports little, because a command begins to measure before it imports the rest.
"""

import os
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from host.backends.placement import Placement, PlacementRequest

CPU_TIMES = Path("/proc/stat")
MIN_SAMPLE_S = 0.06  # seconds during which the load of other programs is measured, at least
MIN_STRANGERS, STRANGERS_SHARE = 0.5, 0.1
"""Other programs load the machine if they keep this many cores busy, and this share of all cores."""


class OtherLoad:
    """Measures how busy other programs keep the cores that this process may use, from its creation on."""

    def __init__(self) -> None:
        self._cores = os.sched_getaffinity(0)
        self._began, self._busy, self._own = time.monotonic(), _busy_seconds(self._cores), _own_seconds()

    async def busy_cores(self, children: Collection[int] = ()) -> float:
        """Return how many cores other programs keep busy, on average over MIN_SAMPLE_S or longer.

        `children` are the running processes that this process has started since then. Those that have ended are known.
        """
        import trio

        from host.sandbox.process_tree import cpu_seconds

        await trio.sleep(max(self._began + MIN_SAMPLE_S - time.monotonic(), 0))
        own = _own_seconds() + sum(map(cpu_seconds, children)) - self._own
        busy = _busy_seconds(self._cores) - self._busy - own
        return max(busy, 0.0) / (time.monotonic() - self._began)


async def choose_placement(
    request: "PlacementRequest", load: OtherLoad | None = None, children: Collection[int] = ()
) -> "Placement":
    """Return the placement of the workers on this machine. With "auto" it depends on the load by other programs."""
    from host.backends.placement import ordered_cores, place, usable_cores

    usable = usable_cores()
    placed = place(request, ordered_cores(os.sched_getaffinity(0)), usable)
    if request.placement != "auto" or not placed.cores:
        return placed
    busy = await (load or OtherLoad()).busy_cores(children)
    if busy < max(MIN_STRANGERS, STRANGERS_SHARE * usable):
        return placed
    return placed._replace(cores=(), reason=f"other programs keep {busy:.1f} cores busy")


def _own_seconds() -> float:
    """Return the processor time of this process and of its descendants that have ended."""
    return sum(os.times()[:4])


def _busy_seconds(cores: Iterable[int]) -> float:
    """Return the seconds that some cores have been busy since the machine was started; 0 if that is unknown."""
    names = {f"cpu{core}" for core in cores}
    with suppress(OSError, ValueError):
        rows = [line.split() for line in CPU_TIMES.read_text().splitlines()]
        return sum(_busy_ticks(row[1:]) for row in rows if row and row[0] in names) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _busy_ticks(times: Sequence[str]) -> int:
    user, nice, system, _idle, _iowait, *others = map(int, times)
    return user + nice + system + sum(others[:3])  # interrupts, and time stolen by other virtual machines
