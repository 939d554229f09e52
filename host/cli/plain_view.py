"""Prints the progress of a run as plain lines, or as events for programs."""

import json
import time
from typing import Any

import click

from host.base.format import rough_duration
from host.tournament.progress import Progress, progress_text

MAX_LINE_INTERVAL_S = 10.0  # between two plain lines
MIN_LINE_INTERVAL_S = 1.0
SILENT_START_S = 2.0  # of a stage, in which no line is printed


class Plain:
    """Prints lines of progress: at most one per MIN_LINE_INTERVAL_S if a new percent of the stage is done.

    While the percent stays the same, it prints one per MAX_LINE_INTERVAL_S. In the first SILENT_START_S of a stage it
    prints nothing.
    """

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
        """Return the estimated time left; "" if fewer than two fixtures were played, or if all are done."""
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
    """Prints every line to standard error, because standard output is for the result. Prints no progress."""

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
        if progress.record is not None and progress.record.undecided:
            event |= {"fixture": progress.record.path, "undecided": progress.record.undecided.reason}
        elif progress.record is not None:
            finals = {bot: result.final for bot, result in progress.record.results.items()}
            event |= {"fixture": progress.record.path, "finals": finals, "faults": progress.record.faults}
        click.echo(json.dumps(event))
