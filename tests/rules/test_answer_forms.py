"""The forms of answers in a game.toml: what they accept, how a move is spelled again, and what a random answer is."""

import re
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.base.value_types import InvalidValue
from host.games.luck import Luck
from host.rules.answer_forms import grammar_of, integers, random_answer, read_form
from protocols.wire import Fault, Move, read_move, read_text

GOOFSPIEL = ["LOW", "HIGH", "BID <card: 1..13 from your_cards>"]


class Question(NamedTuple):
    your_cards: tuple[int, ...]
    hand: tuple[str, ...]


def reading(*forms: str, answer: str) -> object:
    return read_move(grammar_of([*map(read_form, forms)]), answer.encode())


@pytest.mark.parametrize(
    ("forms", "answer", "move"),
    [
        (GOOFSPIEL, " bid  4 ", Move("BID", 4)),
        (GOOFSPIEL, "low", Move("LOW")),
        (GOOFSPIEL, "BID 04", Move("BID", 4)),
        (["PLAY <card>"], "play Td", Move("PLAY", text="Td")),
        (["<number: integer>"], "0", Move("ANSWER", 0)),
        (["<move>"], "e2e4", Move("ANSWER", text="e2e4")),
        (["MOVE <from> TO <to>"], "move a1 to b2", Move("MOVE", text="a1 to b2")),
        (["RAISE <chips: 0..50>"], "RAISE 0", Move("RAISE", text="0")),
        (["SAY <words: text>", "PASS"], "SAY  Hello,  World", Move("SAY", text="Hello,  World")),
        (["<x: -5..5>"], "-3", Move("ANSWER", text="-3")),
        (["END", "<path: lines>"], "E\nW 2\n", Move("ANSWER", text="E\nW 2\n")),
        (["END", "<path: word>"], "end", Move("END")),
    ],
)
def test_an_answer_is_a_verb_a_number_or_a_text(forms: list[str], answer: str, move: Move) -> None:
    grammar = grammar_of([*map(read_form, forms)])
    assert read_text(grammar, answer) == move
    assert read_text(grammar, grammar.spell(move)) == move


@pytest.mark.parametrize(
    ("forms", "answer"),
    [
        (GOOFSPIEL, "BID"),
        (GOOFSPIEL, "BID 100"),
        (GOOFSPIEL, "BID -1"),
        (GOOFSPIEL, "LOW 3"),
        (["PLAY <card>"], "PLAY"),
        (["PLAY <card>"], "PLAY Td 4c"),
        (["PLAY <card>"], "PLAYTd"),
        (["<number: integer>"], "four"),
        (["A <x> B <y>"], "A 1 2"),
    ],
)
def test_an_answer_of_no_form_is_unreadable(forms: list[str], answer: str) -> None:
    assert isinstance(reading(*forms, answer=answer), Fault)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("", "is empty"),
        (3, "is not the form of an answer"),
        ("PLAY <card", "neither a word nor a placeholder: <card"),
        ("PLAY <Card>", "neither a word nor a placeholder: <Card>"),
        ("PLAY <card: thing>", "unknown kind in <card: thing>"),
        ("BID <n: 9..1>", "has an empty range in <n: 9..1>"),
        ("SAY <a: text> <b>", "has <a: text> before its end"),
        ("BID<n>", "needs a blank before <n>"),
        ("A <x: json>", "more than one JSON value"),
    ],
)
def test_a_wrong_form_is_refused_with_its_reason(form: object, reason: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(reason)):
        read_form(form)


def test_a_json_answer_is_a_value_of_any_kind() -> None:
    assert grammar_of([read_form("<response: json>")]).json


@given(st.integers(0, 10_000))
def test_a_random_answer_matches_its_forms(seed: int) -> None:
    forms = [*map(read_form, [*GOOFSPIEL, "PLAY <card from hand>", "SAY <words: text>", "AT <x: -3..3> <y: integer>"])]
    view, luck = Question((2, 5), ("Td",)), Luck(b"r", str(seed))
    for _ in range(5):
        answer = random_answer(forms, luck, view)
        assert isinstance(read_move(grammar_of(forms), answer.encode()), Move), answer


def test_random_answers_prefer_what_the_question_lists() -> None:
    form, luck = read_form("BID <card: 1..13 from your_cards>"), Luck(b"r", "x")
    drawn = [random_answer([form], luck, Question((11,), ())) for _ in range(200)]
    assert drawn.count("BID 11") > 140
    assert len({*drawn}) > 5


@given(st.integers(-2000, 20_000), st.integers(0, 5000))
def test_the_pattern_of_a_range_has_its_numbers_and_no_other(low: int, size: int) -> None:
    pattern, high = re.compile(integers(low, low + size)), low + size
    for number in {*range(low - 12, low + 12), *range(high - 12, high + 12), 0, 9, 10, 99, 100, -1, -low, -high}:
        assert bool(pattern.fullmatch(str(number))) == (low <= number <= high)


@pytest.mark.parametrize("answer", ["BID 0", "BID 14", "BID 99", "BID 114", "BID -1", "BID"])
def test_a_number_outside_the_range_of_its_form_never_reaches_the_referee(answer: str) -> None:
    assert isinstance(reading(*GOOFSPIEL, answer=answer), Fault)


@pytest.mark.parametrize(
    ("forms", "answer"),
    [
        (["<path: lines>"], ""),
        (["<path: lines>"], "0"),
        (["<x: 0..9>", "<path: lines>"], ""),
        (["<x: 0..9>", "<path: lines>"], "0"),
        (["<x: 0..9>"], "0"),
        (["BID <x: 0..9>"], "BID 0"),
    ],
)
def test_a_referee_is_given_what_the_bot_wrote(forms: list[str], answer: str) -> None:
    grammar = grammar_of([*map(read_form, forms)])
    move = read_text(grammar, answer)
    assert isinstance(move, Move) and grammar.spell(move) == answer
