"""Parses the usual lines of a referee in a third of the time of protocols/referee.py, which parses all others.

The usual line has questions, and perhaps a list of events. A line that this module does not accept is not wrong for that:
the other parser accepts it, or says what is wrong.
"""

from typing import Annotated, Any

import msgspec

from host.games.engine import new_tuple
from protocols.referee import MAX_ANSWER_LINES, MAX_INTEGER, MAX_LIMIT_MS, MAX_REFEREE_LINE_BYTES, Ask, Message

_Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER - 1)]
_Scalar = str | _Integer | bool | None
_Item = str | _Integer | bool | tuple[_Scalar, ...] | None
_Value = str | _Integer | bool | tuple[_Item, ...] | None
_Fact = str | _Integer | float | bool | list[str | _Integer | float | bool | None] | None


class _Ask(msgspec.Struct, forbid_unknown_fields=True):
    seat: _Integer
    view: dict[str, _Value]
    limit_ms: Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT_MS)] | msgspec.UnsetType = msgspec.UNSET
    lines: Annotated[int, msgspec.Meta(ge=1, le=MAX_ANSWER_LINES)] = 1


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    table: _Integer
    ask: list[_Ask]
    tell: list[dict[str, _Fact]] = []


_decode = msgspec.json.Decoder(_Line).decode


def read_usual(line: bytes, fields: frozenset[str]) -> Message | None:
    """Return the message of a usual line; None for any other line, right or wrong."""
    if len(line) > MAX_REFEREE_LINE_BYTES:
        return None
    try:
        said = _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    asks: list[Any] = []
    for each in said.ask:
        if each.view.keys() != fields:
            return None
        limit = None if each.limit_ms is msgspec.UNSET else each.limit_ms
        asks.append(new_tuple(Ask, (each.seat, each.view, limit, each.lines)))
    for event in said.tell:
        if type(event.get("event")) is not str:
            return None
    if not asks:
        return None
    return new_tuple(Message, (said.table, (), (), tuple(said.tell), tuple(asks), None, line))
