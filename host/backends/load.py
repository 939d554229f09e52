"""Measures the load by other programs, and uses it to choose the placement of workers on this machine."""

import os
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import trio

from host.backends.placement import Placement, PlacementRequest, ordered_cores, place, usable_cores

CPU_TIMES = Path("/proc/stat")
SAMPLE_S = 0.06  # seconds during which the load of other programs is measured
MIN_STRANGERS, STRANGERS_SHARE = 0.5, 0.1
"""Other programs load the machine if they keep this many cores busy, and this share of all cores."""


async def busy_cores() -> float:
    """Return how many of the cores that this process may use are busy with other programs, on average over SAMPLE_S."""
    cores = os.sched_getaffinity(0)
    began, busy, own = time.monotonic(), _busy_seconds(cores), time.process_time()
    await trio.sleep(SAMPLE_S)
    others = _busy_seconds(cores) - busy - (time.process_time() - own)
    return max(others, 0.0) / (time.monotonic() - began)


async def choose_placement(request: PlacementRequest) -> Placement:
    """Return the placement of the workers on this machine. With "auto" it depends on the load by other programs."""
    usable = usable_cores()
    placed = place(request, ordered_cores(os.sched_getaffinity(0)), usable)
    if request.placement != "auto" or not placed.cores:
        return placed
    busy = await busy_cores()
    if busy < max(MIN_STRANGERS, STRANGERS_SHARE * usable):
        return placed
    return placed._replace(cores=(), reason=f"other programs keep {busy:.1f} cores busy")


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
