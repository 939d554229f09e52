"""Says how the time of a recorded decision was spent, in words and as JSON values."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from host.base.format import duration
from host.bots.values import Evidence


def time_breakdown(piece: Evidence) -> str:
    """Return how the time of a decision was spent, in words; "" if nothing was measured."""
    parts = (
        (piece.cpu, "computing"),
        (piece.waited, "waiting for a processor"),
        (piece.stalls.blocked, "waiting for a disk or for memory"),
        (piece.stalls.stopped, "stopped from outside"),
        (piece.stalls.paused, "while croupier itself was stopped"),
        (piece.stalls.throttled, "throttled by a control group"),
        (piece.overhead, "overhead of croupier"),
    )
    return ", ".join(f"{duration(seconds)} {what}" for seconds, what in parts if seconds > 0)


def by_question(pieces: Iterable[Evidence]) -> dict[int, Evidence]:
    """Return the evidence of the decisions at a table, by number of the question.

    If a decision has evidence both as a fault and as the slowest decision, return its evidence as a fault.
    """
    return {piece.number: piece for piece in sorted(pieces, key=lambda piece: piece.kind != "slowest")}


def times_json(piece: Evidence, keys: Sequence[str], spelled: Callable[[float], float]) -> dict[str, Any]:
    """Return the times of a decision as JSON values; `spelled` converts seconds. A time that was not measured is None.

    `keys` are the keys for five values, in this order: the whole time, the time spent computing, the time spent waiting
    for a processor, the overhead of croupier, and the stalls by kind.
    """
    measured = (spelled(time) if piece.wall else None for time in (piece.waited, piece.overhead))
    stalls = {kind: spelled(time) for kind, time in piece.stalls._asdict().items() if time}
    times = (spelled(piece.wall) or None, spelled(piece.cpu) or None, *measured, stalls)
    return dict(zip(keys, times, strict=True))
