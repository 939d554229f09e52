"""Questions and answers of several lines, byte by byte: where they begin and end, and what a new process is sent."""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers import built, faults_of, played, run, seat_of, written
from hypothesis import example, given, settings
from hypothesis import strategies as st

from host.bots.batch_state import TABLE_NUMBER_BYTES, AnswerReader, BatchState, OutputFault, OutputState
from host.bots.bot_spec import BuiltBot
from host.bots.values import Batch, Question
from host.games import GAMES
from protocols import PROTOCOLS, block, botzone
from protocols.wire import (
    Answer,
    AnswerLines,
    Fault,
    FaultKind,
    Grammar,
    Json,
    Lines,
    Move,
    Once,
    TextView,
    View,
)

GRAMMAR = Grammar(re.compile(r"(?P<text>[A-Z][a-z0-9 ]*(\n[A-Z][a-z0-9 ]*)*)"), "words, one or more lines", verb="SAY")
ANY_JSON = Grammar(re.compile(r"(?P<text>.+)"), "JSON", verb="SAY", json=True)
MAX_BYTES = 60
KEEP = b">>>BOTZONE_REQUEST_KEEP_RUNNING<<<\n"
EXTRA, EXIT, FLOOD, UNREADABLE = map(Fault, (FaultKind.EXTRA, FaultKind.EXIT, FaultKind.FLOOD, FaultKind.UNREADABLE))


def say(text: str) -> Move:
    """Return a move of GRAMMAR."""
    return Move("SAY", text=text)


def asking(*lines: int, table_ids: bool = False) -> BatchState:
    """Return the state of a process over block after questions that ask for answers of these numbers of lines."""
    reader = AnswerReader(PROTOCOLS["block"], GRAMMAR, MAX_BYTES, table_ids=table_ids)
    state = BatchState(reader)
    reader.framing.encode([Question(table, 1, TextView("", "?", count)) for table, count in enumerate(lines, 1)])
    state.expect(range(1, len(lines) + 1))
    return state


def told(state: BatchState, pieces: Sequence[bytes]) -> tuple[list[Answer], Fault | None]:
    """Return the answers and the violation in pieces of output up to the end of the batch."""
    answers: list[Answer] = []
    violation: OutputFault | None = None
    for piece in pieces:
        if state.state is not OutputState.WAITING:
            break
        more, raws, violation = state.receive(piece)
        assert len(more) == len(raws)
        answers += more
    return answers, violation.fault if violation else None


def cuts(output: bytes) -> Iterator[list[bytes]]:
    """Yield output in up to three pieces, cut everywhere, and byte by byte; each time with the end after it."""
    for first, second in product(range(len(output) + 1), repeat=2):
        if first <= second:
            yield [piece for piece in (output[:first], output[first:second], output[second:]) if piece] + [b""]
    yield [output[at : at + 1] for at in range(len(output))] + [b""]


BLOCKS: dict[str, tuple[tuple[int, ...], bytes, list[Answer], Fault | None]] = {
    "one line": ((1,), b"Go\n", [say("Go")], None),
    "three lines": ((3,), b"Up 1\nDown 2\nWait\n", [say("Up 1\nDown 2\nWait")], None),
    "line ends of Windows": ((2,), b"Up\r\nDown\r\n", [say("Up\nDown")], None),
    "spaces": ((2,), b" Up  \n  Down\n", [say("Up\nDown")], None),
    "three answers": ((2, 1, 3), b"A\nB\nC\nD\nE\nF\n", [say("A\nB"), say("C"), say("D\nE\nF")], None),
    "too few lines": ((3,), b"Up\nDown\n", [], EXIT),
    "too few lines in the second answer": ((1, 2), b"Up\nDown\n", [say("Up")], EXIT),
    "the last line has no end": ((2,), b"Up\nDown", [], EXIT),
    "an empty line": ((2,), b"Up\n\n", [], UNREADABLE),
    "a line that is not a move": ((2, 1), b"Up\nno\nWait\n", [], UNREADABLE),
    "an odd byte": ((2,), b"Up\nD\x00\n", [], UNREADABLE),
    "lines that are too long together": ((2,), b"A" + b"a" * 40 + b"\nB" + b"b" * 40 + b"\n", [], FLOOD),
    "too long without an end": ((3,), b"A\n" + b"b" * MAX_BYTES + b"c" * TABLE_NUMBER_BYTES, [], FLOOD),
    "an exception of an adapter": ((1,), b"! ValueError\n", [Fault(FaultKind.EXCEPTION, "ValueError")], None),
}


@pytest.mark.parametrize(("lines", "output", "answers", "fault"), BLOCKS.values(), ids=BLOCKS)
def test_an_answer_has_as_many_lines_as_its_question_asks_for(
    lines: tuple[int, ...], output: bytes, answers: list[Answer], fault: Fault | None
) -> None:
    assert {str(told(asking(*lines), pieces)) for pieces in cuts(output)} == {str((answers, fault))}


@pytest.mark.parametrize("after", [b"\n", b"x", b"Wait\n", KEEP])
def test_what_follows_the_last_line_counts_against_its_question(after: bytes) -> None:
    assert told(asking(1, 2), [b"Up\nDown\nWait\n" + after]) == ([say("Up")], EXTRA)
    state = asking(1, 2)
    assert told(state, [b"Up\nDown\n", b"Wait\n"]) == ([say("Up"), say("Down\nWait")], None)
    early = state.receive(after)[2]
    assert early is not None and early.fault == Fault(FaultKind.EARLY)


def test_a_remembered_line_does_not_answer_a_question_for_two() -> None:
    state = asking(1)
    reader = state._reader  # the same bot, asked for another number of lines
    assert told(state, [b"Up\n"]) == ([say("Up")], None)
    reader.framing.encode([Question(1, 2, TextView("", "?", 2))])
    state.expect([1])
    assert state.receive(b"Up\n") == ((), (), None) or state.state is OutputState.WAITING
    assert told(state, [b"Down\n"]) == ([say("Up\nDown")], None)


def test_table_numbers_stand_before_the_first_line() -> None:
    assert told(asking(2, 1, table_ids=True), [b"1 Up\nDown\n2 Wait\n"]) == ([say("Up\nDown"), say("Wait")], None)
    assert told(asking(2, table_ids=True), [b"3 Up\nDown\n"]) == ([], Fault(FaultKind.UNREADABLE, "table"))


@given(st.lists(st.binary(max_size=30) | st.sampled_from([b"Up\n", b"Down 1\n", b"\n"]), max_size=8), st.data())
@settings(max_examples=200, deadline=None)
def test_no_output_raises_and_pieces_mean_what_the_whole_means(pieces: list[bytes], data: st.DataObject) -> None:
    lines = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    whole = told(asking(*lines), [b"".join(pieces) or b"", b""])
    parts = told(asking(*lines), [*filter(None, pieces), b""])
    if whole[1] == EXTRA:  # bytes that come later are early
        assert parts[0][: len(whole[0])] == whole[0]
    else:
        assert parts == whole


class Turn(NamedTuple):
    """A view with fields of every kind."""

    map: Once
    hand: tuple[int, ...]
    text: Lines
    name: str
    lines: AnswerLines


def test_a_field_is_a_line_and_a_text_is_sent_as_it_is() -> None:
    view = Turn("3 4\n#..\n", (1, 2), "a b\n\tc\r\nlast", "Ann Lee", 2)
    assert block.begin(view) == b"3 4\n#..\n"
    assert block.encode(view) == b"1,2\na b\n\tc\r\nlast\nAnn%20Lee\n"
    assert block.encode(Turn("", (), "", "", 2)) == b"-\n-\n"
    assert block.encode(TextView("", "Ä\ud800\n")) == "Ä?\n".encode()
    assert PROTOCOLS["lines"].encode(view) == b"3%204%0A#..%0A 1,2 a%20b%0A%09c%0D%0Alast Ann%20Lee 2\n"


@pytest.mark.parametrize(("lines", "counted"), [(3, 3), (1, 1), (0, 1), (-5, 1)])
def test_an_answer_has_at_least_one_line(lines: int, counted: int) -> None:
    assert block.answer_lines(TextView("", "", lines)) == counted


def test_the_lines_of_initialisation_come_once_for_each_table_and_process() -> None:
    framing = PROTOCOLS["block"].framing()
    first, other = TextView("init\n", "turn\n"), TextView("other\n", "turn\n")
    assert framing.encode([Question(1, 1, first)]) == b"init\nturn\n"
    assert framing.encode([Question(1, 2, first), Question(2, 1, other)]) == b"turn\nother\nturn\n"
    framing.restart()
    assert framing.encode([Question(1, 3, first)]) == b"init\nturn\n"
    assert framing.encode([Question(1, 4, first)]) == b"turn\n"


class Asked(NamedTuple):
    """A view of a game whose questions are JSON."""

    request: Json


def asked(form: str, rounds: Sequence[tuple[int, str, bytes]], *, keeps: bool = False) -> list[bytes]:
    """Return what the processes of a bot are sent: tables, requests in JSON, and its answers."""
    framing, sent = PROTOCOLS[form].framing(), []
    for number, (table, request, answer) in enumerate(rounds, 1):
        if not keeps:
            framing.restart()
        question = Question(table, number, Asked(request))
        sent.append(framing.encode([question]))
        framing.hear([question], [answer])
    return sent


ROUNDS = [
    (1, '{"x": -1}', b'{"response":{"x":3,"y":4},"debug":"\xe5\xa5\xbd","data":"d","globaldata":{"g":1}}'),
    (1, '{"x": 5}', b"7"),
    (1, '"go"', b'{"response":null,"data":""}'),
    (2, "[1, 2]", b"{}"),
]


def test_a_new_botzone_process_is_sent_the_whole_history() -> None:
    end = b',"time_limit":"","memory_limit":""}\n'
    assert asked("botzone", ROUNDS) == [
        b'{"requests":[{"x":-1}],"responses":[],"data":"","globaldata":""' + end,
        b'{"requests":[{"x":-1},{"x":5}],"responses":[{"x":3,"y":4}],"data":"d","globaldata":{"g":1}' + end,
        b'{"requests":[{"x":-1},{"x":5},"go"],"responses":[{"x":3,"y":4},7],"data":"","globaldata":{"g":1}' + end,
        b'{"requests":[[1,2]],"responses":[],"data":"","globaldata":{"g":1}' + end,
    ]


def test_a_botzone_process_that_keeps_running_is_sent_only_the_new_request() -> None:
    assert asked("botzone", ROUNDS[:3], keeps=True)[1:] == [b'{"x":5}\n', b'"go"\n']
    assert asked("botzone-simple", [(1, "1", b"a"), (1, '"4 5"', b"b")], keeps=True) == [b"1\n1\n", b"4 5\n"]


def test_botzone_simple_sends_lines() -> None:
    answers = [
        (1, '"-1 -1"', b"3 4\nnote\nmine\none\ntwo\n"),
        (1, '"5 5"', b"6 6\r\n\r\n\r\n"),
        (1, "7", b"8"),
        (2, "9", b"1"),
    ]
    assert asked("botzone-simple", answers) == [
        b"1\n-1 -1\n",
        b"2\n-1 -1\n3 4\n5 5\nmine\none\ntwo\n",
        b"3\n-1 -1\n3 4\n5 5\n6 6\n7\n\none\ntwo\n",
        b"1\n9\n\none\ntwo\n",
    ]


def botzone_state(form: str = "botzone", grammar: Grammar = GRAMMAR, max_bytes: int = 300) -> BatchState:
    """Return the state of a process that has been asked one question."""
    state = BatchState(AnswerReader(PROTOCOLS[form], grammar, max_bytes, table_ids=False))
    state.expect([0])
    return state


BOTZONE: dict[str, tuple[str, bytes, list[Answer], Fault | None]] = {
    "an object": ("botzone", b'{"response":"Go"}\n', [say("Go")], None),
    "without a line end": ("botzone", b'{"response":"Go"}', [say("Go")], None),
    "only a response": ("botzone", b'"Go"\r\n', [say("Go")], None),
    "keeps running": ("botzone", b'{"response":"Go"}\n' + KEEP, [say("Go")], None),
    "an empty line before": ("botzone", b'{"response":"Go"}\n\n' + KEEP, [say("Go")], None),
    "several lines of JSON": ("botzone", b'{\n "response":\n "Go"\n}\n', [say("Go")], None),
    "two objects": ("botzone", b'"Go"\n"Go"\n', [], UNREADABLE),
    "not JSON": ("botzone", b"Go\n", [], UNREADABLE),
    "a constant": ("botzone", b'{"response":NaN}\n', [], UNREADABLE),
    "not UTF-8": ("botzone", b'{"response":"Go","debug":"\xff"}\n', [], UNREADABLE),
    "deep": ("botzone", b"[" * 250 + b"\n", [], UNREADABLE),
    "nothing": ("botzone", b"", [], EXIT),
    "only spaces": ("botzone", b" \n\n", [], EXIT),
    "nothing before it keeps running": ("botzone", KEEP, [], UNREADABLE),
    "too long": ("botzone", b'{"response":"Go","data":"' + b"d" * 300 + b'"}\n', [], FLOOD),
    "an illegible response": ("botzone", b'{"response":"no"}\n', [], UNREADABLE),
    "a list": ("botzone", b'{"response":["Go"]}\n', [], UNREADABLE),
    "a line": ("botzone-simple", b"Go\n", [say("Go")], None),
    "a line without its end": ("botzone-simple", b"Go", [say("Go")], None),
    "all lines": ("botzone-simple", b"Go\r\n\xe5debug\r\ndata\r\nglobal\r\n", [say("Go")], None),
    "a line keeps running": ("botzone-simple", b"Go\n" + KEEP, [say("Go")], None),
    "an empty response": ("botzone-simple", b"\nGo\n", [], UNREADABLE),
}


@pytest.mark.parametrize(("form", "output", "answers", "fault"), BOTZONE.values(), ids=BOTZONE)
def test_a_botzone_answer_ends_with_the_output_or_a_line(
    form: str, output: bytes, answers: list[Answer], fault: Fault | None
) -> None:
    few = cuts(output) if len(output) < 60 else ([output, b""], [output[:9], output[9:], b""])
    assert {str(told(botzone_state(form), pieces)) for pieces in few} == {str((answers, fault))}
    state = botzone_state(form)
    told(state, [output, b""] if output else [b""])
    assert state.has_ended is (not output.endswith(KEEP) and fault is not EXIT and fault is not FLOOD)


def test_what_follows_the_line_that_keeps_running_is_too_much() -> None:
    assert told(botzone_state(), [b'"Go"\n' + KEEP + b"\n"]) == ([], EXTRA)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (b'{"response": {"x": 1}}', '{"x":1}'),
        (b'"5"', '"5"'),
        (b"5", "5"),
        (b'{"response":"\xe5\xa5\xbd"}', r'"\u597d"'),
    ],
)
def test_a_game_may_take_any_json(said: bytes, text: str) -> None:
    assert botzone.receive(ANY_JSON, said) == say(text)
    assert json.loads(botzone.write(ANY_JSON, say(text)))["response"] == json.loads(text)


def test_a_line_that_is_not_json_is_a_string_for_a_game_that_takes_json() -> None:
    assert botzone.receive_simple(ANY_JSON, b"3 4\n") == say('"3 4"')
    assert botzone.receive_simple(ANY_JSON, b"[3, 4]\n") == say("[3,4]")


@pytest.mark.parametrize("form", ["botzone", "botzone-simple"])
@given(
    pieces=st.lists(st.binary(max_size=40) | st.sampled_from([b'{"response":"Go"}', b"Go", b"\n", KEEP]), max_size=6)
)
@example(pieces=[b'{"response":"\\ud800"}'])
@example(pieces=[b'{"response":' + b"9" * 5000 + b"}"])
@settings(max_examples=150, deadline=None)
def test_whatever_a_botzone_bot_writes_is_an_answer_or_a_fault(form: str, pieces: list[bytes]) -> None:
    state, question = botzone_state(form, max_bytes=9999), Question(1, 1, TextView("", "?"))
    for piece in [*filter(None, pieces), b""]:
        answers, raws, violation = state.receive(piece)
        assert not (answers and violation)
        assert violation is None or isinstance(violation.fault, Fault)
        state._reader.framing.hear([question] * len(raws), raws)
        if state.state is not OutputState.WAITING:
            break
    assert json.loads(b"[" + b",".join(asked_again(state, question, form)) + b"]") is not None


def asked_again(state: BatchState, question: Question, form: str) -> list[bytes]:
    """Return the lines that a new process of the bot would be sent, as JSON values."""
    state._reader.framing.restart()
    sent = state._reader.framing.encode([question])
    return [sent] if form == "botzone" else [json.dumps(line.decode("latin-1")).encode() for line in sent.splitlines()]


# Real bots.


CODINGAME = """
import sys
height, width = map(int, input().split())
rows = [input() for _ in range(height)]
while True:
    turn, words = int(input()), input()
    print(turn, words, rows, file=sys.stderr)
    {answer}
"""


def answers_to(bot: BuiltBot, views: Sequence[View], tables: Sequence[int] = ()) -> list[tuple[Answer, str]]:
    """Return the answers of a real bot, each with its standard error up to then."""

    async def work() -> list[tuple[Answer, str]]:
        told = []
        async with seat_of(bot) as seat:
            for number, view in enumerate(views, 1):
                (answer,) = await seat.ask(Batch([Question(tables[number - 1] if tables else 1, number, view)]))
                told.append((answer, (seat.evidence[-1].stderr if isinstance(answer, Fault) else b"").decode()))
        return told

    return run(work)


ANSWERS = {
    "print('H', flush=True)": (2, FaultKind.TIMEOUT),
    "print('H\\nS', flush=True)": (1, FaultKind.EXTRA),
    "print('H'); print('no', flush=True)": (2, FaultKind.UNREADABLE),
    "print('H'); sys.exit()": (2, FaultKind.EXIT),
}


@pytest.mark.long
@pytest.mark.parametrize(("answer", "lines", "kind"), [(answer, *expected) for answer, expected in ANSWERS.items()])
def test_a_bot_with_the_wrong_number_of_lines_gets_its_fault_and_a_new_process_the_initialisation(
    answer: str, lines: int, kind: FaultKind, tmp_path: Path
) -> None:
    tmp_path.chmod(0o755)
    source = written(CODINGAME.format(answer=answer), ".py", tmp_path)
    bot = built(source, "cardshark", protocol="block")
    bot = bot._replace(limits=bot.limits._replace(move=1.0, startup=2.0))
    told = answers_to(bot, [TextView("2 2\n..\n.#\n", f"{turn}\na b\n", lines) for turn in range(2)])
    assert [answer for answer, _ in told] == [Fault(kind)] * 2
    assert told[0][1].startswith("0 a b ['..', '.#']")
    assert "1 a b ['..', '.#']" in told[1][1]


def test_a_process_over_block_lives_for_one_table_unless_its_bot_toml_says_otherwise(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    fields = len(GAMES["cardshark"].view._fields)
    loop = f"while True:\n    fields = [input() for _ in range({fields})]\n    print('S', flush=True)\n"
    bot = built(written(loop, ".py", tmp_path), protocol="block")
    twin = bot.with_keys(name="twin", lifetime="fixture", parallel_tables=4)
    record = played("cardshark", [bot, twin], 6)
    assert record.faults == {}
    assert (record.usage[bot.name].starts, record.usage["twin"].starts) == (6, 1)


KEEPER = """
import json, sys
lines = 0
request = json.loads(input())["requests"][-1]
while True:
    lines += 1
    print(json.dumps({"response": "S"}))
    print(">>>BOTZONE_REQUEST_KEEP_RUNNING<<<", flush=True)
    request = json.loads(input())
    if lines == 2:
        sys.exit(3)
"""


def test_a_botzone_process_lives_for_a_question_or_for_a_table(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    views = list(GAMES["cardshark"].examples[:4])
    bot = built(written(KEEPER, ".py", tmp_path, "keeper"), protocol="botzone", lifetime="table")
    answers = [answer for answer, _ in answers_to(bot, views, [1, 1, 2, 2])]
    assert answers == [Move("S")] * 4
    crashed = [answer for answer, _ in answers_to(bot, views[:3])]
    assert crashed == [Move("S"), Move("S"), Fault(FaultKind.CRASH)]


SILENT = """
import json, time
json.loads(input())
print('{"response": "S"}', flush=True)
time.sleep(60)
"""


@pytest.mark.long
def test_a_botzone_bot_that_neither_ends_nor_keeps_running_is_late(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    bot = built(written(SILENT, ".py", tmp_path, "silent"), protocol="botzone")
    bot = bot._replace(limits=bot.limits._replace(move=1.0, startup=0.5))
    assert [answer for answer, _ in answers_to(bot, GAMES["cardshark"].examples[:1])] == [Fault(FaultKind.TIMEOUT)]


UNTIL_THE_END = """
import sys
text = sys.stdin.read()
print("S")
"""


def test_a_botzone_bot_may_read_to_the_end_of_its_input(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    bot = built(written(UNTIL_THE_END, ".py", tmp_path, "reads"), protocol="botzone-simple")
    record = played("cardshark", [bot, bot.with_keys(name="twin")], 2)
    assert record.faults == {} and faults_of(record, bot.name) == {}
    assert record.usage[bot.name].starts == record.usage[bot.name].questions


COUNTS = """
import json
asked = json.loads(input())
sizes = [len(request["text"]) for request in asked["requests"]]
assert sizes == [50_000] * len(sizes) and len(asked["responses"]) == len(sizes) - 1
print(json.dumps({"response": "S" if sum(sizes) < 200_000 else "H"}))
"""


@pytest.mark.parametrize("lifetime", ["question", "table"])
def test_a_history_that_does_not_fit_into_a_pipe_is_sent_whole(lifetime: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    bot = built(written(COUNTS, ".py", tmp_path, "counts"), protocol="botzone", lifetime=lifetime)
    answers = [answer for answer, _ in answers_to(bot, [TextView("", "x" * 50_000)] * 4)]
    assert answers == [Move("S")] * 3 + [Move("H")]
