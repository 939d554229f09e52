"""Decisions a second at Pazaak: one worker, one table at a time and 128 abreast, beside the bare engine in the same run.

    python benchmarks/pazaak.py [--rounds 5] [--level L3]

The bare engine plays the same tables with answers worked out in this process: stand from a sum on. Everything is
interleaved round by round, since machines are shared; medians and ratios are printed.
"""

import argparse
import contextlib
import time
from statistics import median

import trio

from host.bots.build import Bot, build
from host.bots.finding import find
from host.bots.sandboxes import demand
from host.bots.watch import Watcher
from host.games import GAMES
from host.games.engine import Table
from host.record import Fixture, Job, Setup
from host.samples import sample
from host.tournament.plans import sittings
from host.worker import House
from protocols.words import Move

GAME = GAMES["pazaak"]
RULES = GAME.presets["thread"]
SEED = b"a benchmark seed"
END, STAND = Move("END"), Move("STAND")


def fixture(bots: tuple[str, ...], tables: int) -> Fixture:
    """Return so many tables between two bots."""
    return Fixture("pazaak", RULES, "independent", "bench/pair/1", bots, tables)


def bare(tables: int) -> float:
    """Return the decisions a second of the engine alone."""
    seats = sittings(fixture(("one", "two"), tables), SEED, [()] * tables)
    decisions, started = 0, time.perf_counter()
    for sitting in seats:
        table = Table(GAME, sitting.rules, sitting.shuffler(SEED))
        while (request := table.request) is not None:
            table.answer(STAND if sum(request.view[3]) >= 17 else END)
        decisions += len(table.answers)
    return decisions / (time.perf_counter() - started)


async def played(bots: tuple[Bot, Bot], level: str, abreast: int, tables: int) -> tuple[float, float]:
    """Return decisions a second, and the host's own processor time a decision in µs."""
    setup = Setup("pazaak", RULES, bots, SEED, level, abreast)
    async with contextlib.AsyncExitStack() as stack, trio.open_nursery() as nursery:
        watcher = Watcher()
        nursery.start_soon(watcher.run)
        house = House(setup, stack, watcher)
        await house.play(Job(fixture((bots[0].name, bots[1].name), 100)))  # started, warm
        started, computed = time.perf_counter(), time.process_time()
        record = await house.play(Job(fixture((bots[0].name, bots[1].name), tables)))
        decisions = sum(usage.questions for usage in record.usage.values())
        nursery.cancel_scope.cancel()
    return decisions / (time.perf_counter() - started), (time.process_time() - computed) / decisions * 1e6


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--level", default="L3")
    asked = parser.parse_args()
    level = asked.level if asked.level == "none" else demand(asked.level)
    names = {"C": ("dumb_bold", "dumb_cautious"), "Python": ("nestor", "nestor#2")}
    bots = {}
    for language, pair in names.items():
        one, two = [await build(find(sample(name.partition("#")[0], "pazaak")), level) for name in pair]
        bots[language] = (one, two._replace(name=pair[1]))
    cases = [("C", 1, 300), ("C", 16, 3000), ("C", 128, 6000), ("Python", 1, 100), ("Python", 128, 1000)]
    floors: list[float] = []
    speeds: dict[tuple[str, int], list[tuple[float, float]]] = {
        (language, abreast): [] for language, abreast, _ in cases
    }
    for _ in range(asked.rounds):
        floors.append(bare(2000))
        for language, abreast, tables in cases:
            speeds[language, abreast].append(await played(bots[language], level, abreast, tables))
    floor = median(floors)
    print(f"level {level} · {asked.rounds} interleaved rounds, medians\n")
    print(f"{'':<28}{'decisions/s':>12}{'of the bare engine':>20}{'host CPU a decision':>22}")
    print(f"{'the bare engine':<28}{floor:>12,.0f}{'100 %':>20}{1e6 / floor:>19.2f} µs")
    for (language, abreast), measured in speeds.items():
        speed, cpu = median(each[0] for each in measured), median(each[1] for each in measured)
        print(
            f"{f'{language} bots, {abreast} abreast':<28}{speed:>12,.0f}{f'{100 * speed / floor:.0f} %':>20}{cpu:>19.2f} µs"
        )


if __name__ == "__main__":
    trio.run(main)
