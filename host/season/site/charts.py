"""Computes the charts and texts for figures on the pages of a season: whiskers, sparklines, ratings and shares."""

import time
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import NamedTuple
from urllib.parse import quote

import msgspec

from host.base.format import thousands
from host.base.safe_text import escape_control_chars, one_line
from host.base.sheet import as_csv
from host.report.charts import Scale, Whisker, axis_of
from host.report.terminal import NONE
from host.season.documents import LadderDocument, LadderRow
from host.season.entries.values import SubmissionState

STATES = frozenset({*SubmissionState, "received", "running", "finished", "damaged"})
MARKS = {"✓": "passed", "!": "noted", "✗": "failed"}
"""The CSS class for each mark of a line in a verdict. Screen readers read it instead of the mark."""
MAX_DRAWN_ELO = 100_000.0  # a rating beyond is drawn at this value
CERTAIN = 0.975  # as croupier's other pages require of an order
SENTENCES = 8  # pairs of neighbours, from the top, whose order is put into words


def moment(seconds: float) -> str:
    """Return a time in seconds since 1970 as ISO 8601 in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def segment(untrusted: str) -> str:
    """Return a text in percent encoding, as one segment of an address."""
    return quote(untrusted, safe="")


def elo(value: float | None) -> str:
    """Return a rating without decimals: "1 612"."""
    return NONE if value is None else thousands(round(value))


def sure(probability: float | None) -> str:
    """Return a probability as a percentage without decimals; ">99 %" if it is above 0.995."""
    if probability is None:
        return NONE
    return ">99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


def half_points(won: float) -> str:
    """Return a number of won tables, with one decimal only if it is not whole: "12.5"."""
    return thousands(won) if float(won).is_integer() else thousands(won, 1)


def size(count: int) -> str:
    """Return a number of bytes in a suitable unit."""
    for unit, bytes_of_it in (("GiB", 1 << 30), ("MiB", 1 << 20), ("kB", 1000)):
        if count >= bytes_of_it:
            return f"{count / bytes_of_it:.3g} {unit}"
    return f"{count} B"


def known_state(word: str) -> str:
    """Return the CSS class of a state; empty for an unknown state."""
    return word if word in STATES else ""


def final(word: str) -> bool:
    """Return whether a submission in this state cannot change its state any more."""
    return word in set(SubmissionState) and SubmissionState(word).final


def trend(history: Sequence[float]) -> str:
    """Return a sparkline in words, for example "rating from 1 480 to 1 512 in 9 rounds"."""
    return f"rating from {elo(history[0])} to {elo(history[-1])} in {len(history)} rounds"


def sparkline(history: Sequence[float]) -> str:
    """Return the points of a line through the ratings, for an SVG 96 units wide and 22 high."""
    return _points(history, (2.0, 94.0), (19.0, 3.0))


def _points(values: Sequence[float], across: tuple[float, float], up: tuple[float, float]) -> str:
    low, high = min(values), max(values)
    step = (across[1] - across[0]) / max(len(values) - 1, 1)

    def y(value: float) -> float:
        share = (value - low) / (high - low) if high > low else 0.5
        return up[0] + share * (up[1] - up[0])

    return " ".join(f"{across[0] + nth * step:.1f},{y(value):.1f}" for nth, value in enumerate(values))


class Line(NamedTuple):
    """A line of ratings in an SVG 640 units wide. `down` has the y and the text of each label of the vertical axis."""

    points: str
    height: int
    down: Sequence[tuple[float, str]]
    label: str


def rating_line(history: Sequence[float]) -> Line | None:
    """Return the chart of the ratings after each round; None for fewer than two ratings."""
    if len(history) < 2:
        return None
    low, high = min(history), max(history)
    down = [(188.0, elo(low)), (20.0, elo(high))] if high > low else [(104.0, elo(low))]
    return Line(_points(history, (60.0, 606.0), (188.0, 20.0)), 200, down, trend(history))


def rating_axis(rows: Sequence[LadderRow]) -> tuple[Scale, Sequence[tuple[LadderRow, Whisker]]]:
    """Return the common axis of the rows of a ladder, and each row with its whisker."""
    scale = axis_of([value for row in rows for value in _bounds(row)])
    drawn = []
    for row in rows:
        low, at, high = map(scale.x, _bounds(row))
        drawn.append((row, Whisker(low, at, high, f"{elo(row.rating)} ± {elo(row.interval)}")))
    return scale, drawn


def _bounds(row: LadderRow) -> tuple[float, float, float]:
    values = (row.rating - row.interval, row.rating, row.rating + row.interval)
    low, at, high = (max(-MAX_DRAWN_ELO, min(MAX_DRAWN_ELO, value)) for value in values)
    return low, at, high


def order_sentences(rows: Sequence[LadderRow]) -> Sequence[tuple[str, bool]]:
    """Return a sentence for each of the first SENTENCES pairs of ranked neighbours, and whether their order is certain.

    For example ("mine-4 ahead of davey-2: 97 % sure", False).
    """
    ranked = [row for row in rows if row.rank]
    return [
        (f"{one_line(row.label)} ahead of {one_line(below.label)}: {sure(row.ahead)} sure", row.ahead >= CERTAIN)
        for row, below in islice(pairwise(ranked), SENTENCES)
        if row.ahead is not None
    ]


def rating_sentence(row: LadderRow) -> str:
    """Return a row of the ladder in words: "mine-4 has rank 3 with 1 612 ± 24 (rank 3 to 5 is likely); …"."""
    if not row.rank:
        return f"{one_line(row.label)} is not ranked; its rating is {elo(row.rating)} ± {elo(row.interval)}."
    best, worst = row.ranks
    ranks = f"rank {best}" if best == worst else f"rank {best} to {worst}"
    near = f"{100 * row.neighbours:.0f} % of its {thousands(row.tables)} tables were against neighbours"
    return f"{one_line(row.label)} has rank {row.rank} with {elo(row.rating)} ± {elo(row.interval)} ({ranks} is likely); {near}."


CSV_COLUMNS = (
    "rank", "label", "bot", "number", "author", "language", "rating", "interval", "best_rank", "worst_rank", "tables",
    "faults", "tried", "ahead", "moved", "note",
)  # fmt: skip


def ladder_csv(ladder: LadderDocument) -> str:
    """Return the ladder as CSV, one row for each version. No spreadsheet reads a cell as a formula."""
    rounded = (
        msgspec.structs.replace(row, rating=round(row.rating, 1), interval=round(row.interval, 1))
        for row in ladder.rows
    )
    rows = (msgspec.structs.asdict(row) | {"best_rank": row.ranks[0], "worst_rank": row.ranks[1]} for row in rounded)
    return as_csv(CSV_COLUMNS, rows)


FILTERS = {
    each.__name__: each
    for each in (moment, segment, elo, sure, half_points, size, known_state, final, trend, sparkline, rating_sentence)
} | {"text": escape_control_chars, "mark_class": MARKS.__getitem__}
