"""referee/1, byte by byte: what the host writes, what a referee may write, and the reason for each refusal."""

import json
import re
from collections import namedtuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from host.play.sources.usual_lines import UsualLines
from protocols.referee import (
    MAX_QUESTIONS,
    MAX_REFEREE_LINE_BYTES,
    MAX_TURN_BYTES,
    Ask,
    Conversation,
    Message,
    Opened,
    Over,
    Show,
    Violation,
    read_message,
)
from protocols.wire import Fault, FaultKind, Grammar, Move, read_text

MANUAL = (Path(__file__).parents[2] / "protocols" / "referee.md").read_text()
(TRANSCRIPT,) = re.findall(r"^## A conversation\n.*?^```\n(.*?)^```", MANUAL, re.MULTILINE | re.DOTALL)
GRAMMAR = Grammar(re.compile(r"(?P<verb>LOW|HIGH|BID (?P<n>[0-9]{1,2}))", re.IGNORECASE), "LOW, HIGH or BID <card>")
FIELDS = ("prize", "your_points", "opponent_points", "your_cards", "opponent_cards")
FAST = {" ".join(fields): UsualLines(fields).read for fields in (("n",), FIELDS)}
SEATS = 3


def opened(table: int, *, seats: int = SEATS, bots: int = SEATS) -> Opened:
    return Opened(table, seats, bots, {}, "00" * 32, 7)


def at_table(*, seats: int = SEATS, bots: int = SEATS, fields: tuple[str, ...] = ("n",)) -> Conversation:
    """A conversation in which table 1 waits for the referee."""
    talk = Conversation(GRAMMAR, fields)
    assert talk.receive(b'{"protocol":"referee/1"}\n') == []
    talk.open(opened(1, seats=seats, bots=bots))
    return talk


def said(talk: Conversation, value: Any) -> list[Message]:
    return talk.receive(json.dumps(value).encode() + b"\n")


def asking(*seats: int, table: int = 1) -> dict[str, Any]:
    return {"table": table, "ask": [{"seat": seat, "view": {"n": 1}} for seat in seats]}


def spoken(talk: Conversation, line: str) -> bytes:
    """What the host writes where the manual prints this line."""
    value = json.loads(line)
    if "protocol" in value:
        return talk.start()
    if "drop" in value:
        return talk.drop(value["drop"])
    if "open" in value:
        table, seats, rules, luck = value["open"], value["seats"], value["rules"], value["luck"]
        return talk.open(Opened(table, seats, seats, rules, luck, value["seed"], value.get("words", {})))
    answers = [
        Fault(FaultKind(each["fault"])) if "fault" in each else read_text(GRAMMAR, each["move"])
        for each in value["answers"]
    ]
    return talk.answer(value["table"], answers)


def test_the_manuals_conversation_is_what_the_host_writes_and_accepts() -> None:
    talk, heard = Conversation(GRAMMAR, FIELDS), list[Message]()
    for line in TRANSCRIPT.splitlines():
        if line.startswith("> "):
            assert spoken(talk, line[2:]) == line[2:].encode() + b"\n"
        else:
            heard += talk.receive(line[2:].encode() + b"\n")
    assert [message.table for message in heard] == [1, 1, 1, 2, 1]
    assert heard[0].ask[1].view["your_cards"] == (1, 2, 3)
    assert [event for event, _ in heard[0].tell] == ["deal", "deal", "board"]
    assert heard[2].illegal == (1,)
    assert heard[-1].over == Over((2, 1))
    assert not talk.is_waiting


def test_lines_may_arrive_in_any_pieces() -> None:
    output = "".join(line[2:] + "\n" for line in TRANSCRIPT.splitlines() if line.startswith("< "))
    whole = [*map(json.loads, output.splitlines())]
    talk, pieces = Conversation(GRAMMAR, FIELDS), list[int]()
    talk.receive(output.encode().split(b"\n")[0] + b"\n")
    talk.open(opened(1, seats=2, bots=2))
    for byte in json.dumps(whole[1]).encode() + b"\r\n":
        pieces += [message.table for message in talk.receive(bytes([byte]))]
    assert pieces == [1]


def test_a_line_says_everything_about_its_table_at_once() -> None:
    talk = at_table()
    said(talk, asking(2, 0))
    assert talk.answer(1, [Move("BID", 4), Fault(FaultKind.EXCEPTION, "ZeroDivisionError")]) == (
        b'{"table":1,"answers":[{"seat":2,"move":"BID 4"},{"seat":0,"fault":"exception","detail":"ZeroDivisionError"}]}\n'
    )
    line = {
        "table": 1,
        "illegal": [2],
        "show": [{"seat": 0, "text": "a\nb"}],
        "tell": {"event": "say", "seat": 1, "text": "é"},
        "ask": [{"seat": 1, "view": {"n": [1, "x", [True, None]]}, "limit_ms": 50, "lines": 2}],
    }
    (message,) = said(talk, line)
    assert message._replace(raw=b"") == Message(
        1,
        (2,),
        (Show(0, "a\nb"),),
        (("say", {"seat": 1, "text": "é"}),),
        (Ask(1, {"n": (1, "x", (True, None))}, 50, 2),),
    )


def test_partners_have_one_score_each_side() -> None:
    talk = at_table(seats=4, bots=2)
    (message,) = said(talk, {"table": 1, "over": {"scores": [3, -1], "moves": "e4 e5"}})
    assert message.over == Over((3, -1), "e4 e5")
    with pytest.raises(Violation, match="has 4 scores, and table 1 has 2 bots"):
        said(at_table(seats=4, bots=2), {"table": 1, "over": {"scores": [1, 2, 3, 4]}})


REFUSED = {
    "": "line 2 is empty",
    "[]": "is not a JSON object",
    "{": "is not JSON",
    '{"table":1} {}': "has something after its JSON value",
    '{"table":1,"over":{"scores":[NaN,0,0]}}': "is not JSON: NaN is not JSON",
    '{"ask":[]}': "has no table number in 'table'",
    '{"table":"1","ask":[]}': "has no table number",
    '{"table":true,"ask":[]}': "has no table number",
    '{"table":1}': "says nothing about its table",
    '{"table":1,"ask":[]}': "has 'ask' that is not a list of questions",
    '{"table":1,"ask":{}}': "has 'ask' that is not a list of questions",
    '{"table":1,"ask":[1]}': "has a question that is not an object",
    '{"table":1,"ask":[{"view":{"n":1}}]}': "has a question without a whole number in 'seat'",
    '{"table":1,"ask":[{"seat":0}]}': "has a question without a view",
    '{"table":1,"ask":[{"seat":0,"view":{}}]}': "has a view without 'n'",
    '{"table":1,"ask":[{"seat":0,"view":{"n":1,"m":2}}]}': "has a view with 'm'",
    '{"table":1,"ask":[{"seat":0,"view":{"n":1.5}}]}': "whose 'n' is not a text, a whole number",
    '{"table":1,"ask":[{"seat":0,"view":{"n":{"a":1}}}]}': "whose 'n' is not a text",
    '{"table":1,"ask":[{"seat":0,"view":{"n":[[[1]]]}}]}': "whose list 'n' holds something else",
    '{"table":1,"ask":[{"seat":0,"view":{"n":9223372036854775808}}]}': "has a whole number of more than 64 bits",
    '{"table":1,"ask":[{"seat":0,"view":{"n":[1e3]}}]}': "whose list 'n' holds something else",
    '{"table":1,"ask":[{"seat":0,"view":{"n":1},"limit_ms":0}]}': "whose 'limit_ms' is not a whole number from 1",
    '{"table":1,"ask":[{"seat":0,"view":{"n":1},"lines":1001}]}': "whose 'lines' is not a whole number from 1 to 1000",
    '{"table":1,"ask":[{"seat":0,"view":{"n":1},"until":3}]}': "has an unknown member 'until' in a question",
    '{"table":1,"ask":[{"seat":3,"view":{"n":1}}]}': "names seat 3 of table 1, which has the seats 0 to 2",
    '{"table":1,"ask":[{"seat":-1,"view":{"n":1}}]}': "names seat -1 of table 1",
    '{"table":1,"ask":[{"seat":1,"view":{"n":1}},{"seat":1,"view":{"n":1}}]}': "asks seat 1 of table 1 twice at once",
    '{"table":2,"ask":[{"seat":0,"view":{"n":1}}]}': "is about table 2, which is not open",
    '{"table":1,"illegal":[0]}': "calls seat 0 of table 1 illegal, which has not just moved",
    '{"table":1,"illegal":0}': "has 'illegal' that is not a list of seats",
    '{"table":1,"show":[{"seat":5,"text":"x"}]}': "names seat 5 of table 1",
    '{"table":1,"show":[{"seat":0}]}': "has a 'show' without a text in 'text'",
    '{"table":1,"show":{}}': "has 'show' that is not a list",
    '{"table":1,"tell":"won"}': "has 'tell' that is not an object with a text 'event'",
    '{"table":1,"tell":{"event":"won","by":{"seat":1}}}': "has an event whose 'by' is not a text, a number",
    '{"table":1,"tell":{"event":"won","by":[[1]]}}': "has an event whose 'by' is not a text, a number",
    '{"table":1,"tell":{"event":"won","by":1e999}}': "has a number that is not finite",
    '{"table":1,"tell":{"event":"won","by":[9223372036854775808]}}': "has a whole number of more than 64 bits",
    '{"table":1,"over":{"scores":[1,2]}}': "has 2 scores, and table 1 has 3 bots",
    '{"table":1,"over":{"scores":[1,2,3,4]}}': "has 4 scores, and table 1 has 3 bots",
    '{"table":1,"over":{"scores":[1,2,0.5]}}': "has 'over' without scores, a list of whole numbers",
    '{"table":1,"over":{"scores":[1,2,1000000000001]}}': "has 'over' without scores, a list of whole numbers",
    '{"table":1,"over":{"scores":[1,2,3],"moves":[]}}': "has 'over' with moves that are not a text",
    '{"table":1,"over":{"scores":[1,2,3],"won":1}}': "has an unknown member 'won' in 'over'",
    '{"table":1,"over":{"scores":[1,2,3]},"ask":[{"seat":0,"view":{"n":1}}]}': "asks and ends the table at once",
    '{"table":1,"say":"x"}': "has an unknown member 'say'",
    '{"table":1,"ask":[{"seat":0,"view":{"n":"\\ud800"}}]}': "contains half of a surrogate pair",
    '{"protocol":"referee/1"}': "has an unknown member 'protocol'",
}


@pytest.mark.parametrize(("line", "reason"), REFUSED.items())
def test_everything_else_is_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(Violation, match=r"^line 2 ") as refused:
        at_table().receive(line.encode() + b"\n")
    assert reason in str(refused.value)


def test_the_first_line_is_the_hosts_first_line() -> None:
    for line in (b'{"protocol":"referee/2"}\n', b'{"table":1,"over":{"scores":[0]}}\n'):
        with pytest.raises(Violation, match=r'line 1 is not \{"protocol":"referee/1"\}'):
            Conversation(GRAMMAR, ["n"]).receive(line)


def test_wrong_utf8_is_refused_with_the_byte() -> None:
    with pytest.raises(Violation, match="line 2 is not UTF-8: byte 0xff after 12 bytes"):
        at_table().receive(b'{"table":1,"\xff":1}\n')


def test_nested_json_is_refused() -> None:
    with pytest.raises(Violation, match="nested too deeply"):
        at_table().receive(b'{"table":' + b"[" * 20_000 + b"\n")


def test_a_long_line_is_refused_before_it_ends() -> None:
    with pytest.raises(Violation, match=f"line 2 is longer than {MAX_REFEREE_LINE_BYTES} bytes"):
        at_table().receive(b"x" * (MAX_REFEREE_LINE_BYTES + 1))
    with pytest.raises(Violation, match=f"line 2 is longer than {MAX_REFEREE_LINE_BYTES} bytes"):
        at_table().receive(b"x" * (MAX_REFEREE_LINE_BYTES + 1) + b"\n")


def test_a_referee_that_tells_without_end_is_refused() -> None:
    talk, line = at_table(), json.dumps({"table": 1, "tell": {"event": "say", "text": "x" * 60_000}}).encode() + b"\n"
    for _ in range(MAX_TURN_BYTES // len(line)):
        talk.receive(line)
    with pytest.raises(Violation, match=f"more than {MAX_TURN_BYTES} bytes about table 1 without a question"):
        talk.receive(line)


@pytest.mark.long
def test_a_table_has_a_last_question() -> None:
    talk = at_table()
    for _ in range(MAX_QUESTIONS // SEATS):
        said(talk, asking(0, 1, 2))
        talk.answer(1, [Move("LOW")] * 3)
    with pytest.raises(Violation, match=f"asks more than {MAX_QUESTIONS} questions at table 1"):
        said(talk, asking(0, 1, 2))


def test_a_table_that_waits_for_answers_must_not_be_written_about() -> None:
    talk = at_table()
    with pytest.raises(Violation, match="line 3 is about table 1, which waits for answers"):
        talk.receive(2 * (json.dumps(asking(0)).encode() + b"\n"))


def test_output_that_nobody_asked_for_is_refused_at_its_first_byte() -> None:
    talk = at_table()
    said(talk, asking(0))
    with pytest.raises(Violation, match="line 3 comes before the referee was asked"):
        talk.receive(b"{")


def test_a_table_that_is_over_or_dropped_is_not_open() -> None:
    talk = at_table()
    said(talk, {"table": 1, "over": {"scores": [0, 0, 0]}})
    talk.open(opened(2))
    with pytest.raises(Violation, match="is about table 1, which is not open"):
        said(talk, {"table": 1, "tell": {"event": "late"}})
    talk = at_table()
    said(talk, asking(0))
    assert talk.drop(1) == b'{"drop":1}\n'
    talk.open(opened(2))
    with pytest.raises(Violation, match="is about table 1, which is not open"):
        said(talk, {"table": 1, "over": {"scores": [0, 0, 0]}})


def test_only_a_move_can_be_illegal_and_only_once() -> None:
    talk = at_table()
    said(talk, asking(0, 1))
    talk.answer(1, [Fault(FaultKind.TIMEOUT), Move("LOW")])
    with pytest.raises(Violation, match="calls seat 0 of table 1 illegal"):
        said(talk, {"table": 1, "illegal": [0]})
    talk = at_table()
    said(talk, asking(0, 1))
    talk.answer(1, [Move("LOW"), Move("LOW")])
    said(talk, {"table": 1, "illegal": [1]})
    with pytest.raises(Violation, match="calls seat 1 of table 1 illegal"):
        said(talk, {"table": 1, "illegal": [1]})
    with pytest.raises(Violation, match="calls seat 0 of table 1 illegal"):
        said(talk, {"table": 1, "illegal": [0, 0]})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["seat", "view", "text", "scores", "n", "event", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
messages = st.dictionaries(
    st.sampled_from(["table", "ask", "over", "tell", "show", "illegal", "x"]), json_values | st.just(1), max_size=4
)


@given(messages)
def test_any_json_is_a_message_or_is_refused(value: dict[str, Any]) -> None:
    try:
        heard = said(at_table(), value)
    except Violation as refused:
        assert str(refused).startswith("line 2 ")
    else:
        (message,) = heard
        assert message.table == 1


@given(messages)
def test_the_fast_parser_says_the_same_or_nothing(value: dict[str, Any]) -> None:
    line = json.dumps(value).encode()
    fast = FAST["n"](line)
    if fast is not None:
        assert read_message(line, frozenset({"n"})) == fast


@pytest.mark.parametrize("line", [*REFUSED, *[line[2:] for line in TRANSCRIPT.splitlines() if line.startswith("< ")]])
def test_the_fast_parser_accepts_nothing_that_is_refused(line: str) -> None:
    for fields in (("n",), FIELDS):
        fast = FAST[" ".join(fields)](line.encode())
        if fast is not None:
            assert read_message(line.encode(), frozenset(fields)) == fast
    assert fast is not None or "protocol" in line or line in REFUSED


@pytest.mark.parametrize(
    "line",
    [
        '{"table":1,"table":2,"ask":[{"seat":0,"view":{"n":1}}]}',
        '{"table" :1,"table":2,"ask":[{"seat":0,"view":{"n":1}}]}',
        '{"table":1,"ask":[{"seat":0,"seat":1,"view":{"n":1}}]}',
        '{"table":1,"ask":[{"seat":0,"view":{"n":1,"n":2}}]}',
        '{"table":1,"ask":[{"seat":0,"view":{"n":1},"lines":1,"lines":2}]}',
        '{"table":1,"ask":[{"seat":0,"view":{"n":1}}],"ask":[{"seat":1,"view":{"n":1}}]}',
        '{"table":1,"tell":[{"event":"a","x":1,"x":2}],"ask":[{"seat":0,"view":{"n":1}}]}',
        '{"table":1,"illegal":[],"illegal":[0],"over":{"scores":[1,0]}}',
        '{"table":1,"over":{"scores":[1,0],"scores":[0,1]}}',
    ],
)
def test_neither_parser_accepts_a_key_that_occurs_twice(line: str) -> None:
    assert FAST["n"](line.encode()) is None
    with pytest.raises(Violation, match="a key that occurs twice"):
        read_message(line.encode(), frozenset({"n"}))


def test_the_fast_parser_makes_views() -> None:
    view = namedtuple("view", FIELDS)  # type: ignore[misc]
    line = next(line[2:].encode() for line in TRANSCRIPT.splitlines() if '"ask"' in line)
    fast, plain = UsualLines(FIELDS, view).read(line), read_message(line, frozenset(FIELDS))
    assert fast and [ask.view for ask in fast.ask] == [view(**ask.view) for ask in plain.ask]
    assert {type(ask.view) for ask in fast.ask} == {view}


@given(st.binary(max_size=200))
@example(b'{"table":1,"over":{"scores":[1,2,3]}}\n{"table":1}\n')
def test_any_bytes_are_messages_or_are_refused(data: bytes) -> None:
    talk = at_table()
    try:
        talk.receive(data)
    except Violation as refused:
        assert re.match(r"line [0-9]+ ", str(refused))
