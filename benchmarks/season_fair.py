"""Measure what two versions at 90 % of every limit cost the others of a season.

    python benchmarks/season_fair.py [--versions 16] [--authors 30] [--budget 60] [--rounds 4] [--minutes 3] [--practice 200]
        [--computed 100]

Opens two seasons one after another: in the second one, two of the versions use 90 % of the time, the processor time and the
memory that they may. In each, rounds are played first, and then authors hand in bots, one after another, while the ladder
plays; the two slow authors hand in again, too. Prints for both the tables of the other versions, how well the rounds keep
their budget, and the time from the upload to the verdict.

A machine that has much else to do cannot give a bot that much processor time, and refuses it. With --computed 20 it computes
in 20 % of its time, and sleeps in the rest.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from season_load import Load, percentile

from host.sandbox.limits import Limits
from host.season.entries.store import Store
from host.season.rounds.book import Book, Round

WARM_ROUNDS = 5  # until the speed is known, rounds grow
SLOW = 2
USED_SHARE = 0.9
SLOW_BOT = """\
import sys, time  # {note}
held = bytearray({memory})
held[::4096] = b"x" * len(held[::4096])
time.sleep({startup})
for line in sys.stdin:
    end = time.process_time() + {computed}
    while time.process_time() < end:
        pass
    time.sleep({slept})
    print("END", flush=True)
"""


class Measured(NamedTuple):
    """What a season has shown: the tables a second of a version that is not slow, times of rounds and of verdicts."""

    tables_a_second: float
    slow_share: float  # of the time of the workers in these rounds, whatever else the machine has to do
    rounds: list[float]  # seconds that each took, without the start of its bots
    verdicts: list[float]
    slow_verdicts: list[float]


def slow_bot(note: str, computed: float) -> bytes:
    """Return a bot that uses 90 % of each limit, and computes in a part of the time. Python's own part comes out of it."""
    limits = Limits()
    python_memory, python_s = 16 << 20, 0.02
    seconds = USED_SHARE * min(limits.cpu, limits.move) - python_s
    return SLOW_BOT.format(
        note=note,
        memory=int(USED_SHARE * limits.memory) - python_memory,
        startup=USED_SHARE * limits.startup,
        computed=seconds * computed,
        slept=seconds * (1 - computed),
    ).encode()


def wait(load: Load, holds: Callable[[], object]) -> None:
    """Wait until something holds. End the benchmark if the season ends before, or refuses a bot."""
    while not holds():
        if load.process.poll() is not None:
            sys.exit(f"the season has ended: {load.log.read_text()[-2000:]}")
        if refused := load.events("refused"):
            sys.exit(f"{refused[0]['subject']} is refused: {refused[0]['text']}")
        time.sleep(0.2)


def finished(load: Load) -> list[Round]:
    """Return the rounds that are over."""
    with Store.reading(load.folder) as store:
        return [each for each in Book(store).rounds() if each.counted]


def measure(load: Load, chosen: argparse.Namespace, slow: int) -> Measured:
    """Play rounds, then let authors hand in; return what was measured."""
    load.invite(chosen.authors)
    quick = [f"author{number}" for number in range(slow, chosen.versions - SLOW + slow)]
    for number in range(slow):
        load.put(f"author{number}", f"slow{number}", "bot.py", slow_bot(f"{number}", chosen.computed / 100))
    for number, author in enumerate(quick):
        load.submit(number, author, f"bot_{author}")
    wait(load, lambda: len(load.verdicts()) == len(load.handed))
    before = len(finished(load)) + WARM_ROUNDS
    wait(load, lambda: len(finished(load)) >= before + chosen.rounds)
    rounds = finished(load)[before : before + chosen.rounds]
    tables = sum(each.sums.tables.get(f"bot_{author}-1", 0) for each in rounds if each.sums for author in quick)
    took = sum((each.ended or 0.0) - (each.began or 0.0) for each in rounds)
    seconds = [(label, each.sums.seconds[label]) for each in rounds if each.sums for label in each.sums.seconds]
    slow_share = sum(part for label, part in seconds if label.startswith("slow")) / sum(part for _, part in seconds)
    verdicts, slow_verdicts = hand_in(load, chosen, slow)
    played = load.played_seconds([str(each.number) for each in rounds])
    return Measured(tables / took / len(quick), slow_share, played, verdicts, slow_verdicts)


def hand_in(load: Load, chosen: argparse.Namespace, slow: int) -> tuple[list[float], list[float]]:
    """Let each author hand in once, the slow ones at the beginning. Return the times until the verdicts: others', theirs."""
    first = set(load.handed)
    for number in range(chosen.authors):
        author = f"author{number}"
        if number < slow:
            load.put(author, f"again{number}", "bot.py", slow_bot(f"{number} again", chosen.computed / 100))
        else:
            load.submit(number, author, f"again{number}")
        time.sleep(60 * chosen.minutes / chosen.authors)
    wait(load, lambda: len(load.verdicts()) == len(load.handed))
    waits = {name: seconds for name, seconds in load.verdicts().items() if name not in first}
    theirs = [waits.pop(f"author{number}/again{number}") for number in range(slow)]
    return [*waits.values()], theirs


def season(chosen: argparse.Namespace, slow: int) -> Measured:
    """Measure one season, and print its figures."""
    folder = Path(tempfile.mkdtemp(prefix="season-fair-"))
    load = Load(folder, chosen.budget, chosen.practice)
    try:
        found = measure(load, chosen, slow)
    finally:
        if load.process.poll() is None:
            load.end()
        shutil.rmtree(folder)
    others = chosen.versions - SLOW
    print(f"{others} versions{f' and {slow} at 90 % of every limit' if slow else ' alone'}")
    shares = " ".join(f"{100 * seconds / chosen.budget:.0f}" for seconds in found.rounds)
    print(f"  tables a second of each of the {others}: {found.tables_a_second:.2f}")
    print(f"  rounds took, in % of the budget of {chosen.budget} s: {shares}")
    print(f"  from upload to verdict: p95 {percentile(found.verdicts, 0.95):.1f} s, {len(found.verdicts)} authors")
    if slow:
        print(f"  the slow ones took {100 * found.slow_share:.0f} % of the time of the workers")
        print(f"  verdicts on the slow ones after {', '.join(f'{seconds:.0f} s' for seconds in found.slow_verdicts)}")
    return found


def main() -> None:
    """Run the benchmark. A signal ends the season process, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--versions", type=int, default=16)
    parser.add_argument("--authors", type=int, default=30)
    parser.add_argument("--budget", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--minutes", type=float, default=3.0, help="in which each author hands in once")
    parser.add_argument("--practice", type=int, default=200)
    parser.add_argument("--computed", type=int, default=100, help="percent of its time in which a slow bot computes")
    chosen = parser.parse_args()
    without, with_two = (season(chosen, slow) for slow in (0, SLOW))
    share = with_two.tables_a_second / without.tables_a_second
    print(f"the others play {100 * share:.0f} % of the tables that they play without the two")


if __name__ == "__main__":
    main()
