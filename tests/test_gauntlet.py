"""Gauntlets: what a bot achieves against references does not depend on who else entered."""

import csv
import io
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import croupier
from stage_configs import PAZAAK_BOT

from host.games import GAMES
from host.play.records import Fixture, Record, Result
from host.results.grades import grades_of
from host.results.state import RecordedBot
from host.stages import KINDS
from host.stages.gauntlet import GAUNTLET, Gauntlet, Grade
from host.stages.kind import Field

BLANK = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "", "", (), 0)
STAGE = Gauntlet(name="gauntlet", references=("r1", "r2"), tables=1200)


def due(stage: Gauntlet, bots: list[str]) -> list[Fixture]:
    """Return all fixtures of a gauntlet."""
    return KINDS["gauntlet"].due(stage, BLANK, Field(bots, b"a seed"), {})


def check_fields(chance: random.Random) -> None:
    """Check that every bot of a random field plays each reference as if it were alone, and no other bot."""
    names = [f"b{number:02}" for number in range(chance.randint(1, 30))]
    references = tuple(f"r{number}" for number in range(chance.randint(1, 6)))
    stage = Gauntlet(
        name="gauntlet", references=references, tables=chance.randint(1, 3000), mirror=chance.random() < 0.5
    )
    fixtures, tables = due(stage, chance.sample(names, len(names))), Counter[frozenset[str]]()
    for fixture in fixtures:
        tables[frozenset(fixture.bots)] += fixture.tables
    assert tables == {frozenset((bot, other)): stage.tables for bot in names for other in references}
    bot = chance.choice(names)
    assert due(stage, [bot]) == [fixture for fixture in fixtures if bot in fixture.bots]
    assert due(stage, [*names, *references]) == fixtures  # an entered reference does not play itself


def test_every_bot_plays_each_reference_as_if_it_were_alone() -> None:
    for seed in range(50):
        check_fields(random.Random(seed))


@pytest.mark.long
def test_every_bot_of_a_thousand_fields_plays_each_reference_as_if_it_were_alone() -> None:
    for seed in range(1000):
        check_fields(random.Random(seed))


def played(bot: str, reference: str, won: int, lost: int) -> Record:
    """Return the record of a bot that has won some of 500 tables against a reference."""
    results = {name: Result(500, wins, wins, 0, 1, 1) for name, wins in ((bot, won), (reference, lost))}
    return Record(f"gauntlet/{bot}+{reference}/1", results, {}, {}, (), (), b"")


def test_a_grade_is_the_sum_of_the_points_for_references_that_are_surely_beaten() -> None:
    grades = {"r1": Grade(40, "95 %"), "r2": Grade(60, "95 %", "60 %")}
    stage = replace(STAGE, tables=500, grades=grades)
    records = [played("a", "r1", 280, 220), played("a", "r2", 320, 180), played("b", "r1", 255, 245)]
    one, other = grades_of(stage, {"a": RecordedBot("a", author="Ada")}, ["b", "r1", "a"], records)
    assert (one.bot, one.author, one.grade, one.most) == ("a", "Ada", 100, 100)
    assert (other.grade, [mark.words for mark in other.marks]) == (0, ["not yet 67 %", "not played"])
    assert other.advice == ["b: 51.0 % of 500 tables against r1; 53.8 % would be enough"]
    alone = grades_of(stage, {}, ["b"], records[2:])
    assert alone == [other]


@pytest.mark.parametrize("wins", range(240, 290, 3))
def test_the_share_that_would_be_enough_is_enough_and_no_smaller_one_is(wins: int) -> None:
    stage = replace(STAGE, tables=500, grades={"r1": Grade(40, "95 %")})
    ((mark,),) = [row.marks for row in grades_of(stage, {}, ["a"], [played("a", "r1", wins, 500 - wins)])]
    assert mark.needed is not None and mark.beaten == (wins >= 500 * mark.needed) == (wins >= 269)


def test_draws_count_half_in_a_grade() -> None:
    stage = replace(STAGE, tables=500, grades={"r1": Grade(40, "95 %", "60 %")})
    ((mark,),) = [row.marks for row in grades_of(stage, {}, ["a"], [played("a", "r1", 200, 0)])]
    assert mark.share == 0.7 and mark.beaten


COURSE = """\
game = "pazaak"
seed = "the teacher's"
[[stage]]
kind = "gauntlet"
references = ["sample:dumb_bold", "staff/*"]
tables = 30
practice = true
[stage.grades]
"sample:dumb_bold" = { points = 40, sure = "90 %" }
"staff/*" = { points = 60, sure = "95 %", at_least = "40 %" }
[[stage]]
kind = "knockout"
elimination = "double"
places = "first"
set = 4
best_of = 1
seeding = "gauntlet"
min_bots = 2
practice = true
"""


def course_in(place: Path, **limits: int) -> Path:
    """Create a course whose bots stand from these sums on; return its folder."""
    for group in ("bots", "staff"):
        (place / group).mkdir(parents=True)
    for name, limit in limits.items():
        (place / "bots" / f"{name}.py").write_text(PAZAAK_BOT.format(limit=limit))
    (place / "staff" / "tutor.py").write_text(PAZAAK_BOT.format(limit=18))
    (place / "croupier.toml").write_text(COURSE)
    return place


def graded(place: Path) -> dict[str, dict[str, str]]:
    """Return the rows of the gradebook by bot."""
    rows = csv.DictReader(io.StringIO(croupier("standings", "gauntlet", "--grades", "--csv", "-C", place).out))
    return {row["bot"]: row for row in rows}


def test_an_unchanged_bot_that_is_graded_again_among_others_has_the_same_grade(tmp_path: Path) -> None:
    first, again = course_in(tmp_path / "first", ada=16, bob=8), course_in(tmp_path / "again", ada=16, carl=19, dan=12)
    assert all(croupier("run", "-C", place).code == 0 for place in (first, again))
    grades, later = graded(first), graded(again)
    assert grades["ada"] == later["ada"] and grades["ada"]["grade"] == "60" and grades["bob"]["grade"] == "0"
    assert [*grades] == ["ada", "bob"] and [*later] == ["ada", "carl", "dan"]
    assert croupier("verify", "-C", first).code == 0 and croupier("verify", "-C", again).code == 0
    told = croupier("standings", "gauntlet", "--grades", "--json", "-C", first).json
    assert [(row["bot"], row["grade"], len(row["marks"])) for row in told["rows"]] == [("ada", 60, 2), ("bob", 0, 2)]
    rows = croupier("standings", "gauntlet", "--json", "-C", first).json["rows"]
    assert [(row["rank"], row["bot"]) for row in rows] == [(1, "ada"), (2, "bob")]
    pairs = croupier("standings", "gauntlet", "--by", "pair", "--json", "-C", first).json["rows"]
    assert {(row["bot"], row["against"]) for row in pairs if row["bot"] == "tutor"} == {
        ("tutor", "ada"),
        ("tutor", "bob"),
    }
    cup = croupier("standings", "knockout", "--json", "-C", first).json
    assert [part["title"] for part in cup["bracket"]][:2] == ["round 1 of the unbeaten", "final"]
    assert [row["bot"] for row in cup["rows"]] == [cup["rows"][0]["bot"], cup["rows"][1]["bot"]]
    assert croupier("standings", "knockout", "--grades", "-C", first).first.startswith("error[C017] ")
    assert "final:" in croupier("standings", "-C", first).out
    for words in ((), ("--no-names",)):
        assert croupier("report", "-C", first, *words).code == 0
        page = (first / "report.html").read_text()
        assert "Grades</h3>" in page and ("tutor" in page) != bool(words)


def test_the_references_are_no_entrants(tmp_path: Path) -> None:
    place = course_in(tmp_path / "course")
    assert croupier("run", "-C", place).first.startswith("error[C004] ")
    place = course_in(tmp_path / "one", ada=16)
    told = croupier("run", "--dry-run", "-C", place, "--json").json
    assert [(row["stage"], row["bots"], row["tables"]) for row in told["rows"]] == [
        ("gauntlet", 1, 60),
        ("knockout", 1, 0),
    ]


def test_a_reference_that_learns_from_bot_to_bot_is_refused(tmp_path: Path) -> None:
    place = course_in(tmp_path / "course", ada=16)
    (place / "staff" / "tutor").mkdir()
    (place / "staff" / "tutor.py").rename(place / "staff" / "tutor" / "tutor.py")
    (place / "staff" / "tutor" / "bot.toml").write_text('state = "memory.bin"\nstate_lifetime = "stage"\n')
    refused = croupier("run", "-C", place)
    assert refused.code == 3 and "tutor is a reference and keeps its state file" in refused.err


def test_a_file_of_seeds_orders_the_bracket(tmp_path: Path) -> None:
    place = course_in(tmp_path, ada=16, bob=8, carl=14)
    keys = 'game = "pazaak"\nseed = "x"\n[[stage]]\nkind = "knockout"\nset = 2\nbest_of = 1\nmin_bots = 2\npractice = true\n'
    (place / "croupier.toml").write_text(keys + 'seeding = "seeds.txt"\n')
    (place / "seeds.txt").write_text("carl  # won last year\n\nada\n")
    told = croupier("run", "-C", place, "--json").json
    assert told["bracket"][0]["ties"][0]["bots"] == ["carl", "bob"]  # the last seed; ada has the bye
    assert croupier("verify", "-C", place).code == 0
    (place / "seeds.txt").write_text("ada\n")
    assert croupier("run", "-C", place).first.startswith("error[R001] ")
    (place / "seeds.txt").write_text("carlo\n")
    assert 'croupier.toml:9: seeding names "carlo"' in croupier("run", "-C", place).first


def test_the_gauntlet_suits_every_game_for_two_with_a_winner() -> None:
    assert [name for name, game in GAMES.items() if GAUNTLET.plays.is_met(game, None)] == ["pazaak", "briscola"]
