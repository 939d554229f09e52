"""State machine of one process and its batches of questions: takes bytes, returns events.

It is pure: it has no clock, no descriptor and no process. The table TRANSITIONS defines what each piece of output means
in each state.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from protocols.wire import MAX_LINE_BYTES, Answer, Asked, Fault, FaultKind, Grammar, Move, Protocol, without_line_end

MAX_REMEMBERED_ANSWERS = 1000  # each at most 4 KiB
TABLE_NUMBER_BYTES = 16  # added to the limit of an answer for the table number


class OutputState(StrEnum):
    """States of a process: whether it must write output now."""

    IDLE = "idle"  # no question is open: the process must not write
    WAITING = "waiting"  # answers are due
    FAILED = "failed"  # the process violated the protocol or ended: its output no longer counts


IDLE, WAITING, FAILED = OutputState  # as globals: each attribute of an Enum costs 0.15 µs


class Input(StrEnum):
    """Kinds of output."""

    PART = "part"  # the beginning of an answer
    ANSWERS = "answers"  # answers to some of the open questions
    ALL_ANSWERS = "all answers"  # answers to all open questions, and nothing after them
    MORE = "more"  # bytes after the last answer that is due
    UNREADABLE = "unreadable"  # an answer that is a fault of the process by the protocol
    WRONG_TABLE = "wrong table"  # an answer for a table other than the one whose answer is due
    TOO_LONG = "too long"  # an answer, complete or not, beyond the limit
    UNASKED = "unasked"  # any byte while no question is open
    END = "end"  # the end of the output


class OutputFault(NamedTuple):
    """A violation of the protocol, or the end of the process. It counts against the first question without an answer.

    `fault` is used unless the end of the process shows a graver one (host/bots/blame.py).
    """

    fault: Fault
    raw: bytes


BatchEvents = tuple[Sequence[Answer], Sequence[bytes], OutputFault | None]
"""The meaning of one piece of output: answers to the next open questions in order, their raw bytes, a fault or None."""

EARLY, EXTRA, FLOOD = Fault(FaultKind.EARLY), Fault(FaultKind.EXTRA), Fault(FaultKind.FLOOD)
UNREADABLE, WRONG_TABLE = Fault(FaultKind.UNREADABLE), Fault(FaultKind.UNREADABLE, "table")
NO_ANSWER = Fault(FaultKind.EXIT)

TRANSITIONS: Mapping[tuple[OutputState, Input], tuple[OutputState, Fault | None]] = {
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


class AnswerReader:
    """Reads the answers of one bot in a fixture. It caches moves, because millions of answers have few different moves.

    `framing` finds the ends of the answers. A raw answer is the bytes of one answer, without its line end.
    """

    def __init__(self, protocol: Protocol, grammar: Grammar, max_bytes: int, *, table_ids: bool) -> None:
        self.max_bytes = max_bytes + TABLE_NUMBER_BYTES
        self.protocol, self.table_ids, self.framing = protocol, table_ids, protocol.framing(grammar.until)
        self.split: Callable[[bytes], list[bytes]] = self.framing.read
        """Returns the complete answers at the start of some output, and as the last item the output after them."""
        self.grammar = grammar
        self._moves: dict[bytes, Move] = {}
        self.whole_lines: dict[bytes, Move] = {}
        """The cached moves, by answer with its line end. A single question is answered if the output is such a line."""

    def encode(self, questions: Sequence[Asked], numbers: Sequence[int] | None, bank: int | None) -> bytes:
        """Return the bytes to send for `questions`.

        `numbers` are the table numbers, in the order of the questions. `bank` is the time left in the bank in milliseconds. If
        one of them is None, it is not sent.
        """
        if numbers is None and bank is None:
            return self.framing.encode(questions)

        def complete(index: int, question: bytes) -> bytes:
            if bank is not None:
                question = self.protocol.bank(bank, question)
            return question if numbers is None else self.protocol.number(numbers[index], question)

        return self.framing.encode(questions, complete)

    def remembered(self, raws: Sequence[bytes]) -> list[Answer] | None:
        """Return the moves of raw answers, in order, if all are cached; otherwise None. This costs 0.05 µs per answer."""
        try:
            return [*map(self._moves.__getitem__, raws)]
        except KeyError:
            return None

    def read(self, raw: bytes, table: int) -> tuple[Input, Answer]:
        """Return the kind of a raw answer, and its move or fault. `table` is the number of the table of the question."""
        if len(raw) > self.max_bytes:
            return Input.TOO_LONG, FLOOD
        text = raw
        if self.table_ids:
            number, text = self.protocol.split_table_number(raw)
            if number != table:
                return Input.WRONG_TABLE, WRONG_TABLE
        answer = self.protocol.receive(self.grammar, text)
        if isinstance(answer, Fault):
            return (Input.UNREADABLE if answer.ends_process else Input.ANSWERS), answer
        if self.protocol.note and self.protocol.note(text):  # hardly any answer with a note comes twice
            return Input.ANSWERS, answer
        if not self.table_ids and len(raw) <= MAX_LINE_BYTES and len(self._moves) < MAX_REMEMBERED_ANSWERS:
            self._moves[raw] = answer
            self.whole_lines[raw + b"\n"] = answer
        return Input.ANSWERS, answer


class BatchState:
    """The state of one process and its open questions. Each process has its own BatchState."""

    def __init__(self, reader: AnswerReader) -> None:
        self.state = IDLE
        self.rest = b""  # bytes after the last complete answer; after a violation, its evidence
        self.has_ended = False  # whether the process has ended its output, and so completed its answer
        self._reader, self._split = reader, reader.split
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
        """Go to the next state after a piece of output, and return its events. Empty `data` means the end of the output."""
        if self.state is not WAITING:
            self.rest += data
            return (), (), self._step(Input.UNASKED if data else Input.END, self.rest)
        if not data:
            return self._end()
        *raws, self.rest = self._split(self.rest + data)
        answers = self._reader.remembered(raws) if len(raws) <= self._due else None
        if answers is None:
            return self._read(raws)
        if self.rest or len(raws) < self._due:
            return self._answer(answers, raws)
        self.state = IDLE  # the usual case without a call and a lookup: saves 0.3 µs of the 20 µs of a decision
        return answers, raws, None

    def _end(self) -> BatchEvents:
        """Return the events of the end of the output while answers are due. In some protocols the end completes an answer."""
        if not (self._reader.protocol.ends_with_output and self.rest.strip()):
            return (), (), self._step(Input.END, self.rest)
        last, self.rest, self.has_ended = without_line_end(self.rest), b"", True
        return self._read([last])

    def _read(self, raws: list[bytes]) -> BatchEvents:
        """Return the events of raw answers that are read one by one: not all are cached, or there are too many."""
        answers: list[Answer] = []
        for raw, table in zip(raws, self._tables[len(self._tables) - self._due :], strict=False):
            what, answer = self._reader.read(raw, table)
            if what is not Input.ANSWERS:
                self.rest = raw
                self._due -= len(answers)
                return (
                    answers,
                    raws[: len(answers)],
                    self._step(what, raw, answer if what is Input.UNREADABLE else None),
                )
            answers.append(answer)
        self.rest = b"\n".join([*raws[len(answers) :], self.rest])
        return self._answer(answers, raws[: len(answers)])

    def _answer(self, answers: list[Answer], raws: list[bytes]) -> BatchEvents:
        """Return the events of parsed answers. `self.rest` has the bytes that the bot wrote after them."""
        self._due -= len(answers)
        if not self.rest:
            self.state, _ = TRANSITIONS[self.state, Input.ANSWERS if self._due else Input.ALL_ANSWERS]
            return answers, raws, None
        if not self._due:  # bytes after the last answer count against its question
            self.rest = b"\n".join([raws[-1], self.rest])
            return answers[:-1], raws[:-1], self._step(Input.MORE, self.rest)
        too_long = len(self.rest) > self._reader.max_bytes
        return answers, raws, self._step(Input.TOO_LONG if too_long else Input.PART, self.rest)

    def _step(self, what: Input, raw: bytes, fault: Answer | None = None) -> OutputFault | None:
        """Go to the next state; return the fault of the output, or None. `fault` replaces the fault in TRANSITIONS."""
        self.state, usual = TRANSITIONS[self.state, what]
        if usual is None:
            return None
        return OutputFault(fault if isinstance(fault, Fault) else usual, raw)


class TableIds:
    """Numbers the open tables of one process, from 1, and collects the lines that report ended tables to the process."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol
        self._numbers: dict[int, int] = {}
        self._last = 0
        self._ended = b""

    def number(self, table: int) -> int:
        """Return the number under which the process knows a table of the fixture. A new table gets the next number."""
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

    def over(self) -> bytes:
        """Return the lines that report the tables that have ended since the last call."""
        ended, self._ended = self._ended, b""
        return ended
