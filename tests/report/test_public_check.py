"""check.py of the public folder, on every kind of stage: it confirms what is right and finds each alteration of each field."""

import csv
import hashlib
import json
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from command import croupier
from helpers import breadth
from test_public import check, published

PAZAAK = """
import itertools
for n in itertools.count(1):
    try:
        input()
    except EOFError:
        break
    print("STAND" if n % {number} == 0 else "END", flush=True)
"""
HOLDEM = """
import sys
for n, line in enumerate(sys.stdin, 1):
    print(line.split()[-3] if n % {number} else 0, flush=True)
"""
TOURNAMENTS = {
    "pazaak": """
game = "pazaak"
[[stage]]
name = "all"
kind = "round-robin"
tables_per_pair = 6
[[stage]]
name = "shares"
kind = "league"
tables = 8
[[stage]]
name = "course"
kind = "gauntlet"
references = ["sample:neptr", "b5"]
tables = 4
[[stage]]
name = "swiss"
kind = "swiss"
tables_per_pairing = 3
rank_by = ["sets", "buchholz"]
[[stage]]
name = "cup"
kind = "knockout"
set = 2
first_to = 2
min_bots = 4
[[stage]]
name = "first"
kind = "knockout"
set = 2
first_to = 1
min_bots = 4
places = "first"
[[stage]]
name = "double"
kind = "knockout"
elimination = "double"
set = 3
first_to = 1
min_bots = 4
seeding = "drawn"
""",
    "holdem": """
game = "holdem"
[[stage]]
name = "groups"
kind = "groups"
advance = 2
repeat = 2
until = 4
[[stage]]
name = "final"
kind = "groups"
advance = 1
""",
    "cardshark": """
game = "cardshark"
[rules]
preset = "thread"
seats = 3
[[stage]]
name = "tables"
kind = "mixed-tables"
tourneys = 3
rounds = 2
""",
}
SCRIPTS = {"pazaak": (PAZAAK, 5), "holdem": (HOLDEM, 7), "cardshark": ("print('S')\n", 3)}


@pytest.fixture(scope="module", params=breadth(reversed(TOURNAMENTS), 3))
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the public folder of a tournament."""
    cup = tmp_path_factory.mktemp(request.param)
    script, bots = SCRIPTS[request.param]
    (cup / "bots").mkdir()
    for number in range(1, bots + 1):
        (cup / "bots" / f"b{number}.py").write_text(script.replace("{number}", str(number + 1)))
    stages = TOURNAMENTS[request.param].replace("[[stage]]", "[[stage]]\npractice = true")
    (cup / "croupier.toml").write_text(stages)
    done = croupier("-C", cup, "run", "--progress", "none")
    assert done.code == 0, done.err
    return published(cup / "run" / "run.sqlite", cup / "public")


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    """Return a copy of the folder that may be altered."""
    return Path(shutil.copytree(folder, tmp_path / "copy"))


@cache
def compiled(source: str) -> CodeType:
    return compile(source, "check.py", "exec")


def refusal(folder: Path) -> str:
    """Run check.py in this process; return why it refuses the folder, or "" if it does not."""
    file = folder / "check.py"
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # it leaves its files to the end of the process
        patch.setattr(sys, "argv", [str(file)])
        try:
            exec(compiled(file.read_text()), {"__name__": "__main__"})
        except SystemExit as refused:
            return str(refused.code)
    return ""


def read_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "standings.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(folder: Path, columns: list[str], rows: list[dict[str, str]]) -> None:
    with (folder / "standings.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def test_every_stage_is_confirmed(folder: Path) -> None:
    done = check(folder)
    stages = json.loads((folder / "records.ndjson").read_text().partition("\n")[0])["terms"]["stages"]
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(f"✓ stage {stage['name']}: " in done.stdout for stage in stages)
    assert "not checked:" in done.stdout and "croupier verify" in done.stdout
    assert "who won the ties" not in done.stdout


def test_a_tournament_is_confirmed_after_its_best_bots_were_withdrawn(folder: Path, tmp_path: Path) -> None:
    cup = Path(shutil.copytree(folder.parent, tmp_path / "cup"))
    rows = read_rows(folder)
    last = [row["bot"] for row in rows if row["stage"] == rows[-1]["stage"] and row["bot"] != "b5"]  # b5 is a reference
    for bot in last[:2]:
        done = croupier("-C", cup, "withdraw", bot, "--reason", "was ill")
        assert done.code == 0, done.err
    done = check(published(cup / "run" / "run.sqlite", cup / "again"))
    assert done.returncode == 0, done.stdout + done.stderr
    listed = done.stdout.partition("not checked:")[2]
    knockouts = {row["stage"] for row in rows} & {"cup", "first", "double"}
    assert {line.split()[1] for line in listed.splitlines() if "who won the ties" in line} == {
        f"{cup}:" for cup in knockouts
    }


def other_cells(row: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield other values for each cell of a row."""
    for key, cell in row.items():
        try:
            yield key, str(float(cell) + 1)
        except ValueError:
            yield key, f"{cell}x"
        if cell:
            yield key, ""
    yield "note", "disqualified: 3 faults, more than max_faults = 2"
    yield "rank", str(int(row["rank"]) + 1)
    yield "rank", "1" if row["rank"] == "2" else "2"


def may_share(rows: list[dict[str, str]], number: int, key: str, cell: str) -> bool:
    """Return whether check.py does not know a rank, as it says: bots that were out in the same round share one."""
    row, before = rows[number], rows[number - 1]
    place = 1 + [each["bot"] for each in rows if each["stage"] == row["stage"]].index(row["bot"])
    return key == "rank" and row["stage"] in ("first", "groups", "final") and cell in (before["rank"], str(place))


@pytest.mark.long
@pytest.mark.one_in(3)
def test_each_altered_cell_of_the_standings_is_found(copy: Path) -> None:
    rows = read_rows(copy)
    for number, row in enumerate(rows):
        for key, cell in other_cells(row):
            if cell == row[key] or may_share(rows, number, key, cell):
                continue
            write_rows(copy, [*row], [*rows[:number], {**row, key: cell}, *rows[number + 1 :]])
            assert refusal(copy), (row, key, cell)


def test_missing_added_and_swapped_rows_are_found(copy: Path) -> None:
    rows = read_rows(copy)
    columns = [*rows[0]]
    altered = [rows[:number] + rows[number + 1 :] for number in range(len(rows))]
    altered += [[*rows, {**rows[0], "bot": "ghost"}], [*rows, {**rows[0], "stage": "more"}], [rows[0], *rows], []]
    one, other, *rest = rows
    altered += [[other, one, *rest], [{**other, "rank": "1"}, {**one, "rank": "2"}, *rest]]
    for some in altered:
        write_rows(copy, columns, some)
        assert refusal(copy), some


def test_each_altered_field_of_the_rules_and_the_seed_is_found(copy: Path) -> None:
    rules = json.loads((copy / "rules.json").read_text())
    values: dict[str, Any] = {
        "schema": "croupier/public/2",
        "name": "x",
        "game": "x",
        "rules": {**rules["rules"], next(iter(rules["rules"])): 77},
        "seal": "0" * 64,
        "lines": rules["lines"] + 1,
        "hidden": ["x"],
        "without_withdrawn": rules["without_withdrawn"][1:] or ["groups", "final", "tables"],
    }
    if rules["game"] == "holdem":  # of the others, no table shows the difference
        values["winners"] = "none"
    assert values.keys() <= rules.keys() <= {*values, "winners", "shuffles"}  # of the game: check.py says so
    for key, value in values.items():
        (copy / "rules.json").write_text(json.dumps({**rules, key: value}))
        assert refusal(copy), key
    for inner in rules["rules"]:
        (copy / "rules.json").write_text(
            json.dumps({**rules, "rules": {key: value for key, value in rules["rules"].items() if key != inner}})
        )
        assert refusal(copy), inner
    (copy / "rules.json").write_text(json.dumps(rules))
    seed = (copy / "seed.txt").read_text()
    for old in ("sha256 ", "seed "):
        at = seed.index(f"{old}") + len(old)
        (copy / "seed.txt").write_text(seed[:at] + ("0" if seed[at] != "0" else "1") + seed[at + 1 :])
        assert refusal(copy), old


def resealed(folder: Path, alter: Callable[[list[dict[str, Any]]], None]) -> None:
    """Alter the records as an organiser can who has published no seal: each line gets a new seal."""
    records = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    alter(records)
    seal, lines = "", list[str]()
    for record in records:
        line = json.dumps({**record, "before": seal}, sort_keys=True, separators=(",", ":")) + "\n"
        lines.append(line)
        seal = hashlib.sha256(line.encode()).hexdigest()
    (folder / "records.ndjson").write_text("".join(lines))
    rules = json.loads((folder / "rules.json").read_text())
    (folder / "rules.json").write_text(json.dumps({**rules, "seal": seal, "lines": len(lines)}))


def test_a_finished_stage_without_its_last_fixture_is_found(folder: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    for stage in lines[0]["terms"]["stages"]:
        copy = Path(shutil.copytree(folder, tmp_path / stage["name"]))
        last = max(n for n, line in enumerate(lines) if line.get("fixture", {}).get("stage") == stage["name"])
        resealed(copy, lambda records, at=last: records.pop(at) and None)  # type: ignore[misc]
        assert "✗" in refusal(copy), stage["name"]


def test_a_fixture_that_is_missing_is_named_if_the_standings_are_made_to_fit(folder: Path, tmp_path: Path) -> None:
    if "cardshark" not in str(folder):
        pytest.skip("one kind is enough: the sums of this one are easily made to fit")
    copy = Path(shutil.copytree(folder, tmp_path / "copy"))

    def drop(records: list[dict[str, Any]]) -> None:
        records.remove(next(line for line in records if line.get("fixture", {}).get("path") == "tables/3"))

    resealed(copy, drop)
    said = ""
    for _ in range(60):  # copy what check.py expects into the standings
        said = refusal(copy)
        if ", but the records have " not in said:
            break
        wrong = re.search(r"tables: (\w+) of (\S+) is ", said)
        if not wrong:
            break
        key, bot = wrong.groups()
        right, rows = said.rpartition("records have ")[2].strip(), read_rows(copy)
        if key == "rank":
            break
        write_rows(copy, [*rows[0]], [{**row, key: right} if row["bot"] == bot else row for row in rows])
    assert "its schedule has more: tables/3" in said or "the order" in said or "rank of" in said, said


@pytest.mark.long
def test_champions_of_the_sealed_places_must_be_those_of_the_records(folder: Path, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (folder / "records.ndjson").read_text().splitlines()]
    for at, line in enumerate(lines):
        if line.get("stage", {}).get("status") == "finished":
            copy = Path(shutil.copytree(folder, tmp_path / line["stage"]["name"]))

            def swap(records: list[dict[str, Any]], at: int = at) -> None:
                places = records[at]["stage"]["places"]
                places[:2] = places[1::-1]

            resealed(copy, swap)
            assert refusal(copy), line["stage"]["name"]
