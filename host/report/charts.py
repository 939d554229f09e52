"""Computes the figures (as text) and the lines, bars and whiskers of small charts that pages show."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from host.base.format import duration, thousands
from host.base.safe_text import one_line
from host.bots.values import Usage
from host.games.engine import Game
from host.rating.rankings import ranking_of
from host.report.bracket_chart import drawings
from host.report.stage_results import Stage
from host.report.summary import BotSummary
from host.report.terminal import MODEL_TITLES, NONE, model_cells, model_columns
from host.report.timelines import Chips, HeadToHead, Ranks
from host.results.model_costs import RETRIES
from host.results.standings import PairResult, Row
from host.rules.catalogue import display_of
from host.stages.picture import Tie


def value(row: Row) -> str:
    """Return the value that ranks a bot as text, for example "60.59 %"."""
    return row.ranking.spelled(row.first)


def ranked(row: Row, word: str) -> str:
    """Return a bot's value in the ranking `word`, with half the width of its interval: "60.59 % ± 1.20"."""
    ranking, estimate = ranking_of(word), row.estimates[word]
    half = ranking.half_width(estimate)
    return ranking.spelled(estimate) + (f" ± {half}" if half != NONE else "")


def ranking_title(word: str, game: Game | None) -> str:
    """Return the title of a ranking's column. If the values are scores of the game, it includes their unit."""
    return ranking_of(word).title_with(display_of(game).unit)


def figure(row: Row, stage: Stage) -> str:
    """Return as text the main figure of a bot, with its unit: the value that ranks it, or the value by `Ranking.lead`.

    In a bracket, return the result of the bot's last tie, for example "2 : 1 sets in the final": sets decide a bracket.
    """
    if played := stage.ties_of(row.bot):
        part, tie = played[-1]
        where = "" if part.title.startswith("for ") else "in " if part.title.startswith("round ") else "in the "
        return f"{_sets(row.bot, [tie])} sets {where}{part.title}"
    lead = row.ranking.lead
    ranking, estimate = ranking_of(lead) if lead else row.ranking, row.estimates.get(lead, row.first)
    unit = "in its only game" if lead and row.tables == 1 else ranking.unit
    return f"{ranking.spelled(estimate)} {unit}".rstrip()


def half(row: Row) -> str:
    """Return half the width of the interval of a row's first value, as text."""
    return row.ranking.half_width(row.first)


def margin(row: Row, stage: Stage) -> str:
    """Return the text beside `figure` on a page: the interval, or the value that ranks if `figure` shows another one.

    In a bracket, return the opponent of the bot's last tie and the sets of all its ties.
    """
    if played := stage.ties_of(row.bot):
        (other,) = (one_line(bot or "") for bot in played[-1][1].bots if bot != row.bot)
        return f"against {other}; {all_sets(row, stage)} sets in all"
    return interval_text(row)


def all_sets(row: Row, stage: Stage) -> str:
    """Return the numbers of sets that a bot has won and lost in all its ties of a bracket: "9 : 4"."""
    return _sets(row.bot, [tie for _, tie in stage.ties_of(row.bot)])


def _sets(bot: str, ties: Sequence[Tie]) -> str:
    won, lost = (sum(tie.sets[(tie.bots[0] == bot) == other] for tie in ties) for other in (False, True))
    return f"{won} : {lost}"


def interval_text(row: Row) -> str:
    """Return a row's interval as text: "± 1.20".

    If `figure` shows another value, return the value that ranks the bot.
    """
    if row.ranking.lead and row.tables != 1:
        return row.ranking.phrase_of(row.first, row.tables)
    return "no interval yet" if half(row) == NONE else f"± {half(row)}"


class Scale(NamedTuple):
    """Common horizontal axis of the whiskers in a table."""

    low: float
    high: float
    ticks: list[tuple[float, str]]  # the x coordinate and the value of each mark
    title: str

    def x(self, at: float) -> float:
        """Return the x coordinate of a value. The axis reaches from 6 to 234 units."""
        return round(6 + 228 * (at - self.low) / (self.high - self.low), 1)


class Whisker(NamedTuple):
    """Interval of one row in a chart 240 units wide: x coordinates of its ends and its value; None where not known."""

    low: float | None
    at: float | None
    high: float | None
    label: str


def scale(rows: Sequence[Row]) -> Scale:
    """Return an axis that shows the intervals of all rows, with ticks at round numbers."""
    values = [
        each
        for row in rows
        for each in (row.first.low, row.first.figure, row.first.high)
        if each is not None and row.tables
    ]
    return axis_of(values, rates=any(row.ranking.percent for row in rows))


def axis_of(values: Sequence[float], *, rates: bool = False) -> Scale:
    """Return an axis that shows all values, with ticks at round numbers. With `rates`, the ticks are in percent."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    low, high = max(low - room, 0.0) if low >= 0 else low - room, high + room
    high = min(high, 1.0) if rates else high  # a rate is at most 1
    step = 10 ** math.floor(math.log10(high - low))
    step = next(step * part for part in (0.2, 0.5, 1, 2, 5) if (high - low) / (step * part) <= 5)
    marks = [step * number for number in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
    first, last = (f"{100 * low:.0f} %", f"{100 * high:.0f} %") if rates else (thousands(low), thousands(high))
    axis, unit = Scale(low, high, [], f"{first} … {last}"), 100 * step if rates else step
    decimals = max(0, -math.floor(math.log10(unit) + 1e-9))
    words = [f"{100 * mark:.{decimals}f} %" if rates else thousands(mark, decimals) for mark in marks]
    return axis._replace(ticks=[(axis.x(mark), word) for mark, word in zip(marks, words, strict=True)])


def whisker(row: Row, axis: Scale) -> Whisker:
    """Return the whisker of a row on an axis."""
    at = row.first.figure
    if at is None:
        return Whisker(None, None, None, "nothing played yet")
    if row.first.low is None or row.first.high is None:
        return Whisker(None, axis.x(at), None, value(row))
    return Whisker(axis.x(row.first.low), axis.x(at), axis.x(row.first.high), f"{value(row)}, {interval_text(row)}")


def nearest(bot: BotSummary, places: Mapping[str, int]) -> list[tuple[str, PairResult]]:
    """Return up to OPPONENTS opponents of a bot, the nearest ones in the ranking, and its results against them.

    `places` are the places in the ranking, by bot, from 0.
    """
    mine, last = places.get(bot.name, 0), len(places)
    distances = sorted((abs(places.get(other, last) - mine), nth) for nth, (other, _) in enumerate(bot.opponents))
    return [bot.opponents[nth] for nth in sorted(nth for _, nth in distances[:OPPONENTS])]


class Bar(NamedTuple):
    """Bar of a histogram, in a chart of 640 × 190 units. It is `late` if its answers took longer than the limit."""

    x: float
    y: float
    width: float
    height: float
    title: str
    late: bool


class Bars(NamedTuple):
    """Histogram of answer times.

    `ticks` are the marks below it: x and a time. `down` are the marks beside it: y and a number of answers. `limit` is
    the x coordinate of the time limit.
    """

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    down: list[tuple[float, str]]
    limit: float | None
    label: str


TOGETHER = "together with the previous one"
"""The words for an answer that took no extra time: a bot can answer several questions at the same time."""


def bars(spent: Usage, limit: float | None) -> Bars:
    """Return the histogram of a bot's answer times. `limit` is its time limit in seconds.

    If answers arrived together with the previous one, the first bar counts them.
    """
    counts = spent.walls
    used = [at for at, count in enumerate(counts) if count]
    first, last = min(used), max(used)
    if limit is not None:
        last = max(last, math.ceil(math.log2(limit * 1e6)))
    last = max(last, first + 5)
    width = 620 / (last - first + 1)
    tallest = math.log10(max(counts) + 1)
    drawn = []
    for at in range(first, min(last, len(counts) - 1) + 1):
        start, count = 2 ** (at - 1) / 1e6, counts[at]
        if not count:
            continue
        height = round(4 + 120 * math.log10(count + 1) / tallest, 1)
        when = f"from {duration(start)} to {duration(2 * start)}" if at else TOGETHER
        title = f"{thousands(count)} answers {when}"
        late = limit is not None and start >= limit
        drawn.append(Bar(round(10 + (at - first) * width, 1), 150 - height, round(width - 3, 1), height, title, late))
    every = max(1, round((last - first) / 7))
    ticks = [
        (round(10 + (at - first) * width, 1), duration(2 ** (at - 1) / 1e6)) for at in range(first + 1, last + 1, every)
    ]
    mark = None
    if limit is not None:
        mark = min(round(10 + (math.log2(limit * 1e6) + 1 - first) * width, 1), 630.0)
    parts = [f"{percent} of 100 answers took less than {duration(spent.quantile(percent))}" for percent in (50, 99)]
    if counts[0]:
        parts.insert(0, f"{thousands(counts[0])} answers came {TOGETHER}")
    label = f"{'; '.join(parts)}; the slowest {duration(spent.slowest)}"
    tens = [10**power for power in range(len(str(max(counts)))) if 10**power <= max(counts)]
    down = [(round(146 - 120 * math.log10(ten + 1) / tallest, 1), thousands(ten)) for ten in tens]
    return Bars(drawn, ticks, down, mark, label + (f", the limit {duration(limit)}." if limit is not None else "."))


class Curve(NamedTuple):
    """Line of a chart: its points as SVG text, its name, the number of its colour, and the y coordinate of its name."""

    points: str
    name: str
    colour: int
    y: float


class Lines(NamedTuple):
    """Line chart 640 units wide. `label` describes it for screen readers."""

    height: int
    lines: list[Curve]
    down: list[tuple[float, str]]  # marks of the vertical axis: y and text
    along: list[tuple[float, str]]  # marks of the horizontal axis: x and text
    label: str
    across: str  # the title of the horizontal axis
    up: str  # the title of the vertical axis
    band: str = ""  # the outline of an interval around the line, as SVG text


OPPONENTS = 40  # most opponents on a bot's page
WAYS = 40  # most lines of bots in a chart of ranks
LEFT, RIGHT, ALONE = 60, 458, 606  # x at which lines begin, x at which they end before names, and without names
COLOURS = 10


def separate_labels(places: Sequence[float], apart: float) -> list[float]:
    """Move y coordinates down until they are at least `apart` units from each other. Return them in the given order."""
    order = sorted(range(len(places)), key=lambda nth: places[nth])
    pushed, least = [0.0] * len(places), -apart
    for nth in order:
        pushed[nth] = least = max(places[nth], least + apart)
    return pushed


def path(points: Sequence[tuple[float, float]]) -> str:
    """Return points as the text of an SVG attribute: "60,14.0 80,34.0"."""
    return " ".join(f"{x:.0f},{y:.1f}" for x, y in points)


def along(values: Sequence[int], right: int, pieces: int = 5) -> list[tuple[float, str]]:
    """Return about `pieces` + 1 marks below a chart: x and text. `values` are spaced evenly from LEFT to `right`."""
    last = len(values) - 1
    places = sorted({last * nth // pieces for nth in range(pieces + 1)}) if last > 0 else [0]
    return [(round(LEFT + (right - LEFT) * nth / max(1, last)), thousands(values[nth])) for nth in places]


def line_points(places: Sequence[int | None], right: int, count: int) -> list[tuple[float, float]]:
    """Return the points of a line of ranks, with rank 1 at the top. Skip ranks that are None.

    `count` is the number of all bots, and `right` the x coordinate of the last point.
    """
    step, apart = (right - LEFT) / max(1, len(places) - 1), _apart(count)
    return [(LEFT + step * nth, 14 + apart * (place - 1)) for nth, place in enumerate(places) if place is not None]


def rank_lines(ranks: Ranks) -> Lines:
    """Return a chart with the ranks of each bot over time. If there are more than WAYS bots, show only the best."""
    count = len(ranks.of)
    ended = {bot: places[-1] or count for bot, places in ranks.of.items()}
    last = dict(sorted(ended.items(), key=lambda one: one[1])[:WAYS])
    names = separate_labels([14 + _apart(count) * (place - 1) for place in last.values()], 20)
    lines = [
        Curve(path(line_points(ranks.of[bot], RIGHT, count)), bot, nth % COLOURS, y + 4)
        for nth, (bot, y) in enumerate(zip(last, names, strict=True))
    ]
    order = ", ".join(f"{place} {one_line(bot)}" for bot, place in last.items())
    more = f", and {count - len(last)} more" if count > len(last) else ""
    height = max(int(max(names)), 14 + _height(count)) + 44
    label = f"Rank over time; at the end {order}{more}."
    return Lines(height, lines, _ranks(count), along(ranks.after, RIGHT), label, _counted(ranks), "rank")


def lead(stage: Stage) -> str:
    """Return a sentence that says since when the first bot of a stage has been first; "" if this is not known."""
    if stage.ranks is None or not stage.rows:
        return ""
    bot, after = stage.rows[0].bot, stage.ranks.after
    places = stage.ranks.of.get(bot, ())
    if not places or places[-1] != 1:
        return ""
    behind = [nth for nth, place in enumerate(places) if place != 1]
    if not behind:
        return f"{one_line(bot)} was first from the beginning."
    since, last = thousands(after[behind[-1] + 1]), thousands(after[-1])
    if stage.ranks.unit == "rounds":
        return f"{one_line(bot)} has been first since round {since} of {last}."
    return f"{one_line(bot)} has been first since {since} of {last} {stage.ranks.unit} had ended."


def rank_line(ranks: Ranks, bot: str) -> Lines | None:
    """Return a chart with the ranks of one bot over time; None if the bot has no rank yet."""
    places, count = ranks.of.get(bot, ()), len(ranks.of)
    seen = [place for place in places if place is not None]
    if not seen:
        return None
    line = Curve(path(line_points(places, ALONE, count)), "", 0, 0.0)
    label = f"At first {seen[0]}, at best {min(seen)}, at worst {max(seen)}, now {seen[-1]} of {count}."
    return Lines(_height(count) + 52, [line], _ranks(count), along(ranks.after, ALONE), label, _counted(ranks), "rank")


def _counted(ranks: Ranks) -> str:
    """Return the title of the horizontal axis of a chart of ranks."""
    return "round" if ranks.unit == "rounds" else f"{ranks.unit} that have ended"


def _apart(count: int) -> float:
    """Return the vertical distance of two ranks. It is smaller for many bots, so that the chart fits on a screen."""
    return min(20.0, 800 / count)


def _height(count: int) -> int:
    return int(_apart(count) * (count - 1))


def _ranks(count: int) -> list[tuple[float, str]]:
    every = -(-count // 12)
    return [(round(14 + _apart(count) * (place - 1), 1), str(place)) for place in range(1, count + 1, every)]


def score_line(head_to_head: HeadToHead, unit: str) -> Lines:
    """Return a chart with the score of a pair over time, and its 95 % interval as a band.

    `unit` is the word for the units of the score: "games", "tourneys" or "tables".
    """
    # Leave out the first points: they vary most, so the axis would be too long for the others.
    settled = head_to_head.points[len(head_to_head.points) // 4 :]
    low, high = min(point.low for point in settled), max(point.high for point in settled)
    low, high = max(0.0, min(low, 0.48)), min(1.0, max(high, 0.52))
    step = next(each for each in (0.01, 0.02, 0.05, 0.1, 0.2) if (high - low) / each <= 6)

    def y(rate: float) -> float:
        return min(170.0, max(10.0, 10 + 160 * (high - rate) / (high - low)))

    xs = [LEFT + (ALONE - LEFT) * nth / max(1, len(head_to_head.points) - 1) for nth in range(len(head_to_head.points))]
    upper = [(x, y(point.high)) for x, point in zip(xs, head_to_head.points, strict=True)]
    lower = [(x, y(point.low)) for x, point in zip(xs, head_to_head.points, strict=True)]
    line = Curve(path([(x, y(point.rate)) for x, point in zip(xs, head_to_head.points, strict=True)]), "", 0, 0.0)
    down = [
        (round(y(step * nth), 1), f"{100 * step * nth:.0f} %")
        for nth in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    ]
    end = head_to_head.points[-1]
    label = (
        f"{one_line(head_to_head.bots[0])} against {one_line(head_to_head.bots[1])}: after {thousands(end.tables)} {unit} "
        f"{100 * end.rate:.1f} %, true value between {100 * end.low:.1f} and {100 * end.high:.1f} %."
    )
    marks = along([point.tables for point in head_to_head.points], ALONE)
    band = path([*upper, *reversed(lower)])
    return Lines(204, [line], down, marks, label, f"{unit} played", "share won, in per cent", band)


def chip_lines(chips: Chips) -> Lines:
    """Return a chart with the chips of all bots at a table, round by round."""
    most = max(max(line) for _, line in chips.of) or 1
    step = next(each * 10**power for power in range(9) for each in (1, 2, 5) if most / (each * 10**power) <= 5)

    def y(amount: int) -> float:
        return 10 + 160 * (1 - amount / most)

    names = separate_labels([y(line[-1]) for _, line in chips.of], 20)
    each = (RIGHT - LEFT) / max(1, len(chips.rounds) - 1)
    lines = [
        Curve(path([(LEFT + each * nth, y(held)) for nth, held in enumerate(line)]), bot, number % COLOURS, place + 4)
        for number, ((bot, line), place) in enumerate(zip(chips.of, names, strict=True))
    ]
    down = [(round(y(step * nth), 1), thousands(step * nth)) for nth in range(most // step + 1)]
    ends = ", ".join(f"{one_line(bot)} {line[-1]}" for bot, line in chips.of)
    height = max(204, int(max(names)) + 34)
    label = f"Chips round by round; at the end {ends}."
    return Lines(height, lines, down, along(chips.rounds, RIGHT), label, "round", "chips")


class Spot(NamedTuple):
    """Bot in a scatter chart."""

    at: tuple[float, float]  # x and y of its values
    across: tuple[float, float]  # x of the ends of the horizontal interval
    up: tuple[float, float]  # y of the ends of the vertical interval
    name: str
    name_at: tuple[float, float]  # x and y of the name
    colour: int


class Scatter(NamedTuple):
    """Scatter chart 640 units wide. `label` describes it for screen readers."""

    height: int
    spots: list[Spot]
    down: list[tuple[float, str]]  # marks of the vertical axis: y and text
    along: list[tuple[float, str]]  # marks of the horizontal axis: x and text
    label: str
    across: str  # the title of the horizontal axis
    up: str  # the title of the vertical axis


def _ends(value: float, low: float | None, high: float | None) -> tuple[float, float, float]:
    """Return the lower end, the middle and the upper end of a bar. Without an interval, all three are the value."""
    return value if low is None else low, value, value if high is None else high


def score_by_cost(stage: Stage) -> Scatter | None:
    """Return a chart with the value that ranks each bot, against the bot's costs for models per table.

    The costs are money, or without prices tokens or calls. Return None if no bot used a model.
    """
    shown = [row for row in stage.rows if row.first.figure is not None and row.tables][:WAYS]
    keys = [key for key in shown[0].models if key != RETRIES] if shown else []
    if not keys:
        return None
    key, estimates = keys[-1], [row.models[keys[-1]] for row in shown]
    costs = [_ends(each.value or 0.0, each.low, each.high) for each in estimates]
    scores = [_ends(figure, row.first.low, row.first.high) for row in shown if (figure := row.first.figure) is not None]
    axis = axis_of([end for ends in costs for end in ends])
    side = axis_of([end for ends in scores for end in ends], rates=shown[0].ranking.percent)

    def x(place: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (place - 6) / 228, 1)

    def y(place: float) -> float:
        return round(194 - 184 * (place - 6) / 228, 1)

    places = [(x(axis.x(cost)), y(side.x(score))) for (_, cost, _), (_, score, _) in zip(costs, scores, strict=True)]
    names = separate_labels([height for _, height in places], 20)
    spots = [
        Spot(
            at,
            (x(axis.x(cost[0])), x(axis.x(cost[2]))),
            (y(side.x(score[0])), y(side.x(score[2]))),
            row.bot,
            (466, name),
            nth,
        )
        for nth, (row, at, cost, score, name) in enumerate(zip(shown, places, costs, scores, names, strict=True))
    ]
    words = zip(shown, model_cells(estimates), strict=True)
    label = (
        f"{MODEL_TITLES[key]}: " + ", ".join(f"{one_line(row.bot)} {cell}, {value(row)}" for row, cell in words) + "."
    )
    height = max(204, int(max(names)) + 10) + 34
    down, along = [(y(at), word) for at, word in side.ticks], [(x(at), word) for at, word in axis.ticks]
    return Scatter(height, spots, down, along, label, MODEL_TITLES[key], shown[0].ranking.title)


CHART_FILTERS = (
    model_columns,
    score_by_cost,
    nearest,
    value,
    figure,
    half,
    margin,
    all_sets,
    ranked,
    ranking_title,
    scale,
    whisker,
    bars,
    drawings,
    lead,
    rank_lines,
    rank_line,
    score_line,
    chip_lines,
)
"""The functions of this package that templates can call as filters."""
