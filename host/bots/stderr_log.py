"""What a bot says on standard error while a fixture is played: the end of it, and at which tables it was said."""

from collections import deque

LARGEST = 64 << 10  # bytes that are kept of one bot and one fixture


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
