"""Measure the commands that read a large journal: 500 bots, 25 000 fixtures of 40 tables each.

    python benchmarks/journal.py [--bots 500] [--fixtures 25000] [--tables 40] [--rounds 3] [--keep FOLDER]

Makes a journal of a league that was interrupted, with results drawn by strength, and prints the processor time of
`status`, `standings`, `standings --json` and `report`, and its ratio to a floor of the same run: a program that decodes
every record once. The answers in the journal are not those of a game, so nothing in it can be replayed. Python writes and
reads compiled modules, as it does for an installed croupier. With --keep the tournament stays in a folder, and is used
again next time.
"""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path
from statistics import median

from host.bots.values import WALLS, Usage
from host.games import GAMES
from host.journal.state import RecordedBot, RunState, StageState, StageStatus, Terms
from host.journal.writer import writing
from host.play.fixture_id import contestants
from host.play.records import Fixture, Record, Result, pack
from host.sandbox.levels import Level
from host.stages.pairing import round_robin
from host.stages.round_robin import RoundRobin
from protocols.wire import Move

RULES = GAMES["pazaak"].presets["thread"]
FLOOR = """
import sys
from pathlib import Path
from host.journal.reader import reading
with reading(Path(sys.argv[1])) as journal:
    print(sum(record.replayed for _, record in journal.records()))
"""
COMMANDS = {
    "status": ["status"],
    "standings": ["standings"],
    "standings --json": ["standings", "--json"],
    "report": ["report", "-o", os.devnull],
}


def result(scores: list[int], wins: int) -> Result:
    """Return the result of a bot with these scores."""
    return Result(len(scores), wins, sum(scores), min(scores), max(scores), scores[-1])


def played(fixture: Fixture, strength: list[float], answers: bytes, chance: random.Random) -> Record:
    """Return a record in which the stronger bot wins more tables."""
    share = 1 / (1 + 10 ** (strength[1] - strength[0]))
    ahead = [chance.random() < share for _ in range(fixture.tables)]
    scores = [(3, chance.randrange(3)) if first else (chance.randrange(3), 3) for first in ahead]
    walls = (*[chance.randrange(40) for _ in range(20)], *[0] * (WALLS - 20))
    usage = Usage(sum(walls), 0.1 * chance.random(), 0.002, 0.05 * chance.random(), 10 << 20, 1, walls)
    results = {
        bot: result([table[seat] for table in scores], ahead.count(not seat)) for seat, bot in enumerate(fixture.bots)
    }
    faults = {fixture.bots[0]: {"timeout": 1}} if chance.random() < 0.01 else {}
    return Record(
        fixture.path,
        results,
        faults,
        dict.fromkeys(fixture.bots, usage),
        (),
        tuple(scores),
        answers,
        seconds=0.2,
    )


def make(place: Path, bots: int, fixtures: int, tables: int) -> None:
    """Make a tournament's folder with its journal."""
    (place / "run").mkdir(parents=True)
    stage, chance = RoundRobin(name="league", tables_per_pair=tables), random.Random(7)
    names = [f"bot{number:03}" for number in range(bots)]
    strength = {name: chance.gauss(0, 0.3) for name in names}
    answers = pack([[Move("DRAW"), Move("PLAY", 3), Move("STAND"), Move("END")] * 4] * tables)
    with writing(place / "run" / "run.sqlite") as journal:
        stages = [StageState(stage, StageStatus.RUNNING, field=names, known=bots * (bots - 1) // 2)]
        run = RunState(
            name="Large",
            game="pazaak",
            level=Level.L3,
            seed_sha256="0" * 64,
            terms=Terms(),
            began=1700000000.0,
            version="0.1.0",
            machine="a machine",
            stages=stages,
        )
        journal.set_state(run)
        for name in names:
            journal.add_bot(RecordedBot(name, "0" * 64, "c", "somebody", "lines"))
        for pair in islice(round_robin(names), fixtures):
            path = f"league/{contestants(pair)}/1"
            fixture = Fixture("pazaak", RULES, "independent", path, pair, tables)
            record = played(fixture, [strength[bot] for bot in pair], answers, chance)
            journal.add("league", record, fixture)


def processor_time(words: list[str], compiled: str) -> float:
    """Run Python with these arguments; return its processor time in seconds. Its compiled modules are in a folder."""
    before = os.times()
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONPYCACHEPREFIX": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *words], env=environment, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bots", type=int, default=500)
    parser.add_argument("--fixtures", type=int, default=25_000)
    parser.add_argument("--tables", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--keep", type=Path)
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        place = asked.keep or Path(stack.enter_context(tempfile.TemporaryDirectory())) / "large"
        if not place.exists():
            make(place, asked.bots, asked.fixtures, asked.tables)
        size = (place / "run" / "run.sqlite").stat().st_size
        print(f"{asked.bots} bots · {asked.fixtures:,} fixtures · {asked.tables} tables each · {size / 2**20:.0f} MB")
        compiled = stack.enter_context(tempfile.TemporaryDirectory())
        rows = {"decode every record": ["-c", FLOOR, str(place / "run" / "run.sqlite")]}
        rows |= {name: ["-m", "host", "-C", str(place), *words] for name, words in COMMANDS.items()}
        for words in rows.values():
            processor_time(words, compiled)  # compiles the modules
        times = {name: list[float]() for name in rows}
        for _ in range(asked.rounds):  # interleaved, so that another load affects all rows
            for name, words in rows.items():
                times[name].append(processor_time(words, compiled))
        floor = median(times["decode every record"])
        for name, taken in times.items():
            print(f"{name:<20}{median(taken):>8.2f} s of processor time{median(taken) / floor:>8.1f} x the floor")


if __name__ == "__main__":
    main()
