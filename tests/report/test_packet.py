"""The private page of an author as a file: all of his bot, and nothing of others."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from season_fixtures import STANDS

from host.inspect.recorded import root_of
from host.inspect.replay import Event
from host.inspect.table_replays import for_author, load
from host.journal.reader import reading

CONFIG = """
game = "pazaak"
bots = ["bots/*"]
[[stage]]
kind = "round-robin"
name = "league"
tables_per_pair = 4
"""
FAILS = "import sys\nsys.stderr.write('ada <script>alert(1)</script> \\x1b[31m\\n')\nfor line in sys.stdin:\n"
FAILS += "    print('<b>banana</b>', flush=True)\n"
OTHER = "import sys\nprint('the secret of grace', file=sys.stderr)\nfor line in sys.stdin:\n    print('cherry', flush=True)\n"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a tournament in which two bots have faults."""
    folder = tmp_path_factory.mktemp("packet")
    (folder / "bots").mkdir()
    for name, source in (("ada", FAILS), ("grace", OTHER), ("zed", STANDS)):
        (folder / f"bots/{name}.py").write_text(source)
    (folder / "croupier.toml").write_text(CONFIG)
    done = croupier("-C", folder, "run")
    assert done.code == 0, done.err
    yield folder


def rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    """Return the objects of an NDJSON file."""
    return [json.loads(line) for line in archive.read(name).splitlines()]


@pytest.mark.long
def test_a_packet_has_the_faults_the_tables_and_the_slowest_answers_of_a_bot(played: Path) -> None:
    done = croupier("-C", played, "report", "--for", "ada", "-o", played / "ada.zip", "--json")
    assert done.code == 0, done.err
    with zipfile.ZipFile(played / "ada.zip") as archive:
        faults, tables = rows(archive, "faults.ndjson"), rows(archive, "tables.ndjson")
        assert rows(archive, "slowest.ndjson")
        page = archive.read("index.html").decode()
    assert {fault["kind"] for fault in faults} == {"unreadable"}
    assert faults[0]["answer"].startswith("<b>banana</b>")
    assert faults[0]["question"].startswith("0 0 ")
    assert any("<script>alert(1)</script>" in fault["stderr"] for fault in faults)
    assert len(tables) == done.json["tables"] == 8
    assert all("ada" in table["bots"] and len(table["scores"]) == 2 for table in tables)
    assert "&lt;b&gt;banana&lt;/b&gt;" in page
    assert "<script" not in page and "\x1b" not in page
    assert "src=" not in page and "http" not in page.replace("http-equiv", "")


def test_a_packet_has_nothing_of_other_bots(played: Path) -> None:
    croupier("-C", played, "report", "--for", "ada", "-o", played / "ada.zip")
    with zipfile.ZipFile(played / "ada.zip") as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist()).decode()
        tables = rows(archive, "tables.ndjson")
    assert "the secret of grace" not in everything
    assert "cherry" not in everything
    for table in tables:
        asked = {event["seat"] for event in table["events"] if event["ev"] == "ask"}
        assert asked <= {table["seat"]}


def test_an_author_sees_of_the_faults_of_others_only_the_kind(played: Path) -> None:
    with reading(played / "run" / "run.sqlite") as book:
        table = next(load(book, root_of(book), book.paths()[0]))
    answers = [Event("answer", {"n": number, "seat": number - 1, "a": "(exception: KeyError)"}) for number in (1, 2)]
    seen = for_author(table._replace(events=answers, times={1: (5, 4), 2: (3, 2)}), 0)
    assert [event.facts["a"] for event in seen.events] == ["(exception: KeyError)", "(exception)"]
    assert seen.times == {1: (5, 4)}


def test_the_same_packet_has_the_same_bytes(played: Path) -> None:
    for name in ("one.zip", "two.zip"):
        croupier("-C", played, "report", "--for", "zed", "-o", played / name)
    assert (played / "one.zip").read_bytes() == (played / "two.zip").read_bytes()


def test_a_packet_without_a_name_of_its_own_is_in_the_folder_of_the_tournament(played: Path) -> None:
    told = croupier("-C", played, "report", "--for", "ada", "--json").json
    assert (told["path"], (played / "ada.zip").exists()) == (str(played / "ada.zip"), True)


def test_a_packet_needs_a_bot_that_has_played(played: Path) -> None:
    refused = croupier("-C", played, "report", "--for", "nobody")
    assert (refused.code, refused.err[:12]) == (2, "error[C012] ")
    assert "ada, grace, zed" in refused.err


def test_a_packet_has_no_options_of_the_whole_report(played: Path) -> None:
    refused = croupier("-C", played, "report", "--for", "ada", "--no-names")
    assert (refused.code, "are for the report of the whole run" in refused.first) == (2, True)


def test_the_command_that_there_was_names_the_option() -> None:
    refused = croupier("packet", "ada")
    assert (refused.code, "'packet' any more: croupier report --for BOT" in refused.first) == (2, True)
