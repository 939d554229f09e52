"""Follow docs/adding-a-stage.md: its kind of stage and its ranking work everywhere that croupier's own do."""

import re
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from command import CROUPIER, MEASURED, ROOT, croupier, environment
from helpers import own_port

PAGE = (ROOT / "docs" / "adding-a-stage.md").read_text()
FILE = re.compile(r"^```\w+ (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def laid_out(place: Path) -> Path:
    """Write the page's files into a folder; join blocks of the same file."""
    files: dict[str, list[str]] = {}
    for block in FILE.finditer(PAGE):
        files.setdefault(block["name"], []).append(block["text"])
    assert {"ladder.py", "croupier.toml"} == set(files)
    place.mkdir(parents=True)
    for name, texts in files.items():
        (place / name).write_text("\n\n".join(texts))
    return place


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page's tournament after the page's commands were run as it is written."""
    folder = laid_out(tmp_path_factory.mktemp("played") / "sunday")
    for words in PAGE.split("```console\n")[1].split("```")[0].splitlines():
        done = croupier("-C", folder, *words.removeprefix("$ croupier ").split())
        assert done.code == 0, done.err
        (folder / f"{words.removeprefix('$ croupier ')}.out").write_text(done.out)
    return folder


@pytest.mark.long
def test_the_page_is_played_as_it_is_written(played: Path) -> None:
    planned, ranked = ((played / f"{words}.out").read_text() for words in ("run --dry-run", "standings"))
    assert "ladder" in planned and "150 tables in 5 fixtures" in planned
    assert "worst result" in ranked and "games won" in ranked


def test_neighbours_meet_in_every_round_and_the_worst_result_is_ranked(played: Path) -> None:
    rows = croupier("-C", played, "standings", "--json").json["rows"]
    assert sum(row["wins"] for row in rows) == 150 and sorted(row["tables"] for row in rows)[0] >= 60
    pairs = croupier("-C", played, "standings", "--by", "pair", "--json").json["rows"]
    assert {row["bot"]: row["worst"] for row in rows} == {
        row["bot"]: min(pair["rate"] for pair in pairs if pair["bot"] == row["bot"]) for row in rows
    }


@pytest.mark.long
def test_an_interrupted_stage_is_resumed_and_ends_the_same(tmp_path: Path) -> None:
    halting, whole = (laid_out(tmp_path / name) for name in ("halting", "whole"))
    for folder in (halting, whole):
        config = folder / "croupier.toml"
        config.write_text(config.read_text().replace("tables   = 30", "tables   = 2000"))
    codes, seconds = list[int](), 0.4
    while not codes or codes[-1] == 5:
        stop_after = ("--stop-after", f"{seconds} s", "--workers", 2)
        codes.append(croupier("-C", halting, "run", "--progress", "none", *stop_after).code)
        status = croupier("-C", halting, "status", "--json").json
        assert (status["rows"][0]["kind"], status["state"]) == (
            "ladder",
            "finished" if codes[-1] == 0 else "interrupted",
        )
        seconds *= 2
    assert len(codes) > 1 and codes[-1] == 0
    assert croupier("-C", whole, "run", "--progress", "none", "--workers", 1).code == 0
    assert measured(halting) == measured(whole)


def measured(folder: Path) -> list[dict[str, object]]:
    """Return the rows of a tournament's standings without the values that differ in every run."""
    rows = croupier("-C", folder, "standings", "--json").json["rows"]
    return [{key: value for key, value in row.items() if key not in MEASURED} for row in rows]


def test_what_was_played_is_reported_exported_and_verified(played: Path) -> None:
    assert croupier("-C", played, "report").code == 0
    page = (played / "report.html").read_text()
    assert '<th scope="col" class="r">worst result</th>' in page and "ladder · finished · 150 tables" in page
    out = played / "out.csv"
    assert croupier("-C", played, "export", "csv", "-o", out).code == 0
    assert len(out.read_text().splitlines()) == 1 + 2 * 150 and ",ladder/1/" in out.read_text()
    assert croupier("-C", played, "verify").code == 0
    assert croupier("-C", played, "replay", "last").code == 0
    assert "worst" in croupier("-C", played, "standings", "--csv").out.splitlines()[0].split(",")


@pytest.mark.long
def test_it_is_served(played: Path) -> None:
    pytest.importorskip("hypercorn")
    port = own_port()
    command = [*CROUPIER, "-C", str(played), "serve", "--bind", f"127.0.0.1:{port}"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as process:
        try:
            page = fetched(f"http://127.0.0.1:{port}/")
            rows = fetched(f"http://127.0.0.1:{port}/api/standings.json")
        finally:
            process.terminate()
    assert "worst result" in page and "ladder" in page and '"worst"' in rows


def fetched(url: str) -> str:
    """Return what a server answers, once it accepts connections."""
    until = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(url, timeout=60) as answer:
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_a_journal_away_from_its_kind_says_where_to_look(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "run", tmp_path / "elsewhere" / "run")
    done = croupier("-C", tmp_path / "elsewhere", "standings")
    assert done.code == 3
    assert "C018" in done.err and "the stage kind ladder is not known here" in done.err


def test_a_journal_away_from_its_ranking_says_where_to_look(played: Path, tmp_path: Path) -> None:
    shutil.copytree(played / "run", tmp_path / "elsewhere" / "run")
    text = (played / "croupier.toml").read_text()
    (tmp_path / "elsewhere" / "croupier.toml").write_text(re.sub(r"(?m)^rank_by.*$", 'rank_by = ["gone:WORST"]', text))
    shutil.copy(played / "ladder.py", tmp_path / "elsewhere")
    done = croupier("-C", tmp_path / "elsewhere", "standings")
    assert done.code == 3
    assert "error[C018] the ranking worst is not known here" in done.err


WRONG = {
    "no module": ('kind     = "lader:LADDER"', 'kind = "lader:LADDER" cannot be imported'),
    "no kind": ('kind     = "ladder:WORST"', 'kind = "ladder:WORST" is not a Kind but a Ranking'),
    "another's name": ('kind     = "other:GROUPS"', 'kind = "other:GROUPS" has the name of another kind, groups'),
    "two names": ('kind     = "other:ODD"', "is called 'odd', and its config 'ladder'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_name_that_stands_for_no_kind_is_refused(case: str, tmp_path: Path) -> None:
    now, why = WRONG[case]
    folder = laid_out(tmp_path / "sunday")
    other = "from dataclasses import replace\nfrom ladder import LADDER\nODD = replace(LADDER, name='odd')\n"
    other += "from host.stages.groups import Groups, GROUPS as OURS\nGROUPS = replace(OURS, drawn=False)\n"
    (folder / "other.py").write_text(other)
    config = (folder / "croupier.toml").read_text().replace('kind     = "ladder:LADDER"', now)
    (folder / "croupier.toml").write_text(config)
    done = croupier("-C", folder, "run")
    assert (done.code, "error[C018]" in done.err, why in done.err) == (3, True, True), done.err


def test_a_name_that_stands_for_no_ranking_is_refused(tmp_path: Path) -> None:
    folder = laid_out(tmp_path / "sunday")
    config = (folder / "croupier.toml").read_text().replace("ladder:WORST", "ladder:LADDER")
    (folder / "croupier.toml").write_text(config)
    done = croupier("-C", folder, "run")
    assert done.code == 3 and 'croupier.toml:9: rank_by = "ladder:LADDER" is not a Ranking but a Kind' in done.err
