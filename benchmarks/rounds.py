"""Helpers for benchmarks on a shared machine: contenders take turns round by round; medians and ratios are printed."""

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple


class Contender(NamedTuple):
    """A contender. `work` is timed and returns the number of things it has done; `before` is not timed."""

    name: str
    work: Callable[[], int]
    before: Callable[[], object] = lambda: None


class Measured(NamedTuple):
    """The seconds per thing in each round."""

    name: str
    seconds: list[float]

    @property
    def median(self) -> float:
        """Return the median of the rounds."""
        return median(self.seconds)


def measured(contenders: Sequence[Contender], rounds: int) -> list[Measured]:
    """Return the durations of all contenders, which take turns so that noise affects them equally."""
    results = [Measured(contender.name, []) for contender in contenders]
    for _ in range(rounds):
        for contender, result in zip(contenders, results, strict=True):
            contender.before()
            started = time.perf_counter()
            things = contender.work()
            result.seconds.append((time.perf_counter() - started) / things)
    return results


def duration(seconds: float) -> str:
    """Return a duration with three digits and a suitable unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with headings: the first column left-aligned, the others right-aligned."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["─" * width for width in widths], *rows]
    sides = [str.ljust, *[str.rjust] * (len(widths) - 1)]
    return "\n".join(
        "  ".join(side(cell, width) for side, cell, width in zip(sides, line, widths, strict=True)) for line in lines
    )


def shown(results: Sequence[Measured]) -> str:
    """Return medians, the range of the rounds, and the ratio to the first contender."""
    first = results[0].median
    rows = [
        (
            result.name,
            duration(result.median),
            f"{duration(min(result.seconds))} – {duration(max(result.seconds))}",
            f"{result.median / first:.2f}",
        )
        for result in results
    ]
    return table(("", "median", "of all rounds", "ratio"), rows)
