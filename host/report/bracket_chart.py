"""Lay out the bracket of a knockout as a drawing: boxes for ties, lines to the tie that a winner plays next, names of rounds."""

import re
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from host.stages.picture import BracketRound, Tie

WIDTH, HEIGHT = 200, 52  # of the box of a tie
COLUMN, ROW, HEADING = 262, 74, 30  # from one box to the next, and the height of a heading
PLAIN_ROUND = re.compile(r"round [0-9]+( for places [0-9]+ to [0-9]+)?")
ROUND_TITLES = {2: "Final", 4: "Semi-finals", 8: "Quarter-finals"}


class Box(NamedTuple):
    """A tie at a place of the drawing."""

    x: float
    y: float
    tie: Tie


class Drawing(NamedTuple):
    """The ties that are played for the same places: a tree of rounds."""

    title: str
    width: int
    height: int
    headings: list[tuple[float, float, str]]
    boxes: list[Box]
    lines: list[str]  # SVG paths


def drawings(bracket: Sequence[BracketRound]) -> list[Drawing]:
    """Return one drawing for the first place, and one for each group of places that others play for."""
    by_place = sorted(bracket, key=lambda part: (part.first, part.round))
    return [_drawing(list(parts)) for _, parts in groupby(by_place, key=lambda part: part.first)]


def round_name(part: BracketRound) -> str:
    """Return the name of a round: "Semi-finals", "Round of 16", "Places 5 to 8"."""
    if not PLAIN_ROUND.fullmatch(part.title) and (part.first == 1 or not part.title.startswith("for places")):
        return part.title[:1].upper() + part.title[1:]
    if part.first > 1:
        return f"Places {part.first} {'and' if part.last == part.first + 1 else 'to'} {part.last}"
    size = 1 << (part.last - part.first).bit_length()
    return ROUND_TITLES.get(size, f"Round of {size}")


def _drawing(parts: Sequence[BracketRound]) -> Drawing:
    """Return the drawing of the parts that begin with the same place; rounds are columns from left to right."""
    columns = [list(column) for _, column in groupby(parts, key=lambda part: part.round)]
    headings, boxes, lines = list[tuple[float, float, str]](), list[Box](), list[str]()
    came = dict[str, Box]()  # the last box that each bot has won
    for number, column in enumerate(columns):
        x, free = number * COLUMN, 0.0
        for part in column:
            ties = _in_order(part.ties, columns[number + 1 :], came)
            placed = _placed(ties, x, free + HEADING, came)
            headings.append((x, placed[0].y - 9 if placed else free + HEADING, round_name(part)))
            lines += [_line(came[bot], box, of) for box in placed for of, bot in enumerate(box.tie.bots) if bot in came]
            boxes += placed
            free = placed[-1].y + ROW if placed else free
        for box in boxes:
            if box.x == x and box.tie.winner is not None:
                came[box.tie.winner] = box
    height = max((box.y for box in boxes), default=0.0) + HEIGHT + 4
    title = round_name(parts[0]) if parts[0].first > 1 else "First place"
    return Drawing(title, (len(columns) - 1) * COLUMN + WIDTH + 2, int(height), headings, boxes, lines)


def _in_order(ties: Sequence[Tie], later: Sequence[Sequence[BracketRound]], came: dict[str, Box]) -> list[Tie]:
    """Return the ties of a round so that the lines to the next rounds do not cross: winners that meet stand together."""
    before = {bot: box.y for bot, box in came.items()}
    order = list[str]()
    for column in reversed(later):
        ahead = [bot for part in column for tie in part.ties for bot in tie.bots if bot is not None]
        known = {bot: at for at, bot in enumerate(order)}
        size = len(order)
        pairs = [tie for part in column for tie in part.ties]
        pairs.sort(key=lambda tie: min((known.get(bot, size) for bot in tie.bots if bot), default=size))
        order = [bot for tie in pairs for bot in tie.bots if bot in ahead and bot is not None]
    place = {bot: at for at, bot in enumerate(order)}

    def key(tie: Tie) -> tuple[float, float]:
        from_left = [before[bot] for bot in tie.bots if bot in before]
        if from_left:
            return sum(from_left) / len(from_left), 0
        return 0, place.get(tie.winner or "", len(place))

    return sorted(ties, key=key)


def _placed(ties: Sequence[Tie], x: float, top: float, came: dict[str, Box]) -> list[Box]:
    """Return the boxes of a round, each between the boxes that its bots come from if there is room."""
    placed, free = list[Box](), top
    for tie in ties:
        from_left = [came[bot].y for bot in tie.bots if bot in came]
        y = max(free, sum(from_left) / len(from_left)) if from_left else free
        placed.append(Box(x, y, tie))
        free = y + ROW
    return placed


def _line(start: Box, end: Box, of: int) -> str:
    """Return an SVG path from the box of a tie to the row of its winner in the box of the next tie."""
    middle = end.x - (COLUMN - WIDTH) / 2
    return f"M{start.x + WIDTH:g} {start.y + HEIGHT / 2:g}H{middle:g}V{end.y + HEIGHT / 4 * (1 + 2 * of):g}H{end.x:g}"
