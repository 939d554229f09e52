"""Draws the progress of a run on a terminal, with rich, which takes longer to import than most commands take.

It runs in the parent process, not in the workers, because drawing a frame would delay the bots.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from host.base.safe_text import escape_control_chars
from host.cli.plain_view import Plain
from host.rating.rankings import Estimate
from host.rating.strength import Strength
from host.tournament.progress import Progress, Tally, progress_text

if TYPE_CHECKING:
    from rich.live import Live as Screen

FRAMES_PER_S = 5
SHOWN = 40  # bots in a frame: no terminal has more lines for them


def frame(head: Iterable[str], tally: Tally, time_left: str = "", foot: str = "") -> Group:
    """Build one frame: lines about the run, the progress of the newest stage, its bots, best first, and a last line.

    `status` prints one frame, a live view draws many.
    """
    parts: list[Text | Padding | Table] = [Text(line, no_wrap=True, overflow="ignore") for line in head]
    if progress := tally.latest:
        under_way = progress.more and progress.done < progress.known
        bar = ProgressBar(total=progress.known or 1, completed=progress.done, width=60, pulse=under_way)
        parts += [Text(progress_text(progress) + time_left), Padding(bar)]  # a bar alone does not end its line
        if tally.early is not None and tally.early.pairs.missing and progress.done:
            parts += [Text(tally.early.pairs.sentence, style="dim"), _early_standings(tally, tally.early.recent())]
        else:
            parts.append(_standings(tally, progress))
    parts += [Text(f"WARNING  {sentence}", style="yellow") for sentence in tally.late_warnings()]
    if last := "   ".join(filter(None, [tally.last_fault, foot])):
        parts.append(Text(last, style="dim"))
    return Group(*parts)


def _standings(tally: Tally, progress: Progress) -> Table:
    places = progress.places(tally.newest)
    ranking, values = places.ranking, [Estimate(value) for _, _, value in places.rows]
    early = progress.all_meet and progress.done < progress.known
    table = _table(f"{ranking.title} so far" if early else ranking.title, "faults")
    decimals = ranking.decimals_of(values)
    for (rank, bot, _), value in zip(places.rows[:SHOWN], values, strict=False):
        cells = ranking.spelled(value, decimals), _faults(tally, bot)
        table.add_row(str(rank or ""), Text(escape_control_chars(bot)), *cells)
    _name_the_rest(table, len(values))
    return table


def _early_standings(tally: Tally, strengths: Mapping[str, Strength]) -> Table:
    """Return the bots by estimated strength, while not all pairs have met."""
    table = _table("Elo", "faults")
    for rank, bot in enumerate(sorted(strengths, key=strengths.__getitem__, reverse=True)[:SHOWN], 1):
        strength = strengths[bot]
        elo = {1: "not beaten yet", -1: "no win yet"}.get(strength.bound, f"{strength.elo:.0f}")
        table.add_row(str(rank), Text(escape_control_chars(bot)), elo, _faults(tally, bot))
    _name_the_rest(table, len(strengths))
    return table


def _name_the_rest(table: Table, bots: int) -> None:
    """Add a line about the bots for which a frame has no room."""
    if bots > SHOWN:
        table.add_row("", Text(f"and {bots - SHOWN} more: croupier standings", style="dim"))


def _table(*figures: str) -> Table:
    table = Table(box=None, header_style="dim", padding=(0, 1))
    for column in ("#", "bot"):
        table.add_column(column)
    for column in figures:
        table.add_column(column, justify="right")
    return table


def _faults(tally: Tally, bot: str) -> Text:
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
        """Count a finished fixture. Draw a frame if the last one is old enough, or if all known fixtures are done."""
        if progress.stage != self._stage:
            self._stage, self._began, self._at_start = progress.stage, time.monotonic(), progress.done
        self._tally.add(progress)
        now = time.monotonic()
        if now - self._printed_at >= 1 / FRAMES_PER_S or progress.done == progress.known:
            self._printed_at = now
            left = "" if progress.more else self.left(progress)
            drawn = frame(self._head(self._tally), self._tally, left, f"[^C] {self._stop}")
            self._screen.update(drawn, refresh=True)
