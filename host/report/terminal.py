"""Prints results as text: tables that fit the width of a terminal or a pipe, and sentences."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from host.base.format import duration, thousands
from host.base.safe_text import one_line
from host.rating.rankings import Estimate, ranking_of
from host.rating.statistics import MIN_CERTAINTY, percent, words
from host.report.console import open_console
from host.results.overall import OverallRow
from host.results.standings import Advice, PairResult, Row

if TYPE_CHECKING:  # importing these takes longer than most commands
    from rich.console import Console

    from host.inspect.gradebook import GradeRow

LONGEST_NAME, LONGEST_TITLE = 24, 12  # columns
GAP = 2
SOME = 2  # most pairs that a sentence names of those whose order needs too much play to become certain
NONE = "–"
MORE: Mapping[str, str] = {"tables_per_pair": "tables a pair", "repeat": "games a group"}
"""The words for a unit of advice, by the key of croupier.toml, if the key is not a word."""
MODEL_TITLES: Mapping[str, str] = {
    "retries_per_table": "retries/table",
    "calls_per_table": "calls/table",
    "tokens_per_table": "tokens/table",
    "money_per_table": "money/table",
}


class Column(NamedTuple):
    """Column of a table. If the table is too wide, its `spare` columns are left out one by one, the leftmost first."""

    title: str
    cells: list[str]
    right: bool = True
    spare: bool = False


class Table(NamedTuple):
    """Table in a text. If it is too wide, its spare columns are left out."""

    columns: Sequence[Column]


class CrossTable(NamedTuple):
    """Table that is printed in several parts if it is too wide. Each part begins with the column `first`."""

    first: Column
    columns: Sequence[Column]


class Sentences(NamedTuple):
    """Sentences that are printed one after the other, several on a line if they fit."""

    sentences: Sequence[str]


Part = str | Table | CrossTable | Sentences
"""A part of a text. A string is one line."""


def text_of(parts: Iterable[Part]) -> str:
    """Return the parts as one text without a final line break.

    The text fits the width of the terminal, and is coloured if the terminal shows colours.
    """
    console = open_console()
    with console.capture() as printed:
        for part in parts:
            match part:
                case Table(columns):
                    _print_table(console, columns)
                case CrossTable(first, columns):
                    for some in _parts(columns, console.width - _width(first)):
                        _print_table(console, [first, *some])
                case Sentences(sentences):
                    for line in _filled(sentences, console.width):
                        _print(console, line)
                case str(line):
                    _print(console, line)
    return printed.get().removesuffix("\n")


def without_colour(text: str) -> str:
    """Return a text without the colours of a terminal."""
    from rich.text import Text

    return Text.from_ansi(text).plain


def standings_text(
    head: str, rows: Sequence[Row], sure: Sequence[str], advice: Sequence[Advice] = (), unit: str = ""
) -> Iterator[Part]:
    """Yield the standings of a stage: rows, sentences about the certainty of the order, advice, and notes about bots.

    `head` is the first line. `unit` is the unit of the scores, for the titles of their columns.
    """
    yield head
    yield Table(_columns(rows, unit))
    yield Sentences([one_line(sentence) for sentence in sure])
    yield Sentences(advised(advice))
    yield from (f"{one_line(row.bot)}: {row.note}" for row in rows if row.note)


def pairs_text(names: Sequence[str], pairs: Mapping[tuple[str, str], PairResult], repeated: str = "") -> Iterator[Part]:
    """Yield the cross table of a round robin. `names` are the bots in rank order.

    `repeated` is a sentence about tables that repeat others, or "".
    """
    yield CrossTable(
        Column("", [shortened(name) for name in names], right=False),
        [
            Column(shortened(name, LONGEST_TITLE), [_against(pairs.get((other, name))) for other in names])
            for name in names
        ],
    )
    if any(not pair.certain for pair in pairs.values()):
        yield f"* the order of this pair is less than {percent(MIN_CERTAINTY)} sure"
    if repeated:
        yield repeated


def grades_text(
    head: str, rows: "Sequence[GradeRow]", students: Sequence[str] = (), repeated: str = ""
) -> Iterator[Part]:
    """Yield a table with the grade of each bot and its verdict for each reference.

    With `students`, each row also has the name of the student at the same index. `repeated` is a sentence about tables
    that repeat others, or "".
    """
    yield head
    references = list(dict.fromkeys(mark.reference for row in rows for mark in row.marks))
    marks = [{mark.reference: mark.words for mark in row.marks} for row in rows]
    yield Table(
        [
            *([Column("student", [shortened(name) for name in students], right=False)] if students else []),
            Column("bot", [shortened(row.bot) for row in rows], right=False),
            Column("status", [row.status_and_code for row in rows], right=False),
            Column("points", [f"{row.points} of {row.most}" for row in rows]),
            Column("faults", [thousands(row.faults) for row in rows]),
            Column("benched", [thousands(row.benched) for row in rows], spare=True),
            *(
                Column(shortened(name), [own.get(name, "") for own in marks], right=False, spare=True)
                for name in references
            ),
        ]
    )
    if repeated:
        yield repeated


def overall_text(head: str, rows: Sequence[OverallRow]) -> Iterator[Part]:
    """Yield a table of all bots in the order of `rows`: the last stage that each bot reached, and its place there."""
    yield head
    yield Table(
        [
            Column("#", [str(row.rank) for row in rows]),
            Column("bot", [shortened(row.bot) for row in rows], right=False),
            Column("language", [one_line(row.language) for row in rows], right=False, spare=True),
            Column("reached", [row.stage for row in rows], right=False),
            Column("place", [str(row.place) for row in rows]),
            Column("tables", [thousands(row.tables) for row in rows]),
            Column("faults", [thousands(row.faults) for row in rows]),
        ]
    )


# Sentences and columns.


def details(rows: Sequence[Row], advice: Sequence[Advice]) -> Iterator[str]:
    """Yield lines that the table of standings omits: the faults of each bot by kind, and each piece of advice."""
    for row in rows:
        if row.costs.faults:
            kinds = ", ".join(f"{thousands(times)} {kind}" for kind, times in row.costs.faults_by_kind.items())
            yield f"{one_line(row.bot)}: {kinds}"
    for each in advice:
        what = MORE.get(each.unit, each.unit)
        need = "more than a hundred times" if each.needed is None else f"about {thousands(each.needed)} {what}"
        ahead, behind = map(one_line, each.bots)
        yield f"{words(ahead, behind, each.sure)}; now {thousands(each.played)} {what}, certain at {need}"


def advised(advice: Sequence[Advice]) -> list[str]:
    """Return up to two sentences about the number of tables, or other units, that would make the order certain.

    The first sentence has the largest number that a pair of neighbours needs. The second one names up to SOME pairs
    that need more than a hundred times as many as now.
    """
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


def _columns(rows: Sequence[Row], unit: str) -> list[Column]:
    """Return the columns of the standings. `unit` is the unit of the scores."""
    names = [
        Column("#", [str(row.rank) for row in rows]),
        Column("bot", [shortened(row.bot) for row in rows], right=False),
        Column("language", [one_line(row.language) for row in rows], right=False, spare=True),
    ]
    costs = [
        Column("faults", [thousands(row.costs.faults) for row in rows]),
        Column("p99", [_bound(row.costs.p99) for row in rows], spare=True),
        Column("CPU/decision", [known_duration(row.costs.cpu_per_decision) for row in rows], spare=True),
    ]
    words = list(rows[0].estimates) if rows else []
    results = [column for nth, word in enumerate(words) for column in _ranked(rows, word, unit, interval=nth == 0)]
    if not any(ranking_of(word).counted for word in words):
        results.insert(0, Column("tables", [thousands(row.tables) for row in rows], spare=True))
    return [*names, *results, *costs, *model_columns(rows)]


def _ranked(rows: Sequence[Row], word: str, unit: str, *, interval: bool) -> list[Column]:
    """Return the columns of one ranking: games won (if wins rank), value, and half the width of its interval.

    Leave out the interval if no row has one, unless `interval` is True.
    """
    ranking, estimates = ranking_of(word), [row.estimates[word] for row in rows]
    decimals = ranking.decimals_of(estimates)
    columns = [Column(ranking.title_with(unit), [ranking.spelled(estimate, decimals) for estimate in estimates])]
    if ranking.counted:
        columns.insert(0, Column(ranking.counted, [thousands(row.wins or 0) for row in rows]))
    if interval or any(estimate.low is not None and estimate.high is not None for estimate in estimates):
        columns.append(Column("±", [ranking.half_width(estimate, decimals) for estimate in estimates]))
    return columns


def model_columns(rows: Sequence[Row]) -> list[Column]:
    """Return the columns for the usage of language models; none if no bot used a model."""
    keys = rows[0].models if rows else ()
    return [Column(MODEL_TITLES[key], model_cells([row.models[key] for row in rows]), spare=True) for key in keys]


def model_cells(estimates: Sequence[Estimate]) -> list[str]:
    """Return estimates as text, each with the distance to the upper end of its interval: "12.3 ±0.4".

    The lower end may be closer, because it is at least 0. All have the number of decimals with which the largest
    estimate shows at least three digits.
    """
    most = max((estimate.value or 0.0 for estimate in estimates), default=0.0)
    decimals = max(0, 2 - math.floor(math.log10(most))) if most else 0
    return [
        (NONE if estimate.value is None else thousands(estimate.value, decimals if estimate.value else 0))
        + (
            ""
            if estimate.value is None or estimate.high is None
            else f" ±{thousands(estimate.high - estimate.value, decimals)}"
        )
        for estimate in estimates
    ]


def known_duration(seconds: float | None) -> str:
    """Return a duration in seconds as text with its unit, or a dash if it is unknown."""
    return NONE if seconds is None else duration(seconds)


def _bound(seconds: float | None) -> str:
    """Return a duration as an upper bound: "≤ 1.5 s".

    Answer times are counted in ranges, so only the bound is known.
    """
    return NONE if seconds is None else f"≤ {duration(seconds)}"


def _against(pair: PairResult | None) -> str:
    """Return a cell of the cross table: "50.2 ±0.3 *". The star marks a pair whose order is not certain."""
    if pair is None:
        return "·"
    half = f" ±{50 * (pair.high - pair.low):.1f}" if pair.tables > 1 else ""
    return f"{100 * pair.rate:.1f}{half} {' ' if pair.certain else '*'}"


# Output.


def _print(console: "Console", line: str) -> None:
    """Print a line, whatever its length. The terminal wraps a line that is too long."""
    console.print(one_line(line), soft_wrap=True)


def _print_table(console: "Console", columns: Sequence[Column]) -> None:
    """Print columns as a table. Leave out spare columns until the table fits the width of the console."""
    kept = list(columns)
    while _total(kept) > console.width and (spare := [column for column in kept if column.spare]):
        kept.remove(spare[0])
    head, *lines = _lines(kept, console.width)  # a table of rich takes 1 ms for each row
    console.print(head, style="dim", soft_wrap=True)
    console.out("\n".join(lines), highlight=False)


def _lines(columns: Sequence[Column], width: int) -> Iterator[str]:
    """Yield the header and the rows of a table as lines. If the table is too wide, make its widest columns narrower."""
    from rich.cells import cell_len, set_cell_size

    widths = [_width(column) - GAP for column in columns]
    while sum(widths) + GAP * (len(widths) - 1) > width and max(widths) > 1:
        widths[widths.index(max(widths))] -= 1
    rows = zip(*((column.title, *column.cells) for column in columns), strict=True)
    for row in rows:
        cells = []
        for column, most, full in zip(columns, widths, row, strict=True):
            text = full if cell_len(full) <= most else set_cell_size(full, most - 1) + "…"
            room = " " * (most - cell_len(text))
            cells.append(room + text if column.right else text + room)
        yield (" " * GAP).join(cells).rstrip()


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a bot's name, shortened in the middle to `longest` columns.

    The start and the end stay, because they distinguish the name from others.
    """
    from rich.cells import cell_len

    name = one_line(name)
    if cell_len(name) <= longest:
        return name
    head, tail = longest // 3, longest
    while tail > 1 and cell_len(name[:head]) + 1 + cell_len(name[-tail:]) > longest:
        tail -= 1
    return f"{name[:head]}…{name[-tail:]}"


def _width(column: Column) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, [column.title, *column.cells])) + GAP


def _total(columns: Sequence[Column]) -> int:
    return sum(map(_width, columns)) - GAP


def _parts(columns: Sequence[Column], width: int) -> Iterator[list[Column]]:
    """Yield groups of columns, in order. Each group fits the width, or has only one column."""
    part: list[Column] = []
    for column in columns:
        if part and _total([*part, column]) > width:
            yield part
            part = []
        part.append(column)
    if part:
        yield part


def _filled(sentences: Sequence[str], width: int) -> Iterator[str]:
    """Yield lines that contain as many sentences as fit into `width`. Break lines only between sentences."""
    line = ""
    for sentence in sentences:
        longer = f"{line} · {sentence}" if line else sentence
        if line and len(longer) > width:
            yield line
            longer = sentence
        line = longer
    if line:
        yield line
