"""Count false timeouts on a busy machine: a bot computes 60 % of its limit next to busy processes.

    python benchmarks/clock.py [--moves 10000] [--spinners 16] [--move 10] [--only turns]

Expected: none in 10 000 moves. A host stall is not a timeout: the question is asked again. Also measured: what it costs
to read the waits of a slow answer, how soon a bot is stopped whose 32 threads cause its
own waits, and how long a bot without a question computes until it is stopped. Needs control groups (level L4).
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import NamedTuple

import trio
from rounds import duration, table

from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.clock import HostStall
from host.bots.monitor import running_monitor
from host.bots.run_queue import RunQueueWaits, answering, counts_waits
from host.bots.seat import open_seat
from host.bots.values import Batch, Question
from host.games import GAMES
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import detect
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import MAX_WALL_FACTOR, Limits
from host.submissions.build import build

GAME = GAMES["cardshark"]
SHARE = 0.6
COMPUTES = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double computed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(void)
{
    char line[8192];
    while (fgets(line, sizeof line, stdin)) {
        for (double until = computed() + %f; computed() < until;) {}
        puts("S"), fflush(stdout);
    }
    return 0;
}
"""
THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *spin(void *nothing)
{
    for (;;) {}
    return nothing;
}

int main(void)
{
    char line[8192];
    pthread_t thread;
    fgets(line, sizeof line, stdin), puts("S"), fflush(stdout);
    fgets(line, sizeof line, stdin);
    for (int n = 0; n < 32; n++) pthread_create(&thread, NULL, spin, NULL);
    pause();
    return 0;
}
"""
PONDERS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define THREADS %d
#define KEPT 65536

/* Of each thread: at which time it had computed how long, in microseconds by the kernel's clocks. */
static struct { long at, computed; } history[THREADS][KEPT];
static atomic_long entries[THREADS];

static long clock_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *ponder(void *number)
{
    long self = (long)number;
    for (long n = 0;; n++) {
        history[self][n %% KEPT].at = clock_us(CLOCK_MONOTONIC);
        history[self][n %% KEPT].computed = clock_us(CLOCK_THREAD_CPUTIME_ID);
        atomic_store(&entries[self], n + 1);
        for (volatile int spin = 0; spin < 5000; spin++) {}
    }
    return NULL;
}

/* What all threads had computed at a time. */
static long computed_at(long when)
{
    long sum = 0;
    for (int thread = 0; thread < THREADS; thread++) {
        long n = atomic_load(&entries[thread]), oldest = n > KEPT / 2 ? n - KEPT / 2 : 0;
        while (n > oldest && history[thread][(n - 1) %% KEPT].at > when) n--;
        if (n > oldest) sum += history[thread][(n - 1) %% KEPT].computed;
    }
    return sum;
}

int main(void)
{
    char line[8192];
    pthread_t thread;
    long asked, answered = 0;
    for (long n = 0; n < THREADS; n++) pthread_create(&thread, NULL, ponder, (void *)n);
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%%*s %%*s %%*s %%*s %%ld", &asked) == 1) {
        printf("B %%ld\n", answered ? computed_at(asked) - computed_at(answered) : 0);
        answered = clock_us(CLOCK_MONOTONIC);
        fflush(stdout);
    }
    return 0;
}
"""
PAUSES = 40  # turns of one process that ponders
SPIN = """\
import os

while os.getppid() == PARENT:  # it ends with the benchmark, however that ends
    for _ in range(1_000_000):
        pass
"""


class Played(NamedTuple):
    """Results of some moves."""

    faults: Counter[str]
    stalls: int
    walls: list[float]


@contextlib.contextmanager
def spinning(count: int) -> Iterator[None]:
    """Run busy processes until the block ends."""
    if not count:
        yield
        return
    # Each has its own session: the kernel divides cores between sessions, and sixteen processes in one would get one share.
    command = [sys.executable, "-c", SPIN.replace("PARENT", str(os.getpid()))]
    spinners = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


async def made(text: str, limits: Limits) -> BuiltBot:
    """Build a bot from its source text."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bot.c").write_text(text)
        submission = Submission(
            BotSpec(name="bot", language="c", game="cardshark", sources=("bot.c",), entry="bot.c"),
            Path(folder),
            ("bot.c",),
        )
        return (await build(submission, detect().level))._replace(limits=limits).with_keys(protocol="lines")


async def played(bot: BuiltBot, moves: int) -> Played:
    """Ask a bot for a number of moves; seat it again if it is benched or the host stalls."""
    faults, stalls, walls = Counter[str](), 0, list[float]()
    async with running_monitor() as watcher, sandboxed(Level.L4, Home(Path(bot.folder)), bot.limits) as sandbox:
        while len(walls) < moves:
            async with open_seat(bot, GAME, sandbox, 1, watcher) as seat:
                while len(walls) < moves and not seat.benched:
                    started = time.perf_counter()
                    try:
                        question = Question(len(walls), 1, GAME.examples[0])
                        await seat.ask_one(question)  # as in a match of one table
                    except HostStall:
                        stalls += 1
                        break
                    finally:
                        walls.append(time.perf_counter() - started)
            faults.update(seat.faults)
    return Played(faults, stalls, walls)


async def false_timeouts(moves: int, spinners: int, move: float) -> None:
    """Print the number of timeouts."""
    beside = f"beside {spinners} spinning processes on {os.cpu_count()} cores"
    print(f"\nA move of {duration(move)}, {SHARE:.0%} of it computed, {beside}, load {os.getloadavg()[0]:.0f}")
    bot = await made(COMPUTES % (SHARE * move), Limits(move=move, startup=10, cpu=10))
    with spinning(spinners):
        told = await played(bot, moves)
    walls = sorted(told.walls)
    beyond = sum(wall > move for wall in walls)
    slow = (duration(median(walls)), duration(walls[len(walls) * 99 // 100]))
    row = (f"{len(walls):,}", f"{told.faults.total()}", f"{told.stalls}", f"{beyond:,}", *slow)
    print(table(("moves", "false time-outs", "host stalls", "beyond their limit", "median", "99 of 100"), [row]))


async def own_waits(spinners: int) -> None:
    """Print how soon a bot is stopped that causes its own waits."""
    limits = Limits(move=0.25, startup=10, cpu=10)
    bot, late = await made(THREADS, limits), []
    with spinning(spinners):
        for _ in range(8):
            late.append((await played(bot, 2)).walls[-1])
    promised = duration(MAX_WALL_FACTOR * limits.move + 0.25)
    print("\n32 spinning threads, a move of 250 ms: dead and reaped after")
    print(table(("median", "at worst", "promised"), [(duration(median(late)), duration(max(late)), promised)]))


async def cost() -> None:
    """Print the cost of reading the wait times."""
    bot = await made(COMPUTES % 0.0, Limits())
    async with sandboxed(Level.L4, Home(Path(bot.folder)), bot.limits) as sandbox:
        null = os.open("/dev/null", os.O_RDWR)
        reads, writes = os.pipe()
        await sandbox.keeper.start([word.encode() for word in bot.argv], {}, bot.limits, (reads, null, null))
        waits = RunQueueWaits(answering(sandbox))
        waits.start_counting()
        started = time.perf_counter()
        for _ in range(10_000):
            waits.start_counting()
        mark = (time.perf_counter() - started) / 10_000
        started = time.perf_counter()
        for _ in range(1000):
            waits.since()
        since = (time.perf_counter() - started) / 1000
        waits.close()
        for descriptor in (null, reads, writes):
            os.close(descriptor)
    print(
        f"a look at one thread's waits: {duration(mark)} when an answer is slow, {duration(since)} at a missed deadline"
    )


async def pondered(ponderer: BuiltBot, thinker: BuiltBot) -> list[int]:
    """Return the microseconds that a bot computed in each of the pauses of one life, while another bot was thinking.

    The bot reads the kernel's clock of each of its threads, and the question has the time at which it was asked.
    """
    told = []
    async with (
        running_monitor() as watcher,
        sandboxed(Level.L4, Home(Path(ponderer.folder)), ponderer.limits) as own,
        sandboxed(Level.L4, Home(Path(thinker.folder)), thinker.limits) as others,
        open_seat(ponderer, GAME, own, 1, watcher) as seat,
        open_seat(thinker, GAME, others, 1, watcher) as other,
    ):
        for number in range(1, PAUSES + 2):
            asked = GAME.view(*GAME.examples[0][:4], chips=int(time.perf_counter() * 1e6))
            (answer,) = await seat.ask(Batch([Question(number, 1, asked)]))
            told.append(answer.n)
            await other.ask(Batch([Question(number, 1, GAME.examples[0])]))
    return told[1:]


async def off_turn(lives: int) -> None:
    """Print the processor time of a bot that computes all the time, from its answer to its next question."""
    rows = []
    patient = Limits(move=10, cpu=10)
    for spinners in (0, 2):
        for thinks in (0.0005, 0.005, 0.05):
            thinker = await made(COMPUTES % thinks, patient)
            for threads in (1, os.cpu_count() or 1):
                ponderer = await made(PONDERS % threads, patient)
                with spinning(spinners):
                    told = [await pondered(ponderer, thinker) for _ in range(lives)]
                first = sorted(life[0] for life in told)
                later = sorted(pause for life in told for pause in life[1:])
                shown = (median(first), first[-1], median(later), later[len(later) * 99 // 100], later[-1])
                cells = [duration(each / 1e6) if each else "0" for each in shown]
                rows.append((f"{spinners}", duration(thinks), f"{threads}", *cells))
                print(f"{len(rows)} of 12 measured, load {os.getloadavg()[0]:.1f}", flush=True)
    heads = ("busy processes", "the other computes", "threads", "first pause", "worst", "later", "99 of 100", "worst")
    print(f"\nComputed from an answer to the next question, by the kernel's clocks; {lives} lives of {PAUSES} pauses")
    print(table(heads, rows))


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moves", type=int, default=10_000)
    parser.add_argument("--spinners", type=int, default=16)
    parser.add_argument("--move", type=float, default=10, help="milliseconds")
    parser.add_argument("--only", choices=["cost", "waits", "turns", "timeouts"])
    given = parser.parse_args()
    assert counts_waits(), "this kernel does not count waits"
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    parts = {
        "cost": cost,
        "waits": lambda: own_waits(given.spinners),
        "turns": lambda: off_turn(10),
        "timeouts": lambda: false_timeouts(given.moves, given.spinners, given.move / 1000),
    }
    for name, part in parts.items():
        if given.only in (None, name):
            await part()


if __name__ == "__main__":
    trio.run(main)
