"""Stores the notes that a bot writes beside its moves, for spectators. Opponents never get them.

Their number of bytes is limited, so that notes cannot fill the disk. Which notes are stored does not depend on the number
of tables that are played at the same time.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from host.bots.values import BatchResult, HasQuestion
from protocols.wire import Move, Protocol

MAX_NOTE_BYTES = 4096  # of one note in UTF-8; a longer one is cut
MAX_TABLE_NOTE_BYTES = 16 << 10  # of all notes of a bot at one table
NOTED_TABLES = 64
"""Number of tables at the start of a fixture whose notes are stored."""

CUT = "…"  # the end of a note that was cut

NotesByTable = Mapping[int, Mapping[int, str]]
"""Notes by the table's number in the fixture, and then by the number of the question at the table, both from 1."""

NO_NOTES: NotesByTable = MappingProxyType({})


class Notes:
    """The notes of a bot in a fixture."""

    def __init__(self, protocol: Protocol) -> None:
        self._read = protocol.note
        self.by_table: dict[int, dict[int, str]] = {}
        self._left: dict[int, int] = {}  # bytes that the notes of a table may still have

    def add(self, questions: Sequence[HasQuestion], result: BatchResult) -> None:
        """Store the notes that came with the moves in `result`, at the first NOTED_TABLES tables."""
        if self._read is None:
            return
        for question, answer, raw in zip(questions, result.answers, result.raws, strict=False):
            if question.table <= NOTED_TABLES and isinstance(answer, Move) and (note := self._read(raw)):
                self._store(question, note)

    def _store(self, question: HasQuestion, note: str) -> None:
        left = self._left.get(question.table, MAX_TABLE_NOTE_BYTES)
        if stored := shortened(note, min(left, MAX_NOTE_BYTES)):
            self._left[question.table] = left - len(stored.encode())
            self.by_table.setdefault(question.table, {})[question.number] = stored


def shortened(text: str, most: int) -> str:
    """Return `text` if it has at most `most` bytes in UTF-8, otherwise its start and CUT; "" if CUT does not fit."""
    content = text.encode()
    if len(content) <= most:
        return text
    room = most - len(CUT.encode())
    return content[:room].decode(errors="ignore") + CUT if room >= 0 else ""


def merged(notes: Iterable[Notes]) -> NotesByTable:
    """Return the notes of all bots of a fixture together, by table and question."""
    found: dict[int, dict[int, str]] = {}
    for one in notes:
        for table, own in one.by_table.items():
            found.setdefault(table, {}).update(own)
    return found
