"""Prints the progress of a run: a live view on a terminal, plain lines in a pipe, or events for programs.

It runs in the parent process, not in the workers, because drawing a frame would delay the bots.
"""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from host.base.format import rough_duration
from host.base.safe_text import escape_control_chars
from host.tournament.progress import Progress, Tally

if TYPE_CHECKING:  # rich costs more to import than most commands take
    from rich.console import Group
    from rich.live import Live as Screen
    from rich.table import Table
    from rich.text import Text

    from host.rating.strength import Strength

MAX_LINE_INTERVAL_S = 10.0  # between two plain lines
MIN_LINE_INTERVAL_S = 1.0
SILENT_START_S = 2.0  # of a stage, in which no line is printed
FRAMES_PER_S = 5
SHOWN = 40  # bots in a frame: no terminal has more lines for them


class Plain:
    """Prints a line for each percent, at most every second and at least every ten. Short stages print nothing."""

    def __init__(self) -> None:
        self._stage, self._percent, self._printed_at, self._began = "", -1, 0.0, time.monotonic()
        self._at_start = 0

    def say(self, text: str) -> None:
        """Print one line; warnings go to standard error."""
        click.echo(text, err=text.startswith("WARNING"))

    def progress(self, progress: Progress) -> None:
        """Print the progress of a stage if it is time for a line."""
        percent = 100 * progress.done // progress.known if progress.known else 100
        now = time.monotonic()
        if progress.stage != self._stage:
            self._stage, self._percent, self._began, self._at_start = progress.stage, -1, now, progress.done
        interval = MAX_LINE_INTERVAL_S if percent == self._percent else MIN_LINE_INTERVAL_S
        if now - self._began < SILENT_START_S or now - self._printed_at < interval:
            return
        self._percent, self._printed_at = percent, now
        click.echo(progress_text(progress) + ("" if progress.more else self.left(progress)))

    def left(self, progress: Progress) -> str:
        """Return the estimated time left; "" if too little has been played."""
        played, seconds = progress.done - self._at_start, time.monotonic() - self._began
        if played < 2 or progress.done >= progress.known:
            return ""
        return f"  {rough_duration(seconds / played * (progress.known - progress.done))} left"


class Quiet(Plain):
    """Prints only warnings."""

    def say(self, text: str) -> None:
        """Print a warning; ignore any other line."""
        if text.startswith("WARNING"):
            click.echo(text, err=True)

    def progress(self, progress: Progress) -> None:
        """Print nothing."""


class OnStderr(Plain):
    """Prints every line to standard error: the output of the command is its result."""

    def say(self, text: str) -> None:
        """Print one line."""
        click.echo(text, err=True)

    def progress(self, progress: Progress) -> None:
        """Print nothing."""


class ProgressEvents(Plain):
    """Prints one JSON object per line."""

    def say(self, text: str) -> None:
        """Print a line as an event."""
        click.echo(json.dumps({"v": 1, "ev": "say", "text": text}))

    def progress(self, progress: Progress) -> None:
        """Print a finished fixture as an event."""
        event: dict[str, Any] = {
            "v": 1,
            "ev": "progress",
            "stage": progress.stage,
            "done": progress.done,
            "known": progress.known,
        }
        if progress.record is not None:
            finals = {bot: result.final for bot, result in progress.record.results.items()}
            event |= {"fixture": progress.record.path, "finals": finals, "faults": progress.record.faults}
        click.echo(json.dumps(event))


def frame(head: Iterable[str], tally: Tally, time_left: str = "", foot: str = "") -> "Group":
    """Build one frame: lines about the run, the progress of the newest stage, its bots by mean score, and a last line.

    `status` prints one frame, a live view draws many.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    parts: list[Text | Padding | Table] = [Text(line, no_wrap=True, overflow="ignore") for line in head]
    if progress := tally.latest:
        under_way = progress.more and progress.done < progress.known
        bar = ProgressBar(total=progress.known or 1, completed=progress.done, width=60, pulse=under_way)
        parts += [
            Text(progress_text(progress) + time_left),
            Padding(bar),
        ]  # a bar alone does not end its line
        if tally.early is not None and tally.early.pairs.missing and progress.done:
            parts += [Text(tally.early.pairs.sentence, style="dim"), _early_standings(tally, tally.early.recent())]
        else:
            parts.append(_standings(tally))
    parts += [Text(f"WARNING  {sentence}", style="yellow") for sentence in tally.late_warnings()]
    if last := "   ".join(filter(None, [tally.last_fault, foot])):
        parts.append(Text(last, style="dim"))
    return Group(*parts)


def _standings(tally: Tally) -> "Table":
    latest = tally.latest
    early = latest is not None and latest.all_meet is not None and latest.done < latest.known
    ranked = latest is None or not latest.more  # otherwise places rank the bots, not their means
    table = _table("mean so far" if early else "mean", "±", "faults")
    scores = tally.newest.scores
    best = sorted(scores, key=lambda bot: -scores[bot].value)
    for rank, bot in enumerate(best[:SHOWN], 1):
        mean, margin = scores[bot].value, scores[bot].margin
        cells = (f"{mean:.1f}", f"{margin:.1f}" if margin else "", _faults(tally, bot))
        table.add_row(str(rank) if ranked else "", _bot(bot), *cells)
    _name_the_rest(table, len(best))
    return table


def _early_standings(tally: Tally, strengths: "Mapping[str, Strength]") -> "Table":
    """Return the bots by estimated strength, while not all pairs have met."""
    table = _table("Elo", "faults")
    for rank, bot in enumerate(sorted(strengths, key=strengths.__getitem__, reverse=True)[:SHOWN], 1):
        strength = strengths[bot]
        elo = {1: "not beaten yet", -1: "no win yet"}.get(strength.bound, f"{strength.elo:.0f}")
        table.add_row(str(rank), _bot(bot), elo, _faults(tally, bot))
    _name_the_rest(table, len(strengths))
    return table


def _name_the_rest(table: "Table", bots: int) -> None:
    """Add a line about the bots for which a frame has no room."""
    from rich.text import Text

    if bots > SHOWN:
        table.add_row("", Text(f"and {bots - SHOWN} more: croupier standings", style="dim"))


def _table(*figures: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, header_style="dim", padding=(0, 1))
    for column in ("#", "bot"):
        table.add_column(column)
    for column in figures:
        table.add_column(column, justify="right")
    return table


def _bot(name: str) -> "Text":
    from rich.text import Text

    return Text(escape_control_chars(name))


def _faults(tally: Tally, bot: str) -> "Text":
    from rich.text import Text

    return Text(" ".join(f"{count} {kind}" for kind, count in tally.newest.faults.get(bot, {}).items()) or "·")


class Live(Plain):
    """Draws frames on a terminal, at most FRAMES_PER_S."""

    def __init__(self, screen: "Screen", stop: str, head: Callable[[Tally], Iterable[str]], tally: Tally) -> None:
        super().__init__()
        self._screen, self._stop, self._head, self._tally = screen, stop, head, tally

    def say(self, text: str) -> None:
        """Print one line above the frame."""
        self._screen.console.print(escape_control_chars(text), markup=False, highlight=False)

    def progress(self, progress: Progress) -> None:
        """Count a finished fixture, and draw a frame if it is time."""
        if progress.stage != self._stage:
            self._stage, self._began, self._at_start = progress.stage, time.monotonic(), progress.done
        self._tally.add(progress)
        now = time.monotonic()
        if now - self._printed_at >= 1 / FRAMES_PER_S or progress.done == progress.known:
            self._printed_at = now
            left = "" if progress.more else self.left(progress)
            drawn = frame(self._head(self._tally), self._tally, left, f"[^C] {self._stop}")
            self._screen.update(drawn, refresh=True)


@contextlib.contextmanager
def progress_view(
    kind: str,
    *,
    quiet: bool = False,
    stop: str = "stop and save",
    head: Callable[[Tally], Iterable[str]] = lambda _tally: (),
    tally: Tally | None = None,
) -> Iterator[Plain]:
    """Print a run with a view of this kind; `auto` is live on a terminal, and plain lines elsewhere.

    `stop` says what ^C does, `head` returns the first lines of a live frame, `tally` has what was counted before.
    """
    if kind == "auto":
        kind = "none" if quiet else "live" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else "plain"
    if kind != "live":
        yield {"plain": Plain, "json": ProgressEvents, "none": Quiet, "stderr": OnStderr}[kind]()
        return
    from rich.live import Live as Screen

    with Screen(auto_refresh=False, transient=True) as screen:
        yield Live(screen, stop, head, tally or Tally())


def progress_text(progress: Progress) -> str:
    """Return the progress of a stage; in percent if the number of its fixtures is known."""
    if progress.more:
        return f"{progress.stage}  {progress.done} fixtures, {progress.known - progress.done} due"
    percent = 100 * progress.done // progress.known if progress.known else 100
    return f"{progress.stage}  {percent:3d} %  {progress.done} of {progress.known} fixtures"
