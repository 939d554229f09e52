"""The bot author's manual matches the code: its table and its examples are tested as printed."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.bots.values import Question
from host.games import GAMES
from protocols import PROTOCOLS, argv
from protocols.wire import MAX_LINE_BYTES, FaultKind, Move, read_move

MANUAL = (Path(__file__).parents[2] / "protocols" / "README.md").read_text()
PATTERNS = {
    what: re.compile(pattern.replace(r"\|", "|").replace(r"\n", "\n").replace(r"\r", "\r"))
    for what, pattern in re.findall(r"^\| ([\w' ]+) \| `(.*)` \|$", MANUAL, re.MULTILINE)
}
BLOCKS = re.findall(r"^## (\w+)(?:(?!^## ).)*?^```\n(.*?)^```", MANUAL, re.MULTILINE | re.DOTALL)
SPOKEN = "HhSsDdBb ENDendSTANDstandPLAYplay0123456789+-.!_\tÄ٣"


def test_the_table_names_every_game() -> None:
    assert {f"{name} answer" for name in GAMES} <= PATTERNS.keys()


@pytest.mark.parametrize("name", GAMES)
@given(text=st.text(SPOKEN, max_size=12) | st.from_regex(re.compile("|".join(p.pattern for p in PATTERNS.values()))))
def test_a_game_understands_just_what_its_row_says(name: str, text: str) -> None:
    line = text.encode()
    if len(line) > MAX_LINE_BYTES or not PATTERNS["answer line"].fullmatch(text + "\n"):
        return
    understood = isinstance(read_move(GAMES[name].grammar, line), Move)
    assert understood == bool(PATTERNS[f"{name} answer"].fullmatch(text))


@pytest.mark.parametrize("name", GAMES)
def test_an_adapters_report_is_told_from_a_move(name: str) -> None:
    answer = read_move(GAMES[name].grammar, b"! ValueError")
    assert answer == (FaultKind.EXCEPTION, "ValueError")
    assert PATTERNS["adapter's report"].fullmatch("! ValueError")


@pytest.mark.parametrize("name", GAMES)
def test_every_question_is_a_question_line(name: str) -> None:
    for view in GAMES[name].examples:
        line = PROTOCOLS["lines"].encode(view)
        assert PATTERNS["question line"].fullmatch(line.decode()), line
        assert len(line) <= MAX_LINE_BYTES + 1
        assert all(PATTERNS["field"].fullmatch(word.decode()) for word in argv.ask(view))


def test_every_fault_stands_in_the_manual() -> None:
    assert [kind for kind in FaultKind if f"`{kind}`" not in MANUAL] == []


def exchanges(block: str) -> list[tuple[str, str]]:
    lines = [line for line in block.splitlines() if not line.startswith("> over")]
    return [(lines[n][2:], lines[n + 1][2:]) for n in range(0, len(lines), 2)]


@pytest.mark.parametrize(("heading", "block"), [(h, b) for h, b in BLOCKS if h in ("lines", "json", "Many")])
def test_the_examples_are_questions_and_legible_answers(heading: str, block: str) -> None:
    for question, answer in exchanges(block):
        if heading == "json":
            fields = tuple(json.loads(question))
            (game,) = [game for game in GAMES.values() if game.view._fields == fields]
            told = PROTOCOLS["json"].receive(game.grammar, answer.encode())
        else:
            words = question.split(" ")
            if heading == "Many":
                table, answer = PROTOCOLS["lines"].split_table_number(answer.encode())
                assert str(table) == words.pop(0)
                answer = answer.decode()
            # each game has a different number of fields
            fitting = [game for game in GAMES.values() if len(game.view._fields) == len(words)]
            assert fitting, question
            told = PROTOCOLS["lines"].receive(fitting[0].grammar, answer.encode())
        assert isinstance(told, Move), (question, answer)


def test_the_argv_examples_are_answered_as_printed() -> None:
    (block,) = [b for h, b in BLOCKS if h == "argv"]
    lines = block.splitlines()
    for command, answer in zip(lines[::2], lines[1::2], strict=True):
        assert len(command.removeprefix("$ ./bot ").split(" ")) == len(GAMES["cardshark"].view._fields)
        assert isinstance(PROTOCOLS["argv"].receive(GAMES["cardshark"].grammar, answer.encode()), Move)


VIEW = GAMES["cardshark"].view
HISTORY = [VIEW(12, "57", "#K57", 10, 190), VIEW(19, "577", "#K577", 10, 190)]
DIALOGUES = [
    ("block", [VIEW(21, "KJA", "KQKJA3592A", 25, 145), VIEW(19, "T9", "9#T9", 10, 190)], []),
    ("botzone", HISTORY, []),
    ("botzone-simple", HISTORY[1:], [(HISTORY[0], b"H\n\nfirst")]),
]


def dialogues(heading: str) -> list[list[tuple[bytes, bytes]]]:
    """Return the questions and answers of each example of a section: all lines of each, with their line ends."""
    section = re.split(r"^## ", MANUAL, flags=re.MULTILINE)
    (text,) = [each for each in section if each.startswith(f"{heading}\n")]
    found = []
    for block in re.findall(r"^```\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        turns = re.findall(r"((?:^>.*\n)+)((?:^<.*\n)+)", block, re.MULTILINE)
        found.append([tuple(re.sub(r"(?m)^[<>] ?", "", each).encode() for each in turn) for turn in turns])
    return found


def test_the_examples_of_several_lines_are_what_is_sent_and_read() -> None:
    shown = [*dialogues("block"), *dialogues("botzone")]
    for (name, views, before), exchanged in zip(DIALOGUES, shown, strict=True):
        protocol, grammar = PROTOCOLS[name], GAMES["cardshark"].grammar
        framing = protocol.framing()
        for view, said in before:
            framing.encode([Question(1, 1, view)])
            framing.hear([Question(1, 1, view)], [said])
        for view, (question, said) in zip(views, exchanged, strict=True):
            if protocol.repeats:
                framing.restart()
            assert framing.encode([Question(1, 1, view)]) == question
            answer = said.removesuffix(b"\n")
            assert isinstance(protocol.receive(grammar, answer), Move)
            framing.hear([Question(1, 1, view)], [answer])
