"""What the clocks are worth on this machine: how late croupier notes what a bot has done, and what it adds to a bot's time."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import trio

from host.sandbox import Home, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits

TIMES = 40
STAMPS = 400
STAMPING = """
import os, time
while os.read(0, 1):
    os.write(1, b"%d\\n" % time.monotonic_ns())
"""


async def measured_clocks(level: Level) -> dict[str, float]:
    """Return medians in seconds: of what croupier adds to a bot's time, and of its clock's own error."""
    true = shutil.which("true") or "/bin/true"
    asked, spawned, late = [], [], []
    async with sandboxed(level, Home(Path("/usr/share")), Limits()) as sandbox:
        for _ in range(TIMES):
            started = time.perf_counter()
            await sandbox.keeper.ask([true.encode()], {}, Limits(), 1.0)
            asked.append(time.perf_counter() - started)
    for _ in range(TIMES):
        started = time.perf_counter()
        os.waitpid(os.posix_spawn(true, [true], {}), 0)
        spawned.append(time.perf_counter() - started)
    for _ in range(TIMES):
        started = time.perf_counter()
        await trio.sleep(0.002)
        late.append(time.perf_counter() - started - 0.002)
    trips, errors = await _answers()
    return {
        "ask": _share(asked, 0.5),
        "spawn": _share(spawned, 0.5),
        "pipe": _share(trips, 0.5),
        "late": _share(late, 0.99),
        "error": _share(errors, 0.5),
        "error_p99": _share(errors, 0.99),
    }


async def _answers() -> tuple[list[float], list[float]]:
    """Return how long answers took that say when they were given, and how much later they were noted."""
    trips, errors = [], []
    command = [sys.executable, "-I", "-S", "-c", STAMPING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        asks, answers = process.stdin.fileno(), process.stdout.fileno()
        for _ in range(STAMPS):
            started = time.monotonic_ns()
            os.write(asks, b"?")
            await trio.lowlevel.wait_readable(answers)
            given, noted = int(os.read(answers, 100)), time.monotonic_ns()
            trips.append((noted - started) / 1e9)
            errors.append((noted - given) / 1e9)
        process.stdin.close()
    return trips, errors


def _share(times: list[float], share: float) -> float:
    """Return the time that so large a share of some times stays below."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]
