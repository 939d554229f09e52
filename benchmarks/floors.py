"""Lower bounds of what a host can reach on this machine: a ping-pong of two C processes, and a bare spawn."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Prints the seconds that a number of questions and answers takes over two pipes. */
int main(int count, char **words)
{
    int questions[2], answers[2], times = count > 1 ? atoi(words[1]) : 0;
    char text[64];
    if (!times || pipe(questions) || pipe(answers))
        return times != 0;
    if (fork() == 0) {
        close(questions[1]);
        while (read(questions[0], text, sizeof text) > 0)
            if (write(answers[1], "STAND\n", 6) < 0)
                return 1;
        return 0;
    }
    const double began = now();
    for (int nth = 0; nth < times; nth++)
        if (write(questions[1], "0 0 1 8 - 1,2,4,5 4 - 0\n", 24) < 0 || read(answers[0], text, sizeof text) <= 0)
            return 1;
    printf("%.9f\n", now() - began);
    return 0;
}
"""


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this process, and all processes that it starts in the block, on one core."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class Floors:
    """The lower bounds, measured once a round."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / "ping_pong"
        source = folder / "ping_pong.c"
        source.write_text(SOURCE)
        subprocess.run(["cc", "-O2", "-o", self._program, source], check=True)
        self._free: list[float] = []
        self._one_core: list[float] = []
        self._spawns: list[float] = []

    def measure(self, times: int = 20_000) -> None:
        """Measure every lower bound once."""
        self._free.append(self._round_trips(times))
        with on_one_core():
            self._one_core.append(self._round_trips(times))
        spawns = max(times // 100, 1)
        started = time.perf_counter()
        for _ in range(spawns):
            os.waitpid(os.posix_spawn(self._program, [self._program], {}), 0)
        self._spawns.append((time.perf_counter() - started) / spawns)

    def _round_trips(self, times: int) -> float:
        """Return the round trips per second of two processes."""
        done = subprocess.run([self._program, str(times)], check=True, capture_output=True, text=True)
        return times / float(done.stdout)

    @property
    def one_core(self) -> float:
        """Return the round trips per second on one core, the rate with which others are compared."""
        return median(self._one_core)

    @property
    def spawn(self) -> float:
        """Return the seconds in which a C process is started and waited for."""
        return median(self._spawns)

    def text(self) -> str:
        """Return the lower bounds as a line of text."""
        return (
            f"ping-pong of two C processes: {self.one_core:,.0f} round trips/s on one core, "
            f"{median(self._free):,.0f} free · bare spawn of a C process: {self.spawn * 1e6:,.0f} µs"
        )
