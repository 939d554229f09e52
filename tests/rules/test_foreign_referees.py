"""Referees of brutaltester, CodinGame and Botzone, driven by the adapter as a real process that speaks referee/1."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest
from helpers import breadth, long

from protocols.referee import Ask, Conversation, Message, Opened, Show
from protocols.wire import Answer, Fault, FaultKind, Grammar, Move

KIT = Path(__file__).parents[2] / "sample_bots" / "adapters" / "referee"
REFEREES = KIT.parents[1] / "referees"
PLAIN = Grammar(re.compile(r"(?P<text>[\x20-\x7E\n]*)"), "any text", verb="SAY")
FIELDS = {"brutaltester": ("text",), "codingame": ("text",), "botzone": ("request",)}
TIMEOUT = Fault(FaultKind.TIMEOUT)

Policy = Callable[[int, Ask], Answer]


class Told(NamedTuple):
    """A table that is over: all that the referee has said about it."""

    messages: list[Message]

    @property
    def asks(self) -> list[Ask]:
        return [ask for message in self.messages for ask in message.ask]

    @property
    def shows(self) -> list[Show]:
        return [show for message in self.messages for show in message.show]

    @property
    def tells(self) -> list[Mapping[str, Any]]:
        return [{"event": event, **facts} for message in self.messages for event, facts in message.tell]

    @property
    def scores(self) -> tuple[int, ...]:
        over = self.messages[-1].over
        assert over
        return over.scores


class Adapter:
    """A process of the adapter. Its every line is checked as croupier checks it."""

    def __init__(
        self, protocol: str, *words: str | Path, options: tuple[str, ...] = (), cwd: Path | None = None
    ) -> None:
        command = [sys.executable, KIT, protocol, *options, "--", *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, bufsize=0
        )
        self.talk = Conversation(PLAIN, FIELDS[protocol])
        self.told: dict[int, Told] = {}
        self.send(self.talk.start())
        self.hear()

    def send(self, data: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(data)

    def hear(self) -> list[Message]:
        """Read until no table waits for the referee. Raise EOFError if the process ends before."""
        messages: list[Message] = []
        assert self.process.stdout
        while self.talk.is_waiting:
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                raise EOFError
            messages += self.talk.receive(data)
        return messages

    def open(self, table: int, *, seats: int = 2, seed: int = 7, rules: Mapping[str, Any] | None = None) -> None:
        self.told[table] = Told([])
        self.send(self.talk.open(Opened(table, seats, seats, rules or {}, "00" * 32, seed)))

    def play(self, policy: Policy) -> dict[int, Told]:
        """Answer the questions of all open tables until they are over."""
        while messages := self.hear():
            for message in messages:
                self.told[message.table].messages.append(message)
            for message in messages:
                if message.ask:
                    self.send(self.talk.answer(message.table, [policy(message.table, ask) for ask in message.ask]))
        return self.told

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def end(self) -> str:
        """End the input, and return the standard error of the process."""
        assert self.process.stdin and self.process.stderr
        self.process.stdin.close()
        words = self.process.stderr.read().decode()
        self.process.wait()
        return words


Start = Callable[..., Adapter]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Adapter] = []

    def starting(*words: str | Path, **more: Any) -> Adapter:
        started.append(Adapter(*words, **more))  # type: ignore[arg-type]
        return started[-1]

    yield starting
    for adapter in started:
        with adapter.process:
            adapter.process.kill()


class Built(dict[str, tuple[str | Path, ...]]):
    """The commands of the sample referees, by folder. A referee is compiled when its command is used first."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            nim_python=(sys.executable, REFEREES / "nim_python" / "referee.py"),
            hares_python=(sys.executable, REFEREES / "hares_python" / "referee.py"),
            undercut_python=(sys.executable, REFEREES / "undercut_python" / "judge.py"),
            undercut_js=(shutil.which("node") or "node", REFEREES / "undercut_js" / "judge.js"),
        )
        self.folder = folder

    def __missing__(self, name: str) -> tuple[str | Path, ...]:
        if name == "undercut_cpp":
            subprocess.run(["g++", "-o", self.folder / "judge", REFEREES / name / "judge.cpp"], check=True)
            self[name] = (self.folder / "judge",)
        else:
            subprocess.run(["javac", "-d", self.folder / name, REFEREES / name / "Referee.java"], check=True)
            self[name] = ("java", "-cp", self.folder / name, "Referee")
        return self[name]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return the commands of the sample referees."""
    return Built(tmp_path_factory.mktemp("referees"))


def nim(_table: int, ask: Ask) -> Move:
    """Take one object of the first heap that has some."""
    heaps = ask.view["text"].split("\n")[-2].split()
    return Move("SAY", text=f"{next(index for index, heap in enumerate(heaps) if heap != '0')}\n1")


def hare(_table: int, ask: Ask) -> Move:
    """Jump as far as the last line and the seat say."""
    lines = ask.view["text"].split()
    return Move("SAY", text=str(1 + (int(lines[-1]) + 2 * ask.seat + len(lines)) % 5))


def undercut(_table: int, ask: Ask) -> Move:
    """Undercut the other's last number."""
    request = json.loads(ask.view["request"])
    return Move("SAY", text=str(1 + (request["last"] + 3 + ask.seat + request["turn"]) % 5))


SAMPLES: dict[str, tuple[str, Policy]] = {
    "nim": ("brutaltester", nim),
    "hares": ("codingame", hare),
    "undercut": ("botzone", undercut),
}


# Equal games.


@pytest.mark.long
@pytest.mark.parametrize(
    ("one", "other"),
    [
        long(("nim_python", "nim_java")),
        long(("hares_python", "hares_java")),
        ("undercut_python", "undercut_cpp"),
        long(("undercut_python", "undercut_js")),
    ],
)
def test_the_same_game_in_another_language_is_played_alike(one: str, other: str, built: Built, start: Start) -> None:
    protocol, policy = SAMPLES[one.partition("_")[0]]
    games = []
    for name in (one, other):
        adapter = start(protocol, *built[name])
        for table in range(1, 5):
            adapter.open(table, seed=table * 1234567)
        games.append(adapter.play(policy))
        assert adapter.end() == ""
    assert games[0] == games[1]
    assert all(len(told.asks) >= 6 for told in games[0].values())
    assert (
        len({told.asks[0].view["text" if "text" in told.asks[0].view else "request"] for told in games[0].values()}) > 1
    )


@pytest.mark.long
@pytest.mark.parametrize("game", breadth(SAMPLES, 3))
def test_parallel_tables_are_played_as_one_after_another(game: str, built: Built, start: Start) -> None:
    protocol, policy = SAMPLES[game]
    adapter, apart = start(protocol, *built[f"{game}_python"]), start(protocol, *built[f"{game}_python"])
    for table in range(1, 13):
        adapter.open(table, seed=table)
    together = adapter.play(policy)
    for table in range(1, 13):
        apart.open(table, seed=table)
        apart.play(policy)
    assert together == apart.told and len({(told.scores, len(told.asks)) for told in together.values()}) > 1


# What a referee hears and says.

RECORDER = """
import sys
def hear(): sys.stdin.flush(); line = sys.stdin.readline(); heard.write(line); heard.flush(); return line
def say(text): sys.stdout.write(text); sys.stdout.flush()
heard = open("heard", "a")
"""


def write(folder: Path, script: str, *, name: str = "referee.py") -> tuple[str, str]:
    """Write a referee that stores what it hears in the file `heard`; return its command."""
    (folder / name).write_text(RECORDER + script)
    return sys.executable, name


def test_brutaltester_hears_and_reads_exactly_these_lines(tmp_path: Path, start: Start) -> None:
    script = """
hear(); hear(); hear()
say("###Input 0\\nfirst\\n  two words \\n###Input 1\\n###Input 0\\nthird\\n###Output 0 2\\n")
hear(); hear()
say("###Output 0 1\\n")
hear()
say("###Error 1 lost by chance\\n###Input 1\\nnever asked\\n###End 0 1")
"""
    adapter = start("brutaltester", *write(tmp_path, script), cwd=tmp_path)
    adapter.open(1, seed=42, rules={"size": 9})
    told = adapter.play(lambda _table, ask: Move("SAY", text="a b\n9" if ask.lines == 2 else ""))[1]
    assert (tmp_path / "heard").read_text() == "###Seed 42\n###Param size=9\n###Start 2\na b\n9\n\n"
    assert told.asks == [
        Ask(0, {"text": "first\n  two words \nthird\n"}, None, 2),
        Ask(0, {"text": ""}, None, 1),
    ]
    assert told.tells == [{"event": "say", "seat": 1, "text": "lost by chance"}]
    assert told.shows == [Show(1, "never asked\n")] and told.scores == (1, 0)


def test_codingame_hears_and_reads_exactly_these_lines(tmp_path: Path, start: Start) -> None:
    script = """
for _ in range(5): hear()
say("[[VIEW] 2]\\nKEY_FRAME 0\\n{}\\n[[MONITORING] 0]\\n[[INFOS] 0]\\n[[NEXT_PLAYER_INPUT] 1]\\nfor later\\n")
say("[[NEXT_PLAYER_INFO] 3]\\n1\\n0\\n1000\\n")
hear(); hear(); hear()
say("[[VIEW] 0]\\nlogged by mistake\\n[[SUMMARY] 1]\\n$0 moves\\n[[NEXT_PLAYER_INPUT] 2]\\n 3 4\\n\\n")
say("[[NEXT_PLAYER_INFO] 3]\\n1\\n2\\n50\\n")
hear(); hear(); hear(); hear(); hear()
say("[[NEXT_PLAYER_INPUT] 1]\\r\\nx\\r\\n[[NEXT_PLAYER_INFO] 3]\\r\\n0\\r\\n1\\r\\n50\\r\\n")
hear(); hear()
say("[[VIEW] 0]\\n[[UINPUT] 1]\\nseed=42\\n[[SCORES] 2]\\n1 -1\\n0 12\\n")
"""
    adapter = start("codingame", *write(tmp_path, script), cwd=tmp_path)
    adapter.open(1, seed=42, rules={"size": 9})
    told = adapter.play(lambda _table, ask: Move("SAY", text="7\nMOVE 1") if ask.seat else TIMEOUT)[1]
    assert (tmp_path / "heard").read_text().splitlines() == [
        *("[[INIT] 3]", "2", "seed=42", "size=9", "[[GET_GAME_INFO] 0]"),
        *("[[SET_PLAYER_OUTPUT] 1]", "0", "[[GET_GAME_INFO] 0]"),
        *("[[SET_PLAYER_OUTPUT] 3]", "0", "7", "MOVE 1", "[[GET_GAME_INFO] 0]"),
        *("[[SET_PLAYER_TIMEOUT] 0]", "[[GET_GAME_INFO] 0]"),
    ]
    assert told.asks == [Ask(1, {"text": "for later\n 3 4\n\n"}, 50, 2), Ask(0, {"text": "x\n"}, 50, 1)]
    assert told.tells == [{"event": "state", "text": "$0 moves"}] and told.scores == (12, -1)


def test_a_judge_hears_the_whole_history_at_every_turn(tmp_path: Path, start: Start) -> None:
    script = """
import json
log = json.loads(hear())["log"]
assert sys.stdin.read() == ""
if not log: say('{"command":"request","content":{"0":{"x":-1}},"display":"begin","initdata":{"n":3}}')
elif len(log) == 2: say('{"command": "request", "content": {"0": [1], "1": "é"}, "display": {"x": 1}}\\n\\n')
else: say('{"command":"finish","content":{"0":2,"1":0.5}}')
"""
    adapter = start("botzone", *write(tmp_path, script), cwd=tmp_path, options=("--scale", "2"))
    adapter.open(1, seed=42, rules={"size": 9})
    answers = iter([Move("SAY", text='{"x":5}'), Move("SAY", text="not JSON"), TIMEOUT])
    told = adapter.play(lambda _table, _ask: next(answers))[1]
    first, second, third = map(json.loads, (tmp_path / "heard").read_text().splitlines())
    assert first == {"log": [], "initdata": {"seed": 42, "size": 9}}
    assert second["initdata"] == third["initdata"] == {"n": 3}
    assert second["log"] == third["log"][:2]
    judged, answered, judged_again, answered_again = third["log"]
    output = {"command": "request", "content": {"0": {"x": -1}}, "display": "begin", "initdata": {"n": 3}}
    assert judged == {**output, "keep_running": False, "verdict": "OK", "output": output}
    assert answered == {"0": {"verdict": "OK", "response": {"x": 5}}}
    assert judged_again["output"]["content"] == {"0": [1], "1": "é"}
    assert answered_again == {"0": {"verdict": "OK", "response": "not JSON"}, "1": {"verdict": "TLE", "response": None}}
    assert [ask.view["request"] for ask in told.asks] == ['{"x":-1}', "[1]", '"\\u00e9"']
    assert told.tells == [{"event": "state", "text": "begin"}, {"event": "state", "text": '{"x":1}'}]
    assert told.scores == (4, 1)


def test_a_judge_that_keeps_running_hears_only_what_is_new(tmp_path: Path, start: Start) -> None:
    script = """
hear()
for turn in range(3):
    say('{"command":"request","content":{"1":%d}}\\n>>>BOTZONE_REQUEST_KEEP_RUNNING<<<\\n' % turn)
    hear()
say('{"command":"finish","content":{"0":1,"1":2}}')
"""
    adapter = start("botzone", *write(tmp_path, script), cwd=tmp_path, options=("--keep-running", "--no-seed"))
    adapter.open(1)
    assert adapter.play(lambda _table, ask: Move("SAY", text=ask.view["request"]))[1].scores == (1, 2)
    lines = [json.loads(line) for line in (tmp_path / "heard").read_text().splitlines()]
    assert lines == [{"log": [], "initdata": {}}, *({"1": {"verdict": "OK", "response": turn}} for turn in range(3))]


# Faults, ties, and seats.


def test_a_fault_is_a_wrong_answer_for_brutaltester(built: Built, start: Start) -> None:
    adapter = start("brutaltester", *built["nim_python"])
    adapter.open(1, seats=3)
    told = adapter.play(lambda table, ask: TIMEOUT if ask.seat == 1 else nim(table, ask))[1]
    assert told.tells == [{"event": "say", "seat": 1, "text": "cannot take ! fault of heap ! fault"}]
    assert told.scores[1] == 0 and sorted(told.scores) == [0, 1, 2]


def test_an_answer_with_too_few_lines_gets_those_of_a_fault(tmp_path: Path, start: Start) -> None:
    script = "hear(); hear(); say('###Output 0 3\\n'); hear(); hear(); hear(); say('###End 01\\n')"
    adapter = start("brutaltester", *write(tmp_path, script), cwd=tmp_path, options=("--fault", "WAIT"))
    adapter.open(1)
    assert adapter.play(lambda _table, _ask: Move("SAY", text="one"))[1].scores == (0, 0)
    assert (tmp_path / "heard").read_text().splitlines()[2:] == ["one", "WAIT", "WAIT"]


def test_players_of_a_group_have_equal_scores(built: Built, start: Start) -> None:
    adapter = start("brutaltester", *built["nim_python"])
    for table in range(1, 9):
        adapter.open(table, seats=4, seed=table)
    for told in adapter.play(nim).values():
        assert sorted(told.scores) == [0, 0, 0, 3]


def test_a_fault_is_a_timeout_for_codingame(built: Built, start: Start) -> None:
    adapter = start("codingame", *built["hares_python"])
    adapter.open(1, seats=4)
    told = adapter.play(lambda table, ask: Fault(FaultKind.CRASH) if ask.seat == 2 else hare(table, ask))[1]
    assert told.scores[2] == -1 and [ask.seat for ask in told.asks].count(2) == 1
    assert {ask.limit_ms for ask in told.asks} == {1000, 50}


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [("timeout", "TLE"), ("cpu", "TLE"), ("memory", "MLE"), ("flood", "OLE"), ("unreadable", "NJ"), ("crash", "RE")],
)
def test_a_fault_is_a_verdict_for_botzone(kind: str, verdict: str, tmp_path: Path, start: Start) -> None:
    script = """
import json
log = json.loads(hear())["log"]
if log: say('{"command":"finish","content":{"0":0,"1":2}}')
else: say('{"command":"request","content":{"0":1}}')
"""
    adapter = start("botzone", *write(tmp_path, script), cwd=tmp_path)
    adapter.open(1)
    adapter.play(lambda _table, _ask: Fault(FaultKind(kind)))
    assert json.loads((tmp_path / "heard").read_text().splitlines()[1])["log"][1] == {
        "0": {"verdict": verdict, "response": None}
    }


# Processes.


def test_a_process_plays_one_game_after_another_only_if_it_may(built: Built, start: Start) -> None:
    for options, processes in ((), {3, 4}), (("--reuse",), {1}):  # the fourth one waits for another table
        adapter = start("brutaltester", *built["nim_python"], options=options)
        pids = set()
        for table in range(1, 4):
            adapter.open(table, seed=table)
            (message,) = adapter.hear()
            pids.update(child.pid for child in adapter.children())
            adapter.send(adapter.talk.answer(table, [nim(table, message.ask[0])]))
            adapter.play(nim)
        assert len(pids) in processes and adapter.end() == ""


@pytest.mark.long
def test_a_process_that_ends_after_its_game_is_replaced(built: Built, start: Start) -> None:
    told = []
    for options in ((), ("--reuse",)):
        adapter = start("brutaltester", *built["nim_java"], options=options)
        for table in range(1, 4):
            adapter.open(table, seed=table)
            adapter.play(nim)
        told.append(adapter.told)
        assert adapter.end() == ""
    assert told[0] == told[1]


def test_a_dropped_table_leaves_no_process(built: Built, start: Start) -> None:
    adapter = start("brutaltester", *built["nim_python"])
    for table in (1, 2):
        adapter.open(table)
    adapter.hear()
    children = adapter.children()
    assert len(children) in {2, 3}  # the third one waits for another table
    adapter.send(adapter.talk.drop(1))
    adapter.send(adapter.talk.answer(2, [Move("SAY", text="wrong\nwrong")]))
    adapter.hear()
    gone, alive = psutil.wait_procs(children, timeout=1)
    assert len(gone) == 2 and len(alive) == len(children) - 2  # the second game is over


@pytest.mark.long
def test_the_end_of_input_leaves_no_process(tmp_path: Path, start: Start) -> None:
    script = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nsay('###Output 0 1\\n')\nhear()\nhear()\nhear()\n"
    adapter = start("brutaltester", *write(tmp_path, script), cwd=tmp_path)
    for table in (1, 2, 3):
        adapter.open(table)
    adapter.hear()
    children = adapter.children()
    assert len(children) >= 6 and adapter.end() == ""
    assert psutil.wait_procs(children, timeout=20)[1] == []


def test_standard_error_is_drained(tmp_path: Path, start: Start) -> None:
    script = "sys.stderr.write('x' * (4 << 20))\nhear()\nsay('###Output 0 1\\n')\nhear()\nsay('###End 0 1\\n')\n"
    adapter = start("brutaltester", *write(tmp_path, script), cwd=tmp_path)
    adapter.open(1)
    assert adapter.play(lambda _table, _ask: Move("SAY"))[1].scores == (1, 0)
    assert adapter.end() == ""


def test_a_referee_that_does_not_read_blocks_no_other_table(tmp_path: Path, start: Start) -> None:
    script = """
import json, os, time
while os.path.exists("first") and not os.path.exists("second"): time.sleep(0.01)
log = json.loads(hear())["log"]
open("second", "w").close()
say('{"command":"finish","content":{"0":0,"1":%d}}' % len(heard.name))
"""
    adapter = start("botzone", *write(tmp_path, script), cwd=tmp_path)
    (tmp_path / "first").touch()
    adapter.open(1, rules={"long": "x" * (1 << 20)})  # more than a pipe holds
    adapter.open(2)
    (tmp_path / "second").touch()
    assert {message.over and message.over.scores for message in adapter.hear()} == {(0, 5)}


@pytest.mark.parametrize(
    ("protocol", "script", "reason"),
    breadth(
        [
            ("brutaltester", "sys.exit(3)", "ended with status 3 in the middle of the game"),
            ("brutaltester", "sys.stderr.write('my heap\\n'); os.abort()", "was killed by signal 6 .*\nmy heap"),
            (
                "brutaltester",
                "hear(); say('hello\\n'); hear()",
                "wrote 'hello' where ###Input, ###Output or ###End is expected",
            ),
            ("brutaltester", "say('###Output 2 1\\n'); hear()", "names player '2' of 2"),
            ("brutaltester", "say('###Output 0 many\\n'); hear()", "has 'many' as the lines of ###Output"),
            ("brutaltester", "say('###Stop\\n'); hear()", "wrote '###Stop', which is not a command of brutaltester"),
            (
                "brutaltester",
                "say('###End 0\\n'); hear()",
                "wrote '###End 0', which does not name each of 2 players once",
            ),
            ("brutaltester", "say('###End 00 1\\n'); hear()", "does not name each of 2 players once"),
            ("brutaltester", "say('x' * (17 << 20)); hear()", "wrote more than 16 MiB that nothing asked for"),
            ("codingame", "say('hello\\n' * 20000); hear()", "wrote 10000 lines without a header"),
            ("codingame", "say('[[FAIL] 2]\\nNullPointer\\n at x\\n'); hear()", "its own failure: NullPointer |  at x"),
            ("codingame", "say('[[NEXT_PLAYER_INFO] 2]\\n0\\n1\\n'); hear()", "which has 3 lines"),
            ("codingame", "say('[[NEXT_PLAYER_INFO] 3]\\n0\\n9999\\n50\\n'); hear()", "a whole number up to 1000"),
            ("codingame", "say('[[SCORES] 1]\\n0 1\\n')", "wrote scores of 1 players out of 2"),
            ("codingame", "say('[[SCORES] 2]\\n0 1\\n1 best\\n')", "has 'best' as a score"),
            ("botzone", "say('hello')", "wrote 'hello', which is not JSON"),
            ("botzone", "say('[' * 100000)", "which is not JSON"),
            ("botzone", "sys.exit(0)", "ended with status 0"),
            ("botzone", 'say(\'{"command":"stop","content":{}}\')', 'without "command"'),
            ("botzone", 'say(\'{"command":"request","content":{}}\')', "asks no player 100 times"),
            ("botzone", 'say(\'{"command":"request"}\')', 'without "content"'),
            ("botzone", 'say(\'{"command":"request","content":{"7":1}}\')', "names player '7' of 2"),
            ("botzone", 'say(\'{"command":"finish","content":{"0":1}}\')', "ends without a score of player 1"),
            (
                "botzone",
                'say(\'{"command":"finish","content":{"0":1,"1":0.5}}\')',
                "scores are whole numbers: set scale",
            ),
            ("botzone", 'say(\'{"command":"finish","content":{"0":1,"1":NaN}}\')', "ends without a score of player 1"),
        ],
        5,
    ),
)
def test_the_adapter_says_what_is_wrong_and_ends(
    protocol: str, script: str, reason: str, tmp_path: Path, start: Start
) -> None:
    adapter = start(protocol, *write(tmp_path, f"import os\n{script}\n"), cwd=tmp_path)
    adapter.open(1)
    with pytest.raises(EOFError):
        adapter.hear()
    assert re.match(rf"{protocol}: table 1: the referee .*{reason}", words := adapter.end(), re.DOTALL), words
    assert adapter.process.returncode == 1


def test_a_command_that_does_not_exist_is_named(tmp_path: Path, start: Start) -> None:
    adapter = start("brutaltester", "no-such-program", cwd=tmp_path)
    adapter.open(1)
    with pytest.raises(EOFError):
        adapter.hear()
    assert adapter.end() == (
        "brutaltester: table 1: the referee cannot be started: no-such-program: No such file or directory\n"
    )
