"""A game asks several seats at once, its moves have texts, and partners are processes of one bot."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from chorus import GAME, Rules, View
from command import answers_in, croupier
from helpers import answers_of, breadth, built, faults_of, level, long, nothing_left_behind, played, written

from host.bots.bot_spec import BuiltBot
from host.games import GAMES
from host.games.engine import Game, GameFailed, Place, Play, Request, Table, Tell
from host.games.luck import Luck, Shuffler
from host.inspect.replay import spelled
from host.play.records import read_answer, unpack
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, Move

pytestmark = pytest.mark.skipif(not level().traits.isolates, reason="NO SANDBOX HERE")


# A table.


def said(*texts: str) -> list[Move]:
    """Return moves with these texts."""
    return [Move("SAY", text=text) for text in texts]


def test_a_game_is_told_no_answer_before_all_have_answered() -> None:
    table = Table(GAME, Rules(rounds=1), Luck(b"", ""))
    assert [seat for seat, _ in table.together] == [seat for seat, _ in table.open] == [1, 0]
    assert table.request == table.open[0]
    table.answer(*said("x"))
    assert table.open == table.together[1:] == (table.request,)
    table.answer(*said("y"))
    assert table.together == () and table.open == (table.request,)
    assert table.request is not None and table.request.view.heard == ("x", "y")
    table.answer(*said("z"))
    assert table.open == () and table.scores is not None
    with pytest.raises(ValueError, match="over"):
        table.answer(*said("!"))


def test_a_table_is_its_seed_and_its_answers_also_if_several_questions_are_open() -> None:
    answers = [*said("x", "no", "z"), Fault(FaultKind.TIMEOUT)]
    one, other = Table(GAME, Rules(), Luck(b"", "")), Table(GAME, Rules(), Luck(b"", ""), answers)
    for answer in answers:
        one.answer(answer)
    assert (one.open, one.illegal, one.answers) == (other.open, [1], answers) and len(one.open) == 1


def listed(questions: Sequence[object]) -> Game:
    """Return a game that yields these questions at once, and ends with the number of answers."""

    def play(rules: Rules, luck: Shuffler, tell: Tell = None) -> Play:
        answers = yield questions  # type: ignore[misc]
        return len(answers), 0

    return GAME._replace(play=play)


def test_no_question_at_all_is_answered_at_once() -> None:
    assert Table(listed([]), Rules(), Luck(b"", "")).scores == (0, 0)


def test_a_single_question_in_a_list_has_a_list_of_answers() -> None:
    assert Table(listed([Request(0, View(0, 0, "SAY", ()))]), Rules(), Luck(b"", ""), said("x")).scores == (1, 0)


def test_one_seat_cannot_be_asked_twice_at_once() -> None:
    with pytest.raises(GameFailed) as failed:
        Table(listed([Request(0, View(0, 0, "SAY", ()))] * 2), Rules(), Luck(b"", ""))
    assert str(failed.value.__cause__) == "chorus asks one seat several questions at once"


def test_each_seat_has_a_bot_and_a_process() -> None:
    assert GAME.places(Rules(partners=True)) == (Place(0), Place(1), Place(0, 1), Place(1, 1))
    assert GAME.places(Rules()) == (Place(0), Place(1)) == GAMES["pazaak"].places(Rules())
    assert GAMES["holdem"].places(GAMES["holdem"].presets["banksalad"]) == tuple(map(Place, range(5)))
    with pytest.raises(ValueError, match="each seat from 0 on once"):
        GAME._replace(sides=lambda _: ((0, 2), (1, 2))).places(Rules())


# Played.

TALKER = """
    import os, sys

    count = 0
    for line in sys.stdin:
        seat, turn, task, heard = line.split()
        count += 1
        print(f"{NAME}{os.environ['CROUPIER_SEED'][-4:]}.{seat}.{turn}.{count},{{}}%2C<b>", flush=True)
"""
STEADY = """
    import os, sys

    for line in sys.stdin:
        print(f"{NAME}{os.environ['CROUPIER_SEED'][-4:]} {line.strip()[:200]}, %2C <b>", flush=True)
"""
SIMPLE = {
    "argv": """
        import sys

        print(f"{sys.argv[1]} {sys.argv[2]}, <i>")
    """,
    "lines": """
        import sys

        for line in sys.stdin:
            print(f"{line.split()[0]} {line.split()[1]}, <i>", flush=True)
    """,
    "json": """
        import json, sys

        for line in sys.stdin:
            asked = json.loads(line)
            print(json.dumps({"move": f"{asked['seat']} {asked['round']}, <i>"}), flush=True)
    """,
    "block": """
        while True:
            seat, turn, _task, _heard = [input() for _ in range(4)]
            print(f"{seat} {turn}, <i>", flush=True)
    """,
    "botzone": """
        import json

        asked = json.loads(input())["requests"][-1]
        print(json.dumps({"response": f"{asked['seat']} {asked['round']}, <i>"}))
    """,
    "botzone-simple": """
        requests = [input() for _ in range(2 * int(input()) - 1)]
        print(f"{requests[-1].split()[0]} {requests[-1].split()[1]}, <i>")
    """,
}
ODD = """
    import os, sys

    for line in sys.stdin:
        seat, turn, task, heard = line.split()
        if turn == "1" and task == "SAY":
            print("no", flush=True)
        elif turn == "2" and task == "SAY" and int(seat) < 2:
            sys.exit(3)
        else:
            print("\\x07" if turn == "0" else "xxx", flush=True)
"""


@pytest.fixture(scope="module")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> list[BuiltBot]:
    """Return two bots whose answers depend on everything that they were told, and one that fails in many ways."""
    folder = tmp_path_factory.mktemp("talkers")
    texts = {"one": TALKER.replace("{NAME}", "a"), "two": TALKER.replace("{NAME}", "b"), "odd": ODD}
    return [built(written(text, ".py", folder, name), GAME, protocol="lines") for name, text in texts.items()]


@pytest.fixture(scope="module")
def steady(tmp_path_factory: pytest.TempPathFactory) -> list[BuiltBot]:
    """Return two bots whose answers follow from their question and seed."""
    folder = tmp_path_factory.mktemp("steady")
    sources = [written(STEADY.replace("{NAME}", name), ".py", folder, name) for name in ("c", "d")]
    return [built(source, GAME, protocol="lines") for source in sources]


@pytest.mark.parametrize("partners", [False, long(True)], ids=["alone", "partners"])
def test_a_fixture_is_the_same_however_many_tables_are_open(steady: list[BuiltBot], partners: bool) -> None:
    with nothing_left_behind():
        one_by_one = played(GAME, [bot.with_keys(parallel_tables=1) for bot in steady], 12, partners=partners)
    abreast = played(GAME, [bot.with_keys(parallel_tables=8) for bot in steady], 12, partners=partners)
    assert (one_by_one.answers, one_by_one.scores) == (abreast.answers, abreast.scores)
    assert one_by_one.results == abreast.results and one_by_one.faults == abreast.faults == {}
    questions = sum(usage.questions for usage in one_by_one.usage.values())
    assert questions == sum(map(len, answers_of(abreast))) == 12 * 3 * (5 if partners else 3)


@pytest.mark.long
@pytest.mark.parametrize("protocol", breadth(PROTOCOLS, 3))
def test_every_protocol_asks_several_seats_at_once(protocol: str, tmp_path: Path) -> None:
    bots = [built(written(SIMPLE[protocol], ".py", tmp_path, name), GAME, protocol=protocol) for name in "ab"]
    record = played(GAME, bots, 2, partners=True)
    assert record.faults == {} and {len(answers) for answers in answers_of(record)} == {15}
    assert {answer for answers in answers_of(record) for answer in answers} == set(
        said(*(f"{seat} {turn}, <i>" for seat in range(4) for turn in range(3)))
    )


@pytest.mark.parametrize("parallel", [long(1), 6])
def test_partners_are_processes_that_know_only_their_own_seat(talkers: list[BuiltBot], parallel: int) -> None:
    pair = [bot.with_keys(parallel_tables=parallel) for bot in talkers[:2]]
    record = played(GAME, pair, 6, partners=True)
    seeds: dict[tuple[str, str], set[str]] = {}
    for number, answers in enumerate(answers_of(record)):
        for answer in answers:
            assert isinstance(answer, Move)
            who, seat, *_ = answer.text.split(".")
            assert (who[0] == "a") is ((int(seat) + number) % 2 == 0)  # the bots change sides from table to table
            seeds.setdefault((who[0], str(int(seat) // 2)), set()).add(who[1:])
    assert len(seeds) == 4 and all(len(each) == 1 for each in seeds.values())  # a process and a seed at each seat
    assert len({next(iter(each)) for each in seeds.values()}) == 4
    assert {bot: usage.starts for bot, usage in record.usage.items()} == {"one": 2, "two": 2}


@pytest.mark.parametrize("parallel", [long(1), 4])
def test_faults_and_illegal_moves_of_several_questions_are_charged_to_their_bot(
    talkers: list[BuiltBot], parallel: int
) -> None:
    pair = [bot.with_keys(parallel_tables=parallel) for bot in (talkers[0], talkers[2])]
    record = played(GAME, pair, 4, partners=True)
    assert faults_of(record, "one") == {}
    kinds = Counter(faults_of(record, "odd"))
    assert kinds["illegal"] == 8 and kinds["unreadable"] >= 8 and kinds["crash"] == 4
    answers = answers_of(record)
    for piece in record.evidence:
        answer = answers[piece.table - 1][piece.number - 1]
        assert piece.kind == "slowest" or _kind(answer) == piece.kind
        assert (
            piece.question.split()[1:3] in ([b"0", b"SAY"], [b"1", b"SAY"], [b"2", b"SAY"]) or piece.kind != "illegal"
        )


def _kind(answer: Answer) -> str:
    """Return the kind of fault of an answer."""
    return str(answer.kind) if isinstance(answer, Fault) else "illegal" if answer.text == "no" else ""


# What a bot says is text, wherever it is shown.

SHOUTS = """
import re
from typing import NamedTuple

from host.games.engine import Game, Opening, Request
from protocols.wire import Grammar, Move


class Rules(NamedTuple):
    seats: int = 2


class View(NamedTuple):
    heard: int


def play(rules, luck, tell=None):
    answers = yield [Request(seat, View(0)) for seat in (0, 1)]
    if tell:
        tell("say", seat=0, text=answers[0].text if isinstance(answers[0], Move) else "-", answers=list(answers))
    return tuple(len(answer.text) if isinstance(answer, Move) else 0 for answer in answers)


GAME = Game(
    name="shouts",
    title="Shouts",
    seats=(2, 2),
    protocol="lines",
    presets={"usual": Rules()},
    grammar=Grammar(re.compile(r"(?P<verb>SAY (?P<text>.*))"), "SAY <text>"),
    play=play,
    allows=lambda rules, view, move: "no" not in move.text,
    winners=lambda scores: (scores.index(max(scores)),),
    view=View,
    edges={"the first question": View(0), "the second": View(1), "the third": View(2)},
    opening=Opening("heard", 1, "SAY a", "SAY b"),
    card="Say something.",
)
"""
EVIL = """<script>alert(1)</script><img src=x onerror=evil()>&"'=cmd()|[red]{{7*7}}%2C,%0A,!crash \\\\x1b[31m"""
SHOUT = 'import sys\n\nfor line in sys.stdin:\n    print("SAY", TEXT, flush=True)\n'
TEXTS = {"evil": repr(EVIL), "long": "'x' * 1000", "endless": "'y' * 3000", "no": f"'no ' + {EVIL!r}"}


@pytest.fixture(scope="module")
def shouted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tournament of bots whose moves have hostile texts, played and reported."""
    folder = tmp_path_factory.mktemp("shouted")
    (folder / "bots").mkdir()
    (folder / "shouts.py").write_text(SHOUTS)
    for name, text in TEXTS.items():
        (folder / "bots" / f"{name}.py").write_text(SHOUT.replace("TEXT", text))
    (folder / "croupier.toml").write_text(
        'game = "shouts:GAME"\nbots = ["bots/*"]\n\n[[stage]]\nkind = "round-robin"\ntables_per_pair = 4\n'
    )
    assert croupier("-C", folder, "run").code == 0
    assert croupier("-C", folder, "report", "-o", folder / "report.html").code == 0
    return folder


@pytest.mark.long
def test_a_text_is_bounded_stored_whole_and_replayed(shouted: Path) -> None:
    rows = {row["bot"]: row for row in croupier("-C", shouted, "standings", "--json").json["rows"]}
    assert rows["endless"]["faults"] == rows["long"]["faults"] == rows["evil"]["faults"] == 0
    assert croupier("-C", shouted, "verify").code == 0
    fixtures = answers_in(shouted / "run" / "run.sqlite").values()
    said = Counter(answer for fixture in fixtures for table in unpack(fixture[1]) for answer in table)
    assert said[Move("SAY", text=EVIL)] == 12 and said[Move("SAY", text="x" * 1000)] == 12
    assert said[Move("SAY", text="y" * 3000)] == 12
    assert "illegal" in croupier("-C", shouted, "faults", "no").out


def test_a_text_is_escaped_wherever_it_is_shown(shouted: Path) -> None:
    page = (shouted / "report.html").read_text()
    assert "alert(1)" not in page.replace("&lt;script&gt;alert(1)", "") and "<img src=x" not in page
    table = next(name for name in answers_in(shouted / "run" / "run.sqlite") if "evil" in name)
    assert EVIL in croupier("-C", shouted, "replay", table).out
    assert croupier("-C", shouted, "export", "jsonl", "-o", shouted / "out.jsonl").code == 0
    events = [json.loads(line) for line in (shouted / "out.jsonl").read_text().splitlines()]
    assert Counter(event.get("a") for event in events)[f"SAY {EVIL}"] == 12
    assert {event["text"] for event in events if event["ev"] == "say"} <= {
        EVIL,
        f"no {EVIL}",
        "x" * 1000,
        f"{'y' * 999}…",
        "-",
    }
    number = next(event["n"] for event in events if event.get("a") == f"SAY {EVIL}")
    where = next(event["table"] for event in events if event["ev"] == "table.start" and "evil" in event["bots"])
    asked = croupier("-C", shouted, "ask", "evil", where, "--as", "evil", "--json")
    assert number in (1, 2) and asked.code == 0 and EVIL in json.dumps(asked.json).encode().decode("unicode_escape")


def test_a_bundle_cannot_smuggle_a_control_character_in_a_text() -> None:
    assert spelled(read_answer("SAY 0 \x1b[31m%0Ax"), GAME) == r"\x1b[31m\nx"
