"""The sums that a journal stores follow from its records: whatever changes, `status` shows what the records say."""

import random
import re
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest
from command import croupier, cup_in
from stage_configs import recorded, stage_of

from host.base.errors import UserError
from host.bots.values import Usage
from host.games import GAMES
from host.inspect.verify import verify
from host.journal.changes import Draft
from host.journal.reader import Journal, pack, reading
from host.journal.stage_sums import StageSums
from host.journal.state import RecordedBot, RunState, StageState, StageStatus
from host.journal.writer import SUMS_INTERVAL, writing
from host.play.records import Fixture, Record, Result
from host.results.standings import standings
from host.sandbox.levels import Level
from host.stages.kind import StageConfig
from host.stages.round_robin import RoundRobin
from host.tournament.progress import Progress, progress_text

BOTS = [f"b{number:02}" for number in range(64)]  # more than are ranked by strength while pairs are missing
PAIRS = list(combinations(BOTS, 2))
assert len(PAIRS) > 2 * SUMS_INTERVAL


def add(journal: Journal, pairs: Iterable[tuple[str, str]]) -> None:
    """Add a fixture of each pair to a journal, with results, faults and replays drawn by chance."""
    for pair in pairs:
        path = f"league/{'+'.join(pair)}/1"
        chance = random.Random(path)
        fixture = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "independent", path, pair, 9)
        won = chance.choice([0, 2, 9, 4.5, 10 / 3])
        results = {bot: Result(9, wins, 20, 0, 3, 1) for bot, wins in zip(pair, (won, 9 - won), strict=True)}
        faults = {pair[0]: {chance.choice(["timeout", "crash"]): chance.randrange(1, 9)}} if won == 2 else {}
        stalls = (f"{pair[1]} at table 3 waited",) if won == 9 else ()
        usage = dict.fromkeys(pair, Usage(10, 0.1, 0.01, 0.1, 1 << 20, 1, (10, *[0] * 25)))
        record = Record(path, results, faults, usage, (), (), b"", replayed=len(stalls), stalls=stalls)
        journal.add("league", record, fixture)


STAGES = [
    stage_of("round-robin"),
    stage_of("round-robin", rank_by=["wins", "score"]),
    stage_of("league", rank_by=[]),
    stage_of("mixed-tables"),
    stage_of("mixed-tables", mirror=True),
]


@pytest.mark.parametrize("stage", STAGES, ids=str)
def test_the_live_order_is_that_of_the_standings(stage: StageConfig) -> None:
    chance, bots, sums, records = random.Random(7), "cabd", StageSums(), list[Record]()
    for number, pair in enumerate(list(combinations(bots, 2)) * 4, 1):
        won, tables = chance.randrange(4), chance.choice([4, 8])
        scores = (3 * won, 40 - 3 * won)
        results = {
            bot: Result(tables, wins, score, 0, 9, chance.randrange(4) * 100)
            for bot, wins, score in zip(pair, (won, tables - won), scores, strict=True)
        }
        path = f"{stage.name}/{number}" if stage.kind == "mixed-tables" else f"{stage.name}/{'+'.join(pair)}/{number}"
        records.append(Record(path, results, {}, {}, (), (), b""))
        sums.add(records[-1])
        rows = [row for row in standings(stage, records, recorded(bots)) if row.tables]
        assert Progress(stage, 0, 0, None, bots).places(sums).rows == [
            (row.rank, row.bot, row.first.value) for row in rows
        ]


def test_bots_have_no_live_rank_where_something_else_decides() -> None:
    results = {bot: Result(9, wins, 900, 0, 500, 0) for bot, wins in (("ada", 5), ("bob", 4))}
    sums = StageSums()
    sums.add(Record("league/ada+bob/1", results, {}, {}, (), (), b""))
    for kind, rank_by in (("knockout", ["win_rate"]), ("swiss", ["sets"]), ("round-robin", ["win_rate", "elo"])):
        rows = Progress(stage_of(kind, rank_by=rank_by), 1, 1, None, ["ada", "bob"]).places(sums).rows
        assert [(rank, bot) for rank, bot, _ in rows] == [(None, "ada"), (None, "bob")]


@pytest.mark.parametrize(("kind", "told"), [("round-robin", "100 %"), ("swiss", "0 due"), ("knockout", "0 due")])
def test_a_stage_is_not_finished_by_its_known_fixtures_if_more_follow(kind: str, told: str) -> None:
    assert told in progress_text(Progress(stage_of(kind), 4, 4, None, "abcd"))


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a league that was interrupted twice."""
    cup = tmp_path_factory.mktemp("sums") / "cup"
    path = cup / "run" / "run.sqlite"
    with writing(path) as journal:
        config = RoundRobin(name="league", tables_per_pair=9)
        stages = [StageState(config, StageStatus.RUNNING, field=BOTS, known=len(PAIRS))]
        run = RunState(game="pazaak", name="Large", level=Level.L3, seed_sha256="0" * 64, stages=stages)
        journal.set_state(run)
        for name in BOTS:
            journal.add_bot(RecordedBot(name, "0" * 64, "c", "somebody"))
        add(journal, PAIRS[:1500])
    with writing(path) as journal:
        add(journal, PAIRS[1500:-5])
    return cup


@pytest.fixture
def league(large: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder of the league."""
    return shutil.copytree(large, tmp_path / "cup")


def stored_sums(cup: Path) -> list[tuple[int, int]]:
    """Return the last fixture and the number of changes of the stored sums."""
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database:
        return database.execute("SELECT fixture, changes FROM summed").fetchall()


def change_database(cup: Path, statement: str, *values: object) -> None:
    """Change a journal behind croupier's back."""
    with closing(sqlite3.connect(cup / "run" / "run.sqlite")) as database, database:
        database.execute(statement, values)


def assert_sums_follow_from_records(cup: Path) -> None:
    """Check that the sums are those of the records, and that `status` prints the same without stored sums."""
    with reading(cup / "run" / "run.sqlite") as journal:
        sums = StageSums()
        for _, record in journal.records_since("league"):
            sums.add(record)
        assert journal.sums("league") == sums
        assert list(journal.wrong_sums()) == []
    shown = croupier("status", "-C", cup)
    assert (shown.code, shown.err) == (0, "") and "repeated" in shown.out and "timeout" in shown.out
    bare = shutil.copytree(cup, cup.with_name("bare"))
    change_database(bare, "DELETE FROM summed")
    assert croupier("status", "-C", bare).out == shown.out
    shutil.rmtree(bare)


@pytest.mark.long
def test_the_sums_of_a_resumed_run_follow_from_its_records(league: Path) -> None:
    assert stored_sums(league) == [(2000, 0)]
    assert_sums_follow_from_records(league)


def test_the_sums_follow_from_the_records_after_every_change(league: Path) -> None:
    path, last = league / "run" / "run.sqlite", len(PAIRS) - 5
    with writing(path) as journal:
        again = [journal.path_of(number) or "" for number in (7, 1999, 2005)]
        journal.change(Draft("redo", again[0], "power cut", "league", set_aside=again))
    assert stored_sums(league) == [(last, 1)]
    assert_sums_follow_from_records(league)
    with writing(path) as journal:
        add(journal, [PAIRS[6], PAIRS[-1]])
    assert_sums_follow_from_records(league)
    with writing(path) as journal:
        journal.change(Draft("withdraw", "b07", "it cheats"))
    assert stored_sums(league) == [(last + 2, 2)]
    assert_sums_follow_from_records(league)
    with writing(path) as journal:
        add(journal, PAIRS[-4:-1])
        journal.change(Draft("readmit", "b07", "it did not"))
    assert_sums_follow_from_records(league)


def test_sums_of_an_older_croupier_do_not_count_after_a_change(league: Path) -> None:
    with writing(league / "run" / "run.sqlite") as journal:
        journal.change(Draft("redo", "-", "power cut", "league", set_aside=[journal.path_of(3) or ""]))
    change_database(league, "UPDATE summed SET changes = 0, fixture = 2000")  # it did not store them again
    assert_sums_follow_from_records(league)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sums", b"\xff"),
        ("sums", pack({"bots": {"b01": (0, 1.0, 1, 1, 1)}})),
        ("sums", "text"),
        ("fixture", "text"),
        ("fixture", None),
    ],
)
def test_damaged_sums_are_refused(column: str, value: object, league: Path) -> None:
    change_database(league, "ALTER TABLE summed RENAME TO sound")
    change_database(league, "CREATE TABLE summed AS SELECT * FROM sound")  # without constraints
    change_database(league, f"UPDATE summed SET {column} = ?", value)
    shown = croupier("status", "-C", league)
    assert shown.code == 3 and "is damaged" in shown.err


def test_the_error_about_damaged_scores_names_the_journal(league: Path) -> None:
    path = league / "run" / "run.sqlite"
    change_database(league, "UPDATE record SET scores = x'00' WHERE fixture = 1")
    with reading(path) as journal, pytest.raises(UserError, match=re.escape(f"{path}: is damaged")):
        journal.full_record(journal.path_of(1) or "")


def test_sums_of_another_form_do_not_count(league: Path) -> None:
    change_database(league, "UPDATE summed SET sums = ?", pack({"wins": {"b01": (1, 1.0, 1.0)}, "asked": {"b01": 1}}))
    assert_sums_follow_from_records(league)


@pytest.mark.long
def test_verify_finds_wrong_sums(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", tourneys=2)
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    path = cup / "run" / "run.sqlite"
    with reading(path) as journal:
        right = journal.sums("tables")
    change_database(cup, "INSERT INTO summed VALUES ('tables', 2, 0, ?)", pack(right))
    with reading(path) as journal:
        assert verify(journal).differences == []
    right.bots["davey"] = right.bots["davey"]._replace(score=10**9)
    right.asked["davey"] = 10**9
    change_database(cup, "UPDATE summed SET sums = ?", pack(right))
    assert croupier("status", "-C", cup).code == 0
    with reading(path) as journal:
        assert verify(journal).differences == ["tables: its stored sums are not those of its records"]
