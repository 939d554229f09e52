"""A season of Pazaak with its Cup: full fixtures and batches; killed and resumed, it ends with the same result."""

import os
import random
import signal
from pathlib import Path

import pytest
from command import Result, croupier, result_of
from test_run import Running, played_whole, running

from host.journal.reader import reading
from host.stages.kind import MAX_BLOCK_TABLES

BOTS = ("dumb_cautious", "dumb_bold", "bastila")
SEASON = """\
game = "pazaak"
name = "A season of tests"
seed = "a seed for a season"
bots = [{bots}]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
[[stage]]
name = "cup"
kind = "knockout"
set = 500
first_to = 2
min_bots = 3
[limits]
move = "10 s"
cpu = "10 s"
"""


def season_in(place: Path) -> Path:
    """Create the folder of a season's tournament; return it."""
    place.mkdir()
    bots = ", ".join(f'"sample:{name}"' for name in BOTS)
    (place / "croupier.toml").write_text(SEASON.format(bots=bots, tables=MAX_BLOCK_TABLES + 100))
    return place


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return the result of a season played by one worker without interruption."""
    season = season_in(tmp_path_factory.mktemp("whole") / "season")
    assert croupier("run", "-C", season, "--workers", 1).code == 0
    return result_of(season)


def played_again(run: Running, before: set[str]) -> set[str]:
    """Return the fixtures of an earlier run that this run has played again."""
    return before & set(run.finished())


@pytest.mark.proof
def test_a_season_that_is_killed_plays_only_what_was_in_flight_again(uninterrupted: Result, tmp_path: Path) -> None:
    season, chance, kills = season_in(tmp_path / "season"), random.Random("kill a season"), 0
    whole: set[str] = set()
    while True:
        with running(season, 2) as run:
            if kills < 4 and not run.wait(chance.uniform(1, 4)):
                os.kill(run.process.pid, signal.SIGKILL)
                kills += 1
            run.process.wait(300)
            code = run.process.returncode
            assert not played_again(run, whole)  # a finished fixture is in the journal, whatever happens later
            assert set(run.finished()) <= played_whole(season)
        whole = played_whole(season)
        if code == 0:
            break
        assert code == -signal.SIGKILL, run.errors.read_text()
    assert kills
    assert result_of(season) == uninterrupted
    assert croupier("verify", "-C", season).code == 0


FORMATS = {
    "double elimination": 'kind = "knockout"\nset = 300\nfirst_to = 1\nmin_bots = 3\nelimination = "double"\nseeding = "drawn"',
    "gauntlet": 'kind = "gauntlet"\nreferences = ["sample:neptr", "sample:hk_47"]\ntables = 600\n'
    '[stage.grades]\nneptr = { points = 1, sure = "95 %" }',
}


def finishes(run: Running, fixtures: int) -> bool:
    """Wait until a run has finished a number of fixtures; return False if it ends before."""
    return run.wait_until(lambda: len(run.finished()) >= fixtures)


@pytest.mark.long
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.one_in(3)
def test_a_stage_that_is_killed_ends_with_the_same_answers_and_every_seal_stays_valid(
    form: str, tmp_path: Path
) -> None:
    chance, kills, seals = random.Random(form), 0, list[str]()
    bots = ", ".join(f'"sample:{name}"' for name in BOTS)
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
        config = f'game = "pazaak"\nseed = "killed"\nbots = [{bots}]\n[limits]\nmove = "10 s"\ncpu = "10 s"\n'
        (tmp_path / name / "croupier.toml").write_text(f"{config}[[stage]]\n{FORMATS[form]}\n")
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert croupier("run", "-C", whole, "--workers", 1).code == 0
    part = len(played_whole(whole)) // 4
    while True:
        with running(killed, 2) as run:
            if kills < 3 and finishes(run, chance.randint(1, part)) and not run.wait(chance.uniform(0, 0.05)):
                os.kill(run.process.pid, signal.SIGKILL)
                kills += 1
            run.process.wait(300)
        if run.process.returncode == 0:
            break
        assert run.process.returncode == -signal.SIGKILL, run.errors.read_text()
        if (killed / "run" / "run.sqlite").exists():
            with reading(killed / "run" / "run.sqlite") as journal:
                seals.append(journal.seal())
    assert kills == 3
    assert result_of(killed) == result_of(whole)
    for seal in filter(None, seals):
        assert croupier("verify", "-C", killed, "--seal", seal).code == 0
    if "grades" in FORMATS[form]:
        tables = [croupier("grades", "--csv", "-C", folder).out for folder in (whole, killed)]
        assert tables[0] == tables[1] and "neptr points" in tables[0]


THREE = """\
game = "pazaak"
name = "Three"
bots = ["sample:optimum", "sample:neptr", "sample:dumb_bold"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 2
[[stage]]
name = "cup"
kind = "knockout"
set = 2
first_to = 1
[[stage]]
name = "last"
kind = "knockout"
set = 2
first_to = 1
min_bots = 3
"""


@pytest.mark.long
def test_a_later_stage_that_too_few_bots_reach_is_skipped_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(THREE)
    said = 'stage "cup" is skipped: it needs 8 bots, and 3 reach it'
    checked = croupier("config", "check", "-C", tmp_path)
    assert (checked.code, checked.err) == (0, f"WARNING  {said}\n")
    done = croupier("run", "-C", tmp_path, "--progress", "plain")
    assert done.code == 0 and f"WARNING  {said}" in done.out + done.err
    assert said in croupier("standings", "-C", tmp_path).out.splitlines()
    told = croupier("standings", "-C", tmp_path, "--json").json
    assert (told["stage"], told["skipped"], told["state"]) == ("last", ["cup"], "finished")
    told_of_cup = croupier("standings", "cup", "-C", tmp_path).out
    assert said in told_of_cup and "no fixture is finished yet" not in told_of_cup
    assert [row["state"] for row in croupier("status", "-C", tmp_path, "--json").json["rows"]] == [
        *("finished", "skipped", "finished"),
    ]
    assert "skipped: only 3 bots reach it" in croupier("run", "--dry-run", "-C", tmp_path).out
    assert croupier("verify", "-C", tmp_path).code == 0
    assert croupier("report", "-C", tmp_path).code == 0
    assert croupier("run", "-C", tmp_path).code == 0
    (tmp_path / "croupier.toml").write_text(THREE.replace("tables_per_pair = 2", "tables_per_pair = 2\nmin_bots = 4"))
    assert croupier("run", "--fresh", "-C", tmp_path).first.startswith("error[C004] ")
