"""Defines the messages between a worker (own_rules.py) and the process of an organiser's rules (python_rules.py).

A message is the length of a value in four bytes, the highest first, and then the value as MessagePack. In each round
the worker writes one `RoundInput` for all tables. The process replies with one step for each answered table and then
for each opened table, in the order of the input. Both sides are croupier's own and equally trusted. With a line of
referee/1 for each table, a decision would take 5 µs longer, and the views of a game could not be of several types.
"""

import struct
from typing import Any, NamedTuple

import msgspec

from host.games.engine import Moves

HEAD = struct.Struct(">I")

READY = HEAD.pack(0)
"""The first message of the process, an empty one: the process is ready."""


class Opening(msgspec.Struct, array_like=True, gc=False):
    """A table that begins."""

    number: int
    rules: msgspec.Raw  # the values of the rules, in a list
    luck: bytes  # the key of its randomness
    shares_luck: bool  # whether other tables have the same luck


class RoundInput(msgspec.Struct, array_like=True, gc=False):
    """The input for all tables in one round: numbers of tables to forget, answers, and tables to open."""

    dropped: tuple[int, ...]
    answers: tuple[tuple[int, tuple[str, ...]], ...]  # a table by its number, and its answers as journals spell them
    opened: tuple[Opening, ...]


class ViewType(NamedTuple):
    """A type of views: its module, its name there, and its fields."""

    module: str
    name: str
    fields: tuple[str, ...]


Said = tuple[tuple[tuple[int, int, Any], ...], tuple[int, ...] | None, tuple[int, ...], Moves | None]
"""The requests, scores, illegal answers and moves of a `Step`. A request is a seat, the number of the type of its view, from
0, and the values of the view in a list."""


class Reply(msgspec.Struct, array_like=True, gc=False):
    """The reply of the process to an input."""

    view_types: list[ViewType]  # that appear for the first time, in the order of their numbers
    steps: list[Any]  # each a `Said`


class Failure(msgspec.Struct):
    """A failure of the rules: the last line that their process writes to standard error, as JSON."""

    reason: str = ""
    where: str = ""  # file and line of an organiser's code
    table: int | None = None
    refused: tuple[tuple[Any, ...], ...] = ()  # the problems of a UserError
    exit_code: int = 0


def framed(value: object) -> bytes:
    """Return a message: the length of the encoded value, and the encoded value."""
    data = msgspec.msgpack.encode(value)
    return HEAD.pack(len(data)) + data
