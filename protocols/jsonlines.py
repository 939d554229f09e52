"""Implements json: one process for many questions, one JSON object per line. An answer is `{"move": "B 15"}`."""

import json
from collections.abc import Iterable
from typing import Any

from protocols.one_line import framing
from protocols.strict_json import compact, json_or_text, read_json
from protocols.wire import (
    Answer,
    Fault,
    FaultKind,
    Grammar,
    Json,
    Move,
    Protocol,
    View,
    read_move,
    text_of,
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


class _JsonFields(dict[type[View], tuple[str, ...]]):
    """The names of the fields with the text of a JSON value, by type of view."""

    def __missing__(self, kind: type[View]) -> tuple[str, ...]:
        hints = getattr(kind, "__annotations__", {})
        self[kind] = tuple([name for name in getattr(kind, "_fields", ()) if hints.get(name) is Json])
        return self[kind]


_json_fields = _JsonFields()


def question_value(view: View) -> Any:
    """Return a question as a JSON value: an object of its fields. If its only field is of type `Json`, return its value."""
    value: Any = to_json_value(view)
    for name in _json_fields[type(view)]:
        value[name] = json_or_text(value[name])
        if len(value) == 1:
            return value[name]
    return value


def encode(view: View) -> bytes:
    """Return a question as JSON on one line."""
    value = question_value(view)
    if not isinstance(value, dict):  # only an object can have the members that the host adds
        value = {view._fields[0]: value}  # type: ignore[attr-defined]
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def encode_all(views: Iterable[View]) -> bytes:
    """Return questions as JSON, one line each."""
    return b"".join(map(encode, views))


def receive(grammar: Grammar, line: bytes) -> Answer:
    """Parse one answer line.

    Its member "move" is a string in the game's grammar, an integer, or any value if the game's moves are JSON. A line with a
    note may have all characters: only the move must match the grammar. A line without a note has only the characters that
    the grammar allows.
    """
    line = without_line_end(line)
    if len(line) > grammar.longest:
        return Fault(FaultKind.FLOOD)
    try:
        answer = read_json(line)
        move = answer["move"]
    except (ValueError, KeyError, TypeError):
        return Fault(FaultKind.UNREADABLE)
    if not isinstance(answer.get("note"), str) and text_of(grammar, line) is None:
        return Fault(FaultKind.UNREADABLE)
    if isinstance(move, int) and not isinstance(move, bool):
        move = str(move) if abs(move) < 10**12 else ""
    elif grammar.json and not isinstance(move, str):
        move = compact(move)
    if not isinstance(move, str):
        return Fault(FaultKind.UNREADABLE)
    return read_move(grammar, move.encode("utf-8", "surrogatepass"))


def note(line: bytes) -> str:
    """Return the member "note" of an answer that `receive` accepts; "" if there is none, or if it is not a string."""
    found = read_json(line).get("note") if b'"note"' in line or b"\\u" in line else ""
    return found if isinstance(found, str) else ""


def number(table: int, line: bytes) -> bytes:
    """Return a question line with "table" as its first member."""
    return _with_first(b'"table":%d' % table, line)


def bank(milliseconds: int, line: bytes) -> bytes:
    """Return a question line with "bank", the seconds that are left in the bot's bank, as its first member."""
    return _with_first(b'"bank":%d.%03d' % divmod(milliseconds, 1000), line)


def refused(reason: str, line: bytes) -> bytes:
    """Return a question line with "refused", the reason why the last answer was refused, as its first member."""
    return _with_first(b'"refused":%b' % json.dumps(reason).encode(), line)


def _with_first(member: bytes, line: bytes) -> bytes:
    return b"{%b%b%b" % (member, b"" if line.startswith(b"{}") else b",", line[1:])


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
    encode=encode,
    receive=receive,
    number=number,
    split_table_number=split_table_number,
    bank=bank,
    over=over,
    write=write,
    framing=framing(encode, encode_all),
    note=note,
    refused=refused,
)
