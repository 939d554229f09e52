"""Measure a course: newcomers' Python bots against references, in a gauntlet, compared with the row for such bots.

    python benchmarks/course.py [--bots 60] [--references 6] [--tables 500] [--rounds 1] [--level L3]

The bots are the newcomer's Python bots of `pazaak.py`: they declare nothing and read one line at a time. The prediction
is the number of decisions, divided by the speed of one pair of such bots with a worker a core, measured before and after
each course. The course is a whole `croupier run`: it builds the bots, plays, and writes the journal and the standings.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import trio
from pazaak import LIMITS, NEWCOMERS, played_by_all

from host.base.python_module import reduce_gc
from host.bots.bot_spec import BuiltBot
from host.journal.reader import reading
from host.sandbox.detect import require_level
from host.sandbox.levels import DEFAULT_LEVEL, Level
from host.submissions.build import build
from host.submissions.discovery import load_submission

FILE, SOURCE = NEWCOMERS["Python, for line in sys.stdin"]
CONFIG = """\
game = "pazaak"
seed = "a course"
[[stage]]
kind = "gauntlet"
references = ["staff/*"]
tables = {tables}
practice = true
[sandbox]
level = "{level}"
"""


def course_in(folder: Path, bots: int, references: int, config: str) -> None:
    """Write a course: bots that stand from different sums on."""
    (folder / "croupier.toml").write_text(config)
    for group, count in (("bots", bots), ("staff", references)):
        (folder / group).mkdir()
        for number in range(count):
            source = SOURCE.replace("LIMIT", str(14 + number % 6)) + f"# {group} {number}\n"
            (folder / group / f"{group}{number:02}{Path(FILE).suffix}").write_text(source)


def course(folder: Path) -> tuple[float, int]:
    """Run a course; return the seconds that it took, and the number of decisions."""
    started = time.perf_counter()
    words = ["-C", str(folder), "run", "--fresh", "--progress", "none"]
    subprocess.run([sys.executable, "-m", "host", *words], check=True, stdout=subprocess.DEVNULL, env=os.environ)
    took = time.perf_counter() - started
    with reading(folder / "run" / "run.sqlite") as journal:
        return took, sum(usage.questions for _, record in journal.records() for usage in record.usage.values())


async def pair_in(folder: Path, level: Level) -> tuple[BuiltBot, BuiltBot]:
    """Return two newcomers' bots."""
    built = []
    for name, limit in LIMITS.items():
        (folder / name).mkdir(parents=True)
        (folder / name / FILE).write_text(SOURCE.replace("LIMIT", str(limit)))
        (folder / name / "bot.toml").write_text('game = "pazaak"\nprotocol = "lines"\n')
        built.append(await build(load_submission(folder / name), level))
    one, other = built
    return one, other


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for option, usual in (("bots", 60), ("references", 6), ("tables", 500), ("rounds", 1)):
        parser.add_argument(f"--{option}", type=int, default=usual)
    parser.add_argument("--level", type=Level, default=DEFAULT_LEVEL)
    asked = parser.parse_args()
    reduce_gc()
    level = require_level(asked.level)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        pair = await pair_in(folder / "pair", level)
        (folder / "course").mkdir()
        course_in(folder / "course", asked.bots, asked.references, CONFIG.format(tables=asked.tables, level=level))
        ratios, took, decisions = [], 0.0, 0
        for _ in range(asked.rounds):
            before, _ = await played_by_all(pair, level, 1, min(200, asked.tables))
            took, decisions = await trio.to_thread.run_sync(course, folder / "course")
            after, _ = await played_by_all(pair, level, 1, min(200, asked.tables))
            ratios.append(took * (before + after) / 2 / decisions)
            print(f"speed of a pair {before:,.0f} and {after:,.0f} decisions/s; course {took:.1f} s", flush=True)
    tables = asked.bots * asked.references * asked.tables
    print(f"{asked.bots} bots, {asked.references} references: {tables} tables, {decisions} decisions, {took:.1f} s")
    print(f"{median(ratios):.2f} x the prediction (median of {asked.rounds})")


if __name__ == "__main__":
    trio.run(main)
