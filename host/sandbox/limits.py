"""What a bot may use up: time in seconds, sizes in bytes."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB}
A_DAY = 86400.0
CLOCKS = ("wall", "cpu", "fair")
"""What counts of an answer's time: all of it · what all its processes compute · all but the waits for a processor."""

PATIENCE = 4  # times its limit that an answer may take in all, whatever the clock counts of that


class Limits(NamedTuple):
    """The limits of one bot; a manifest may ask for less than the tournament grants, never for more."""

    move: float = 1.0  # seconds of wall clock for one answer
    startup: float = 10.0  # seconds more, for the first answer of the first process of a fixture
    cpu: float = 1.0  # seconds of processor time for one answer, the whole process tree
    cpu_table: float = A_DAY  # seconds of processor time for a table; what one leaves over, the next ones may use
    memory: int = 512 * MIB
    tasks: int = 64  # processes and threads
    output: int = 4 * KIB  # of one answer, on stdout
    state: int = MIB  # the one file a bot may keep; 0 = none
    files: int = 16 * MIB  # of one file it writes in its own folder
    open_files: int = 64
    clock: str = "wall"  # of CLOCKS: what `move` and `startup` count

    def at_most(self, other: "Limits") -> "Limits":
        """Return the smaller of two limits, each by itself, on this one's clock."""
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Limits(*(min(mine, theirs) for mine, theirs in pairs))._replace(clock=self.clock)

    @property
    def patience(self) -> float:
        """The seconds of wall clock after which an answer is late whatever its clock counts."""
        return self.move if self.clock == "wall" else PATIENCE * self.move

    @property
    def computing(self) -> float:
        """The seconds that one answer may compute: where its clock counts those, no more than it may take."""
        return self.cpu if self.clock == "wall" else min(self.cpu, self.move)


def amount(text: str, units: dict[str, float] | dict[str, int]) -> float:
    """Return what "1.5 s" or "512 MiB" says in the base unit; raise ValueError naming the units when it has none."""
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)\s*", text)
    if match is None or match[2] not in units:
        raise ValueError(f'"{text}" needs a number and a unit ({", ".join(units)})')
    return float(match[1]) * units[match[2]]


def seconds(text: str) -> float:
    """Return a duration in seconds; raise ValueError when it has no unit."""
    return amount(text, SECONDS)


def size(text: str) -> int:
    """Return a size in bytes; raise ValueError when it has no unit."""
    return int(amount(text, BYTES))
