"""`croupier.compare`: tests whether a new bot is stronger than an old one."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike

from croupier.playing import Result, play
from croupier.session import Bar, errors, folder_of, session
from host.base.format import counted, thousands
from host.base.paths import SAMPLE_PREFIX
from host.base.safe_text import one_line
from host.bots.bot_spec import BuiltBot
from host.ops.adhoc import Conditions
from host.ops.bots import find_bots
from host.ops.comparing import (
    PlannedComparison,
    SequentialTest,
    compare_bots,
    lead_text,
    plan_comparison,
)
from host.rating.statistics import Verdict, Z, sure_of_mean
from host.submissions.sample_bots import samples
from host.tournament.comparison import Comparison as Results

EVERY_SAMPLE = f"{SAMPLE_PREFIX}*"
MAX_TABLES = 50_000  # of two bots that play each other
TABLES_EACH = 2000  # of each bot against each opponent


class Comparison:
    """What a comparison has found. It is true if the new bot is stronger.

    `certainty` (0 to 1) is the probability that the new bot is the stronger one. `stronger` is True or False if the test
    has decided, otherwise None.
    """

    def __init__(
        self, stronger: bool | None, certainty: float, tables: int, text: str, results: Sequence[Result]
    ) -> None:
        self.stronger, self.certainty, self.tables = stronger, certainty, tables
        self.results: tuple[Result, ...] = tuple(results)
        """The tables of both bots against each opponent: the old one's, then the new one's."""
        self._text = text

    def __bool__(self) -> bool:
        return bool(self.stronger)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{self._text}>"


def compare(
    old: str | PathLike[str],
    new: str | PathLike[str],
    *,
    against: Sequence[str | PathLike[str]] = (),
    sure: float = 0.95,
    elo: tuple[float, float] = (0.0, 10.0),
    tables: int | None = None,
    game: str | None = None,
    seed: int | str | None = None,
    mirror: bool = True,
    workers: int | None = None,
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
    progress: bool = True,
) -> Comparison:
    """Test whether a new bot is stronger than an old one. Note the order: `croupier compare` names the new one first.

    Without `against` they play each other until the sequential test of `croupier compare` decides between a lead of
    `elo[0]` and one of `elo[1]`, or for at most `tables` (50 000) tables. With `against`, a list of opponents
    (`"sample:*"` is every sample bot), each of both plays `tables` (2 000) tables against each opponent, and the one
    with the higher share of tables won, or mean score, is the stronger one. `sure` (0.5 to 1) is the certainty that
    decides. Raise Error where the command prints an error.
    """
    if not 0.5 < sure < 1:
        raise ValueError("sure: a certainty between 0.5 and 1")
    once = partial(
        play,
        tables=tables or TABLES_EACH,
        seed=seed,
        mirror=mirror,
        workers=workers,
        folder=folder,
        unsafe=unsafe,
        progress=progress,
    )
    if against:
        with errors():
            found = find_bots(folder_of(folder), (str(old), str(new)), game)
            opponents = _named(against, found.game.name)
        return _by_opponents(lambda bot, opponent: once(found.game.name, [bot, opponent]), (old, new), opponents, sure)
    with errors():
        test = SequentialTest(bounds=elo, max_tables=tables or MAX_TABLES, error=1 - sure)
        text = None if seed is None else str(seed)
        chosen = Conditions(game=game, seed=text, mirror=mirror, workers=workers, unsafe=unsafe)
        planned = plan_comparison(folder_of(folder), str(new), str(old), test, chosen)
    return _against_each_other(planned, str(new), shown=progress)


def _named(against: Sequence[str | PathLike[str]], game: str) -> list[str]:
    """Return the opponents by name; `sample:*` stands for every sample bot of the game."""
    found: list[str] = []
    for name in map(str, against):
        found += [SAMPLE_PREFIX + each for each in samples(game)] if name == EVERY_SAMPLE else [name]
    return found


def _by_opponents(
    once: Callable[[str | PathLike[str], str], Result],
    bots: tuple[str | PathLike[str], str | PathLike[str]],
    opponents: Sequence[str],
    sure: float,
) -> Comparison:
    """Compare two bots by what they achieve against the same opponents."""
    results = [[once(bot, opponent) for opponent in opponents] for bot in bots]
    old, new = ([_first(result) for result in some] for some in results)
    certainty = sure_of_mean([value for value, _ in new], [value for value, _ in old], [e for _, e in [*old, *new]])
    stronger = None if max(certainty, 1 - certainty) < sure else certainty > 0.5
    means = [sum(value for value, _ in some) / len(some) for some in (old, new)]
    by, played = results[0][0].ranked_by, [result for some in results for result in some]
    text = (
        f"{'undecided' if stronger is None else 'stronger' if stronger else 'not stronger'}: {one_line(str(bots[1]))} has a "
        f"mean {by} of {means[1]:.4g} against {counted(len(opponents), 'opponent')}, {one_line(str(bots[0]))} "
        f"{means[0]:.4g}: ahead with {100 * certainty:.1f} % certainty"
    )
    return Comparison(stronger, certainty, sum(result.tables for result in played), text, played)


def _first(result: Result) -> tuple[float, float]:
    """Return the value of the bot that was named first, and its standard error."""
    row = next(row for row in result.rows if row.bot == result.bots[0])
    half = 0.0 if row.low is None or row.high is None else (row.high - row.low) / 2
    return row.value or 0.0, half / Z


class _Bar(Bar):
    """Prints the state of a comparison."""

    def __init__(self, planned: PlannedComparison, *, shown: bool) -> None:
        super().__init__(shown=shown)
        self._game = planned.game

    def begin(self, bots: Sequence[BuiltBot]) -> None:
        """Do nothing."""

    def report(self, results: Results, verdict: Verdict) -> None:
        """Print the lead, if it is time."""
        self.line(f"{thousands(results.tables)} tables  {lead_text(self._game, results)}")


def _against_each_other(planned: PlannedComparison, new: str, *, shown: bool) -> Comparison:
    """Let two bots play each other until the sequential test decides. `new` is the word that names the new one."""
    own = session()
    with _Bar(planned, shown=shown) as bar:
        work = partial(compare_bots, planned, own.new_journal(), own.workers.executor, bar, time.monotonic())
        result = own.run(work)
    assert result is not None  # only ^C ends it before the first result, and is raised
    stronger = {"H1": True, "H0": False}.get(result.verdict.accepted)
    words = "undecided" if stronger is None else "stronger" if stronger else "not stronger"
    tables = result.comparison.tables
    text = f"{words} after {counted(tables, 'table')}: {one_line(new)} {result.lead}"
    return Comparison(stronger, result.sure, tables, text, ())
