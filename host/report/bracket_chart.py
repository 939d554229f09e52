"""Lays out the bracket of a knockout as drawings: a box for each tie, with a line to the next tie of the winner."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from host.stages.elimination import BEATEN, UNBEATEN
from host.stages.picture import BracketRound, Tie

WIDTH, MIN_WIDTH = 200, 150  # pixels: width of the box of a tie
GAP, MIN_GAP = 62, 28  # pixels between two columns
MAX_WIDTH = 1114  # pixels: largest width of a drawing that fits on a screen of 1280 without scrolling
LETTER = 7.9  # pixels: width of a letter of a name
HEIGHT, ROW, HEADING = 52, 74, 30  # pixels: height of a box, distance from one box to the next, height of a heading
PLAIN_ROUND = re.compile(r"round [0-9]+( for places [0-9]+ to [0-9]+)?")
ROUND_TITLES = {2: "Final", 4: "Semi-finals", 8: "Quarter-finals"}


class Box(NamedTuple):
    """Box of a tie in a drawing. `x` and `y` are its upper left corner."""

    x: float
    y: float
    tie: Tie


class Drawing(NamedTuple):
    """Drawing of the ties that are played for the same places: a tree of rounds. Sizes are in pixels."""

    title: str
    note: str  # how bots enter and leave these ties; empty if no note is needed
    box: int  # the width of a box
    width: int
    height: int
    headings: list[tuple[float, float, str]]  # x, y and text
    boxes: list[Box]
    lines: list[str]  # SVG paths

    @property
    def name_length(self) -> int:
        """Return the number of letters of a name that fit into a box beside the number of sets won."""
        return int((self.box - 42) / LETTER)


SIDES = {
    "": ("First place", ""),
    UNBEATEN: (
        "The unbeaten",
        "A bot that loses here goes on among the beaten. The last unbeaten bot plays the final.",
    ),
    BEATEN: ("The beaten", "A bot that loses here is out. A bot without a line to it comes from the unbeaten."),
}
"""The title and the note of each drawing for the first place, by side; "" is a single elimination, or the final."""


def drawings(bracket: Sequence[BracketRound]) -> list[Drawing]:
    """Return a drawing of the ties for the first place, and one for each group of other places that bots play for.

    For the first place of a double elimination, return three drawings: the final, the bracket of the unbeaten bots, and
    the bracket of the beaten bots.
    """
    sides = list(SIDES)

    def drawn(part: BracketRound) -> tuple[int, int]:
        return part.first, sides.index(part.side)

    by_place = sorted(bracket, key=lambda part: (*drawn(part), part.round))
    double = any(part.side for part in bracket)
    return [_drawing(list(parts), double) for _, parts in groupby(by_place, key=drawn)]


def round_name(part: BracketRound) -> str:
    """Return the name of a round: "Semi-finals", "Round of 16", "Places 5 to 8"."""
    if not PLAIN_ROUND.fullmatch(part.title) and (part.first == 1 or not part.title.startswith("for places")):
        return part.title[:1].upper() + part.title[1:]
    if part.first > 1:
        return f"Places {part.first} {'and' if part.last == part.first + 1 else 'to'} {part.last}"
    size = 1 << (part.last - part.first).bit_length()
    return ROUND_TITLES.get(size, f"Round of {size}")


def _drawing(parts: Sequence[BracketRound], double: bool) -> Drawing:
    """Return the drawing of the rounds of one side for the same places. Each round is a column, from left to right.

    `double` says whether the knockout is a double elimination.
    """
    columns = [list(column) for _, column in groupby(parts, key=lambda part: part.round)]
    width, gap = _widths(len(columns))
    headings, boxes, lines = list[tuple[float, float, str]](), list[Box](), list[str]()
    won = dict[str, Box]()  # the box of the last tie that each bot has won
    for number, column in enumerate(columns):
        x, free = number * (width + gap), 0.0
        for part in column:
            ties = _in_order(part.ties, columns[number + 1 :], won)
            placed = _placed(ties, x, free + HEADING, won)
            headings.append((x, placed[0].y - 9 if placed else free + HEADING, round_name(part)))
            lines += [
                _line(won[bot], box, of, width) for box in placed for of, bot in enumerate(box.tie.bots) if bot in won
            ]
            boxes += placed
            free = placed[-1].y + ROW if placed else free
        for box in boxes:
            if box.x == x and box.tie.winner is not None:
                won[box.tie.winner] = box
    height = max((box.y for box in boxes), default=0.0) + HEIGHT + 4
    title, note = SIDES[parts[0].side]
    if parts[0].first > 1 or (double and not parts[0].side):
        title = round_name(parts[0])
    across = len(columns) * (width + gap) - gap + 2
    return Drawing(title, note, width, across, int(height), headings, boxes, lines)


def _widths(columns: int) -> tuple[int, int]:
    """Return the width of a box and the width of the gap between two columns. Both are smaller for many columns."""
    if columns * (WIDTH + GAP) - GAP <= MAX_WIDTH:
        return WIDTH, GAP
    return max(MIN_WIDTH, min(WIDTH, (MAX_WIDTH + MIN_GAP) // columns - MIN_GAP)), MIN_GAP


def _in_order(ties: Sequence[Tie], later: Sequence[Sequence[BracketRound]], won: dict[str, Box]) -> list[Tie]:
    """Return the ties of a round in an order in which the lines to the next rounds do not cross.

    Ties whose winners meet later are next to each other. `later` are the columns of the later rounds, and `won` has
    the box of the last tie that each bot has won.
    """
    before = {bot: box.y for bot, box in won.items()}
    order = list[str]()
    for column in reversed(later):
        known = {bot: at for at, bot in enumerate(order)}
        size = len(order)
        pairs = [tie for part in column for tie in part.ties]
        pairs.sort(key=lambda tie: min((known.get(bot, size) for bot in tie.bots if bot), default=size))
        order = [bot for tie in pairs for bot in tie.bots if bot is not None]
    place = {bot: at for at, bot in enumerate(order)}

    def key(tie: Tie) -> tuple[float, float]:
        from_left = [before[bot] for bot in tie.bots if bot in before]
        if from_left:
            return sum(from_left) / len(from_left), 0
        return 0, place.get(tie.winner or "", len(place))

    return sorted(ties, key=key)


def _placed(ties: Sequence[Tie], x: float, top: float, won: dict[str, Box]) -> list[Box]:
    """Return the boxes of the ties of a round, from top to bottom.

    If there is room, a box is in the middle between the boxes in `won`, in which its bots won their last ties.
    """
    placed, free = list[Box](), top
    for tie in ties:
        from_left = [won[bot].y for bot in tie.bots if bot in won]
        y = max(free, sum(from_left) / len(from_left)) if from_left else free
        placed.append(Box(x, y, tie))
        free = y + ROW
    return placed


def _line(start: Box, end: Box, of: int, width: int) -> str:
    """Return an SVG path from the box of a tie to the row of its winner in the box of the next tie.

    `of` is that row, 0 or 1. `width` is the width of a box.
    """
    right = start.x + width
    middle = right + (end.x - right) / 2
    return f"M{right:g} {start.y + HEIGHT / 2:g}H{middle:g}V{end.y + HEIGHT / 4 * (1 + 2 * of):g}H{end.x:g}"
