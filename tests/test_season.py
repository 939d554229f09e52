"""A season of Pazaak with its Cup: full fixtures and batches; killed and resumed, it ends with the same result."""

import os
import random
import signal
from pathlib import Path

import pytest
from command import Result, croupier, result_of
from test_run import Running, played_whole, running

from host.tournament.stages.kind import BLOCK

BOTS = ("dumb_cautious", "dumb_bold", "cincinnati_kid", "bastila", "hk_47")
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
set = 2000
first_to = 2
min_bots = 5
[limits]
move = "10 s"
cpu = "10 s"
"""


def season_in(place: Path) -> Path:
    """Create the folder of a season's tournament; return it."""
    place.mkdir()
    bots = ", ".join(f'"sample:{name}"' for name in BOTS)
    (place / "croupier.toml").write_text(SEASON.format(bots=bots, tables=BLOCK + 1000))
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


@pytest.mark.long
def test_a_season_that_is_killed_plays_only_what_was_in_flight_again(uninterrupted: Result, tmp_path: Path) -> None:
    season, chance, kills = season_in(tmp_path / "season"), random.Random("kill a season"), 0
    whole: set[str] = set()
    while True:
        with running(season, 2) as run:
            if kills < 4 and not run.wait(chance.uniform(3, 8)):
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
