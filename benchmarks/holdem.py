"""Measure hold'em games per second with five C bots over lines: one worker, `croupier run`, and the bare engine.

    python benchmarks/holdem.py [--rounds 5] [--level L3] [--games 64]

`croupier run` starts one worker per core, with up to 32 parallel tables in each: that row is the speed for users. In
the rows above it, one worker in this process plays one game at a time, then 32 parallel tables. The bots are trivial:
they call, and sometimes raise or fold. They use sscanf and printf; in one row, the same bots use read and write, as the
C bots of `pazaak.py` do. Compare bots of one kind with each other: those with sscanf take 2.5 µs more of each decision,
and the host takes as much more, perhaps because of the caches. The bare engine plays the same games on one core with
the recorded answers, so it does only the work of the rules. All contenders take turns round by round, because machines
are shared. Prints medians and ratios, by wall clock and by the host's CPU time, which other programs hardly affect. The
last column compares the decisions per second with the ping-pong of two C processes on one core (`floors.py`), measured
in the same run.
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
from host.play.records import Fixture, Record, unpack
from host.play.table_plans import table_setups
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.build import build
from host.submissions.discovery import load_submission

GAME = GAMES["holdem"]
RULES = GAME.presets["banksalad"]
SEED = b"a benchmark seed"
MOST = 32

SOURCE = """\
#include <stdio.h>

int main(void)
{
    char cards[8], line[65536], done[8192], todo[8192], board[32];
    long chips, low, high, pot;

    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "%ld %7s %8191s %8191s %31s %ld %ld %ld", &chips, cards, done, todo, board, &low, &high, &pot) != 8)
            return 1;
        int luck = (cards[0] * 7 + cards[2] * 5 + (int) chips) % NTH;
        long bet = luck == 0 && low + 2 <= high ? low + 2 : luck == 1 ? 0 : low;
        printf("%ld\\n", bet);
        fflush(stdout);
    }
}
"""
QUICK_SOURCE = """\
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    static char line[65536];

    for (ssize_t got; (got = read(0, line, sizeof line - 1)) > 0;) {
        char *at = line, text[24], *const end = text + sizeof text, *said = end;
        line[got] = 0;
        long chips = strtol(at, &at, 10);
        const char *cards = at + 1;
        for (int blanks = 0; blanks < 5; at++)
            blanks += *at == ' ';
        long low = strtol(at, &at, 10), high = strtol(at, &at, 10);
        int luck = (cards[0] * 7 + cards[2] * 5 + (int) chips) % NTH;
        long bet = luck == 0 && low + 2 <= high ? low + 2 : luck == 1 ? 0 : low;
        *--said = '\\n';
        do
            *--said = '0' + bet % 10;
        while (bet /= 10);
        if (write(1, said, end - said) < 0)
            return 1;
    }
}
"""
MANIFEST = 'game = "holdem"\nprotocol = "lines"\nparallel_tables = {most}\n'


def fixture(bots: list[BuiltBot], games: int, path: str) -> Fixture:
    """Return a fixture of games between five bots."""
    return Fixture("holdem", RULES, "independent", f"bench/{path}/1", tuple(bot.name for bot in bots), games)


class Spent(NamedTuple):
    """The cost of games: seconds of wall clock, and of this process's CPU time."""

    wall: float
    cpu: float

    @classmethod
    def since(cls, before: "Spent") -> "Spent":
        """Return the cost since another measurement."""
        return cls(time.perf_counter() - before.wall, time.process_time() - before.cpu)

    @classmethod
    def now(cls) -> "Spent":
        """Return the current values of both clocks."""
        return cls(time.perf_counter(), time.process_time())


def bare(played: Fixture, record: Record) -> Spent:
    """Return the cost of recorded games with the engine alone."""
    answers = unpack(record.answers)
    before = Spent.now()
    for sitting, given, scores in zip(table_setups(played, SEED, record.scores), answers, record.scores, strict=True):
        assert Table(GAME, sitting.rules, sitting.shuffler(SEED), given).scores == scores
    return Spent.since(before)


async def measured(
    bots: list[BuiltBot], level: Level, parallel_tables: int, games: int, path: str
) -> tuple[Spent, Spent, int]:
    """Play games; return their cost, their cost with the bare engine, and the number of decisions."""
    setup = WorkerSetup(GAMES["holdem"], RULES, tuple(bots), SEED, level, parallel_tables)
    async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
        watcher = Monitor()
        nursery.start_soon(watcher.run)
        pool = BotPool(setup, stack, watcher)
        await pool.play(Job(fixture(bots, 1, f"{path} warm")))
        now = fixture(bots, games, path)
        before = Spent.now()
        record = await pool.play(Job(now))
        took = Spent.since(before)
        nursery.cancel_scope.cancel()
    return took, bare(now, record), sum(usage.questions for usage in record.usage.values())


async def measured_by_all(
    bots: list[BuiltBot], level: Level, parallel_tables: int, games: int, path: str
) -> tuple[Spent, Spent, int]:
    """Return the same for one worker per core."""
    setup = WorkerSetup(GAMES["holdem"], RULES, tuple(bots), SEED, level, parallel_tables)
    async with local_workers(setup, print, usable_cores()) as workers:

        async def play(fixtures: list[Fixture]) -> dict[str, Record]:
            for each in fixtures:
                await workers.submit(Job(each))
            records = [await workers.next_result() for _ in fixtures]
            return {record.path: record for record in records}

        await play([fixture(bots, 1, f"{path} warm {nth}") for nth in range(workers.count)])
        now = [fixture(bots, games, f"{path} {nth}") for nth in range(workers.count)]
        before = time.perf_counter()
        records = await play(now)
        took = Spent(time.perf_counter() - before, sum(record.overhead for record in records.values()))
    alone = Spent(*map(sum, zip(*[bare(each, records[each.path]) for each in now], strict=True)))
    return took, alone, sum(usage.questions for record in records.values() for usage in record.usage.values())


async def built(source: str, parallel_tables: int, folder: Path, level: Level) -> list[BuiltBot]:
    """Return five built bots of one kind."""
    bots = []
    for number in range(5):
        place = folder / f"bot{number}"
        place.mkdir(parents=True)
        (place / "bot.c").write_text(source.replace("NTH", str(17 + 2 * number)))
        (place / "bot.toml").write_text(MANIFEST.format(most=parallel_tables))
        bots.append(await build(load_submission(place), level))
    return bots


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    parser.add_argument("--games", type=int, default=2 * MOST, help="of each worker")
    asked = parser.parse_args()
    reduce_gc()
    level = require_level(asked.level)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        bots = await built(SOURCE, MOST, Path(folder) / "stdio", level)
        quick_bots = await built(QUICK_SOURCE, 1, Path(folder) / "read", level)
        cores, floors = usable_cores(), Floors(Path(folder))
        on_a_core = ", on one core"
        cases = {
            "C bots, 1 parallel tables": (measured, bots, 1, asked.games, 1),
            f"C bots, 1 parallel tables{on_a_core}": (measured, bots, 1, asked.games, 1),
            f"C bots with read and write, 1 table{on_a_core}": (measured, quick_bots, 1, asked.games, 1),
            f"C bots, {MOST} parallel tables": (measured, bots, MOST, asked.games, 1),
            f"C bots, {MOST} parallel tables, a worker a core": (measured_by_all, bots, MOST, asked.games, cores),
        }
        told: dict[str, list[tuple[float, ...]]] = {name: [] for name in cases}
        for nth in range(asked.rounds):
            floors.measure()
            for name, (measure, players, parallel_tables, share, workers) in cases.items():
                with on_one_core() if name.endswith(on_a_core) else contextlib.nullcontext():
                    took, alone, decisions = await measure(players, level, parallel_tables, share, f"{nth}/{name}")
                games = share * workers
                told[name].append(
                    (
                        games / took.wall,
                        games / alone.wall,
                        alone.wall / took.wall,
                        alone.cpu / took.cpu,
                        took.cpu / decisions * 1e6,
                        decisions / games,
                    )
                )
    print(f"level {level} · {asked.rounds} interleaved rounds, medians · {cores} cores\n{floors.text()}\n")
    print(
        f"{'':<46}{'games/s':>9}{'the bare engine':>17}{'of it':>8}{'by host CPU':>13}"
        f"{'host CPU a decision':>21}{'decisions a game':>18}{'of the ping-pong':>18}"
    )
    for name, rows in told.items():
        speed, floor, share, own, cpu, number = (median(column) for column in zip(*rows, strict=True))
        shares = f"{100 * share:>6.0f} %{100 * own:>11.0f} %"
        print(
            f"{name:<46}{speed:>9.1f}{floor:>17.1f}{shares}{cpu:>18.2f} µs{number:>18.0f}"
            f"{speed * number / floors.one_core:>18.3f}"
        )


if __name__ == "__main__":
    trio.run(main)
