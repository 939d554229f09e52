"""Measure how long short commands take, compared with `python -c pass` in the same rounds.

    python benchmarks/starts.py [--rounds 7] [--other CHECKOUT]

`run` plays one table of two C bots whose builds are cached; "again" has nothing left to play. `check` checks a C bot whose
build is cached; "first" also compiles it. `--other` measures a second checkout of croupier in the same rounds. The CPU
time of a command includes its workers, bots and compilers. Python's compiled modules are written before the first round,
as in every installation.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from rounds import Contender, duration, measured, table

ROOT = Path(__file__).parents[1]
CONFIG = """
game = "cardshark"
name = "Starts"
bots = ["bots/*"]
[rules]
preset = "thread"
seats = 2
[[stage]]
name = "only"
kind = "mixed-tables"
tourneys = 1
rounds = 1
"""


class Checkout:
    """One checkout of croupier, with a cache and a tournament of its own."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root, self.place, self.cpu = root, place, dict[str, list[float]]()
        own = {"PYTHONPATH": root, "PYTHONPYCACHEPREFIX": place / "compiled", "CROUPIER_CACHE": place / "cache"}
        self._env = os.environ | {name: str(value) for name, value in own.items()} | {"PYTHONDONTWRITEBYTECODE": ""}
        (place / "cup" / "bots").mkdir(parents=True)
        (place / "cup" / "croupier.toml").write_text(CONFIG)
        for bot in ("davey.c", "cautious.c"):
            shutil.copy(root / "sample_bots" / "cardshark" / bot, place / "cup" / "bots")

    def croupier(self, *words: object) -> None:
        """Run a command."""
        command = [sys.executable, "-P", "-m", "host", *map(str, words)]
        subprocess.run(command, cwd=self.place, env=self._env, check=True, stdout=subprocess.DEVNULL)

    def contender(self, name: str, *words: str, before: Callable[[], object] = lambda: None) -> Contender:
        """Return a command to measure. Keep its CPU time under its name."""
        self.cpu[name] = []

        def work() -> int:
            began = _cpu_of_children()
            self.croupier(*words)
            self.cpu[name].append(_cpu_of_children() - began)
            return 1

        return Contender(name, work, before)

    def contenders(self) -> Sequence[Contender]:
        """Return the commands to measure, in the order in which they take turns."""
        davey, new = "cup/bots/davey.c", self.place / "new"
        return (
            self.contender("version", "--version"),
            self.contender("new", "new", "new", "--game", "pazaak", before=lambda: _remove(new)),
            self.contender("run", "-C", "cup", "run", "--fresh", "--progress", "none"),
            self.contender("run again", "-C", "cup", "run", "--progress", "none"),
            self.contender("status", "-C", "cup", "status"),
            self.contender("standings", "-C", "cup", "standings"),
            self.contender("check first", "check", davey, "-g", "cardshark", before=self._forget_builds),
            self.contender("check", "check", davey, "-g", "cardshark"),
        )

    def _forget_builds(self) -> None:
        _remove(self.place / "cache" / "bots")


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print one line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--other", type=Path, help="another checkout of croupier")
    asked = parser.parse_args()

    def python() -> int:
        for _ in range(5):
            subprocess.run([sys.executable, "-c", "pass"], check=True)
        return 5

    with tempfile.TemporaryDirectory(prefix="croupier-starts-") as made:
        Path(made).chmod(0o755)
        roots = [ROOT, *([asked.other.resolve()] if asked.other else [])]
        checkouts = [Checkout(root, Path(made) / str(nth)) for nth, root in enumerate(roots)]
        for checkout in checkouts:
            checkout.croupier("-C", "cup", "run", "--progress", "none")  # builds the keeper and the bots
        several = [checkout.contenders() for checkout in checkouts]
        turns = [contender for same in zip(*several, strict=True) for contender in same]
        floor, *results = measured([Contender("python -c pass", python), *turns], asked.rounds)
    print(f"python -c pass: {duration(floor.median)}")
    rows = []
    for nth, result in enumerate(results):
        checkout = checkouts[nth % len(checkouts)]
        cpu = median(checkout.cpu[result.name])
        name = result.name + f"  {checkout.root}" * (len(checkouts) > 1)
        ratios = (f"{result.median / floor.median:.1f}", f"{min(result.seconds) / min(floor.seconds):.1f}")
        rows.append((name, duration(result.median), *ratios, duration(cpu), f"{cpu / floor.median:.1f}"))
    print(table(("command", "takes", "of python", "best of best", "CPU", "of python"), rows))


if __name__ == "__main__":
    main()
