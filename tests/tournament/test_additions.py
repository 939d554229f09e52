"""Additions to a run that has begun: bots that come late and more tables, which leave what was played as it is."""

import json
import shutil
import subprocess
import time
from collections import Counter
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from command import CROUPIER, MEASURED, Done, answers_in, croupier, environment
from command import cup_in as small_cup
from hypothesis import given, settings
from hypothesis import strategies as st
from stage_configs import PAZAAK_BOT, stage_of

from host.config.tournament_config import load
from host.games import GAMES
from host.inspect.recorded import load_fixture
from host.journal.reader import reading
from host.play.records import Fixture, Record, Result
from host.play.table_plans import table_setups
from host.stages import KINDS, kind_of
from host.stages.kind import Field, StageConfig
from host.stages.round_robin import RoundRobin
from host.tournament.estimate import remaining

BLANK = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "", "", (), 0)
SEED = b"a seed for tests"


def record_of(fixture: Fixture) -> Record:
    """Return the record of a fixture that ended as a draw."""
    results = {bot: Result(fixture.tables, 0, 0, 0, 0, 0) for bot in fixture.bots}
    return Record(fixture.path, results, {}, {}, (), (), b"")


def sittings(fixtures: list[Fixture]) -> dict[str, tuple[str, ...]]:
    """Return who sits at each table, by the path of its luck."""
    found = [setup for fixture in fixtures for setup in table_setups(fixture, SEED, ())]
    tables = {setup.path: (setup.luck, *setup.bots) for setup in found}
    assert len(tables) == len(found)
    return tables


def stage_with(kind: str, tables: int, **keys: Any) -> StageConfig:
    """Return a stage that can be changed, with a number of tables of each pair."""
    key = {"round-robin": "tables_per_pair", "gauntlet": "tables"}[kind]
    more = {"references": ["r1", "r2"]} if kind == "gauntlet" else {}
    return stage_of(kind, **{key: tables}, **more, **keys)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["round-robin", "gauntlet"])
@settings(max_examples=40)
@given(
    first=st.tuples(st.integers(2, 4), st.integers(1, 300)),
    more=st.tuples(st.integers(0, 2), st.integers(0, 300)),
    share=st.floats(0, 1),
    mirror=st.booleans(),
    stop_early=st.booleans(),
)
def test_what_was_played_stays_and_only_the_missing_tables_are_played(
    kind: str, first: tuple[int, int], more: tuple[int, int], share: float, mirror: bool, stop_early: bool
) -> None:
    bots = [f"b{number}" for number in range(first[0] + more[0])]
    before, after = (stage_with(kind, tables, mirror=mirror) for tables in (first[1], first[1] + more[1]))
    old = kind_of(before).due(before, BLANK, Field(bots[: first[0]], SEED, stop_early), {})
    played = old[: round(share * len(old))]
    records = {fixture.path: record_of(fixture) for fixture in played}
    kept = {fixture.path: fixture.tables for fixture in played}

    field, new = Field(bots, SEED, stop_early, kept=kept), list[Fixture]()
    while due := kind_of(after).due(after, BLANK, field, records):
        assert not records.keys() & {fixture.path for fixture in due}
        step = due[: 1 + len(due) // 2]  # interrupted: what has been played since is kept too
        new += step
        records |= {fixture.path: record_of(fixture) for fixture in step}
        field = field._replace(kept=field.kept | {fixture.path: fixture.tables for fixture in step})

    at_once, records = list[Fixture](), {}
    while due := kind_of(after).due(after, BLANK, Field(bots, SEED, stop_early), records):
        at_once += due
        records |= {fixture.path: record_of(fixture) for fixture in due}
    assert sittings(played + new) == sittings(at_once)


def test_an_interruption_does_not_change_which_fixtures_are_added() -> None:
    stage = stage_with("round-robin", 1000)
    kept = {"round-robin/b0+b1/1": 120, "round-robin/b0+b1/241": 120, "round-robin/b1+b2/121": 60}
    field = Field(["b0", "b1", "b2", "b3"], SEED, kept=kept)
    kind, records = kind_of(stage), {path: record_of(BLANK) for path in kept}
    due = kind.due(stage, BLANK, field, records)

    for some in (due[::2], due[::3], due[5:9]):
        now = field._replace(kept=kept | {fixture.path: fixture.tables for fixture in some})
        left = kind.due(stage, BLANK, now, records | {fixture.path: record_of(fixture) for fixture in some})
        assert {*left} == {*due} - {*some}
    tables = Counter[tuple[str, ...]]()
    for fixture in due:
        tables[fixture.bots] += fixture.tables
    missing = {("b0", "b1"): 760, ("b1", "b2"): 940}
    assert tables == {pair: missing.get(pair, 1000) for pair in combinations(field.bots, 2)}


def test_more_tourneys_leave_those_that_were_played() -> None:
    few, many = (stage_of("mixed-tables", tourneys=number) for number in (3, 5))
    blank = BLANK._replace(game="cardshark", rules=GAMES["cardshark"].default_rules)
    old, new = (KINDS["mixed-tables"].due(stage, blank, Field(["a", "b", "c"], SEED), {}) for stage in (few, many))
    assert (new[:3], len(new)) == (old, 5)


def test_every_kind_with_an_order_of_its_own_says_why_no_bot_can_join() -> None:
    for name, kind in KINDS.items():
        assert kind.changes.closed or not kind.changes.adaptive, name
        assert {*kind.changes.more} <= {*kind.config.__dataclass_fields__}


# Real play.

CUP = """\
game = "pazaak"
seed = "a seed for tests"
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
practice = true
"""
CROSS = """\
[[stage]]
name = "course"
kind = "gauntlet"
references = ["ada"]
tables = {tables}
practice = true
"""
BRACKET = """\
[[stage]]
name = "cup"
kind = "knockout"
set = 4
best_of = 1
min_bots = 2
practice = true
"""
SUMS = {"ada": 16, "bob": 8, "carl": 19, "dan": 13}


def enter(cup: Path, *names: str) -> None:
    """Put bots into the folder of a tournament."""
    (cup / "bots").mkdir(exist_ok=True)
    for name in names:
        (cup / "bots" / f"{name}.py").write_text(PAZAAK_BOT.format(limit=SUMS[name]))


def cup_in(place: Path, text: str, tables: int, *names: str) -> Path:
    """Create a tournament of these bots; return its folder."""
    place.mkdir()
    (place / "croupier.toml").write_text(text.format(tables=tables))
    enter(place, *names)
    return place


def ran(cup: Path, *words: object) -> Done:
    """Run a tournament to its end."""
    done = croupier("run", "-C", cup, *words)
    assert done.code == 0, done.err
    return done


def rows_of(cup: Path, stage: str) -> list[dict[str, Any]]:
    """Return the standings of a stage, without what differs from run to run."""
    rows = croupier("standings", stage, "-C", cup, "--json").json["rows"]
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in rows]


def scores_in(cup: Path) -> dict[str, tuple[int, ...]]:
    """Return the scores of every table, by its path."""
    with reading(cup / "run" / "run.sqlite") as journal:
        found = [load_fixture(journal, SEED, path) for path in journal.paths()]
        return {
            setup.path: tuple(scores)
            for fixture in found
            for setup, scores in zip(fixture.sittings, fixture.record.scores, strict=True)
        }


@pytest.mark.long
def test_a_late_bot_and_more_tables_end_as_if_they_had_been_there_at_once(tmp_path: Path) -> None:
    text = CUP + CROSS
    cup = cup_in(tmp_path / "late", text, 40, "ada", "bob", "carl")
    at_once = cup_in(tmp_path / "at-once", text, 60, "ada", "bob", "carl", "dan")
    ran(cup)
    with reading(cup / "run" / "run.sqlite") as journal:
        seal, before = journal.seal(), {path: journal.full_record(path) for path in journal.paths()}

    enter(cup, "dan")
    (cup / "croupier.toml").write_text(text.format(tables=60))
    assert croupier("config", "check", "-C", cup).code == 0
    left, _ = remaining(load(cup), list(SUMS), SEED, cup / "run" / "run.sqlite")
    assert [stage.tables for stage in left] == [3 * 20 + 3 * 60, 2 * 20 + 60]
    ran(cup, "--reason", "dan was ill", "--workers", 2)
    ran(at_once)

    assert scores_in(cup) == scores_in(at_once)
    assert all(rows_of(cup, stage) == rows_of(at_once, stage) for stage in ("league", "course"))
    with reading(cup / "run" / "run.sqlite") as journal:
        assert {path: journal.full_record(path) for path in before} == before
        changes = [(change.kind, change.what, change.stage, change.reason) for change in journal.changes()]
    assert changes == [
        ("late", "dan", "", "dan was ill"),
        ("more", "tables_per_pair", "league", "dan was ill"),
        ("more", "tables", "course", "dan was ill"),
    ]
    verified = croupier("verify", "-C", cup, "--seal", seal)
    assert verified.code == 0 and "then changed:" in verified.out
    assert "dan came late; reason: dan was ill" in verified.out
    assert "league plays more: tables_per_pair = 60 instead of 40" in verified.out
    ran(cup)
    with reading(cup / "run" / "run.sqlite") as journal:
        assert len(journal.changes()) == 3


@pytest.mark.long
def test_a_run_that_is_killed_while_it_plays_what_was_added_goes_on(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "late", CUP, 300, "ada", "bob")
    at_once = cup_in(tmp_path / "at-once", CUP, 400, "ada", "bob", "carl")
    ran(cup)
    enter(cup, "carl")
    (cup / "croupier.toml").write_text(CUP.format(tables=400))
    for added in (2, 4):
        process = subprocess.Popen([*CROUPIER, "run", "-C", cup, "--workers", "1"], env=environment())
        ended = time.monotonic() + 60
        while time.monotonic() < ended and process.poll() is None and played_in(cup) < 6 + added:
            time.sleep(0.02)
        process.kill()
        process.wait()
    ran(cup)
    ran(at_once)
    assert scores_in(cup) == scores_in(at_once)
    assert rows_of(cup, "league") == rows_of(at_once, "league")
    assert croupier("verify", "-C", cup).code == 0
    with reading(cup / "run" / "run.sqlite") as journal:
        assert [change.kind for change in journal.changes()] == ["late", "more"]


def played_in(cup: Path) -> int:
    """Return the number of fixtures that have been played."""
    with reading(cup / "run" / "run.sqlite") as journal:
        return len(journal.paths())


@pytest.mark.long
def test_a_bracket_under_way_takes_no_late_bot_and_fixes_what_comes_before_it(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", CUP + BRACKET, 20, "ada", "bob", "carl")
    ran(cup)
    before = scores_in(cup)
    (cup / "croupier.toml").write_text((CUP + BRACKET).format(tables=30))
    more = croupier("run", "-C", cup)
    told = 'league" tables_per_pair: 20 → 30): stage "cup" has begun with the bots in the order of "league"'
    assert (more.code, more.first.endswith(told)) == (3, True)
    (cup / "croupier.toml").write_text((CUP + BRACKET).format(tables=10))
    assert croupier("run", "-C", cup).first.endswith("tables_per_pair: 20 → 10)")
    (cup / "croupier.toml").write_text((CUP + BRACKET).format(tables=20))

    (tmp_path / "dan.py").write_text(PAZAAK_BOT.format(limit=13))
    told = 'dan cannot join: stage "cup" has begun, and its bracket is under way'
    refused = croupier("add", tmp_path / "dan.py", "-C", cup)
    assert (refused.code, refused.first) == (3, f"error[R004] {cup}/croupier.toml: {told}")
    assert "--force adds it for the next run" in refused.err and not (cup / "bots" / "dan.py").exists()
    added = croupier("add", tmp_path / "dan.py", "--force", "-C", cup)
    assert added.code == 0 and f"WARNING  {told}" in added.err
    for words in ((), ("--dry-run",)):
        late = croupier("run", "-C", cup, *words)
        assert (late.code, late.first) == (3, f"error[R004] {cup}/croupier.toml: {told}")
    assert scores_in(cup) == before
    assert croupier("verify", "-C", cup).code == 0


@pytest.mark.long
def test_more_tourneys_are_played_and_no_bot_can_join_them(tmp_path: Path) -> None:
    cup, at_once = (small_cup(tmp_path / name, tourneys=number) for name, number in (("late", 2), ("at-once", 4)))
    ran(cup)
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("tourneys = 2", "tourneys = 4"))
    ran(cup)
    ran(at_once)
    assert answers_in(cup / "run" / "run.sqlite") == answers_in(at_once / "run" / "run.sqlite")
    shutil.copy(cup / "bots" / "davey.c", cup / "bots" / "late.c")
    late = croupier("run", "-C", cup)
    told = 'late cannot join: stage "tables" has begun, and all bots play in every tourney'
    assert (late.code, late.first.partition(": ")[2]) == (3, told)


def test_a_bot_that_is_replaced_by_the_name_of_its_folder_keeps_its_own_name(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", CUP, 20, "ada")
    old, new = cup / "bots" / "mine", tmp_path / "new.py"
    old.mkdir()
    (old / "bot.toml").write_text('name = "Nestor"\n')
    for path in (old / "bot.py", new):
        path.write_text(PAZAAK_BOT.format(limit=15))
    replaced = croupier("add", new, "--replace", "mine", "--reason", "faster", "-C", cup, "--json")
    assert (replaced.code, replaced.json["rows"][0]["bot"]) == (0, "Nestor")
    assert sorted(path.name for path in (cup / "bots").glob("*.py")) == ["Nestor.py", "ada.py"]


@pytest.mark.long
def test_a_new_version_ends_as_if_it_had_played_from_the_beginning(tmp_path: Path) -> None:
    text = CUP + CROSS
    cup = cup_in(tmp_path / "cup", text, 20, "ada", "bob", "carl")
    at_once = cup_in(tmp_path / "at-once", text, 20, "ada", "carl")
    (at_once / "bots" / "bob.py").write_text(PAZAAK_BOT.format(limit=15))
    ran(cup)
    with reading(cup / "run" / "run.sqlite") as journal:
        seal, old = journal.seal(), journal.bots()["bob"]
    (tmp_path / "bob-2.py").write_text(PAZAAK_BOT.format(limit=15))
    new = ("add", tmp_path / "bob-2.py", "--replace", "bob", "-C", cup)
    assert croupier(*new).err.startswith("error[U001] --replace BOT needs --reason TEXT")

    replaced = croupier(*new, "--reason", "it  crashed")
    assert replaced.code == 0 and "reason: it crashed" in replaced.out
    assert [row["tables"] for row in rows_of(cup, "league")] == [20, 20, 0]
    (kept,) = (cup / "bots" / ".replaced").glob("*/bob.py")
    assert kept.read_text() == PAZAAK_BOT.format(limit=SUMS["bob"])
    ran(cup)
    ran(at_once)

    assert scores_in(cup) == scores_in(at_once)
    assert all(rows_of(cup, stage) == rows_of(at_once, stage) for stage in ("league", "course"))
    with reading(cup / "run" / "run.sqlite") as journal:
        assert (journal.bots(1)["bob"], journal.bots()["bob"].sha256 != old.sha256) == (old, True)
        assert len(journal.set_aside()) == 3
        assert all(each.sound for each in journal.entries())
    verified = croupier("verify", "-C", cup, "--seal", seal)
    assert verified.code == 0 and "a new version of bob plays again what the old one played" in verified.out
    again = croupier(*new, "--reason", "it crashed")
    assert (again.code, again.first) == (
        3,
        "error[R015] bob: cannot be replaced: the new version has the same files as the old one",
    )


FRAGILE = """import sys
for number, line in enumerate(sys.stdin):
    if {fails} and number % 40 == 7:
        sys.exit("a fault of version 1")
    print("STAND", flush=True)
"""


@pytest.mark.long
def test_the_evidence_of_a_replaced_version_can_be_read_and_asked_again(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", CUP, 20, "ada", "bob")
    (cup / "bots" / "bob.py").write_text(FRAGILE.format(fails=True))
    ran(cup)

    def faults(*words: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(croupier("faults", *words, "-C", cup, "--json").out)["rows"]
        return found

    (before,) = faults("bob")
    assert "a fault of version 1" in before["stderr"] and faults("bob", "--version", "1") == [before]
    (tmp_path / "bob-2.py").write_text(FRAGILE.format(fails=False))
    assert croupier("add", tmp_path / "bob-2.py", "--replace", "bob", "--reason", "fixed", "-C", cup).code == 0
    ran(cup)

    assert faults() == faults("bob") == faults("bob", "--version", "2") == []
    assert faults("bob", "--version", "1") == [before]
    assert croupier("faults", "bob", "--version", "3", "-C", cup).err.startswith(
        "error[U001] bob has no version 3: it has 2 versions"
    )
    assert "needs a bot" in croupier("faults", "--version", "1", "-C", cup).err
    (old,) = (cup / "bots" / ".replaced").glob("*/bob.py")
    where = f"fault:{before['fault']}"
    now, then = croupier("ask", where, "-C", cup), croupier("ask", old, where, "--same", "-C", cup)
    assert "STAND" in now.out and "a fault of version 1" in then.out


@pytest.mark.long
def test_a_new_version_in_another_language_keeps_the_fixtures_of_its_stage(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", CUP + CROSS, 200, "ada", "bob")
    ran(cup, "--stage", "league")
    with reading(cup / "run" / "run.sqlite") as journal:
        begun, paths, terms = journal.state().configs[0], set(journal.paths()), journal.seal()
    assert isinstance(begun, RoundRobin) and begun.fixture_tables == 1000  # Python
    assert len(paths) == 4
    source = tmp_path / "bob.c"
    source.write_text(
        '#include <stdio.h>\nint main(void) { char line[99]; while (fgets(line, 99, stdin)) { puts("END"); fflush(stdout); } }\n'
    )
    assert croupier("add", source, "--replace", "bob", "--reason", "faster", "-C", cup).code == 0
    left, _ = remaining(load(cup), ["ada", "bob"], SEED, cup / "run" / "run.sqlite")
    assert (left[0].fixtures, left[0].tables) == (4, 200)
    ran(cup)
    with reading(cup / "run" / "run.sqlite") as journal:
        assert journal.state().configs[0] == begun
        assert {path for path in journal.paths() if path.startswith("league")} == paths
        assert all(each.sound for each in journal.entries())
    assert croupier("verify", "-C", cup, "--seal", terms).code == 0


@pytest.mark.long
def test_a_bracket_takes_no_new_version(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", CUP + BRACKET, 20, "ada", "bob", "carl")
    (tmp_path / "bob-2.py").write_text(PAZAAK_BOT.format(limit=15))
    new = ("add", tmp_path / "bob-2.py", "--replace", "bob", "--reason", "it crashed", "-C", cup)
    early = croupier(*new, "--json")
    assert (early.code, early.json["change"]) == (0, None)
    assert (cup / "bots" / "bob.py").read_text() == PAZAAK_BOT.format(limit=15)
    ran(cup)
    before = scores_in(cup), sorted((cup / "bots").rglob("*"))
    (tmp_path / "bob-2.py").write_text(PAZAAK_BOT.format(limit=17))
    late = croupier(*new)
    told = 'error[R015] bob: cannot be replaced: stage "cup" has begun with the bots in the order of "league"'
    assert (late.code, late.first) == (3, told)
    assert (scores_in(cup), sorted((cup / "bots").rglob("*"))) == before
    ran(cup)
