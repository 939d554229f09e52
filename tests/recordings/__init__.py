"""Recordings of games played elsewhere, and what each of their lines claims.

A module here belongs to one game: CHECKS maps a file's stem to the check of one of its lines, COMPETITION checks a line
of competition_scenarios. A check raises AssertionError, saying what is recorded and what is ours.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from host.games.engine import Request
from protocols.argv import PROTOCOL
from protocols.wire import Fault, FaultKind

Line = dict[str, Any]
Check = Callable[[Line], None]


def same(what: str, ours: object, recorded: object) -> None:
    """Claim that ours is what was recorded."""
    assert ours == recorded, f"{what}: ours is {ours!r}, recorded is {recorded!r}"


def fault(name: str) -> Fault:
    """Return the fault that a recording calls by this name."""
    return Fault(FaultKind(name))


def words(request: Request | None) -> list[str]:
    """Return the arguments that the argv protocol makes of an open question."""
    assert request is not None, "the table is over, the recording goes on"
    return [word.decode() for word in PROTOCOL.ask(request.view)]


def stem(path: Path) -> str:
    """Return a recording's name, `.jsonl` or `.jsonl.gz` taken off."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def lines(path: Path) -> Iterator[Line]:
    """Return the lines of one recording."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def failing(check: Check, recording: Iterator[Line]) -> tuple[int, list[str]]:
    """Return how many lines were checked, and what is wrong with each that failed."""
    checked, wrong = 0, []
    for checked, line in enumerate(recording, 1):
        try:
            check(line)
        except Exception as error:  # whatever breaks on one line must not hide the other lines
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            wrong.append(f"{line.get('id', f'line {checked}')}: {kind}{error}")
    return checked, wrong


def keys(line: Line) -> frozenset[str]:
    """Return which fields a competition line has beside those that only describe it."""
    return frozenset(line) - {"id", "game", "rule", "ambiguity", "note"}


def by_fields(checks: dict[frozenset[str], Check]) -> Check:
    """Return a check that chooses by a line's fields, and fails where nobody knows them."""

    def check(line: Line) -> None:
        known = checks.get(keys(line))
        assert known, f"nothing here checks a line with the fields {', '.join(sorted(keys(line)))}"
        known(line)

    return check
