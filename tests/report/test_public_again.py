"""The folder of `export public --bots` plays its tournament again, and has what scores and the hashes of bots follow from."""

import json
import re
import shutil
import sqlite3
import tomllib
import zlib
from contextlib import closing
from pathlib import Path

import pytest
from command import ROOT, croupier
from helpers import level
from test_public import check, published
from test_two_tournaments import laid_out

from host.base.errors import UserError
from host.games import GAMES
from host.games.engine import Table
from host.games.luck import bound_root
from host.journal.reader import reading
from host.play.records import Fixture, read_answer
from host.play.table_plans import table_setups
from host.report.public import answer_lines, public_lines

C = """
#include <stdio.h>
int main(void) { char line[4096]; while (fgets(line, 4096, stdin)) { puts("STAND"); fflush(stdout); } }
"""
STAND, DRAWS = (
    f"import os, random\nluck = random.Random(os.environ['CROUPIER_SEED'])\nwhile input():\n    print({what}, flush=True)\n"
    for what in ("'STAND'", "luck.choice(['END', 'STAND'])")
)
PAZAAK = """
game = "pazaak"
bots = ["bots/*", "sample:neptr"]
bind_seed = true
[[stage]]
kind = "round-robin"
tables_per_pair = 4
mirror = true
[[stage]]
kind = "gauntlet"
references = ["sample:nestor", "staff/*.py", "one"]
tables = 20
grades = {"sample:nestor" = {points = 2, at_least = "1 %", sure = "60 %"}}
[[stage]]
name = "graded"
kind = "gauntlet"
references = ["staff/*.py"]
tables = 20
grades = {"staff/*.py" = {points = 3, sure = "60 %"}}
[[stage]]
kind = "pairs"
list = "FOLDER/meetings.txt"
[run]
workers = 2
[report]
html = "elsewhere.html"
"""
REFEREE = """
game = "games/goofspiel_python/"
[[stage]]
kind = "round-robin"
tables_per_pair = 4
"""
BID = "import sys\nfor line in sys.stdin:\n    print('{}', flush=True)\n"


def pazaak(folder: Path) -> None:
    """Lay out a tournament of files, a folder, sample bots and guests, whose seed is secret and bound to the bots."""
    files = {
        "croupier.toml": PAZAAK.replace("FOLDER", str(folder)),
        "meetings.txt": "4 one / two  # a rematch\n2 neptr / two\n",
        "bots/one.py": STAND,
        "bots/two/two.py": DRAWS,
        "bots/three.c": C,
        "staff/s.py": DRAWS,
        "staff/t.py": STAND,
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def own_code(folder: Path) -> None:
    """Lay out a tournament with a game, a kind of stage and a ranking of its own."""
    laid_out(folder, "high", 1)


def referee(folder: Path) -> None:
    """Lay out a tournament whose rules are a program."""
    shutil.copytree(ROOT / "sample_bots" / "referees" / "goofspiel_python", folder / "games" / "goofspiel_python")
    (folder / "croupier.toml").write_text(REFEREE)
    (folder / "bots").mkdir()
    for bid in ("LOW", "HIGH"):
        (folder / "bots" / f"{bid}.py").write_text(BID.format(bid))


def stages(folder: Path) -> list[dict[str, object]]:
    """Return the keys of the stages that a public folder has sealed, without the place of a list of meetings."""
    terms = json.loads((folder / "records.ndjson").read_text().splitlines()[0])["terms"]
    return [{key: value for key, value in stage.items() if key != "list"} for stage in terms["stages"]]


@pytest.mark.long
@pytest.mark.parametrize("lay_out", [own_code, pazaak, referee])
@pytest.mark.one_in(3)
def test_a_published_tournament_plays_again_to_the_same_answers(lay_out: object, tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    cup.mkdir()
    assert callable(lay_out)
    lay_out(cup)
    assert croupier("-C", cup, "run").code == 0
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public", "--bots")
    shutil.rmtree(cup)  # nothing of it is needed any more
    done = check(folder)
    assert done.returncode == 0 and "fixtures have the sealed hashes" in done.stdout, done.stderr
    assert f"✓ the files of {len([*(folder / 'bots').iterdir()])} bots have the sealed hashes" in done.stdout
    assert "the programs of" not in done.stdout
    assert croupier("-C", folder, "run").code == 0
    again = published(folder / "run" / "run.sqlite", folder / "again")
    assert stages(again) == stages(folder)
    same = check(folder, "same", str(again))
    fixtures = sum('"fixture":{' in line for line in (folder / "records.ndjson").read_text().splitlines())
    assert f"✓ {fixtures} fixtures have the same seats and scores in {again}, and {fixtures} of them" in same.stdout
    assert same.returncode == 0, same.stderr
    answers = (again / "answers.ndjson").read_text()
    (again / "answers.ndjson").write_text(answers.replace("LOW" if "LOW" in answers else "STAND", "OTHER", 1))
    assert "is another fixture in" in check(folder, "same", str(again)).stderr
    (again / "answers.ndjson").write_text(answers.partition("\n")[0])
    assert (
        f"{fixtures} fixtures have the same seats and scores in {again}, and 1 of"
        in check(folder, "same", str(again)).stdout
    )
    (again / "answers.ndjson").unlink()
    assert ", and 0 of them the same answers" in check(folder, "same", str(again)).stdout


@pytest.fixture(scope="module")
def cup(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tournament that has been played."""
    folder = tmp_path_factory.mktemp("again")
    pazaak(folder)
    assert croupier("-C", folder, "run").code == 0
    return folder


@pytest.mark.long
def test_the_scores_of_each_table_follow_from_what_is_published(cup: Path, tmp_path: Path) -> None:
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public")
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    seed = bytes.fromhex((folder / "seed.txt").read_text().split()[-1])
    root = bound_root(seed, bytes.fromhex(lines[0]["terms"]["bound"]))
    game = GAMES["pazaak"]
    rules = game.default_rules._replace(**json.loads((folder / "rules.json").read_text())["rules"])
    answers = {
        one["number"]: one["answers"] for one in map(json.loads, (folder / "answers.ndjson").read_text().splitlines())
    }
    fixtures = [line["fixture"] for line in lines if "fixture" in line]
    for each in fixtures:
        fixture = Fixture("pazaak", rules, each["plan"], each["path"], tuple(each["bots"]), each["tables"])
        for setup, scores, text in zip(
            table_setups(fixture, root, each["scores"]), each["scores"], answers[each["number"]], strict=True
        ):
            table = Table(game, rules, setup.shuffler(root), map(read_answer, text.split(",")))
            assert [*(table.scores or ())] == scores, setup.path
    assert {each["stage"] for each in fixtures} == {"round-robin", "gauntlet", "graded", "pairs"}


@pytest.mark.long
def test_ls_prints_the_hashes_that_a_tournament_has_sealed(cup: Path, tmp_path: Path) -> None:
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public")
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    sealed = {line["version"]["name"]: line["version"]["sha256"] for line in lines if "version" in line}
    listed = croupier("-C", cup, "ls", "--hashes").out.splitlines()
    assert {line.split("  ")[1]: line.split("  ")[0] for line in listed} == sealed
    assert {row["bot"]: row["sha256"] for row in croupier("-C", cup, "ls", "--hashes", "--json").json["rows"]} == sealed


@pytest.mark.long
def test_altered_programs_and_answers_are_found(cup: Path, tmp_path: Path) -> None:
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public", "--bots")
    right = json.loads((folder / "bots.json").read_text())

    def refused(path: Path, text: str) -> str:
        before = path.read_text() if path.exists() else None
        path.write_text(text)
        done = check(folder)
        path.unlink() if before is None else path.write_text(before)
        assert done.returncode == 1, (path, text)
        return done.stderr

    for name, bot in right.items():
        for file in bot["files"]:
            path = folder / "bots" / name / file
            assert f"the hash of the files of {name}" in refused(path, f"{path.read_text()} ")
        assert f"the list of files of {name}" in refused(folder / "bots" / name / "planted.py", "")
        for key, value in {"spec": f"{bot['spec']} ", "files": dict.fromkeys(bot["files"], 73)}.items():
            assert f"of {name} is " in refused(folder / "bots.json", json.dumps({**right, name: {**bot, key: value}}))
    lines = (folder / "answers.ndjson").read_text().splitlines(keepends=True)
    first = json.loads(lines[0])
    for key, value in {
        "number": first["number"] + 1,
        "salt": "0" * 32,
        "answers": [*first["answers"][:-1], f"{first['answers'][-1]},END"],
    }.items():
        refused(folder / "answers.ndjson", "".join([json.dumps({**first, key: value}) + "\n", *lines[1:]]))
    (folder / "answers.ndjson").write_text("".join(lines[1:]))
    assert "the answers of 1 fixtures, which are not published" in check(folder).stdout
    assert "twice" in refused(folder / "answers.ndjson", "".join([*lines, lines[0]]))
    (folder / "answers.ndjson").unlink()
    said = check(folder).stdout
    assert (
        "\n- the answers are not published\n" in said and f"the answers of {len(lines)} fixtures, which are not" in said
    )
    assert "ghost has not played" in refused(folder / "bots.json", json.dumps({**right, "ghost": right["one"]}))
    unknown = {name: {**bot, "packages": True} for name, bot in right.items()}
    (folder / "bots.json").write_text(json.dumps(unknown))
    said = check(folder).stdout
    assert (
        "\n- the programs of the bots are not published\n" in said and f"the programs of {', '.join(unknown)}" in said
    )


def test_what_cannot_be_published_is_refused(cup: Path, tmp_path: Path) -> None:
    before = {path: path.is_file() and path.read_bytes() for path in cup.rglob("*")}
    for words in ([], ["--bots"]):
        there = croupier("-C", cup, "export", "public", cup, *words)
        assert (there.code, "is the folder of the tournament" in there.err) == (2, True)
    assert {path: path.is_file() and path.read_bytes() for path in cup.rglob("*")} == before
    copy = Path(shutil.copytree(cup, tmp_path / "cup"))
    (copy / "bots" / "late.py").write_text(STAND)
    folder = published(copy / "run" / "run.sqlite", tmp_path / "public", "--bots")
    assert not (folder / "bots" / "late").exists()  # it has not played
    (folder / "bots" / "two" / "more.py").write_text("")
    (folder / "seed.txt").unlink()
    stale = croupier("-C", copy, "export", "public", folder, "--bots")
    assert (stale.code, "there are files of an earlier export" in stale.err) == (5, True), stale.err
    assert not (folder / "seed.txt").exists()  # nothing was written
    (copy / "bots" / "three.c").unlink()
    gone = croupier("-C", copy, "export", "public", tmp_path / "other", "--bots")
    assert (gone.code, "three: has played, and its files are not here" in gone.err) == (5, True), gone.err
    assert not (tmp_path / "other").exists()


def test_what_lies_beside_the_code_of_a_package_is_not_published(tmp_path: Path) -> None:
    cup = laid_out(tmp_path / "cup", "high", 1)
    for name in ("__init__.py", ".env", ".git/config", "data/prizes.txt", "__pycache__/old.pyc"):
        (cup / "stages" / name).parent.mkdir(parents=True, exist_ok=True)
        (cup / "stages" / name).write_text("")
    assert croupier("-C", cup, "run").code == 0
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public", "--bots")
    there = {str(path.relative_to(folder)) for path in (folder / "stages").rglob("*") if path.is_file()}
    assert there == {"stages/__init__.py", "stages/mine.py", "stages/data/prizes.txt"}
    (tmp_path / "secret").write_text("mine")
    (cup / "stages" / "link").symlink_to(tmp_path / "secret")
    linked = croupier("-C", cup, "export", "public", tmp_path / "other", "--bots")
    assert (linked.code, "is a link to a file outside the tournament's folder" in linked.err) == (2, True), linked.err
    assert not (tmp_path / "other" / "stages" / "link").exists()


def test_where_a_model_is_and_its_key_are_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not level().traits.own_namespaces:
        pytest.skip("models need a sandbox with namespaces")
    monkeypatch.setenv("MY_VARIABLE", "k1")
    cup = tmp_path / "cup"
    (cup / "bots" / "one").mkdir(parents=True)
    (cup / "my.secret").write_text("k2")
    models = [
        '[models.small]\naddress = "http://10.9.8.7:81/v1"\nkey_env = "MY_VARIABLE"\nrequests = 7\n',
        '[models.big]\naddress = "unix:/my.socket"\nkey_file = "my.secret"\n',
    ]
    (cup / "croupier.toml").write_text(
        'game = "pazaak"\n[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\n' + "".join(models)
    )
    (cup / "bots" / "one" / "bot.toml").write_text('models = ["small", "big"]\nprotocol = "lines"\n')
    (cup / "bots" / "one" / "one.py").write_text(STAND)
    (cup / "bots" / "two.py").write_text(STAND)
    assert croupier("-C", cup, "run").code == 0
    folder = published(cup / "run" / "run.sqlite", tmp_path / "public", "--bots")
    for path in (each for each in folder.rglob("*") if each.is_file()):
        for private in (b"10.9.8.7", b"MY_VARIABLE", b"my.socket", b"my.secret"):
            assert private not in path.read_bytes(), path
    shutil.rmtree(cup)
    config = folder / "croupier.toml"
    assert tomllib.loads(config.read_text())["models"] == {"small": {"requests": 7}, "big": {}}
    refused = croupier("-C", folder, "run")
    assert refused.code == 3 and refused.err.count("address") >= 2, refused.err
    own = config.read_text().replace("= {", "= {address = 'http://127.0.0.1:1', ")
    config.write_text(re.sub(", *}", "}", own))
    assert croupier("-C", folder, "run").code == 0


def test_answers_of_a_damaged_journal_that_are_no_text_are_refused(cup: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(cup / "run" / "run.sqlite", tmp_path))
    with reading(path) as journal:
        public = public_lines(journal)
        assert [*answer_lines(journal, public)]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE record SET answers = ?", (zlib.compress(b"\xff"),))
    with reading(path) as journal, pytest.raises(UserError, match="is damaged: 'utf-8' codec"):
        [*answer_lines(journal, public)]
