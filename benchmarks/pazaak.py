"""Measure Pazaak decisions per second: one worker, `croupier run`, and the bare engine in the same run.

    python benchmarks/pazaak.py [--rounds 5] [--level L3] [--part 1]

`croupier run` starts one worker per core with up to 128 parallel tables in each: that row is the speed for users. In the
rows above it, one worker in this process plays one table at a time, then 16 and 128 parallel tables. All bots stand from a
fixed sum on, because only host and protocol are measured. The bare engine plays the same tables on one core with answers
computed in this process. All contenders take turns round by round, because machines are shared. Prints medians and ratios.
"""

import argparse
import contextlib
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import trio

from host.backends.local import local_workers, usable_cores
from host.bots.monitor import Monitor
from host.games import GAMES
from host.games.engine import Table
from host.play.bot_pool import BotPool
from host.play.records import Fixture, Job, WorkerSetup
from host.play.table_plans import table_setups
from host.play.worker import reduce_gc
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.bot_spec import BuiltBot
from host.submissions.build import build
from host.submissions.discovery import load_submission
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
LIMITS = {"dumb_bold": 19, "dumb_cautious": 16}


class Case(NamedTuple):
    """A contender, and the number of tables for each worker."""

    bots: str
    parallel_tables: int
    tables: int
    workers: int = 1

    def __str__(self) -> str:
        """Return the name of the contender's row."""
        workers = "" if self.workers else ", a worker a core"
        return f"{self.bots} bots, {self.parallel_tables} parallel tables{workers}"


CASES = [
    Case("C", 1, 300),
    Case("C", 16, 3000),
    Case("C", 128, 6000),
    Case("C", 128, 6000, A_WORKER_A_CORE),
    Case("Python", 1, 300),
    Case("Python", 128, 3000),
    Case("Python", 128, 3000, A_WORKER_A_CORE),
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
    setup = WorkerSetup("pazaak", RULES, bots, SEED, level, parallel_tables)
    async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
        watcher = Monitor()
        nursery.start_soon(watcher.run)
        house = BotPool(setup, stack, watcher)
        await house.play(Job(fixture((bots[0].name, bots[1].name), 100)))  # start and warm up
        started, computed = time.perf_counter(), time.process_time()
        record = await house.play(Job(fixture((bots[0].name, bots[1].name), tables)))
        decisions = sum(usage.questions for usage in record.usage.values())
        nursery.cancel_scope.cancel()
    return decisions / (time.perf_counter() - started), (time.process_time() - computed) / decisions * 1e6


async def played_by_all(
    bots: tuple[BuiltBot, BuiltBot], level: Level, parallel_tables: int, tables: int
) -> tuple[float, float]:
    """Return the same for one worker per core."""
    setup, names = WorkerSetup("pazaak", RULES, bots, SEED, level, parallel_tables), (bots[0].name, bots[1].name)
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
    """Return two built bots in each language; the Python bots are written to the folder."""
    folder.chmod(0o755)
    written = []
    for name, limit in LIMITS.items():
        place = folder / name
        place.mkdir()
        (place / "bot.py").write_text(PYTHON.replace("LIMIT", str(limit)))
        (place / "bot.toml").write_text(MANIFEST)
        written.append(place)
    places = {"C": [sample(name, "pazaak") for name in LIMITS], "Python": written}
    built = {
        language: [await build(load_submission(place), level) for place in two] for language, two in places.items()
    }
    return {language: (one, other) for language, (one, other) in built.items()}


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    parser.add_argument("--part", type=float, default=1, help="part of the tables to play, 0.01 to see that it runs")
    asked = parser.parse_args()
    reduce_gc()
    level = require_level(asked.level)
    floors: list[float] = []
    speeds: dict[Case, list[tuple[float, float]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        bots = await pairs(level, Path(folder))
        for _ in range(asked.rounds):
            floors.append(bare(max(int(2000 * asked.part), 1)))
            for case in CASES:
                measure = played if case.workers else played_by_all
                tables = max(int(case.tables * asked.part), 1)
                speeds[case].append(await measure(bots[case.bots], level, case.parallel_tables, tables))
    floor = median(floors)
    print(f"level {level} · {asked.rounds} interleaved rounds, medians · {usable_cores()} cores\n")
    print(f"{'':<42}{'decisions/s':>12}{'of the bare engine':>20}{'host CPU a decision':>22}")
    print(f"{'the bare engine, one core':<42}{floor:>12,.0f}{'100 %':>20}{1e6 / floor:>19.2f} µs")
    for case, measured in speeds.items():
        speed, cpu = median(each[0] for each in measured), median(each[1] for each in measured)
        print(f"{case!s:<42}{speed:>12,.0f}{f'{100 * speed / floor:.0f} %':>20}{cpu:>19.2f} µs")


if __name__ == "__main__":
    trio.run(main)
