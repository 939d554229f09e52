"""One process and its batches, byte by byte: the meaning of its output does not depend on how it is split."""

import re
from itertools import product
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.bots.batch_state import (
    TABLE_NUMBER_BYTES,
    TRANSITIONS,
    AnswerReader,
    BatchState,
    Input,
    OutputFault,
    OutputState,
    TableIds,
)
from host.bots.values import Question
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, Grammar, Move

GRAMMAR = Grammar(re.compile("(?P<verb>[HS]|B)(?: (?P<n>[0-9]+))?"), "H, S or B <chips>")
MAX_BYTES = 40
H, S, B15 = Move("H"), Move("S"), Move("B", 15)
REPORTED = Fault(FaultKind.EXCEPTION, "ValueError")
EARLY, EXTRA, FLOOD, EXIT = map(Fault, (FaultKind.EARLY, FaultKind.EXTRA, FaultKind.FLOOD, FaultKind.EXIT))
UNREADABLE, WRONG_TABLE = Fault(FaultKind.UNREADABLE), Fault(FaultKind.UNREADABLE, "table")
END = b""


def new(questions: int, *, table_ids: bool = False) -> BatchState:
    """Return the state of a process that has been asked a number of questions, at tables 1, 2, 3, …"""
    state = BatchState(AnswerReader(PROTOCOLS["lines"], GRAMMAR, MAX_BYTES, table_ids=table_ids))
    if questions:
        state.expect(range(1, questions + 1))
    return state


def outcome(state: BatchState, pieces: list[bytes]) -> tuple[list[Answer], Fault | None]:
    """Return the answers and the violation in these pieces of output; stop reading at the end of the batch."""
    answers: list[Answer] = []
    violation = None
    for piece in pieces:
        if state.state is not OutputState.WAITING:
            break
        more, raws, violation = state.receive(piece)
        assert len(more) == len(raws)
        answers += more
        assert (violation is not None) == (state.state is OutputState.FAILED)
    return answers, violation.fault if violation else None


CASES = {
    "a move": (1, False, b"S\n", [S], None),
    "a carriage return": (1, False, b"S\r\n", [S], None),
    "three moves": (3, False, b"H\nB 15\nS\n", [H, B15, S], None),
    "an exception of an adapter": (2, False, b"! ValueError\nS\n", [REPORTED, S], None),
    "a time-out of an adapter": (1, False, b"! TimeoutError\n", [Fault(FaultKind.TIMEOUT, "TimeoutError")], None),
    "an unreadable line": (3, False, b"H\nHIT!\nS\n", [H], UNREADABLE),
    "an empty line": (1, False, b"\n", [], UNREADABLE),
    "a long line": (2, False, b"H\n" + b"S" * 60 + b"\n", [H], FLOOD),
    "a line as long as it may be": (1, False, b"S" * (MAX_BYTES + TABLE_NUMBER_BYTES) + b"\n", [], UNREADABLE),
    "a line one byte longer": (1, False, b"S" * (MAX_BYTES + TABLE_NUMBER_BYTES + 1) + b"\n", [], FLOOD),
    "a long line without an end": (2, False, b"H\n" + b"S" * 60, [H], FLOOD),
    "the end at once": (1, False, END, [], EXIT),
    "the end after one of two": (2, False, b"S\n", [S], EXIT),
    "the end in a line": (1, False, b"S", [], EXIT),
    "numbered": (2, True, b"1 H\n2 S\n", [H, S], None),
    "another table": (2, True, b"1 H\n3 S\n", [H], WRONG_TABLE),
    "no table": (1, True, b"S\n", [], WRONG_TABLE),
    "unreadable after its number": (1, True, b"1 HIT!\n", [], UNREADABLE),
}


@pytest.mark.parametrize(("questions", "table_ids", "output", "answers", "fault"), CASES.values(), ids=CASES)
def test_output_means_the_same_however_it_is_split(
    questions: int, table_ids: bool, output: bytes, answers: list[Answer], fault: Fault | None
) -> None:
    for first, second in product(range(len(output) + 1), repeat=2):
        if first <= second:
            pieces = [piece for piece in (output[:first], output[first:second], output[second:]) if piece]
            assert outcome(new(questions, table_ids=table_ids), [*pieces, END]) == (answers, fault), pieces
    bytewise = [output[at : at + 1] for at in range(len(output))]
    assert outcome(new(questions, table_ids=table_ids), [*bytewise, END]) == (answers, fault)


LINES = st.sampled_from([b"S", b"H", b"B 15", b"HIT!", b"", b"! ValueError", b"! TimeoutError", b"S" * 60, b"B 99\r"])


@given(st.lists(LINES, max_size=12), st.integers(1, 8), st.booleans(), st.data())
def test_any_pieces_give_what_one_piece_gives(
    lines: list[bytes], questions: int, ends: bool, data: st.DataObject
) -> None:
    """Compare pieces with the whole. Only an extra line after the last answer may differ: read later, it is early."""
    output = b"\n".join(lines) + (b"\n" if ends else b"")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=6)))
    pieces = [output[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(output)], strict=True)]

    one = outcome(new(questions), [output, END] if output else [END])
    many = outcome(new(questions), [*(piece for piece in pieces if piece), END])

    if one[1] == EXTRA:
        assert many[0][: len(one[0])] == one[0] and many[1] in (EXTRA, None)
    else:
        assert many == one


@given(st.lists(st.binary(max_size=70), max_size=8), st.integers(0, 4), st.booleans())
def test_no_output_raises_and_nothing_follows_a_violation(pieces: list[bytes], questions: int, table_ids: bool) -> None:
    state, failed = new(questions, table_ids=table_ids), False
    for piece in pieces:
        answers, _, violation = state.receive(piece)
        assert not (failed and (answers or violation))
        failed |= violation is not None
        assert failed == (state.state is OutputState.FAILED)


def test_lines_are_remembered_and_mean_the_same_then() -> None:
    reader = AnswerReader(PROTOCOLS["lines"], GRAMMAR, MAX_BYTES, table_ids=False)
    for _ in range(3):
        state = BatchState(reader)
        state.expect(range(3))
        assert state.receive(b"H\nB 15\nS\n") == ([H, B15, S], [b"H", b"B 15", b"S"], None)
    assert reader.remembered([b"H", b"S"]) == [H, S]
    assert reader.remembered([b"H", b"X"]) is None


@pytest.mark.parametrize("remembered", [False, True])
def test_what_stands_behind_the_last_answer_counts_against_its_question(remembered: bool) -> None:
    state = new(2)
    if remembered:
        state.receive(b"H\nS\n")
        state.expect(range(2))

    answers, raws, violation = state.receive(b"H\nS\nX\nY")

    assert (answers, raws) == ([H], [b"H"])
    assert violation == OutputFault(EXTRA, b"S\nX\nY")


@pytest.mark.parametrize(
    ("batches", "output", "answered", "fault"),
    [
        ([1], b"S\nS\n", 0, EXTRA),
        ([2], b"S\nS\nS\n", 1, EXTRA),
        ([2, 1], b"S\nS\n", 0, EXTRA),
        ([1], b"9 S\n", 0, WRONG_TABLE),
        ([3], b"1 S\n1 S\n", 1, WRONG_TABLE),
        ([2, 1], b"9 S\n", 0, WRONG_TABLE),
        ([2], b"S\nHIT!\n", 1, UNREADABLE),
    ],
)
def test_a_violation_counts_against_the_first_question_without_an_answer(
    batches: list[int], output: bytes, answered: int, fault: Fault
) -> None:
    table_ids = fault == WRONG_TABLE
    state = new(0, table_ids=table_ids)
    for count in batches[:-1]:
        state.expect(range(1, count + 1))
        state.receive(b"".join(b"%d S\n" % table if table_ids else b"S\n" for table in range(1, count + 1)))
    state.expect(range(1, batches[-1] + 1))

    answers, _, violation = state.receive(output)

    assert isinstance(violation, OutputFault)
    assert (len(answers), violation.fault) == (answered, fault)


@pytest.mark.parametrize("several", [1, 2])
def test_output_before_a_question_is_early(several: int) -> None:
    state = new(several)
    state.receive(b"S\n" * several)

    assert state.receive(b"again") == ((), (), OutputFault(EARLY, b"again"))
    assert state.receive(b" and again") == ((), (), None)
    assert state.rest == b"again and again"


def test_the_end_of_an_idle_process_is_no_fault_until_it_is_asked() -> None:
    state = new(1)
    assert state.receive(b"S\n")
    assert state.receive(END) == ((), (), None)
    state.expect([2])
    assert state.receive(END) == ((), (), OutputFault(EXIT, b""))


@pytest.mark.parametrize("state", ["waiting", "failed"])
def test_no_batch_is_opened_before_the_last_is_answered(state: str) -> None:
    process = new(1)
    if state == "failed":
        process.receive(b"HIT!\n")

    with pytest.raises(ValueError, match=state):
        process.expect([2])


def test_every_state_has_its_row() -> None:
    asked = {
        Input.PART,
        Input.ANSWERS,
        Input.ALL_ANSWERS,
        Input.MORE,
        Input.UNREADABLE,
        Input.WRONG_TABLE,
        Input.TOO_LONG,
    }
    rows = {
        OutputState.IDLE: {Input.UNASKED, Input.END},
        OutputState.WAITING: asked | {Input.END},
        OutputState.FAILED: {Input.UNASKED, Input.END},
    }
    assert {(state, what) for state, row in rows.items() for what in row} == set(TRANSITIONS)
    assert asked | {Input.UNASKED, Input.END} == set(Input)


def test_a_process_numbers_its_tables_from_one_and_learns_of_an_end_with_the_next_batch() -> None:
    tables = TableIds(PROTOCOLS["lines"])

    first = [tables.number(table) for table in (17, 23)]
    tables.end(17)
    tables.end(99)
    then = [tables.number(table) for table in (23, 17)]

    assert (first, then) == ([1, 2], [2, 3])
    assert (tables.over(), tables.over()) == (b"over 1\n", b"")


class Pair(NamedTuple):
    """A view."""

    one: int
    other: int


def test_a_question_has_the_number_of_its_table_after_the_time_in_the_bank() -> None:
    questions = [Question(17, 1, Pair(1, 2)), Question(23, 1, Pair(3, 4))]
    for name, sent in (
        ("lines", b"2 1 2\n5 3 4\n"),
        (
            "json",
            b'{"table":2,"bank":1.500,"one":1,"other":2}\n{"table":5,"bank":1.500,"one":3,"other":4}\n',
        ),
    ):
        reader = AnswerReader(PROTOCOLS[name], GRAMMAR, MAX_BYTES, table_ids=True)
        assert reader.encode(questions, [2, 5], 1500) == sent
