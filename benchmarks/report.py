"""Measure the first paint of a report in Chromium (28 pairs, 20 replays), and the size of reports of long games and fifty bots.

    python benchmarks/report.py [--rounds 15]

Each round first opens an almost empty page in the same browser as a lower bound. Targets: a first paint below 1 s, a file
below 1 MB. Needs the packages chromium and chromium-driver, and selenium.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from host.journal.reader import reading
from host.report.html_file import report_of
from host.report.offers import Quota
from tests.browser import browser, games, missing

PAINTED = (
    "return performance.getEntriesByType('paint').find((each) => each.name === 'first-contentful-paint')?.startTime"
)
EMPTY = "<!doctype html><title>floor</title><p>Nothing.</p>"


def league(folder: Path, count: int, tables: int) -> tuple[str, int]:
    """Return the report of a league with twenty replays."""
    path, bots = folder / f"{count}" / "run" / "run.sqlite", tuple(f"bot {number}" for number in range(count))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, tables))
    with reading(path) as journal:
        return report_of(journal, Quota(20))


def long_games(folder: Path) -> tuple[str, int]:
    """Return the report of twenty hold'em games of a hundred rounds."""
    path = folder / "long" / "run" / "run.sqlite"
    games.begin(path, "holdem", games.BOTS["holdem"])
    games.add(path, games.fixtures("holdem", "league", games.BOTS["holdem"], 20), games.patient)
    with reading(path) as journal:
        return report_of(journal, Quota(20))


def painted(driver: Any, page: Path) -> float:
    """Return the milliseconds until the first paint of a page."""
    driver.get("about:blank")
    driver.get(page.as_uri())
    while (at := driver.execute_script(PAINTED)) is None:
        pass
    return float(at)


def main() -> None:
    """Write reports, open them, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    asked = parser.parse_args()
    if missing():
        raise SystemExit(f"not installed: {', '.join(missing())}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        pages = {"an empty page": folder / "empty.html"}
        pages["an empty page"].write_text(EMPTY)
        reports = {
            "28 pairs": league(folder, 8, 100),
            "50 bots": league(folder, 50, 4),
            "long games": long_games(folder),
        }
        for what, (text, kept) in reports.items():
            name = f"{what}, {kept} replays, {len(text.encode()) / 1000:.0f} kB"
            pages[name] = folder / f"{what}.html"
            pages[name].write_text(text)
        took: dict[str, list[float]] = {name: [] for name in pages}
        with browser() as driver:
            for _ in range(asked.rounds):
                for name, page in pages.items():
                    took[name].append(painted(driver, page))
    print(f"first paint, median and slowest of {asked.rounds}; load average {os.getloadavg()[0]:.1f}")
    for name, times in took.items():
        print(f"  {name:<36} {median(times):6.0f} ms  {max(times):6.0f} ms")


if __name__ == "__main__":
    main()
