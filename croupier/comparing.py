"""`croupier.compare`: tests whether a new bot is stronger than an old one."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike

from croupier.functions import executor_of, function_bots
from croupier.playing import Bot, Result, play
from croupier.session import Bar, errors, folder_of, limits_of, seed_of, session, whole
from host.base.format import counted, thousands
from host.base.paths import SAMPLE_PREFIX
from host.base.safe_text import one_line
from host.bots.bot_spec import BuiltBot
from host.ops.adhoc import Conditions
from host.ops.comparing import CompareResult, PlannedComparison, compare_bots, find_sides, lead_text, plan_comparison
from host.rating.statistics import Verdict, Z, sure_of_mean
from host.submissions.sample_bots import samples
from host.tournament.comparison import Comparison as Results
from host.tournament.comparison import SequentialTest, sides
from host.tournament.stage_runner import Executor

EVERY_SAMPLE = f"{SAMPLE_PREFIX}*"
MAX_TABLES = 50_000  # of two bots that play each other
TABLES_EACH = 2000  # of each bot against each opponent


class Comparison:
    """The result of a comparison. It is true (`bool`) if the new bot is stronger. `str()` returns it as a sentence.

    `stronger` is True or False if the test has decided, otherwise None. `certainty` (0 to 1) is the probability that
    the new bot is the stronger one. `tables` is the number of tables played. `lead` is the lead of the new bot; `low`
    and `high` are the bounds of its 95 % interval. All three are in Elo, or in points per table if the game has no
    winners. In a comparison against opponents, they are differences of the mean value that ranks the bots: share of
    tables won (0 to 1), or score per table.
    """

    def __init__(
        self,
        stronger: bool | None,
        certainty: float,
        tables: int,
        lead: tuple[float, float, float],
        text: str,
        results: Sequence[Result] = (),
    ) -> None:
        self.stronger, self.certainty, self.tables = stronger, certainty, tables
        self.lead, self.low, self.high = lead
        self.results: tuple[Result, ...] = tuple(results)
        """The results against each opponent, in their order: those of the new bot, then those of the old one."""
        self._text = text

    def __bool__(self) -> bool:
        return bool(self.stronger)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{self._text}>"


def compare(
    new: Bot,
    old: Bot,
    *,
    against: Sequence[Bot] = (),
    sure: float = 0.95,
    elo: tuple[float, float] = (0.0, 10.0),
    tables: int | None = None,
    game: str | None = None,
    seed: int | str | None = None,
    mirror: bool = True,
    preset: str | None = None,
    limits: str | Mapping[str, str] | None = None,
    workers: int | None = None,
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
    progress: bool = True,
) -> Comparison:
    """Test whether a new bot is stronger than an old one, and return the result. Both may be functions.

    Without `against` the two bots play each other until the sequential test of `croupier compare` decides between a
    lead of `elo[0]` and a greater lead of `elo[1]`, or until they have played `tables` (50 000) tables. Both leads are
    in Elo, and in normalised Elo if the game has no winners. With `(-20, 0)` it tests whether the new bot is at most 20
    Elo weaker.

    With `against`, a list of opponents (`"sample:*"` stands for every sample bot of the game), each of the two bots
    plays `tables` (2 000) tables against each opponent. The bot with the higher share of tables won, or the higher mean
    score, is the stronger one.

    `sure` (above 0.5, below 1) is the certainty at which the result is decided. The other arguments are those of
    `croupier.play`; here each deal is played from every seat unless `mirror` is False. If no bot names a game and
    `folder` has no tournament, `game` must be given.

    Raise Error where the command prints an error. Raise ValueError if `sure` or `tables` is out of range, and TypeError
    if `tables` or `seed` has a wrong type. Raise KeyboardInterrupt at ^C; with `against` it may be an Interrupted,
    whose result has only the tables of one bot against one opponent. Raise RuntimeError if a function at a table calls
    it.
    """
    if not 0.5 < sure < 1:
        raise ValueError("sure: a certainty between 0.5 and 1")
    most = whole("tables", tables or (TABLES_EACH if against else MAX_TABLES), 1)
    with errors():
        place, bots = folder_of(folder), (new, old)
        files = [str(bot) for bot in bots if not callable(bot)]
        found = find_sides(place, files, game)
    if against:
        once = partial(
            play,
            found.game.name,
            tables=most,
            seed=seed,
            mirror=mirror,
            preset=preset,
            limits=limits,
            workers=workers,
            folder=folder,
            unsafe=unsafe,
            progress=progress,
        )
        return _by_opponents(lambda *pair: once(pair), bots, _named(against, found.game.name), sure)
    with errors():
        taken, copies = {each.name for each in found.submissions}, sides(found.game)
        functions = function_bots([bot for bot in bots * copies if callable(bot)], taken)
        test = SequentialTest(bounds=elo, max_tables=most, error=1 - sure)
        chosen = Conditions(
            preset=preset, seed=seed_of(seed), mirror=mirror, limits=limits_of(limits), workers=workers, unsafe=unsafe
        )
        places = [place for place, bot in enumerate(bots * copies) if callable(bot)]
        seated = dict(zip(places, (bot for bot, _ in functions), strict=True))
        planned = plan_comparison(place, found, test, chosen, seated)
    executor = executor_of(functions, found.game, session().workers.executor, workers)
    return _against_each_other(planned, _name(new), executor, shown=progress)


def _name(bot: Bot) -> str:
    """Return the name of a bot for a text: the name of a function, or the path as it was given."""
    return one_line(getattr(bot, "__name__", type(bot).__name__) if callable(bot) else str(bot))


def _named(against: Sequence[Bot], game: str) -> list[Bot]:
    """Return the opponents, with every sample bot of the game in the place of `sample:*`."""
    found: list[Bot] = []
    for bot in against:
        found += [SAMPLE_PREFIX + each for each in samples(game)] if bot == EVERY_SAMPLE else [bot]
    return found


def _by_opponents(
    once: Callable[[Bot, Bot], Result], bots: tuple[Bot, Bot], opponents: Sequence[Bot], sure: float
) -> Comparison:
    """Compare two bots by their results against the same opponents. `once` plays the tables of two bots."""
    results = [[once(bot, opponent) for opponent in opponents] for bot in bots]
    new, old = ([_first(result) for result in some] for some in results)
    errors = [error for _, error in [*old, *new]]
    certainty = sure_of_mean([value for value, _ in new], [value for value, _ in old], errors)
    stronger = None if max(certainty, 1 - certainty) < sure else certainty > 0.5
    means = [sum(value for value, _ in some) / len(some) for some in (new, old)]
    lead, half = means[0] - means[1], Z * math.hypot(*errors) / len(opponents)
    by, played = results[0][0].ranked_by, [result for some in results for result in some]
    text = (
        f"{'undecided' if stronger is None else 'stronger' if stronger else 'not stronger'}: {_name(bots[0])} has a "
        f"mean {by} of {means[0]:.4g} against {counted(len(opponents), 'opponent')}, {_name(bots[1])} "
        f"{means[1]:.4g}: ahead with {100 * certainty:.1f} % certainty"
    )
    tables = sum(result.tables for result in played)
    return Comparison(stronger, certainty, tables, (lead, lead - half, lead + half), text, played)


def _first(result: Result) -> tuple[float, float]:
    """Return the value that ranks the first bot of a result, and the standard error of the value."""
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
        """Print the lead so far, unless a line was printed in the last PRINTED_EVERY_S seconds."""
        self.line(f"{thousands(results.tables)} tables  {lead_text(self._game, results)}")


def _against_each_other(planned: PlannedComparison, new: str, executor: Executor, *, shown: bool) -> Comparison:
    """Let two bots play each other until the sequential test decides. `new` is the name of the new bot in the text."""
    own = session()
    with _Bar(planned, shown=shown) as bar:
        work = partial(compare_bots, planned, own.new_journal(), executor, bar, time.monotonic())
        result: CompareResult | None = own.run(work)
    assert result is not None  # only ^C ends it before the first result, and is raised
    stronger = {"H1": True, "H0": False}.get(result.verdict.accepted)
    tables, (low, high) = result.comparison.tables, result.interval
    text = f"{result.decision} after {counted(tables, 'table')}: {new} {result.lead}"
    return Comparison(stronger, result.sure, tables, ((low + high) / 2, low, high), text)
