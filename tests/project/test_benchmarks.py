"""The benchmarks run. Their figures depend on the machine and are not tested here."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import ROOT, environment
from helpers import level


def printed_by(benchmark: str, *words: str) -> str:
    """Run a benchmark; return what it printed."""
    done = subprocess.run(
        [sys.executable, f"benchmarks/{benchmark}.py", *words],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.proof
@pytest.mark.parametrize(
    ("benchmark", "little"), [("pazaak", ["--part", "0.01"]), ("holdem", ["--games", "1"])], ids=["pazaak", "holdem"]
)
def test_a_benchmark_measures_one_worker_and_a_worker_a_core(benchmark: str, little: list[str]) -> None:
    printed = printed_by(benchmark, "--rounds", "1", "--level", level(), *little)
    assert "C bots, 1 parallel tables" in printed
    assert "parallel tables, a worker a core" in printed


@pytest.mark.long
def test_the_benchmark_of_large_journals_compares_each_command_with_a_floor() -> None:
    printed = printed_by("journal", "--bots", "8", "--fixtures", "20", "--tables", "4", "--rounds", "1")
    assert printed.count("x the floor") == 5


@pytest.mark.long
def test_the_benchmark_of_models_sends_requests_through_a_relay() -> None:
    assert printed_by("models", "exchanges", "--count", "20").startswith("20 exchanges of 4 KiB: ")


@pytest.mark.long
def test_the_benchmark_of_leagues_plays_every_pair() -> None:
    rows = printed_by("league", "--bots", "8", "12").splitlines()[1:]
    assert [row.split()[:2] for row in rows] == [["8", "28"], ["12", "66"]]


@pytest.mark.proof
def test_the_benchmark_of_starts_compares_commands_with_python() -> None:
    rows = printed_by("starts", "--rounds", "1", "--other", ".").splitlines()[3:]
    assert [row.split()[0] for row in rows[::2]] == [row.split()[0] for row in rows[1::2]]
    assert [row.split("  ")[0] for row in rows[::2]] == [
        *("version", "new", "run", "run again", "status", "standings", "check first", "check"),
    ]


@pytest.mark.long
@pytest.mark.timing
def test_the_benchmark_of_readers_measures_the_page_of_another() -> None:
    printed = printed_by("readers", "--readers", "3", "--tables", "40", "--rounds", "2")
    assert "beside 3 readers of all events" in printed and "within the bound of 1 s" in printed


@pytest.mark.long
def test_the_benchmark_of_openspiel_plays_games_twice() -> None:
    assert "2 of 2 games passed" in printed_by("openspiel", "--tables", "2", "tic_tac_toe", "hearts")


@pytest.mark.proof
def test_the_benchmark_of_games_in_words_plays_and_verifies_a_tournament() -> None:
    pytest.importorskip("textarena", reason="TextArena is not installed: its benchmark is not run here")
    assert "1 of 1 games passed" in printed_by("words", "--tables", "2", "IteratedPrisonersDilemma-v0")


@pytest.mark.proof
def test_equal_bots_are_rarely_called_different_in_leagues_and_swiss_systems_and_intervals_cover() -> None:
    lines = printed_by("formats", "aa", "cover", "time", "--tournaments", "100").splitlines()
    shares = [float(re.search(r"([0-9.]+) %", line)[1]) for line in lines if " % " in line]  # type: ignore[index]
    assert len(shares) == 11 and max(shares[:6]) <= 9 and min(shares[6:]) >= 90
    paired = [int(re.search(r"([0-9]+) ms", line)[1]) for line in lines if " ms" in line]  # type: ignore[index]
    assert len(paired) == 5 and max(paired[:2]) < 1_000


@pytest.mark.proof
def test_the_benchmark_of_seasons_hands_in_bots_while_the_ladder_plays() -> None:
    words = ["--authors", "2", "--submissions", "30", "--minutes", "0.1", "--practice", "4", "--budget", "2"]
    printed = printed_by("season_load", *words)
    assert "from upload to verdict" in printed and "without answers" in printed


@pytest.mark.proof
def test_the_benchmark_of_slow_versions_compares_two_seasons() -> None:
    words = [
        "--versions",
        "4",
        "--authors",
        "4",
        "--budget",
        "5",
        "--rounds",
        "1",
        "--minutes",
        "0.1",
        "--practice",
        "4",
    ]
    printed = printed_by("season_fair", *words, "--computed", "20")
    assert printed.count("from upload to verdict") == 2 and "% of the tables that they play without the two" in printed


@pytest.mark.proof
def test_a_season_withstands_kills_full_disks_and_a_clock_that_is_set_back() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a disk")
    printed = printed_by("season_faults", "--minutes", "2", "--authors", "8", "--pause", "30")
    assert "nothing is wrong" in printed and "disk filled" in printed


@pytest.mark.long
def test_the_benchmark_of_flaky_tests_names_what_fails_in_any_order_and_beside_any_load(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text("def test_holds(): pass\n\n\ndef test_fails(): raise AssertionError\n")
    benchmark = [sys.executable, "benchmarks/flaky_tests.py", "--runs", "3", "--processes", "0"]
    words = [*benchmark, str(tmp_path / "test_two.py")]
    done = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
    _, *rows, total, name = done.stdout.splitlines()
    fields = [re.split("  +", row.strip()) for row in rows]
    loads = ("quiet", "beside two loops", "nice 19 beside a compiler")
    assert [(seed, load, tests, failed, *names) for seed, load, tests, failed, _, *names in fields] == [
        (str(seed), load, "2", "1", "test_two::test_fails") for seed, load in enumerate(loads, 1)
    ], done.stderr
    assert (done.returncode, total, name) == (1, "3 runs, 3 failures", "  3 × test_two::test_fails")
