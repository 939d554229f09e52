"""All that runs in a sandbox: what its first process has started, and what came of that."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil


def descendants(first: int) -> Iterator[psutil.Process]:
    """Yield everything the first process has started, and all that came of it: orphans fall to it, so none is missed.

    psutil's own recursive search reads every process of the machine, 2 ms a time.
    """
    found = [first]
    for pid in found:
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a look must cost microseconds
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
        if pid != first:
            with suppress(psutil.Error):
                yield psutil.Process(pid)


def cpu_seconds(process: psutil.Process) -> float:
    """Return the seconds that a process and its children that have ended have computed, in ticks of 10 ms."""
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def wait_for_exit(process: "subprocess.Popen[bytes]", patience: float) -> bool:
    """Wait so many seconds for a process to end; return whether it has. Else it is killed, and all that came of it."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        for each in list(descendants(process.pid)):
            with suppress(psutil.Error):
                each.kill()
        process.kill()
        process.wait()
        return False
    return True
