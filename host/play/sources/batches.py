"""Defines what a worker and the process of an organiser's rules in Python write to each other (own_rules.py, python_rules.py).

A message is its length in four bytes, the highest first, and a value as MessagePack. The worker writes a `Batch` for all
tables of a round; the process replies with a step of each table that was opened or answered, in that order. Both sides are
croupier's own and equally trusted. With a line of referee/1 for each table, a decision takes 5 µs longer, and the views of a
game could not be of several types.
"""

import struct
from typing import Any, NamedTuple

import msgspec

from host.games.engine import Moves

HEAD = struct.Struct(">I")

READY = HEAD.pack(0)
"""What the process writes first: an empty message."""


class Opening(msgspec.Struct, array_like=True, gc=False):
    """A table that begins."""

    number: int
    rules: msgspec.Raw  # the values of the rules, in a list
    luck: bytes  # the key of its randomness
    shares_luck: bool  # whether other tables have the same


class Batch(msgspec.Struct, array_like=True, gc=False):
    """All that a round gives to tables."""

    dropped: tuple[int, ...]
    answers: tuple[tuple[int, tuple[str, ...]], ...]  # a table by its number, and its answers as journals spell them
    opened: tuple[Opening, ...]


class Kind(NamedTuple):
    """A type of views: its module, its name there, and its fields."""

    module: str
    name: str
    fields: tuple[str, ...]


Said = tuple[tuple[tuple[int, int, Any], ...], tuple[int, ...] | None, tuple[int, ...], Moves | None]
"""The requests, scores, illegal answers and moves of a `Step`. A request is a seat, the number of the kind of its view, from
0, and the values of the view in a list."""


class Reply(msgspec.Struct, array_like=True, gc=False):
    """What the process replies to a batch."""

    kinds: list[Kind]  # of views that appear for the first time, in the order of their numbers
    steps: list[Any]  # each a `Said`


class Failure(msgspec.Struct):
    """How rules have failed: the last line that their process writes to standard error, as JSON."""

    reason: str = ""
    where: str = ""  # file and line of an organiser's code
    table: int | None = None
    refused: tuple[tuple[Any, ...], ...] = ()  # the problems of a UserError
    exit_code: int = 0


def framed(value: object) -> bytes:
    """Return a value as a message."""
    data = msgspec.msgpack.encode(value)
    return HEAD.pack(len(data)) + data
