"""Print standings to a terminal or a pipe, and return them for spreadsheets and programs."""

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from host.base.format import THIN_SPACE, duration, thousands
from host.base.safe_text import csv_cell, one_line
from host.rating.ranking import ranking_of
from host.rating.statistics import percent
from host.report.console import open_console
from host.results.overall import OverallRow
from host.results.standings import Advice, PairResult, Row
from protocols.wire import FaultKind

if TYPE_CHECKING:  # importing these takes longer than most commands
    from rich.console import Console
    from rich.table import Table

    from host.results.grades import Graded
    from host.results.seat_effects import Seats

LONGEST_NAME, LONGEST_TITLE = 24, 12  # columns
GAP = 2
SOME = 2  # pairs that are named when no number of games would make their order certain
NONE = "–"
MORE: Mapping[str, str] = {"tables_per_pair": "tables a pair", "repeat": "games a group"}
"""How to write a unit of advice that is not a word."""


class Column(NamedTuple):
    """One column of a table. If the table is too wide, `spare` columns are left out, beginning with the first."""

    title: str
    cells: list[str]
    right: bool = True
    spare: bool = False


def print_standings(head: str, rows: Sequence[Row], sure: Sequence[str], advice: Sequence[Advice] = ()) -> None:
    """Print a stage's standings: the rows, how certain the order is, how much play would settle it, notes on bots."""
    console = open_console()
    _print(console, head)
    _print_table(console, _columns(rows))
    for line in _filled([one_line(sentence) for sentence in sure], console.width):
        _print(console, line)
    for line in _filled(advised(advice), console.width):
        _print(console, line)
    for row in rows:
        if row.note:
            _print(console, f"{one_line(row.bot)}: {row.note}")


def print_pairs(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResult]) -> None:
    """Print the cross table of a round robin, in as many parts as the width requires. `names` are in rank order."""
    console = open_console()
    first = Column("", [_short(name) for name in names], right=False)
    columns = [
        Column(_short(name, LONGEST_TITLE), [_against(pairs.get((other, name))) for other in names]) for name in names
    ]
    for part in _parts(columns, console.width - _width(first)):
        _print_table(console, [first, *part])
    if any(not pair.certain for pair in pairs.values()):
        _print(console, "* the order of this pair is not certain")


def print_grades(head: str, rows: "Sequence[Graded]") -> None:
    """Print the grade of each bot, and what it lacks."""
    console = open_console()
    _print(console, head)
    marks = [
        Column(_short(mark.reference), [row.marks[nth].words for row in rows], right=False)
        for nth, mark in enumerate(rows[0].marks)
    ]
    names = Column("bot", [_short(row.bot) for row in rows], right=False)
    _print_table(console, [names, *marks, Column("grade", [f"{row.grade} of {row.most}" for row in rows])])
    for line in _filled([one_line(sentence) for row in rows for sentence in row.advice], console.width):
        _print(console, line)


def print_seats(head: str, unit: str, found: "Seats") -> None:
    """Print the value of each seat of a stage, in games or chips, and how certain it is."""
    console = open_console()
    _print(console, head)
    rows, games = found.rows, unit == "games"
    decimals = 1 if max((abs(row.mean) for row in rows), default=0) >= 100 else 2
    means = [
        Column("games won", [thousands(row.won) for row in rows]),
        Column("rate", [f"{100 * row.mean:.2f} %" for row in rows]),
        Column("±", [_width_of(row.low, row.high, 100, 2) for row in rows]),
    ]
    gains = [
        Column("chips a table", [thousands(row.mean, decimals) for row in rows]),
        Column("±", [_width_of(row.low, row.high, 1, decimals) for row in rows]),
    ]
    names = [Column("seat", [_short(row.seat) for row in rows], right=False)]
    tables = [Column("tables", [thousands(row.tables) for row in rows])]
    _print_table(console, [*names, *tables, *(means if games else gains)])
    for line in _filled([*map(one_line, found.sure), *advised(found.advice)], console.width):
        _print(console, line)


def print_overall(head: str, rows: Sequence[OverallRow]) -> None:
    """Print all bots by the last stage that they reached, then by their place in it."""
    console = open_console()
    _print(console, head)
    columns = [
        Column("#", [str(row.rank) for row in rows]),
        Column("bot", [_short(row.bot) for row in rows], right=False),
        Column("language", [one_line(row.language) for row in rows], right=False, spare=True),
        Column("reached", [row.stage for row in rows], right=False),
        Column("place", [str(row.place) for row in rows]),
        Column("tables", [thousands(row.tables) for row in rows]),
        Column("faults", [thousands(row.faults) for row in rows]),
    ]
    _print_table(console, columns)


def json_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows as JSON values: rates from 0 to 1, times in seconds, null for unknown values.

    `score` is the value that ranks, so it lies between `low` and `high`. `points` is the score that the games count.
    """
    return [row.flat() for row in rows]


def write_csv(rows: Sequence[Row]) -> None:
    """Write rows to standard output as CSV, with the keys of `json_rows` as header, and a column for each kind of fault."""
    lines = []
    for row in json_rows(rows):
        counts = row.pop("faults_by_kind")
        row |= {key: int(row[key]) for key in ("disqualified", "withdrawn")}
        lines.append(row | {f"faults_{kind}": counts.get(kind, 0) for kind in FaultKind})
    write_cells(list(lines[0]) if lines else [], lines)


def write_cells(keys: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows to standard output as CSV, with these keys as header."""
    writer = csv.DictWriter(sys.stdout, keys, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: csv_cell(value) if isinstance(value, str) else value for key, value in row.items()})


# Sentences and columns.


def details(rows: Sequence[Row], advice: Sequence[Advice]) -> Iterator[str]:
    """Yield what the table omits: faults by kind, and each uncertain order with the play that would settle it."""
    for row in rows:
        if row.costs.faults:
            kinds = ", ".join(f"{thousands(times)} {kind}" for kind, times in row.costs.faults_by_kind.items())
            yield f"{one_line(row.bot)}: {kinds}"
    for each in advice:
        what = MORE.get(each.unit, each.unit)
        need = "more than a hundred times" if each.needed is None else f"about {thousands(each.needed)} {what}"
        bots = " before ".join(map(one_line, each.bots))
        yield f"{bots}: {percent(each.sure)} sure by {thousands(each.played)} {what}; certain at {need}"


def advised(advice: Sequence[Advice]) -> list[str]:
    """Return sentences on how much play would make the order certain: for the closest pair with a known number."""
    lines = []
    if some := [each for each in advice if each.needed is not None]:
        most = max(some, key=lambda each: each.needed or 0)
        what = MORE.get(most.unit, most.unit)
        lines.append(
            f"certain at about {thousands(most.needed or 0)} {what}, now {thousands(most.played)}"
            + (f": {one_line(most.bots[0])} and {one_line(most.bots[1])}" if len(some) > 1 else "")
        )
    if alike := [each for each in advice if each.needed is None]:
        what = MORE.get(alike[0].unit, alike[0].unit)
        pairs = [f"{one_line(each.bots[0])} and {one_line(each.bots[1])}" for each in alike]
        more = f" and {len(pairs) - SOME} more" if len(pairs) > SOME else ""
        lines.append(f"certain only at more than a hundred times as many {what}: {', '.join(pairs[:SOME])}{more}")
    return lines


def _columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns for the rankings of these rows."""
    names = [
        Column("#", [str(row.rank) for row in rows]),
        Column("bot", [_short(row.bot) for row in rows], right=False),
        Column("language", [one_line(row.language) for row in rows], right=False, spare=True),
    ]
    costs = [
        Column("faults", [thousands(row.costs.faults) for row in rows]),
        Column("p99", [_bound(row.costs.p99) for row in rows], spare=True),
        Column("CPU/decision", [known_duration(row.costs.cpu_per_decision) for row in rows], spare=True),
    ]
    words = list(rows[0].estimates) if rows else []
    results = [column for nth, word in enumerate(words) for column in _ranked(rows, word, interval=nth == 0)]
    if not any(ranking_of(word).counted for word in words):
        results.insert(0, Column("tables", [thousands(row.tables) for row in rows], spare=True))
    return [*names, *results, *costs]


def _ranked(rows: Sequence[Row], word: str, *, interval: bool) -> list[Column]:
    """Return the columns of a ranking. Include its interval if requested, or if any row has one."""
    ranking, estimates = ranking_of(word), [row.estimates[word] for row in rows]
    decimals = ranking.decimals_of(estimates)
    columns = [Column(ranking.title, [ranking.spelled(estimate, decimals) for estimate in estimates])]
    if ranking.counted:
        columns.insert(0, Column(ranking.counted, [thousands(row.wins or 0) for row in rows]))
    if interval or any(estimate.low is not None and estimate.high is not None for estimate in estimates):
        columns.append(Column("±", [ranking.half_width(estimate, decimals) for estimate in estimates]))
    return columns


def _width_of(low: float | None, high: float | None, factor: float, decimals: int) -> str:
    return NONE if low is None or high is None else thousands(factor * (high - low) / 2, decimals)


def known_duration(seconds: float | None) -> str:
    """Return a time with its unit, or a dash if it is unknown."""
    return NONE if seconds is None else duration(seconds)


def _bound(seconds: float | None) -> str:
    """Return a duration that is only known to be an upper bound: answer times are counted in ranges."""
    return NONE if seconds is None else f"≤ {duration(seconds)}"


def _against(pair: PairResult | None) -> str:
    """Return a cell of the cross table: "50.2 ±0.3 *". The star marks a pair whose order is not certain."""
    if pair is None:
        return "·"
    half = f" ±{50 * (pair.high - pair.low):.1f}" if pair.tables > 1 else ""
    return f"{100 * pair.rate:.1f}{half} {' ' if pair.certain else '*'}"


# Output.


def _print(console: "Console", line: str) -> None:
    """Print a line. A terminal wraps a line that is too long."""
    console.print(
        THIN_SPACE.join(map(one_line, line.split(THIN_SPACE))), soft_wrap=True
    )  # one_line would escape a thin space


def _print_table(console: "Console", columns: Sequence[Column]) -> None:
    """Print columns; leave out spare ones until the rest fits. Plain text is the same, without colours."""
    kept = list(columns)
    while _total(kept) > console.width and (spare := [column for column in kept if column.spare]):
        kept.remove(spare[0])
    if _total(kept) > console.width:
        console.print(_table(kept))
        return
    head, *lines = _lines(kept)  # rich takes 1 ms for each row
    console.print(head, style="dim", soft_wrap=True)
    console.out("\n".join(lines), highlight=False)


def _lines(columns: Sequence[Column]) -> Iterator[str]:
    """Yield the header and the rows of columns that fit the width."""
    from rich.cells import cell_len

    widths = [_width(column) - GAP for column in columns]
    rows = zip(*((column.title, *column.cells) for column in columns), strict=True)
    for row in rows:
        cells = []
        for column, width, text in zip(columns, widths, row, strict=True):
            room = " " * (width - cell_len(text))
            cells.append(room + text if column.right else text + room)
        yield (" " * GAP).join(cells)


def _table(columns: Sequence[Column]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", padding=(0, GAP, 0, 0), pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(
            Text(column.title), justify="right" if column.right else "left", no_wrap=True, overflow="ellipsis"
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(Text, cells))
    return table


def _short(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a bot's name, shortened so that the figures stay on the screen."""
    from rich.text import Text

    text = Text(one_line(name))
    text.truncate(longest, overflow="ellipsis")
    return text.plain


def _width(column: Column) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, [column.title, *column.cells])) + GAP


def _total(columns: Sequence[Column]) -> int:
    return sum(map(_width, columns)) - GAP


def _parts(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Yield the columns in parts that fit the width, with at least one column each."""
    part: list[Column] = []
    for column in columns:
        if part and _total([*part, column]) > width:
            yield part
            part = []
        part.append(column)
    if part:
        yield part


def _filled(sentences: Sequence[str], width: int) -> Iterator[str]:
    """Yield lines of sentences. Break lines only between sentences."""
    line = ""
    for sentence in sentences:
        longer = f"{line} · {sentence}" if line else sentence
        if line and len(longer) > width:
            yield line
            longer = sentence
        line = longer
    if line:
        yield line
