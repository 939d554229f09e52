"""Gauntlets: what a bot achieves against references does not depend on who else entered."""

import csv
import io
import math
import random
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from command import croupier
from helpers import SAMPLES, breadth
from stage_configs import PAZAAK_BOT

from host.games import GAMES
from host.journal.reader import reading
from host.journal.state import RecordedBot
from host.play.lines import pack_lines
from host.play.records import Fixture, Record, Result
from host.rating.statistics import sure_at_least
from host.results.grades import grades_of
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
    assert (other.grade, [mark.words for mark in other.marks]) == (0, ["not yet 65 %", "not played"])
    assert [mark.result for mark in other.marks] == [
        "51.0 % of 500 tables, 53.8 % would be enough",
        "0 of 500 tables played",
    ]
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


# "At most one of 20 bots that are exactly as good as the reference": the exact rate of undeserved points.


def chances(trials: int, chance: float) -> list[float]:
    """Return the probability of each number of successes, in order."""
    logs = [math.lgamma(number + 1) for number in range(trials + 1)]
    won, lost = math.log(chance), math.log1p(-chance)
    return [math.exp(logs[-1] - logs[k] - logs[trials - k] + k * won + (trials - k) * lost) for k in range(trials + 1)]


def fewest_wins(tables: int, drawn: int, share: float, sure: float) -> int:
    """Return the fewest wins that get the points, as a search by halves finds them; one too many if none do."""
    low, high = 0, tables - drawn + 1
    while low < high:
        wins = (low + high) // 2
        if sure_at_least(wins, drawn, tables - drawn - wins, share) >= sure:
            high = wins
        else:
            low = wins + 1
    return low


@pytest.mark.long
@pytest.mark.parametrize("share", breadth([0.5, 0.45, 0.55, 0.6, 1 / 3, 0.731, 0.9], 4))
def test_an_equal_bot_gets_the_points_as_rarely_as_promised_for_any_number_of_tables(share: float) -> None:
    levels = (0.55, 0.75, 0.9, 0.95, 0.975, 0.9783, 0.99, 0.999)
    for tables in range(1, 401):
        rates = chances(tables, share)
        for sure in levels:
            least = fewest_wins(tables, 0, share, sure)
            assert math.fsum(rates[least:]) <= 1 - sure + 1e-9, (tables, sure)
            assert math.fsum(rates[least - 1 :]) > 1 - sure - 1e-9, (tables, sure)  # no more is demanded


@pytest.mark.parametrize("share", [0.5, 0.45, 0.6, 0.9])
@pytest.mark.parametrize("tables", [1, 2, 3, 7, 10, 20, 31, 50])
def test_draws_do_not_make_undeserved_points_more_frequent(share: float, tables: int) -> None:
    logs = [math.lgamma(number + 1) for number in range(tables + 1)]
    for sure in (0.75, 0.95, 0.99):
        least = [fewest_wins(tables, drawn, share, sure) for drawn in range(tables + 1)]
        for draws in (0.01, 0.1, 0.3, 0.6, 0.95):
            won = share - draws / 2
            if min(won, 1 - draws - won) <= 0:
                continue
            rate = math.fsum(
                math.exp(
                    logs[tables]
                    - logs[wins]
                    - logs[drawn]
                    - logs[lost]
                    + wins * math.log(won)
                    + drawn * math.log(draws)
                    + lost * math.log(1 - draws - won)
                )
                for drawn in range(tables + 1)
                for wins in range(least[drawn], tables - drawn + 1)
                for lost in [tables - drawn - wins]
            )
            assert rate <= 1 - sure + 1e-9, (sure, draws)


def test_a_grade_counts_equal_tables_once() -> None:
    stage = replace(STAGE, tables=500, grades={"r1": Grade(40, "95 %")})
    lines = pack_lines([b"1st seat and no luck", b"2nd seat and no luck"] * 250)
    ((mark,),) = [row.marks for row in grades_of(stage, {}, ["a"], [played("a", "r1", 500, 0)._replace(lines=lines)])]
    assert (mark.share, mark.sure, mark.different, mark.beaten) == (1.0, 0.75, 2, False)


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
    rows = csv.DictReader(io.StringIO(croupier("grades", "--csv", "-C", place).out))
    return {row["bot"]: row for row in rows}


@pytest.mark.long
def test_an_unchanged_bot_that_is_graded_again_among_others_has_the_same_grade(tmp_path: Path) -> None:
    first, again = course_in(tmp_path / "first", ada=16, bob=8), course_in(tmp_path / "again", ada=16, carl=19, dan=12)
    assert all(croupier("run", "-C", place).code == 0 for place in (first, again))
    grades, later = graded(first), graded(again)
    assert grades["ada"] == later["ada"] and grades["ada"]["points"] == "60.00" and grades["bob"]["points"] == "0.00"
    assert [*grades] == ["ada", "bob"] and [*later] == ["ada", "carl", "dan"]
    assert croupier("verify", "-C", first).code == 0 and croupier("verify", "-C", again).code == 0
    told = croupier("grades", "--stage", "gauntlet", "--json", "-C", first).json
    assert [(row["bot"], row["points"], len(row["marks"])) for row in told["rows"]] == [("ada", 60, 2), ("bob", 0, 2)]
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
    assert croupier("grades", "--stage", "knockout", "-C", first).first.startswith("error[C017] ")
    assert "final:" in croupier("standings", "-C", first).out
    for words in ((), ("--no-names",)):
        assert croupier("report", "-C", first, *words).code == 0
        page = (first / "report.html").read_text()
        assert "Grades</h3>" in page and ("tutor" in page) != bool(words)


@pytest.mark.long
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


@pytest.mark.long
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


def test_the_gauntlet_suits_every_game() -> None:
    assert all(GAUNTLET.plays.is_met(game, None) for game in GAMES.values())


# Games without one winner of two: references fill the other seats.

SCORED = """\
game = "{game}"
seed = "the teacher's"
bots = ["bots/*"]
[[stage]]
kind = "gauntlet"
references = [{references}]
tables = {tables}
same_cards = {same}
mirror = {mirror}
practice = true
[stage.grades]
{grades}
"""


def scored_course(place: Path, game: str, references: str, grades: str, tables: int, **flags: bool) -> Path:
    """Create a course in a game with other seats than two, with copies of one bot; return its folder."""
    same, mirror = (str(flags.get(key, False)).lower() for key in ("same", "mirror"))
    text = SCORED.format(game=game, references=references, grades=grades, tables=tables, same=same, mirror=mirror)
    (place / "bots").mkdir(parents=True)
    (place / "croupier.toml").write_text(text)
    return place


def copied(place: Path, game: str, sample: str, *names: str) -> None:
    """Add copies of a sample bot to a course, under other names."""
    source = SAMPLES / game / sample
    for name in names:
        shutil.copytree(source, place / "bots" / name)
        toml = place / "bots" / name / "bot.toml"
        toml.write_text(re.sub("(?m)^name .*", f'name = "{name}"', toml.read_text()))


@pytest.mark.long
def test_a_bot_of_hearts_is_graded_by_its_scores_at_tables_with_three_references(tmp_path: Path) -> None:
    grades = (
        '"sample:duck" = { points = 40, sure = "90 %" }\n"sample:dodger" = { points = 60, sure = "95 %", score = -500 }'
    )
    names = '"sample:cowardly", "sample:dodger", "sample:duck"'
    place = scored_course(tmp_path, "hearts", names, grades, 12, same=True)
    copied(place, "hearts", "duck", "ada", "bob")
    done = croupier("run", "-C", place)
    assert done.code == 0 and "points" in done.out and "why?" not in done.out
    rows = {row["bot"]: row for row in croupier("grades", "-C", place, "--json").json["rows"]}
    assert {bot: row["status"] for bot, row in rows.items()} == {"ada": "graded", "bob": "graded"}
    duck, dodger = rows["ada"]["marks"]
    assert (duck["tables"], dodger["tables"], dodger["points"], dodger["goal"]) == (12, 12, 60, -500)
    assert rows["ada"]["marks"] == rows["bob"]["marks"]  # equal bots meet the same deals in the same seats
    assert f"against {duck['scores'][1]:.2f} of duck" in croupier("grades", "ada", "-C", place).out
    with reading(place / "run" / "run.sqlite") as journal:
        scores = {path: journal.full_record(path).scores for path in journal.paths()}
    one, other = scores.values()
    assert one == other and len(one) == 12
    assert croupier("verify", "-C", place).code == 0
    shown = croupier("status", "-C", place).out
    assert all(re.search(rf"^ +1 +{name} ", shown, re.MULTILINE) for name in ("ada", "bob")) and "duck" not in shown


@pytest.mark.long
def test_a_bot_of_blackjack_is_graded_by_its_share_of_the_chips(tmp_path: Path) -> None:
    grades = (
        'davey = { points = 40, sure = "90 %", at_least = "20 %" }\n'
        'cautious = { points = 60, sure = "90 %", at_least = "80 %" }'
    )
    names = '"sample:davey", "sample:cautious", "sample:basic"'
    place = scored_course(tmp_path, "cardshark", names, grades, 30)
    stage = (place / "croupier.toml").read_text()
    (place / "croupier.toml").write_text(stage.replace("mirror =", "seats = 3\nmirror ="))
    (place / "bots" / "ada.c").write_bytes((SAMPLES / "cardshark" / "davey.c").read_bytes())
    assert croupier("run", "-C", place).code == 0
    (row,) = croupier("grades", "-C", place, "--json").json["rows"]
    davey, cautious = row["marks"]
    assert (davey["tables"], davey["planned"], cautious["tables"]) == (60, 60, 60)  # each sits at two of three tables
    assert (row["points"], davey["beaten"], cautious["beaten"]) == (40, True, False)
    assert 0.3 < davey["share"] < 0.7


@pytest.mark.parametrize("mirror", breadth([True, False], 2))
def test_all_bots_meet_the_same_deals_in_the_same_seats(mirror: bool, tmp_path: Path) -> None:
    grades = 'dumb_bold = { points = 1, sure = "90 %" }'
    place = scored_course(
        tmp_path, "pazaak", '"sample:dumb_bold", "sample:neptr"', grades, 20, same=True, mirror=mirror
    )
    for name in ("ada", "zoe"):  # the first before, the second after the references by name
        (place / "bots" / f"{name}.py").write_text(PAZAAK_BOT.format(limit=17))
    assert croupier("run", "-C", place).code == 0
    assert croupier("verify", "-C", place).code == 0
    with reading(place / "run" / "run.sqlite") as journal:
        played = {path: journal.full_record(path) for path in journal.paths()}
    assert len(played) == 4
    for reference in ("dumb_bold", "neptr"):
        one, other = (next(r for r in played.values() if {bot, reference} == {*r.results}) for bot in ("ada", "zoe"))
        assert (one.answers, one.scores) == (other.answers, other.scores)
        assert all((result.units > 0) == bool(result.wins_with) == mirror for result in one.results.values())
    assert len({record.answers for record in played.values()}) == 2  # each reference has deals of its own
    pairs = croupier("standings", "--by", "pair", "--json", "-C", place).json["rows"]
    rates = {(row["bot"], row["against"]): row["rate"] for row in pairs}
    assert rates["ada", "neptr"] == rates["zoe", "neptr"]


def test_more_references_than_seats_sit_equally_often() -> None:
    stage = Gauntlet(name="g", references=("r1", "r2", "r3", "r4", "r5"), tables=6, seats=4)
    sat = Counter(bot for fixture in due(stage, ["ada"]) for bot in fixture.bots)
    assert sat == {"ada": 5} | dict.fromkeys(stage.references, 3)
    assert all(fixture.bots[0] == "ada" and len(fixture.bots) == 4 for fixture in due(stage, ["ada"]))
    assert {terms.tables for terms in GAUNTLET.grades(replace(stage, grades={"r1": Grade(1, "95 %")})).values()} == {18}  # type: ignore[misc]


def test_mirrored_tables_of_four_stay_together_when_tables_are_added() -> None:
    stage = Gauntlet(name="g", references=("r1", "r2", "r3"), tables=1200, seats=4, mirror=True)
    fixtures = due(stage, ["ada"])
    assert [(fixture.first, fixture.tables) for fixture in fixtures] == [(1, 500), (501, 500), (1001, 200)]
    kept = Field(["ada"], b"a seed", kept={f"g/ada+r1+r2+r3/{first}": number for first, number in ((1, 7), (8, 3))})
    more = KINDS["gauntlet"].due(replace(stage, tables=16), BLANK, kept, {})
    assert [(fixture.first, fixture.tables) for fixture in more] == [(1, 7), (8, 3), (11, 2), (13, 4)]


@pytest.mark.long
@pytest.mark.parametrize("game", ["pazaak", "hearts", "holdem", "cardshark", "briscola"])
@pytest.mark.one_in(5)
def test_a_new_course_of_every_game_is_valid_and_plays(game: str, tmp_path: Path) -> None:
    place = tmp_path / "course"
    assert croupier("new", place, "-g", game, "--kind", "gauntlet").code == 0
    text = (place / "croupier.toml").read_text()
    assert 'kind       = "gauntlet"' in text and text.count("[[stage]]") == 1
    assert sum(map(int, re.findall("points = ([0-9]+)", text))) == 100
    assert croupier("init", place / "bots" / "ada", "-g", game, "--lang", "python").code == 0
    told = croupier("run", "--dry-run", "-C", place, "--json")
    assert told.code == 0 and [row["bots"] for row in told.json["rows"]] == [1]
    wrong = croupier("new", tmp_path / "x", "-g", game, "--kind", "gauntlte")
    assert wrong.code == 2 and "did you mean gauntlet" in wrong.err
