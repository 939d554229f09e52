"""Bots that ask a model: only what the organiser allows gets through, and nobody pays for an address that does not answer."""

import contextlib
import json
import os
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import textwrap
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import psutil
import pytest
import trio
from command import CROUPIER, ROOT, croupier, environment
from helpers import AMPLE, CACHE, SAMPLES, built, game_called, level, long, own_port, played, written
from model_server import COMPLETION_TOKENS, PROMPT_TOKENS, TOKENS, USAGE, ModelServer, serving

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.calling_clock import CallingClock
from host.bots.clock import HostStall, ModelUnreachable
from host.bots.host_failures import HostFailures
from host.bots.monitor import running_monitor
from host.bots.values import ModelCost, Question
from host.games import GAMES
from host.inspect.bundle import MAX_LIMITS
from host.journal.state import RecordedBot, bot_from_row
from host.play.jobs import WorkerSetup
from host.play.records import Fixture, Record, Undecided, undecided_record
from host.relay.relay import _use, open_relay
from host.relay.upstream import Repeatable, Reply, Unusable, ask
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.levels import UNPROTECTED
from host.sandbox.limits import Limits, ModelAccess, ModelUse
from host.sandbox.process_tree import descendants
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.tournament.run_budget import RunBudget

ASKER = SAMPLES / "models" / "asker"
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="there is no node")
needs_textarena = pytest.mark.skipif(not find_spec("textarena"), reason="NOT INSTALLED: textarena")
ASKERS = [ASKER, pytest.param(SAMPLES / "models" / "asker_js", marks=needs_node)]
KEY = "sk-0123456789abcdef"

pytestmark = pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")


def access(server: ModelServer, **more: Any) -> ModelAccess:
    """Return the access to a server's model."""
    return access_to(server.address, **more)


def access_to(address: str, **more: Any) -> ModelAccess:
    """Return the access to a model."""
    usual: dict[str, Any] = {
        "name": "small",
        "address": address,
        "model": "tiny",
        "key_env": "",
        "key_file": "",
        "requests": 1000,
        "tokens": 0,
        "answer": 64 << 10,
        "patience": 60.0,
        "counts_time": True,
    }
    return ModelAccess(**usual | more)


def caller(model: ModelAccess, source: Path = ASKER, **limits: Any) -> BuiltBot:
    """Build a bot that may ask a model."""
    submission = load_submission(source, Limits(models=(model,))).for_game(game_called("pazaak"))
    bot = trio.run(build, submission, level())
    return bot._replace(limits=AMPLE._replace(models=(model,), **limits))


def against_nestor(bot: BuiltBot, tables: int = 1) -> Record:
    """Play a bot against one that asks no model."""
    return played("pazaak", [bot, built(SAMPLES / "pazaak" / "nestor", "pazaak")], tables)


PROBER = r"""
import errno, json, os, socket, sys, time

PATH = os.environ["CROUPIER_MODEL_URL"].removeprefix("unix:")
GOOD = {"model": "small", "messages": []}

def opened():
    relay = socket.socket(socket.AF_UNIX)
    relay.connect(PATH)
    return relay

def answer(relay):
    got = b""
    try:
        while part := relay.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got

def ask(sent):
    relay = opened()
    try:
        relay.sendall(sent)
    except BrokenPipeError:
        pass
    return answer(relay)

def status(sent):
    return (ask(sent).split() + [b"-", b"-"])[1].decode()

def post(value, head=b"", target=b"/v1/chat/completions"):
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n%b\r\n%b" % (target, len(body), head, body)

said = []
for number, question in enumerate(sys.stdin):
    if number == 0:
BODY
    print(*["said", *said] if number == 0 else ["STAND"], flush=True)
"""


def prober(folder: Path, body: str) -> Path:
    """Write a bot that runs the body when it is asked first, and prints what is then in `said`."""
    keys = 'game = "pazaak"\nprotocol = "lines"\nmodels = ["small"]\nentry = "bot.py"\n'
    (folder / "bot.toml").write_text(keys)
    written(textwrap.dedent(PROBER).replace("BODY", textwrap.indent(textwrap.dedent(body), " " * 8)), ".py", folder)
    return folder


def words_of(record: Record) -> list[str]:
    """Return what a prober has printed for the first question."""
    first = next(piece for piece in record.evidence if piece.kind == "unreadable")
    return first.raw.decode().split()[1:]


# What gets through.


def test_a_bot_asks_a_model_and_only_croupier_s_words_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        record = against_nestor(caller(access(server, key_env="A_KEY")))
    assert record.faults == {}
    assert len(server.heard) == record.usage["asker"].questions
    path, headers, body = server.heard[0]
    assert path == "/v1/chat/completions"
    assert headers.pop("host") == server.address.split("/")[2]
    assert int(headers.pop("content-length")) > 0
    assert headers == {
        "content-type": "application/json",
        "accept": "application/json",
        "accept-encoding": "identity",
        "user-agent": "croupier",
        "connection": "close",
        "authorization": f"Bearer {KEY}",
    }
    assert body["model"] == "tiny"  # as the address calls it


@pytest.mark.long
@pytest.mark.parametrize("source", ASKERS)
def test_the_sample_bots_ask_no_more_when_the_budget_is_used_up(source: Path) -> None:
    with serving() as server:
        record = against_nestor(caller(access(server, requests=1), source), tables=4)
    assert record.usage[source.name].questions > 4 * 2  # the second of a table gets status 429
    assert record.faults == {} and len(server.heard) == 4


def test_an_address_can_be_a_unix_socket(tmp_path: Path) -> None:
    with serving(where=str(tmp_path / "model")) as server:
        record = against_nestor(caller(access(server)))
    assert record.faults == {}
    assert {path for path, _, _ in server.heard} == {"/v1/chat/completions"}


@pytest.mark.long
@pytest.mark.parametrize("source", ASKERS)
def test_a_sample_bot_plays_what_the_model_says_last_and_goes_on_without_it(source: Path) -> None:
    with serving() as server:
        server.said = "To stand is too early.\nPLAY 9"  # a card that the bot does not have
        record = against_nestor(caller(access(server, requests=2), source))
    assert record.usage[source.name].questions > 2
    assert dict(record.faults[source.name]) == {"illegal": 2}
    assert [body["messages"][0]["content"].startswith("You play Pazaak") for _, _, body in server.heard] == [True] * 2


def test_no_other_request_gets_through(tmp_path: Path) -> None:
    body = r"""
    good = json.dumps(GOOD).encode()
    said += [
        status(b"GET /v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n"),
        status(b"CONNECT elsewhere:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
        status(post(GOOD, target=b"http://elsewhere/v1/chat/completions")),
        status(post(GOOD, target=b"/v1/chat/completions/../models")),
        status(post(GOOD, target=b"/v1/chat/completions?a=b")),
        status(post({"model": "tiny"})),
        status(post({"model": ["small"]})),
        status(post(GOOD | {"stream": True})),
        status(post(b"[" * 100000)),
        status(post(b'"\xff"')),
        status(post(b" " * (1 << 20) + good)),
        status(b"hello\r\n\r\n"),
        status(post(GOOD, head=b"Content-Length: 4\r\n")),
        status(post(GOOD, head=b"A: " + b"a" * 200000 + b"\r\n")),
    ]
    """
    with serving() as server:
        words = words_of(against_nestor(caller(access(server), prober(tmp_path, body))))
    assert words == ["405", "405", "404", "404", "404", "404", "400", "400", "400", "400", "413", "400", "400", "400"]
    assert server.heard == []


def test_of_a_request_only_the_value_of_its_body_is_passed_on(tmp_path: Path) -> None:
    body = r"""
    twice = b'{"model": "huge", "messages": [], "model": "small"}'
    good = json.dumps(GOOD).encode()
    both = b"Transfer-Encoding: chunked\r\n"
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(good), good)
    said += [
        status(post(twice, head=b"Authorization: Bearer mine\r\nHost: elsewhere\r\nX-Forwarded-Host: elsewhere\r\n")),
        status(post(twice, head=b"Authorization: Bearer mine\r\nX-Forwarded-Host: elsewhere\r\n")),
        status(post(GOOD) + post(GOOD, target=b"/admin")),
        status(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n" + both + b"\r\n" + chunked + post(GOOD)),
    ]
    """
    with serving() as server:
        record = against_nestor(caller(access(server), prober(tmp_path, body)))
    assert words_of(record) == ["400", "200", "200", "200"]
    assert [(path, body["model"], body["messages"]) for path, _, body in server.heard[:3]] == [
        ("/v1/chat/completions", "tiny", [])
    ] * 3
    assert all(headers["host"] == server.address.split("/")[2] for _, headers, _ in server.heard)
    assert not any(
        headers.keys() & {"authorization", "x-forwarded-host", "transfer-encoding"} for _, headers, _ in server.heard
    )


def test_a_bot_that_may_ask_a_model_has_no_other_socket(tmp_path: Path) -> None:
    body = r"""
    def tried(act):
        try:
            act()
        except OSError as error:
            return errno.errorcode[error.errno]
        return "done"
    kinds = [(socket.AF_INET6, socket.SOCK_STREAM), (socket.AF_INET6, socket.SOCK_DGRAM), (socket.AF_UNIX, socket.SOCK_DGRAM)]
    kinds += [(socket.AF_UNIX, socket.SOCK_SEQPACKET), (socket.AF_UNIX, socket.SOCK_RAW), (40, socket.SOCK_STREAM)]
    said += [tried(lambda: socket.socket(*kind)) for kind in kinds]
    local = socket.socket(socket.AF_UNIX)
    said += [tried(lambda: local.bind("/tmp/mine")), tried(lambda: local.bind("\0mine")), tried(lambda: local.listen(1))]
    said += [tried(lambda: local.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20))]
    said += [tried(lambda: local.connect("\0/tmp/.X11-unix/X0")), tried(lambda: local.connect("/run/dbus/system_bus_socket"))]
    said += [tried(lambda: os.unlink(PATH)), tried(lambda: open(PATH))]
    """
    with serving() as server:
        words = words_of(against_nestor(caller(access(server), prober(tmp_path, body))))
    assert words[:10] == ["EPERM"] * 10
    assert words[10:12] == ["ECONNREFUSED", "ENOENT"]
    assert set(words[12:]) <= {"EBUSY", "EROFS", "ENXIO", "EACCES"}


def test_a_call_ends_with_its_question(tmp_path: Path) -> None:
    body = r"""
    relay = opened()
    relay.sendall(post(GOOD))
    time.sleep(0.2)
    print("STAND", flush=True)
    sys.stdin.readline()
    said.append(len(answer(relay)))
    """
    with serving("hold") as server:
        record = against_nestor(caller(access(server), prober(tmp_path, body)))
        server.released.set()
    assert words_of(record) == ["0"]


# Whose time, whose fault.


@pytest.mark.long
def test_a_clock_stands_still_while_the_address_cannot_answer() -> None:
    with serving("200", "429", "503", "cut", "retry") as server:
        record = against_nestor(caller(access(server), move=1.5))
    assert record.faults == {}
    assert record.replayed == 0
    assert record.seconds > 0.5 + 1 + 2 + 1  # the pauses before the repetitions
    assert record.usage["asker"].slowest < 1.5 + AMPLE.startup
    assert len(server.heard) == record.usage["asker"].questions + 4


@pytest.mark.long
@pytest.mark.parametrize(("counts", "faults"), [(True, {"timeout": 1}), (False, {})])
def test_the_time_of_a_model_counts_unless_the_organiser_says_otherwise(counts: bool, faults: dict[str, int]) -> None:
    with serving("200", "slow") as server:
        record = against_nestor(caller(access(server, counts_time=counts), move=0.8))
    assert dict(record.faults.get("asker", {})) == faults


@pytest.mark.long
@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        (("503",) * 50, "status 503"),
        long((("401",) * 50, "status 401")),
        long((("302",) * 50, "status 302")),
        (("cut",) * 50, "connection broke"),
    ],
)
def test_a_model_that_cannot_be_reached_is_nobody_s_fault(steps: Sequence[str], reason: str) -> None:
    with serving(*steps) as server:
        record = against_nestor(caller(access(server, patience=1.0)))
    assert record.faults == {}
    assert record.undecided is not None
    assert f"asker: the model small does not answer: {reason}" in record.undecided.reason.replace(
        "the connection", "connection"
    )
    assert len(record.stalls) == 2  # before, the bot was asked again
    assert not any(result.tables for result in record.results.values())


def test_models_that_do_not_answer_bring_a_bot_no_nearer_to_being_charged_for_a_stall() -> None:
    failures, silent, stall = HostFailures(), ModelUnreachable("silent"), HostStall("busy")
    silent.bot = stall.bot = "asker"
    for _ in range(2):
        assert not failures.is_last(silent)
        failures.count(silent)
    assert failures.is_last(silent) and not failures.is_last(stall) and not failures.are_charged_to("asker")
    for _ in range(2):
        failures.count(stall)
    assert failures.is_last(stall) and failures.are_charged_to("asker") and failures.total == 4


def test_an_answer_with_the_key_does_not_reach_a_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        server.said = f"your key is {KEY}"
        record = against_nestor(caller(access(server, key_env="A_KEY", patience=1.0)))
    assert record.undecided is not None
    assert "the answer contains the key" in record.undecided.reason
    assert KEY not in repr(record)


@pytest.mark.long
def test_the_record_has_no_word_of_an_address_that_speaks_no_http(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving(*["echo"] * 50) as server:
        record = against_nestor(caller(access(server, key_env="A_KEY", patience=1.0)))
    assert record.undecided is not None
    assert record.undecided.reason == "asker: the model small does not answer: the connection broke"
    assert KEY not in repr(record)
    assert server.address not in repr(record)


PRICES = {"prompt_price": 2.0, "completion_price": 4.0}
COST = (2.0 * PROMPT_TOKENS + 4.0 * COMPLETION_TOKENS) / 1_000_000  # of an answer


@pytest.mark.long
@pytest.mark.parametrize(
    ("budget", "granted"),
    [
        ({"requests": 3}, 3),
        ({"tokens": 2 * TOKENS + 1}, 3),
        long(({"money": 3 * COST} | PRICES, 3)),
        ({"money": 2.1 * COST} | PRICES, 3),
    ],
)
def test_a_budget_is_kept_to_the_request(budget: dict[str, Any], granted: int, tmp_path: Path) -> None:
    body = r"""
    replies = [ask(post(GOOD)) for _ in range(5)]
    said += [reply.split()[1].decode() for reply in replies]
    said += [len(reply.split(b"-Left: ")) - 1 for reply in replies]
    """
    with serving() as server:
        record = against_nestor(caller(access(server, patience=5.0, **budget), prober(tmp_path, body)))
    words = words_of(record)
    assert words[:5] == ["200"] * granted + ["429"] * (5 - granted)
    assert words[5:] == [str(len({"requests", *budget} - PRICES.keys()))] * granted + ["0"] * (5 - granted)
    assert len(server.heard) == granted


def test_a_bot_that_asks_at_a_question_after_its_budget_was_used_up_has_over_spent(tmp_path: Path) -> None:
    body = """
    for _ in range(100):
        status(post(GOOD)), status(post(GOOD))  # the second one gets 429
        print("STAND", flush=True)
        sys.stdin.readline()
    """
    with serving() as server:
        record = against_nestor(caller(access(server, requests=1), prober(tmp_path, body)), tables=2)
    (name,) = record.faults
    assert len(server.heard) == 2  # one at each table
    assert record.faults[name] == {"budget": record.usage[name].questions - 2}
    assert record.faults[name]["budget"] > 2


def test_a_bot_reads_how_much_money_is_left(tmp_path: Path) -> None:
    body = r"""
    said += [ask(post(GOOD)).split(b"Croupier-Money-Left: ")[1].split()[0].decode() for _ in range(3)]
    """
    with serving() as server:
        record = against_nestor(caller(access(server, money=2.5 * COST, **PRICES), prober(tmp_path, body)))
    assert words_of(record) == ["0.000150", "0.000050", "0.000000"]


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (USAGE, (PROMPT_TOKENS, COMPLETION_TOKENS)),
        ({"total_tokens": 40}, (0, 40)),
        (USAGE | {"total_tokens": 50}, (PROMPT_TOKENS, 20)),  # some count the tokens of thoughts in the total only
        ({"prompt_tokens": 3}, (3, 0)),
    ],
)
def test_the_two_kinds_of_tokens_are_counted(usage: Any, counted: tuple[int, int]) -> None:
    answer = Reply(200, json.dumps({"usage": usage}).encode())
    assert _use(access_to("http://h", money=1.0), answer) == ModelUse(0, *counted)


@pytest.mark.parametrize(
    "usage", [None, {}, [], {"total_tokens": -1}, {"total_tokens": 1 << 40}, USAGE | {"prompt_tokens": "30"}]
)
@pytest.mark.parametrize("budget", [{"tokens": 1000}, {"money": 1.0} | PRICES])
def test_an_answer_with_a_wrong_count_of_tokens_is_as_one_without(usage: Any, budget: dict[str, Any]) -> None:
    answer = Reply(200, json.dumps({} if usage is None else {"usage": usage}).encode())
    assert _use(access_to("http://h"), answer) == ModelUse()
    with pytest.raises(Unusable, match="the answer does not say how many tokens it has cost"):
        _use(access_to("http://h", **budget), answer)


@pytest.mark.long
def test_an_answer_without_a_count_of_tokens_costs_only_a_bot_with_a_budget_its_fixture() -> None:
    with serving() as server:
        server.usage = None
        free = against_nestor(caller(access(server)))
        limited = against_nestor(caller(access(server, tokens=1000)))
    assert free.faults == {} and free.undecided is None
    assert limited.undecided is not None
    assert "the answer does not say how many tokens it has cost" in limited.undecided.reason


# The files, and a whole run.

CONFIG = """
game = "pazaak"
bots = ["bots/*", "sample:nestor"]

[[stage]]
kind = "league"
tables = 2

[models.small]
address = "{address}"
model = "tiny"
key_env = "A_KEY"
"""


def tournament(folder: Path, address: str) -> Path:
    """Write a tournament with a bot that asks a model."""
    (folder / "croupier.toml").write_text(CONFIG.format(address=address))
    bot = folder / "bots" / "asker"
    bot.mkdir(parents=True)
    for path in ASKER.iterdir():
        (bot / path.name).write_bytes(path.read_bytes())
    return folder


def two_fixtures(place: Path, more: str) -> Path:
    """Let the bot of such a tournament play two fixtures, one after the other; return its croupier.toml."""
    config = place / "croupier.toml"
    text = config.read_text().replace('key_env = "A_KEY"\n', "").replace('"league"', '"round-robin"')
    text = text.replace("tables = 2", "tables_per_pair = 2").replace(
        '"sample:nestor"', '"sample:nestor", "sample:glaucus"'
    )
    config.write_text(text + more)
    return config


def test_a_run_asks_the_model_and_what_it_leaves_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        place = tournament(tmp_path, server.address)
        done = croupier("-C", place, "run")
    assert done.code == 0, done.err
    assert server.heard
    assert all(headers["authorization"] == f"Bearer {KEY}" for _, headers, _ in server.heard)
    verified = croupier("-C", place, "verify")  # without the model
    assert verified.code == 0, verified.err
    report = croupier("-C", place, "report")
    assert report.code == 0, report.err
    asked = croupier("-C", place, "ask", "asker", "--worst")
    assert asked.code == 2 and "asker asks a language model, and this command gives it none" in asked.err
    exported = croupier("-C", place, "export", "--format", "json")
    for path in (each for each in place.rglob("*") if each.is_file()):
        assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in "".join([done.out, done.err, verified.out, report.out, exported.out])
    assert not [*(CACHE / "relays").iterdir()]


@pytest.mark.long
def test_the_commands_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "models.md").read_text()
    (start, *steps), *blocks = [block.split() for block in re.findall(r"```console\npython (.*)\n```", page)]
    assert start == "tests/model_server.py" and steps.pop(0) == "8080" and not blocks
    commands = [line for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL) for line in block.splitlines()]
    with serving(*steps) as server:
        for program, *words in map(shlex.split, commands[1:]):
            if program == "croupier":
                done = croupier(*words)
                assert done.code == 0, (words, done.out + done.err)
            else:
                assert program == "cp"
                subprocess.run([program, *words], check=True)
            if words[0] == "new":
                config = tmp_path / "arena" / "croupier.toml"
                text = config.read_text().replace("http://127.0.0.1:8080/v1", server.address)
                config.write_text(text.replace("tables_per_pair = 20", "tables_per_pair = 2"))
        assert not server.steps
    standings = croupier("-C", "arena", "standings", "--json").json
    assert {row["bot"]: row["faults"] for row in standings["rows"]} == {"asker": 0, "careful": 0, "austin_powers": 0}


def test_the_model_server_of_the_page_says_what_it_is_told() -> None:
    port = own_port()
    command = [sys.executable, ROOT / "tests" / "model_server.py", str(port), "503", "--say", "HIGH"]
    with subprocess.Popen(command) as server:
        try:
            reply = trio.run(asked_until_it_listens, access_to(f"http://127.0.0.1:{port}/v1"))
        finally:
            server.kill()
    assert b"HIGH" in reply.body


async def asked_until_it_listens(model: ModelAccess) -> Reply:
    """Ask a model until it answers."""
    while True:
        with contextlib.suppress(Repeatable):
            return await ask(model, b"{}")
        await trio.sleep(0.05)


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "move"),
    [
        long(("cardshark", "S")),
        long(("holdem", "0")),
        ("hearts", "HIGH"),
        long((SAMPLES / "referees" / "undercut_python", "1")),
        pytest.param("textarena:SimpleNegotiation-v0", "[Wheat]", marks=[needs_textarena, pytest.mark.long]),
    ],
)
@pytest.mark.one_in(4)
def test_new_writes_a_bot_that_asks_a_model_in_any_game(game: object, move: str, tmp_path: Path) -> None:
    place = tmp_path / "arena"
    made = croupier("new", place, "-g", game, "--models", "--json")
    assert made.code == 0, made.err
    with serving() as server:
        server.said = f"I think about it.\n{move}"
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace("http://127.0.0.1:8080/v1", server.address))
        checked = croupier("-C", place, "check", "asker")
    assert checked.code == 0, checked.out
    prompts = [body["messages"][0]["content"] for _, _, body in server.heard]
    assert prompts and not [prompt for prompt in prompts if "%20" in prompt or "%0A" in prompt]


def test_new_says_where_the_model_is_named_and_what_to_do_next(tmp_path: Path) -> None:
    place = tmp_path / "my arena"
    made = croupier("new", place, "-g", "pazaak", "--models")
    assert made.out.splitlines() == [
        f"{place}: a pazaak tournament with 1 sample bot",
        f"  {place}/croupier.toml: [models.small] says which model bots/asker asks",
        f"  croupier -C '{place}' doctor --models",
        f"  croupier -C '{place}' check asker",
        f"  croupier -C '{place}' run",
    ]
    assert "workers    = 8 " in (place / "croupier.toml").read_text()
    prompt = (place / "bots" / "asker" / "prompt.txt").read_text()
    about_processes, _, what_is_asked = " ".join(GAMES["pazaak"].card.split()).partition(": ")
    assert f"You play Simple Pazaak. A question has {what_is_asked}" in " ".join(prompt.split())
    assert "process" in about_processes and "process" not in prompt
    assert prompt.endswith("The last line of your answer is your move and nothing else. The question:\n")
    season = croupier("new", tmp_path / "cup", "-g", "pazaak", "--models", "--season")
    assert season.code == 2 and "the bots of a season cannot ask a model yet" in season.err


@pytest.mark.long
def test_bots_that_wait_for_a_model_play_as_many_fixtures_at_once_as_there_are_workers(tmp_path: Path) -> None:
    place = tournament(tmp_path, "")
    for name in ("second", "third"):
        shutil.copytree(place / "bots" / "asker", place / "bots" / name)
        manifest = place / "bots" / name / "bot.toml"
        manifest.write_text(manifest.read_text().replace('"asker"', f'"{name}"'))
    workers = len(os.sched_getaffinity(0)) + 1
    meet = Barrier(workers)  # no call is answered before each worker has one
    prepared = ["200"] * 3  # croupier asks each of these bots one question before the first table
    with serving(*prepared, *["meet"] * workers) as server:
        server.meeting = meet
        config = place / "croupier.toml"
        text = config.read_text().replace('address = ""', f'address = "{server.address}"')
        text = text.replace('key_env = "A_KEY"', 'patience = "10 min"')
        config.write_text(text + '[limits]\nmove = "5 min"\n')
        done = croupier("-C", place, "run", "--workers", workers)
    assert done.code == 0, done.err
    assert not meet.broken


@pytest.mark.long
def test_after_kill_9_the_next_run_leaves_no_socket_and_no_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    waiting = Barrier(2)
    with serving("meet") as server:  # it does not answer the first call
        server.meeting = waiting
        place = tournament(tmp_path, server.address)
        command = [*CROUPIER, "-C", str(place), "run", "--workers", "1"]
        with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            while not server.heard:
                assert run.poll() is None
                time.sleep(0.01)
            started = descendants(run.pid)
            for process in (psutil.Process(run.pid), *started):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        assert psutil.wait_procs(started, timeout=60)[1] == []
        waiting.abort()
        killed_while_it_starts = """
import os, signal, trio
from host.relay.relay import open_relay
async def start():
    with open_relay([]):
        os.kill(os.getpid(), signal.SIGKILL)
trio.run(start)
"""
        subprocess.run([sys.executable, "-c", killed_while_it_starts], env=environment(), check=False)
        assert [*(CACHE / "relays").glob("*/model")]
        done = croupier("-C", place, "run")
    assert done.code == 0, done.err
    assert not [*(CACHE / "relays").iterdir()]
    assert not [path for path in place.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_relay_that_starts_removes_no_socket_of_another() -> None:
    async def both() -> None:
        with open_relay([]) as first, open_relay([]) as second:
            assert first.path.is_socket() and second.path.is_socket()

    trio.run(both)


def test_doctor_asks_each_model_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving("200", "401") as server:
        place = tournament(tmp_path, server.address)
        works, refused = (
            croupier("-C", place, "doctor", "--models"),
            croupier("-C", place, "doctor", "--models", "--json"),
        )
    assert works.code == 0, works.err
    assert re.fullmatch(rf"small  {server.address} answers after .*: status 200, {TOKENS} tokens\n", works.out)
    assert refused.code == 6
    (row,) = refused.json["rows"]
    assert (row["name"], row["address"], row["status"], row["tokens"]) == ("small", server.address, 401, 0)
    assert row["problem"]["hint"] == "the address refuses the key: correct it, where key_env or key_file says"
    assert [headers["authorization"] for _, headers, _ in server.heard] == [f"Bearer {KEY}"] * 2
    assert KEY not in works.out + works.err + refused.out + refused.err


@pytest.mark.parametrize(
    ("step", "address", "cure"),
    [
        ("302", "{plain}", "croupier follows no redirect: correct `address`"),
        ("402", "{plain}", "the account of the key has no money left"),
        ("403", "{plain}", "the key is not allowed to use this model: correct the key or `model`"),
        ("404", "{plain}", "correct the path of `address`, or `model`"),
        ("408", "{plain}", "the address cannot answer now: try again later"),
        ("422", "{plain}", "the address refuses the request: correct `model`, or the path of `address`"),
        ("429", "{plain}", "the account has reached a limit: wait, or raise that limit"),
        ("425", "{plain}", "the address cannot answer now: try again later"),
        ("503", "{plain}", "the address cannot answer now: try again later"),
        ("echo", "{plain}", "the address does not speak HTTP: correct `address`, perhaps to https://"),
        ("200", "{tls}", "the address does not speak TLS: correct `address`, perhaps to http://"),
        ("200", "unix:/nowhere", "start the server, or correct the host, the port or the path in `address`"),
        (
            "200",
            "http://nowhere.invalid",
            "no host has this name: correct `address`, or how this machine resolves names",
        ),
    ],
)
def test_doctor_says_what_to_correct(
    step: str, address: str, cure: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving(step) as server:
        url = address.format(plain=server.address, tls=server.address.replace("http:", "https:"))
        done = croupier("-C", tournament(tmp_path, url), "doctor", "--models")
    assert done.code == 6
    assert done.out.startswith(f"error[S020] small: {url}: ")
    assert done.out.endswith(f"\n  hint: {cure}\n")
    assert KEY not in done.out + done.err


@pytest.mark.skipif(not shutil.which("openssl"), reason="there is no openssl")
def test_doctor_says_that_a_certificate_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    made = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=model -keyout key.pem -out own.pem"
    subprocess.run(made.split(), cwd=tmp_path, capture_output=True, check=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(tmp_path / "own.pem", tmp_path / "key.pem")
    with serving() as server:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
        done = croupier("-C", tournament(tmp_path, server.address.replace("http:", "https:")), "doctor", "--models")
    assert done.code == 6
    assert "hint: this machine does not trust the certificate: correct `address`, or add its authority" in done.out
    assert server.heard == []


def test_doctor_names_a_key_that_is_missing_and_a_model_that_is_slow(tmp_path: Path) -> None:
    with serving("slow") as server:
        place = tournament(tmp_path, server.address)
        missing = croupier("-C", place, "doctor", "--models")
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace('key_env = "A_KEY"', 'patience = "0.2 s"'))
        slow = croupier("-C", place, "doctor", "--models")
        config.write_text(config.read_text().partition("[models.small]")[0])
        without = croupier("-C", place, "doctor", "--models")
    assert "error[S019] small: the variable A_KEY has no key" in missing.out and missing.code == 6
    assert f"error[S020] small: {server.address}: no answer within 0.2 s" in slow.out and slow.code == 6
    assert "croupier.toml has no table [models.NAME]" in without.err and without.code == 2


IN_ALL = [
    ("requests_in_all = 1", "requests_in_all = 1 in croupier.toml: "),
    long(("tokens = 1_000_000\ntokens_in_all = 1", "tokens_in_all = 1 in croupier.toml: ")),
    long(("money = 1\nprompt_price = 2\nmoney_in_all = 0.000001", "money_in_all = 1e-06 in croupier.toml: ")),
]


@pytest.mark.long
@pytest.mark.parametrize(("keys", "words"), IN_ALL)
def test_a_run_stops_in_good_order_when_its_budget_in_all_is_used_up(keys: str, words: str, tmp_path: Path) -> None:
    with serving() as server:
        place = tournament(tmp_path, server.address)
        config = two_fixtures(place, f"{keys}\n")
        stopped = croupier("-C", place, "run")
        asked = len(server.heard)
        again = croupier("-C", place, "run")
        assert len(server.heard) == asked + 1  # when the bot was prepared
        config.write_text(config.read_text().replace(keys, ""))
        finished = croupier("-C", place, "run")
    assert stopped.code == again.code == 5, stopped.err
    assert f"stopped: the budget of small is used up, {words}" in stopped.err
    assert f"stopped: the budget of small is used up, {words}" in again.err
    assert 0 < asked < len(server.heard)
    assert finished.code == 0, finished.err
    assert croupier("-C", place, "verify").code == 0


def test_fixtures_that_are_open_count_with_the_most_that_their_bots_may_use() -> None:
    model = access_to("http://h", requests=10, requests_in_all=100)
    bots = [BuiltBot(BotSpec(name=name), (), "", "", limits=Limits(models=(model,))) for name in ("a", "b")]
    setup = WorkerSetup(GAMES["pazaak"], None, tuple(bots), b"", level())
    budget = RunBudget(setup, [model], str)
    fixture = Fixture("pazaak", None, "", "", ("a", "b"), tables=2)
    record = undecided_record("", ("a", "b"), Undecided(""))
    assert budget.used_up([fixture, fixture]) == ""  # 80 requests
    budget.count(record._replace(models={"a": {"small": ModelCost(19)}}))
    assert budget.used_up([fixture, fixture]) == ""
    budget.count(record._replace(models={"a": {"small": ModelCost(1)}}))
    assert "requests_in_all = 100 in croupier.toml: 20 used" in budget.used_up([fixture, fixture])
    assert budget.used_up([fixture]) == ""


@pytest.mark.long
def test_a_fixture_that_is_played_again_after_redo_counts_twice(tmp_path: Path) -> None:
    with serving() as server:
        place = tournament(tmp_path, server.address)
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace('key_env = "A_KEY"\n', "") + "requests_in_all = 1000\n")
        assert croupier("-C", place, "run").code == 0
        used = len(server.heard) - 1  # without the question when the bot was prepared
        config.write_text(config.read_text().replace("in_all = 1000", f"in_all = {used}"))
        redone = croupier("-C", place, "redo", "league/2/asker+nestor/1", "--reason", "a power cut")
        assert redone.code == 0, redone.err
        again = croupier("-C", place, "run")
        assert len(server.heard) == 1 + used + 1
    assert again.code == 5, again.err
    assert f"requests_in_all = {used} in croupier.toml: {used} used" in again.err


@pytest.mark.long
def test_an_undecided_fixture_counts_with_what_its_bots_have_used(tmp_path: Path) -> None:
    refused = ["401"] * 6  # three times, and each time croupier asks the model too
    with serving("200", "200", "200", *refused, "200", "200", *refused) as server:
        place = tournament(tmp_path, server.address)
        two_fixtures(place, "requests_in_all = 2\n")
        stopped = croupier("-C", place, "run", "--workers", 1)
    assert stopped.code == 5, stopped.err
    assert "requests_in_all = 2 in croupier.toml: 2 used" in stopped.err
    assert len(server.heard) == 1 + 2 + len(refused)  # one when the bot was prepared


@pytest.mark.long
def test_check_asks_the_model_of_the_tournament(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", KEY)
    with serving() as server:
        done = croupier("-C", tournament(tmp_path, server.address), "check", "asker")
    assert done.code == 0, done.out + done.err
    assert server.heard


@pytest.mark.parametrize("command", [("check", "asker"), ("run",), ("add", ASKER)])
def test_a_model_that_the_organiser_does_not_grant_is_refused(command: Sequence[object], tmp_path: Path) -> None:
    place = tournament(tmp_path, "http://127.0.0.1:1")
    config = place / "croupier.toml"
    config.write_text(config.read_text().replace("[models.small]", "[models.large]"))
    done = croupier("-C", place, *command)
    assert done.code != 0
    said = done.out + done.err
    assert 'bot.toml:7: models has "small", and the organiser grants large' in said
    assert "only the organiser can grant it: [models.small] in croupier.toml" in said


def test_no_journal_and_no_bundle_names_an_address(tmp_path: Path) -> None:
    row = list(RecordedBot.of(caller(access_to("http://h"))).row())
    assert "http://h" not in row[3]
    about = json.loads(row[3])
    about["limits"]["models"] = [list(access_to("http://elsewhere", key_env="HOME"))]
    with pytest.raises(LookupError):
        bot_from_row(*row[:3], json.dumps(about))
    strange = Limits(models=(access_to("http://elsewhere", key_env="HOME"),))
    assert strange.at_most(MAX_LIMITS).models == ()


@pytest.mark.long
def test_check_and_play_say_that_a_model_does_not_answer(tmp_path: Path) -> None:
    with serving(*["503"] * 1000) as server:
        place = tournament(tmp_path, server.address)
        config = place / "croupier.toml"
        config.write_text(config.read_text().replace('key_env = "A_KEY"', 'patience = "1 s"'))
        checked, played = (
            croupier("-C", place, "check", "asker"),
            croupier("-C", place, "play", "asker", "sample:nestor"),
        )
        asked = len(server.heard)
    assert asked > 0
    assert "error[S020] asker: the model small does not answer: status 503" in checked.out
    assert "has no result: asker: the model small does not answer: status 503" in played.err
    assert played.code == 6


def test_a_key_that_is_missing_is_refused_before_a_table_is_played(tmp_path: Path) -> None:
    done = croupier("-C", tournament(tmp_path, "http://127.0.0.1:1"), "run")
    assert done.code == 6
    assert "error[S019] asker: cannot ask small: the variable A_KEY has no key" in done.err


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('address = "http://h"', 'address = "ftp://h"', "is not an address of a model"),
        ('address = "http://h"', 'address = "http://user:secret@h"', "is not an address of a model"),
        ('key_env = "A_KEY"', 'key_env = "A_KEY"\nkey_file = "key"', "models.small has key_env and key_file"),
        ("[models.small]", '[models."a b"]', '"a b" is not a name of a model'),
        ('model = "tiny"', "requests = 0", "requests = 0 is out of range"),
        ('model = "tiny"', "money = nan", "money = nan is out of range"),
        ('model = "tiny"', 'prompt_price = "1 €"', "is not a number"),
        ('model = "tiny"', "money = 0.5", "models.small has money, and no price"),
        ('model = "tiny"', "tokens_in_all = 5", "models.small has tokens_in_all, and no tokens"),
        ('model = "tiny"', "money_in_all = 5", "models.small has money_in_all, and no money"),
        ('model = "tiny"', 'answer = "1 GiB"', 'answer = "1 GiB" is out of range'),
        ('model = "tiny"', 'key = "sk-1"', "key"),
    ],
)
def test_what_is_wrong_with_a_model_is_said_with_its_line(
    before: str, after: str, message: str, tmp_path: Path
) -> None:
    config = CONFIG.format(address="http://h").replace(before, after)
    (tmp_path / "croupier.toml").write_text(config)
    done = croupier("-C", tmp_path, "ls")
    assert done.code == 3
    assert re.search(r"croupier.toml:\d+: .*" + re.escape(message), done.err), done.err


def test_a_bot_over_argv_cannot_ask_a_model(tmp_path: Path) -> None:
    source = prober(tmp_path, "pass")
    toml = source / "bot.toml"
    toml.write_text(toml.read_text().replace("lines", "argv"))
    with pytest.raises(UserError, match="has no effect with argv"):
        load_submission(source, Limits(models=(access_to("http://h"),)), game_called("pazaak"))


def test_below_namespaces_a_bot_cannot_ask_a_model() -> None:
    submission = load_submission(ASKER, Limits(models=(access_to("http://h"),))).for_game(game_called("pazaak"))
    with pytest.raises(UserError, match="needs a sandbox of level L3 or L4; the level is none"):
        trio.run(build, submission, UNPROTECTED)


@pytest.mark.long
def test_without_models_nothing_of_them_is_imported() -> None:
    code = """
import sys
sys.path.insert(0, "tests")
from helpers import SAMPLES, built, played
bots = [built(SAMPLES / "pazaak" / name, "pazaak") for name in ("nestor", "bastila")]
played("pazaak", bots, 1)
words = ("relay", "calling", "storing", "open_answers")
print(sorted(name for name in sys.modules if name == "h11" or any(word in name for word in words)))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(), capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


# What a bot could gain from the relay.


@pytest.mark.long
def test_a_bot_that_does_not_read_its_answer_does_not_stop_its_clock(tmp_path: Path) -> None:
    body = """
    relay = opened()
    relay.sendall(post(GOOD))
    time.sleep(1000)
    """
    with serving() as server:
        server.said = "x" * (2 << 20)  # more than a socket takes
        model = access(server, counts_time=False, answer=4 << 20)
        record = against_nestor(caller(model, prober(tmp_path, body), move=0.3, startup=0.5))
    assert [set(faults) for faults in record.faults.values()] == [{"timeout"}]


@pytest.mark.long
def test_a_host_that_pauses_for_longer_than_patience_goes_on() -> None:
    def pause() -> None:
        while not server.heard:
            time.sleep(0.01)
        heard = time.perf_counter()
        while time.perf_counter() < heard + 0.2:  # croupier gets the answer, and waits for its next attempt
            time.sleep(0.01)
        while time.perf_counter() < heard + 1.2:
            sum(range(10_000_000))  # keeps the lock of the interpreter

    with serving("503") as server:
        bot = caller(access(server, patience=0.9))
        busy = Thread(target=pause)
        busy.start()
        record = against_nestor(bot)
        busy.join()
    assert record.faults == {}
    assert record.undecided is None


def test_a_failure_of_the_relay_is_one_of_the_question() -> None:
    with serving() as server:
        bot = caller(access(server, patience="a minute"))
        record = against_nestor(bot)
    assert [failure for failure in record.failures if "the relay to the models has failed: TypeError(" in failure]
    assert set(record.faults) == {"asker"}


STATUSES = """
said += [status(post(GOOD)) for _ in range(5)]
"""


def test_a_bot_gets_502_for_an_answer_that_is_too_long(tmp_path: Path) -> None:
    with serving() as server:
        record = against_nestor(caller(access(server, answer=50, requests=4), prober(tmp_path, STATUSES)))
    assert words_of(record) == ["502"] * 4 + ["429"]
    assert len(server.heard) == 4
    assert record.undecided is None


def test_a_bot_whose_requests_no_model_answers_does_not_make_its_fixture_undecided(tmp_path: Path) -> None:
    probed = ["503", "503", "503", "200", "403", "200", "302", "200"]  # each 200 answers croupier's own request
    with serving(*probed) as server:
        record = against_nestor(caller(access(server, patience=1.0), prober(tmp_path, STATUSES)))
    assert words_of(record) == ["502"] * 3 + ["429"] * 2
    assert [bool(body["messages"]) for _, _, body in server.heard] == [step == "200" for step in probed]
    assert record.undecided is None
    assert record.stalls == ()


@pytest.mark.long
def test_a_bot_that_answers_before_its_model_can_stops_its_clock_three_times_only(tmp_path: Path) -> None:
    body = """
    for _ in range(3):
        relay = opened()
        relay.sendall(post(GOOD))
        time.sleep(0.3)
        print("END", flush=True)
        sys.stdin.readline()
    said += [status(post(GOOD))]
    """
    with serving(*["503"] * 50) as server:
        record = against_nestor(caller(access(server), prober(tmp_path, body)))
    assert words_of(record) == ["429"]


def test_a_bot_gets_the_status_of_a_wrong_request(tmp_path: Path) -> None:
    with serving("400", "405", "418", "422", "499") as server:
        words = words_of(against_nestor(caller(access(server), prober(tmp_path, STATUSES))))
    assert words == ["400", "405", "418", "422", "499"]


def test_a_wait_longer_than_patience_is_cut_to_it() -> None:
    with serving("retry") as server:
        record = against_nestor(caller(access(server, patience=1.0)))
    assert record.faults == {}
    assert record.stalls == ()


def test_only_known_keys_of_a_request_are_passed_on(tmp_path: Path) -> None:
    body = r"""
    image = {"type": "image_url", "image_url": {"url": "http://elsewhere"}}
    schema = {"type": "json_schema", "json_schema": {"schema": {"$ref": "http://elsewhere"}}}
    more = [{"models": ["huge"]}, {"tools": []}, {"plugins": []}, {"store": True}, {"n": 400}, {"logprobs": True}]
    more += [{"messages": [{"role": "user", "content": [image]}]}, {"messages": [{"role": "tool", "content": ""}]}]
    more += [{"response_format": schema}, {"a" * 100000: 1}]
    replies = [ask(post(GOOD | each)) for each in more]
    said += [reply.split()[1].decode() for reply in replies] + [b"tools" in replies[1], max(map(len, replies)) < 1000]
    good = {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}], "temperature": 0.5, "stop": ["b"]}
    said += [status(post(GOOD | good | {"max_tokens": 9, "n": 1, "response_format": {"type": "json_object"}}))]
    """
    with serving() as server:
        words = words_of(against_nestor(caller(access(server), prober(tmp_path, body))))
    assert words == ["400"] * 10 + ["True", "True", "200"]
    assert server.heard[0][2] == {
        "model": "tiny",
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        "temperature": 0.5,
        "max_tokens": 9,
        "stop": ["b"],
        "n": 1,
        "response_format": {"type": "json_object"},
    }


@pytest.mark.long
def test_a_question_that_is_asked_again_has_only_what_was_left_of_startup(tmp_path: Path) -> None:
    with serving(*["503"] * 50) as server:
        source = prober(tmp_path, "time.sleep(0.7)\nstatus(post(GOOD))")
        record = against_nestor(caller(access(server, patience=0.01), source, move=0.1, startup=0.8))
    assert record.undecided is None
    assert [set(faults) for faults in record.faults.values()] == [{"timeout"}]


def test_no_answer_takes_less_than_no_time() -> None:
    async def walls() -> list[float]:
        async with running_monitor() as monitor, sandboxed(level(), Home(CACHE), AMPLE) as sandbox:
            with monitor.watching(sandbox, AMPLE.memory) as monitored:
                clock, now = CallingClock(AMPLE, monitored), time.perf_counter()
                clock.begin([Question(table, 1, GAMES["pazaak"].examples[0]) for table in (1, 2, 3)], now)
                clock.stand_still(now)
                return [clock.answered(now) for _ in range(3)]

    assert trio.run(walls) == [0, 0, 0]


def test_requests_over_tls_read_the_certificates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    contexts, create = list[ssl.SSLContext](), ssl.create_default_context

    def counted() -> ssl.SSLContext:
        contexts.append(create())
        return contexts[-1]

    async def ask_often() -> None:
        for _ in range(20):
            with pytest.raises(Repeatable):
                await ask(access_to("https://127.0.0.1:1"), b"{}")

    monkeypatch.setattr(ssl, "create_default_context", counted)
    trio.run(ask_often)
    assert len(contexts) <= 1  # none, if an earlier test has read them
