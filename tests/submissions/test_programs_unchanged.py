"""Bots as they were written for other hosts: what they read and write, and what the game or the bot says for it."""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from command import croupier

from host.base.errors import UserError
from host.bots.bot_spec import BotSpec
from host.play.records import AnswersTooLong, pack
from host.rules.answer_forms import grammar_of, read_form
from host.submissions.discovery import load_submission
from host.submissions.executable_checks import foreign_system
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind, Grammar, Json, Move, TextView, read_move

TOURNAMENT = """
game = "{game}:GAME"
bots = ["bots/*"]
seed = "x"

[[stage]]
kind = "round-robin"
tables_per_pair = {tables}
practice = true
"""


def played(
    folder: Path, game: str, code: str, bots: dict[str, str], tables: int = 4, more: str = ""
) -> list[tuple[int, int]]:
    """Write a game and its bots, play, and return the total score and the faults of each bot."""
    (folder / f"{game}.py").write_text(code)
    for path, text in bots.items():
        (folder / "bots" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "bots" / path).write_text(text)
    (folder / "croupier.toml").write_text(TOURNAMENT.format(game=game, tables=tables) + more)
    ran = croupier("run", cwd=folder)
    assert ran.code == 0, ran.err
    rows = croupier("standings", cwd=folder).out.splitlines()[2:4]
    cells = [re.split("  +", row) for row in rows]
    return [(int(row[-4]), int(row[-3])) for row in cells]


HEAD = """
import json, re
from typing import NamedTuple
from host.games.engine import Game, Opening, Play, Request, best_unless_equal
from protocols.wire import Grammar, Json, Lines, Move, TextView
def allows(rules, view, move): return True
"""

NESTED = (
    HEAD
    + """
class Rules(NamedTuple):
    seats: int = 2
class View(NamedTuple):
    state: Json
def q(n):
    snakes = [{"id": 1, "body": [{"x": 1, "y": 2}]}]
    return View(json.dumps({"turn": n, "board": {"cells": [[0, 1], [2, 3]]}, "snakes": snakes}))
def play(rules, luck, tell=None):
    n = luck.below(100)
    answers = yield [Request(s, q(n)) for s in (0, 1)]
    return tuple(int(answer == Move("MOVE", text='{"to":["UP",1]}')) for answer in answers)
GRAMMAR = Grammar(re.compile("(?s)(?P<text>.*)"), "a JSON object with a move", "MOVE", json=True)
GAME = Game(name="nested", title="Nested", seats=(2, 2), protocol="json", presets={"d": Rules()}, grammar=GRAMMAR,
    play=play, allows=allows, winners=best_unless_equal, view=View, edges={"first": q(0)},
    opening=Opening("state", 1, below="0", otherwise="0"), card="x")
"""
)


@pytest.mark.long
def test_a_bot_gets_an_object_in_an_object_over_json_and_answers_with_one(tmp_path: Path) -> None:
    bot = (
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    state = json.loads(line)\n"
        '    assert state["snakes"][0]["body"] == [{"x": 1, "y": 2}]\n'
        '    print(json.dumps({"move": {"to": ["UP", 1]}, "shout": "hi"}), flush=True)\n'
    )
    assert played(tmp_path, "nested", NESTED, {"a.py": bot, "b.py": bot}) == [(4, 0), (4, 0)]


class _Two:
    """Views for the test below: NamedTuples have no hints if they are made by a function."""

    from typing import NamedTuple

    class One(NamedTuple):
        """A view of one JSON value."""

        state: Json

    class Both(NamedTuple):
        """A view of a JSON value and a number."""

        state: Json
        n: int


@pytest.mark.parametrize(
    "view, asked, numbered",
    [
        (_Two.One('{"a": {"b": [1]}}'), b'{"a":{"b":[1]}}\n', b'{"table":7,"a":{"b":[1]}}\n'),
        (_Two.One("{}"), b"{}\n", b'{"table":7}\n'),
        (_Two.One("[1, 2]"), b'{"state":[1,2]}\n', b'{"table":7,"state":[1,2]}\n'),
        (_Two.One("{not JSON"), b'{"state":"{not JSON"}\n', b'{"table":7,"state":"{not JSON"}\n'),
        (_Two.Both('{"a": null}', 3), b'{"state":{"a":null},"n":3}\n', b'{"table":7,"state":{"a":null},"n":3}\n'),
    ],
)
def test_json_sends_the_value_of_a_field_that_is_json(view: tuple[object, ...], asked: bytes, numbered: bytes) -> None:
    json = PROTOCOLS["json"]
    assert json.encode(view) == asked
    assert json.number(7, asked) == numbered


def test_only_a_game_whose_moves_are_json_takes_a_move_that_is_not_a_text_or_a_number() -> None:

    words, values = (Grammar(re.compile("(?s)(?P<text>.*)"), "x", "MOVE", json=json) for json in (False, True))
    receive = PROTOCOLS["json"].receive
    for said in (b'{"move":["UP"]}', b'{"move":null}', b'{"move":true}', b'{"move":{"move":1}}'):
        assert receive(words, said) == Fault(FaultKind.UNREADABLE)
    assert receive(values, b'{"move": ["UP", null]}') == Move("MOVE", text='["UP",null]')
    assert receive(values, b'{"move": "UP"}') == Move("MOVE", text='"UP"')
    assert receive(values, b'{"move": 5}') == Move("MOVE", text="5")


ANTS = (
    HEAD
    + """
class Rules(NamedTuple):
    seats: int = 2
    ants: int = 5
def play(rules, luck, tell=None):
    score = [0, 0]
    for turn in range(1, 11):
        ants = "".join(f"a {luck.below(60)} {luck.below(90)} 0\\n" for _ in range(rules.ants))
        text = f"turn {turn}\\n{ants}go\\n"
        answers = yield [Request(s, TextView("turn 0\\nrows 60\\ncols 90\\nready\\n", text)) for s in (0, 1)]
        for seat, answer in enumerate(answers):
            if isinstance(answer, Move): score[seat] += answer.text.count("o ")
    return tuple(score)
GRAMMAR = Grammar(re.compile(r"(?P<text>(o \\d+ \\d+ [NESW]\\n)*go)"), "orders, then go", "ORDERS", until="go")
GAME = Game(name="ants", title="Ants", seats=(2, 2), protocol="block", presets={"d": Rules()}, grammar=GRAMMAR,
  play=play, allows=allows, winners=best_unless_equal, view=TextView,
  edges={"q": TextView("turn 0\\nready\\n", "turn 1\\na 3 4 0\\ngo\\n")},
  opening=Opening("lines", 3, below="go", otherwise="go"), card="x")
"""
)

ANT_BOT = """
import sys
mine = []
for line in sys.stdin:
    w = line.split()
    if w[0] == "a": mine.append(w)
    elif w[0] == "go":
        for a in mine: print("o", a[1], a[2], "N")
        print("go", flush=True); mine = []
"""


def test_bots_that_answer_the_opening_too_are_asked_it_first(tmp_path: Path) -> None:
    opening = 'TextView("turn 0\\nrows 60\\ncols 90\\nready\\n", text)'
    asked = "    score = [0, 0]\n    yield [Request(s, TextView('', 'turn 0\\nready\\n')) for s in (0, 1)]\n"
    code = ANTS.replace(opening, 'TextView("", text)').replace("    score = [0, 0]\n", asked)
    bot = ANT_BOT.replace(
        '    elif w[0] == "go":', '    elif w[0] == "ready": print("go", flush=True)\n    elif w[0] == "go":'
    )
    assert bot != ANT_BOT and opening not in code
    assert played(tmp_path, "ants", code, {"north.py": bot, "south.py": bot}, 2) == [(100, 0), (100, 0)]


@pytest.mark.long
def test_an_answer_ends_with_the_word_that_the_game_names(tmp_path: Path) -> None:
    assert played(tmp_path, "ants", ANTS, {"north.py": ANT_BOT, "south.py": ANT_BOT}, 2) == [(100, 0), (100, 0)]
    replay = croupier("replay", "round-robin/north+south/1", cwd=tmp_path).out
    assert "N\\ngo" in replay


@pytest.mark.parametrize(
    "until, output, answers",
    [
        ("go", b"go\n", [b"go", b""]),
        ("go", b"o 1 2 N\r\n go \r\ngo\n", [b"o 1 2 N\r\n go \r", b"go", b""]),
        ("bestmove", b"info depth 1\nbestmove e2e4 ponder e7e5\n", [b"info depth 1\nbestmove e2e4 ponder e7e5", b""]),
        ("bestmove", b"bestmoves\n\nbestmove", [b"bestmoves\n\nbestmove"]),
        ("", b"= D4\n\n= \n  \n", [b"= D4\n", b"= \n  ", b""]),
    ],
)
def test_lines_are_one_answer_up_to_the_word(until: str, output: bytes, answers: list[bytes]) -> None:
    for cut in range(len(output) + 1):  # the answer is the same wherever the output is cut
        framing = PROTOCOLS["block"].framing(until)
        framing.encode([Question(n, TextView("", "")) for n in (1, 2, 3)])
        *first, rest = framing.read(output[:cut])
        assert [*first, *framing.read(rest + output[cut:])] == answers


class Question(NamedTuple):
    """A question of a protocol."""

    table: int
    view: TextView


REFEREE = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "protocol" in m: out = {"protocol": "referee/1"}
    elif "open" in m:
        table = m["open"]
        out = {"table": table, "ask": [{"seat": seat, "view": {"text": "a 1 2\\ngo\\n"}} for seat in (0, 1)]}
    elif "answers" in m:
        ok = [a.get("move", "").upper().endswith("GO") for a in m["answers"]]
        out = {"table": m["table"], "over": {"scores": list(map(int, ok))}}
    else: continue
    print(json.dumps(out), flush=True)
"""


@pytest.mark.long
def test_a_referee_names_the_word_in_game_toml(tmp_path: Path) -> None:
    folder = tmp_path / "ants"
    folder.mkdir()
    (tmp_path / "bot.py").write_text(ANT_BOT)
    (folder / "referee.py").write_text(REFEREE)
    (folder / "game.toml").write_text(
        'name = "ants"\nseats = 2\nview = ["text: lines"]\nanswer = ["go", "<orders: lines>"]\nuntil = "go"\n'
        'protocol = "block"\nlanguage = "python"\nentry = "referee.py"\ndecisions = 2\n'
        '[edges.first]\ntext = "a 1 2\\ngo\\n"\n'
    )
    checked = croupier("check", "ants", cwd=tmp_path)
    assert checked.code == 0, checked.err
    played = croupier("play", "bot.py", "bot.py", "-g", "ants/", "-n", 2, cwd=tmp_path)
    assert played.code == 0, played.err
    assert [re.split("  +", row)[4] for row in played.out.splitlines()[2:4]] == ["1.00", "1.00"]


MAZE = (
    HEAD
    + """
MAP = ["***********", "*......__.F", "*...***...*", "*...***...*", "***********"]
class Rules(NamedTuple):
    seats: int = 2
class View(NamedTuple):
    state: Lines
    last: str
def picture(pos, me):
    rows = [list(r) for r in MAP]
    for i, (x, y) in enumerate(pos): rows[y][x] = str(i + 1)
    return f"You are player {me + 1}\\n" + "\\n".join("".join(r) for r in rows)
def play(rules, luck, tell=None):
    pos = [(1, 1), (1, 3)]
    if luck.below(2): pos.reverse()
    moved = [0, 0]
    for turn in range(10):
        a = yield Request(turn & 1, View(picture(pos, turn & 1), "-" if moved[turn & 1] else ""))
        moved[turn & 1] += isinstance(a, Move)
    return tuple(moved)
GAME = Game(name="maze", title="Maze", seats=(2, 2), protocol="argv", presets={"d": Rules()},
  grammar=Grammar(re.compile(r"(?P<verb>[NSEW])"), "N, S, E or W"), play=play, allows=allows, winners=best_unless_equal,
  view=View, edges={"first": View(picture([(1, 1), (1, 3)], 0), "")}, opening=Opening("state", 1, below="E", otherwise="E"),
  card="x")
"""
)


@pytest.mark.long
def test_a_bot_may_have_its_arguments_as_they_are(tmp_path: Path) -> None:
    bot = (
        "import os, sys\n"
        "picture, last = sys.argv[1:]\n"
        'lines = picture.split("\\n")\n'
        "me = lines[0].split()[-1]\n"
        "assert len(lines) == 6 and any(me in row for row in lines[1:]) and last in ('', '-')\n"
        'print("E")\n'
    )
    raw = "raw_arguments = true\n"
    bots = {"cold/bot.py": bot, "cold/bot.toml": raw, "warm/bot.py": bot, "warm/bot.toml": f"{raw}warm = true\n"}
    assert played(tmp_path, "maze", MAZE, bots) == [(20, 0), (20, 0)]
    (tmp_path / "bots/cold/bot.toml").write_text(f'{raw}protocol = "lines"\n')
    assert "raw_arguments = true has no effect over lines" in croupier("check", "bots/cold", cwd=tmp_path).out


def test_an_argument_is_any_text_but_nul() -> None:
    view = TextView("a%20 b\n", "\0é\ud800")
    assert BotSpec(protocol="argv", raw_arguments=True).ask(view) == [b"a%20 b\n", "\ufffdé?".encode(), b"1"]
    assert BotSpec(protocol="argv").ask(view) == [b"a%2520%20b%0A", b"%00%C3%A9%ED%A0%80", b"1"]


BIG = (
    HEAD
    + """
class Rules(NamedTuple):
    seats: int = 2
    answer: int = 10
    turns: int = 20
def play(rules, luck, tell=None):
    luck.below(5)
    score = [0, 0]
    for t in range(rules.turns):
        answers = yield [Request(s, TextView("", f"{rules.answer} xx\\n")) for s in (0, 1)]
        for i, a in enumerate(answers):
            score[i] += isinstance(a, Move) and len(a.text) == rules.answer
    return tuple(score)
GAME = Game(name="big", title="Big", seats=(2, 2), protocol="block", presets={"d": Rules()},
  grammar=Grammar(re.compile(r"(?P<text>.*)"), "text", "SAY", utf8=True), play=play, allows=allows,
  winners=best_unless_equal, view=TextView, edges={"q": TextView("", "10 xx\\n")},
  opening=Opening("lines", 3, below="a", otherwise="b"), card="x")
"""
)


@pytest.mark.long
@pytest.mark.parametrize(
    "answer, limit, scores",
    [
        (4096, "", 80),
        (4097, "", 0),
        pytest.param(100_000, '[limits]\noutput = "100000 B"\n', 80, marks=pytest.mark.long),
    ],
)
def test_the_limit_of_the_output_is_that_of_an_answer(answer: int, limit: str, scores: int, tmp_path: Path) -> None:
    bot = 'import sys\nfor l in sys.stdin: print("y" * int(l.split()[0]), flush=True)\n'
    more = f"\n[rules]\nanswer = {answer}\n{limit}"
    found = played(tmp_path, "big", BIG, {"a.py": bot, "b.py": bot}, 4, more)
    assert [score for score, _ in found] == [scores, scores]
    assert croupier("verify", cwd=tmp_path).code == 0
    if not scores:
        faults = croupier("faults", cwd=tmp_path).out
        assert "limit    4 KiB of output for one answer" in faults, faults


@pytest.mark.long
def test_an_answer_is_text_in_utf_8_where_the_game_says_so(tmp_path: Path) -> None:
    bot = 'import sys\nfor l in sys.stdin: sys.stdout.buffer.write("Grüße, 世!\\n".encode()), sys.stdout.flush()\n'
    assert played(tmp_path, "big", BIG, {"a.py": bot, "b.py": bot}, 4, "\n[rules]\nanswer = 9\n") == [(80, 0), (80, 0)]
    assert croupier("verify", cwd=tmp_path).code == 0
    assert "→  Grüße, 世!" in croupier("replay", "round-robin/a+b/1", cwd=tmp_path).out


@pytest.mark.parametrize("name", ["argv", "lines", "json", "block", "botzone"])
def test_only_text_that_can_be_printed_is_utf_8(name: str) -> None:
    ascii_only, any_text = (Grammar(re.compile(r"(?P<text>.*)"), "x", "SAY", utf8=utf8) for utf8 in (False, True))
    form = {"json": '{"move":"%s"}', "botzone": '{"response":"%s"}'}.get(name, "%s")
    receive = PROTOCOLS[name].receive
    assert receive(ascii_only, (form % "é").encode()) == Fault(FaultKind.UNREADABLE)
    assert receive(any_text, (form % "é世").encode()) == Move("SAY", text="é世")
    for wrong in (b"\xff", b"\xed\xa0\x80", "\x85".encode(), "\u2028".encode(), "\u202e".encode(), b"\x1b[31m"):
        assert receive(any_text, form.encode() % wrong) == Fault(FaultKind.UNREADABLE)
    longer = any_text._replace(longest=2_000_000)
    assert len(receive(longer, (form % ("é" * 900_000)).encode()).text) == 900_000  # type: ignore[union-attr]


def test_the_forms_of_game_toml_take_utf_8() -> None:
    forms = [read_form("SAY <words: unicode>"), read_form("TELL <words: text>")]
    grammar = grammar_of(forms)
    assert read_move(grammar, "say é".encode()) == Move("SAY", text="é")
    assert read_move(grammar, "tell é".encode()) == Fault(FaultKind.UNREADABLE)
    assert read_move(grammar_of(forms[1:]), "tell é".encode()) == Fault(FaultKind.UNREADABLE)


@pytest.mark.long
def test_a_fixture_whose_answers_no_record_can_hold_is_undecided() -> None:
    move = Move("SAY", text="," * (60 << 20))
    with pytest.raises(AnswersTooLong, match="more than 256 MiB"):
        pack([[move], [move]])


SILENT = """
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "protocol" in m: out = {"protocol": "referee/1"}
    elif "open" in m: out = {"table": m["open"], "over": {"scores": [m["rules"]["maxTurns"], 0]}}
    else: continue
    print(json.dumps(out), flush=True)
"""

NO_QUESTIONS = """
name = "noask"
seats = 2
view = ["n"]
answer = ["PASS"]
language = "python"
entry = "referee.py"
[edges."first"]
n = 1
[rules]
maxTurns = { type = "integer", default = 100, from = 1, to = 1000 }
"""


@pytest.fixture
def noask(tmp_path: Path) -> Path:
    """Return the folder of a referee that asks nothing, beside two bots."""
    folder = tmp_path / "g"
    folder.mkdir()
    (folder / "referee.py").write_text(SILENT)
    (folder / "game.toml").write_text(NO_QUESTIONS)
    (tmp_path / "bot.py").write_text("for line in iter(input, ''): print('PASS', flush=True)\n")
    return folder


@pytest.mark.long
def test_the_check_of_a_referee_that_asks_nothing_says_so(noask: Path) -> None:
    checked = croupier("check", "g", cwd=noask.parent)
    assert checked.code == 0
    assert "! asks no question at any table" in checked.out and "0 decisions a second" not in checked.out


@pytest.mark.long
def test_a_table_of_a_referee_outside_a_tournament_is_replayed_and_exported(noask: Path) -> None:
    here = noask.parent
    for tournament in (False, True):  # with croupier.toml, the journal is in run/
        if tournament:
            (here / "croupier.toml").write_text('game = "pazaak"\nbots = ["sample:nestor", "sample:glaucus"]\n')
        assert croupier("play", "bot.py", "bot.py", "-g", "g/", "-n", 1, cwd=here).code == 0
        replayed = croupier("replay", cwd=here)
        assert replayed.code == 0 and "bot 100   bot#2 0" in replayed.out, replayed
        journal = [] if not tournament else ["--journal", "run/play.sqlite"]
        exported = croupier("export", "csv", *journal, cwd=here)
        assert exported.code == 0 and "/1,0,bot,100,1,0" in exported.out, exported
    assert croupier("play", "sample:nestor", "sample:glaucus", "-n", 1, cwd=here).code == 0
    assert not (here / "run/play.toml").exists()


def test_rules_may_have_names_in_camel_case_and_one_cause_gives_one_error(noask: Path) -> None:
    presets = "".join(f'[presets.p{n}]\nmaxTurns = {n + 1}\n"9x" = 7\nclass = 1\n' for n in range(20))
    edges = "".join(f'[edges."e{n}"]\nm = 1\n' for n in range(20))
    rule = '{ type = "integer", default = 1 }'
    head, rules = NO_QUESTIONS.split('[edges."first"]\nn = 1\n')
    (noask / "game.toml").write_text(f'{head}{edges}{rules}"9x" = {rule}\nclass = {rule}\n{presets}')
    checked = croupier("check", "g", cwd=noask.parent)
    errors = [line for line in checked.out.splitlines() if line.startswith("error")]
    assert [re.sub(r"^.*?: ", "", line) for line in errors] == [
        'edges: unknown field "m"',
        'rules: "9x" is not a name of a rule',
        'rules: "class" is not a name of a rule',
    ]


def test_a_program_with_too_many_files_is_refused_and_not_cut(tmp_path: Path) -> None:
    folder = tmp_path / "judge"
    folder.mkdir()
    for number in range(1000):
        (folder / f"{number}.txt").touch()
    (folder / "judge.py").write_text("print(input())\n")
    checked = croupier("check", "botzone:judge/", cwd=tmp_path)
    assert checked.code == 1
    assert "1001 files; the program of a game has at most 1000" in checked.out


ONE = (
    HEAD
    + """
class Rules(NamedTuple):
    seats: int = 1
class View(NamedTuple):
    n: int
def play(rules, luck, tell=None):
    a = yield Request(0, View(luck.below(10)))
    return (a.n if isinstance(a, Move) else 0,)
def winners(scores): return ()
GAME = Game(name="one", title="One", seats=(1, 1), protocol="lines", presets={"d": Rules()},
  grammar=Grammar(re.compile(r"(?P<n>[0-9]{1,3})"), "a number", "N"), play=play, allows=allows, winners=winners,
  view=View, edges={"first": View(3)}, opening=Opening("n", 3, below="1", otherwise="2"), card="x")
"""
)


@pytest.mark.long
def test_bots_play_alone_with_the_same_deals_in_a_stage_for_one_seat(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(ONE)
    (tmp_path / "bots").mkdir()
    for name, factor in (("a", 2), ("b", 3)):
        bot = f"import sys\nfor l in sys.stdin: print(int(l) * {factor}, flush=True)\n"
        (tmp_path / "bots" / f"{name}.py").write_text(bot)
    config = 'game = "one:GAME"\nbots = ["bots/*"]\nseed = "x"\n'
    (tmp_path / "croupier.toml").write_text(config)
    assert "[[stage]] with one of: solo" in croupier("config", "check", cwd=tmp_path).err
    (tmp_path / "croupier.toml").write_text(f'{config}[[stage]]\nkind = "solo"\ntables = 130\npractice = true\n')
    assert "260 tables in 4 fixtures" in croupier("run", "--dry-run", cwd=tmp_path).out
    ran = croupier("run", cwd=tmp_path)
    assert ran.code == 0 and "b ahead of a: >99.9 % sure" in ran.out, ran
    assert croupier("verify", cwd=tmp_path).code == 0
    rows = [line.split(",") for line in croupier("export", "csv", cwd=tmp_path).out.splitlines()[1:]]
    scores = {(row[4], row[2].rpartition("/")[2]): int(row[5]) for row in rows}
    assert len(scores) == 260
    assert all(scores["a", str(n)] * 3 == scores["b", str(n)] * 2 for n in range(1, 131))
    report = croupier("report", cwd=tmp_path)
    assert report.code == 0, report.err
    (tmp_path / "croupier.toml").write_text(f'{config}[[stage]]\nkind = "league"\n')
    assert "and one is not one" in croupier("config", "check", cwd=tmp_path).err


@pytest.mark.long
def test_the_last_is_eliminated_where_all_bots_have_met(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(
        'game = "pazaak"\nbots = ["sample:dumb_bold", "sample:nestor", "sample:glaucus"]\nseed = "x"\n'
        '[[stage]]\nkind = "round-robin"\ntables_per_pair = 100\nrank_by = ["runoff"]\npractice = true\n'
    )
    ran = croupier("run", cwd=tmp_path)
    assert ran.code == 0, ran.err
    rows = croupier("standings", "--json", cwd=tmp_path).json["rows"]
    assert rows[-1]["rank"] == 3 and "outlasted" in ran.out


ELF = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00"
OTHER_SYSTEMS = {
    "windows": (b"MZ\x90\x00" + bytes(60), "Windows"),
    "macos": (b"\xcf\xfa\xed\xfe" + bytes(60), "macOS"),
    "universal": (b"\xca\xfe\xba\xbe\x00\x00\x00\x02" + bytes(60), "macOS"),
    "arm": (ELF + b"\xb7\x00" + bytes(44), "Linux on ARM (aarch64)"),
    "risc-v": (ELF + b"\xf3\x00" + bytes(44), "Linux on RISC-V"),
}


@pytest.mark.parametrize("system", OTHER_SYSTEMS)
@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the programs are for other processors than x86_64")
def test_a_program_for_another_system_is_called_one(system: str, tmp_path: Path) -> None:
    start, name = OTHER_SYSTEMS[system]
    (tmp_path / "bot").write_bytes(start)
    (tmp_path / "bot").chmod(0o755)
    with pytest.raises(UserError) as refused:
        load_submission(tmp_path)
    assert refused.value.problems[0].message == f"is a program for {name}, and this is Linux on x86_64"


def test_a_program_for_this_system_and_a_class_of_java_are_not_foreign() -> None:
    assert not foreign_system(Path("/proc/self/exe").read_bytes()[:64])
    assert not foreign_system(b"\xca\xfe\xba\xbe\x00\x00\x00\x41" + bytes(60))
    assert not foreign_system(b"\x7fELF") and not foreign_system(b"")


def test_a_script_without_a_first_line_is_one_of_bash(tmp_path: Path) -> None:
    script = "while read line; do echo END; done\n"
    (tmp_path / "bot.sh").write_text(script)
    for place in (tmp_path / "bot.sh", tmp_path):
        spec = load_submission(place).spec
        assert (spec.language, spec.entry) == ("bash", "bot.sh")
    (tmp_path / "bot.toml").write_text('language = "bash"\n')
    assert load_submission(tmp_path).spec.entry == "bot.sh"
    (tmp_path / "bot.toml").unlink()
    (tmp_path / "mine.c").write_text("int main(void) { return 0; }\n")  # then the script builds it
    assert load_submission(tmp_path).spec.language == "c"
    (tmp_path / "mine.c").unlink()
    (tmp_path / "bot.sh").write_text(f"#!/bin/sh\n{script}")
    (tmp_path / "bot.sh").chmod(0o755)
    assert load_submission(tmp_path).spec.language == "any"
