"""The sha256 of a bot, and the bytes between croupier and its workers, do not depend on names of classes and fields."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import built
from msgspec import msgpack

from host.bots.bot_spec import BotSpec, Submission
from host.bots.values import BankTime, Evidence, Timing, Usage
from host.games import GAMES
from host.journal.descriptions import description_text, read_description
from host.journal.state import RecordedBot, bot_from_row
from host.play.jobs import Job, WorkerSetup, decode_job, decode_setup, encode, encode_setup
from host.play.records import Fixture, Record, Result
from host.sandbox.levels import Level
from host.sandbox.limits import Bank, Limits
from host.stages import CROUPIERS
from host.submissions.build import (
    HASHED_LIMITS,
    BuiltBot,
    fingerprint,
    fingerprint_of_files,
    hashed_spec,
    hashed_steps,
)
from host.submissions.file_tree import File, copy_files
from host.submissions.languages import Step

C = '#include <stdio.h>\nint main(void) { puts("S"); return 0; }\n'
JAVA = 'public class Hello { public static void main(String[] a) { System.out.println("S"); } }\n'
PYTHON = 'print("S")\n'
MANIFEST = 'name = "three"\nauthor = "A. Author"\ngame = "cardshark"\nlanguage = "python"\nentry = "three.py"\n'


@pytest.mark.parametrize(
    ("name", "files", "sha256"),
    [
        ("one.c", {"one.c": C}, "b493e0825dd8fa467de4bc20d5282c96bd4ecc586dc44faf599d33ea9a286cd4"),
        ("Hello.java", {"Hello.java": JAVA}, "4282e0f92004c45afcf493dd8425e6205454ba2eaa09151f5c8b3c7dda975a08"),
        (
            "three",
            {"three/three.py": PYTHON, "three/bot.toml": MANIFEST},
            "dca096fa8e35490f980073b26ef05982d79fc95c0249ab5c163df700d71a82b0",
        ),
    ],
)
def test_a_bot_keeps_its_sha256(name: str, files: dict[str, str], sha256: str, tmp_path: Path) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert built(tmp_path / name).sha256 == sha256


def test_a_bot_with_files_of_croupier_keeps_its_sha256(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("def bet(my_chips, *others):\n    return 0\n")
    assert (
        built(tmp_path / "bot.py", "holdem").sha256
        == "dad59d41f2e051fd382798747c487b9199f4e3d99bdb9ddde161fefcb2542dd7"
    )


def test_a_build_in_the_cache_is_found_without_a_copy_of_the_files(tmp_path: Path) -> None:
    names = ["z", "b/inner/z.py", "b/a.py", "b/z.py", "a/z.py", "a.py", "b.py", "é", "-", "b-/c"]
    files = [File(name, name.endswith(".py"), name.encode()) for name in names]
    copy_files(files, tmp_path)
    assert [*fingerprint_of_files(files)] == [*fingerprint(tmp_path)]


def test_the_sha256_covers_each_field_of_a_spec_but_where_it_lies_and_its_limits() -> None:
    spec = BotSpec(
        name="a",
        language="python",
        author="d",
        game="pazaak",
        protocol="lines",
        sources=("b.py",),
        entry="c.py",
        main="Main",
        run=("e", "f"),
        build=("make",),
        compiler="ecl",
        adapter="banksalad",
        heap=1 << 20,
        python="3.11",
        requires=("numpy==1",),
        env={"KEY": "value"},
        needs=("awk",),
        parallel_tables=16,
        table_ids=True,
        lifetime="table",
        warm=True,
        state="memory",
        state_lifetime="stage",
    )
    submission = Submission(
        spec=spec,
        folder=Path("/somewhere"),
        files=("b.py", "c.py"),
        limits=Limits(move=2),
        manifest="/somewhere/bot.toml",
        wheels=Path("/wheels"),
    )
    assert hashed_spec(submission) == (
        "Spec(name='a', folder=PosixPath('.'), files=('b.py', 'c.py'), language='python', author='d', game='pazaak', "
        "protocol='lines', sources=('b.py',), entry='c.py', main='Main', run=('e', 'f'), build=('make',), compiler='ecl', "
        "adapter='banksalad', heap=1048576, python='3.11', requires=('numpy==1',), env=(('KEY', 'value'),), "
        "needs=('awk',), abreast=16, tables=True, lifetime='table', warm=True, state='memory', state_lifetime='stage', "
        f"limits={HASHED_LIMITS}, manifest='', wheels=None)"
    )


def test_the_folder_of_a_build_is_named_by_its_commands() -> None:
    steps = [Step(("cc", "a.c")), Step(("jar", "x"), optional=True)]
    assert hashed_steps(steps) == (
        "[Step(command=('cc', 'a.c'), optional=False), Step(command=('jar', 'x'), optional=True)]"
    )


# Messages between croupier and its workers, and journals. Every field has its own value, so that the test notices
# two fields that are swapped.

BOT = BuiltBot(
    spec=BotSpec(
        name="a",
        author="An author",
        language="c",
        protocol="lines",
        parallel_tables=16,
        table_ids=True,
        lifetime="table",
        state="memory",
        state_lifetime="stage",
        cores=2,
    ),
    argv=("./bot",),
    folder="/folder",
    sha256="ff",
    env=(("KEY", "value"),),
    limits=Limits(move=2.0, cores=2, bank=Bank(60.0, "table"), increment=0.5, floor=0.25),
    warm=("warm",),
)
LIMITS_LINE = '[2.0,10.0,1.0,86400.0,536870912,64,4096,1048576,16777216,64,2,[60.0,"table"],0.5,0.25,16777216,[],0]'
SPEC_LINE = (
    '{"name":"a","author":"An author","game":"","language":"c","protocol":"lines","sources":[],"entry":"","main":"",'
    '"run":[],"build":[],"compiler":"","adapter":"","heap":0,"python":"","requires":[],"env":{},"needs":[],'
    '"parallel_tables":16,"table_ids":true,"lifetime":"table","warm":false,"raw_arguments":false,"state":"memory","state_absent":false,"state_lifetime":"stage",'
    '"models":[],"cores":2,'
    '"limits":{"move":-1.0,"startup":-1.0,"cpu":-1.0,"cpu_table":-1.0,"memory":-1,"tasks":-1,"output":-1,"state":-1,'
    '"files":-1,"open_files":-1,"bank":[0.0,""],"increment":-1.0,"floor":-1.0}}'
)
BOT_LINE = f'[{SPEC_LINE},["./bot"],"/folder","ff",[["KEY","value"]],{LIMITS_LINE},["warm"],0.0]'
SETUP = WorkerSetup(
    game=GAMES["cardshark"],
    rules=GAMES["cardshark"].presets["thread"],
    bots=(BOT,),
    seed=b"seed",
    level=Level.L3,
    parallel_tables=64,
    pondering=True,
    placement="core",
)
SETUP_LINE = (
    f'["cardshark",[4,10,200,5,"thread",[]],[{BOT_LINE}],"c2VlZA==","L3",64,true,["","",false,null,[]],'
    '"core",false,"",""]'
)
FIXTURE = Fixture(
    game="cardshark",
    rules=GAMES["cardshark"].presets["engine2011"]._replace(stacks=(10, 20)),
    plan="independent",
    path="league/3",
    bots=("a", "b"),
    tables=2,
    first=3,
)
JOB = Job(fixture=FIXTURE, states=(("a", b"state"),))
JOB_LINE = '[["cardshark",[4,10,200,5,"engine2011",[10,20]],"independent","league/3",["a","b"],2,3],[["a","c3RhdGU="]]]'
EVIDENCE = Evidence(
    bot="a",
    table=1,
    number=2,
    kind="timeout",
    detail="late",
    question=b"q",
    raw=b"r",
    stderr=b"e",
    wall=0.5,
    cpu=0.25,
    ended="killed",
    waited=0.125,
    overhead=0.0625,
    bank=7,
)
RECORD = Record(
    path="league/3",
    results={
        "a": Result(tables=2, wins=1, score=5, low=0, high=3, final=4, units=1, wins_with=(1.0,), scores_with=(25.0,))
    },
    faults={"a": {"timeout": 1}},
    usage={
        "a": Usage(
            questions=1,
            wall=0.5,
            slowest=0.25,
            cpu=0.125,
            memory=4096,
            starts=2,
            walls=(0, 1),
            waited=0.75,
            pauses=3,
            pondered=1.5,
        )
    },
    evidence=(EVIDENCE,),
    scores=((1, 4), (4, 1)),
    answers=b"packed",
    benched=("a",),
    replayed=1,
    seconds=1.25,
    stalls=("a: busy",),
    overhead=0.75,
    times=(Timing(table=1, number=2, wall=3, cpu=4),),
    states=(("a", b"state"),),
    said=(("a", (("league/3/1", b"words"),)),),
    failures=("a: died",),
    banks=(BankTime(table=1, number=2, left=5),),
    seats=((0, 1), (1, 0)),
    lines=b"lines",
)
RECORD_LINE = (
    '["league/3",{"a":[2,1,5,0,3,4,1,[1.0],[25.0]]},{"a":{"timeout":1}},{"a":[1,0.5,0.25,0.125,4096,2,[0,1],0.75,3,1.5]},'
    '[["a",1,2,"timeout","late","cQ==","cg==","ZQ==",0.5,0.25,"killed",0.125,0.0625,[0.0,0.0,0.0,0.0],7,""]],[[1,4],[4,1]],"cGFja2Vk",["a"],1,'
    '1.25,["a: busy"],0.75,[[1,2,3,4]],[["a","c3RhdGU="]],'
    '[["a",[["league/3/1","d29yZHM="]]]],["a: died"],[[1,2,5]],[[0,1],[1,0]],"bGluZXM=",{},{},"",null,[]]'
)


@pytest.mark.parametrize(("value", "line"), [(SETUP, SETUP_LINE), (JOB, JOB_LINE), (RECORD, RECORD_LINE)])
def test_what_travels_to_a_worker_and_back_is_these_bytes(value: Any, line: str) -> None:
    assert (encode_setup(value) if isinstance(value, WorkerSetup) else encode(value)).decode() == line


def test_a_worker_reads_its_setup_and_its_jobs() -> None:
    assert decode_setup(SETUP_LINE.encode()) == SETUP
    assert decode_job(JOB_LINE.encode(), type(JOB.fixture.rules)) == JOB


def test_a_journal_reads_what_it_stores_by_position() -> None:
    stored = msgpack.decode(msgpack.encode(RECORD))
    assert stored[:4] == json.loads(RECORD_LINE)[:4]
    assert (stored[4][0][5:8], stored[6], stored[13]) == ([b"q", b"r", b"e"], b"packed", [["a", b"state"]])
    assert msgpack.decode(msgpack.encode(RECORD), type=Record) == RECORD


def test_a_journal_stores_a_fixture_by_name_and_reads_it_in_any_order() -> None:
    rules = {"seats": 4, "buy_in": 10, "chips": 200, "hands": 5, "engine": "engine2011", "stacks": [10, 20]}
    stored = {"game": "cardshark", "rules": rules, "plan": "independent", "path": "league/3"} | {
        "bots": ["a", "b"],
        "tables": 2,
        "first": 3,
    }
    assert json.loads(description_text(FIXTURE)) == stored
    turned = dict(reversed(stored.items())) | {"rules": dict(reversed(rules.items()))}
    assert all(read_description(json.dumps(each)).fixture(CROUPIERS) == FIXTURE for each in (stored, turned))


def test_a_journal_stores_a_bot_by_these_names() -> None:
    row = RecordedBot.of(BOT).row()
    stored = json.loads(row[-1])
    assert list(stored) == [
        "author",
        "lifetime",
        "limits",
        "parallel_tables",
        "protocol",
        "state",
        "state_lifetime",
        "table_ids",
    ]
    assert bot_from_row(*row) == RecordedBot.of(BOT)
    assert list(json.loads(RecordedBot.of(BOT._replace(limits=Limits())).row()[-1])["limits"]) == sorted(
        Limits().by_name()
    )
