"""Measures the clocks of this machine: how late an answer is recorded, and how much time croupier adds to it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import trio

from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits

MEASUREMENTS = 40  # of each time
STAMPS = 400  # answers that contain the time at which they were written
STAMPING = """
import os, time
while os.read(0, 1):
    os.write(1, b"%d\\n" % time.monotonic_ns())
"""


async def measure_clocks(level: Level) -> dict[str, float]:
    """Return times in seconds by name: the time that croupier adds to a bot's time, and the error of its clock.

    Medians are `ask` (run a program in a sandbox), `spawn` (run it without a sandbox), `pipe` (send a question to a
    running process and receive the answer) and `error` (from the writing of an answer until it is recorded). 99 %
    quantiles are `late` (the delay with which a sleeping task wakes up) and `error_p99`.
    """
    true = shutil.which("true") or "/bin/true"
    asked, spawned, late = [], [], []
    async with sandboxed(level, Home(Path("/usr/share")), Limits()) as sandbox:
        for _ in range(MEASUREMENTS):
            started = time.perf_counter()
            await sandbox.keeper.ask([true.encode()], {}, Limits(), 1.0)
            asked.append(time.perf_counter() - started)
    for _ in range(MEASUREMENTS):
        started = time.perf_counter()
        os.waitpid(os.posix_spawn(true, [true], {}), 0)
        spawned.append(time.perf_counter() - started)
    for _ in range(MEASUREMENTS):
        started = time.perf_counter()
        await trio.sleep(0.002)
        late.append(time.perf_counter() - started - 0.002)
    trips, errors = await _measure_pipe()
    return {
        "ask": _quantile(asked, 0.5),
        "spawn": _quantile(spawned, 0.5),
        "pipe": _quantile(trips, 0.5),
        "late": _quantile(late, 0.99),
        "error": _quantile(errors, 0.5),
        "error_p99": _quantile(errors, 0.99),
    }


async def _measure_pipe() -> tuple[list[float], list[float]]:
    """Return the times of round trips through pipes, and the delays from writing to recording an answer, in seconds."""
    trips, errors = [], []
    command = [sys.executable, "-I", "-S", "-c", STAMPING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        asks, answers = process.stdin.fileno(), process.stdout.fileno()
        for _ in range(STAMPS):
            started = time.monotonic_ns()
            os.write(asks, b"?")
            await trio.lowlevel.wait_readable(answers)
            written, recorded = int(os.read(answers, 100)), time.monotonic_ns()
            trips.append((recorded - started) / 1e9)
            errors.append((recorded - written) / 1e9)
        process.stdin.close()
    return trips, errors


def _quantile(times: list[float], share: float) -> float:
    """Return the quantile of the times for a share from 0 to 1: the median for 0.5."""
    return sorted(times)[min(int(len(times) * share), len(times) - 1)]
