"""Check recordings of games that were played by other programs.

Each module belongs to one game. CHECKS maps the stem of a file to the check of one of its lines. COMPETITION checks a
line of competition_scenarios. A check raises AssertionError with the recorded value and ours.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from host.games.engine import Request
from protocols import argv
from protocols.wire import Fault, FaultKind

Line = dict[str, Any]
Check = Callable[[Line], None]


def same(what: str, ours: object, recorded: object) -> None:
    """Assert that our value equals the recorded one."""
    assert ours == recorded, f"{what}: ours is {ours!r}, recorded is {recorded!r}"


def fault(name: str) -> Fault:
    """Return the fault with this name in a recording."""
    return Fault(FaultKind(name))


def words(request: Request | None) -> list[str]:
    """Return the arguments of the argv protocol for an open question."""
    assert request is not None, "the table is over, the recording goes on"
    return [word.decode() for word in argv.ask(request.view)]


def stem(path: Path) -> str:
    """Return the name of a recording without `.jsonl` or `.jsonl.gz`."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def lines(path: Path) -> Iterator[Line]:
    """Yield the lines of one recording."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def failing(check: Check, recording: Iterator[Line]) -> tuple[int, list[str]]:
    """Return how many lines were checked, and an error for each line that failed."""
    checked, wrong = 0, []
    for checked, line in enumerate(recording, 1):
        try:
            check(line)
        except Exception as error:  # an error in one line must not hide errors in other lines
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            wrong.append(f"{line.get('id', f'line {checked}')}: {kind}{error}")
    return checked, wrong


def keys(line: Line) -> frozenset[str]:
    """Return the fields of a competition line, without those that only describe it."""
    return frozenset(line) - {"id", "game", "rule", "ambiguity", "note"}


def by_fields(checks: dict[frozenset[str], Check]) -> Check:
    """Return a check that selects another check by the fields of a line, and fails for unknown fields."""

    def check(line: Line) -> None:
        known = checks.get(keys(line))
        assert known, f"nothing here checks a line with the fields {', '.join(sorted(keys(line)))}"
        known(line)

    return check
