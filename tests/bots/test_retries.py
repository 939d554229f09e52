"""Bots that are asked again after a refused answer: what is refused, what is counted, and what stays as it is."""

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from unittest.mock import Mock

import pytest
import trio
import trio.testing
from command import croupier
from helpers import AMPLE, CACHE, answers_of, built, game_called, level, played, run, seat_of, written
from model_server import serving
from test_model_costs import summaries
from test_models import PROBER, access, caller
from test_open_answers import calls_of
from test_open_answers import played as played_with_store

from host.base.toml_file import Toml
from host.bots.bot_spec import BuiltBot
from host.bots.conversation import AskedProcess
from host.bots.values import Question
from host.config.tournament_config import bank_problems
from host.games import GAMES
from host.play.open_answers import open_file
from host.play.records import STORED_FIELDS, Record
from host.rules.catalogue import GameRef, allows_at_once
from host.sandbox.limits import Bank, Limits
from protocols.wire import Answer, Fault, Move

ANSWERS = """
    import json, sys

    for line in sys.stdin:
        question = json.loads(line)
        print(line, end="", file=sys.stderr, flush=True)
        said = {answer}
        if said:
            print(said, flush=True)
"""
GOOD = """json.dumps({"move": "STAND"})"""
STUBBORN = """ "I think that I should stand." """
SORRY = f"""{GOOD} if "refused" in question else {STUBBORN}"""
ILLEGAL = """json.dumps({"move": "STAND" if "refused" in question else "PLAY 99"})"""


def bot_of(answer: str, name: str, retries: int = 0, **changes: object) -> BuiltBot:
    """Build a bot over json that answers with the value of a Python expression."""
    folder = CACHE / "retries"
    folder.mkdir(exist_ok=True)
    source = ANSWERS.replace("{answer}", answer)
    bot = built(written(source, ".py", folder, name), "pazaak", protocol="json").with_keys(**changes)
    return bot._replace(limits=bot.limits._replace(retries=retries))


def questions_of(record: Record, bot: str) -> list[dict[str, object]]:
    """Return the questions that a bot has written to its standard error."""
    (tails,) = (tails for name, tails in record.said if name == bot)
    return [json.loads(line) for _, tail in tails for line in tail.splitlines()]


def test_an_answer_that_cannot_be_read_is_asked_again_with_the_reason() -> None:
    record = played("pazaak", [bot_of(SORRY, "sorry", retries=1), bot_of(GOOD, "good", retries=1)], 2)

    asked = questions_of(record, "sorry")
    assert record.faults == {} and record.usage["sorry"].starts == 1
    assert len(asked) == 2 * record.retries["sorry"] and record.retries.keys() == {"sorry"}
    for first, again in zip(asked[::2], asked[1::2], strict=True):
        assert "refused" not in first
        assert again.pop("refused") == f"the answer cannot be read: its move must be {GAMES['pazaak'].grammar.expected}"
        assert again == first
    assert {answer for answers in answers_of(record) for answer in answers} == {Move("STAND")}


def test_the_answers_are_those_of_a_bot_that_is_right_at_once() -> None:
    good = bot_of(GOOD, "good")
    expected = played("pazaak", [bot_of(GOOD, "sorry"), good], 4)

    for answer in (SORRY, ILLEGAL):
        record = played("pazaak", [bot_of(answer, "sorry", retries=2), good], 4)

        assert (record.answers, record.scores, record.faults) == (expected.answers, expected.scores, {})
        assert record.retries["sorry"] == record.usage["sorry"].questions


def test_without_retries_the_journal_stores_nothing_more() -> None:
    record = played("pazaak", [bot_of(GOOD, "sorry", retries=2), bot_of(GOOD, "good")], 1)
    again = played("pazaak", [bot_of(SORRY, "sorry", retries=2), bot_of(GOOD, "good")], 1)

    assert len(record.stored_summary()) == STORED_FIELDS
    assert len(again.stored_summary()) == STORED_FIELDS + 2
    assert again.stored_summary()[-1] == again.retries
    assert "retries" not in AMPLE.by_name()


@pytest.mark.parametrize(
    ("answer", "kind"), [(STUBBORN, "unreadable"), (ILLEGAL.replace("STAND", "PLAY 98"), "illegal")]
)
def test_the_last_refused_answer_is_judged_as_without_retries(answer: str, kind: str) -> None:
    good = bot_of(GOOD, "good")
    expected = played("pazaak", [bot_of(answer, "stubborn"), good], 1)

    record = played("pazaak", [bot_of(answer, "stubborn", retries=3), good], 1)

    count = record.faults["stubborn"][kind]
    assert record.faults == expected.faults and record.retries == {"stubborn": 3 * count}
    assert record.scores == expected.scores


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("""sys.exit(3)""", "crash"),
        ("""sys.exit()""", "exit"),
        ("""json.dumps({"move": "STAND"}) + chr(10) + json.dumps({"move": "STAND"})""", "extra"),
        (""" "x" * 9000 """, "flood"),
        ("""json.dumps({"move": "! ValueError"})""", "exception"),
        ("""__import__("time").sleep(99)""", "timeout"),
    ],
)
def test_other_faults_are_not_asked_again(answer: str, kind: str) -> None:
    bot = bot_of(answer, "faulty", retries=2)

    bot = bot._replace(limits=bot.limits._replace(move=0.5))
    (found,), retries, starts = asked_in_turn(bot, GAMES["pazaak"].examples[0])
    assert isinstance(found, Fault) and found.kind == kind and (retries, starts) == (0, 1)


def asked_in_turn(bot: BuiltBot, *views: tuple[object, ...]) -> tuple[list[Answer], int, int]:
    """Ask a bot some questions. Return its answers, how many were asked again, and how often it was started."""

    async def ask() -> tuple[list[Answer], int, int]:
        async with seat_of(bot, "pazaak") as seat:
            answers = [await seat.ask_one(Question(1, number, view)) for number, view in enumerate(views, 1)]
            return answers, seat.retries, seat.usage().starts

    return run(ask)


def test_all_tries_of_a_question_share_its_time() -> None:
    slow = """(__import__("time").sleep(0.6) or "no move") if "refused" in question or question["big"] else """ + GOOD
    bot = bot_of(slow, "slow", retries=5)
    bot = bot._replace(limits=bot.limits._replace(move=1.0))

    answers, retries, _ = asked_in_turn(bot, Big(0), Big(1))

    assert answers == [Move("STAND"), Fault("timeout")] and retries <= 1  # type: ignore[arg-type]


class Big(NamedTuple):
    """A question of any size."""

    big: int
    text: str = ""


def test_a_question_is_asked_again_whole_even_if_it_does_not_fit_into_the_pipe() -> None:
    sizes = f"""json.dumps({{"move": "PLAY " + str(len(question["text"]) // 10**5)}}) if "refused" in question else {STUBBORN}"""

    answers, retries, starts = asked_in_turn(bot_of(sizes, "sizes", retries=1), *[Big(1, "x" * 900_000)] * 2)

    assert answers == [Move("PLAY", 9)] * 2 and (retries, starts) == (2, 1)


def test_who_writes_more_than_a_refused_line_is_not_asked_again_and_stays_at_its_question() -> None:
    two = """("what" + chr(10) if question["big"] == 0 else "") + json.dumps({"move": "PLAY %d" % question["big"]})"""
    answers, retries, _ = asked_in_turn(bot_of(two, "two", retries=2), *map(Big, range(4)))
    assert retries == 0 and isinstance(answers[0], Fault) and answers[0].kind == "unreadable"
    assert answers[1:] == [Move("PLAY", number) for number in (1, 2, 3)]


@pytest.mark.long
def test_a_question_is_asked_again_though_an_earlier_one_was_written_in_parts() -> None:
    # The bot fills its pipe: the retry of the second question does not fit, and its answer is read without waiting.
    folder = CACHE / "retries"
    folder.mkdir(exist_ok=True)
    slow = built(written(FULL_PIPE, ".py", folder, "pipe"), "pazaak", protocol="json")
    slow = slow._replace(limits=slow.limits._replace(retries=1))
    answers, retries, _ = asked_in_turn(slow, Big(0), Big(1, "x" * 40_000), Big(1))
    assert answers[:2] == [Move("STAND"), Move("STAND")] and retries == 1


@pytest.mark.parametrize("begins_first", [False, True])
def test_one_task_writes_to_a_bot_however_often_it_is_asked_again(begins_first: bool) -> None:
    async def heard() -> bytes:
        process = AskedProcess(Mock(), Mock(), Mock(), may_ask_again=True)
        reads, *_ = process._inherited
        told = bytearray()

        async def reading() -> None:
            process.ask_again(b"a" * 100_000)  # more than the pipe holds, before another task can have begun
            if begins_first:
                await trio.testing.wait_all_tasks_blocked()
                told.extend(os.read(reads, 65_536))
                process.ask_again(b"b")  # writes what that task waits to write
                process.ask_again(b"c" * 100_000)
            while len(told) < (200_001 if begins_first else 100_000):
                told.extend(os.read(reads, 65_536) if select.select([reads], [], [], 0)[0] else b"")
                await trio.sleep(0.001)

        with trio.fail_after(60):
            await process.while_writing(reading)
        return bytes(told)

    assert run(heard) == b"a" * 100_000 + (b"b" + b"c" * 100_000) * begins_first


@pytest.mark.long
@pytest.mark.parametrize("keys", [{"table_ids": True, "parallel_tables": 4}, {"lifetime": "table"}])
def test_bots_that_number_their_tables_or_are_started_for_each_are_asked_again(keys: dict[str, object]) -> None:
    numbered = """json.dumps({"move": "STAND", "table": question.get("table")})"""
    answer = (
        f"""({numbered} if "refused" in question else json.dumps({{"table": question.get("table"), "move": "?"}}))"""
    )
    answer = f"""{answer} if "over" not in question else "" """ if "table_ids" in keys else answer
    folder = CACHE / "retries"
    folder.mkdir(exist_ok=True)
    source = written(ANSWERS.replace("{answer}", answer), ".py", folder, "numbers")
    numbers = built(source, "pazaak", protocol="json").with_keys(**keys)
    numbers = numbers._replace(limits=numbers.limits._replace(retries=1, bank=Bank(60.0, "table"), floor=0.001))

    record = played("pazaak", [numbers, bot_of(GOOD, "good")], 4)

    assert record.faults == {} and record.retries["numbers"] == record.usage["numbers"].questions > 4


FULL_PIPE = """
import fcntl, json, struct, sys, termios, time
sys.stdin.readline()
time.sleep(0.3)
print(json.dumps({"move": "STAND"}), flush=True)
while struct.unpack("i", fcntl.ioctl(0, termios.FIONREAD, bytes(4)))[0] < 40_000:
    pass
print("x", flush=True)
time.sleep(0.1)
for line in sys.stdin:
    if "refused" in line:
        print(json.dumps({"move": "STAND"}), flush=True)
"""

CONFIG = """
game = "pazaak"
bots = ["bots/*", "sample:nestor"]
[limits]
retries = 2
[[stage]]
name = "s"
kind = "round-robin"
tables_per_pair = 4
"""


@pytest.mark.long
def test_a_tournament_shows_how_often_bots_were_asked_again(tmp_path: Path) -> None:
    for name, answer in (("Sorry", SORRY), ("Good", GOOD)):
        place = tmp_path / "bots" / name
        place.mkdir(parents=True)
        written(ANSWERS.replace("{answer}", answer), ".py", place)
        (place / "bot.toml").write_text('protocol = "json"\nlanguage = "python"\n')
    (tmp_path / "croupier.toml").write_text(CONFIG)
    done = croupier("-C", tmp_path, "run")
    assert done.code == 0, done.err

    stored = summaries(tmp_path / "run" / "run.sqlite")
    lengths = {path: len(summary) for path, summary in stored.items()}
    assert sorted(lengths.values()) == [STORED_FIELDS, STORED_FIELDS + 2, STORED_FIELDS + 2]
    total = sum(summary[-1]["Sorry"] for summary in stored.values() if len(summary) > STORED_FIELDS)
    rows = {row["bot"]: row for row in croupier("-C", tmp_path, "--json", "standings").json["rows"]}
    assert {bot: row["retries_per_table"] for bot, row in rows.items()} == {"Sorry": total / 8, "Good": 0, "nestor": 0}
    assert "retries/table" in croupier("-C", tmp_path, "standings").out
    assert "retries_per_table" in croupier("-C", tmp_path, "standings", "--csv").out
    verified = croupier("-C", tmp_path, "verify")
    assert verified.code == 0, verified.out
    table = next(path for path, length in lengths.items() if length > STORED_FIELDS)
    asked = croupier("-C", tmp_path, "--json", "ask", "Sorry", f"{table}:1")
    assert asked.code == 0 and asked.json["rows"][0]["same"], asked.out + asked.err
    checked = croupier("-C", tmp_path, "check", "Sorry")
    assert checked.code == 0 and "40 answers could not be read; croupier asked again each time" in checked.out
    checked = croupier("-C", tmp_path, "check", "sample:nestor")
    assert "retries" in checked.out and checked.code == 0
    page = croupier("-C", tmp_path, "report", "-o", tmp_path / "page.html")
    assert page.code == 0 and "retries/table" in (tmp_path / "page.html").read_text(), page.err
    public = tmp_path / "public"
    assert croupier("-C", tmp_path, "export", "public", public).code == 0
    subprocess.run([sys.executable, public / "check.py"], check=True, capture_output=True)


def test_a_tournament_allows_a_few_retries(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(CONFIG.replace("retries = 2", "retries = 6"))
    done = croupier("-C", tmp_path, "run")
    assert done.code != 0 and "retries" in done.err and "0 to 5" in done.err


def test_a_question_may_not_have_a_field_with_the_name_of_the_reason() -> None:
    toml = Toml("croupier.toml", {"limits": {"retries": 1}}, {})
    clashing = GAMES["pazaak"]._replace(view=NamedTuple("Clashing", [("refused", str)]))

    (problem,) = bank_problems(clashing, Limits(retries=1), toml)

    assert problem.code == "C013" and "refused" in problem.message
    assert not bank_problems(clashing, Limits(), toml) and not bank_problems(GAMES["pazaak"], Limits(retries=1), toml)


def test_the_code_of_an_organiser_is_not_asked_whether_a_move_is_legal() -> None:
    pazaak = GAMES["pazaak"]
    rules, view = pazaak.default_rules, pazaak.examples[0]
    for game, is_known in ((pazaak, True), (pazaak._replace(ref=GameRef("theirs:GAME", "folder")), False)):
        allows = allows_at_once(game, rules)
        assert allows(view, Move("STAND")) and allows(view, Move("PLAY", 99)) is not is_known


def test_a_legal_move_of_openspiel_is_known_at_once() -> None:
    pytest.importorskip("pyspiel")
    game = game_called("openspiel:tic_tac_toe")
    allows, first = allows_at_once(game, game.default_rules), game.examples[0]
    allowed = [number for number in range(12) if allows(first, Move(game.grammar.verb, number))]
    assert allowed == [number for low, high in first[1] for number in range(low, high + 1)] and allowed


ASKS_AGAIN = (
    PROBER.partition("said = []")[0]
    + """
for line in sys.stdin:
    ask(post(GOOD))
    print(json.dumps({"move": "STAND"}) if "refused" in line else "no move", flush=True)
"""
)


@pytest.mark.long
@pytest.mark.skipif(not level().traits.own_namespaces, reason="models need a sandbox with namespaces")
def test_a_fixture_that_goes_on_counts_the_retries_of_before(tmp_path: Path) -> None:
    with serving() as server:
        bot, folder = tmp_path / "asks", tmp_path / "open"
        bot.mkdir()
        written(ASKS_AGAIN, ".py", bot)
        (bot / "bot.toml").write_text('game = "pazaak"\nprotocol = "json"\nmodels = ["small"]\n')
        bots = [caller(access(server, requests=50), bot, retries=1), bot_of(GOOD, "good")]
        expected, calls = played_with_store(bots, folder, 2), len(server.heard)
        file = open_file(folder, "test/1")
        head, *lines = file.read_bytes().splitlines()
        assert calls == 2 * expected.retries["asks"] > 0
        for kept in (1, len(lines) // 2, len(lines)):
            file.write_bytes(b"\n".join([head, *lines[:kept], b""]))
            server.heard.clear()
            record = played_with_store(bots, folder, 2)
            assert (record.answers, record.retries) == (expected.answers, expected.retries)
            assert len(server.heard) == calls - calls_of(lines[:kept])
