"""Parses the usual lines of a referee five times as fast as protocols/referee.py, which parses all other lines.

A line that this module does not accept may still be correct: the other parser accepts it, or reports what is wrong. A
line that this module accepts has the same meaning for the other parser. In particular, no key occurs twice: this module
checks that the line has as many keys as the message.
"""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec.structs import asdict, astuple

from host.games.engine import Request, new_tuple
from protocols.referee import (
    MAX_ANSWER_LINES,
    MAX_LIMIT_MS,
    MAX_REFEREE_LINE_BYTES,
    MAX_SCORE,
    Ask,
    Message,
    Over,
)
from protocols.strict_json import MAX_INTEGER

_KEY = re.compile(rb'"[ \t\r\n]*:')
"""The end of a key. A text can contain the same characters.

Then the line seems to have more keys, and the other parser reads it.
"""

_View = TypeVar("_View", bound=msgspec.Struct)
_Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER - 1)]
_Scalar = str | _Integer | bool | None
_Item = str | _Integer | bool | tuple[_Scalar, ...] | None
_Value = str | _Integer | bool | tuple[_Item, ...] | None
_Fact = str | _Integer | float | bool | list[str | _Integer | float | bool | None] | None


class _Ask(msgspec.Struct, Generic[_View], forbid_unknown_fields=True, gc=False):
    seat: _Integer
    view: _View
    limit_ms: Annotated[int, msgspec.Meta(ge=1, le=MAX_LIMIT_MS)] = None  # type: ignore[assignment]  # null is refused
    lines: Annotated[int, msgspec.Meta(ge=1, le=MAX_ANSWER_LINES)] = None  # type: ignore[assignment]


class _Over(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    scores: tuple[Annotated[int, msgspec.Meta(ge=-MAX_SCORE, le=MAX_SCORE)], ...]
    moves: str | None = None


class _Line(msgspec.Struct, Generic[_View], forbid_unknown_fields=True, gc=False):
    table: _Integer
    ask: Annotated[tuple[_Ask[_View], ...], msgspec.Meta(min_length=1)] = ()
    tell: tuple[dict[str, _Fact], ...] = None  # type: ignore[assignment]
    illegal: tuple[_Integer, ...] = None  # type: ignore[assignment]
    over: _Over = None  # type: ignore[assignment]  # null is refused


class UsualLines:
    """Parses the usual lines of one game: lines that ask seats, or end a table, and show no text to a seat."""

    def __init__(self, fields: Sequence[str], view: type[Any] | None = None) -> None:
        """`fields` are the fields of every view. `view` is the type of the views; without it, views are dicts.

        With `view`, the questions of a line are Requests instead of Asks if none of them has a time limit and each expects
        one line as its answer.
        """
        # To read a struct takes half the time of a dict, and a struct has all fields and no others.
        values = msgspec.defstruct("Values", [(name, _Value) for name in fields], forbid_unknown_fields=True, gc=False)
        self._decode = msgspec.json.Decoder(_Line[values]).decode  # type: ignore[valid-type]
        self._view, self._fields = view, len(fields)

    def read(self, line: bytes) -> Message | None:
        """Return the message of a usual line; None for any other line, right or wrong."""
        if len(line) > MAX_REFEREE_LINE_BYTES:
            return None
        try:
            said = self._decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        ask, over = said.ask, said.over
        if bool(ask) is (over is not None) or len(_KEY.findall(line)) != self._count_keys(said):
            return None
        tell: list[tuple[str, dict[str, Any]]] = []
        for facts in said.tell or ():
            event = facts.pop("event", None)
            if type(event) is not str:
                return None
            tell.append((event, facts))
        kind = self._view
        asks: list[Ask | Request] = []
        for each in ask if kind is not None else ():
            if each.limit_ms is not None or each.lines not in (None, 1):
                break
            asks.append(new_tuple(Request, (each.seat, new_tuple(kind, astuple(each.view)))))
        if len(asks) < len(ask):
            asks = [Ask(each.seat, self._read_view(each.view), each.limit_ms, each.lines or 1) for each in ask]
        ended = None if over is None else Over(over.scores, over.moves)
        return new_tuple(Message, (said.table, said.illegal or (), (), tuple(tell), tuple(asks), ended, line))

    def _count_keys(self, said: _Line[Any]) -> int:
        """Return how many keys the line of a message has if no key occurs twice."""
        count = 1 + (said.illegal is not None)
        if said.tell is not None:
            count += 1 + sum(map(len, said.tell))
        if said.over is not None:
            count += 2 + (said.over.moves is not None)
        if said.ask:
            count += 1 + len(said.ask) * (2 + self._fields)
            count += sum([(each.limit_ms is not None) + (each.lines is not None) for each in said.ask])
        return count

    def _read_view(self, values: Any) -> Any:
        return asdict(values) if self._view is None else new_tuple(self._view, astuple(values))
