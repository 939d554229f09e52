"""Measure the Pazaak season of 2015 (seven bots, 100 000 tables per pair): time, memory and the size of the journal.

    python benchmarks/season.py [--tables 100000] [--workers 2] [--level L3]

Plays the season like `croupier run`, in a temporary folder, and samples croupier's processes once a second. The lower bound
is the time of the bare engine for equally many decisions, measured in the same run.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
from pazaak import bare

SEASON = ("dumb_cautious", "dumb_bold", "cincinnati_kid", "austin_powers", "bastila", "hk_47", "neptr")
CONFIG = """\
game = "pazaak"
name = "The season of 2015"
bots = [{bots}]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
[sandbox]
level = "{level}"
[run]
workers = {workers}
"""


def resident(process: psutil.Process) -> float:
    """Return the resident memory of croupier's own processes in MiB: the parent and its workers, without bots."""
    total = 0
    for each in (process, *process.children()):
        try:
            total += each.memory_info().rss
        except psutil.Error:
            continue
    return total / (1 << 20)


def main() -> None:
    """Play the season, sample, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=100_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--level", default="L3")
    asked = parser.parse_args()
    floor = bare(3000)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        bots = ", ".join(f'"sample:{name}"' for name in SEASON)
        config = CONFIG.format(bots=bots, tables=asked.tables, level=asked.level, workers=asked.workers)
        (place / "croupier.toml").write_text(config)
        started = time.monotonic()
        run = subprocess.Popen(
            [sys.executable, "-m", "host", "-C", folder, "run", "--progress", "json"], stdout=subprocess.PIPE, text=True
        )
        process, seen = psutil.Process(run.pid), list[tuple[float, float]]()
        assert run.stdout is not None
        for line in run.stdout:
            if not line.startswith('{"v"'):
                continue
            event = json.loads(line)
            if event["ev"] == "progress":
                done = event["done"] / event["known"]
                seen.append((done, resident(process)))
                print(f"\r{100 * done:5.1f} %  {seen[-1][1]:6.1f} MiB  {time.monotonic() - started:6.0f} s", end="")
        run.wait()
        took = time.monotonic() - started
        journal = sum(path.stat().st_size for path in (place / "run").glob("run.sqlite*"))
        told = subprocess.run(
            [sys.executable, "-m", "host", "-C", folder, "standings", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
    rows = json.loads(told.stdout)["rows"]
    games = sum(row["tables"] for row in rows) // 2
    early = [memory for done, memory in seen if 0 < done <= 0.05] or [seen[0][1]]
    late = [memory for done, memory in seen if done >= 0.95]
    print(
        f"\n\n{games:,} games in {took:.0f} s with {asked.workers} workers: {games / took:,.0f} games/s · exit {run.returncode}"
    )
    print(f"journal {journal / 1e6:.1f} MB, every answer kept")
    print(f"croupier's own memory: {max(early):.0f} MiB at the start, {max(late):.0f} MiB at the end")
    print(f"the bare engine makes {floor:,.0f} decisions/s on one core")
    for row in rows:
        print(f"  {row['rank']} {row['bot']:<16} {row['wins']:>8} games  {row['points']:>9.0f} hands")


if __name__ == "__main__":
    main()
