"""Standard error of a bot while a fixture is played: the end of it, and the tables at which it was written."""

import os
from collections import deque

import trio

from host.bots.values import EVIDENCE

LARGEST = 64 << 10  # bytes that are kept of one bot and one fixture
CHUNK, LARGEST_PIPE = 1 << 16, 1 << 20


class StderrLog:
    """The last bytes that a bot has written, in pieces by table; what comes is bounded at once."""

    def __init__(self) -> None:
        self.table = 1  # the one that the bot was asked about last
        self._pieces = deque[tuple[int, bytes]]()
        self._size = 0

    def append(self, piece: bytes) -> None:
        """Take what was written at the table, or was still to be read when the bot was asked about it."""
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
        """What was said, the earliest first, each piece with its table."""
        return list(self._pieces)


class StderrPipe:
    """The standard error of one process: always drained into the log, so that no process waits for a reader."""

    def __init__(self, log: StderrLog, descriptor: int) -> None:
        self.log, self._descriptor = log, descriptor
        self._tail = bytearray()

    async def drain_to_end(self) -> None:
        """Drain it until all who could write to it have ended; then close it."""
        try:
            while True:
                await trio.lowlevel.wait_readable(self._descriptor)
                if self._read() == b"":
                    return
        finally:
            os.close(self._descriptor)
            self._descriptor = -1

    def tail(self) -> bytes:
        """Return the end of what has been written until now, as far as the pipe can hold it."""
        for _ in range(LARGEST_PIPE // CHUNK):
            if self._descriptor < 0 or not self._read():
                break
        return bytes(self._tail)

    def _read(self) -> bytes | None:
        """Take a piece without waiting; return it, empty at the end, None when there is none yet."""
        try:
            piece = os.read(self._descriptor, CHUNK)
        except BlockingIOError:
            return None
        self._tail += piece
        del self._tail[:-EVIDENCE]
        self.log.append(piece)
        return piece
