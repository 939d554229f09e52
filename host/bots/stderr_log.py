"""Logs the standard error of a bot during a fixture: the end of it, with the tables at which it was written."""

import os
from collections import deque

import trio

from host.bots.values import EVIDENCE

LARGEST = 64 << 10  # bytes stored for each bot and fixture
CHUNK, LARGEST_PIPE = 1 << 16, 1 << 20


class StderrLog:
    """The last bytes of a bot's standard error, in pieces by table. Its size is limited at every write."""

    def __init__(self) -> None:
        self.table = 1  # the table that the bot was asked about last
        self._pieces = deque[tuple[int, bytes]]()
        self._size = 0

    def append(self, piece: bytes) -> None:
        """Append bytes that were written at the table, or that were unread when the bot was asked about it."""
        if not piece:
            return
        if self._pieces and self._pieces[-1][0] == self.table:
            before = self._pieces.pop()[1]
            self._size -= len(before)
            piece = before + piece
        piece = piece[-LARGEST:]
        self._pieces.append((self.table, piece))
        self._size += len(piece)
        while self._size > LARGEST:
            self._size -= len(self._pieces.popleft()[1])

    @property
    def tails(self) -> list[tuple[int, bytes]]:
        """Return the stored pieces, the earliest first, each with its table."""
        return list(self._pieces)


class StderrPipe:
    """The standard error of one process. It is always read into the log, so that the process never blocks on a full pipe."""

    def __init__(self, log: StderrLog, descriptor: int) -> None:
        self.log, self._descriptor = log, descriptor
        self._tail = bytearray()

    async def drain_to_end(self) -> None:
        """Read until every process that could write has ended; then close the pipe."""
        try:
            while True:
                await trio.lowlevel.wait_readable(self._descriptor)
                if self._read() == b"":
                    return
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def tail(self) -> bytes:
        """Return the end of what has been written so far. Read at most as much as a pipe can hold."""
        for _ in range(LARGEST_PIPE // CHUNK):
            if self._descriptor < 0 or not self._read():
                break
        return bytes(self._tail)

    def _read(self) -> bytes | None:
        """Read a piece without waiting. Return it; empty at the end, None if there is none yet."""
        try:
            piece = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            return None
        self._tail += piece
        del self._tail[:-EVIDENCE]
        self.log.append(piece)
        return piece
