"""Tournaments whose referee was written for brutaltester, CodinGame or Botzone, and the keys of game.toml for them."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from command import croupier, croupier_process, machine
from helpers import SAMPLES

from host.base.errors import UserError
from host.base.value_types import InvalidValue
from host.rules.catalogue import load_game
from host.rules.foreign import ForeignAdapter, game_folder, read_adapter

REFEREES = SAMPLES / "referees"

TOURNAMENT = """
game = "{game}"
bots = ["bots/one", "bots/two"]
seed = "d7b44809a0359169b755a7030186df92"

[[stage]]
kind = "round-robin"
tables_per_pair = {tables}
practice = true
"""

BOTS = {
    "nim": (
        "heaps = int(input())\n"
        "while True:\n"
        "    heaps = [int(n) for n in input().split()]\n"
        "    print(next(i for i, n in enumerate(heaps) if n))\n"
        "    print(1, flush=True)\n",
        "#include <iostream>\n"
        "int main() {\n"
        "    int n, heap;\n"
        "    std::cin >> n;\n"
        "    for (;;) {\n"
        "        int best = 0, size = 0;\n"
        "        for (int i = 0; i < n; i++) {\n"
        "            if (!(std::cin >> heap)) return 0;\n"
        "            if (heap > size) best = i, size = heap;\n"
        "        }\n"
        '        std::cout << best << "\\n" << size << std::endl;\n'
        "    }\n"
        "}\n",
    ),
    "hares": (
        "count, mine, turns = map(int, input().split())\n"
        "while True:\n"
        "    positions = [int(input()) for _ in range(count)]\n"
        "    print(5 - mine)\n",
        "#include <iostream>\n"
        "int main() {\n"
        "    int count, mine, turns, position;\n"
        "    std::cin >> count >> mine >> turns;\n"
        "    for (int turn = 1;; turn++) {\n"
        "        for (int i = 0; i < count; i++)\n"
        "            if (!(std::cin >> position)) return 0;\n"
        "        std::cout << turn % 5 + 1 << std::endl;\n"
        "    }\n"
        "}\n",
    ),
    "undercut": (
        'import json\nrequest = json.loads(input())["requests"][-1]\n'
        'print(json.dumps({"response": max(1, request["last"] - 1)}))\n',
        "#include <cstdlib>\n#include <iostream>\n#include <string>\n"
        "int main() {\n"
        "    std::string line;\n"
        "    getline(std::cin, line);\n"
        '    int last = atoi(line.c_str() + line.rfind("\\"last\\":") + 7);\n'
        '    std::cout << "{\\"response\\":" << (last % 5 + 1) << "}" << std::endl;\n'
        "}\n",
    ),
}


PARALLEL_NIM = """
import sys
while heaps := sys.stdin.readline().split():
    if len(heaps) > 1:
        print(next(i for i, n in enumerate(heaps) if n != "0"), 1, sep="\\n", flush=True)
"""


def tournament(folder: Path, game: str, named: str, *, tables: int = 4) -> None:
    """Write a tournament of two bots for a game of the samples, whose name in croupier.toml is given."""
    for name, file, text in zip(("one", "two"), ("bot.py", "bot.cpp"), BOTS[game], strict=True):
        (folder / "bots" / name).mkdir(parents=True)
        (folder / "bots" / name / file).write_text(text)
    (folder / "croupier.toml").write_text(TOURNAMENT.format(game=named, tables=tables))


def played(folder: Path) -> dict[str, float]:
    """Check a bot, play the tournament, verify it, and return the scores."""
    checked = croupier("check", "bots/one", "-C", folder, cwd=folder)
    assert checked.code == 0, checked.out
    assert "1 of 1: the first question of a table" in checked.out
    assert (done := croupier("run", cwd=folder)).code == 0, done.err
    assert "every recorded answer gives the recorded score" in croupier("verify", cwd=folder).out
    rows = croupier("standings", "--json", cwd=folder).json["rows"]
    assert all(row["faults"] == 0 for row in rows)
    return {row["bot"]: row["score"] for row in rows}


@pytest.mark.proof
def test_a_tournament_with_a_referee_of_brutaltester(tmp_path: Path) -> None:
    shutil.copytree(REFEREES / "nim_python", tmp_path / "nim")
    (tmp_path / "nim" / "game.toml").write_text(
        'name = "nim"\ntitle = "Nim"\nseats = [2, 9]\nadapter = { host = "brutaltester", reuse = true }\n'
    )
    tournament(tmp_path, "nim", "nim/", tables=8)
    scores = played(tmp_path)
    assert sum(scores.values()) == 1 and scores["two"] > scores["one"]  # of a table, on average
    replay = croupier("replay", "round-robin/one+two/1", cwd=tmp_path).out
    assert "1  one  4%0A1%205%203%204%0A 2  →  0\\n1" in replay
    report = croupier("check", "nim", cwd=tmp_path)
    assert report.code == 0 and "the same with eight tables in parallel" in report.out


@pytest.mark.proof
def test_a_tournament_with_a_jar_for_codingame(tmp_path: Path) -> None:
    source = (REFEREES / "hares_java" / "Referee.java").read_text()
    patient = source.replace('frame <= count ? "1000" : "50"', '"9000"')  # ms, on a busy machine
    assert patient != source
    (tmp_path / "Referee.java").write_text(patient)
    subprocess.run(["javac", "-d", "classes", "Referee.java"], cwd=tmp_path, check=True)
    subprocess.run(["jar", "cfe", tmp_path / "hares.jar", "Referee", "-C", tmp_path / "classes", "."], check=True)
    (tmp_path / "game.toml").write_text(
        'seats = [2, 8]\n[rules]\nturns = { type = "integer", default = 3, from = 1, to = 9 }\n'
    )
    tournament(tmp_path, "hares", "codingame:java -jar hares.jar")
    scores = played(tmp_path)
    assert scores == {"one": 1, "two": 0}  # of each table
    replay = croupier("replay", "round-robin/one+two/1", cwd=tmp_path).out
    assert replay.count("→") == 6 and "turn 1: " in replay  # three turns, and what spectators are told
    elsewhere = croupier_process("-C", tmp_path, "verify", env=machine("without-java"))
    assert elsewhere.code == 0 and "4 of them: transcript and sums checked only" in elsewhere.out
    jar = (tmp_path / "hares.jar").rename(tmp_path / "elsewhere").read_bytes()
    without = croupier("verify", cwd=tmp_path)
    assert without.code == 0 and "4 of them: transcript and sums checked only" in without.out
    assert croupier("replay", "round-robin/one+two/1", cwd=tmp_path).out == replay
    refused = croupier("run", cwd=tmp_path)
    assert refused.code == 3 and "error[C018] hares.jar: the program of the game hares is not here" in refused.err
    (tmp_path / "hares.jar").write_bytes(jar + b"\n")
    other = croupier("verify", cwd=tmp_path)
    assert other.code == 5 and "R008" in other.err and "is another one" in other.err


@pytest.mark.long
def test_a_tournament_with_a_judge_of_botzone(tmp_path: Path) -> None:
    shutil.copytree(REFEREES / "undercut_js", tmp_path / "judge")
    tournament(tmp_path, "undercut", "botzone:judge/", tables=2)
    scores = played(tmp_path)
    assert scores == {"one": 1, "two": 0}  # of each table
    replay = croupier("replay", "round-robin/one+two/1", cwd=tmp_path).out
    assert '1  one  {"turn":0,"turns":' in replay and '{"turn":1,"last":[1,1],"points":[1,1]}' in replay


@pytest.mark.long
def test_a_foreign_referee_that_dies_charges_no_bot(tmp_path: Path) -> None:
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "judge.py").write_text(
        "import json\n"
        "log = json.loads(input())['log']\n"
        "assert len(log) < 2 or log[1]['0']['response'] != 1, 'my mistake'\n"
        'print(json.dumps({"command": "request", "content": {"0": {"last": 0}}}))\n'
    )
    tournament(tmp_path, "undercut", "botzone:judge/", tables=1)
    done = croupier("run", cwd=tmp_path)
    assert done.code == 7
    assert "my mistake" in done.err + "".join(
        path.read_text(errors="replace") for path in (tmp_path / "run").rglob("*") if path.is_file()
    )
    rows = croupier("standings", "--json", cwd=tmp_path).json["rows"]
    assert all(row["faults"] == 0 for row in rows)


THREADS = """import threading
for _ in range({threads}):
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""


@pytest.mark.proof
@pytest.mark.parametrize(
    ("edges", "reason"),
    [
        ('[edges."one heap"]\ntext = "1\\n1\\n"\nlines = 2\n', "here the referee has ended"),
        ("", "the game's program cannot be run here"),
    ],
)
def test_a_sandbox_without_room_for_all_tables_is_neither_a_difference_nor_an_undecided_fixture(
    edges: str, reason: str, tmp_path: Path
) -> None:
    shutil.copytree(REFEREES / "nim_python", tmp_path / "nim")
    tournament(tmp_path, "nim", "nim/", tables=24)
    (tmp_path / "bots" / "one" / "bot.toml").write_text(
        'language = "python"\nlifetime = "fixture"\nparallel_tables = 64\n'
    )
    (tmp_path / "bots" / "one" / "bot.py").write_text(PARALLEL_NIM)
    shutil.copytree(tmp_path / "bots" / "one", tmp_path / "bots" / "three")
    config, toml, program = (tmp_path / name for name in ("croupier.toml", "nim/game.toml", "nim/referee.py"))
    config.write_text(config.read_text().replace("bots/two", "bots/three"))
    referee, game = program.read_text(), toml.read_text() + edges
    toml.write_text(game)
    program.write_text(THREADS.format(threads=100) + referee)  # eight tables are more than the 512 tasks of the sandbox
    done = croupier("run", "--workers", 1, cwd=tmp_path)
    assert done.code == 0, done.err
    results = croupier("standings", "--json", cwd=tmp_path).json
    assert results["replayed"] > 0 and not results["undecided"]
    assert croupier("verify", "--json", cwd=tmp_path).json["differences"] == []
    toml.write_text(f"{game}[limits]\ntasks = 90\n")  # no room for a single table
    without = croupier("verify", cwd=tmp_path)
    assert without.code == 0, without.out
    assert f"24 of them: transcript and sums checked only, because {reason}" in without.out
    toml.write_text(f"{game}[limits]\ntasks = 600\n")
    assert croupier("run", cwd=tmp_path).code == 0  # with other limits it is the same referee
    program.write_text(referee)
    assert croupier("verify", cwd=tmp_path).code == 5


def test_a_foreign_referee_that_does_not_start_is_an_error_of_the_game(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text("import sys\nsys.exit('no heaps today')\n")
    tournament(tmp_path, "nim", "brutaltester:nim.py", tables=1)
    done = croupier("run", cwd=tmp_path)
    assert done.code == 4 and "G002" in done.err and "no heaps today" in done.err and "bots/" not in done.err


@pytest.mark.long
def test_a_referee_for_another_runner_is_checked_by_its_name(tmp_path: Path) -> None:
    shutil.copy(REFEREES / "nim_python" / "referee.py", tmp_path / "nim.py")
    done = croupier("check", "brutaltester:nim.py", cwd=tmp_path)
    assert done.code == 0 and "nim · python · referee" in done.out
    for words in (
        "twice, in two processes",
        "eight tables in parallel",
        "not checked: good answers",
        "moves are illegal",
    ):
        assert words in done.out


@pytest.mark.long
def test_a_referee_for_another_runner_that_reads_the_clock_is_not_accepted(tmp_path: Path) -> None:
    (tmp_path / "clock.py").write_text(
        "import time\n"
        "input(), input()\n"
        "print('###Input 0', time.time(), '###Output 0 1', sep='\\n', flush=True)\n"
        "input()\n"
        "print('###End 01')\n"
    )
    done = croupier("check", "brutaltester:python3 clock.py", cwd=tmp_path)
    assert done.code == 1 and "error[G003] brutaltester:python3 clock.py: is not deterministic" in done.out
    assert "take all randomness from the seed" in done.out
    (tmp_path / "clock.py").write_text("import sys\nsys.exit('no heaps today')\n")
    done = croupier("check", "brutaltester:clock.py", cwd=tmp_path)
    assert done.code == 1 and "error[G002] brutaltester:clock.py" in done.out and "no heaps today" in done.out


def test_a_referee_for_another_runner_that_does_not_exist_is_not_accepted(tmp_path: Path) -> None:
    done = croupier("check", "botzone:none", cwd=tmp_path)
    assert done.code == 1 and "error[C018] botzone:none: none is not a file or a folder" in done.out
    assert croupier("check", "botzone:none", "other", cwd=tmp_path).code == 2


# What names stand for.


def test_a_script_or_a_command_is_a_referee_too(tmp_path: Path) -> None:
    shutil.copy(REFEREES / "nim_python" / "referee.py", tmp_path / "nim.py")
    (tmp_path / "croupier.toml").write_text("")
    one = game_folder("brutaltester:nim.py", tmp_path, "")
    assert sorted(path.name for path in one.iterdir()) == ["game.toml", "nim.py"]
    other = game_folder("brutaltester:python3 nim.py --fast", tmp_path, "")
    assert sorted(path.name for path in other.iterdir()) == ["game.toml", "nim.py"]
    assert 'run = ["python3", "nim.py", "--fast"]' in (other / "game.toml").read_text()
    assert game_folder("brutaltester:nim.py", tmp_path, "") == one
    assert load_game("brutaltester:nim.py", tmp_path).name == "nim"
    assert load_game("brutaltester:nim.py", tmp_path).protocol == "block"


def test_a_jar_for_codingame_is_run_by_its_engine(tmp_path: Path) -> None:
    (tmp_path / "locm.jar").write_bytes(b"PK")
    text = (game_folder("codingame:locm.jar", tmp_path, "") / "game.toml").read_text()
    assert '"-cp", "locm.jar", "com.codingame.gameengine.core.RefereeMain"]' in text and 'name = "locm"' in text


@pytest.mark.parametrize("said", ["botzone:judge/", "brutaltester:nim", "brutaltester:"])
def test_a_program_that_does_not_exist_is_named(said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file or a folder") as refused:
        game_folder(said, tmp_path, "croupier.toml:1")
    assert refused.value.problems[0].code == "C018"


@pytest.mark.long
def test_a_program_that_is_missing_is_named_and_its_journal_can_be_read(tmp_path: Path) -> None:
    shutil.copy(REFEREES / "nim_python" / "referee.py", tmp_path / "nim.py")
    tournament(tmp_path, "nim", "brutaltester:nim.py", tables=1)
    assert croupier("run", cwd=tmp_path).code == 0
    (tmp_path / "nim.py").unlink()
    done = croupier("verify", cwd=tmp_path)
    assert done.code == 0 and "1 of them: transcript and sums checked only" in done.out
    done = croupier("check", "brutaltester:nim.py", cwd=tmp_path)
    assert done.code == 1 and "error[C018] nim: the program of the game nim is not here" in done.out


def test_the_options_of_an_adapter_become_words() -> None:
    said = {"host": "brutaltester", "seed": False, "reuse": True, "fault": "WAIT 0"}
    adapter = read_adapter(said)
    assert adapter and adapter.words == ("brutaltester", "--no-seed", "--reuse", "--fault=WAIT 0")
    assert read_adapter("codingame") == ForeignAdapter("codingame")
    scaled = read_adapter({"host": "botzone", "scale": 100, "keep_running": False, "seed": True})
    assert scaled and scaled.words == ("botzone", "--scale=100")


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (7, "C006"),
        ({}, "C006"),
        ("codingames", "C008"),
        ({"host": "codingame", "reuse": True}, "C001"),
        ({"host": "botzone", "scale": True}, "C006"),
        ({"host": "botzone", "scale": -1}, "C009"),
        ({"host": "brutaltester", "fault": "a\nb"}, "C009"),
    ],
)
def test_a_wrong_adapter_is_refused(said: Any, code: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        read_adapter(said)
    assert refused.value.code == code


def test_a_program_may_not_have_the_folder_of_the_adapter(tmp_path: Path) -> None:
    folder = tmp_path / "nim"
    shutil.copytree(REFEREES / "nim_python", folder)
    (folder / "game.toml").write_text('name = "nim"\nseats = 2\nadapter = "brutaltester"\n')
    (folder / "croupier_referee").mkdir()
    (folder / "croupier_referee" / "driver.py").write_text("")
    done = croupier("check", "nim", cwd=tmp_path)
    assert done.code == 1 and "croupier_referee, which the adapter supplies" in done.err + done.out
