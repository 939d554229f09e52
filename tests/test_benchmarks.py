"""The benchmarks run. Their figures depend on the machine and are not tested here."""

import subprocess
import sys

import pytest
from command import ROOT, environment
from house import level


@pytest.mark.long
@pytest.mark.parametrize(
    ("benchmark", "little"), [("pazaak", ["--part", "0.01"]), ("holdem", ["--games", "1"])], ids=["pazaak", "holdem"]
)
def test_a_benchmark_measures_one_worker_and_a_worker_a_core(benchmark: str, little: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, f"benchmarks/{benchmark}.py", "--rounds", "1", "--level", level(), *little],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "C bots, 1 parallel tables" in done.stdout
    assert "parallel tables, a worker a core" in done.stdout
