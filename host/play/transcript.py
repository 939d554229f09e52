"""Encodes transcripts: all steps of the tables whose rules run in another process, with their questions and events.

A record has the transcripts of its tables, so that a replay does not run these rules.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from host.base.bounded_zlib import decompress
from host.games.engine import Moves, Request, Scores
from host.play.sources.source import Step
from protocols.wire import View

MAX_TRANSCRIPT_BYTES = 64 << 20
"""Maximum bytes of the transcript of one fixture, before it is compressed. A fixture with more is undecided."""


MAX_STORED_TRANSCRIPT_BYTES = 2 * MAX_TRANSCRIPT_BYTES
"""Maximum bytes of an unpacked transcript, which also has the length of each step and of each table."""


class _StoredStep(NamedTuple):
    """A `Step` as it is stored: a view is stored as its values, without their names."""

    requests: tuple[tuple[int, Any], ...]
    scores: Scores | None
    illegal: tuple[int, ...]
    limits: tuple[float | None, ...]
    told: tuple[tuple[str, dict[str, Any]], ...]
    moves: Moves | None


_Raws = tuple[msgspec.Raw, ...]
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.decode
_STEPS = msgspec.msgpack.Decoder(tuple[_StoredStep, ...])


encode_step: Callable[[Step], bytes] = _encode
"""Returns one step of a table as bytes."""


def are_same(one: bytes, other: bytes) -> bool:
    """Return whether two encoded steps are equal, except that the facts of an event may be in different orders."""
    return one == other or _decode(one) == _decode(other)


def join_steps(steps: Iterable[bytes]) -> bytes:
    """Return the transcript of a table: all its encoded steps, in order."""
    return _encode(list(map(msgspec.Raw, steps)))


def decode_steps(encoded: bytes, view: type[Any]) -> tuple[Step, ...]:
    """Return the steps of a table, given its transcript and the type of its views. Raise ValueError if it is damaged."""
    return tuple(
        Step(tuple(Request(seat, view_from(shown, view)) for seat, shown in step.requests), *step[1:])
        for step in _decode_steps(encoded)
    )


def plain_steps(encoded: bytes) -> list[dict[str, Any]]:
    """Return the steps of a table as JSON objects, given its transcript. Raise ValueError if it is damaged."""
    return [step._asdict() for step in _decode_steps(encoded)]


def _decode_steps(encoded: bytes) -> tuple[_StoredStep, ...]:
    try:
        return _STEPS.decode(encoded)
    except RecursionError as deep:
        raise ValueError("it is nested too deeply") from deep


def view_from(values: Any, view: type[Any]) -> View:
    """Return a view of this type from its values. Raise ValueError if they do not fit."""
    found: View = msgspec.convert(_frozen(values), view)
    return found


def _frozen(value: Any) -> Any:
    """Return a value with tuples instead of lists."""
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def pack_transcript(tables: Sequence[bytes]) -> bytes:
    """Return the transcript of a fixture for its record, packed from the transcripts of its tables, in order."""
    return zlib.compress(_encode(list(map(msgspec.Raw, tables))), 3)


def unpack_transcript(packed: bytes) -> list[bytes]:
    """Return the transcript of each table in a fixture's packed transcript, in order.

    Raise ValueError if it is damaged.
    """
    try:
        raws = _decode(decompress(packed, MAX_STORED_TRANSCRIPT_BYTES), type=_Raws)
    except (zlib.error, TypeError) as broken:  # SQLite may contain text instead of bytes
        raise ValueError(f"the transcript is damaged: {broken}") from broken
    return [bytes(raw) for raw in raws]
