"""Changes of a run are appended, sealed and shown; nothing that was recorded is deleted."""

import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command import MEASURED, answers_in, croupier, cup_in
from stage_configs import stage_of
from test_run import Running

from host.base.errors import UserError
from host.games import GAMES
from host.inspect.verify import verify
from host.journal.changes import WITHDRAW, Draft
from host.journal.reader import reading
from host.journal.state import RecordedBot, RunState, RunStatus, StageState, StageStatus
from host.journal.writer import writing
from host.play.records import Fixture, Undecided, undecided_record
from host.results.course import Played, course
from host.stages import KINDS
from host.stages.kind import Field
from host.stages.round_robin import RoundRobin
from host.tournament.corrections import may_be_tried_again
from host.tournament.entries import swapped


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished tournament."""
    cup = cup_in(tmp_path_factory.mktemp("changes") / "cup", tourneys=3)
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    return cup


@pytest.fixture
def journal(finished: Path, tmp_path: Path) -> Path:
    """Return the journal of a copy of the finished tournament."""
    return shutil.copytree(finished, tmp_path / "cup") / "run" / "run.sqlite"


@pytest.mark.long
def test_a_fixture_that_is_set_aside_does_not_count_and_is_played_again(journal: Path) -> None:
    before, cup = answers_in(journal), journal.parents[1]
    with reading(journal) as book:
        published = book.seal()
    with writing(journal) as book:
        change = book.change(Draft("redo", "tables/2", "power cut", "tables", set_aside=["tables/2"]))
        assert (change.number, change.after, book.seal()) == (1, 3, change.seal)
        assert book.paths() == ["tables/1", "tables/3"]
        book.set_stage("tables", StageStatus.RUNNING)
        book.set_status(RunStatus.INTERRUPTED)
    assert croupier("run", "-C", cup, "--workers", 1).code == 0
    assert answers_in(journal) == before
    with reading(journal) as book:
        assert [entry.name for entry in book.entries() if entry.kind in ("fixture", "change")] == [
            *("tables/1", "tables/2", "tables/3"),
            "change 1",
            "tables/2",
        ]
        assert all(entry.sound for entry in book.entries())
        audit = verify(book, published=published)
        assert (audit.tables, audit.differences, audit.sealed, audit.since) == (20, [], 3, 1)
        assert list(audit.changes) == book.changes() == [change]
    told = croupier("verify", "-C", cup, "--seal", published)
    assert told.code == 0
    assert "then changed:" in told.out
    assert "tables/2 no longer counts and is played again with the same cards; reason: power cut" in told.out


def test_a_fixture_that_another_change_sets_aside_is_found(journal: Path) -> None:
    with writing(journal) as book:
        book.set_stage("tables", StageStatus.RUNNING)
        book.set_status(RunStatus.INTERRUPTED)
        book.change(Draft("withdraw", "davey", "author's wish", set_aside=["tables/2"]))
        assert verify(book).differences == ["tables/2: it was set aside, and no change says so"]


def test_a_change_is_written_completely_or_not_at_all(journal: Path) -> None:
    with writing(journal) as book:
        with pytest.raises(UserError, match="tables/9: has not been played"):
            book.change(Draft("redo", "tables/9", "no reason", set_aside=["tables/1", "tables/9"]))
        assert (book.paths(), book.changes()) == (["tables/1", "tables/2", "tables/3"], [])


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE change SET reason = 'another'",
        "UPDATE change SET at = at + 1",
        "UPDATE change SET after = 2",
        "UPDATE set_aside SET fixture = 1",
        "DELETE FROM set_aside",
        "DELETE FROM change",
        "UPDATE version SET sha256 = 'another' WHERE id = 1",
        "DELETE FROM version WHERE id = 1",
        "UPDATE version SET replaces = NULL",
    ],
)
def test_a_change_that_was_changed_is_found(damage: str, journal: Path) -> None:
    with writing(journal) as book:
        former = book.bots()["davey"]
        draft = Draft("redo", "tables/3", "power cut", set_aside=["tables/3"])
        book.set_stage("tables", StageStatus.RUNNING)
        book.set_status(RunStatus.INTERRUPTED)
        book.change(draft, lambda: book.add_bot(former._replace(sha256="f00d")))
        assert book.bots()["davey"].sha256 == "f00d"
        assert book.bots(3)["davey"] == former
        assert verify(book).differences == []
    with closing(sqlite3.connect(journal)) as database:
        database.execute(damage)
        database.commit()
    try:
        with reading(journal) as book:
            assert verify(book).differences
    except UserError as refused:
        assert "damaged" in str(refused)


# The commands.


PAZAAK = ("dumb_bold", "dumb_cautious", "hk_47", "neptr")


def pazaak(place: Path, stages: str, bots: tuple[str, ...] = PAZAAK) -> Path:
    """Create a tournament of sample bots with these stages; return its folder."""
    place.mkdir()
    named = ", ".join(f'"sample:{bot}"' for bot in bots)
    limits = '[limits]\nmove = "10 s"\ncpu = "10 s"\n'
    (place / "croupier.toml").write_text(f'game = "pazaak"\nseed = "a seed"\nbots = [{named}]\n{stages}\n{limits}')
    return place


LEAGUE = '[[stage]]\nkind = "round-robin"\nname = "league"\ntables_per_pair = 20\npractice = true\n'
CUP = '[[stage]]\nkind = "knockout"\nname = "cup"\nset = 20\nfirst_to = 1\nmin_bots = 4\npractice = true\n'


def play(cup: Path, *words: object) -> None:
    """Play a tournament to its end."""
    done = croupier("run", "-C", cup, "--workers", 1, *words)
    assert done.code == 0, done.err


def rows(cup: Path, *words: object) -> Any:
    """Return the standings without what was measured."""
    told = croupier("standings", *words, "-C", cup, "--json").json
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in told["rows"]]


@pytest.mark.long
def test_redo_gives_the_same_cards_and_withdraw_and_undo_give_the_same_standings(tmp_path: Path) -> None:
    cup = pazaak(tmp_path / "cup", LEAGUE)
    play(cup)
    journal = cup / "run" / "run.sqlite"
    before, answers = rows(cup), answers_in(journal)
    with reading(journal) as book:
        published = book.seal()

    pair = "league/hk_47+dumb_bold"  # either order of the bots is understood
    planned = croupier("redo", pair, "--reason", "power cut", "-C", cup, "--dry-run").out
    assert planned.startswith("nothing has been") and ", 20 tables: the record is kept" in planned, planned
    assert f"\n  croupier -C {cup} run plays it again with the same seed path" in planned
    assert answers_in(journal) == answers
    done = croupier("redo", pair, "--reason", "power  cut", "-C", cup, "--json").json
    assert (done["changed"], done["next"], done["change"]["reason"]) == (True, "croupier run", "power cut")
    assert len(answers_in(journal)) == len(answers) - 1
    assert croupier("standings", "-C", cup).out.count("reason: power cut") == 1
    play(cup)
    assert answers_in(journal) == answers
    assert rows(cup) == before

    done = croupier("withdraw", "neptr", "--reason", "author's wish", "-C", cup)
    assert "league: it is ranked last; its 60 tables no longer count" in done.out
    assert "continue with" not in done.out
    last = rows(cup)[-1]
    assert (last["bot"], last["rank"], last["tables"], last["withdrawn"]) == ("neptr", 4, 0, True)
    assert [row["tables"] for row in rows(cup)[:-1]] == [40, 40, 40]
    assert croupier("verify", "-C", cup).code == 0
    undo_first = croupier("redo", "league/hk_47+neptr", "--reason", "x", "-C", cup)
    assert undo_first.first.endswith("neptr is withdrawn, so this is not played any more")
    again = croupier("withdraw", "neptr", "--reason", "again", "-C", cup)
    assert again.first == "error[R015] neptr: is already withdrawn"
    assert croupier("withdraw", "neptr", "--undo", "--reason", "a mistake", "-C", cup).code == 0
    assert rows(cup) == before

    told = croupier("verify", "-C", cup, "--seal", published)
    assert told.code == 0
    assert [line.partition("reason: ")[2] for line in told.out.splitlines()[-3:]] == [
        "power cut",
        "author's wish",
        "a mistake",
    ]
    for shown in ("status", "standings"):
        assert croupier(shown, "-C", cup).out.count("reason: ") == 3
        assert len(croupier(shown, "-C", cup, "--json").json["changes"]) == 3
    assert croupier("report", "-C", cup, "-o", tmp_path / "report.html").code == 0
    assert (tmp_path / "report.html").read_text().count("author&#39;s wish") == 1


@pytest.mark.long
def test_a_bot_that_is_withdrawn_on_the_way_plays_no_more_and_undo_plays_what_it_missed(tmp_path: Path) -> None:
    cup, whole = pazaak(tmp_path / "cup", LEAGUE), pazaak(tmp_path / "whole", LEAGUE)
    play(whole)
    journal = cup / "run" / "run.sqlite"
    stopped = Running(cup, 1)
    stopped.wait_until(stopped.finished)
    refused = croupier("withdraw", "neptr", "--reason", "x", "-C", cup)
    stopped.process.kill()
    stopped.process.wait()
    if refused.code:  # the run may have ended before
        assert refused.first.startswith("error[R003]")
        assert croupier("withdraw", "neptr", "--reason", "x", "-C", cup).code == 0
    before = answers_in(journal)
    play(cup)
    new = answers_in(journal).keys() - before.keys()
    assert not any("neptr" in path for path in new)
    assert croupier("verify", "-C", cup).code == 0
    croupier("withdraw", "neptr", "--undo", "--reason", "x", "-C", cup)
    play(cup)
    assert answers_in(journal) == answers_in(whole / "run" / "run.sqlite")
    assert rows(cup) == rows(whole)
    assert croupier("verify", "-C", cup).code == 0


@pytest.mark.long
def test_what_others_depend_on_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    cup = pazaak(tmp_path / "cup", LEAGUE + CUP)
    play(cup)
    journal = cup / "run" / "run.sqlite"
    before = answers_in(journal)
    ties = [path for path in before if path.startswith("cup/")]
    earlier = croupier("redo", "league/dumb_bold+neptr", "--reason", "x", "-C", cup)
    assert earlier.first == (
        "error[R015] league/dumb_bold+neptr: cup has begun, and this result has decided which bots play there"
    )
    refused = croupier("redo", ties[0], "--reason", "x", "-C", cup)
    assert refused.code == 3
    assert "was played because of this result" in refused.first
    assert ' redo "cup/' in refused.err  # what is possible instead
    assert croupier("redo", "cup/none", "--reason", "x", "-C", cup).code == 3
    missing = croupier("redo", ties[-1], "-C", cup)
    assert missing.code == 2
    assert "--reason is missing" in missing.first
    assert "--reason" in missing.err.splitlines()[1]
    assert croupier("redo", ties[-1], "--reason", " ", "-C", cup).code == 2
    with writing(journal):  # as a run does while it plays
        for words in (["redo", ties[-1]], ["withdraw", "neptr"]):
            busy = croupier(*words, "--reason", "x", "-C", cup)
            assert (busy.code, busy.first[:11]) == (5, "error[R003]")
    assert answers_in(journal) == before
    places = rows(cup, "cup")
    assert croupier("redo", ties[-1], "--reason", "x", "-C", cup).code == 0
    refused = croupier("withdraw", "neptr", "--reason", "x", "-C", cup)
    assert refused.first.startswith("error[R015] neptr: cup is under way")
    play(cup)
    assert answers_in(journal) == before
    assert rows(cup, "cup") == places
    winner = places[0]["bot"]
    done = croupier("withdraw", winner, "--reason", "x", "-C", cup)
    assert "cup: it is ranked last; its tables stay" in done.out
    assert [row["bot"] for row in rows(cup, "cup")] == [*(row["bot"] for row in places[1:]), winner]
    assert croupier("verify", "-C", cup).code == 0
    croupier("withdraw", winner, "--undo", "--reason", "x", "-C", cup)
    assert rows(cup, "cup") == places
    assert croupier("verify", "-C", cup).code == 0


@pytest.mark.long
def test_bots_whose_ties_are_set_aside_share_the_first_ranks(tmp_path: Path) -> None:
    cup = pazaak(tmp_path / "cup", CUP + 'places = "first"\n')
    play(cup)
    before = rows(cup)
    with reading(cup / "run" / "run.sqlite") as book:
        first, second, final = dict.fromkeys(path.rpartition("/set ")[0] for path in book.paths())
    for tie in (final, second):
        assert croupier("redo", tie, "--reason", "power cut", "-C", cup).code == 0
    (lost,) = (bot for bot in PAZAAK if bot in first and bot not in (before[0]["bot"], before[1]["bot"]))
    assert {row["bot"]: row["rank"] for row in rows(cup)} == dict.fromkeys(PAZAAK, 1) | {lost: 4}
    with reading(cup / "run" / "run.sqlite") as book:
        assert book.state().stage("cup").places == ()
    play(cup)
    assert rows(cup) == before
    assert croupier("verify", "-C", cup).code == 0


@pytest.mark.long
def test_a_bot_that_is_withdrawn_before_a_stage_does_not_play_there(tmp_path: Path) -> None:
    cup = pazaak(tmp_path / "cup", LEAGUE + CUP.replace("min_bots = 4", "min_bots = 2"))
    play(cup, "--stage", "league")
    assert "it does not play in cup" in croupier("withdraw", "neptr", "--reason", "x", "-C", cup).out
    play(cup)
    paths = [path for path in answers_in(cup / "run" / "run.sqlite") if path.startswith("cup/")]
    assert paths
    assert not any("neptr" in path for path in paths)
    assert croupier("verify", "-C", cup).code == 0
    undone = croupier("withdraw", "neptr", "--undo", "--reason", "x", "-C", cup)
    assert "cup began without it" in undone.out
    assert croupier("verify", "-C", cup).code == 0


LEAVABLE = [kind for kind in KINDS if KINDS[kind].changes.leavable]


BLANK = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "", "", (), 0)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind", LEAVABLE)
def test_a_stage_goes_on_with_the_same_fixtures_when_a_bot_leaves_it(kind: str, early: bool) -> None:
    keys: dict[str, Any] = {"references": ["one"]} if KINDS[kind].references else {}
    keys |= {"meetings": ["9 A / B", "9 C / D", "9 D / A"]} if kind == "pairs" else {}
    stage, bots = stage_of(kind, **keys), ["A", "B", "C", "D", "E", "F", "G"]
    field = Field(bots, b"seed", early)
    whole = KINDS[kind].due(stage, BLANK, field, {})
    without = field._replace(withdrawn=["B", "G"])
    left = KINDS[kind].due(stage, BLANK, without, {})
    assert left == [fixture for fixture in whole if not {"B", "G"} & {*fixture.bots}]
    assert 0 < len(left) < len(whole)
    records = {each.path: undecided_record(each.path, each.bots, Undecided("it died")) for each in whole}
    del records[next(path for path, record in records.items() if "B" in record.results)]  # it was set aside
    agenda = KINDS[kind].agenda(stage, BLANK, without, records)
    while due := agenda.next():
        assert not {"B", "G"} & {*due.fixture.bots}
        records[due.fixture.path] = undecided_record(due.fixture.path, due.fixture.bots, Undecided("it died"))
        agenda.played(due.fixture.path)
    assert agenda.known == len(records)


def test_a_bot_that_is_withdrawn_after_undecided_fixtures_alone_has_begun_the_stage(tmp_path: Path) -> None:
    fixture = BLANK._replace(path="league/A+B/1", bots=("A", "B"), tables=9)
    with writing(tmp_path / "run.sqlite") as book:
        stages = [StageState(stage_of("round-robin", name="league")), StageState(stage_of("swiss"))]
        book.set_state(RunState(game="pazaak", stages=stages))
        for bot in "ABC":
            book.add_bot(RecordedBot(bot))
        book.change(Draft(WITHDRAW, "C", "before"))
        book.add_undecided("league", undecided_record(fixture.path, fixture.bots, Undecided("it died")), fixture)
        book.change(Draft(WITHDRAW, "A", "afterwards"))
        first, second = (stage.withdrawn for stage in book.state().stages)
        assert (first.before, first.during) == ({"C"}, {"A", "C"})
        assert second.before == {"A", "C"}


def test_an_undecided_fixture_on_which_one_of_a_withdrawn_bot_depends_is_not_played_again(tmp_path: Path) -> None:
    stage, bots = stage_of("swiss", rounds=2, tables_per_pairing=2), [*"ABCD"]
    with writing(tmp_path / "run.sqlite") as book:
        book.set_state(RunState(game="pazaak", stages=[StageState(stage, StageStatus.RUNNING, field=bots)]))
        for bot in bots:
            book.add_bot(RecordedBot(bot))
        played, fixtures = Played(book.stage_records, book.sizes), list[Fixture]()
        for _ in range(2):
            for each in course(book.state(), book.bots(), b"seed", played, BLANK)[0].due:
                book.add_undecided("swiss", undecided_record(each.path, each.bots, Undecided("it died")), each)
                fixtures.append(each)
        book.set_stage("swiss", StageStatus.FINISHED)
        _, second, *round_2 = fixtures
        assert may_be_tried_again(book, b"seed") == [each.path for each in round_2]
        for bot in second.bots:
            book.change(Draft(WITHDRAW, bot, "because"))
        assert not any({*second.bots}.isdisjoint(each.bots) for each in round_2)
        assert may_be_tried_again(book, b"seed") == []  # the first fixture of round 1 has decided who met in round 2


def test_more_tables_are_played_beside_an_undecided_fixture(tmp_path: Path) -> None:
    stage = RoundRobin(name="league", tables_per_pair=9)
    fixture = BLANK._replace(path="league/A+B/1", bots=("A", "B"), tables=9)
    with writing(tmp_path / "run.sqlite") as book:
        book.set_state(RunState(game="pazaak", stages=[StageState(stage)]))
        for bot in "AB":
            book.add_bot(RecordedBot(bot))
        book.add_undecided("league", undecided_record(fixture.path, fixture.bots, Undecided("it died")), fixture)
        field, more = Field(["A", "B"], b"seed", kept=book.sizes("league")), replace(stage, tables_per_pair=12)
        (due,) = KINDS["round-robin"].due(more, BLANK, field, book.stage_records("league"))
        assert (due.path, due.first, due.tables) == ("league/A+B/10", 10, 3)


@pytest.mark.timing
def test_a_league_of_which_every_fixture_is_undecided_is_resumed_in_seconds(tmp_path: Path) -> None:
    bots = [f"b{number:02}" for number in range(64)]
    stage = RoundRobin(name="league", tables_per_pair=9)
    field, began = Field(bots, b"seed"), time.monotonic()
    with writing(tmp_path / "run.sqlite") as book:
        book.set_state(RunState(game="pazaak", stages=[StageState(stage, StageStatus.RUNNING, field=bots)]))
        for bot in bots:
            book.add_bot(RecordedBot(bot))
        paths = []
        for fixture in KINDS["round-robin"].due(stage, BLANK, field, {}):
            book.add_undecided("league", undecided_record(fixture.path, fixture.bots, Undecided("it died")), fixture)
            paths.append(fixture.path)
        assert len(paths) == 2016
        assert may_be_tried_again(book, b"seed") == paths
    assert time.monotonic() - began < 20


def test_files_that_were_swapped_are_moved_back_if_what_follows_fails(tmp_path: Path) -> None:
    old, new = tmp_path / "bots" / "ada.py", tmp_path / "taken" / "ada.c"
    for path, content in ((old, "old"), (new, "new")):
        path.parent.mkdir()
        path.write_text(content)
    with pytest.raises(OSError, match="full"), swapped(old, new):
        assert (old.parent / "ada.c").read_text() == "new" and not old.exists()
        raise OSError("the disk is full")
    assert (old.read_text(), new.read_text()) == ("old", "new")
    with swapped(old, new):
        pass
    assert [path.read_text() for path in sorted(tmp_path.rglob("ada.*"))] == ["old", "new"]
