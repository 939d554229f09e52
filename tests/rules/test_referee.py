"""Games whose rules are a program: the examples play as the Python game does, whatever happens to the program."""

import contextlib
import gzip
import json
import random
import re
import shutil
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
import trio
from command import ROOT, croupier, croupier_process, machine
from helpers import breadth, level
from test_adding_a_game import laid_out
from test_every_language import needs
from test_referee_protocol import TRANSCRIPT

from croupier import Error, env
from host.base.errors import UserError
from host.bots.monitor import running_monitor
from host.games.engine import Game, Table
from host.games.luck import Luck
from host.play.sources.own_rules import source_of
from host.play.sources.source import SourcePlace
from host.play.sources.steady import SteadySource
from host.play.table_plans import TableSetup
from host.play.transcript import decode_steps, pack_transcript, unpack_transcript
from host.rules.answer_forms import random_answer
from host.rules.catalogue import load_game
from host.rules.game_toml import load_referee_game
from host.submissions.referees import build_referee, prepare_referee
from protocols.wire import Answer, Fault, FaultKind, read_text

REFEREES = ROOT / "sample_bots" / "referees"
SEED = bytes(range(16))
TOOLS = {"c": "cc", "java": "javac", "js": "node", "lisp": "sbcl", "python": "python3"}
LANGUAGES = [pytest.param(name, marks=[] if name == "c" else [pytest.mark.long]) for name in TOOLS]


class Step(NamedTuple):
    """What a table says, in a form that is equal for a Python game and a referee."""

    asked: tuple[tuple[int, tuple[Any, ...]], ...]
    illegal: tuple[int, ...]
    told: tuple[tuple[str, dict[str, Any]], ...]
    scores: tuple[int, ...] | None


@pytest.fixture(scope="module")
def goofspiel(tmp_path_factory: pytest.TempPathFactory) -> Game:
    """Return the game in Python of docs/adding-a-game.md."""
    return load_game("goofspiel:GAME", laid_out(tmp_path_factory.mktemp("docs") / "sunday"))


def with_referee(language: str) -> Game:
    """Return Goofspiel with a referee that has been built."""
    return trio.run(prepare_referee, load_game(f"goofspiel_{language}/", REFEREES), level())


def plain(value: Any) -> Any:
    """Return a value with lists for tuples: events of a referee come from JSON."""
    return [*map(plain, value)] if isinstance(value, list | tuple) else value


GOOFSPIEL = load_referee_game(REFEREES / "goofspiel_c")


def answers_to(table: int, asked: Sequence[Any], chance: Luck) -> list[Answer]:
    """Return random answers to questions, some of them faults and some of them illegal."""
    return [
        read_text(GOOFSPIEL.game.grammar, random_answer(GOOFSPIEL.forms, chance, view))
        if chance.below(8)
        else Fault(FaultKind.TIMEOUT)
        for _, view in asked
    ]


def in_python(game: Game, rules: Any, number: int) -> list[Step]:
    """Play a table with the rules in Python; return its steps."""
    told: list[tuple[str, dict[str, Any]]] = []
    chance, steps = Luck(SEED, f"answers/{number}"), list[Step]()

    def tell(event: str, **facts: Any) -> None:
        told.append((event, {name: plain(value) for name, value in facts.items()}))

    table = Table(game, rules, Luck(SEED, f"table/{number}"), tell=tell)
    illegal: tuple[int, ...] = ()
    while True:
        asked = tuple((seat, tuple(view)) for seat, view in table.open)
        steps.append(Step(asked, illegal, tuple(told), table.scores))
        told.clear()
        if not table.open:
            return steps
        answers = answers_to(number, table.open, chance)
        illegal = tuple(index for index, answer in enumerate(answers) if not table.answer(answer))


async def with_source(game: Game, rules: Any, numbers: Sequence[int], parallel: int, kills: bool) -> list[list[Step]]:
    """Play tables with a referee, many at once; return the steps of each. Perhaps kill its process at random moments."""
    open_source = source_of(game)
    assert open_source is not None
    rng, found = random.Random(7), dict[int, list[Step]]()
    async with running_monitor() as monitor:
        source = SteadySource(open_source, SourcePlace(level(), (), monitor))
        try:
            waiting, at_play = [*numbers], dict[int, Any]()
            answers: dict[int, list[Answer]] = {}
            while waiting or at_play:
                opened = []
                while waiting and len(at_play) < parallel:
                    number = waiting.pop(0)
                    table = source.table(TableSetup(("a", "b"), rules, f"table/{number}"), SEED, ("a", "b"))
                    at_play[table.number] = (number, table, Luck(SEED, f"answers/{number}"))
                    opened.append(table)
                if kills and not rng.randrange(12):
                    kill_referee()
                await source.advance(opened, answers)
                answers = {}
                for key, (number, table, chance) in [*at_play.items()]:
                    if table.last.requests:
                        answers[key] = answers_to(number, table.last.requests, chance)
                    else:
                        found[number] = [
                            Step(
                                tuple((seat, tuple(view)) for seat, view in said.requests),
                                said.illegal,
                                tuple((event, dict(facts)) for event, facts in said.told),
                                said.scores,
                            )
                            for said in decode_steps(table.transcript, game.view)
                        ]
                        del at_play[key]
            assert bool(source.failures) == kills
        finally:
            await source.close()
    return [found[number] for number in numbers]


def kill_referee(host: psutil.Process | None = None) -> int:
    """Kill the programs of referees below a process with SIGKILL, as many as run. Return how many."""
    running = [*referees(host)]
    for process in running:
        process.send_signal(signal.SIGKILL)
    return len(running)


def referees(host: psutil.Process | None = None) -> Iterator[psutil.Process]:
    """Yield the processes that run a program of a game's folder: below a keeper, which is below `host`, or this process."""
    for process in (host or psutil.Process()).children(recursive=True):
        try:
            if any("referee" in word.lower() for word in process.cmdline()) or process.name() in ("bot", "goofspiel_c"):
                yield process
        except psutil.Error:
            continue


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_manuals_conversation_is_what_the_examples_say(language: str) -> None:
    needs(TOOLS[language])
    built = trio.run(build_referee, REFEREES / f"goofspiel_{language}", level())
    spoken = "".join(line[2:] + "\n" for line in TRANSCRIPT.splitlines() if line.startswith("> "))
    done = subprocess.run(built.argv, input=spoken.encode(), cwd=built.folder, capture_output=True, timeout=60)
    expected = [json.loads(line[2:]) for line in TRANSCRIPT.splitlines() if line.startswith("< ")]
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(map(json.dumps, heard)) == sorted(map(json.dumps, expected))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_referee_says_what_the_python_game_says(language: str, goofspiel: Game) -> None:
    needs(TOOLS[language])
    game = with_referee(language)
    for preset, count in (("seven", 24), ("thirteen", 8)):
        numbers = range(1, count + 1)
        expected = [in_python(goofspiel, goofspiel.presets[preset], number) for number in numbers]
        for parallel in (1, 64):
            assert trio.run(with_source, game, game.presets[preset], numbers, parallel, False) == expected


@pytest.mark.long
@pytest.mark.parametrize("parallel", [1, 64])
def test_a_referee_that_is_killed_at_random_moments_says_the_same(parallel: int, goofspiel: Game) -> None:
    game, numbers = with_referee("python"), range(1, 25)
    expected = [in_python(goofspiel, goofspiel.presets["seven"], number) for number in numbers]
    assert trio.run(with_source, game, game.presets["seven"], numbers, parallel, True) == expected


def tournament(folder: Path, game: str, **more: str) -> Path:
    """Lay the tournament of docs/adding-a-game.md out, with a game and the same seed for all."""
    laid_out(folder)
    if game.endswith("/"):
        shutil.copytree(REFEREES / game, folder / game)
    text = (folder / "croupier.toml").read_text().replace("goofspiel:GAME", game)
    extra = "".join(f"{key} = {value}\n" for key, value in more.items())
    (folder / "croupier.toml").write_text('seed = "equal deals"\n' + text.replace("200", "40") + extra)
    return folder


def without_times(event: dict[str, Any]) -> dict[str, Any]:
    """Return an exported event without what is measured."""
    return {key: event[key] for key in ("n", "seat", "a")} if event["ev"] == "answer" else event


def test_a_tournament_with_a_referee_has_the_results_of_the_python_game(tmp_path: Path) -> None:
    standings, exported = [], []
    for game in ("goofspiel:GAME", "goofspiel_c/"):
        folder = tournament(tmp_path / game.strip("/"), game)
        assert croupier("-C", folder, "run").code == 0
        rows = croupier("-C", folder, "standings", "--json").json["rows"]
        standings.append([{key: row[key] for key in ("bot", "tables", "score", "wins", "low", "high")} for row in rows])
        events = croupier("-C", folder, "export", "jsonl").out.splitlines()
        exported.append([without_times(json.loads(line.replace("goofspiel_c", "goofspiel"))) for line in events])
        verified = croupier("-C", folder, "verify")
        assert verified.code == 0, verified.out + verified.err
        assert "transcript and sums checked only" not in verified.out
    assert standings[0] == standings[1]
    assert exported[0] == exported[1]


@pytest.mark.long
def test_another_referee_does_not_continue_or_verify_a_run(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "t", "goofspiel_c/")
    assert croupier("-C", folder, "run").code == 0
    elsewhere = croupier_process("-C", folder, "verify", env=machine("without-compiler"))
    assert elsewhere.code == 0, elsewhere.err
    assert "40 tables of" in elsewhere.out and "40 of them: transcript and sums checked only" in elsewhere.out
    with (folder / "goofspiel_c" / "referee.c").open("a") as file:
        file.write("/* another one */\n")
    again = croupier("-C", folder, "run")
    assert again.code != 0
    assert "R001" in again.err
    assert "referee" in again.err
    verified = croupier("-C", folder, "verify")
    assert verified.code == 5
    assert "R008" in verified.err and "was played with the referee" in verified.err and not verified.out


def test_a_transcript_is_sealed(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "t", "goofspiel_python/")
    assert croupier("-C", folder, "run").code == 0
    with contextlib.closing(sqlite3.connect(folder / "run" / "run.sqlite")) as database, database:
        number, packed = database.execute("SELECT fixture, transcript FROM record LIMIT 1").fetchone()
        tables = unpack_transcript(packed)
        tables[0] = tables[0].replace(b"\xa5board", b"\xa5beard")
        assert tables != unpack_transcript(packed)
        database.execute("UPDATE record SET transcript = ? WHERE fixture = ?", (pack_transcript(tables), number))
    verified = croupier("-C", folder, "verify")
    assert verified.code == 1 and "it was changed after it was sealed" in verified.out


def test_a_referee_that_says_something_else_than_its_transcript_is_named(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "t", "goofspiel_python/")
    program = folder / "goofspiel_python" / "referee.py"
    program.write_text(
        program.read_text()
        .replace("import os\n", "import os\nimport time\n")
        .replace('"scores": self.points', '"scores": [time.time_ns() // 1000 % 10, *self.points[1:]]')
    )
    assert croupier("-C", folder, "run").code == 0
    verified = croupier("-C", folder, "verify")
    assert verified.code == 1 and "its program says something else than its transcript" in verified.out


@pytest.mark.long
def test_a_game_of_four_on_a_grid_is_played_and_shown(tmp_path: Path) -> None:
    folder = tmp_path / "grid"
    shutil.copytree(REFEREES / "lightcycles", folder / "lightcycles")
    shutil.copytree(REFEREES / "lightcycles_bots", folder / "bots")
    (folder / "croupier.toml").write_text('game = "lightcycles/"\nbots = ["bots/*"]\n\n[[stage]]\nkind = "mixed"\n')
    refused = croupier("-C", folder, "run")
    assert "C008" in refused.err  # no such kind: the message lists those that suit the game
    (folder / "croupier.toml").write_text(
        'game = "lightcycles/"\nbots = ["bots/*"]\n\n[rules]\nseats = 4\nwidth = 9\nheight = 9\n\n'
        '[[stage]]\nkind = "league"\ntables = 2\n'
    )
    done = croupier("-C", folder, "run")
    assert done.code == 0, done.err
    assert "explorer" in done.out
    replay = croupier("-C", folder, "replay", "last")
    assert replay.code == 0, replay.err
    assert "\n      ........" in replay.out  # the grid, as the referee tells it


BOTS = {
    "argv": 'print("LOW")\n',
    "lines": 'import sys\nfor line in sys.stdin:\n    print("HIGH", flush=True)\n',
    "json": (
        "import json, sys\nfor line in sys.stdin:\n    card = json.loads(line)['your_cards'][-1]\n"
        '    print(json.dumps({"move": f"BID {card}"}), flush=True)\n'
    ),
    "block": 'while True:\n    fields = [input() for _ in range(5)]\n    print("BID", fields[3].split(",")[0], flush=True)\n',
    "botzone": (
        "import json\ncards = json.loads(input())['requests'][-1]['your_cards']\n"
        'print(json.dumps({"response": f"BID {cards[0]}"}))\n'
    ),
}


@pytest.mark.long
def test_bots_of_every_protocol_play_mirrored_tables_of_a_referee(tmp_path: Path) -> None:
    shutil.copytree(REFEREES / "goofspiel_c", tmp_path / "prizes")
    for protocol, program in BOTS.items():
        (tmp_path / "bots" / protocol).mkdir(parents=True)
        (tmp_path / "bots" / protocol / "bot.py").write_text(program)
        (tmp_path / "bots" / protocol / "bot.toml").write_text(f'protocol = "{protocol}"\n')
    (tmp_path / "croupier.toml").write_text(
        'game = "prizes/"\nbots = ["bots/*"]\n\n[limits]\nmove = "10 s"\ncpu = "10 s"\n\n'
        '[[stage]]\nkind = "round-robin"\ntables_per_pair = 2\nmirror = true\n'
    )
    assert croupier("-C", tmp_path, "run").code == 0
    rows = croupier("-C", tmp_path, "standings", "--json").json["rows"]
    assert {row["bot"]: row["faults"] for row in rows} == dict.fromkeys(BOTS, 0)
    assert croupier("-C", tmp_path, "verify").code == 0
    asked = croupier("-C", tmp_path, "ask", "lines", "round-robin/argv+lines/1:2")
    assert asked.code == 0, asked.err
    assert croupier("-C", tmp_path, "report", "-o", tmp_path / "report.html").code == 0


@pytest.mark.parametrize("language", breadth(["python", "c", "java", "javascript", "lisp"], 5))
def test_init_writes_a_working_referee(language: str, tmp_path: Path) -> None:
    folder = tmp_path / "my-game"
    made = croupier("init", folder, "--referee", language, "--json")
    assert made.code == 0, made.err
    assert made.json["game"] == "my_game"
    game = load_referee_game(folder)
    assert game.game.title == "My game"
    assert croupier("init", folder, "--referee", language).code == 2
    if language in ("c", "python"):
        checked = croupier("check", folder)
        assert checked.code == 0, checked.out
        assert "ready to play" in checked.out


def test_init_refuses_a_language_without_an_example(tmp_path: Path) -> None:
    refused = croupier("init", tmp_path / "game", "--referee", "cobol")
    assert refused.code == 2
    assert "referees: c, java, javascript, lisp, python" in refused.err
    assert croupier("init", tmp_path / "game", "--referee", "c", "-g", "pazaak").code == 2


def test_check_gives_a_referee_the_answers_of_a_bundle(tmp_path: Path) -> None:
    folder = tmp_path / "rogue"
    shutil.copytree(REFEREES / "rogue", folder)
    toml = (folder / "game.toml").read_text()
    bundle = tmp_path / "failed.json.gz"
    table = {
        "schema": "croupier/undecided/1",
        "rules": {"seats": 2},
        "table": "round-robin/a+b/1",
        "bots": ["a", "b"],
        "luck": "00" * 32,
        "answers": ["LOW", "SAY 5", "!timeout", "SAY 9"],
        "reason": "",
    }
    bundle.write_bytes(gzip.compress(json.dumps(table).encode()))
    fine = croupier("check", folder, "--bundle", bundle)
    assert fine.code == 0, fine.err
    assert '> {"table":1,"answers":[{"seat":0,"fault":"timeout"},{"seat":1,"move":"SAY 9"}]}' in fine.out
    assert "does not fail with these answers" in fine.out
    (folder / "game.toml").write_text(toml.replace('"honest"', '"crashes_at_a_move"'))
    again = croupier("check", folder, "--bundle", bundle, "--json")
    assert again.code == 1
    assert again.json["problems"][0]["code"] == "G002"
    bundle.write_bytes(b"no bundle")
    assert "R014" in croupier("check", folder, "--bundle", bundle).err
    assert croupier("check", "sample:dumb", "--bundle", bundle).code == 2


def test_an_environment_for_learners_refuses_a_referee() -> None:
    with pytest.raises(Error, match="cannot be stepped"):
        env(str(REFEREES / "rogue"), opponents=[REFEREES / "lightcycles_bots" / "straight.lisp"])


@pytest.mark.parametrize(
    ("said", "reason"),
    [("nowhere/", "is not a folder with a game.toml"), ("./", "is not a folder with a game.toml")],
)
def test_a_folder_without_game_toml_is_refused(said: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(reason)):
        load_game(said, tmp_path)


def test_the_key_of_a_table_is_all_that_a_referee_learns_of_the_seed() -> None:
    source = (ROOT / "host" / "play" / "sources" / "referee.py").read_text()
    assert source.count("table.root") == 1
    assert "derive(table.root, table.luck_path)" in source


def test_what_the_bots_have_used_is_recorded(tmp_path: Path) -> None:
    folder = tournament(tmp_path / "t", "goofspiel_c/")
    assert croupier("-C", folder, "run").code == 0
    for row in croupier("-C", folder, "standings", "--json").json["rows"]:
        assert row["cpu_per_decision"] > 0.000_001
