"""Test whether a new bot is stronger than an old one: they play each other until a sequential test decides."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from host.backends.placement import usable_cores
from host.base.format import rough_duration, thousands
from host.base.safe_text import escape_control_chars, one_line
from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.journal.tournament_dir import seed_text
from host.ops.adhoc import Conditions, adhoc_settings
from host.ops.bots import find_bots
from host.rating.statistics import ALPHA, Verdict, tables_left, words
from host.stages.adhoc import Adhoc
from host.tournament.adhoc import AdhocSettings, adhoc_session
from host.tournament.comparison import DUEL, Comparison, run_comparison, sides
from host.tournament.running import Observer
from host.tournament.signals import interruptible
from host.tournament.stage_runner import Executor


class SequentialTest(NamedTuple):
    """The test of a comparison: its two hypotheses in Elo, the tables at most, and the probability of a wrong decision."""

    bounds: tuple[float, float] = (0.0, 10.0)
    max_tables: int = 50_000
    error: float = ALPHA


class PlannedComparison(NamedTuple):
    """A new and an old bot that will play each other, and the test that will decide."""

    bots: tuple[str, str]  # the new one and the old one
    same_program: bool
    settings: AdhocSettings
    test: SequentialTest
    workers: int

    @property
    def game(self) -> Game:
        """The game that they play."""
        return self.settings.game


def plan_comparison(folder: Path, new: str, old: str, test: SequentialTest, chosen: Conditions) -> PlannedComparison:
    """Return a comparison of two bots. In a game for more than two, each side takes several seats."""
    game = find_bots(folder, (new, old), chosen.game).game
    found = find_bots(folder, (new, old) * sides(game), game.name)
    ours, theirs = found.submissions[:2]
    return PlannedComparison(
        bots=(ours.name, theirs.name),
        same_program=ours.with_keys(name="") == theirs.with_keys(name=""),
        settings=adhoc_settings(folder, found, Adhoc(name=DUEL, tables=test.max_tables), chosen),
        test=test,
        workers=chosen.workers or usable_cores(),
    )


class Follower(Observer, Protocol):
    """Displays a comparison while it is played."""

    def begin(self, bots: Sequence[BuiltBot]) -> None:
        """Learn the bots, which are built now and will play."""
        ...

    def report(self, comparison: Comparison, verdict: Verdict) -> None:
        """Show the state after a batch of tables."""
        ...


class CompareResult(NamedTuple):
    """The state of a comparison when it ended."""

    planned: PlannedComparison
    comparison: Comparison
    verdict: Verdict
    interrupted: bool
    seconds: float
    seed: str
    journal: Path

    @property
    def sure(self) -> float:
        """The probability (0 to 1) that the new bot is the stronger one."""
        return self.comparison.sure(self.planned.game)

    @property
    def lead(self) -> str:
        """The lead of the new bot with its interval."""
        return lead_text(self.planned.game, self.comparison)

    def json(self) -> dict[str, Any]:
        """Return the comparison as JSON keys."""
        comparison, verdict = self.comparison, self.verdict
        points, error = comparison.elo
        low, high = comparison.interval
        return {
            "game": self.planned.game.name,
            "new": self.planned.bots[0],
            "old": self.planned.bots[1],
            "accepted": verdict.accepted or None,
            "tables": comparison.tables,
            "deals": comparison.deals,
            "won": comparison.won,
            "drawn": comparison.drawn,
            "lost": comparison.lost,
            "elo": {"points": round(points, 2), "low": round(points - error, 2), "high": round(points + error, 2)},
            "lead": {"mean": round(comparison.mean, 4), "low": round(low, 4), "high": round(high, 4)},
            "test": {
                "llr": round(verdict.llr, 4),
                "low": verdict.low,
                "high": verdict.high,
                "elo": list(self.planned.test.bounds),
            },
            "tables_left": self._tables_left,
            "different": comparison.repeats.different,
            "sure": self._order,
            "interrupted": self.interrupted,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
            "journal": str(self.journal),
        }

    def text(self) -> Iterator[str]:
        """Yield the comparison as lines."""
        comparison = self.comparison
        yield f"{self._decision} · {rough_duration(self.seconds)}"
        results = f"{comparison.won} won, {comparison.drawn} drawn, {comparison.lost} lost"
        deals = f" in {thousands(comparison.deals)} deals" if comparison.deals < comparison.tables else ""
        yield f"  {results}{deals} · level {self.planned.settings.level.label} · seed {self.seed}"
        yield f"  {self._order}"
        if comparison.repeats.sentence:
            yield f"  {comparison.repeats.sentence}"

    @property
    def _tables_left(self) -> int | None:
        return None if self.comparison.repeats.mostly else tables_left(self.verdict, self.comparison.tables)

    @property
    def _order(self) -> str:
        """How sure the order of the two bots would be in standings."""
        new, old = map(one_line, self.planned.bots)
        return words(new, old, self.sure) if self.sure >= 0.5 else words(old, new, 1 - self.sure)

    @property
    def _decision(self) -> str:
        new, old = map(escape_control_chars, self.planned.bots)
        (low, high), tables = self.planned.test.bounds, self.comparison.tables
        after = f"after {thousands(tables)} tables"
        if self.verdict.accepted == "H1":
            better = f"stronger than {old}" if low >= 0 else f"not weaker than {old} by {-low:g} Elo"
            return f"H1 accepted {after}: {new} is {better}: {self.lead}"
        if self.verdict.accepted == "H0":
            if high <= 0:
                return f"H0 accepted {after}: {new} is weaker than {old}: {self.lead}"
            return f"H0 accepted {after}: {new} is not stronger than {old} by {high:g} Elo: {self.lead}"
        left = self._tables_left
        more = f"; about {thousands(left)} more tables would decide it: -n {tables + left}" if left else ""
        return f"undecided {after}: {new} against {old} {self.lead}{more}"


async def compare_bots(
    planned: PlannedComparison, journal: Path, executor: Executor, view: Follower, began: float
) -> CompareResult | None:
    """Play two bots against each other until the test decides, or until ^C. Return None if it came before any result.

    `began` is the moment from which the seconds count.
    """
    latest, seed, test = list[tuple[Comparison, Verdict]](), "", planned.test

    def on_batch(comparison: Comparison, verdict: Verdict) -> None:
        latest[:] = [(comparison, verdict)]
        view.report(comparison, verdict)

    async with (
        interruptible(view.say) as stop,
        adhoc_session(planned.settings, journal, executor, planned.workers, view) as session,
    ):
        seed = seed_text(session.seed)
        view.begin(session.bots)
        await run_comparison(session, planned.game, test.max_tables, test.bounds, on_batch, test.error)
    if not latest:
        return None
    seconds, interrupted = time.monotonic() - began, stop.scope.cancelled_caught
    return CompareResult(planned, *latest[0], interrupted, seconds, seed, journal)


def lead_text(game: Game, comparison: Comparison) -> str:
    """Return the lead of the new bot with its interval: in Elo, or in points per table if the game has no winners."""
    if game.winners is None:
        low, high = comparison.interval
        return f"{comparison.mean:+.2f} a table ({low:+.2f} … {high:+.2f})"
    points, error = comparison.elo
    return f"{points:+.1f} Elo ({points - error:+.1f} … {points + error:+.1f})"
