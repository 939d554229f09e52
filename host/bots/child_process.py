"""Reads and writes the pipes of one process that answers many questions, and tracks the answers that are due."""

import os
import select
import time
from collections.abc import Sequence

import trio

from host.bots.batch_state import AnswerReader, BatchState, TableIds, Violation
from host.bots.input_state import input_state
from host.bots.spin import SPIN, SPIN_S
from host.bots.stderr_log import CHUNK, StderrLog, StderrPipe
from host.bots.values import HasQuestion, InputState
from protocols.wire import Answer, Fault, FaultKind, View

QUICK_ANSWER_MS = 1
"""Milliseconds to wait for the answer to a single question before it is slow. poll(2) counts in milliseconds."""

MAX_SELECTABLE = 1024  # select(2) works only for descriptors below this number


class ChildProcess:
    """The host's end of one process. None of its pipes blocks.

    If the process lives for one question, its input is closed when the question has been written.
    """

    def __init__(self, reader: AnswerReader, log: StderrLog, *, one_question: bool = False) -> None:
        reads, self._input = os.pipe()
        self.output, writes = os.pipe()
        stderr, complains = os.pipe()
        for own in (self._input, self.output, stderr):
            os.set_blocking(own, False)
        self.inherited = (reads, writes, complains)  # by the process: its ends of the pipes
        self.is_open = True
        self.stderr = StderrPipe(log, stderr)
        self.table_ids = TableIds(reader.protocol)
        self.violation: Violation | None = None  # in the batch, or since the last one
        self.unsent = b""  # questions that did not fit into the pipe yet
        self.input = InputState.UNKNOWN  # when it was late
        self._protocol, self._uses_table_ids, self._one_question = reader.protocol, reader.table_ids, one_question
        self.batch, self._framing = BatchState(reader), reader.framing
        self._framing.restart()
        self._poll = select.poll()
        self._poll.register(self.output, select.POLLIN)
        self.poll = self._poll.poll
        """Returns a list that is not empty if there is output to read, or its end. It waits at most the given ms."""

    def has_output(self) -> bool:
        """Return whether there is output to read, or its end."""
        return bool(self._poll.poll(0))

    def wait_for_output(self, seconds: float) -> bool:
        """Wait at most some seconds. Return whether there is output to read, or its end. select(2) counts in microseconds."""
        if self.output < MAX_SELECTABLE:
            return bool(select.select((self.output,), (), (), seconds)[0])
        return bool(self._poll.poll(seconds * 1000))

    def has_early_output(self) -> bool:
        """Return whether the process has written before it was asked."""
        if self.violation is None and self._poll.poll(0):
            self.read()
        return self.violation is not None

    def ask(self, questions: Sequence[HasQuestion], bank: int | None = None) -> None:
        """Write as many questions as fit into the pipe.

        `bank` is the milliseconds left in the bot's time bank; a bot that has one is asked one question at a time.
        """
        numbers: Sequence[int] = range(len(questions))
        if self._uses_table_ids:
            asked = self._framing.encode_each(questions)
            if bank is not None:
                asked = [self._protocol.bank(bank, each) for each in asked]
            numbers = [self.table_ids.number(question.table) for question in questions]
            data = self.table_ids.numbered(numbers, asked)
        else:
            data = self._framing.encode(questions)
            if bank is not None:
                data = self._protocol.bank(bank, data)
        self.batch.expect(numbers)
        self.stderr.ask(questions[0])
        self._write(data)

    def _write(self, data: bytes) -> None:
        try:
            self.unsent = data[os.write(self._input, data) :]
        except BlockingIOError:
            self.unsent = data
        except BrokenPipeError:
            self.unsent = b""  # a process that closed its input is judged by its output
        if self._one_question and not self.unsent:
            self.close_input()

    async def write_on(self) -> None:
        """Write the questions that did not fit."""
        while self.unsent:
            await trio.lowlevel.wait_writable(self._input)
            self._write(self.unsent)

    def exchange(self, line: bytes, milliseconds: int = QUICK_ANSWER_MS) -> bytes | None:
        """Write one question; return the output that comes within some time, or None. `receive` has not seen it yet."""
        try:
            written = os.write(self._input, line)
        except OSError:
            written = 0
        if written < len(line):
            self._write(line[written:])
            return None
        if SPIN.pause:
            SPIN.pause -= 1
        elif self._spin():
            return os.read(self.output, CHUNK)
        return os.read(self.output, CHUNK) if self.poll(milliseconds) else None

    def _spin(self) -> bool:
        """Poll without sleeping. Return whether there is output to read, or its end."""
        until = time.perf_counter() + SPIN_S
        while time.perf_counter() < until:
            if self.poll(0):
                return True
        SPIN.failed()
        return False

    def read(self) -> tuple[Sequence[Answer], Sequence[bytes]]:
        """Read the available output; return the answers and their raw bytes, and record a violation."""
        try:
            data = self.read_bytes()
        except BlockingIOError:
            return (), ()
        return self.receive(data)

    def read_bytes(self) -> bytes:
        """Read the available output; `receive` has not seen it yet. Raise BlockingIOError if there is none."""
        return os.read(self.output, CHUNK)

    def receive(self, data: bytes) -> tuple[Sequence[Answer], Sequence[bytes]]:
        """Return the answers in a piece of output and their raw bytes, and record a violation."""
        answers, raws, self.violation = self.batch.receive(data)
        return answers, raws

    def fail(self, kind: FaultKind, raw: bytes | None = None) -> None:
        """Record a violation that the output does not show. By default its raw bytes are the incomplete answer."""
        self.violation = Violation(Fault(kind), self.batch.rest if raw is None else raw)

    def fail_late(self, views: Sequence[View], keeper: int) -> None:
        """Record that the process is late, and what it does with its input; `views` are those of the open questions."""
        if self._input >= 0:
            self.input = input_state(self._input, len(self.unsent), len(self._protocol.encode_all(views)), keeper)
        self.fail(FaultKind.TIMEOUT)

    def close_input(self) -> None:
        """Close the process's input, which tells it to exit."""
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def close(self) -> None:
        """Close its input and its output. Read the rest of its standard error, and close that."""
        if self.is_open:
            self.is_open = False
            self.close_input()
            os.close(self.output)
            self.stderr.close()
