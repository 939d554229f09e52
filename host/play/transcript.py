"""Transcripts: what tables whose rules run elsewhere have said. A record has them, so that a replay runs no foreign rules."""

import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from host.base.bounded_zlib import decompress
from host.games.engine import Moves, Request, Scores
from host.play.sources.source import Step
from protocols.wire import View

MAX_TRANSCRIPT_BYTES = 64 << 20
"""Most bytes of the transcript of one fixture, before it is compressed. A fixture with more is undecided."""


MAX_STORED_TRANSCRIPT_BYTES = 2 * MAX_TRANSCRIPT_BYTES
"""Most bytes of an unpacked transcript: with the length of each step and each table."""


class _StoredStep(NamedTuple):
    """A `Step` as it is stored: with the values of the views only."""

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
    """Return whether two encoded steps say the same. The facts of an event may have another order."""
    return one == other or _decode(one) == _decode(other)


def join_steps(steps: Iterable[bytes]) -> bytes:
    """Return all encoded steps of a table as the transcript of the table."""
    return _encode(list(map(msgspec.Raw, steps)))


def decode_steps(encoded: bytes, view: type[Any]) -> tuple[Step, ...]:
    """Return what a table has said, given the type of the views. Raise ValueError if the bytes are damaged."""
    return tuple(
        Step(tuple(Request(seat, view_from(shown, view)) for seat, shown in step.requests), *step[1:])
        for step in _decode_steps(encoded)
    )


def plain_steps(encoded: bytes) -> list[dict[str, Any]]:
    """Return what a table has said as JSON values. Raise ValueError if the bytes are damaged."""
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
    """Return the transcript of a fixture for its record: what each table has said, in the order of the tables."""
    return zlib.compress(_encode(list(map(msgspec.Raw, tables))), 3)


def unpack_transcript(packed: bytes) -> list[bytes]:
    """Return what each table of a fixture has said, encoded. Raise ValueError if the transcript is damaged."""
    try:
        raws = _decode(decompress(packed, MAX_STORED_TRANSCRIPT_BYTES), type=_Raws)
    except (zlib.error, TypeError) as broken:  # SQLite may contain text instead of bytes
        raise ValueError(f"the transcript is damaged: {broken}") from broken
    return [bytes(raw) for raw in raws]
