"""A run shown while it goes on: a live view on a terminal, plain lines elsewhere, or events for programs.

It draws in the parent process, never where bots are played: a frame would stall their loop.
"""

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from host.base.safe_text import escape_control_chars
from host.play.records import count_replays
from host.tournament.stage_runner import Progress

if TYPE_CHECKING:  # rich costs more to import than most commands take
    from rich.console import Group
    from rich.table import Table

EVERY = 10.0  # seconds at most between two plain lines
SELDOM = 1.0  # seconds at least between them
SOON = 2.0  # seconds in which nobody needs to be told anything
FRAMES = 5  # a second, at most


class Plain:
    """One line per percent, at most one a second and at least one in ten; nothing about what is over at once."""

    def __init__(self) -> None:
        self._stage, self._percent, self._told, self._began = "", -1, 0.0, time.monotonic()
        self._at_start = 0

    def say(self, text: str) -> None:
        """Show one line; a warning must not be lost in a pipe."""
        click.echo(text, err=text.startswith("WARNING"))

    def progress(self, progress: Progress) -> None:
        """Show how far a stage is, when that is news."""
        percent = 100 * progress.done // progress.known if progress.known else 100
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._percent, self._began, self._at_start = progress.stage, -1, now, progress.done
        if now - self._began < SOON or now - self._told < (EVERY if percent == self._percent else SELDOM):
            return
        self._percent, self._told = percent, now
        click.echo(how_far(progress) + ("" if progress.more else self.left(progress)))

    def left(self, progress: Progress) -> str:
        """Return how long it will take, once that can be said."""
        played, seconds = progress.done - self._at_start, time.monotonic() - self._began
        if played < 2 or progress.done >= progress.known:
            return ""
        return f"  {duration(seconds / played * (progress.known - progress.done))} left"


class Quiet(Plain):
    """Says nothing but warnings."""

    def say(self, text: str) -> None:
        """Show warnings only."""
        if text.startswith("WARNING"):
            click.echo(text, err=True)

    def progress(self, progress: Progress) -> None:
        """Show nothing."""


class Events(Plain):
    """One JSON object a line."""

    def say(self, text: str) -> None:
        """Tell one line."""
        click.echo(json.dumps({"v": 1, "ev": "say", "text": text}))

    def progress(self, progress: Progress) -> None:
        """Tell every fixture."""
        told: dict[str, Any] = {
            "v": 1,
            "ev": "progress",
            "stage": progress.stage,
            "done": progress.done,
            "known": progress.known,
        }
        if progress.record is not None:
            finals = {bot: result.final for bot, result in progress.record.results.items()}
            told |= {"fixture": progress.record.path, "finals": finals, "faults": progress.record.faults}
        click.echo(json.dumps(told))


class Tally:
    """Counts finished fixtures: how many of each stage, and each bot's scores and faults in the newest stage."""

    def __init__(self) -> None:
        self.latest: Progress | None = None
        self.done = Counter[str]()
        self.scores: dict[str, list[float]] = {}
        self.faults: dict[str, Counter[str]] = {}
        self.last_fault = ""
        self.replayed = 0
        self.stalls: list[str] = []

    def add(self, progress: Progress) -> None:
        """Count one finished fixture; a new stage begins with empty scores."""
        if self.latest is None or progress.stage != self.latest.stage:
            self.scores, self.faults = {}, {}
        self.latest = progress
        self.done[progress.stage] = progress.done
        record = progress.record
        if record is None:
            return
        twice = count_replays([record])
        self.replayed += twice.replayed
        self.stalls += twice.stalls
        for bot, result in record.results.items():
            self.scores.setdefault(bot, []).append(result.wins or result.final)
        for bot, kinds in record.faults.items():
            self.faults.setdefault(bot, Counter()).update(kinds)
            for kind in kinds:
                self.last_fault = (
                    f"last fault  {escape_control_chars(bot)} {kind} in {escape_control_chars(record.path)}"
                )


def frame(head: Iterable[str], tally: Tally, time_left: str = "", foot: str = "") -> "Group":
    """Build what `status` prints once and what a live view draws again and again.

    From above: lines about the run, how far the newest stage is, its bots in the order of their means, and a last line.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    parts: list[Text | Padding | Table] = [Text(line, no_wrap=True, overflow="ignore") for line in head]
    if progress := tally.latest:
        under_way = progress.more and progress.done < progress.known
        bar = ProgressBar(total=progress.known or 1, completed=progress.done, width=60, pulse=under_way)
        parts += [Text(how_far(progress) + time_left), Padding(bar), _standings(tally)]  # a bare bar ends no line
    if last := "   ".join(filter(None, [tally.last_fault, foot])):
        parts.append(Text(last, style="dim"))
    return Group(*parts)


def _standings(tally: Tally) -> "Table":
    from statistics import fmean, stdev

    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", padding=(0, 1))
    for column in ("#", "bot"):
        table.add_column(column)
    for column in ("mean", "±", "faults"):
        table.add_column(column, justify="right")
    for rank, bot in enumerate(sorted(tally.scores, key=lambda bot: -fmean(tally.scores[bot])), 1):
        scores = tally.scores[bot]
        margin = 1.96 * stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
        faults = " ".join(f"{count} {kind}" for kind, count in tally.faults.get(bot, {}).items())
        cells = (f"{fmean(scores):.1f}", f"{margin:.1f}" if margin else "", Text(faults or "·"))
        table.add_row(str(rank), Text(escape_control_chars(bot)), *cells)
    return table


class Live(Plain):
    """Draws frames on a terminal, at most FRAMES a second."""

    def __init__(self, live: Any, stop: str, head: Callable[[Tally], Iterable[str]], tally: Tally) -> None:
        super().__init__()
        self._live, self._stop, self._head, self._tally = live, stop, head, tally

    def say(self, text: str) -> None:
        """Print one line above the frame."""
        self._live.console.print(escape_control_chars(text), markup=False, highlight=False)

    def progress(self, progress: Progress) -> None:
        """Count a finished fixture, and draw unless a frame has just been drawn."""
        if progress.stage != self._stage:
            self._stage, self._began, self._at_start = progress.stage, time.monotonic(), progress.done
        self._tally.add(progress)
        now = time.monotonic()
        if now - self._told >= 1 / FRAMES or progress.done == progress.known:
            self._told = now
            left = "" if progress.more else self.left(progress)
            drawn = frame(self._head(self._tally), self._tally, left, f"[^C] {self._stop}")
            self._live.update(drawn, refresh=True)


@contextlib.contextmanager
def progress_view(
    kind: str,
    *,
    quiet: bool = False,
    stop: str = "stop and save",
    head: Callable[[Tally], Iterable[str]] = lambda _tally: (),
    tally: Tally | None = None,
) -> Iterator[Plain]:
    """Show a run as asked: auto is live on a terminal, and plain lines elsewhere.

    `stop` says what ^C does, `head` returns the first lines of a live frame, `tally` is what has been counted before.
    """
    if kind == "auto":
        kind = "none" if quiet else "live" if sys.stdout.isatty() else "plain"
    if kind != "live":
        yield {"plain": Plain, "json": Events, "none": Quiet}[kind]()
        return
    from rich.live import Live as Screen

    with Screen(auto_refresh=False, transient=True) as screen:
        yield Live(screen, stop, head, tally or Tally())


def how_far(progress: Progress) -> str:
    """Return how far a stage is, as far as that can be known."""
    if progress.more:
        return f"{progress.stage}  {progress.done} fixtures, {progress.known - progress.done} due"
    percent = 100 * progress.done // progress.known if progress.known else 100
    return f"{progress.stage}  {percent:3d} %  {progress.done} of {progress.known} fixtures"


def duration(seconds: float) -> str:
    """Return a time with its unit, never 0."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
