"""Measure what the host itself costs at each record of a large tournament: workers that answer at once play a league.

    python benchmarks/league.py [--bots 8 60 250 500] [--kind round-robin] [--workers 2] [--keys tables_per_pair=10000]

Everything but the tables is real: the stage's schedule, the queue of fixtures, their encoding, the journal. A pair of
bots plays one fixture, so 500 bots play 124 750. For each number of bots it prints the fixtures, the processor time of
this process for each record in the first and the last tenth of the run, the slowest of 20 parts, and how much the
memory has grown between the first and the last tenth.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import trio

from host.backends.local import FixtureQueue
from host.bots.values import Usage
from host.games import GAMES
from host.play.jobs import decode_job, encode
from host.play.records import Fixture, Record, Result, pack
from host.results.journal import Journal, writing
from host.stages import KINDS, stages_to_json
from host.stages.kind import Field, StageConfig
from host.tournament.progress import Progress
from host.tournament.stage_runner import run_stage
from protocols.wire import Move

PAZAAK = GAMES["pazaak"]
BLANK = Fixture("pazaak", PAZAAK.presets["thread"], "", "", (), 0)
PARTS = 20
TABLES = 40  # in the stored answers and scores of a fixture, whatever its number of tables


class Cost(NamedTuple):
    """The cost of a league: processor time for each record, in seconds, and memory in bytes, at the end of each part."""

    fixtures: int
    seconds: list[float]
    memory: list[int]


def usage(questions: int) -> Usage:
    """Return the usage of a bot that has answered some questions."""
    walls = tuple(questions // 20 for _ in range(20))
    return Usage(questions, 0.1, 0.001, 0.05, 10 << 20, 1, walls, 0.01)


ANSWERS = pack([[Move("DRAW"), Move("PLAY", 3), Move("STAND"), Move("END")] * 2] * TABLES)


def record_of(fixture: Fixture) -> Record:
    """Return a record in which the results of the bots depend on their names."""
    size = fixture.tables // len(fixture.bots)
    results = {bot: Result(fixture.tables, size, 2 * size, 0, 3, len(bot)) for bot in fixture.bots}
    scores = tuple((3, 1) for _ in range(min(TABLES, fixture.tables)))
    return Record(fixture.path, results, {}, {bot: usage(400) for bot in fixture.bots}, (), scores, ANSWERS)


def instant(worker: str) -> Callable[[bytes], Awaitable[bytes]]:
    """Return a worker that plays a fixture at once."""

    async def play(line: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        fixture = decode_job(line, type(BLANK.rules)).fixture
        return encode(record_of(fixture))

    return play


async def league(stage: StageConfig, bots: int, workers: int, journal: Journal) -> Cost:
    """Play a stage with instant workers; return what each part of it has cost."""
    names = [f"bot{number:04}" for number in range(bots)]
    for name in names:
        journal.add_bot(name, "0" * 64, "c", {"author": "", "limits": {}})
    journal.set_metadata({"stages": stages_to_json(stage), "game": "pazaak", "level": "none", "seed_sha256": "0" * 64})
    journal.set_metadata({"name": "league", "state": "running", f"stage {stage.name}": "running"})
    times, memory, me = list[float](), list[int](), psutil.Process()
    queue = FixtureQueue(print, f"{workers} workers", workers)

    def watch(progress: Progress) -> None:
        if progress.done * PARTS // max(progress.known, 1) >= len(times):
            times.append(time.process_time())
            memory.append(me.memory_info().rss)
            counts.append(progress.done)

    counts = list[int]()
    async with trio.open_nursery() as nursery:
        for number in range(workers):
            nursery.start_soon(queue.feed, f"worker {number}", instant(str(number)))
        await run_stage(stage, BLANK, Field(names, b"a seed"), journal, queue, watch)
        nursery.cancel_scope.cancel()
    seconds = [(times[nth + 1] - times[nth]) / max(1, counts[nth + 1] - counts[nth]) for nth in range(len(times) - 1)]
    return Cost(counts[-1], seconds, memory)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bots", type=int, nargs="+", default=[8, 60, 250, 500])
    parser.add_argument("--kind", default="round-robin")
    parser.add_argument("--keys", nargs="*", default=["tables_per_pair=10000"])
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    keys: dict[str, Any] = {key: int(value) for key, _, value in (word.partition("=") for word in asked.keys)}
    stage = KINDS[asked.kind].config(name="league", **keys)
    print(f"{'bots':>6}{'fixtures':>10}{'first µs':>10}{'last µs':>10}{'slowest µs':>12}{'memory':>10}{'seconds':>9}")
    for bots in asked.bots:
        with tempfile.TemporaryDirectory() as place, writing(Path(place) / "run.sqlite") as journal:
            began = time.perf_counter()
            cost = trio.run(league, stage, bots, asked.workers, journal)
            took = time.perf_counter() - began
        first, last, most = (1e6 * each for each in (cost.seconds[0], cost.seconds[-1], max(cost.seconds)))
        grown = (cost.memory[-1] - cost.memory[1]) / 2**20
        print(f"{bots:>6}{cost.fixtures:>10,}{first:>10.0f}{last:>10.0f}{most:>12.0f}{grown:>7.0f} MB{took:>9.1f}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
