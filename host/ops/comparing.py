"""Test whether a new bot is stronger than an old one: they play each other until a sequential test decides."""

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from host.backends.placement import usable_cores
from host.base.format import rough_duration, thousands
from host.base.safe_text import escape_control_chars, one_line
from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.journal.tournament_dir import seed_text
from host.ops.adhoc import Conditions, adhoc_settings
from host.ops.bots import GameAndBots, find_bots
from host.rating.statistics import Interval, Verdict, tables_left, words
from host.stages.adhoc import Adhoc
from host.tournament.adhoc import AdhocSettings, adhoc_session
from host.tournament.comparison import DUEL, Comparison, SequentialTest, run_comparison, sides
from host.tournament.running import Observer
from host.tournament.signals import interruptible
from host.tournament.stage_runner import Executor


class PlannedComparison(NamedTuple):
    """A new and an old bot that will play each other, and the test that will decide."""

    bots: Sequence[str]  # the new one and the old one
    same_program: bool
    settings: AdhocSettings
    test: SequentialTest
    workers: int

    @property
    def game(self) -> Game:
        """Return the game that the bots play."""
        return self.settings.game


def find_sides(folder: Path, names: Sequence[str], game: str | None) -> GameAndBots:
    """Find the two bots of a comparison, the new one first. Return this pair as often as a side has seats.

    A side has more than one seat in a game that needs more than two bots.
    """
    found = find_bots(folder, names, game)
    return find_bots(folder, [*names] * sides(found.game), found.game)


def plan_comparison(
    folder: Path,
    found: GameAndBots,
    test: SequentialTest,
    chosen: Conditions,
    functions: Mapping[int, BuiltBot] = MappingProxyType({}),
) -> PlannedComparison:
    """Return the plan of a comparison of two bots, the new one first.

    `functions` has the bots that are functions of this process, by their index among all bots.
    """
    settings = adhoc_settings(folder, found, Adhoc(name=DUEL, tables=test.max_tables), chosen)
    names = [submission.name for submission in found.submissions]
    for index, function in sorted(functions.items()):
        names.insert(index, function.name)
    programs = [submission.with_keys(name="") for submission in found.submissions[:2]]
    return PlannedComparison(
        bots=names[:2],
        same_program=not functions and programs[0] == programs[1],
        settings=settings._replace(functions=functions),
        test=test,
        workers=chosen.workers or usable_cores(),
    )


class Follower(Observer, Protocol):
    """Displays a comparison while it is played."""

    def begin(self, bots: Sequence[BuiltBot]) -> None:
        """Receive the built bots, before they play."""
        ...

    def report(self, comparison: Comparison, verdict: Verdict) -> None:
        """Show the state of the comparison after a batch of tables."""
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
        """Return the probability (0 to 1) that the new bot is the stronger one."""
        return self.comparison.sure

    @property
    def lead(self) -> str:
        """Return the lead of the new bot with its interval, as text."""
        return lead_text(self.planned.game, self.comparison)

    @property
    def interval(self) -> Interval:
        """Return the 95 % interval of the lead: in Elo, or in points per table if the game has no winners."""
        points, error = self.comparison.elo
        return (
            self.comparison.interval if self.planned.game.winners is None else Interval(points - error, points + error)
        )

    @property
    def decision(self) -> str:
        """Return the decision of the test in words, without the measured numbers: "stronger than old", "undecided"."""
        old, (low, high) = escape_control_chars(self.planned.bots[1]), self.planned.test.bounds
        if self.verdict.accepted == "H1":
            return f"stronger than {old}" if low >= 0 else f"not weaker than {old} by {-low:g} Elo"
        if self.verdict.accepted == "H0":
            return f"weaker than {old}" if high <= 0 else f"not stronger than {old} by {high:g} Elo"
        return "undecided"

    def json(self) -> dict[str, Any]:
        """Return the comparison for JSON output, by key."""
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
        yield f"{self._headline} · {rough_duration(self.seconds)}"
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
        """Return a sentence that says which bot is stronger and how certain that is, in the words of the standings."""
        new, old = map(one_line, self.planned.bots)
        return words(new, old, self.sure) if self.sure >= 0.5 else words(old, new, 1 - self.sure)

    @property
    def _headline(self) -> str:
        new, old = map(escape_control_chars, self.planned.bots)
        tables = self.comparison.tables
        after = f"after {thousands(tables)} tables"
        if self.verdict.accepted:
            return f"{self.verdict.accepted} accepted {after}: {new} is {self.decision}: {self.lead}"
        left = self._tables_left
        more = f"; about {thousands(left)} more tables would decide it: -n {tables + left}" if left else ""
        return f"undecided {after}: {new} against {old} {self.lead}{more}"


async def compare_bots(
    planned: PlannedComparison, journal: Path, executor: Executor, view: Follower, began: float
) -> CompareResult | None:
    """Play two bots against each other until the test decides, or until ^C. Return None if ^C came before any result.

    `began` is the time from which the seconds of the result count.
    """
    latest, seed = list[tuple[Comparison, Verdict]](), ""

    def on_batch(comparison: Comparison, verdict: Verdict) -> None:
        latest[:] = [(comparison, verdict)]
        view.report(comparison, verdict)

    async with (
        interruptible(view.say) as stop,
        adhoc_session(planned.settings, journal, executor, planned.workers, view) as session,
    ):
        seed = seed_text(session.seed)
        view.begin(session.bots)
        await run_comparison(session, planned.game, planned.test, on_batch)
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
