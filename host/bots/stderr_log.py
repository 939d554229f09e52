"""Standard error of a bot while a fixture is played: the end of it, and the tables at which it was written."""

import os
from collections import deque

import trio

from host.bots.values import EVIDENCE

LARGEST = 64 << 10  # bytes that are kept of one bot and one fixture
CHUNK, LARGEST_PIPE = 1 << 16, 1 << 20


class StderrLog:
    """The last bytes that were said, in pieces by table; what comes is bounded at once."""

    def __init__(self) -> None:
        self._pieces = deque[tuple[int, bytes]]()
        self._size = 0

    def append(self, table: int, said: bytes) -> None:
        """Take what was said at a table, or was still to be heard when it was asked about that one."""
        if not said:
            return
        if self._pieces and self._pieces[-1][0] == table:
            before = self._pieces.pop()[1]
            self._size -= len(before)
            said = before + said
        said = said[-LARGEST:]
        self._pieces.append((table, said))
        self._size += len(said)
        while self._size > LARGEST:
            self._size -= len(self._pieces.popleft()[1])

    @property
    def tails(self) -> list[tuple[int, bytes]]:
        """What was said, the earliest first, each piece with its table."""
        return list(self._pieces)


class StderrPipe:
    """The standard error of one process: always drained into the log, so that no process waits for a reader."""

    def __init__(self, log: StderrLog, descriptor: int, table: int) -> None:
        self._log, self._descriptor = log, descriptor
        self._tail = bytearray()
        self.table = table  # the one the bot was asked about last

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
        self._log.append(self.table, piece)
        return piece
