"""Finds tables that repeat another one. The *line* of a table is a digest of everything that happened at it.

A table at which something was drawn repeats no other table, because each table has its own luck. A table without chance
follows from its seats, its rules, its opening and the moves of its bots. Tables of the same bots in the same seats are
compared:

- if two of them have the same opening and different moves, a bot has answered the same history of questions in two ways. So
  this bot draws its moves at random, and all these tables are independent, even the equal ones;
- otherwise equal tables are one game that was played again: together they are evidence only once.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from host.base.bounded_zlib import decompress
from host.base.format import thousands
from host.games.engine import Moves, Table
from host.play.records import Record, spelled_answer
from host.play.table_plans import TableSetup
from protocols.wire import Answer, Fault

ORDER_BYTES, OPENING_BYTES, MOVES_BYTES = 4, 8, 8
"""Sizes of the three digests in a line, in bytes.

They are the digest of seats and rules; of seats, rules and opening; of seats, rules, opening and moves. Among a million
different texts, two have the same digest of eight bytes with a probability of 1 in 30 million.
"""
LINE_BYTES = ORDER_BYTES + OPENING_BYTES + MOVES_BYTES
NO_LINE = bytes(LINE_BYTES)
"""The line of a table that repeats no other, because chance took part in it."""


def line_of(table_setup: TableSetup, table: Table) -> bytes:
    """Return the line of a table that has ended.

    If the game does not return its moves, the answers are taken as moves, and faults without their details.
    """
    return line_of_moves(table_setup, moves_of(table))


def moves_of(table: Table) -> Moves | None:
    """Return the opening and the moves of a table that has ended; None if chance took part in it."""
    if table.moves is None and not table.luck.drawn:
        return "", ",".join(map(spelled_for_lines, table.answers))
    return table.moves


def line_of_moves(table_setup: TableSetup, moves: Moves | None) -> bytes:
    """Return the line of a table with this opening and these moves; NO_LINE for None."""
    if moves is None:
        return NO_LINE
    order = "\n".join((*table_setup.bots, repr(table_setup.rules)))
    opened = f"{order}\n{moves[0]}"
    return digest(order, ORDER_BYTES) + digest(opened, OPENING_BYTES) + digest(f"{opened}\n{moves[1]}", MOVES_BYTES)


def digest(text: str, size: int = MOVES_BYTES) -> bytes:
    """Return the BLAKE2b digest of a text, with `size` bytes."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=size).digest()


def spelled_for_lines(answer: Answer) -> str:
    """Return the text of an answer for the line of its table. The text of a fault has no detail."""
    return f"!{answer.kind}" if isinstance(answer, Fault) else spelled_answer(answer)


def pack_lines(lines: Sequence[bytes]) -> bytes:
    """Return the lines of a fixture's tables, compressed for its record; b"" if no table can repeat another."""
    return b"" if all(line == NO_LINE for line in lines) else zlib.compress(b"".join(lines), 1)


def lines_of(record: Record) -> list[bytes]:
    """Return the line of each table of a fixture, in order; [] if no table can repeat another.

    Raise ValueError if the stored lines are damaged.
    """
    if not record.lines:
        return []
    most = LINE_BYTES * sum([result.tables for result in record.results.values()])
    try:
        packed = decompress(record.lines, most)
    except zlib.error as broken:
        raise ValueError(f"the journalled lines are damaged: {broken}") from broken
    if len(packed) % LINE_BYTES:
        raise ValueError("the journalled lines are damaged: they are not those of its tables")
    return [packed[at : at + LINE_BYTES] for at in range(0, len(packed), LINE_BYTES)]


class Repeats(NamedTuple):
    """The number of tables, and the number of different tables among them."""

    tables: int = 0
    different: int = 0
    per_unit: float = 1.0
    """Number of tables that count as one unit in statistics: the sum of count² over all lines, divided by `tables`.

    The count of a line is the number of tables with this line. Equal tables are one unit (Kish, "Survey Sampling",
    1965). If all lines have the same count, there are as many units as different tables. If one line has half of all
    tables, there are at most four units.
    """

    @property
    def figure(self) -> str:
        """Return how many tables are different: "2 different tables in 400"."""
        return f"{thousands(self.different)} different tables in {thousands(self.tables)}"

    @property
    def mostly(self) -> bool:
        """Whether most tables repeat others, so that more tables would decide little."""
        return 2 * self.different < self.tables

    @property
    def sentence(self) -> str:
        """Return a sentence about the effect on intervals and certainties; "" if no table repeats another."""
        return f"{self.figure}: a table that repeats another is not evidence" if self.different < self.tables else ""


def may_repeat(records: Iterable[Record]) -> bool:
    """Return whether a table in these records can repeat another table."""
    return any(record.lines for record in records)


def repeats_in(records: Iterable[Record]) -> Repeats:
    """Return the number of tables in these records, and how many of them are different."""
    tables, times = 0, Counter[bytes]()
    for record in records:
        if lines := lines_of(record):
            tables += len(lines)
            times.update(lines)
        else:
            tables += max([result.tables for result in record.results.values()], default=0)
    times.pop(NO_LINE, None)
    drawn = _drawn_orders(times)
    times = Counter({line: count for line, count in times.items() if line[:ORDER_BYTES] not in drawn})
    again = times.total() - len(times)
    if not again:
        return Repeats(tables, tables)
    squares = tables - times.total() + sum([count * count for count in times.values()])
    return Repeats(tables, tables - again, squares / tables)


def _drawn_orders(lines: Iterable[bytes]) -> set[bytes]:
    """Return the digests of seats and rules for which a bot has answered the same history in two ways.

    These are the digests whose lines have the same opening but different moves.
    """
    of_opening, found = dict[bytes, bytes](), set[bytes]()
    for line in lines:
        opening, moves = line[:-MOVES_BYTES], line[-MOVES_BYTES:]
        if of_opening.setdefault(opening, moves) != moves:
            found.add(line[:ORDER_BYTES])
    return found
