"""The pages that spectators see: one file for everybody, or the same served live."""

import base64
import hashlib
import json
import math
import platform
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from host import __version__
from host.report.account import Account, Spent
from host.report.tables import Place, squeezed
from host.report.text import NONE, day, duration, one_line, thousands
from host.tournament.effects import Effect, Effects
from host.tournament.standings import Row

PAGES = Path(__file__).parent / "pages"
LIVE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What a served page may do: nothing that stands in the page itself is ever run."""

ISOLATION: Mapping[str, str] = {
    "L4": "namespaces, system call filter, cgroups",
    "L3": "namespaces, system call filter, limits watched",
    "L2": "Landlock, system call filter, limits",
    "none": "no sandbox: every bot could do what its host could",
}
KINDS: Mapping[str, str] = {
    "timeout": "no whole answer within the limit",
    "cpu": "more processor time than a move may take",
    "memory": "more memory than it may have",
    "flood": "more output than a move may have",
    "crash": "ended with an error instead of an answer",
    "exit": "ended in good order without an answer",
    "start": "could not be started",
    "unreadable": "an answer that the game's grammar does not know",
    "extra": "more than one line for one question",
    "early": "spoke before it was asked",
    "exception": "raised an exception that its adapter reported",
    "illegal": "a well-formed move that the rules do not allow there",
    "benched": "not asked any more after too many faults",
}


# What the templates say figures with.


def name(text: str) -> str:
    """Return a stranger's text on one line, harmless."""
    return one_line(text)


def dur(seconds: float | None) -> str:
    """Return a time with its unit."""
    return NONE if seconds is None else duration(seconds)


def decimals(row: Row) -> int:
    """Return how many decimals a score is worth."""
    return 0 if abs(row.score or 0) >= 100 else 1


def value(row: Row) -> str:
    """Return what ranks a bot: "60.59 %" or chips."""
    if row.rate is not None:
        return f"{100 * row.rate:.2f} %"
    return NONE if row.score is None else thousands(row.score, decimals(row))


def figure(row: Row) -> str:
    """Return what ranks a bot, in words."""
    return f"{value(row)} won" if row.rate is not None else f"{value(row)} chips"


def half(row: Row) -> str:
    """Return half the width of a row's interval."""
    if row.low is None or row.high is None:
        return NONE
    spread = (row.high - row.low) / 2
    return f"{100 * spread:.2f}" if row.rate is not None else thousands(spread, decimals(row))


def margin(row: Row) -> str:
    """Return a row's interval in words."""
    return "no interval yet" if row.low is None else f"± {half(row)}"


def plain(thing: Any) -> str:
    """Return a setting as people write it."""
    if isinstance(thing, bool):
        return "yes" if thing else "no"
    if isinstance(thing, (list, tuple)):
        return ", ".join(map(plain, thing)) or "none"
    return one_line(str(thing))


def more(effect: Effect, unit: str) -> str:
    """Return how much more is won somewhere: "+0.12 ± 0.30 %", or chips."""
    if effect.more is None or effect.high is None:
        return NONE
    factor, word = (100, "%") if unit == "games" else (1, "chips")
    return f"{factor * effect.more:+.2f} ± {factor * (effect.high - effect.more):.2f} {word}"


def verdict(found: Effects) -> str:
    """Return in words whether there are any effects."""
    if all(effect.more is None for effect in found.seats):
        return "too few tables were played to see what a seat, or playing late, is worth."
    seen = [effect.what for effect in found.late if effect.seen]
    late = f"{', '.join(map(one_line, seen))} won otherwise late than early" if seen else ""
    seats = [effect.what for effect in found.seats if effect.seen]
    worth = f"the game treats its seats differently ({', '.join(seats)})" if seats else "no seat is better than another"
    even = "equally often" if not found.apart else f"equally often, to within {found.apart} tables"
    unit = f"{100 * found.gained:.3f} % of its games" if found.unit == "games" else f"{found.gained:.2f} chips a table"
    brought = f", which has brought nobody more than {unit}" if seats else ""
    late = late or "whether a table was played early or late has made no difference"
    return f"{worth}; every bot has had every seat {even}{brought}; {late}."


# Geometry.


class Scale(NamedTuple):
    """The axis that the whiskers of a table share."""

    low: float
    high: float
    ticks: list[float]
    title: str

    def x(self, at: float) -> float:
        """Return where a value lies between 6 and 234."""
        return round(6 + 228 * (at - self.low) / (self.high - self.low), 1)


class Whisker(NamedTuple):
    """One row's whisker, on a picture 240 wide."""

    low: float | None
    at: float | None
    high: float | None
    label: str


def worth(row: Row) -> float | None:
    """Return what ranks a bot."""
    return row.rate if row.rate is not None else row.score


def scale(rows: Sequence[Row]) -> Scale:
    """Return the axis for these rows, with round ticks."""
    values = [each for row in rows for each in (row.low, worth(row), row.high) if each is not None and row.tables]
    low, high = min(values, default=0.0), max(values, default=1.0)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    low, high = low - room, high + room
    step = 10 ** math.floor(math.log10(high - low))
    step = next(step * part for part in (0.2, 0.5, 1, 2, 5) if (high - low) / (step * part) <= 6)
    marks = [step * number for number in range(math.ceil(low / step), math.floor(high / step) + 1)]
    rates = any(row.rate is not None for row in rows)
    first, last = (f"{100 * low:.0f} %", f"{100 * high:.0f} %") if rates else (thousands(low), thousands(high))
    axis = Scale(low, high, [], f"{first} … {last}")
    return axis._replace(ticks=[axis.x(mark) for mark in marks])


def whisker(row: Row, axis: Scale) -> Whisker:
    """Return a row's whisker on an axis."""
    at = worth(row)
    if at is None:
        return Whisker(None, None, None, "nothing played yet")
    if row.low is None or row.high is None:
        return Whisker(None, axis.x(at), None, value(row))
    return Whisker(axis.x(row.low), axis.x(at), axis.x(row.high), f"{value(row)}, {margin(row)}")


class Bar(NamedTuple):
    """One bar of a histogram, on a picture 640 × 190."""

    x: float
    y: float
    width: float
    height: float
    title: str
    late: bool


class Bars(NamedTuple):
    """A histogram of answer times."""

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    limit: float | None
    label: str


def bars(spent: Spent) -> Bars:
    """Return the histogram of a bot's answer times, its limit in the picture."""
    counts = [count for _, _, count in spent.walls]
    used = [at for at, count in enumerate(counts) if count]
    first = max(1, min(used))
    last = max(used)
    if spent.limit is not None:
        last = max(last, math.ceil(math.log2(spent.limit * 1e6)))
    last = max(last, first + 5)
    width = 620 / (last - first + 1)
    tallest = math.log10(max(counts) + 1)
    drawn = []
    for at in range(first, min(last, len(counts) - 1) + 1):
        start, below, count = spent.walls[at]
        if not count:
            continue
        height = round(4 + 120 * math.log10(count + 1) / tallest, 1)
        title = f"{thousands(count)} answers from {dur(start)} to {dur(below)}"
        late = spent.limit is not None and start >= spent.limit
        drawn.append(Bar(round(10 + (at - first) * width, 1), 150 - height, round(width - 3, 1), height, title, late))
    every = max(1, round((last - first) / 7))
    ticks = [
        (round(10 + (at - first) * width, 1), dur(2 ** (at - 1) / 1e6)) for at in range(first + 1, last + 1, every)
    ]
    limit = None
    if spent.limit is not None:
        limit = round(10 + (math.log2(spent.limit * 1e6) + 1 - first) * width, 1)
        limit = min(limit, 630.0)
    parts = [f"{percent} of 100 answers took less than {dur(quantile(spent, percent))}" for percent in (50, 99)]
    label = f"{'; '.join(parts)}; the slowest {dur(spent.slowest)}"
    return Bars(drawn, ticks, limit, label + (f", the limit {dur(spent.limit)}." if spent.limit is not None else "."))


def quantile(spent: Spent, percent: int) -> float:
    """Return the time below which so many of 100 answers stayed: the upper edge of a bar, or the slowest answer."""
    seen, total = 0, sum(count for _, _, count in spent.walls)
    for _, below, count in spent.walls:
        seen += count
        if 100 * seen >= percent * total:
            return min(below, spent.slowest)
    return spent.slowest


# Pages.

FILTERS = {
    each.__name__: each
    for each in (name, day, dur, more, verdict, value, figure, half, margin, plain, scale, whisker, bars)
} | {"num": thousands}


@cache
def environment() -> Environment:
    """Return the templates; whatever they are given is escaped."""
    made = Environment(
        loader=FileSystemLoader(PAGES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= FILTERS
    return made


@cache
def asset(file: str) -> str:
    """Return one of our own files: style.css, pages.js or casino.js."""
    return (PAGES / file).read_text()


ASSETS: Mapping[str, str] = {
    "style.css": "text/css; charset=utf-8",
    "pages.js": "text/javascript; charset=utf-8",
    "casino.js": "text/javascript; charset=utf-8",
}


def file_policy() -> str:
    """Return what a page in a file may do: run our two scripts, known by their hashes, and nothing else."""

    def hashed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    scripts = " ".join(hashed(asset(file)) for file in ("pages.js", "casino.js"))
    return (
        f"default-src 'none'; script-src {scripts}; style-src {hashed(asset('style.css'))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def machine() -> str:
    """Return what this machine is."""
    return f"{platform.system()} {platform.release()}, {platform.machine()}, Python {platform.python_version()}"


def rendered(
    told: Account,
    replays: Sequence[Place],
    data: Mapping[str, str],
    *,
    live: bool,
    playlog: tuple[str, str] | None = None,
) -> str:
    """Return the page: a file carries its tables with it, squeezed, by name; a served page fetches them.

    With a play.log, name and text, the page opens with that game.
    """
    paired = [stage for stage in told.stages if len(stage.pairs) > 0 and stage.kind != "cup"]
    menu = [("result", "Result"), ("standings", "Standings")] if told.stages else []
    menu += [("pairs", "Pairs")] if paired else []
    menu += [("cup", "Cup")] if any(stage.bracket for stage in told.stages) else []
    menu += [("groups", "Groups")] if any(stage.groups for stage in told.stages) else []
    menu += [("bots", "Bots"), ("faults", "Faults")] if told.stages else []
    menu += [("fairness", "Fairness")] if any(stage.effects for stage in told.stages) else []
    menu += [("casino", "Casino")]
    menu += [("about", "About")] if told.stages else []
    return (
        environment()
        .get_template("page.html")
        .render(
            account=told,
            live=live,
            policy="" if live else file_policy(),
            style=Markup(asset("style.css")),
            pages=Markup(asset("pages.js")),
            casino=Markup(asset("casino.js")),
            menu=menu,
            paired=paired,
            replays=replays,
            kept=set(data),
            data=data,
            playlog=(playlog[0], squeezed(playlog[1])) if playlog else None,
            kinds=KINDS,
            isolation=ISOLATION.get(told.level, told.level),
            machine=machine(),
            version=__version__,
            commands=_commands(told),
            withheld=_withheld(told),
        )
    )


def _commands(told: Account) -> str:
    if not told.config:
        return f"croupier play BOT BOT … -g {told.game} --seed {told.seed or 'SEED'}\ncroupier replay last"
    again = [f"mkdir run && echo {told.seed} > run/seed", "croupier run"] if told.seed else []
    return "\n".join([*again, "croupier standings", "croupier verify", "croupier replay TABLE"])


def _withheld(told: Account) -> str:
    if any(stage.state == "running" for stage in told.stages):
        return "Replays are withheld while a stage runs: they would show cards, and the luck to come."
    if not any(stage.fixtures for stage in told.stages):
        return "Nothing has been played yet."
    return "No replays: the seed of this run cannot be read from here, and without it nobody can deal the cards again."


def empty_account(title: str) -> Account:
    """Return an account with nothing in it but a title: the casino alone."""
    nothing: Mapping[str, Any] = json.loads("{}")
    return Account(
        *(title, "", "", "", "", "", "", None, __version__, None, None, "", "", nothing, nothing, (), (), 0),
    )
