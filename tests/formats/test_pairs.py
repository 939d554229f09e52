"""The kind of stage `pairs`: exactly the listed meetings are played, resumed, and verified."""

import csv
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from command import croupier, result_of
from stage_configs import PAZAAK_BOT, stage_of
from test_run import played_whole, running

from host.config.tournament_config import load
from host.games import GAMES
from host.journal.reader import reading
from host.play.fixture_id import FixtureId
from host.play.records import Fixture
from host.stages import KINDS
from host.stages.kind import MAX_LIST_BYTES, Field
from host.stages.pairs import SCORED_TABLES, ListedMeeting

BLANK = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "", "", (), 0)
HOLDEM = Fixture("holdem", GAMES["holdem"].default_rules, "", "", (), 0)
CUP = """\
game = "pazaak"
seed = "a seed for tests"
bots = ["bots/*"]
[limits]
move = "10 s"
cpu = "10 s"
[[stage]]
kind = "pairs"
name = "round"
practice = true
"""
LIST = """\
# tables, and who plays them
300 stands15 / stands17
120 stands16/stands18   # no blanks
31  stands18 / stands15
"""


def cup_in(place: Path, more: str = 'list = "meetings.txt"\n', meetings: str = LIST) -> Path:
    """Create a tournament of four bots of Pazaak with a stage of listed meetings."""
    (place / "bots").mkdir(parents=True)
    for limit in (15, 16, 17, 18):
        (place / "bots" / f"stands{limit}.py").write_text(PAZAAK_BOT.format(limit=limit))
    (place / "meetings.txt").write_text(meetings)
    (place / "croupier.toml").write_text(CUP + more)
    return place


def due(bots: list[str], blank: Fixture = BLANK, **keys: object) -> list[Fixture]:
    """Return all fixtures of a stage."""
    return KINDS["pairs"].due(stage_of("pairs", **keys), blank, Field(bots, b"a seed"), {})


# The fixtures.


def test_exactly_the_listed_tables_are_due() -> None:
    chance = random.Random(1)
    for _ in range(50):
        bots = [f"b{nth}" for nth in range(chance.randint(4, 30))]
        meetings = {frozenset(chance.sample(bots, chance.randint(2, 4))): chance.randint(1, 3000) for _ in range(20)}
        lines = [str(ListedMeeting(tables, tuple(who))) for who, tables in meetings.items()]
        found = Counter[frozenset[str]]()
        for fixture in due(bots, HOLDEM, meetings=lines):
            found[frozenset(fixture.bots)] += fixture.tables
            assert len(fixture.bots) == 2 or fixture.tables <= SCORED_TABLES
        assert found == meetings


def test_the_first_bot_of_a_line_has_the_first_seat_and_the_cards_do_not_depend_on_the_order() -> None:
    (one,), (other,) = due(["a", "b"], meetings=["20 b / a"]), due(["a", "b"], meetings=["20 a / b"])
    assert (one.bots, other.bots) == (("b", "a"), ("a", "b")) and one.path == other.path == "pairs/a+b/1"


@pytest.mark.long
def test_five_hundred_bots_and_ten_thousand_meetings_are_listed_in_a_file(tmp_path: Path) -> None:
    chance, names = random.Random(2), [f"a-bot-of-many-{nth:03}" for nth in range(500)]
    pairs = sorted({tuple(sorted(chance.sample(names, 2))) for _ in range(11_000)})[:10_000]
    (tmp_path / "bots").mkdir()
    for name in names:
        (tmp_path / "bots" / f"{name}.py").write_text("")
    (tmp_path / "meetings.txt").write_text("".join(f"10 {one} / {other}\n" for one, other in pairs))
    (tmp_path / "croupier.toml").write_text(CUP + 'list = "meetings.txt"\n')
    (stage,) = load(tmp_path).stages
    fixtures = KINDS["pairs"].due(stage, BLANK, Field(names, b""), {})
    assert [(fixture.bots, fixture.tables) for fixture in fixtures] == [(pair, 10) for pair in pairs]


def test_meetings_of_bots_that_do_not_reach_the_stage_are_left_out() -> None:
    fixtures = due(["a", "b", "c"], meetings=["4 a / b", "4 a / d", "4 c / b"])
    assert [fixture.bots for fixture in fixtures] == [("a", "b"), ("c", "b")]


# Real play.


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament that one worker has played without interruption."""
    cup = cup_in(tmp_path_factory.mktemp("played") / "cup")
    done = croupier("run", "-C", cup, "--workers", 1)
    assert done.code == 0, done.err
    return cup


def test_the_list_is_played_with_rotating_seats(played: Path) -> None:
    tables, first = Counter[str](), Counter[tuple[str, str]]()
    for row in csv.DictReader(croupier("export", "csv", "-C", played).out.splitlines()):
        if row["seat"] == "0":
            meeting = FixtureId.parse(row["fixture"]).meeting
            tables[meeting] += 1
            first[meeting, row["bot"]] += 1
    assert tables == {"stands15+stands17": 300, "stands16+stands18": 120, "stands15+stands18": 31}
    assert first["stands15+stands17", "stands15"] == first["stands15+stands17", "stands17"] == 150
    assert first["stands15+stands18", "stands18"] == 16


@pytest.mark.long
def test_a_killed_run_plays_only_what_was_in_flight_again(played: Path, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup")
    with running(cup, 1) as run:
        assert run.wait_until(lambda: len(run.finished()) >= 2)
        os.kill(run.process.pid, signal.SIGKILL)
        run.process.wait(60)
    before = played_whole(cup)
    assert before
    with running(cup, 1) as run:
        assert run.process.wait(300) == 0
        assert not before & {*run.finished()}
    assert result_of(cup) == result_of(played)


def test_it_is_verified_ranked_and_reported(played: Path) -> None:
    assert croupier("verify", "-C", played).code == 0
    shown = croupier("standings", "-C", played, "--json").json
    assert {row["bot"]: row["tables"] for row in shown["rows"]} == {
        "stands15": 331, "stands16": 120, "stands17": 300, "stands18": 151,
    }  # fmt: skip
    assert all(row["elo"] is not None for row in shown["rows"]) and shown["sure"]
    assert croupier("report", "-C", played).code == 0
    page = (played / "report.html").read_text()
    assert "round" in page and "stands17" in page


def test_a_report_without_names_has_none_in_its_list(played: Path) -> None:
    out = played / "blind.html"
    assert croupier("report", "-C", played, "--no-names", "-o", out).code == 0
    assert "stands1" not in out.read_text()


@pytest.mark.long
def test_the_dry_run_counts_the_list(tmp_path: Path) -> None:
    done = croupier("run", "-C", cup_in(tmp_path / "cup"), "--dry-run")
    assert "451 tables" in done.out and "3 listed meetings of 4 bots" in done.out, done.out


@pytest.mark.long
def test_mirrored_meetings_share_deals(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", 'mirror = true\nmeetings = ["20 stands15 / stands16"]\n')
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    assert croupier("verify", "-C", cup).code == 0
    with reading(cup / "run" / "run.sqlite") as journal:
        ((_, record),) = journal.records("round")
    assert all(result.units for result in record.results.values())


# What is refused.


BOTH = 'meetings = ["9 stands15 / stands16"]\nlist = "meetings.txt"'
TWICE = 'meetings = ["9 stands15 / stands16", "2 stands16 / stands15"]'
NO_MEETING = "is not a number of tables and the names of at least two bots\n  hint: 200 ada / davey"
REFUSED = {
    "": ("C007", 'no meetings are listed\n  hint: list = "meetings.txt", or meetings = ["200 ada / davey"]'),
    BOTH: ("C013", "list and meetings both name meetings"),
    TWICE: ("C013", "meetings lists the meeting of stands15 and stands16 twice"),
    'meetings = ["9 stands15 / stand17"]': ("C012", 'names "stand17", and no bot has this name\n  hint: stands17'),
    'meetings = ["9 stands15 / stands15"]': ("C013", 'in "9 stands15 / stands15" "stands15" meets itself'),
    'meetings = ["9 stands15 / stands16 / stands17"]': ("C013", "has 3 bots, and a table of pazaak has 2 seats"),
    'meetings = ["stands15 / stands16"]': ("C009", NO_MEETING),
    'meetings = ["0 stands15 / stands16"]': ("C009", NO_MEETING),
    'meetings = ["99999999 stands15 / stands16"]': ("C009", NO_MEETING),
    'meetings = ["5 stands15"]': ("C009", NO_MEETING),
    'list = "none.txt"': ("C011", "cannot be read: No such file or directory"),
    'list = "empty.txt"': ("C007", '"empty.txt" lists no meetings'),
    'list = "large.txt"': ("C005", "is larger than 16384 KiB"),
    'list = "wrong.txt"': ("C009", f'list: "ada" {NO_MEETING}'),
}


@pytest.mark.parametrize("keys", REFUSED)
def test_a_wrong_list_is_refused_with_its_line_and_cure(keys: str, tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", f"{keys}\n")
    (cup / "empty.txt").write_text("# nobody\n\n")
    (cup / "large.txt").write_text("# " + "a" * MAX_LIST_BYTES)
    (cup / "wrong.txt").write_text("3 stands15 / stands16\nada\n")
    done = croupier("run", "-C", ".", cwd=cup)
    code, why = REFUSED[keys]
    assert (done.code, f"error[{code}]" in done.err, why in done.err) == (3, True, True), done.err
    assert not (cup / "run").exists()


@pytest.mark.long
def test_no_bot_can_join_and_a_bot_can_leave(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", 'meetings = ["20 stands15 / stands16", "20 stands16 / stands17"]\n')
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    (cup / "bots" / "late.py").write_text(PAZAAK_BOT.format(limit=14))
    late = croupier("run", "-C", cup)
    assert late.code != 0 and "its meetings are listed" in late.err
    assert croupier("withdraw", "stands17", "-C", cup, "--reason", "test").code == 0
    rows = croupier("standings", "-C", cup, "--json").json["rows"]
    assert {row["bot"]: row["tables"] for row in rows if not row["withdrawn"]}["stands16"] == 20
