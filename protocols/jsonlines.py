"""Implements json: one process for many questions, one JSON object per line. An answer is `{"move": "B 15"}`."""

import json
from collections.abc import Iterable

from protocols.one_line import framing
from protocols.strict_json import read_json
from protocols.wire import (
    MAX_LINE_BYTES,
    PRINTABLE,
    Answer,
    Fault,
    FaultKind,
    Grammar,
    Move,
    Protocol,
    View,
    read_move,
    without_line_end,
)


def to_json_value(value: object) -> object:
    """Convert a value for JSON: a NamedTuple becomes an object, any other tuple a list."""
    if isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        if fields is not None:
            return dict(zip(fields, map(to_json_value, value), strict=True))
        return [to_json_value(item) for item in value]
    return value


def ask(view: View) -> list[bytes]:
    """Return the question as one line."""
    return [encode(view)]


def encode(view: View) -> bytes:
    """Return a question as JSON on one line."""
    return json.dumps(to_json_value(view), separators=(",", ":")).encode() + b"\n"


def encode_all(views: Iterable[View]) -> bytes:
    """Return questions as JSON, one line each."""
    return b"".join(map(encode, views))


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Parse one answer line. Its member "move" is a string in the game's grammar, or an integer."""
    line = without_line_end(line)
    if len(line) > MAX_LINE_BYTES:
        return Fault(FaultKind.FLOOD)
    if not PRINTABLE.fullmatch(line):
        return Fault(FaultKind.UNREADABLE)
    try:
        move = read_json(line)["move"]
    except (ValueError, KeyError, TypeError):
        return Fault(FaultKind.UNREADABLE)
    if isinstance(move, int) and not isinstance(move, bool):
        move = str(move) if abs(move) < 10**12 else ""
    if not isinstance(move, str):
        return Fault(FaultKind.UNREADABLE)
    return read_move(grammar, move.encode("utf-8", "surrogatepass"))


def number(table: int, line: bytes) -> bytes:
    """Return a question line with "table" as its first member."""
    return b'{"table":%d,%b' % (table, line[1:])


def bank(milliseconds: int, line: bytes) -> bytes:
    """Return a question line with "bank", the seconds that are left, as its first member."""
    return b'{"bank":%d.%03d,%b' % (*divmod(milliseconds, 1000), line[1:])


def split_table_number(line: bytes) -> tuple[int, bytes]:
    """Return the member "table" of an answer, or 0 if it has none, and the whole line."""
    try:
        table = read_json(line)["table"]
    except (ValueError, KeyError, TypeError):
        return 0, line
    return (table if type(table) is int else 0), line


def write(grammar: Grammar, move: Move) -> bytes:
    """Return an answer as a bot writes it."""
    return json.dumps({"move": grammar.spell(move)}).encode() + b"\n"


def over(table: int) -> bytes:
    """Return the line that reports the end of a table. The bot does not answer it."""
    return b'{"over":%d}\n' % table


PROTOCOL = Protocol(
    "json",
    persistent=True,
    ask=ask,
    encode=encode,
    receive=receive,
    number=number,
    split_table_number=split_table_number,
    bank=bank,
    over=over,
    write=write,
    framing=framing(encode, encode_all),
)
