"""The report: one file that describes a run, in which text from bots can do no harm."""

import base64
import contextlib
import csv
import gzip
import html
import io
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import click
import command as command_line
import pytest
from click.testing import CliRunner, Result
from command import croupier
from helpers import breadth

from host.base.errors import UserError
from host.bots.values import Evidence
from host.cli import CliContext, group
from host.inspect.faults import fault_groups
from host.inspect.recorded import known_seed, load_fixture
from host.inspect.table_replays import ReplayedTable, TableRef, find, gzip_base64, load, to_json
from host.inspect.visibility import Visible, visible
from host.journal.changes import WITHDRAW, Draft
from host.journal.reader import Journal, reading
from host.journal.state import RunStatus, Terms
from host.journal.writer import writing
from host.report.anonymize import numbered
from host.report.bracket_chart import drawings
from host.report.charts import bars, nearest, scale
from host.report.export import write_csv, write_events, write_playlog
from host.report.html_file import report_of
from host.report.listings import by_bot, by_pair, of_all_stages, results_of
from host.report.offers import Highlight, Offers, Quota
from host.report.page import Detail, Page, file_policy
from host.report.stage_results import with_pairs
from host.report.summary import RunSummary, summarize
from host.report.timelines import chips
from host.results.course import positions_of
from host.stages import CROUPIERS
from host.stages.kind import Kind
from host.web.live import DOCUMENTS, api_document
from tests.browser import games
from tests.browser.games import EVIL, SEED, spoilt

GAMES = tuple(games.KINDS)


@pytest.fixture(scope="module", params=breadth(GAMES, 3))
def journal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run of each game."""
    rules = {"rounds": 6} if request.param == "holdem" else {}
    return games.played(tmp_path_factory.mktemp(request.param), request.param, **rules)


def report(journal: Path, most: int = 20) -> str:
    """Return the report of a journal."""
    with reading(journal) as book:
        return report_of(book, Quota(most))[0]


def offered(book: Journal, seen: Visible, most: int, at_most: int = 0) -> list[TableRef]:
    """Return the tables that a page of a journal offers."""
    return Offers(book, summarize(book, SEED), seen).choose(SEED, Quota(most, at_most))


class Elements(HTMLParser):
    """The parsed elements of a page and their ids."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add an element."""
        self.found.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id" and value]


def test_a_report_has_no_script_but_our_own_two(journal: Path) -> None:
    scripts = [facts for tag, facts in Elements(report(journal)).found if tag == "script"]
    assert [facts for facts in scripts if facts.get("type") != "application/octet-stream"] == [{}, {}]


def test_a_bots_words_make_no_element(journal: Path) -> None:
    assert not [tag for tag, _ in Elements(report(journal)).found if tag in ("img", "b", "iframe") and tag != "b"]


def test_no_element_carries_a_handler_or_a_style(journal: Path) -> None:
    names = {key for _, facts in Elements(report(journal)).found for key in facts}
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_a_report_loads_nothing(journal: Path) -> None:
    found = Elements(report(journal)).found
    loads = [value or "" for _, facts in found for key, value in facts.items() if key in ("src", "href")]
    assert all(value.startswith(("#", "data:")) for value in loads)


def test_no_control_character_reaches_a_page(journal: Path) -> None:
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", report(journal))


def test_the_policy_allows_our_scripts_by_their_hashes_alone() -> None:
    assert "unsafe" not in file_policy() and file_policy().count("'sha256-") == 3


def test_every_link_within_a_report_leads_somewhere(journal: Path) -> None:
    page = Elements(report(journal))
    inside = {facts["href"] or "" for tag, facts in page.found if tag == "a" and "href" in facts}
    assert {link[1:] for link in inside if not link.startswith("#r=")} <= set(page.ids)


def test_every_id_is_one(journal: Path) -> None:
    ids = Elements(report(journal)).ids
    assert len(ids) == len(set(ids))


def test_a_report_names_every_bot_and_its_rate(journal: Path) -> None:
    with reading(journal) as book:
        told = summarize(book, SEED)
    page = report(journal)
    assert all(f'id="bot-{bot.number}"' in page for bot in told.bots) and "95 % confidence interval" in page


def test_the_first_sentence_says_who_won_and_how_sure_that_is(journal: Path) -> None:
    with reading(journal) as book:
        told = summarize(book, SEED)
    assert told.stage and told.stage.rows[0].bot in told.sentence and re.search(r"% sure|may be luck", told.sentence)


def test_commands_and_pages_show_the_same_standings_in_every_medium(journal: Path) -> None:
    with reading(journal) as book:
        position = positions_of(book)[-1]
        summary = summarize(book, SEED)
        stage = summary.stages[-1]
        results = results_of(book, position)
        results = results._replace(stage=with_pairs(results.stage, position))
        listings = [by_bot(results), by_pair(results), of_all_stages(positions_of(book))]
    alone = results.stage._replace(picture=stage.picture)  # groups mark the bots that have played later
    assert alone == stage._replace(head_to_heads=(), ranks=None)
    for name, listing in (("standings", listings[0]), ("pairs", listings[1])):
        served, printed = api_document(name, summary, [])["stages"][-1], {**listing.json()}
        assert served.keys() == printed.keys()
        assert [served[key] for key in ("rows", "sure", "seal", "seed")] == [
            printed[key] for key in ("rows", "sure", "seal", "seed")
        ]
    for listing in listings:
        sheet = list(csv.DictReader(io.StringIO(listing.csv())))
        told, lines = listing.json()["rows"], "".join(listing.text()).split("\n")
        assert len(told) == len(sheet)
        if listing.schema == "pairs":  # one line has all results of a bot
            assert len(lines) > 1 or not told
        else:
            assert told and len(lines) > len(told)
        for key in ("bot", "against"):
            assert [row.get(key) for row in told] == [row.get(key) for row in sheet]


def tables_in(page: str) -> list[str]:
    """Return the tables contained in a page, decompressed."""
    data = re.findall(r'class="table" data-name="[^"]*">([^<]*)<', page)
    return [gzip.decompress(base64.b64decode(each)).decode() for each in data]


def test_replays_open_again_as_they_were_packed(journal: Path) -> None:
    opened = list(map(json.loads, tables_in(report(journal))))
    assert opened and all(table["v"] == 1 and table["rows"][-1][1:] for table in opened)


def test_the_same_journal_gives_the_same_replays(journal: Path) -> None:
    with reading(journal) as book:
        place = offered(book, shown("league"), 1)[0]
        (one,), (other,) = (list(load(book, SEED, place.fixture, [place.nth])) for _ in range(2))
    assert gzip_base64(to_json(one)) == gzip_base64(to_json(other))


def test_every_table_worth_seeing_is_found_by_its_name(journal: Path) -> None:
    with reading(journal) as book:
        places = offered(book, shown("league"), 20)
        assert [find(book, place.name) for place in places] == [TableRef(*place[:3]) for place in places]


@pytest.mark.parametrize(
    "name", ["", "nothing", "../../etc/passwd", "league/0", "league/1/0", "league/1/-1", "league/1/999"]
)
def test_a_name_that_is_no_tables_finds_nothing(journal: Path, name: str) -> None:
    with reading(journal) as book:
        assert find(book, name) is None


def test_a_report_says_how_much_would_make_the_order_certain(tmp_path: Path) -> None:
    page = report(games.played(tmp_path, "pazaak", 40))
    assert re.search(
        r"certain at about [\d\u202f]+ tables a pair, now 40|certain only at more than a hundred times", page
    )


def test_a_packed_table_has_all_its_questions(journal: Path) -> None:
    with reading(journal) as book:
        place = offered(book, shown("league"), 1)[0]
        (table,) = load(book, SEED, place.fixture, [place.nth])
    asked = [facts["q"] for ev, facts in table.events if ev == "ask" and "q" in facts]
    columns = [column.split("\n") for column in to_json(table)["questions"]]
    assert [" ".join(fields) for fields in zip(*columns, strict=True)] == asked


def test_every_decision_of_a_first_table_comes_with_its_time(journal: Path) -> None:
    with reading(journal) as book:
        (table,) = load(book, SEED, book.paths()[0], [0])
    wall, cpu = to_json(table)["took"]
    assert len(wall) == len(cpu) == len(to_json(table)["questions"][0].split("\n"))
    assert wall == pytest.approx([table.times[number][0] for number in range(1, len(wall) + 1)], rel=0.06)


def test_evidence_of_a_fault_is_shown_harmless(journal: Path) -> None:
    page = report(journal)
    assert r"\x1b[31mred\x1b[0m\x07 &lt;/script&gt;" in page and "killed by signal 11" in page


OWN_NUMBER = re.compile(r"league/[^/\"<]+/[0-9]")  # the name of a table, or of a fixture, when its stage is over


def shown(*stages: str) -> Visible:
    """Return the permission to see everything of these stages."""
    return Visible(frozenset(stages), frozenset())


def test_a_benching_stands_beside_the_time_outs_that_caused_it(tmp_path: Path) -> None:
    path, bots = tmp_path / "run" / "run.sqlite", ("ada", "grace", "hal")
    games.begin(path, "pazaak", bots)
    faults = [
        {"ada": {"timeout": 20, "benched": 300, "illegal": 7}, "grace": {"crash": 50}},
        {"ada": {"timeout": 3}, "hal": {"illegal": 9}},
        {"grace": {"timeout": 60}, "hal": {"crash": 20, "benched": 10}},
    ]
    with writing(path) as journal:
        for fixture, told in zip(games.fixtures("pazaak", "league", bots, 1), faults, strict=True):
            journal.add("league", games.recorded(fixture)._replace(faults=told), fixture)
    summary = told_of(path)
    rows = [(group.bot, group.kind, group.times, dict(group.after)) for group in summary.faults]
    assert rows == [
        ("ada", "timeout", 23, {}),
        ("ada", "benched", 300, {"timeout": 20}),
        ("grace", "timeout", 60, {}),
        ("grace", "crash", 50, {}),
        ("hal", "crash", 20, {}),
        ("hal", "benched", 10, {"crash": 20}),
        ("hal", "illegal", 9, {}),
        ("ada", "illegal", 7, {}),
    ]
    page = report(path)
    shown = page[page.index('id="faults"') :]
    assert "not asked any more after timeout ×20<" in shown and "No evidence was recorded.</p>" in shown
    assert shown.index("×23") < shown.index("×300") < shown.index("×60")
    with reading(path) as book:
        groups = fault_groups(book)
    assert [(group.bot, group.kind) for group in groups] == [row[:2] for row in rows]
    lines = [line for group in groups for line in group.text("", verbose=False)]
    assert lines[1] == "ada  benched  ×300  (not asked any more after timeout ×20)"


def test_the_tables_of_fixtures_that_are_over_can_be_watched_while_their_stage_runs(tmp_path: Path) -> None:
    page = report(games.played(tmp_path, "pazaak", state="running"))
    assert page.count('class="table"') == 18 and 'data-name="league/glaucus+nestor/fixture 5/3"' in page
    assert "question 3 of" not in page and SEED.hex() not in page and not OWN_NUMBER.search(page)


def test_a_table_of_a_running_stage_has_its_cards_and_nothing_else_that_bots_wrote(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", state="running")
    with reading(path) as book:
        early = [table for each in book.paths() for table in load(book, SEED, each)]
    games.finish(path)
    with reading(path) as book:
        late = [table for each in book.paths() for table in load(book, SEED, each)]
    dealt = [[event for event in table.events if event.ev in ("deal", "ask")] for table in early]
    assert dealt == [[event for event in table.events if event.ev in ("deal", "ask")] for table in late]
    answers = {event.facts["a"] for table in early for event in table.events if event.ev == "answer"}
    assert "(crash)" in answers and not any("signal" in answer for answer in answers)
    assert not any(table.evidence or table.times for table in early) and any(table.evidence for table in late)


@pytest.mark.parametrize("said", [True, False])
def test_a_table_that_shares_its_deal_is_secret_whatever_its_stage_says(said: bool, tmp_path: Path) -> None:
    with reading(games.mirrored(tmp_path, said=said)) as book:
        for path in book.paths():
            with pytest.raises(UserError, match="secret"):
                next(load(book, SEED, path))


def test_a_kind_that_declares_nothing_keeps_its_tables_secret() -> None:
    assert not Kind.own_deals


LUCK = {
    "league": lambda folder: games.played(folder, "pazaak", 4),
    "tourneys": lambda folder: games.played(folder, "cardshark"),
    "groups": games.grouped,
    "knockout": games.bracketed,
}


@pytest.mark.parametrize("how", LUCK)
def test_no_two_tables_without_mirror_share_luck(how: str, tmp_path: Path) -> None:
    with reading(LUCK[how](tmp_path)) as book:
        tables = [sitting for path in book.paths() for sitting in load_fixture(book, SEED, path).sittings]
    assert len({sitting.path for sitting in tables}) == len(tables) and not any(sitting.luck for sitting in tables)


@pytest.mark.parametrize("name", ["league/glaucus+nestor/fixture 5/3", "league/glaucus+nestor/3"])
def test_a_table_keeps_the_name_from_the_run_and_gets_its_own_when_the_stage_is_over(name: str, tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak")) as book:
        found = find(book, name)
    assert found is not None and (found.fixture, found.nth) == ("league/glaucus+nestor/1", 2)


WRONG_NAMES = (
    "league/glaucus+nestor/fixture 6/3",  # another pair's fixture
    "league/glaucus+nestor/fixture 5/0",
    "league/glaucus+nestor/fixture 5/99",
    "league/glaucus+nestor/fixture 05/3",
    "league/glaucus+nestor/fixture 5/3/",
    "league/glaucus+nestor/fixture ٥/3",
    "league/glaucus+nestor/fixture 999999999/1",
)


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_name_that_no_running_table_has_finds_nothing(name: str, tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        assert find(book, name) is None


def test_a_running_table_is_not_found_by_its_own_number(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        with pytest.raises(UserError, match="secret"):
            find(book, "league/glaucus+nestor/3")
        assert find(book, "league/glaucus+nestor/3", spoilers=True)


def test_tables_that_share_deals_cannot_be_watched_while_their_stage_runs(tmp_path: Path) -> None:
    page = report(games.mirrored(tmp_path))
    assert "withheld" in page and "question 3 of" not in page and 'class="table"' not in page and SEED.hex() not in page


def test_nothing_that_is_told_of_a_running_stage_names_a_table_or_a_card(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        summary = summarize(book, SEED)
    told = json.dumps([api_document(name, summary, []) for name in DOCUMENTS])
    assert SEED.hex() not in told and "league/" not in told and "<b>H" not in told and '"seed": ""' in told


def test_a_seed_in_words_is_secret_too_while_a_run_goes_on(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", state="running")
    with writing(path) as book:
        book.set_state(replace(book.state(), status=RunStatus.RUNNING, terms=Terms(seed="swordfish")))
    assert "swordfish" not in report(path)


def test_a_missing_seed_is_never_made(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    (path.parent / "seed").unlink()
    assert "seed of this run cannot be read" in report(path) and not (path.parent / "seed").exists()


def test_another_runs_seed_is_none(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    (path.parent / "seed").write_text("00" * 16)
    with reading(path) as book:
        assert known_seed(book) is None


def test_reading_a_journal_does_not_change_the_time_of_its_last_result(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    assert [report(path).count("2023-11-14 22:13:20 UTC") for _ in range(2)] == [2, 2]


@pytest.fixture(scope="module")
def long_games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of thirty games, each of a hundred rounds."""
    path = tmp_path_factory.mktemp("long") / "run" / "run.sqlite"
    games.begin(path, "holdem", games.BOTS["holdem"])
    games.add(path, games.fixtures("holdem", "league", games.BOTS["holdem"], 30), games.patient)
    return path


@pytest.mark.long
def test_twenty_games_of_a_hundred_rounds_stay_below_one_megabyte_and_what_decisions_took_gives_way(
    long_games: Path,
) -> None:
    some, page = report(long_games, 9), report(long_games)
    assert page.count('class="table"') == 20 and len(page.encode()) < 1_000_000
    took = [[bool(json.loads(table)["took"]) for table in tables_in(each)] for each in (some, page)]
    assert took == [[True] * 9, [False] * 20]


@pytest.mark.long
def test_replays_that_there_is_no_room_for_are_left_out(long_games: Path) -> None:
    page = report(long_games, 30)
    assert 20 < page.count('class="table"') < 30 and len(page.encode()) < 1_000_000


# Many bots.


@pytest.fixture(scope="module")
def fifty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of fifty bots with one table per pair."""
    path = tmp_path_factory.mktemp("fifty") / "run" / "run.sqlite"
    bots = (EVIL, *(f"bot {number}" for number in range(49)))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, 1))
    return path


@pytest.fixture(scope="module")
def fifty_told(fifty: Path) -> str:
    """Return the report of the run of fifty bots."""
    return report(fifty)


def leaves_of(page: str) -> str:
    """Return the compressed pages of a report, decompressed."""
    (packed_in,) = re.findall(r'id="leaves">([^<]*)<', page)
    told: str = json.loads(gzip.decompress(base64.b64decode(packed_in)))
    return told


@pytest.mark.long
def test_a_report_of_fifty_bots_stays_below_one_megabyte_with_replays_and_all_pages(fifty_told: str) -> None:
    assert len(fifty_told.encode()) < 1_000_000 and fifty_told.count('class="table"') == 20
    told = Elements(leaves_of(fifty_told)).ids
    assert {"pairs", "faults", *(f"bot-{number}" for number in range(1, 51))} <= set(told)


@pytest.mark.long
def test_packed_pages_are_as_harmless_as_the_others(fifty_told: str) -> None:
    leaves = leaves_of(fifty_told)
    assert (
        not {"script", "img"} & {tag for tag, _ in Elements(leaves).found} and "&lt;script&gt;window.evil=1" in leaves
    )


@pytest.mark.long
def test_of_fifty_opponents_those_nearest_in_the_standings_are_listed_and_the_page_says_so(fifty: Path) -> None:
    with reading(fifty) as book:
        told = summarize(book, SEED)
    places = [row.bot for row in told.stages[0].rows]
    first = next(bot for bot in told.bots if bot.name == places[0])
    ranked = {place: nth for nth, place in enumerate(places)}
    assert [other for other, _ in nearest(first, ranked)] == sorted(places[1:41])
    assert "Of its 49 opponents these are the nearest" in Page(told, live=True).html([])


def test_a_file_without_room_for_evidence_says_so(journal: Path) -> None:
    with reading(journal) as book:
        told = summarize(book, SEED)
    page = leaves_of(Page(told).html([], detail=Detail.CUT))
    assert "There is no room for evidence" in page and "killed by signal 11" not in page


@pytest.mark.long
def test_a_report_of_three_hundred_bots_stays_below_one_megabyte(tmp_path: Path) -> None:
    path, bots = tmp_path / "run" / "run.sqlite", (EVIL, *(f"bot {number}" for number in range(299)))
    games.begin(path, "pazaak", bots)
    near = [(one, two) for at, one in enumerate(bots) for two in bots[at + 1 : at + 9]]
    games.add(path, [fixture for pair in near for fixture in games.fixtures("pazaak", "league", pair, 1)])
    page = report(path)
    assert len(page.encode()) < 1_000_000 and f'id="bot-{len(bots)}"' in leaves_of(page)


# The course of a run.


@pytest.fixture(scope="module")
def pazaak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run with several tables per pair."""
    path = tmp_path_factory.mktemp("pairs") / "run" / "run.sqlite"
    games.begin(path, "pazaak", games.BOTS["pazaak"])
    some = games.fixtures("pazaak", "league", games.BOTS["pazaak"], 61)
    halves = [half for one in some for half in (one, one._replace(path=f"{one.path[:-2]}/62", first=62, tables=38))]
    games.add(path, halves)
    return path


def told_of(path: Path) -> RunSummary:
    """Return the summary of a run."""
    with reading(path) as book:
        return summarize(book, known_seed(book))


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return a run's exported rows, for comparison with its seats."""
    file = io.StringIO()
    with reading(path) as book:
        write_csv(book, None, False, file)
    return list(csv.DictReader(io.StringIO(file.getvalue())))


def test_a_pairs_running_score_ends_at_its_score(pazaak: Path) -> None:
    (stage,) = told_of(pazaak).stages
    ends = [(meeting.points[-1].tables, meeting.points[-1].rate) for meeting in stage.head_to_heads]
    assert len(ends) == 6 and ends == [(meeting.pair.tables, meeting.pair.rate) for meeting in stage.head_to_heads]


def test_a_running_score_counts_tables_in_their_order(pazaak: Path) -> None:
    meeting = told_of(pazaak).stages[0].head_to_heads[0]
    mine = [
        row
        for row in rows_of(pazaak)
        if row["fixture"].startswith(f"{meeting.group}/") and row["bot"] == meeting.bots[0]
    ]
    won = [int(row["won"]) for row in sorted(mine, key=lambda row: int(row["table"].rpartition("/")[2]))]
    assert 20 <= len(meeting.points) <= 40
    assert [point.rate * point.tables for point in meeting.points] == pytest.approx(
        [sum(won[: point.tables]) for point in meeting.points]
    )


def test_the_seats_of_a_pair_are_those_of_its_tables(pazaak: Path) -> None:
    rows = rows_of(pazaak)
    for meeting in told_of(pazaak).stages[0].head_to_heads:
        mine = [row for row in rows if row["fixture"].startswith(f"{meeting.group}/") and row["bot"] == meeting.bots[0]]
        by_seat = [[int(row["won"]) for row in mine if row["seat"] == seat] for seat in "01"]
        assert [(len(won), sum(won)) for won in by_seat] == [tuple(seat[:2]) for seat in meeting.seats]


def test_while_a_stage_runs_a_pair_is_told_by_whole_fixtures(tmp_path: Path) -> None:
    (stage,) = told_of(games.played(tmp_path, "pazaak", state="running")).stages
    assert [(len(meeting.points), meeting.seats, meeting.group) for meeting in stage.head_to_heads] == [(1, (), "")] * 6


@pytest.mark.parametrize("game", ["cardshark", "pazaak"])
def test_ranks_over_time_end_where_the_standings_are(game: str, tmp_path: Path) -> None:
    (stage,) = told_of(games.played(tmp_path, game, 6)).stages
    assert stage.ranks and stage.ranks.after[-1] == stage.fixtures
    merit = {row.bot: row.rate if row.rate is not None else row.points.value for row in stage.rows}
    places = sorted(stage.ranks.of, key=lambda bot: stage.ranks.of[bot][-1] or 0)  # type: ignore[union-attr]
    assert [merit[bot] for bot in places] == sorted(merit.values(), reverse=True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rank_by", "rounds"), [("elo", None), ("sets", None), ("win_rate", None), ("elo", 3), ("sets", 3)]
)
def test_podium_chart_and_headline_of_a_swiss_show_one_order(rank_by: str, rounds: int | None, tmp_path: Path) -> None:
    stages = [{**games.SWISS[0], "rank_by": [rank_by], "mirror": False}]
    cup = games.Cup(tmp_path, "pazaak", stages, games.TEN)
    cup.play("swiss", rounds)
    told, page = told_of(cup.path), report(cup.path)
    (stage,) = told.stages
    assert stage.ranks and stage.ranks.unit == "rounds"
    assert stage.ranks.after == tuple(range(1, 1 + (rounds or 5)))
    assert {bot: line[-1] for bot, line in stage.ranks.of.items()} == {row.bot: row.rank for row in stage.rows}
    podium = re.findall(r'<li class="place-\d">.*?<a [^>]*>([^<]+)</a>', page, re.S)
    names = re.findall(r'<text class="k\d" x="466"[^>]*>([^<]+)</text>', page)[:3]
    assert podium == names == [row.bot for row in stage.rows[:3]] and told.sentence.startswith(podium[0])
    moment = f"swiss, {'in round 3' if rounds else 'after round 5'}"
    assert f">{moment}</p>" in page and f"<small>rank over time: {moment}</small>" in page


def test_of_many_bots_some_pairs_have_no_page_and_the_page_says_so(tmp_path: Path) -> None:
    path, bots = tmp_path / "run" / "run.sqlite", tuple(f"bot {number}" for number in range(14))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, 1))
    page = report(path)
    assert page.count('<section class="page" id="pair-') == 66 and "Only the first 66 have a page" in page


def test_chips_over_rounds_begin_as_dealt_and_end_as_scored(tmp_path: Path) -> None:
    path = games.grouped(tmp_path, rounds=12)
    with reading(path) as book:
        for place in offered(book, shown("groups", "final"), 9):
            (table,) = load(book, SEED, place.fixture, [place.nth])
            told = chips(table)
            scores = table.events[-1].facts["scores"]
            assert told and {line[0] for _, line in told.of} == {200} and len(told.rounds) == len(told.of[0][1])
            assert [line[-1] for _, line in told.of] == [max(score, 0) for score in scores]


@pytest.fixture(scope="module")
def grouped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished tournament with groups."""
    return games.grouped(tmp_path_factory.mktemp("groups"), rounds=30)


def test_who_goes_on_from_a_group_plays_the_next_round(grouped: Path) -> None:
    groups, final = told_of(grouped).stages
    went = {seat.bot for group in groups.groups for seat in group.seats if seat.on}
    assert went == {seat.bot for group in final.groups for seat in group.seats} and len(went) == 5


def test_groups_come_with_their_chips_and_the_final_with_its_winner(grouped: Path) -> None:
    page, told = report(grouped), told_of(grouped)
    assert page.count("Chips over rounds") == sum(len(stage.groups) for stage in told.stages) == 3
    winner = max(told.stages[1].groups[0].seats, key=lambda seat: seat.first).bot
    assert told.sentence.startswith(f"{winner} wins ") and "leaves much to luck" in told.sentence
    assert page.count(" in its only game</strong>") == 3 and "100.0 % of its games" not in page


@pytest.fixture
def bracket(tmp_path: Path) -> games.Cup:
    """Return a cup of five bots before its first fixture."""
    return games.Cup(tmp_path, "pazaak", games.BRACKET, (*games.BOTS["pazaak"], "optimum"))


def test_the_result_of_a_cup_is_that_of_its_final(bracket: games.Cup) -> None:
    bracket.play("cup")
    bracket.finish()
    told, page = told_of(bracket.path), report(bracket.path)
    final = next(tie for part in told.stages[0].bracket if (part.first, part.last) == (1, 2) for tie in part.ties)
    assert final.winner == told.stages[0].rows[0].bot
    other = next(bot for bot in final.bots if bot != final.winner)
    assert (
        told.sentence
        == f"{final.winner} wins A pazaak cup by 2 sets to {min(final.sets)} against {other} in the final."
    )
    assert page.count('class="tie"') == sum(len(part.ties) for part in told.stages[0].bracket) > 5


def test_a_table_of_the_final_is_offered_first_with_its_players_and_result(bracket: games.Cup) -> None:
    bracket.play("cup")
    bracket.finish()
    with reading(bracket.path) as book:
        first = offered(book, visible(book), 8)[0]
        (table,) = load(book, SEED, first.fixture, [first.nth])
        sets = [path for path in book.paths("cup") if path.split("/")[1] == first.fixture.split("/")[1]]
    final = next(tie for part in told_of(bracket.path).stages[0].bracket if part.last == 2 for tie in part.ties)
    assert first.title == f"Final, {sets[-1].split('/')[2]}" and set(table.bots) == set(final.bots)
    one, two = table.events[-1].facts["scores"]
    assert first.result == f"{table.bots[0]} – {table.bots[1]} {one} : {two}"
    page = report(bracket.path, 8)
    chip = re.search(r"▶ ([^<]*)", page[page.index("Look at it") :])
    assert chip and html.unescape(chip[1]) == f"{first.title} · {first.result}"


def test_nobody_has_won_a_cup_whose_final_is_not_played(bracket: games.Cup) -> None:
    bracket.play("cup", 3)
    told = told_of(bracket.path)
    assert re.fullmatch(r"A pazaak cup is in round \d of the bracket; who wins is still open\.", told.sentence)


def test_the_result_says_how_a_league_was_won(pazaak: Path) -> None:
    page = report(pazaak)
    (won,) = re.findall(r"<h2>How it was won <small>([^<]+)</small></h2>", page)
    assert (
        won == "rank over time: league, finished"
        and "fixtures that have ended</text>" in page
        and ">rank</text>" in page
    )


def test_the_result_says_how_the_final_of_a_knockout_was_won(bracket: games.Cup) -> None:
    bracket.play("cup")
    (stage,) = told_of(bracket.path).stages
    final = stage.final
    (tie,) = (tie for part in stage.bracket if (part.first, part.last) == (1, 2) for tie in part.ties)
    assert final is not None and final.winner == tie.winner == final.sets[-1].winner
    assert tuple([each.winner for each in final.sets].count(bot) for bot in tie.bots) == tie.sets
    assert "the final, set by set" in report(bracket.path) and "<small>decisive</small>" in report(bracket.path)


@pytest.mark.long
@pytest.mark.parametrize("stages", [games.BRACKET, games.DOUBLE], ids=["single", "double"])
def test_the_podium_of_a_bracket_shows_sets_and_no_share_that_contradicts_its_order(
    stages: Any, tmp_path: Path
) -> None:
    cup = games.Cup(tmp_path, "pazaak", stages, games.TEN)
    cup.play("cup")
    cup.finish()
    page = report(cup.path)
    cards = re.findall(r'<li class="place-\d">.*?</li>', page, re.S)
    assert len(cards) == 3 and not any("%" in card for card in cards)
    first, second = (re.search(r"<strong>(\d) : (\d) sets in the ([^<]+)</strong>", card) for card in cards[:2])
    assert first and second and (first[1], first[2], first[3]) == (second[2], second[1], second[3]) and first[1] == "2"
    (stage,) = told_of(cup.path).stages
    won = {row.bot: [0, 0] for row in stage.rows}
    for part in stage.bracket:
        for tie in part.ties:
            for bot, sets in zip(tie.bots, (tie.sets, tie.sets[::-1]), strict=True):
                if bot is not None:
                    won[bot] = [had + more for had, more in zip(won[bot], sets, strict=True)]
    table = page[page.index('class="standings') :]
    for bot, (ours, theirs) in won.items():
        assert re.search(
            rf'>{bot}</a></th>\s*<td class="r"><b>[^<]*</b></td><td class="r">{ours} : {theirs}</td>', table
        )


def test_no_decisive_set_is_shown_before_the_final_is_over(bracket: games.Cup) -> None:
    bracket.play("cup", 3)
    assert "<small>decisive</small>" not in report(bracket.path) and told_of(bracket.path).stages[0].final is None


def test_the_result_shows_the_chips_of_the_last_game(grouped: Path) -> None:
    assert "chips over the rounds of the last game</small>" in report(grouped)


def test_a_bracket_names_its_rounds_and_draws_a_line_from_every_winner_to_its_next_tie(tmp_path: Path) -> None:
    cup = games.Cup(tmp_path, "pazaak", games.BRACKET, (*games.BOTS["pazaak"], *(f"b{number}" for number in range(7))))
    cup.play("cup")
    (stage,) = told_of(cup.path).stages
    drawn = drawings(stage.bracket)
    names = [[text for *_, text in each.headings] for each in drawn]
    assert names[0] == ["Round of 16", "Quarter-finals", "Semi-finals", "Final"] and names[1] == ["Places 3 and 4"]
    assert names[-1] == ["Places 9 to 11", "Places 9 and 10"]
    for each in drawn:
        starts = {(box.x + 200, box.y + 26) for box in each.boxes}
        ends = {(box.x, box.y + 13 + 26 * row) for box in each.boxes for row in (0, 1)}
        lines = [re.fullmatch(r"M(\S+) (\S+)H\S+V(\S+)H(\S+)", line) for line in each.lines]
        ways = [tuple(map(float, line.groups())) for line in lines if line]
        assert all((x, y) in starts and (end, at) in ends for x, y, at, end in ways)
        later = {bot for box in each.boxes if box.x for bot in box.tie.bots}
        assert len(ways) == sum(box.tie.winner in later for box in each.boxes if box.x < each.boxes[-1].x)
        ys = sorted((box.x, box.y) for box in each.boxes)
        assert all(one[0] != two[0] or two[1] - one[1] >= 52 for one, two in pairwise(ys))
    crossings = sorted((box.y, box.tie.winner) for box in drawn[0].boxes if box.x == 0)
    order = [winner for _, winner in crossings]
    for box in drawn[0].boxes:
        if box.x == drawn[0].boxes[8].x:
            one, two = (order.index(bot) for bot in box.tie.bots if bot)
            assert abs(one - two) == 1  # winners that meet stand together


def test_a_double_elimination_is_drawn_as_its_final_and_two_brackets(tmp_path: Path) -> None:
    cup = games.Cup(tmp_path, "pazaak", games.DOUBLE, games.TEN)
    cup.play("cup")
    (stage,) = told_of(cup.path).stages
    final, unbeaten, beaten, *places = drawings(stage.bracket)
    assert [final.title, unbeaten.title, beaten.title] == ["Final", "The unbeaten", "The beaten"]
    assert final.boxes[-1].tie.winner == stage.rows[0].bot and all(each.title.startswith("Places") for each in places)
    for each, word in ((unbeaten, "unbeaten"), (beaten, "beaten")):
        assert all(text.endswith(f"of the {word}") for *_, text in each.headings)
        for line in each.lines:  # to the next column only: it passes no box and no heading
            start, middle, end = re.fullmatch(r"M(\S+) \S+H(\S+)V\S+H(\S+)", line).groups()  # type: ignore[union-attr]
            assert float(start) < float(middle) < float(end) and float(end) - float(start) < 100
    assert max(each.width for each in drawings(stage.bracket)) <= 1116


def test_a_pair_with_few_games_is_not_known_yet(tmp_path: Path) -> None:
    page, later = (
        report(games.played(tmp_path / "few", "pazaak", 8)),
        report(games.played(tmp_path / "many", "pazaak", 60)),
    )
    assert page.count("<small>not known yet</small>") == 12 and not re.search(r"±(2\d|3\d)\.\d</small>", page)
    assert "not known yet" not in later


def test_bots_are_listed_by_rank(journal: Path) -> None:
    told = told_of(journal)
    assert told.stage
    rank = {row.bot: row.rank for row in told.stage.rows}
    (cards,) = re.findall(r'<ul class="cards">(.*?)</ul>', report(journal), re.DOTALL)
    numbers = [int(number) for number in re.findall(r'class="big" href="#bot-(\d+)"', cards)]
    ranks = [rank[told.bots[number - 1].name] for number in numbers]
    assert len(ranks) == len(told.bots) and ranks == sorted(ranks)


def test_every_chart_has_an_axis_with_a_unit(journal: Path) -> None:
    page = report(journal)
    for chart in re.findall(r'<svg class="lines".*?</svg>', page, re.DOTALL):
        assert re.search(r'text-anchor="middle">(fixtures|tourneys|games|tables|round)[^<]*</text>', chart)
        assert re.search(r"rotate\(-90\)[^>]*>(rank|share won, in per cent|chips)</text>", chart)
    for chart in re.findall(r'<svg class="times".*?</svg>', page, re.DOTALL):
        assert ">answers</text>" in chart and "time of an answer" in chart
    assert '<path class="line" d="M6 20H234' in page


def test_all_times_of_a_page_are_in_utc(journal: Path) -> None:
    page = re.sub(r"<script.*?</script>", "", report(journal), flags=re.DOTALL)
    times = re.findall(r"\d\d:\d\d(?::\d\d)?(.{4})", page)
    assert len(times) >= 3 and set(times) == {" UTC"}


def test_an_axis_of_rates_ends_at_none_and_at_all_of_the_games(grouped: Path) -> None:
    (_, final) = told_of(grouped).stages
    axis = scale(final.rows)
    assert (axis.low, axis.high, axis.title) == (0, 1, "0 % … 100 %")


def test_a_histogram_has_every_answer_in_it(journal: Path) -> None:
    for bot in told_of(journal).bots:
        assert bot.spent
        shown = [int(re.sub(r"\D", "", bar.title.split(" answers")[0])) for bar in bars(bot.spent, bot.limit).bars]
        assert sum(shown) == sum(bot.spent.walls)


def test_the_first_bar_of_a_histogram_is_drawn(journal: Path) -> None:
    bot = told_of(journal).bots[0]
    assert bot.spent
    drawn = bars(bot.spent._replace(walls=(9, *[0] * 23)), bot.limit)
    assert [bar.title for bar in drawn.bars] == ["9 answers together with the previous one"]
    assert drawn.label.startswith("9 answers came together with the previous one; ")


# The tables that are offered.


def seated(book: Journal, places: Sequence[TableRef]) -> set[str]:
    """Return the bots at some tables."""
    return {
        bot for place in places for (table,) in [load(book, SEED, place.fixture, [place.nth])] for bot in table.bots
    }


def test_offered_tables_have_every_bot_and_every_stage(grouped: Path) -> None:
    with reading(grouped) as book:
        places = offered(book, visible(book), 4)
        assert places[0].title == "final" and {place.name.split("/")[0] for place in places} == {"groups", "final"}
        assert seated(book, places) == set(book.bots())


def test_more_tables_are_offered_if_that_is_needed_to_show_every_bot(tmp_path: Path) -> None:
    path, bots = tmp_path / "run" / "run.sqlite", tuple(f"bot {number}" for number in range(11))
    games.begin(path, "pazaak", bots)
    games.add(path, games.fixtures("pazaak", "league", bots, 1))
    with reading(path) as book:
        ranks = {row.bot: row.rank for row in summarize(book, SEED).stages[0].rows}
        few, enough = offered(book, visible(book), 3), offered(book, visible(book), 3, 200)
        assert len(few) == 3 and len(enough) == 6 and seated(book, enough) == set(bots)
        assert sorted(ranks[bot] for bot in seated(book, few[:1])) == sorted(ranks.values())[:2]


@pytest.mark.long
@pytest.mark.parametrize("game", list(games.KINDS))
def test_every_offered_table_comes_with_a_reason_and_special_ones_are_shown_first(game: str, tmp_path: Path) -> None:
    path = games.played(tmp_path, game, 40)
    with reading(path) as book:
        places = offered(book, visible(book), 20)
    ranks = {row.bot: row.rank for row in told_of(path).stages[0].rows}
    assert len(places) > 5 and all(place.why for place in places)
    for place in places:
        if not place.special:
            assert any(f"rank {rank} " in place.why for rank in ranks.values()) and "league" in place.why
    if game == "pazaak":
        plain = next(place for place in places if not place.special)
        both = sorted(ranks[bot] for bot in plain.name.split("/")[1].split("+"))
        assert plain.why == f"rank {both[0]} against rank {both[1]} in league"
    page = report(path, 20)
    shelf = re.findall(r"<li data-table=.*?</li>", page, re.S)
    assert len(shelf) == len(places) and all(re.search(r'<span class="quiet">\S', line) for line in shelf)


def test_a_comeback_is_won_by_a_bot_that_was_two_hands_behind(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", 60)
    with reading(path) as book:
        places = offered(book, visible(book), 12)
        for place in places:
            (table,) = load(book, SEED, place.fixture, [place.nth])
            scores = table.events[-1].facts["scores"]
            best = scores.index(max(scores))
            wins = [facts["wins"] for ev, facts in table.events if ev == "hand.end"]
            assert ("comeback" in place.why) == any(held[1 - best] - held[best] == 2 for held in wins)
    assert sum("comeback" in place.why for place in places) > 3


def test_an_offered_table_says_its_faults_and_all_ins(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "holdem", rounds=20)) as book:
        for place in offered(book, visible(book), 3):
            (table,) = load(book, SEED, place.fixture, [place.nth])
            count = sum(ev == "bet" and facts["chips"] == 0 for ev, facts in table.events)
            assert ("all-in" in place.why) == (count > 0) and (f"{count} all-ins" in place.why) == (count > 1)
            assert (f"fault of {EVIL}: crash" in place.why) == any(piece.kind == "crash" for piece in table.evidence)
            places = sorted(zip(table.events[-1].facts["scores"], table.bots, strict=True), key=lambda each: -each[0])
            assert place.result == ", ".join(f"{bot} {max(score, 0)}" for score, bot in places)


def test_tables_of_a_running_stage_are_offered_without_evidence(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", 40, state="running")) as book:
        places = offered(book, visible(book), 8)
    assert len(places) == 8 and not [place for place in places if "fault" in place.why or "slowest" in place.why]
    assert any(place.why for place in places) and all(re.search(r"/fixture \d+/\d+$", place.name) for place in places)


@pytest.mark.parametrize("state", ["running", "finished"])
def test_a_later_snapshot_describes_further_tables_with_the_highlights_of_the_earlier(
    state: str, tmp_path: Path
) -> None:
    with reading(games.played(tmp_path, "pazaak", 40, state=state)) as book:
        described, known = list[int](), dict[tuple[str, int | None, bool], Highlight]()
        for _ in range(3):
            offers = Offers(book, summarize(book, SEED), visible(book))
            offers.known = known
            offers.choose(SEED, Quota(8, replayed=2))
            described.append(len(known))
    assert described == [2, 4, 6]


# Blind reports for judges.


def opened(page: str) -> str:
    """Return a page with its tables decompressed."""
    return re.sub(r">[A-Za-z0-9+/=]{200,}<", "><", page) + "".join(tables_in(page))


@pytest.mark.parametrize("game", breadth([*GAMES, "groups"], 2))
def test_a_blind_report_names_nobody(game: str, tmp_path: Path) -> None:
    path = games.grouped(tmp_path, rounds=4) if game == "groups" else games.played(tmp_path, game)
    with reading(path) as book:
        page = re.sub(
            r"question \d+ of [^\n]*/\d+", "", opened(report_of(book, Quota(20), numbered(book))[0])
        )  # text that no real game contains
        assert page.count('"rows":') == len(offered(book, visible(book), 20)) > 1
        names = [*book.bots(), html.escape(EVIL), "Zoë", "ab" * 8]
    assert [name for name in names if re.search(rf"(?<![\w#-]){re.escape(name)}(?![\w-])", page)] == []
    assert "Bot 1" in page


def test_a_blind_report_has_the_same_figures(pazaak: Path) -> None:
    with reading(pazaak) as book:
        named, blind = summarize(book, SEED), summarize(book, SEED, names=numbered(book))
    for one, other in zip(named.stages, blind.stages, strict=True):
        assert [row[6:9] for row in one.rows] == [row[6:9] for row in other.rows]
        assert sorted(meeting.pair.tables for meeting in one.head_to_heads) == sorted(
            meeting.pair.tables for meeting in other.head_to_heads
        )


def test_a_blind_report_leaves_out_the_tables_of_a_withdrawn_bot_too(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    with writing(path) as journal:
        journal.change(Draft(WITHDRAW, EVIL, "it is broken"))
    with reading(path) as book:
        masks = numbered(book)
        named, blind = summarize(book, SEED), summarize(book, SEED, names=masks)
    asked = {masks.bot(bot.name): bot.spent and bot.spent.questions for bot in named.bots}
    assert asked[masks.bot(EVIL)] is None
    assert {bot.name: bot.spent and bot.spent.questions for bot in blind.bots} == asked


def test_what_a_bot_says_is_cleared_of_names(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    with reading(path) as book:
        said = Evidence("nestor", 1, 1, "crash", "", b"?", b"END", b"NESTOR by Zo\xc3\xab: nestors", 0, 0, "")
        masked = numbered(book).evidence(said)
    assert masked.stderr.decode() == "NESTOR by Zo\u00eb: nestors".replace("NESTOR", "…") and masked.bot.startswith(
        "Bot "
    )


def test_who_is_bot_one_differs_from_run_to_run(tmp_path: Path) -> None:
    orders = set()
    for number in range(6):
        path = tmp_path / str(number) / "run.sqlite"
        games.begin(path, "pazaak", games.BOTS["pazaak"], seed=bytes([number]))
        with reading(path) as book:
            orders.add(tuple(numbered(book).masks))
    assert len(orders) > 1


# Export.


def test_a_csv_has_a_row_for_every_seat(journal: Path) -> None:
    file = io.StringIO()
    with reading(journal) as book:
        rows = write_csv(book, None, False, file)
        seats = sum(len(scores) for path in book.paths() for scores in book.full_record(path).scores)
    read = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert len(read) == rows == seats and {row["bot"] for row in read} >= {EVIL}


def test_the_chips_of_a_csv_are_those_of_the_record(tmp_path: Path) -> None:
    file = io.StringIO()
    with reading(games.played(tmp_path, "pazaak")) as book:
        write_csv(book, None, False, file)
        won = sum(result.wins for _, record in book.records() for result in record.results.values())
    assert sum(int(row["won"]) for row in csv.DictReader(io.StringIO(file.getvalue()))) == won


def test_every_exported_line_is_an_event(journal: Path) -> None:
    file = io.StringIO()
    with reading(journal) as book:
        tables = write_events(book, None, False, file)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    starts, ends = ([line for line in lines if line["ev"] == f"table.{when}"] for when in ("start", "end"))
    assert tables == len(starts) == len(ends) and all(line["v"] == 1 for line in lines)


def test_an_exported_fault_comes_with_its_evidence(journal: Path) -> None:
    file = io.StringIO()
    with reading(journal) as book:
        write_events(book, None, False, file)
    faults = [line for line in map(json.loads, file.getvalue().splitlines()) if line.get("kind") == "crash"]
    assert faults and faults[0]["us"] == 12_300 and faults[0]["a"] == "(crash: signal 11)"


@pytest.mark.parametrize("write", [write_events, write_csv])
def test_a_running_stage_with_shared_deals_is_exported_to_nobody(write: Any, tmp_path: Path) -> None:
    with reading(games.mirrored(tmp_path)) as book, pytest.raises(UserError, match="secret"):
        write(book, None, False, io.StringIO())


@pytest.mark.parametrize("write", [write_events, write_csv])
def test_a_running_stage_is_exported_without_evidence_and_numbers(write: Any, tmp_path: Path) -> None:
    file = io.StringIO()
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        write(book, None, False, file)
    text = file.getvalue()
    assert "league/glaucus+nestor/fixture 5/3" in text and not OWN_NUMBER.search(text) and SEED.hex() not in text
    assert not any(word in text for word in ("stderr", "signal 11", '"us"', '"kind"'))


def test_a_playlog_of_a_running_stage_has_no_words_of_a_bot(tmp_path: Path) -> None:
    file = io.StringIO()
    with reading(games.played(tmp_path, "holdem", rounds=3, state="running")) as book:
        write_playlog(book, None, False, file)
    assert file.getvalue().startswith("INFO:root:") and "signal 11" not in file.getvalue()


def test_who_asks_for_spoilers_gets_them(tmp_path: Path) -> None:
    with reading(games.mirrored(tmp_path)) as book:
        file = io.StringIO()
        assert (
            write_events(book, None, True, file) and OWN_NUMBER.search(file.getvalue()) and "stderr" in file.getvalue()
        )


@pytest.mark.parametrize("game", ["pazaak", "cardshark"])
def test_only_holdem_has_a_playlog(tmp_path: Path, game: str) -> None:
    with reading(games.played(tmp_path, game)) as book, pytest.raises(UserError, match="has no play"):
        write_playlog(book, "last", False, io.StringIO())


# The commands.


def command(folder: Path, name: str, *words: str) -> Result:
    """Run a command in a folder."""
    told = group.get_command(click.Context(group), name)
    assert told is not None
    return CliRunner().invoke(told, words, obj=CliContext(folder, True, False, False))


def test_the_report_is_written_into_the_folder(journal: Path) -> None:
    folder = journal.parents[1]
    told = json.loads(command(folder, "report").stdout)
    assert (folder / "report.html").stat().st_size == told["bytes"] and told["replays"]


@pytest.mark.long
@pytest.mark.parametrize("seed", ['"random"', '"a seed for tests"'])
def test_what_about_says_repeats_and_verifies_the_run(seed: str, tmp_path: Path) -> None:
    cup = command_line.cup_in(tmp_path / "cup", tourneys=2, rounds=2)
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace('seed = "a seed for tests"', f"seed = {seed}"))
    assert command_line.croupier("run", "-C", cup, "--progress", "none").code == 0
    told, page = command_line.result_of(cup), report(cup / "run" / "run.sqlite")
    lines = [html.unescape(said) for said in re.findall(r"<pre[^>]*>([^<]*)<", page)]
    copy = tmp_path / "copy"
    shutil.copytree(cup, copy, ignore=shutil.ignore_patterns("run", "*.html"))
    shim = f'croupier() {{ {shlex.join(command_line.CROUPIER)} "$@"; }}; set -e\n'
    done = subprocess.run(
        ["sh", "-c", shim + "\n".join(lines)],
        cwd=copy,
        env=command_line.environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    again, commitment = command_line.result_of(copy), re.findall(r"sha256 ([0-9a-f]{64})", page)[-1]
    assert again == told and f"{commitment}  -" in done.stdout.splitlines()


def test_the_seals_come_with_the_command_that_lets_others_check_the_result(tmp_path: Path) -> None:
    finished, running = (
        report(games.played(tmp_path / state, "pazaak", state=state)) for state in ("finished", "running")
    )
    assert finished.count("<code>croupier export public</code>") == 1 and "export public" not in running


def test_the_report_says_on_what_machine_it_was_played(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    with writing(path) as book:
        book.set_state(replace(book.state(), machine="A Loom, 2 cores"))
    assert "A Loom, 2 cores" in report(path) and "played on" in report(path)


def test_a_report_without_names_is_written(journal: Path, tmp_path: Path) -> None:
    told = command(journal.parents[1], "report", "--no-names", "-o", str(tmp_path / "blind.html"))
    assert told.exit_code == 0 and "Bot 1" in (tmp_path / "blind.html").read_text()


@pytest.mark.parametrize("spoil", ["newer", "torn", "foreign", "garbage", "crafted"])
def test_a_journal_that_cannot_be_read_is_refused_and_left_alone(spoil: str, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    spoilt(path, spoil)
    before = path.read_bytes()
    refused = command(tmp_path, "report").exception
    assert isinstance(refused, UserError) and refused.problems[0].code == "R005"
    assert path.read_bytes() == before and not (tmp_path / "report.html").exists()


CELLS = {
    "run": ("value",),
    "stage": ("config", "status", "field", "places", "known"),
    "version": ("name", "about"),
    "fixture": ("path", "about"),
    "record": ("summary", "seats", "scores", "answers", "times"),
    "fault": ("evidence",),
}
ODD = ("", "{}", "[5]", b"\xff", 5)


@pytest.mark.parametrize(
    ("table", "column"), breadth([(table, column) for table, names in CELLS.items() for column in names], 4)
)
def test_whatever_a_stranger_writes_into_a_journal_is_shown_or_refused(table: str, column: str, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    key = {"run": "key", "stage": "name"}.get(table, "rowid")
    for (cell,) in sql(path, f"SELECT {key} FROM {table} LIMIT 20"):
        where = f"WHERE {key} = ?"
        ((kept,),) = sql(path, f"SELECT {column} FROM {table} {where}", cell)
        for odd in ODD if key != "rowid" or cell == 1 else ():
            sql(path, f"UPDATE {table} SET {column} = ? {where}", odd, cell)
            with contextlib.suppress(UserError):
                report(path, 2)
        sql(path, f"UPDATE {table} SET {column} = ? {where}", kept, cell)


@pytest.mark.parametrize("lost", ["DROP TABLE fault", "DELETE FROM record", "DELETE FROM version", "DELETE FROM run"])
def test_a_journal_that_lacks_something_is_refused(lost: str, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    sql(path, lost)
    with pytest.raises(UserError, match="is damaged"):
        report(path)


@pytest.mark.parametrize("tables", [None, 10**15])
def test_a_journal_whose_stage_says_no_sensible_number_of_tables_is_refused(tables: int | None, tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    stage = {"name": "league", "kind": "round-robin", "tables_per_pair": tables, "mirror": False}
    sql(path, "UPDATE stage SET config = ?", json.dumps(stage))
    with pytest.raises(UserError, match="tables_per_pair"):
        report(path)


def test_a_journal_with_a_bot_that_has_no_time_is_refused(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    sql(path, "UPDATE version SET about = json_set(about, '$.limits.move', 0.0)")
    with pytest.raises(UserError, match="has no time for an answer"):
        report(path)


def test_a_journal_whose_fixture_names_other_bots_than_its_record_is_refused(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak")
    sql(path, "UPDATE fixture SET about = json_set(about, '$.bots[0]', 'zed') WHERE id = 1")
    with pytest.raises(UserError, match="is damaged"):
        report(path)


def sql(path: Path, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """Return the output of SQLite."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement, values).fetchall()


def test_a_place_that_cannot_be_written_is_refused(journal: Path, tmp_path: Path) -> None:
    told = command(journal.parents[1], "report", "-o", str(tmp_path / "missing" / "x.html"))
    assert isinstance(told.exception, UserError) and told.exception.problems[0].code == "R013"


def test_a_fifo_is_written_to_and_not_replaced_by_a_file(journal: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with subprocess.Popen(["cat", tmp_path / "fifo"], stdout=subprocess.PIPE, text=True) as reader:
        command(journal.parents[1], "export", "csv", "-o", str(tmp_path / "fifo"))
        assert reader.communicate()[0].startswith("stage,fixture,table,seat,bot,score,won,drawn\n")
    assert (tmp_path / "fifo").is_fifo()


def test_a_refused_export_leaves_no_file(journal: Path, tmp_path: Path) -> None:
    told = command(journal.parents[1], "export", "csv", "nothing", "-o", str(tmp_path / "x.csv"))
    assert isinstance(told.exception, UserError) and not list(tmp_path.iterdir())


def test_an_export_goes_to_standard_output(journal: Path) -> None:
    assert command(journal.parents[1], "export", "csv").stdout.startswith(
        "stage,fixture,table,seat,bot,score,won,drawn\n"
    )


def test_a_playlog_is_exported(tmp_path: Path) -> None:
    games.played(tmp_path, "holdem", rounds=3)
    command(tmp_path, "export", "playlog", "-o", str(tmp_path / "x.play.log"))
    looks = [line for line in (tmp_path / "x.play.log").read_text().splitlines() if line.startswith("INFO:root:")]
    assert json.loads(looks[-1].removeprefix("INFO:root:"))["round"] == 4


@pytest.mark.parametrize("words", [["report", "--journal", "nothing.sqlite"], ["report"]])
def test_what_is_missing_is_refused(tmp_path: Path, words: list[str]) -> None:
    assert isinstance(command(tmp_path, *words).exception, UserError)


def test_tables_shown_name_their_bots_harmless() -> None:
    sitting = games.TableSetup(("\x1b[31mred",), None, "x")
    assert ReplayedTable(CROUPIERS.game("pazaak"), sitting, [], []).bots == [r"\x1b[31mred"]


def test_what_was_played_again_is_listed_wherever_results_are(tmp_path: Path) -> None:
    stall = "one at table 7: no answer after 1.200 s: computed 0.010 s, waited 1.100 s, host 0.200 s late"
    run = tmp_path / "run"
    run.mkdir()
    games.begin(run / "run.sqlite", "pazaak", ("one", "two"))
    (fixture,) = games.fixtures("pazaak", "league", ("one", "two"), 3)
    with writing(run / "run.sqlite") as journal:
        journal.add("league", games.recorded(fixture)._replace(replayed=2, stalls=(stall,)), fixture)
    told = (2, [f"{fixture.path}: {stall}"])

    for words in ("status", "standings"):
        said = croupier("-C", tmp_path, words, "--json").json
        assert (said["replayed"], said["stalls"]) == told
    assert "2 times, 1 of them because the machine stalled" in croupier("-C", tmp_path, "status").out
    assert stall in report(run / "run.sqlite")


def test_a_bots_waits_and_stops_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    games.begin(path, "pazaak", ("one", "two"))
    (fixture,) = games.fixtures("pazaak", "league", ("one", "two"), 3)
    played = games.recorded(fixture)
    late = Evidence("one", 1, 1, "timeout", "", b"0 0", b"", b"", 1.0, 0.011, "was stopped", 0.7, 0.002)
    used = played.usage | {"one": played.usage["one"]._replace(waited=0.35, pauses=100, pondered=0.02)}
    with writing(path) as journal:
        faulty = played._replace(usage=used, faults={"one": {"timeout": 1}}, evidence=(late,))
        journal.add("league", faulty, fixture)

    page = report(path)

    assert "<dt>Waited for a processor</dt><dd>350 ms</dd>" in page
    assert "<dt>Stopped off turn</dt><dd>100 <small>times, 200 µs computed each time</small></dd>" in page
    assert "1.0 s (11 ms computing, 700 ms waiting for a processor, 2.0 ms overhead of croupier)" in page


@pytest.mark.long
def test_every_decision_is_a_row_with_its_question_by_field(tmp_path: Path) -> None:
    assert croupier("play", "sample:optimum", "sample:bastila", "-n", 2, "--seed", "x", "-C", tmp_path).code == 0
    rows = list(csv.DictReader(io.StringIO(croupier("export", "decisions", "-C", tmp_path).out)))
    events = [json.loads(line) for line in croupier("export", "jsonl", "-C", tmp_path).out.splitlines()]
    fields = [name for name in rows[0] if name.startswith("q_")]
    asked = [(str(event["seat"]), event["q"]) for event in events if event["ev"] == "ask"]
    assert [(row["seat"], " ".join(row[name] or "-" for name in fields)) for row in rows] == asked
    answered = [(str(event["n"]), event["a"]) for event in events if event["ev"] == "answer"]
    assert [(row["number"], row["answer"]) for row in rows] == answered
    seats = list(csv.DictReader(io.StringIO(croupier("export", "csv", "-C", tmp_path).out)))
    scores = {(seat["table"], seat["bot"]): seat["score"] for seat in seats}
    assert {scores[row["table"], row["bot"]] == row["score"] for row in rows} == {True}
    assert {(seat["won"], seat["drawn"]) for seat in seats} <= {("1", "0"), ("0", "0"), ("0", "1")}
