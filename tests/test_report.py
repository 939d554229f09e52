"""The report: one file that tells what a run came to, and lets nothing that a bot has said do any harm."""

import base64
import csv
import gzip
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result
from command import croupier

from host.cli import Office, watching
from host.journal import reading, writing
from host.problems import Refused
from host.report.account import account, as_json
from host.report.export import one_playlog, told_playlog, write_csv, write_events
from host.report.files import casino_of, report_of
from host.report.page import file_policy
from host.report.playlog import read_playlog
from host.report.tables import Shown, find, known_seed, load, packed, squeezed, worth_seeing
from host.tournament.run import about
from tests.browser import games
from tests.browser.games import EVIL, SEED

GAMES = tuple(games.KINDS)


@pytest.fixture(scope="module", params=GAMES)
def journal(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a finished run of each game."""
    rules = {"rounds": 6} if request.param == "holdem" else {}
    return games.played(tmp_path_factory.mktemp(request.param), request.param, **rules)


def report(journal: Path, most: int = 20) -> str:
    """Return the report of a journal."""
    with reading(journal) as book:
        return report_of(book, most)[0]


class Elements(HTMLParser):
    """What a browser would make of a page: its elements, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.ids: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
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
        told = account(book, SEED)
    page = report(journal)
    assert all(f'id="bot-{bot.number}"' in page for bot in told.bots) and "95 % interval" in page


def test_the_first_sentence_says_who_won_and_how_sure_that_is(journal: Path) -> None:
    with reading(journal) as book:
        told = account(book, SEED)
    assert told.stage and told.stage.rows[0].bot in told.sentence and re.search(r"% sure|may be luck", told.sentence)


def test_replays_open_again_as_they_were_packed(journal: Path) -> None:
    data = re.findall(r'class="table" data-name="[^"]*">([^<]*)<', report(journal))
    opened = [json.loads(gzip.decompress(base64.b64decode(each))) for each in data]
    assert opened and all(table["v"] == 1 and table["rows"][-1][1:] for table in opened)


def test_the_same_journal_gives_the_same_replays(journal: Path) -> None:
    with reading(journal) as book:
        place = worth_seeing(book, 1)[0]
        (one,), (other,) = (list(load(book, SEED, place.fixture, [place.nth])) for _ in range(2))
    assert squeezed(packed(one)) == squeezed(packed(other))


def test_every_table_worth_seeing_is_found_by_its_name(journal: Path) -> None:
    with reading(journal) as book:
        places = worth_seeing(book, 20)
        assert [find(book, place.name) for place in places] == [place._replace(why="") for place in places]


@pytest.mark.parametrize(
    "name", ["", "nothing", "../../etc/passwd", "league/0", "league/1/0", "league/1/-1", "league/1/999"]
)
def test_a_name_that_is_no_tables_finds_nothing(journal: Path, name: str) -> None:
    with reading(journal) as book:
        assert find(book, name) is None


def test_a_report_shows_what_seats_and_the_order_of_play_were_worth(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", 40)
    with reading(path) as book:
        (stage,) = account(book, SEED).stages
    assert stage.effects and (stage.effects.tables, stage.effects.apart) == (240, 0)
    assert [effect.what for effect in stage.effects.seats] == ["seat 1", "seat 2"]
    page = report(path)
    assert "every bot has had every seat equally often" in page and "as chance has it" in page


def test_a_stage_under_way_shows_no_effects(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        assert [stage.effects for stage in account(book, SEED).stages] == [None]


def test_a_packed_table_has_all_its_questions(journal: Path) -> None:
    with reading(journal) as book:
        place = worth_seeing(book, 1)[0]
        (table,) = load(book, SEED, place.fixture, [place.nth])
    asked = [facts["q"] for ev, facts in table.events if ev == "ask" and "q" in facts]
    columns = [column.split("\n") for column in packed(table)["questions"]]
    assert [" ".join(fields) for fields in zip(*columns, strict=True)] == asked


def test_evidence_of_a_fault_is_shown_harmless(journal: Path) -> None:
    page = report(journal)
    assert r"\x1b[31mred\x1b[0m\x07 &lt;/script&gt;" in page and "killed by signal 11" in page


def test_a_game_cannot_be_watched_while_its_stage_runs(tmp_path: Path) -> None:
    page = report(games.played(tmp_path, "pazaak", state="running"))
    assert "withheld" in page and "question 3 of" not in page and 'class="table"' not in page and SEED.hex() not in page


def test_nothing_that_is_told_of_a_running_stage_names_a_table_or_a_card(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        told = json.dumps(as_json(account(book, SEED)))
    assert SEED.hex() not in told and "league/" not in told and "<b>H" not in told and '"seed": ""' in told


def test_a_seed_in_words_is_secret_too_while_a_run_goes_on(tmp_path: Path) -> None:
    path = games.played(tmp_path, "pazaak", state="running")
    from host.journal import writing

    with writing(path) as book:
        book.note({"config": '{"seed": "swordfish", "stage": []}'})
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


def test_twenty_games_of_a_hundred_rounds_stay_below_one_megabyte(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "holdem", games.BOTS["holdem"])
    games.add(path, games.fixtures("holdem", "league", games.BOTS["holdem"], 20), games.patient)
    page = report(path)
    assert page.count('class="table"') == 20 and len(page.encode()) < 1_000_000


def test_replays_that_there_is_no_room_for_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "run" / "run.sqlite"
    games.begin(path, "holdem", games.BOTS["holdem"])
    games.add(path, games.fixtures("holdem", "league", games.BOTS["holdem"], 30), games.patient)
    page = report(path, 30)
    assert 20 < page.count('class="table"') < 30 and len(page.encode()) < 1_000_000


# Export.


def test_a_csv_has_a_row_for_every_seat(journal: Path) -> None:
    file = io.StringIO()
    with reading(journal) as book:
        rows = write_csv(book, None, False, file)
        seats = sum(len(scores) for path in book.paths() for scores in book.whole(path)[0].scores)  # type: ignore[index]
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


def test_a_running_stage_is_exported_to_nobody(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book, pytest.raises(Refused, match="secret"):
        write_events(book, None, False, io.StringIO())


def test_who_asks_for_spoilers_gets_them(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "pazaak", state="running")) as book:
        assert write_events(book, None, True, io.StringIO())


def test_an_exported_playlog_is_read_as_one_of_2018(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "holdem", rounds=3)) as book:
        assert read_playlog(one_playlog(book, "last", False))


@pytest.mark.parametrize("game", ["pazaak", "cardshark"])
def test_only_holdem_has_a_playlog(tmp_path: Path, game: str) -> None:
    with reading(games.played(tmp_path, game)) as book, pytest.raises(Refused, match="hold'em's"):
        one_playlog(book, "last", False)


def test_a_playlog_is_told_in_short(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "holdem", rounds=3)) as book:
        told = told_playlog(one_playlog(book, "last", False), "x.play.log")
    assert told["rounds"] == 3 and len(told["players"]) == 5 and told["faults"]


def test_a_torn_playlog_is_refused_with_its_line(tmp_path: Path) -> None:
    with reading(games.played(tmp_path, "holdem", rounds=3)) as book:
        text = one_playlog(book, "last", False)
    with pytest.raises(Refused, match=r"line \d+ of the play.log is torn"):
        told_playlog(text[: len(text) // 2], "x.play.log")


def test_a_page_with_one_playlog_carries_it() -> None:
    data = re.findall(r'id="playlog" data-name="([^"]*)">([^<]*)<', casino_of("a<b.play.log", "some text"))
    opened = [(name, json.loads(gzip.decompress(base64.b64decode(text)))) for name, text in data]
    assert opened == [("a&lt;b.play.log", "some text")]


# The commands.


def command(folder: Path, name: str, *words: str) -> Result:
    """Give a command in a folder."""
    told: click.Command = getattr(watching, name)
    return CliRunner().invoke(told, words, obj=Office(folder, True, False, False))


def test_the_report_is_written_into_the_folder(journal: Path) -> None:
    folder = journal.parents[1]
    told = json.loads(command(folder, "report").stdout)
    assert (folder / "report.html").stat().st_size == told["bytes"] and told["replays"]


def test_a_place_that_cannot_be_written_is_refused(journal: Path, tmp_path: Path) -> None:
    told = command(journal.parents[1], "report", "-o", str(tmp_path / "missing" / "x.html"))
    assert isinstance(told.exception, Refused) and told.exception.problems[0].code == "R013"


def test_a_refused_export_leaves_no_file(journal: Path, tmp_path: Path) -> None:
    told = command(journal.parents[1], "export", "csv", "nothing", "-o", str(tmp_path / "x.csv"))
    assert isinstance(told.exception, Refused) and not list(tmp_path.iterdir())


def test_an_export_goes_to_standard_output(journal: Path) -> None:
    assert command(journal.parents[1], "export", "csv").stdout.startswith("stage,fixture,table,seat,bot,score,won\n")


def test_a_playlog_is_exported_and_imported(tmp_path: Path) -> None:
    games.played(tmp_path, "holdem", rounds=3)
    command(tmp_path, "export", "playlog", "-o", str(tmp_path / "x.play.log"))
    told = json.loads(command(tmp_path, "import", str(tmp_path / "x.play.log")).stdout)
    assert told["rounds"] == 3 and (tmp_path / "x.html").exists()


@pytest.mark.parametrize(
    "words", [["import", "nothing.play.log"], ["report", "--journal", "nothing.sqlite"], ["report"]]
)
def test_what_is_missing_is_refused(tmp_path: Path, words: list[str]) -> None:
    assert isinstance(command(tmp_path, *words).exception, Refused)


def test_tables_shown_name_their_bots_harmless() -> None:
    sitting = games.Sitting(("\x1b[31mred",), None, "x")
    assert Shown("pazaak", sitting, [], []).bots == [r"\x1b[31mred"]


def test_what_was_played_again_is_listed_wherever_results_are(tmp_path: Path) -> None:
    stall = "one at table 7: no answer after 1.200 s: computed 0.010 s, waited 1.100 s, host 0.200 s late"
    run = tmp_path / "run"
    run.mkdir()
    games.begin(run / "run.sqlite", "pazaak", ("one", "two"))
    (fixture,) = games.fixtures("pazaak", "league", ("one", "two"), 3)
    with writing(run / "run.sqlite") as journal:
        journal.add("league", games.recorded(fixture)._replace(replayed=2, stalls=(stall,)), about(fixture))
    told = (2, [f"{fixture.path}: {stall}"])

    for words in ("status", "standings"):
        said = croupier("-C", tmp_path, words, "--json").json
        assert (said["replayed"], said["stalls"]) == told
    assert "2 times, 1 of them because the machine stalled" in croupier("-C", tmp_path, "status").out
    assert stall in report(run / "run.sqlite")
