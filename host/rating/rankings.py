"""The rankings that `rank_by` can name: the value of each bot, with its 95 % interval.

The table RANKINGS below describes each ranking. units.py defines their input and the independent units in it;
strength.py computes `elo`, and runoff.py `runoff`.

Bots are ranked by a rate, not by a sum, because all tables of a round robin count equally: a bot must not be ahead only
because it has played more tables so far. When all bots have played the same number of tables, the order is the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from typing import Any, NamedTuple

from host.base.format import thousands
from host.rating.evidence import Evidence
from host.rating.results import Fact, PairedRound, Sampling, Sums
from host.rating.strength import Ratings, quick_strengths
from host.rating.units import Results, orders

NO_VALUE = "–"

Sure = Callable[[str, str], float | None]
"""Returns the probability (0 to 1) that one bot is ahead of another; None if no results compare them."""


class Estimate(NamedTuple):
    """The value of a bot in a ranking, and its 95 % interval; None where it is not known.

    Without a value, one end of the interval is a bound: the value of a bot that won all its tables is at least `low`.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def bound(self) -> str:
        """Return "≥" or "≤" if only a bound of the value is known, otherwise ""."""
        if self.value is not None:
            return ""
        return "≥" if self.low is not None else "≤" if self.high is not None else ""

    @property
    def figure(self) -> float | None:
        """Return the value, or the bound if only that is known; None if neither is known."""
        return self.value if self.value is not None else self.low if self.low is not None else self.high

    @property
    def merit(self) -> float:
        """Return the key by which bots are sorted, larger is better: the value.

        Without a value it is infinity if a lower bound is known, otherwise minus infinity.
        """
        if self.value is not None:
            return self.value
        return inf if self.low is not None else -inf


@dataclass(frozen=True)
class Ranking:
    """A way to rank bots. `estimates` returns the value of each bot; it leaves out bots that it cannot rank."""

    name: str  # the word in `rank_by`
    title: str  # of its column
    estimates: Callable[[Results], Mapping[str, Estimate]]
    value: str = ""  # what a value is, for the documentation
    interval: str = ""  # how its 95 % interval is computed; empty if it has none
    needs: frozenset[Fact] = frozenset()  # what the results of a stage must have
    compare: Callable[[Results], Sure] | None = None  # None: no probabilities are computed for the order
    then: tuple[str, ...] = ()  # the rankings that break ties if `rank_by` has only one word
    points: bool = False  # whether the values are scores of the games; then they are the points of a row
    percent: bool = False  # whether values are shares, printed in per cent
    decimals: int | None = None  # of values that are not shares; None: chosen by their size
    counted: str = ""  # the title of the column of games won, next to the rate; empty if wins do not rank
    unit: str = ""  # the words after a value in a sentence
    phrase: str = "with {} by {title}"  # the words of a sentence about the value of the first bot
    lead: str = ""  # another ranking, whose value a sentence prints instead
    of_sums: Callable[[Sums, Sampling], float] | None = None  # the value of a bot, if it follows from its sums
    quick: Callable[[Results], Mapping[str, Any]] | None = None  # the sort keys of the bots, if intervals take long
    in_row: bool = (
        False  # whether a row has the values already, as wins, rate or score; if not, they get keys of their own
    )

    @property
    def has_keys(self) -> bool:
        """Whether `keys` returns without computing intervals, which take long."""
        return self.quick is not None or not self.interval

    def title_with(self, unit: str) -> str:
        """Return the title of the ranking's column, with the unit of the game's scores if the values are scores."""
        return f"{self.title} ({unit})" if self.points and unit else self.title

    def keys(self, results: Results) -> Mapping[str, Any]:
        """Return the sort key of each bot, by bot; greater is better."""
        if self.quick:
            return self.quick(results)
        return {bot: estimate.merit for bot, estimate in self.estimates(results).items()}

    def decimals_of(self, estimates: Sequence[Estimate]) -> int:
        """Return the number of decimals for the values of a column."""
        if self.percent or self.decimals is not None:
            return 2 if self.percent else self.decimals or 0
        return 1 if max((abs(estimate.figure or 0) for estimate in estimates), default=0) >= 100 else 2

    def spelled(self, estimate: Estimate, decimals: int | None = None) -> str:
        """Return a value as text: "60.59 %", "1 234.5", "≥ 120"."""
        figure = estimate.figure
        if figure is None:
            return NO_VALUE
        decimals = self.decimals_of([estimate]) if decimals is None else decimals
        shown = f"{100 * figure:.{decimals}f} %" if self.percent else thousands(figure, decimals)
        return f"{estimate.bound} {shown}".lstrip()

    def half_width(self, estimate: Estimate, decimals: int | None = None) -> str:
        """Return half the width of an interval as text; "–" if there is no interval."""
        if estimate.low is None or estimate.high is None:
            return NO_VALUE
        decimals = self.decimals_of([estimate]) if decimals is None else decimals
        return thousands((100 if self.percent else 1) * (estimate.high - estimate.low) / 2, decimals)

    def phrase_of(self, estimate: Estimate, tables: int) -> str:
        """Return the words about a bot's value for a sentence: "with 60.6 % of its games won"."""
        figure = self.spelled(estimate, 1 if self.percent else 0)
        return self.phrase.format(figure, title=self.title, tables=thousands(tables))


# The values that follow from the sums of a bot.


def _rate(sums: Sums, _sampling: Sampling) -> float:
    """Return the share of tables won."""
    return sums.wins / sums.tables


def _wins_of(sums: Sums, _sampling: Sampling) -> float:
    return sums.wins


def _sum(sums: Sums, _sampling: Sampling) -> float:
    return sums.score


def _mean(sums: Sums, sampling: Sampling) -> float:
    """Return the mean score per table, or per fixture if fixtures are the units; for a tourney, its final scores count."""
    if not sampling.by_fixture:
        return sums.score / sums.tables
    return (sums.finals if sampling.unit == "tourney" else sums.score) / sums.fixtures


# The functions of the rankings.


def _rates(results: Results) -> dict[str, Estimate]:
    """Return the share of tables that each bot won, or of games in which it advanced, by bot."""
    found = {}
    for bot, sums in results.sums.items():
        # A single game does not show how much luck there is.
        interval = results.wins.interval_of_share(bot) if sums.tables > 1 else ()
        found[bot] = Estimate(_rate(sums, results.sampling), *interval)
    return found


def _sums(results: Results) -> dict[str, Estimate]:
    return {bot: Estimate(_sum(sums, results.sampling)) for bot, sums in results.sums.items()}


def _wins(results: Results) -> dict[str, Estimate]:
    """Return the number of tables that each bot won, by bot."""
    return {bot: _times(rate, results.sums[bot]) for bot, rate in _rates(results).items()}


def _times(rate: Estimate, sums: Sums) -> Estimate:
    """Convert a share of tables into a number of tables."""
    low, high = (None if share is None else share * sums.tables for share in rate[1:])
    return Estimate(sums.wins, low, high)


def _means(results: Results) -> dict[str, Estimate]:
    """Return the mean score of each bot over independent units, by bot."""
    return {
        bot: Estimate(_mean(sums, results.sampling), *(results.scores.interval(bot) or ()))
        for bot, sums in results.sums.items()
    }


def _elo(results: Results) -> dict[str, Estimate]:
    return elo_of(results.strengths)


def elo_of(rated: Ratings) -> dict[str, Estimate]:
    """Return the Elo of each bot, by bot; only a bound for a bot that was first, or last, at all its tables."""
    found = {}
    for bot, (points, error) in rated.elo.items():
        best, worst = bot in rated.best, bot in rated.worst
        low, high = None if worst else points - error, None if best else points + error
        found[bot] = Estimate(None if best or worst else points, low, high)
    return found


def _compare_elo(results: Results) -> Sure:
    return results.strengths.sure_ahead


def _outlasted(results: Results) -> dict[str, Estimate]:
    return {bot: Estimate(*results.run_off.interval(bot)) for bot in results.bots}


def _compare_outlasted(results: Results) -> Sure:
    return cache(results.run_off.sure_ahead)


def _sets(results: Results) -> dict[str, Estimate]:
    """Return the points of each bot over all rounds, by bot."""
    return {bot: Estimate(points) for bot, points in _set_points(results.rounds).items() if bot in results.bots}


def _buchholz(results: Results) -> dict[str, Estimate]:
    """Return the sum of the points of each bot's opponents, by bot; a bye is an opponent with the points of the bot."""
    points, sums = _set_points(results.rounds), dict.fromkeys(results.bots, 0.0)
    for number in results.rounds:
        met = [pair for each in number.sets for pair in (each.bots, each.bots[::-1])]
        for bot, other in [*met, *([(number.bye, number.bye)] if number.bye else [])]:
            if bot in sums:
                sums[bot] += points[other]
    return {bot: Estimate(value) for bot, value in sums.items()}


def _set_points(rounds: Sequence[PairedRound]) -> dict[str, float]:
    found = dict[str, float]()
    for number in rounds:
        for each in number.sets:
            for bot, points in zip(each.bots, each.points, strict=True):
                found[bot] = found.get(bot, 0.0) + points
        if number.bye:
            found[number.bye] = found.get(number.bye, 0.0) + 1
    return found


def _compare_wins(results: Results) -> Sure:
    """Return the function that compares two bots by their wins, or by the games in which they advanced."""
    return _compare(results, results.wins)


def _compare_scores(results: Results) -> Sure:
    return _compare(results, results.scores)


def _compare(results: Results, evidence: Evidence) -> Sure:
    """Return the function that compares two bots by all their results.

    If fixtures have different opponents (`sampling.compare` is "shared"), only the fixtures that both bots played
    count.
    """
    if results.sampling.compare == "shared":
        return cache(lambda one, other: evidence.among((one, other)).sure_ahead(one, other))
    return cache(evidence.sure_ahead)


RANKINGS: Mapping[str, Ranking] = {
    "win_rate": Ranking(
        name="win_rate",
        title="rate",
        estimates=_rates,
        of_sums=_rate,
        value="the share of tables won",
        interval="Wilson's interval",
        needs=frozenset({Fact.WINNERS}),
        compare=_compare_wins,
        percent=True,
        counted="games won",
        unit="won",
        phrase="with {} of its games won",
        in_row=True,
    ),
    "total_score": Ranking(
        name="total_score",
        title="total score",
        estimates=_sums,
        of_sums=_sum,
        value="the sum of the scores: hands won in Pazaak, points in Briscola",
        needs=frozenset({Fact.TWO_SEATS}),
        compare=_compare_scores,
        points=True,
        decimals=0,
        unit="in total",
        phrase="with a total score of {}",
        in_row=True,
    ),
    "score": Ranking(
        name="score",
        title="score",
        estimates=_means,
        of_sums=_mean,
        value="the mean score: of a table, or at the end of a tourney or of a game of a group",
        interval="Student's t over tables, tourneys or games, with Hall's transformation of skewed values",
        compare=_compare_scores,
        points=True,
        unit="on average",
        phrase="with a mean score of {}",
        in_row=True,
    ),
    "advances": Ranking(
        name="advances",
        title="rate",
        estimates=_rates,
        of_sums=_rate,
        value="the share of games in which the bot was among those of its group that advance",
        interval="Wilson's interval",
        needs=frozenset({Fact.ADVANCING}),
        compare=_compare_wins,
        then=("score",),
        percent=True,
        counted="advanced",
        unit="advanced",
        phrase="among the first in {} of its games",
        lead="score",
        in_row=True,
    ),
    "wins": Ranking(
        name="wins",
        title="wins",
        estimates=_wins,
        of_sums=_wins_of,
        value="the number of tables won",
        interval="Wilson's interval",
        needs=frozenset({Fact.WINNERS}),
        compare=_compare_wins,
        decimals=0,
        unit="won",
        phrase="with {} games won",
    ),
    "sets": Ranking(
        name="sets",
        title="sets",
        estimates=_sets,
        value="the points of a Swiss system: 1 for a won set or a bye, ½ for a drawn one",
        needs=frozenset({Fact.ROUNDS}),
        compare=_compare_elo,
        decimals=1,
        unit="sets",
        phrase="with {} sets won",
    ),
    "buchholz": Ranking(
        name="buchholz",
        title="Buchholz",
        estimates=_buchholz,
        value="the sum of the points of the bot's opponents; for a bye, its own points count",
        needs=frozenset({Fact.ROUNDS}),
        decimals=1,
    ),
    "elo": Ranking(
        name="elo",
        title="Elo",
        estimates=_elo,
        value="strength in Elo points above the mean of the field",
        interval="from the Fisher information",
        needs=frozenset({Fact.MEETINGS}),
        compare=_compare_elo,
        quick=lambda results: quick_strengths(orders(results)),
        then=("win_rate",),
        decimals=0,
        unit="Elo",
        phrase="with {} Elo above the mean of the field",
    ),
    "runoff": Ranking(
        name="runoff",
        title="outlasted",
        estimates=_outlasted,
        value="the number of bots that the bot outlasts in an instant run-off",
        interval="bootstrap over tables",
        needs=frozenset({Fact.BALLOTS}),
        compare=_compare_outlasted,
        quick=lambda results: results.run_off.outlasted,
        then=("score",),
        decimals=0,
        unit="bots outlasted",
        phrase="with {} bots outlasted",
    ),
}
"""croupier's own rankings, by the names in `rank_by`."""


class OwnRanking(str):
    """A word in `rank_by` for a ranking of the organiser's code, with the ranking as an attribute.

    A copy or a pickle is the plain word. No global table has these words: two tournaments in one process can use the
    same word for different code.
    """

    __slots__ = ("ranking",)
    ranking: Ranking

    @classmethod
    def of(cls, ranking: Ranking) -> "OwnRanking":
        """Return the name of a ranking as a word that has the ranking as an attribute."""
        word = cls(ranking.name)
        word.ranking = ranking
        return word

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


def ranking_of(word: str) -> Ranking:
    """Return the ranking of a word in `rank_by`. Raise KeyError for an unknown word."""
    return word.ranking if isinstance(word, OwnRanking) else RANKINGS[word]


def words_of(rank_by: Sequence[str], *, won: bool) -> tuple[str, ...]:
    """Return the names of the rankings of a stage, in order: those in its config, then those that break ties.

    A stage that names no ranking is ranked by its win rate if any tables have been `won`, otherwise by its scores. If none of
    the rankings counts points, "score" is the last one.
    """
    words = tuple(rank_by) or ("win_rate" if won else "score",)
    words += ranking_of(words[0]).then if len(words) == 1 else ()
    return words if any(ranking_of(word).points for word in words) else (*words, "score")
