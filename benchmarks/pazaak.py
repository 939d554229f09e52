"""Measure Pazaak decisions per second: one worker, `croupier run`, the bare engine and a ping-pong in the same run.

    python benchmarks/pazaak.py [--rounds 5] [--level L3] [--part 1] [--only thinks]

`croupier run` starts one worker per core with up to 128 parallel tables in each: that row is the speed for users. In the
other rows, one worker in this process plays one table at a time, then 16 and 128 parallel tables. Rows "on one core" keep
host and bots on one core. All bots stand from a fixed sum on, because only host and protocol are measured. A newcomer's
bots declare nothing, and read their questions as beginners do.

Two bounds are measured in the same run. The bare engine plays the same tables on one core with answers computed in this
process. The ping-pong of two C processes on one core is what a host without any work of its own would reach one table at
a time. All contenders take turns round by round, because machines are shared. Prints medians and ratios.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import trio
from floors import Floors, on_one_core

from host.backends.local import local_workers
from host.backends.placement import usable_cores
from host.base.python_module import reduce_gc
from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor
from host.games import GAMES
from host.games.engine import Table
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture
from host.play.table_plans import table_setups
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.languages import LANGUAGES, Language, tool
from host.submissions.sample_bots import sample
from protocols.wire import Move

GAME = GAMES["pazaak"]
RULES = GAME.presets["thread"]
SEED = b"a benchmark seed"
END, STAND = Move("END"), Move("STAND")
A_WORKER_A_CORE = 0

PYTHON = """\
import os

rest = b""
while heard := os.read(0, 1 << 16):
    *lines, rest = (rest + heard).split(b"\\n")
    totals = [sum(map(int, line.split(b" ", 4)[3].split(b","))) for line in lines]
    said = b"".join([b"STAND\\n" if total >= LIMIT else b"END\\n" for total in totals])
    while said:
        said = said[os.write(1, said) :]
"""
MANIFEST = 'game = "pazaak"\nprotocol = "lines"\nparallel_tables = 128\n'
THINKER = """\
#include <stdio.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * time.tv_sec + 1e-6 * time.tv_nsec;
}

int main(void)
{
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        double until = now() + MILLISECONDS;
        while (now() < until)
            ;
        puts(LIMIT > 17 ? "STAND" : "END");
        fflush(stdout);
    }
}
"""
NEWCOMERS = {
    "Python, for line in sys.stdin": (
        "bot.py",
        """\
import sys

for line in sys.stdin:
    hand = line.split()[3]
    total = sum(int(card) for card in hand.split(","))
    print("STAND" if total >= LIMIT else "END", flush=True)
""",
    ),
    "Java, Scanner": (
        "Bot.java",
        """\
import java.util.Scanner;

public class Bot {
    public static void main(String[] args) {
        Scanner in = new Scanner(System.in);
        while (in.hasNextLine()) {
            int total = 0;
            for (String card : in.nextLine().split(" ")[3].split(","))
                total += Integer.parseInt(card);
            System.out.println(total >= LIMIT ? "STAND" : "END");
        }
    }
}
""",
    ),
    "C, scanf": (
        "bot.c",
        """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    int one, two, first, left, played;
    char hand[128], other[128], side[128], action[16];
    while (scanf("%d %d %d %127s %127s %127s %d %15s %d", &one, &two, &first, hand, other, side, &left, action, &played) == 9) {
        int total = 0;
        for (char *card = strtok(hand, ","); card; card = strtok(NULL, ","))
            total += atoi(card);
        printf("%s\\n", total >= LIMIT ? "STAND" : "END");
        fflush(stdout);
    }
}
""",
    ),
    **{f"C, thinks {ms} ms": ("bot.c", THINKER.replace("MILLISECONDS", str(ms))) for ms in (1, 2, 3)},
    "Python, argv": (
        "bot.py",
        """\
import sys

total = sum(int(card) for card in sys.argv[4].split(","))
print("STAND" if total >= LIMIT else "END")
""",
    ),
}
"""Source files of what a newcomer writes, by the name of the row."""

LIMITS = {"dumb_bold": 19, "dumb_cautious": 16}


class Case(NamedTuple):
    """A contender, and the number of tables for each worker."""

    bots: str
    parallel_tables: int
    tables: int
    workers: int = 1
    on_one_core: bool = False

    def __str__(self) -> str:
        """Return the name of the contender's row."""
        where = "" if self.workers else ", a worker a core"
        where += ", on one core" if self.on_one_core else ""
        if self.bots in NEWCOMERS:
            return f"a newcomer's {self.bots}{where}"
        return f"{self.bots} bots, {self.parallel_tables} parallel tables{where}"


CASES = [
    Case("C", 1, 1500),
    Case("C", 1, 1500, on_one_core=True),
    Case("C", 1, 1500, A_WORKER_A_CORE),
    Case("C", 16, 3000),
    Case("C", 128, 6000),
    Case("C", 128, 6000, A_WORKER_A_CORE),
    Case("Python", 1, 1000),
    Case("Python", 128, 3000),
    Case("Python", 128, 3000, A_WORKER_A_CORE),
    *[
        case
        for bots in NEWCOMERS
        for tables in [4 if "argv" in bots else 40 if "thinks" in bots else 1000]  # a start of bots costs 5 ms
        for case in (Case(bots, 1, tables), Case(bots, 1, tables, on_one_core=True))
    ],
]


def fixture(bots: tuple[str, ...], tables: int, nth: int = 0) -> Fixture:
    """Return a fixture of tables between two bots."""
    return Fixture("pazaak", RULES, "independent", f"bench/pair{nth or ''}/1", bots, tables)


def bare(tables: int) -> float:
    """Return the decisions per second of the engine alone."""
    seats = table_setups(fixture(("one", "two"), tables), SEED, [()] * tables)
    decisions, started = 0, time.perf_counter()
    for sitting in seats:
        table = Table(GAME, sitting.rules, sitting.shuffler(SEED))
        while (request := table.request) is not None:
            table.answer(STAND if sum(request.view[3]) >= 17 else END)
        decisions += len(table.answers)
    return decisions / (time.perf_counter() - started)


async def played(
    bots: tuple[BuiltBot, BuiltBot], level: Level, parallel_tables: int, tables: int
) -> tuple[float, float]:
    """Return the decisions per second, and the host's CPU time per decision in µs."""
    setup = WorkerSetup(GAMES["pazaak"], RULES, bots, SEED, level, parallel_tables)
    async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
        watcher = Monitor()
        nursery.start_soon(watcher.run)
        pool = BotPool(setup, stack, watcher)
        warm_up = min(tables, 100)
        await pool.play(Job(fixture((bots[0].name, bots[1].name), warm_up)))
        started, computed = time.perf_counter(), time.process_time()
        record = await pool.play(Job(fixture((bots[0].name, bots[1].name), tables)))
        decisions = sum(usage.questions for usage in record.usage.values())
        nursery.cancel_scope.cancel()
    return decisions / (time.perf_counter() - started), (time.process_time() - computed) / decisions * 1e6


async def played_by_all(
    bots: tuple[BuiltBot, BuiltBot], level: Level, parallel_tables: int, tables: int
) -> tuple[float, float]:
    """Return the same for one worker per core."""
    setup, names = WorkerSetup(GAMES["pazaak"], RULES, bots, SEED, level, parallel_tables), (bots[0].name, bots[1].name)
    async with local_workers(setup, print, A_WORKER_A_CORE) as workers:
        records, started = [], 0.0
        for size in (100, tables):  # the first fixtures start and warm up everything
            started = time.perf_counter()
            for nth in range(workers.count):
                await workers.submit(Job(fixture(names, size, nth + 1)))
            records = [await workers.next_result() for _ in range(workers.count)]
        took = time.perf_counter() - started
    decisions = sum(usage.questions for record in records for usage in record.usage.values())
    return decisions / took, sum(record.overhead for record in records) / decisions * 1e6


async def pairs(level: Level, folder: Path) -> dict[str, tuple[BuiltBot, BuiltBot]]:
    """Return two built bots for each kind of bot whose language is installed; most are written to the folder."""
    folder.chmod(0o755)
    sources = {"Python": ("bot.py", PYTHON, MANIFEST)}
    for kind, (file, text) in NEWCOMERS.items():
        protocol = "argv" if "argv" in kind else "lines"
        sources[kind] = (file, text, f'game = "pazaak"\nprotocol = "{protocol}"\n')
    built = {"C": [await build(load_submission(sample(name, "pazaak")), level) for name in LIMITS]}
    for kind, (file, text, manifest) in sources.items():
        if any(tool(program) is None for program in language_of(file).programs):
            continue
        built[kind] = []
        for name, limit in LIMITS.items():
            place = folder / kind.replace(" ", "_") / name
            place.mkdir(parents=True)
            (place / file).write_text(text.replace("LIMIT", str(limit)))
            (place / "bot.toml").write_text(manifest)
            built[kind].append(await build(load_submission(place), level))
    return {kind: (one, other) for kind, (one, other) in built.items()}


def language_of(file: str) -> Language:
    """Return the language of a source file."""
    return next(language for language in LANGUAGES.values() if Path(file).suffix in language.suffixes)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    parser.add_argument("--part", type=float, default=1, help="part of the tables to play, 0.01 to see that it runs")
    parser.add_argument("--only", default="", help="measure only the rows whose names contain this text")
    asked = parser.parse_args()
    reduce_gc()
    level = require_level(asked.level)
    engine: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        floors, bots = Floors(Path(folder)), await pairs(level, Path(folder))
        speeds: dict[Case, list[tuple[float, float]]] = {
            case: [] for case in CASES if case.bots in bots and asked.only in str(case)
        }
        for _ in range(asked.rounds):
            floors.measure(max(int(20_000 * asked.part), 100))
            engine.append(bare(max(int(2000 * asked.part), 1)))
            for case, results in speeds.items():
                measure = played if case.workers else played_by_all
                tables = max(int(case.tables * asked.part), 1)
                with on_one_core() if case.on_one_core else contextlib.nullcontext():
                    results.append(await measure(bots[case.bots], level, case.parallel_tables, tables))
    floor = median(engine)
    print(f"level {level} · {asked.rounds} interleaved rounds, medians · {usable_cores()} cores\n{floors.text()}\n")
    print(f"{'':<50}{'decisions/s':>12}{'of the ping-pong':>18}{'of the bare engine':>20}{'host CPU a decision':>22}")
    rows = {"the bare engine, one core": (floor, 1e6 / floor)} | {
        str(case): (median(each[0] for each in measured), median(each[1] for each in measured))
        for case, measured in speeds.items()
    }
    for name, (speed, cpu) in rows.items():
        shares = f"{speed / floors.one_core:>18.3f}{f'{100 * speed / floor:.0f} %':>20}"
        print(f"{name:<50}{speed:>12,.0f}{shares}{cpu:>19.2f} µs")


if __name__ == "__main__":
    trio.run(main)
