"""`state_lifetime = "stage"`: the state file outlives its fixtures, which are played in a fixed order."""

import shutil
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest
import trio
from command import Result, croupier, result_of
from helpers import AMPLE, level

from host.inspect.bundle import packed, unpacked
from host.inspect.reask import reask
from host.inspect.repro import Target, repro_of
from host.journal.reader import Journal, reading
from host.play.records import Fixture, Record
from host.stages.agenda import Agenda, Schedule
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.tournament.stage_runner import Turns

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
parallel_tables = 16
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
FIXTURES = 4  # of each bot in a round robin of five bots


def cup_in(place: Path, lifetime: str = "stage") -> Path:
    """Create a tournament in which three of five bots count their fixtures; their play depends on the count."""
    for name in ("one", "two", "three"):
        bot = place / "bots" / name
        bot.mkdir(parents=True)
        (bot / "counts.py").write_text(COUNTS)
        (bot / "bot.toml").write_text(MANIFEST.format(name=name, lifetime=lifetime))
    (place / "croupier.toml").write_text(CONFIG)
    return place


def counted(cup: Path, stage: str) -> dict[str, bytes]:
    """Return the contents of the state files after a stage."""
    with reading(cup / "run" / "run.sqlite") as journal:
        return journal.states(stage)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament played by one worker."""
    cup = cup_in(tmp_path_factory.mktemp("alone") / "cup")
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    return cup


@pytest.fixture(scope="module")
def alone(finished: Path) -> Result:
    """Return the result of the tournament played by one worker."""
    cup = finished
    assert counted(cup, "league") == dict.fromkeys(("one", "two", "three"), str(FIXTURES).encode())
    assert counted(cup, "again") == counted(cup, "league")  # each stage starts with empty files
    return result_of(cup)


@pytest.mark.long
def test_it_does_not_depend_on_the_workers(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    assert croupier("run", "-C", cup, "--workers", 3).code == 0
    assert result_of(cup) == alone


@pytest.mark.long
def test_what_was_kept_is_there_after_an_interruption(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    codes = [
        croupier("run", "-C", cup, "--workers", 2, "--stop-after", budget).code
        for budget in ("200 ms", "500 ms", "1 s")
    ]
    assert set(codes) <= {0, 5} and croupier("run", "-C", cup).code == 0
    assert result_of(cup) == alone


@pytest.mark.long
def test_an_unchanged_file_adds_no_row_to_the_journal(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    script = cup / "bots" / "three" / "counts.py"
    script.write_text(COUNTS.replace("str(times + 1)", '"1"'))
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    query = "SELECT bot, count(*) FROM state JOIN fixture ON id = fixture WHERE stage = 'league' GROUP BY bot"
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database:
        rows = dict(database.execute(query))
    assert rows == {"one": FIXTURES, "two": FIXTURES, "three": 1}  # the first fixture changes it, the others do not


def test_by_default_a_file_lives_for_one_fixture(alone: Result, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", "fixture")
    assert croupier("run", "-C", cup).code == 0
    assert counted(cup, "league") == {}
    assert result_of(cup) != alone


def test_who_waits_keeps_the_others_of_its_fixture_waiting() -> None:
    fixtures = [Fixture("", None, "", pair, tuple(pair), 1) for pair in ("ab", "ac", "cd", "ef", "ex", "xy")]
    turns = Turns(Agenda(at_once(fixtures), {}), set("abcdef"))
    # c waits for a, so d must wait for c, or their order would depend on speed
    assert handed_out(turns) == ["ab", "ef", "xy"]
    turns.played(fixtures[3])
    assert handed_out(turns) == ["ex"]
    turns.played(fixtures[0])
    assert handed_out(turns) == ["ac"]
    turns.played(fixtures[1])
    assert handed_out(turns) == ["cd"]
    assert handed_out(Turns(Agenda(at_once(fixtures), {}), ())) == ["ab", "ac", "cd", "ef", "ex", "xy"]


def test_what_follows_a_fixture_is_played_before_what_comes_later_in_the_stage() -> None:
    def one_by_one(*fixtures: Fixture) -> Schedule:
        for fixture in fixtures:
            yield [fixture]

    ab1, ab2, ac = (Fixture("", None, "", path, tuple(path[:2]), 1) for path in ("ab1", "ab2", "ac"))

    def pairs() -> Schedule:
        yield [one_by_one(ab1, ab2), ac]

    records = {"": RECORD}
    turns = Turns(Agenda(pairs(), records), {"a"})
    assert handed_out(turns) == ["ab1"]
    records["ab1"] = RECORD
    turns.played(ab1)
    assert handed_out(turns) == ["ab2"]
    records["ab2"] = RECORD
    turns.played(ab2)
    assert handed_out(turns) == ["ac"]


RECORD = Record("", {}, {}, {}, (), (), b"")


def at_once(fixtures: list[Fixture]) -> Schedule:
    """Yield all fixtures together."""
    yield fixtures


def handed_out(turns: Turns) -> list[str]:
    """Return the paths of the fixtures that may be played now."""
    return [fixture.path for fixture in iter(turns.next, None)]


# A bot that is asked again has the state that it had then.


def late_fixture(journal: Journal) -> str:
    """Return the fixture before which "one" had counted three others."""
    (path,) = (path for path in journal.paths("league") if journal.initial_states(path).get("one") == b"3")
    return path


@pytest.mark.long
def test_asking_again_begins_with_the_lasting_state_of_then(finished: Path) -> None:
    bot = trio.run(build, load_submission(finished / "bots" / "one").with_keys(game="pazaak"), level())._replace(
        limits=AMPLE
    )
    with reading(finished / "run" / "run.sqlite") as journal:
        cases = [repro_of(journal, Target(late_fixture(journal), nth, bot="one")) for nth in range(8)]
    again = [reply.same for each in cases for reply in trio.run(reask, bot, each, level())]
    without = [reply.same for each in cases for reply in trio.run(reask, bot, each._replace(state=b""), level())]
    assert all(again) and not all(without)


def test_ask_says_with_what_the_file_begins(finished: Path, tmp_path: Path) -> None:
    with reading(finished / "run" / "run.sqlite") as journal:
        path = late_fixture(journal)
        found = repro_of(journal, Target(path, 0, bot="one"))
    assert found.state == b"3"
    told = croupier("ask", "one", found.table, "-C", finished).out
    assert "note     memory.bin starts with the 1 byte that earlier fixtures left in it" in told
    (tmp_path / "x.bundle").write_bytes(packed(found))
    assert unpacked(tmp_path / "x.bundle").state == b"3"


def test_a_journal_that_has_lost_it_differs(finished: Path, tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    shutil.copytree(finished, cup)
    assert croupier("verify", "-C", cup).code == 0
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database:
        database.execute("UPDATE state SET content = ? WHERE bot = 'one'", (zlib.compress(b"9"),))
        database.commit()
    assert croupier("verify", "-C", cup).code == 1
