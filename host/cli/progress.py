"""A run shown while it goes on: a live view on a terminal, plain lines elsewhere, or events for programs.

It draws in the parent process, never where bots are played: a frame would stall their loop.
"""

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from host.base.safe_text import harmless
from host.tournament.stage_runner import Progress

if TYPE_CHECKING:  # rich costs more to import than most commands take
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
        click.echo(self.words(progress))

    def words(self, progress: Progress) -> str:
        """Return how far a stage is, as far as that can be known."""
        if progress.more:
            return f"{progress.stage}  {progress.done} fixtures, {progress.known - progress.done} due"
        percent = 100 * progress.done // progress.known if progress.known else 100
        of = f"{progress.done} of {progress.known} fixtures"
        return f"{progress.stage}  {percent:3d} %  {of}{self.left(progress)}"

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


class Live(Plain):
    """Draws the standings of the stage under way, at most FRAMES times a second."""

    def __init__(self, live: Any, stop: str) -> None:
        super().__init__()
        self._live, self._stop = live, stop
        self._scores: dict[str, list[int]] = {}
        self._faults: dict[str, dict[str, int]] = {}
        self._last_fault = ""
        self._known_stage = ""

    def say(self, text: str) -> None:
        """Print one line above the table."""
        self._live.console.print(harmless(text), markup=False, highlight=False)

    def progress(self, progress: Progress) -> None:
        """Count a finished fixture, and draw unless a frame has just been drawn."""
        self._note(progress)
        now = time.monotonic()
        if now - self._told >= 1 / FRAMES or progress.done == progress.known:
            self._told = now
            self._draw(progress)

    def _note(self, progress: Progress) -> None:
        if progress.stage != self._known_stage:
            self._known_stage = progress.stage
            self._scores, self._faults = {}, {}
            self._began, self._at_start = time.monotonic(), progress.done
        record = progress.record
        if record is not None:
            for bot, result in record.results.items():
                self._scores.setdefault(bot, []).append(result.wins or result.final)
            for bot, kinds in record.faults.items():
                counted = self._faults.setdefault(bot, {})
                for kind, count in kinds.items():
                    counted[kind] = counted.get(kind, 0) + count
                    self._last_fault = f"last fault  {harmless(bot)} {kind} in {harmless(record.path)}"

    def _draw(self, progress: Progress) -> None:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.text import Text

        bar = ProgressBar(total=progress.known or 1, completed=progress.done, width=60, pulse=progress.more)
        foot = Text("   ".join(filter(None, [self._last_fault, f"[^C] {self._stop}"])), style="dim")
        self._live.update(Group(Text(self.words(progress)), bar, self._field(), foot), refresh=True)

    def _field(self) -> "Table":
        from statistics import fmean, stdev

        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, header_style="dim", padding=(0, 1))
        for column in ("#", "bot"):
            table.add_column(column)
        for column in ("mean", "±", "faults"):
            table.add_column(column, justify="right")
        order = sorted(self._scores, key=lambda bot: -fmean(self._scores[bot]))
        for rank, bot in enumerate(order, 1):
            scores = self._scores[bot]
            margin = 1.96 * stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else 0.0
            faults = " ".join(f"{count} {kind}" for kind, count in self._faults.get(bot, {}).items())
            table.add_row(
                str(rank),
                Text(harmless(bot)),
                f"{fmean(scores):.1f}",
                f"{margin:.1f}" if margin else "",
                Text(faults or "·"),
            )
        return table


@contextlib.contextmanager
def shown(kind: str, *, quiet: bool = False, stop: str = "stop and save") -> Iterator[Plain]:
    """Show a run as asked: auto is live on a terminal, and plain lines elsewhere. `stop` says what ^C does."""
    if kind == "auto":
        kind = "none" if quiet else "live" if sys.stdout.isatty() else "plain"
    if kind != "live":
        yield {"plain": Plain, "json": Events, "none": Quiet}[kind]()
        return
    from rich.live import Live as Screen

    with Screen(auto_refresh=False, transient=True) as screen:
        yield Live(screen, stop)


def duration(seconds: float) -> str:
    """Return a time with its unit, never 0."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
