"""Composes the chain of a journal: one line of canonical JSON for each entry, and the seal after each line.

An entry is a journal's terms, a stage that begins or ends, a version of a bot, a fixture, a fixture without a result, or
a change. Every line holds the seal before it, so a seal covers everything up to its line. The functions are pure: they
get the stored values.
docs/checking.md describes the lines for people who check them without croupier.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from host.base.bounded_zlib import decompress
from host.play.records import MAX_STORED_FIELDS, STORED_FIELDS, Record, Undecided, UnpackedLimits
from host.play.transcript import MAX_STORED_TRANSCRIPT_BYTES

ChainEntryKind = Literal["terms", "stage", "version", "fixture", "undecided", "change"]

SALT_BYTES = 32
"""Number of random bytes of a fixture. The first half is the salt for the hashes of its answers and its transcript, the
second half the salt for the hash of its private part."""

PUBLIC_FIELDS = ("faults", "benched", "replayed")
"""The fields of a record's summary that a line shows. The private part has a hash of the whole summary."""


def canonical(value: Any) -> str:
    """Return the JSON text of a value: sorted keys, no spaces, ASCII.

    A number with a fraction has the fewest digits that a reader converts back to the same 64-bit number. Raise
    ValueError for NaN and infinite numbers, which JSON does not have.
    """
    return _encode(value)


def parsed(text: str) -> Any:
    """Return the value of a JSON text. Raise ValueError if the text is not canonical JSON."""
    try:
        value = json.loads(text)
        if canonical(value) == text:
            return value
    except RecursionError as deep:
        raise ValueError(str(deep)) from deep
    raise ValueError("a text is not canonical JSON")


def line_after(seal: str, kind: str, content: Mapping[str, Any]) -> str:
    """Return the line of an entry, without a line end. `seal` is that of the line before; empty for the first line."""
    return canonical({"before": seal, kind: content})


def seal_of(line: str) -> str:
    """Return the seal after a line, in hexadecimal: the SHA-256 of the line with its line end."""
    return _sha256(f"{line}\n".encode())


def content_of(line: str, kind: ChainEntryKind, before: str) -> Any:
    """Return the content of a line. Raise ValueError if the line has another kind or another seal than `before`."""
    entry = parsed(line)
    if not isinstance(entry, dict) or entry.keys() != {"before", kind} or entry["before"] != before:
        raise ValueError(f"not a line of the kind {kind} after {before or 'nothing'}")
    return entry[kind]


class StoredFixture(NamedTuple):
    """Data of a played fixture as the journal stores it. The blobs stay packed or compressed."""

    number: int  # from 1, in the order in which fixtures ended
    path: str
    stage: str
    at: float  # seconds since 1970
    about: Mapping[str, Any]
    versions: Sequence[int | None]  # of its bots, in their order
    summary: bytes
    seats: bytes  # for each table, the bots by seat as indexes into the fixture's bots
    scores: bytes
    answers: bytes
    times: bytes
    banks: bytes
    transcript: bytes
    faults: Sequence[tuple[int, str, str, bytes]]  # id, bot, kind, evidence
    states: Sequence[tuple[str, bytes]]  # the state files that outlive it, after it


def fixture_content(stored: StoredFixture, salt: bytes) -> dict[str, Any]:
    """Return the content of a fixture's line. Raise ValueError, TypeError or zlib.error if stored data is damaged."""
    about = stored.about
    if about["path"] != stored.path or len(salt) != SALT_BYTES:
        raise ValueError(f"the description of {stored.path!r} is that of another fixture")
    values = _unpack(stored.summary)
    summary = dict(zip(Record._fields[: max(STORED_FIELDS, min(len(values), MAX_STORED_FIELDS))], values, strict=True))
    limits = UnpackedLimits.of(msgspec.msgpack.decode(stored.summary, type=Record))
    private = {
        "summary": _sha256(stored.summary),
        "times": _sha256(stored.times),
        "banks": _sha256(stored.banks),
        "evidence": [[number, bot, kind, _sha256(piece)] for number, bot, kind, piece in stored.faults],
        "states": [[bot, _sha256(content)] for bot, content in stored.states],
    }
    half = SALT_BYTES // 2
    hashes = {
        "answers": salted(salt[:half], decompress(stored.answers, limits.answers) if stored.answers else b""),
        "private": salted(salt[half:], canonical(private).encode()),
    }
    if stored.transcript:  # only games whose rules run in another process have one
        said = decompress(stored.transcript, MAX_STORED_TRANSCRIPT_BYTES)
        hashes["transcript"] = salted(salt[:half], said)
    public = {key: summary[key] for key in PUBLIC_FIELDS}
    more = {key: getattr(stored, key) for key in ("number", "stage", "at", "versions")}
    seating = {
        key: _unzipped(blob, limits.tables) for key, blob in (("seats", stored.seats), ("scores", stored.scores))
    }
    return {**about, **more, **seating, **public, **hashes}


class StoredUndecided(NamedTuple):
    """Data of a fixture without a result, as the journal stores it."""

    number: int  # from 1, in the order in which games failed
    path: str
    stage: str
    at: float  # seconds since 1970
    about: Mapping[str, Any]
    why: bytes


def undecided_content(stored: StoredUndecided) -> dict[str, Any]:
    """Return the content of the line for a fixture without a result.

    The line names the table, the answer and the reason of the failure, and has a hash of everything stored about it.
    Raise ValueError if the stored data is damaged.
    """
    if stored.about["path"] != stored.path:
        raise ValueError(f"the description of {stored.path!r} is that of another fixture")
    why = msgspec.msgpack.decode(stored.why, type=Undecided)
    more = {key: getattr(stored, key) for key in ("number", "stage", "at")}
    where = {"table": why.table, "answer": why.answer, "given_by": list(why.given_by), "reason": why.reason}
    return {**stored.about, **more, **where, "sha256": _sha256(stored.why)}


def _unzipped(blob: bytes, limit: int) -> Any:
    return _unpack(decompress(blob, limit)) if blob else []


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def salted(salt: bytes, content: bytes) -> str:
    """Return the hash of salt and hidden content, in hexadecimal. Without the salt nobody can test a guess."""
    return _sha256(salt + content)


def differing(old: Any, new: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield (key, old value, new value) for each difference between two JSON values.

    Nested keys are joined with dots. The items of a list have the keys 1, 2 … A missing value is "absent".
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        pairs = [(each, old.get(each, "absent"), new.get(each, "absent")) for each in sorted(old.keys() | new.keys())]
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = [(str(nth), *both) for nth, both in enumerate(zip(old, new, strict=True), 1)]
    else:
        pairs = []
        if canonical(old) != canonical(new):
            yield key, old, new
    for each, before, after in pairs:
        yield from differing(before, after, f"{key}.{each}" if key else each)


_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_unpack = msgspec.msgpack.decode
