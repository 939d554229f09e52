"""`state_lifetime = "stage"`: the one file outlives its fixtures, which then follow each other in one order."""

from pathlib import Path

import pytest
from command import Result, croupier, result_of

from host.journal import reading
from host.record import Fixture
from host.tournament.run import one_after_another

COUNTS = """\
import os, sys
times = 0
if os.path.getsize("memory.bin"):
    times = int(open("memory.bin").read())
open("memory.bin", "w").write(str(times + 1))
for line in sys.stdin:
    hand = line.split()[3].split(",")
    print("STAND" if sum(map(int, hand)) >= 13 + times else "END")
"""
MANIFEST = """\
name = "{name}"
game = "pazaak"
language = "python"
entry = "counts.py"
protocol = "lines"
abreast = 16
state = "memory.bin"
state_lifetime = "{lifetime}"
"""
CONFIG = """\
game = "pazaak"
seed = "a seed for tests"
bots = ["bots/*", "sample:dumb_bold", "sample:neptr"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 20
practice = true
[[stage]]
name = "again"
kind = "round-robin"
tables_per_pair = 10
practice = true
[limits]
move = "10 s"
"""
FIXTURES = 4  # of each bot in a stage of five


def cup_in(place: Path, lifetime: str = "stage") -> Path:
    """Make a tournament in which three of five bots count their fixtures, and play accordingly."""
    for name in ("one", "two", "three"):
        bot = place / "bots" / name
        bot.mkdir(parents=True)
        (bot / "counts.py").write_text(COUNTS)
        (bot / "bot.toml").write_text(MANIFEST.format(name=name, lifetime=lifetime))
    (place / "croupier.toml").write_text(CONFIG)
    return place


def counted(cup: Path, stage: str) -> dict[str, bytes]:
    """Return what the state files hold at the end of a stage."""
    with reading(cup / "run" / "run.sqlite") as journal:
        return journal.states(stage)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Return what one worker makes of it."""
    cup = cup_in(tmp_path_factory.mktemp("alone") / "cup")
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    assert counted(cup, "league") == dict.fromkeys(("one", "two", "three"), str(FIXTURES).encode())
    assert counted(cup, "again") == counted(cup, "league")  # a stage begins with nothing
    return result_of(cup)


def test_it_does_not_depend_on_the_workers(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    assert croupier("run", "-C", cup, "--workers", 3).code == 0
    assert result_of(cup) == alone


def test_what_was_kept_is_there_after_an_interruption(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    codes = [
        croupier("run", "-C", cup, "--workers", 2, "--stop-after", budget).code
        for budget in ("200 ms", "500 ms", "1 s")
    ]
    assert set(codes) <= {0, 5} and croupier("run", "-C", cup).code == 0
    assert result_of(cup) == alone


def test_by_default_a_file_lives_for_one_fixture(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", "fixture")
    assert croupier("run", "-C", cup).code == 0
    assert counted(cup, "league") == {}
    assert result_of(cup) != alone


def test_who_waits_keeps_the_others_of_its_fixture_waiting() -> None:
    fixtures = [Fixture("", None, "", pair, tuple(pair), 1) for pair in ("ab", "ac", "cd", "ef", "ex", "xy")]
    free = [fixture.path for fixture in one_after_another(fixtures, set("abcdef"))]
    assert free == ["ab", "ef", "xy"]  # c waits for a, so d waits for c: or their order would depend on who is faster
    assert [fixture.path for fixture in one_after_another(fixtures, ())] == ["ab", "ac", "cd", "ef", "ex", "xy"]
