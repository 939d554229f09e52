"""Measure what the host itself costs at each record of a large tournament: workers that answer at once play a league.

    python benchmarks/league.py [--bots 8 60 250 500] [--kind round-robin] [--workers 2] [--keys tables_per_pair=10000]
    python benchmarks/league.py --real [--bots 14 28 60 200] [--fixtures 600] [--rounds 3]

Everything but the tables is real: the stage's schedule, the queue of fixtures, their encoding, the journal. A pair of
bots plays one fixture, so 500 bots play 124 750. For each number of bots it prints the fixtures, the processor time of
this process for each record in the first and the last tenth of the run, the slowest of 20 parts, and how much the
memory has grown between the first and the last tenth.

With --real, C bots in sandboxes play fixtures of two tables. The fields take turns, round by round. For each field it
prints the median of the milliseconds per fixture, from the first record on, as a ratio to the first field too, and the
most processes that the workers had, and their memory (PSS).
"""

import argparse
import contextlib
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psutil
import trio

from host.backends.local import FixtureQueue, local_workers
from host.bots.bot_spec import BuiltBot
from host.bots.values import WALLS, Usage
from host.games import GAMES
from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunState, RunStatus, StageState, StageStatus
from host.journal.writer import writing
from host.play.jobs import WorkerSetup, decode_job, encode
from host.play.records import Fixture, Record, Result, pack
from host.sandbox.detect import detect
from host.sandbox.limits import Limits
from host.stages import KINDS
from host.stages.kind import Field, StageConfig
from host.submissions.discovery import load_submission
from host.submissions.examine import prepare_bots
from host.submissions.sample_bots import sample
from host.tournament.progress import Progress
from host.tournament.stage_runner import Run, run_stage
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
    walls = (*[questions // 20] * 20, *[0] * (WALLS - 20))
    return Usage(sum(walls), 0.1, 0.001, 0.05, 10 << 20, 1, walls, 0.01)


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


def pss(process: psutil.Process) -> int:
    """Return the memory of a process; a page that processes share counts once among all of them."""
    with contextlib.suppress(psutil.Error, AttributeError):
        return int(process.memory_full_info().pss)
    return 0


class Played(NamedTuple):
    """A part of a league that real bots have played."""

    fixtures: int
    seconds: float  # from its first record to its last one
    processes: int  # at its end
    memory: int  # in bytes


async def real_league(stage: StageConfig, bot: BuiltBot, bots: int, workers: int, fixtures: int) -> Played:
    """Play the first fixtures of a stage in which copies of one bot meet."""
    copies = [bot._replace(spec=replace(bot.spec, name=f"bot{number:04}")) for number in range(bots)]
    setup = WorkerSetup(PAZAAK, BLANK.rules, tuple(copies), b"a seed", detect().level)
    times, found = list[float](), Played(0, 0.0, 0, 0)
    with tempfile.TemporaryDirectory() as place, writing(Path(place) / "run.sqlite") as journal:
        for each in copies:
            journal.add_bot(RecordedBot.of(each))
        stages = [StageState(stage, StageStatus.RUNNING)]
        journal.set_state(
            RunState(name="league", game="pazaak", status=RunStatus.RUNNING, seed_sha256="0" * 64, stages=stages)
        )
        with trio.CancelScope() as scope:

            def watch(progress: Progress) -> None:
                nonlocal found
                if progress.record is not None:
                    times.append(time.perf_counter())
                    if len(times) in (fixtures, progress.known):
                        processes = psutil.Process().children(recursive=True)
                        memory = sum(map(pss, processes))
                        found = Played(len(times), times[-1] - times[0], len(processes), memory)
                        scope.cancel()

            async with local_workers(setup, print, workers) as pool:
                await run_stage(
                    stage, Field([each.name for each in copies], b"a seed"), Run(BLANK, journal, pool, watch)
                )
    return found


async def built_bot() -> BuiltBot:
    """Return a C bot."""
    submission = load_submission(sample("dumb_bold", "pazaak"))
    (bot,) = (await prepare_bots([submission], PAZAAK, Limits(), detect().level)).bots
    return bot


def measure_real(stage: StageConfig, asked: argparse.Namespace) -> None:
    """Measure and print what a fixture of real bots takes in each field."""
    bot = trio.run(built_bot)
    played: dict[int, list[Played]] = {bots: [] for bots in asked.bots}
    for _ in range(asked.rounds):
        for bots, rounds in played.items():
            rounds.append(trio.run(real_league, stage, bot, bots, asked.workers, asked.fixtures))
    cost = {bots: median(each.seconds / (each.fixtures - 1) for each in rounds) for bots, rounds in played.items()}
    print(f"{'bots':>6}{'fixtures':>10}{'ms each':>9}{'ratio':>7}{'processes':>11}{'memory':>10}")
    for bots, rounds in played.items():
        processes, memory = max(each.processes for each in rounds), max(each.memory for each in rounds)
        print(
            f"{bots:>6}{rounds[0].fixtures:>10,}{1e3 * cost[bots]:>9.2f}{cost[bots] / cost[asked.bots[0]]:>7.2f}"
            f"{processes:>11}{memory / 2**20:>7.0f} MB"
        )


async def league(stage: StageConfig, bots: int, workers: int, journal: Journal) -> Cost:
    """Play a stage with instant workers; return what each part of it has cost."""
    names = [f"bot{number:04}" for number in range(bots)]
    for name in names:
        journal.add_bot(RecordedBot(name, "0" * 64, "c"))
    stages = [StageState(stage, StageStatus.RUNNING)]
    run = RunState(name="league", game="pazaak", status=RunStatus.RUNNING, seed_sha256="0" * 64, stages=stages)
    journal.set_state(run)
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
        await run_stage(stage, Field(names, b"a seed"), Run(BLANK, journal, queue, watch))
        nursery.cancel_scope.cancel()
    seconds = [(times[nth + 1] - times[nth]) / max(1, counts[nth + 1] - counts[nth]) for nth in range(len(times) - 1)]
    return Cost(counts[-1], seconds, memory)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bots", type=int, nargs="+")
    parser.add_argument("--kind", default="round-robin")
    parser.add_argument("--keys", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--fixtures", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    asked.bots = asked.bots or ([14, 28, 60, 200] if asked.real else [8, 60, 250, 500])
    asked.keys = asked.keys or ["tables_per_pair=2" if asked.real else "tables_per_pair=10000"]
    keys: dict[str, Any] = {key: int(value) for key, _, value in (word.partition("=") for word in asked.keys)}
    stage = KINDS[asked.kind].config(name="league", **keys)
    if asked.real:
        measure_real(stage, asked)
        return
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
