"""JSON of strangers is read by one strict reader: what it accepts can be written again, at any depth of the stack."""

import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from helpers import breadth
from hypothesis import given
from hypothesis import strategies as st

from protocols import PROTOCOLS
from protocols.strict_json import MAX_JSON_DEPTH, JsonError, compact, read_json
from protocols.wire import Fault, Grammar, Move

ANY_JSON = Grammar(re.compile(r"(?P<text>.*)", re.DOTALL), "a JSON value", "ANSWER", json=True)
WORDS = Grammar(re.compile(r"(?P<verb>[A-Z]+)"), "a word")


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


REFUSED = {
    "": "is empty",
    "nul": "is not JSON",
    "[1]x": "has something after its JSON value",
    "NaN": "is not JSON: NaN",
    "[-Infinity]": "is not JSON: -Infinity",
    "1e999": "has a number that is not finite",
    "-1e999": "has a number that is not finite",
    "9" * 400 + ".5": "has a number that is not finite",
    "9223372036854775808": "has a whole number of more than 64 bits",
    "-9223372036854775809": "has a whole number of more than 64 bits",
    "1" * 5000: "has a whole number of more than 64 bits",
    '{"a":1,"a":2}': "has a key that occurs twice",
    r'"\ud800"': "contains half of a surrogate pair",
    nested(MAX_JSON_DEPTH + 1): "is nested too deeply",
    '{"a":' * 971 + "1" + "}" * 971: "is nested too deeply",
    "[" * 50_000: "is nested too deeply",
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.items())
def test_what_cannot_be_written_again_is_refused(text: str, reason: str) -> None:
    for given_as in (text, text.encode()):
        with pytest.raises(JsonError, match=re.escape(reason)):
            read_json(given_as)


def test_a_text_that_is_not_utf_8_is_refused() -> None:
    with pytest.raises(JsonError, match="is not UTF-8: byte 0xff after 2 bytes"):
        read_json(b'["\xff"]')


@pytest.mark.parametrize(
    "text", ['"[[["', nested(MAX_JSON_DEPTH), r'"\ud83d\ude00"', "1e5", "-9223372036854775808", " 1\r"]
)
def test_everything_else_is_accepted(text: str) -> None:
    assert read_json(text) == json.loads(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)  # fmt: skip


@given(JSON)
def test_every_other_value_is_read_and_written(value: Any) -> None:
    assert read_json(compact(value)) == value
    assert read_json(json.dumps(value, indent=1, ensure_ascii=False).encode()) == value


@given(st.text(st.sampled_from('[]{}",:\\ 1eE-.Na\n')))
def test_any_text_is_a_value_or_is_refused(text: str) -> None:
    try:
        value = read_json(text)
    except JsonError:
        return
    assert read_json(compact(value)) == value == json.loads(text)


def test_reading_takes_linear_time() -> None:
    for text in (
        '"' * 60_000,
        r"\"" * 30_000,
        '"\\a' * 20_000,
        "[" * 70 + '"\\' * 30_000,
        "1" * 60_000,
        "[1e" * 20_000,
    ):
        began = time.process_time()
        with pytest.raises(JsonError):
            read_json(text)
        assert time.process_time() - began < 5  # quadratic time would be minutes


# The protocols.

HOSTILE = [*REFUSED, nested(MAX_JSON_DEPTH), *(f'{{"response":1,"data":{text}}}' for text in REFUSED)]
DEPTHS = (50, 300, 600, 850)


def at_depth(depth: int, call: Callable[[], Any]) -> Any:
    """Call a function with so many frames of Python below it."""
    return call() if depth <= 0 else at_depth(depth - 1, call)


def answers(text: str) -> list[bytes]:
    """Return a text as an answer in each form of a protocol."""
    return [text.encode(), json.dumps({"move": text}).encode(), f'{{"response":{text}}}'.encode()]


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS.keys())
@pytest.mark.parametrize("grammar", [ANY_JSON, WORDS], ids=["any JSON", "words"])
@pytest.mark.parametrize("depth", breadth(DEPTHS, 3))
def test_an_answer_is_a_move_or_a_fault_at_every_depth_of_the_stack(
    protocol: Any, grammar: Grammar, depth: int
) -> None:
    for text in HOSTILE:
        for answer in answers(text):
            received = at_depth(depth, lambda said=answer: protocol.receive(grammar, said))  # type: ignore[misc]
            assert received == protocol.receive(grammar, answer)
            if isinstance(received, Move) and grammar.json:
                read_json(received.text)  # the judge is given JSON, whatever the bot wrote
            elif not isinstance(received, Fault):
                assert grammar is WORDS


class Question(tuple[Any, ...]):
    """The first question of a table."""

    table, view = 1, (7,)


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("name", ["botzone", "botzone-simple"])
def test_what_was_accepted_can_be_sent_as_history(name: str, depth: int) -> None:
    protocol = PROTOCOLS[name]
    for answer in (said for text in HOSTILE for said in answers(text)):
        if isinstance(protocol.receive(ANY_JSON, answer), Fault):
            continue
        framing = protocol.framing()
        framing.encode([Question()])
        at_depth(depth, lambda framing=framing, said=answer: framing.hear([Question()], [said]))  # type: ignore[misc]
        framing.restart()
        sent = framing.encode([Question()])
        if name == "botzone":
            json.loads(sent)  # two levels deeper than the answer
