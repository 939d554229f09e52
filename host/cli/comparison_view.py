"""Prints the progress of a comparison."""

import time
from collections.abc import Sequence

import click

from host.base.format import rough_duration, thousands
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot
from host.cli.plain_view import Quiet
from host.ops.comparing import PlannedComparison, lead_text
from host.rating.statistics import Verdict, tables_left
from host.tournament.comparison import Comparison
from protocols import PROTOCOLS

PROGRESS_INTERVAL_S = 5.0  # between two lines of progress


class ComparisonView(Quiet):
    """Prints the state of a comparison every PROGRESS_INTERVAL_S."""

    def __init__(self, planned: PlannedComparison, words: tuple[str, str], *, silent: bool) -> None:
        super().__init__()
        self._planned, self._words, self._silent = planned, words, silent

    def begin(self, bots: Sequence[BuiltBot]) -> None:
        """Start the clock. Warn if both bots are the same program, and name bots that could play faster."""
        if self._planned.same_program:
            new, old = self._words
            click.echo(f"WARNING  {new} and {old} are the same program: neither can be stronger", err=True)
        self._began = self._printed_at = time.monotonic()
        slow = [bot.name for bot in bots if bot.spec.parallel_tables == 1 and PROTOCOLS[bot.spec.protocol].persistent]
        if slow and not self._silent:
            names = escape_control_chars(", ".join(dict.fromkeys(map(_without_number, slow))))
            click.echo(
                f"faster if its bot.toml says parallel_tables = 64, for a bot that remembers nothing: {names}", err=True
            )

    def report(self, comparison: Comparison, verdict: Verdict) -> None:
        """Print the state of the comparison, at most every PROGRESS_INTERVAL_S, until the test has decided."""
        now = time.monotonic()
        if self._silent or verdict.accepted or now - self._printed_at <= PROGRESS_INTERVAL_S:
            return
        self._printed_at = now
        goal = verdict.high if verdict.llr > 0 else verdict.low
        way = f"{100 * verdict.llr / goal:.0f} % of the way to {'yes' if verdict.llr > 0 else 'no'}"
        left = "" if comparison.repeats.mostly else self._time_left(comparison.tables, verdict, now)
        lead = lead_text(self._planned.game, comparison)
        click.echo(f"{thousands(comparison.tables)} tables  {lead}  {way}{left}", err=True)

    def _time_left(self, tables: int, verdict: Verdict, now: float) -> str:
        """Return how long the test may take at this speed; "" if it shows no trend."""
        if (left := tables_left(verdict, tables)) is None:
            return ""
        most = self._planned.test.max_tables - tables
        seconds = min(left, most) * (now - self._began) / tables
        return f"  {'at most' if left > most else 'about'} {rough_duration(seconds)} left"


def _without_number(name: str) -> str:
    """Return the name of a bot without the number of its copy: `mine` for `mine#2`."""
    return name.partition("#")[0]
