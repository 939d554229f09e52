"""State machine of one process and its batches of questions: takes bytes, returns events.

It is pure: it has no clock, no descriptor and no process. The table TRANSITIONS defines what each piece of output means
in each state.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from protocols.wire import Answer, Fault, FaultKind, Grammar, Move, Protocol

MAX_REMEMBERED_LINES = 1000  # each at most 4 KiB
TABLE_NUMBER_BYTES = 16  # added to the limit of a line for the table number


class State(StrEnum):
    """Whether output is due from a process."""

    IDLE = "idle"  # no question is open: the process must not write
    WAITING = "waiting"  # answers are due
    FAILED = "failed"  # the process violated the protocol or ended: its output no longer counts


IDLE, WAITING, FAILED = State  # as globals: each attribute of an Enum costs 0.15 µs


class Input(StrEnum):
    """Kinds of output."""

    PART = "part"  # the beginning of a line
    ANSWERS = "answers"  # lines that answer some of the open questions
    ALL_ANSWERS = "all answers"  # lines that answer all open questions, and nothing after them
    MORE = "more"  # bytes after the last answer that is due
    UNREADABLE = "unreadable"  # a line that is a fault of the process by the protocol
    WRONG_TABLE = "wrong table"  # a line for a table other than the one whose answer is due
    TOO_LONG = "too long"  # a line, complete or not, beyond the limit
    UNASKED = "unasked"  # any byte while no question is open
    END = "end"  # the end of the output


class Violation(NamedTuple):
    """A violation of the protocol, or the end of the process. It counts against the first question without an answer.

    `fault` is used unless the end of the process shows a graver one (host/bots/blame.py).
    """

    fault: Fault
    raw: bytes


BatchEvents = tuple[Sequence[Answer], Sequence[bytes], Violation | None]
"""The meaning of one piece of output: answers to the next open questions in order, their raw lines, a violation or None."""

EARLY, EXTRA, FLOOD = Fault(FaultKind.EARLY), Fault(FaultKind.EXTRA), Fault(FaultKind.FLOOD)
UNREADABLE, WRONG_TABLE = Fault(FaultKind.UNREADABLE), Fault(FaultKind.UNREADABLE, "table")
NO_ANSWER = Fault(FaultKind.EXIT)

TRANSITIONS: Mapping[tuple[State, Input], tuple[State, Fault | None]] = {
    (IDLE, Input.UNASKED): (FAILED, EARLY),
    (IDLE, Input.END): (IDLE, None),  # a fault only if another question is asked
    (WAITING, Input.PART): (WAITING, None),
    (WAITING, Input.ANSWERS): (WAITING, None),
    (WAITING, Input.ALL_ANSWERS): (IDLE, None),
    (WAITING, Input.MORE): (FAILED, EXTRA),
    (WAITING, Input.UNREADABLE): (FAILED, UNREADABLE),
    (WAITING, Input.WRONG_TABLE): (FAILED, WRONG_TABLE),
    (WAITING, Input.TOO_LONG): (FAILED, FLOOD),
    (WAITING, Input.END): (FAILED, NO_ANSWER),
    (FAILED, Input.UNASKED): (FAILED, None),
    (FAILED, Input.END): (FAILED, None),
}
"""The next state for each state and input, and the fault, or None."""


class LineReader:
    """Reads the answer lines of one bot. It caches moves: there are few different ones, and millions of lines."""

    def __init__(self, protocol: Protocol, grammar: Grammar, max_bytes: int, *, table_ids: bool) -> None:
        self.max_bytes = max_bytes + TABLE_NUMBER_BYTES
        self.table_ids = table_ids
        self._protocol, self._grammar = protocol, grammar
        self._moves: dict[bytes, Move] = {}
        self.whole_lines: dict[bytes, Move] = {}
        """The cached moves by their lines with the line end: output that answers a single question and is nothing else."""

    def remembered(self, lines: Sequence[bytes]) -> list[Answer] | None:
        """Return the moves of lines if all are cached, else None. This costs 0.05 µs per line."""
        try:
            return [*map(self._moves.__getitem__, lines)]
        except KeyError:
            return None

    def read(self, line: bytes, table: int) -> tuple[Input, Answer]:
        """Return the kind of a line that answers a question of this table, and its answer or fault."""
        if len(line) > self.max_bytes:
            return Input.TOO_LONG, FLOOD
        text = line
        if self.table_ids:
            number, text = self._protocol.split_table_number(line)
            if number != table:
                return Input.WRONG_TABLE, WRONG_TABLE
        answer = self._protocol.receive(self._grammar, text)
        if isinstance(answer, Fault):
            return (Input.UNREADABLE if answer.ends_process else Input.ANSWERS), answer
        if not self.table_ids and len(self._moves) < MAX_REMEMBERED_LINES:
            self._moves[line] = answer
            self.whole_lines[line + b"\n"] = answer
        return Input.ANSWERS, answer


class BatchState:
    """The open questions of one process. Each process has its own."""

    def __init__(self, reader: LineReader) -> None:
        self.state = IDLE
        self.rest = b""  # bytes after the last complete line; after a violation, its evidence
        self._reader = reader
        self._tables: Sequence[int] = ()  # table number of each question of the batch
        self._due = 0  # answers that are due

    def expect(self, tables: Sequence[int]) -> None:
        """Open a batch: one question for each of these tables, in this order. Raise ValueError if the state is not IDLE."""
        if self.state is not IDLE:
            raise ValueError(f"a batch cannot be opened while the state is {self.state}")
        self.state = WAITING
        self._tables = tables
        self._due = len(tables)

    def receive(self, data: bytes) -> BatchEvents:
        """Return the events of a piece of output. Empty data is the end of the output."""
        if self.state is not WAITING:
            self.rest += data
            return (), (), self._step(Input.UNASKED if data else Input.END, self.rest)
        if not data:
            return (), (), self._step(Input.END, self.rest)
        *lines, self.rest = (self.rest + data).split(b"\n")
        answers = self._reader.remembered(lines) if len(lines) <= self._due else None
        if answers is None:
            return self._read(lines)
        if self.rest or len(lines) < self._due:
            return self._answer(answers, lines)
        self.state = IDLE  # the usual case without a call and a lookup: saves 0.3 µs of the 20 µs of a decision
        return answers, lines, None

    def _read(self, lines: list[bytes]) -> BatchEvents:
        """Read lines one by one: some are not cached, or there are more lines than questions."""
        answers: list[Answer] = []
        for line, table in zip(lines, self._tables[len(self._tables) - self._due :], strict=False):
            what, answer = self._reader.read(line, table)
            if what is not Input.ANSWERS:
                self.rest = line
                self._due -= len(answers)
                return (
                    answers,
                    lines[: len(answers)],
                    self._step(what, line, answer if what is Input.UNREADABLE else None),
                )
            answers.append(answer)
        self.rest = b"\n".join([*lines[len(answers) :], self.rest])
        return self._answer(answers, lines[: len(answers)])

    def _answer(self, answers: list[Answer], raws: list[bytes]) -> BatchEvents:
        """Return the events for these answers. `self.rest` is what the bot wrote after them."""
        self._due -= len(answers)
        if not self.rest:
            self.state, _ = TRANSITIONS[self.state, Input.ANSWERS if self._due else Input.ALL_ANSWERS]
            return answers, raws, None
        if not self._due:  # bytes after the last answer count against its question
            self.rest = b"\n".join([raws[-1], self.rest])
            return answers[:-1], raws[:-1], self._step(Input.MORE, self.rest)
        too_long = len(self.rest) > self._reader.max_bytes
        return answers, raws, self._step(Input.TOO_LONG if too_long else Input.PART, self.rest)

    def _step(self, what: Input, raw: bytes, fault: Answer | None = None) -> Violation | None:
        """Go to the next state; return the violation if the input is one. `fault` replaces the fault of the table."""
        self.state, usual = TRANSITIONS[self.state, what]
        if usual is None:
            return None
        return Violation(fault if isinstance(fault, Fault) else usual, raw)


class TableIds:
    """Numbers of the open tables of one process, from 1. The next batch reports the tables that have ended."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._numbers: dict[int, int] = {}
        self._last = 0
        self._ended = b""

    def number(self, table: int) -> int:
        """Return the number that a table of the fixture has in the process."""
        number = self._numbers.get(table)
        if number is None:
            self._last = number = self._last + 1
            self._numbers[table] = number
        return number

    def end(self, table: int) -> None:
        """Remove a table that has ended. The next batch reports it to the process."""
        number = self._numbers.pop(table, None)
        if number is not None:
            self._ended += self._protocol.over(number)

    def lines(self, numbers: Sequence[int], questions: bytes) -> bytes:
        """Return question lines with their tables' numbers, after a line for each table that has ended."""
        ended, self._ended = self._ended, b""
        number = self._protocol.number
        pairs = zip(numbers, questions.splitlines(keepends=True), strict=True)
        return ended + b"".join([number(table, line) for table, line in pairs])
