"""Run the default suite many times in random order, on a quiet machine and on a busy one: no test may fail by chance.

    python benchmarks/flaky_tests.py --runs 30 | tee flaky_tests.txt    # takes hours; nothing else may use the machine
    python benchmarks/flaky_tests.py --runs 3 tests/formats/test_swiss.py

A third of the runs is quiet, a third is beside two loops that compute all the time, and a third has nice 19 beside a compiler.
Tests marked `timing` are left out: their claim depends on the speed of the machine. The seed of a run orders its tests.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
SUITE = "not long and not proof and not toolchains and not timing"
COMPILING = ["sh", "-c", "while :; do cc -O2 -c -o /dev/null host/sandbox/keeper.c; done"]
COMPUTING = [sys.executable, "-c", "while True: pass"]
LOADS: dict[str, tuple[list[list[str]], list[str]]] = {
    "quiet": ([], []),
    "beside two loops": ([COMPUTING, COMPUTING], []),
    "nice 19 beside a compiler": ([COMPILING], ["nice", "-n", "19"]),
}
"""What runs beside the tests, and what starts them."""


class Run(NamedTuple):
    """The result of one run of the tests. `failed` names the tests that failed."""

    seed: int
    load: str
    tests: int
    failed: list[str]
    seconds: float

    def line(self) -> str:
        """Return the row of the table."""
        return (
            f"{self.seed:>4}  {self.load:<26} {self.tests:>6} {len(self.failed):>7} {self.seconds / 60:>8.1f}  "
            + " ".join(self.failed)
        ).rstrip()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the files, and the tests of each, in every process of a run alike. This file is a plugin of the runs."""
    luck = random.Random(os.environ["FLAKY_TESTS_SEED"])
    places = {path: luck.random() for path in dict.fromkeys(item.path for item in items)}
    luck.shuffle(items)
    items.sort(key=lambda item: places[item.path])


@contextlib.contextmanager
def beside(commands: list[list[str]]) -> Iterator[None]:
    """Run programs during a block, each with all its children."""
    started = [subprocess.Popen(command, cwd=ROOT, start_new_session=True) for command in commands]
    try:
        yield
    finally:
        for process in started:
            os.killpg(process.pid, 9)
            process.wait()


def run_tests(seed: int, load: str, tests: list[str], processes: str) -> Run:
    """Run the tests once, in the order of a seed."""
    commands, prefix = LOADS[load]
    with tempfile.TemporaryDirectory() as folder, beside(commands):
        report = Path(folder) / "report.xml"
        order = ["-p", "flaky_tests", "-n", processes, "--dist", "worksteal"]
        words = ["-q", *order, "-m", SUITE, f"--junitxml={report}", *tests]
        paths = os.pathsep.join([str(ROOT / "benchmarks"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        env = os.environ | {"FLAKY_TESTS_SEED": str(seed), "PYTHONPATH": paths}
        began = time.monotonic()
        done = subprocess.run(
            [*prefix, sys.executable, "-m", "pytest", *words],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        seconds = time.monotonic() - began
        if not report.exists():
            raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}")
        cases = [*ElementTree.parse(report).iter("testcase")]
    bad = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
    failed = [f"{case.get('classname')}::{case.get('name')}" for case in bad]
    if done.returncode and not failed:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return Run(seed, load, len(cases), failed, seconds)


def main() -> int:
    """Print a row for each run, and the tests that failed; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1, help="of the first run; the next one has the next")
    parser.add_argument("--processes", default="3", help="of pytest, as in make test")
    parser.add_argument("tests", nargs="*", default=["tests"])
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what runs beside the tests ends, too
    print(f"{'seed':>4}  {'load':<26} {'tests':>6} {'failed':>7} {'minutes':>8}", flush=True)
    failures = Counter[str]()
    for nth in range(asked.runs):
        run = run_tests(asked.seed + nth, [*LOADS][nth % len(LOADS)], asked.tests, asked.processes)
        print(run.line(), flush=True)
        failures.update(run.failed)
    print(
        f"{asked.runs} runs, {failures.total()} failures" + "".join(f"\n  {n} × {name}" for name, n in failures.items())
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
