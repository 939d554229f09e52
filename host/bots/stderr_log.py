"""Stores the standard error of a bot.

Of a fixture, it stores the end, by table, or everything, by question. Of one process, it stores the start and the end.
"""

import os
import select
from collections import deque
from typing import NamedTuple

import trio

from host.bots.values import RAW_BYTES, HasQuestion
from host.sandbox.keeper import with_gap

MAX_STDERR_BYTES = 64 << 10  # bytes stored for each bot and fixture
MAX_COMPLETE_BYTES = 16 << 20  # likewise, if all is to be stored by question
CHUNK, LARGEST_PIPE = 1 << 16, 1 << 20


class QuestionPlace(NamedTuple):
    """The place of a question: its table, and its number at that table."""

    table: int
    number: int


class StderrLog:
    """The last bytes of a bot's standard error, in pieces by table. Its size is limited at every write.

    If it is `complete`, its pieces are by question, and it stores MAX_COMPLETE_BYTES instead of MAX_STDERR_BYTES.
    """

    def __init__(self, *, complete: bool = False) -> None:
        self.question: HasQuestion | QuestionPlace = QuestionPlace(1, 1)  # the last question to the bot
        self.complete = complete
        self._most = MAX_COMPLETE_BYTES if complete else MAX_STDERR_BYTES
        self._pieces = deque[tuple[QuestionPlace, bytes]]()
        self._size = 0

    def append(self, piece: bytes) -> None:
        """Append bytes that the bot wrote after its last question, or that were unread when it was asked that question."""
        if not piece:
            return
        place = QuestionPlace(self.question.table, self.question.number if self.complete else 0)
        if self._pieces and self._pieces[-1][0] == place:
            before = self._pieces.pop()[1]
            self._size -= len(before)
            piece = before + piece
        piece = piece[-self._most :]
        self._pieces.append((place, piece))
        self._size += len(piece)
        while self._size > self._most:
            self._size -= len(self._pieces.popleft()[1])

    @property
    def tails(self) -> list[tuple[QuestionPlace, bytes]]:
        """Return the stored pieces, the earliest first, each with its place.

        If the log is not `complete`, the number of the question in each place is 0.
        """
        return list(self._pieces)


def ends_of(text: bytes, size: int) -> bytes:
    """Return the first and the last RAW_BYTES of a text of `size` bytes; the middle of `text` may be missing."""
    return with_gap(text[:RAW_BYTES], size - 2 * RAW_BYTES, text[RAW_BYTES:][-RAW_BYTES:])


class _Ends:
    """The start and the end of the bytes that a process has written to its standard error since its last question.

    Bytes that were unread when the question was asked count as written after it: to read them first would make each
    question slower.
    """

    def __init__(self) -> None:
        self._place: QuestionPlace | None = None
        self._size = 0  # bytes since the question
        self._first, self._last = bytearray(), bytearray()

    def append(self, piece: bytes, question: HasQuestion | QuestionPlace) -> None:
        place = QuestionPlace(question.table, question.number)
        if place != self._place:
            self._place, self._size = place, 0
            self._first.clear()
        self._size += len(piece)
        self._first += piece[: RAW_BYTES - len(self._first)]
        self._last += piece
        del self._last[:-RAW_BYTES]

    def __bytes__(self) -> bytes:
        if self._size <= RAW_BYTES:
            return bytes(self._last)  # includes what was written before the question
        later = bytes(self._last[-(self._size - RAW_BYTES) :])
        return with_gap(bytes(self._first), self._size - 2 * RAW_BYTES, later)


class StderrReader:
    """Reads the standard error of every process of a worker, so that no process blocks on a full pipe.

    One task waits for all of them: a task for each process would cost 100 µs a process.
    """

    def __init__(self) -> None:
        self._pipes: dict[int, StderrPipe] = {}
        self._epoll = select.epoll()

    def add(self, descriptor: int, pipe: "StderrPipe") -> None:
        """Read a pipe whenever there is something in it."""
        self._pipes[descriptor] = pipe
        if not self._epoll.closed:
            self._epoll.register(descriptor, select.EPOLLIN)

    def remove(self, descriptor: int) -> None:
        """Do not read a pipe any more. Call this before its descriptor is closed."""
        if self._pipes.pop(descriptor, None) is not None and not self._epoll.closed:
            self._epoll.unregister(descriptor)

    async def run(self) -> None:
        """Read until cancelled."""
        with self._epoll:
            while True:
                await trio.lowlevel.wait_readable(self._epoll.fileno())
                for descriptor, _ in self._epoll.poll(0):
                    self._pipes[descriptor].read_some()


class StderrPipe:
    """The standard error of one process, which is read into the log."""

    def __init__(self, log: StderrLog, descriptor: int) -> None:
        self.log, self._descriptor = log, descriptor
        self._ends = _Ends()
        self._reader: StderrReader | None = None

    def read_with(self, reader: StderrReader) -> None:
        """Let a reader read the pipe until every process that could write has ended, or until `close`."""
        self._reader = reader
        reader.add(self._descriptor, self)

    def ask(self, question: HasQuestion) -> None:
        """Attribute the bytes that are read from now on to a question.

        If the log is `complete`, first read the bytes that were written before the question.
        """
        if self.log.complete:
            self.tail()  # what is unread was written before it
            self.log.question = QuestionPlace(question.table, question.number)  # that of an open table changes
        else:
            self.log.question = question

    def tail(self) -> bytes:
        """Read what the process has written so far, at most LARGEST_PIPE bytes.

        Return the start and the end of the bytes since the last question.
        """
        for _ in range(LARGEST_PIPE // CHUNK):
            if self._descriptor < 0 or not self._read():
                break
        return bytes(self._ends)

    def read_some(self) -> None:
        """Read a piece without waiting. At the end, close the pipe."""
        if self._read() == b"":
            self._release()

    def close(self) -> None:
        """Read what the process has written, and close the pipe."""
        self.tail()
        self._release()

    def _release(self) -> None:
        if self._descriptor >= 0:
            if self._reader is not None:
                self._reader.remove(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1

    def _read(self) -> bytes | None:
        """Read a piece without waiting. Return it; empty at the end, None if there is none yet."""
        try:
            piece = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            return None
        self._ends.append(piece, self.log.question)
        self.log.append(piece)
        return piece
