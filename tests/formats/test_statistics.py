"""Intervals contain the true value as often as promised, and statements of certainty are right."""

import math
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from random import Random
from statistics import fmean, stdev

import pytest
from helpers import long
from hypothesis import given
from hypothesis import strategies as st

from host.rating.evidence import Evidence, Meeting, duel, sure_by_wins
from host.rating.statistics import (
    ELO,
    MIN_CERTAINTY,
    Elo,
    Interval,
    Verdict,
    elo_of,
    is_certain,
    needed,
    percent,
    ratio_units,
    sequential_points,
    student_quantile,
    wilson,
    wilson_tables,
    words,
)
from host.rating.strength import (
    FEW,
    Ratings,
    TableOrder,
    choices_of,
    inverse_root,
    ratings,
)

chips = st.integers(0, 2000)


def tourneys_of(**values: Sequence[float]) -> Evidence:
    """Return the evidence of the same tourneys of some bots."""
    return Evidence([tourneys(**values)])


def tourneys(**values: Sequence[float]) -> Meeting:
    """Return the meeting of some bots in these tourneys."""
    number = len(next(iter(values.values())))
    results = tuple(tuple(map(float, some)) for some in values.values())
    return Meeting(tuple(values), number, number, tuple(map(sum, results)), values=results)


def sure_of(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return how sure it is that the first of two bots is ahead after these tourneys."""
    return tourneys_of(A=ours, B=theirs).sure({"A": 1.0, "B": -1.0})


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the interval of the mean of a bot that played these tourneys."""
    return tourneys_of(A=values).interval("A")


def told_apart(sure: float) -> bool:
    """Return whether an order, in either direction, is called certain; that happens to 3 % of equal pairs."""
    return max(sure, 1 - sure) >= MIN_CERTAINTY


def flipped(luck: Random, tables: int, chance: float = 0.5) -> int:
    """Return the number of tables won by chance."""
    return sum(luck.random() < chance for _ in range(tables))


# Means.


@pytest.mark.parametrize(("tourneys", "at_least"), [(2, 0.90), (3, 0.92), (10, 0.92), (100, 0.92)])
def test_the_interval_of_a_mean_holds_the_truth_19_times_in_20(tourneys: int, at_least: float) -> None:
    luck = Random(tourneys)
    samples = ([luck.gauss(200, 50) for _ in range(tourneys)] for _ in range(300))
    intervals = [interval for sample in samples if (interval := mean_interval(sample))]
    assert fmean(low <= 200 <= high for low, high in intervals) >= at_least


def test_it_does_so_for_lopsided_results_too() -> None:
    luck = Random(1)
    samples = ([luck.expovariate(1 / 200) for _ in range(25)] for _ in range(300))
    intervals = [interval for sample in samples if (interval := mean_interval(sample))]
    assert fmean(low <= 200 <= high for low, high in intervals) >= 0.89


@pytest.mark.parametrize("values", [[200.0]])
def test_less_than_two_results_say_nothing_of_luck(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_the_same_results_have_the_same_interval_on_every_machine_and_python() -> None:
    low, high = mean_interval([180, 240, 75, 310, 0, 205, 260, 150, 190, 390]) or Interval(0, 0)
    assert (round(low, 6), round(high, 6)) == (117.62737, 277.495634)


def test_many_results_have_the_interval_that_the_textbook_gives() -> None:
    luck = Random(2)
    values = [luck.gauss(200, 50) for _ in range(5_000)]
    low, high = mean_interval(values) or Interval(0, 0)
    assert (high - low) / 2 == pytest.approx(1.96 * stdev(values) / math.sqrt(5_000), rel=0.1)


@pytest.mark.parametrize(("freedom", "t"), [(1, 12.706), (2, 4.303), (3, 3.182), (10, 2.228), (30, 2.042), (99, 1.984)])
def test_students_t_is_that_of_the_tables(freedom: int, t: float) -> None:
    assert student_quantile(freedom) == pytest.approx(t, abs=0.0006)


@given(st.lists(st.tuples(st.integers(-1000, 1000), st.integers(1, 100)), min_size=1))
def test_a_large_unit_counts_as_much_as_its_size(units: list[tuple[int, int]]) -> None:
    totals, sizes = zip(*units, strict=True)
    assert fmean(ratio_units(totals, sizes)) == pytest.approx(sum(totals) / sum(sizes), abs=1e-9)


# Order of two players.


@pytest.mark.parametrize("tourneys", [5, 25, 100])
def test_few_pairs_of_equals_are_told_apart(tourneys: int) -> None:
    luck = Random(tourneys)
    samples = [[[luck.expovariate(1) for _ in range(tourneys)] for _ in "AB"] for _ in range(250)]
    assert fmean(told_apart(sure_of(one, other)) for one, other in samples) <= 0.05


def test_luck_that_both_share_does_not_count() -> None:
    luck = Random(3)
    shared = [luck.gauss(0, 1000) for _ in range(20)]
    ours = [chance + luck.gauss(3, 1) for chance in shared]
    assert sure_of(ours, [chance + luck.gauss(0, 1) for chance in shared]) > 0.99


@given(st.lists(st.tuples(chips, chips), min_size=1, max_size=12))
def test_what_is_sure_of_one_is_unsure_of_the_other(tourneys: list[tuple[int, int]]) -> None:
    ours, theirs = ([tourney[bot] for tourney in tourneys] for bot in (0, 1))
    assert sure_of(ours, theirs) + sure_of(theirs, ours) == pytest.approx(1)


@given(*[st.lists(chips, min_size=3, max_size=3)] * 2)
def test_three_tourneys_make_nobody_sure(ours: list[float], theirs: list[float]) -> None:
    assert not told_apart(sure_of(ours, theirs))


def test_bots_that_missed_a_tourney_of_the_other_are_compared_all_the_same() -> None:
    luck = Random(4)
    both = tourneys(A=[luck.gauss(260, 50) for _ in range(25)], B=[luck.gauss(200, 50) for _ in range(25)])
    alone = [tourneys(A=[luck.gauss(260, 50) for _ in range(5)]), tourneys(B=[luck.gauss(200, 50) for _ in range(10)])]
    assert (Evidence([both, *alone]).sure_ahead("A", "B") or 0) > 0.999


def test_bots_that_never_met_are_compared_as_strangers() -> None:
    luck = Random(5)
    samples = [
        Evidence([tourneys(A=[luck.gauss(0, 1) for _ in range(20)]), tourneys(B=[luck.gauss(0, 1) for _ in range(20)])])
        for _ in range(250)
    ]
    assert fmean(told_apart(each.sure_ahead("A", "B") or 0.5) for each in samples) <= 0.07


# Wins.


@pytest.mark.parametrize(
    ("wins", "tables", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_win_rates_have_wilsons_interval(wins: int, tables: int, low: float, high: float) -> None:
    """Table I of Newcombe, "Two-sided confidence intervals for the single proportion", 1998, method 3."""
    assert wilson(wins, tables) == pytest.approx((low, high), abs=0.00006)


def test_wilsons_interval_holds_the_truth_19_times_in_20_by_the_exact_binomial() -> None:
    rates, tables = [step / 100 for step in range(5, 96)], 60
    chance = [
        sum(
            math.comb(tables, wins) * rate**wins * (1 - rate) ** (tables - wins)
            for wins in range(tables + 1)
            if wilson(wins, tables).low <= rate <= wilson(wins, tables).high
        )
        for rate in rates
    ]
    assert fmean(chance) == pytest.approx(0.95, abs=0.005) and min(chance) > 0.92


def test_nothing_played_may_mean_anything() -> None:
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize("tables", [4, 10, 50, 60, 400])
def test_few_pairs_of_equal_players_are_told_apart(tables: int) -> None:
    chance = sum(
        math.comb(tables, wins) / 2**tables
        for wins in range(tables + 1)
        if told_apart(sure_by_wins(wins, 0, tables - wins))
    )
    assert chance <= 0.05


def test_few_neighbours_of_a_round_robin_of_equals_are_told_apart() -> None:
    luck, apart = Random(6), []
    for _ in range(400):
        met = []
        for pair in combinations("ABCD", 2):
            wins = flipped(luck, 40)
            met.append(duel(wins, 0, 40 - wins)._replace(bots=pair))
        apart.append(told_apart(Evidence(met).sure_ahead("A", "B") or 0.5))
    assert 0.01 <= fmean(apart) <= 0.05


@pytest.mark.parametrize(("wins", "sure"), [(4, False), (5, False), (7, True)])
def test_a_clean_sweep_of_seven_is_sure_and_of_four_is_not(wins: int, sure: bool) -> None:
    assert (sure_by_wins(wins, 0, 0) >= MIN_CERTAINTY) is sure


def test_more_wins_against_others_put_one_ahead_whatever_happened_between_the_two() -> None:
    won = {"AB": 45, "AC": 90, "BC": 50}
    met = [duel(wins, 0, 100 - wins)._replace(bots=(pair[0], pair[1])) for pair, wins in won.items()]
    assert (Evidence(met).sure_ahead("A", "B") or 0) > 0.99


# Elo.

fields = st.integers(2, 6).flatmap(
    lambda size: st.fixed_dictionaries(
        {(str(one), str(other)): st.integers(1, 200) for one in range(size) for other in range(size) if one != other}
    )
)


def rated(won: Mapping[tuple[str, str], float]) -> Ratings:
    """Return the strengths of bots from their wins against each other."""
    return ratings({((winner,), (loser,)): times for (winner, loser), times in won.items()})


def expected(points: dict[str, float], one: str, other: str) -> float:
    return 1 / (1 + 10 ** ((points[other] - points[one]) / 400))


@given(fields)
def test_elo_expects_everybody_to_win_as_often_as_it_has(won: dict[tuple[str, str], float]) -> None:
    """Check the condition for the most likely strengths: the gradient of the likelihood is zero."""
    points = {bot: rating.points for bot, rating in rated(won).elo.items()}
    for bot in points:
        wins = sum(times for (winner, _), times in won.items() if winner == bot)
        foreseen = sum(
            (won[bot, other] + won[other, bot]) * expected(points, bot, other) for other in points if other != bot
        )
        assert foreseen == pytest.approx(wins, rel=1e-6)


@given(fields)
def test_elo_is_measured_from_the_mean_of_the_field(won: dict[tuple[str, str], float]) -> None:
    assert math.fsum(rating.points for rating in rated(won).elo.values()) == pytest.approx(0, abs=1e-6)


@pytest.mark.long
def test_elo_is_that_of_choix() -> None:
    choix = pytest.importorskip("choix")
    luck = Random(7)
    won = {(one, other): luck.randrange(1, 30) for one in range(6) for other in range(6) if one != other}
    theirs = choix.opt_pairwise(6, [pair for pair, times in won.items() for _ in range(times)], tol=1e-10)
    ours = rated({(str(one), str(other)): times for (one, other), times in won.items()})
    assert [ours.elo[str(bot)].points for bot in range(6)] == pytest.approx(
        [ELO * (theirs[bot] - fmean(theirs)) for bot in range(6)], abs=0.01
    )


def test_the_error_of_elo_holds_the_truth_19_times_in_20() -> None:
    luck, held = Random(8), []
    truth = {"A": 150.0, "B": 60.0, "C": 0.0, "D": -60.0, "E": -150.0}
    for _ in range(200):
        won: dict[tuple[str, str], float] = {}
        for one, other in combinations(truth, 2):
            wins = flipped(luck, 60, expected(truth, one, other))
            won |= {(one, other): wins, (other, one): 60 - wins}
        held += [abs(rating.points - truth[bot]) <= rating.error for bot, rating in rated(won).elo.items()]
    assert fmean(held) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    "won",
    [
        {("A", "B"): 10},
        {("A", "B"): 10, ("C", "D"): 10, ("B", "A"): 5, ("D", "C"): 5},
        {("A", "B"): 0, ("B", "A"): 0},
        {("A", "B"): 9, ("B", "C"): 9, ("C", "B"): 1},
    ],
    ids=["never lost", "two fields", "never met", "one unbeaten"],
)
def test_elo_stays_finite_where_nothing_bounds_it(won: dict[tuple[str, str], float]) -> None:
    assert all(math.isfinite(rating.points) and 0 < rating.error < 2000 for rating in rated(won).elo.values())


@pytest.mark.long
def test_with_more_seats_strengths_are_those_of_choix() -> None:
    choix = pytest.importorskip("choix")
    luck, bots = Random(9), [str(bot) for bot in range(6)]
    tables = [luck.sample(bots, luck.randint(2, 5)) for _ in range(300)]
    theirs = choix.opt_rankings(6, [[int(bot) for bot in table] for table in tables], tol=1e-12)
    ours = ratings(Counter(tuple((bot,) for bot in table) for table in tables))
    assert [ours.elo[bot].points / ELO for bot in bots] == pytest.approx([t - fmean(theirs) for t in theirs], abs=1e-6)


def test_equal_bots_count_half_of_each_order() -> None:
    tied = ratings({(("A",), ("B", "C")): 2.0, (("C",), ("B",), ("A",)): 1.0, (("B",), ("C",), ("A",)): 1.0})
    apart = {(("A",), ("B",), ("C",)): 1.0, (("A",), ("C",), ("B",)): 1.0}
    both = ratings({**apart, (("C",), ("B",), ("A",)): 1.0, (("B",), ("C",), ("A",)): 1.0})
    assert {bot: elo.points for bot, elo in tied.elo.items()} == pytest.approx(
        {bot: elo.points for bot, elo in both.elo.items()}, abs=1e-6
    )


def drawn_order(luck: Random, points: Mapping[str, float]) -> tuple[tuple[str, ...], ...]:
    """Return an order of bots by the model of Plackett and Luce: exponential times, the stronger is earlier."""
    times = {bot: luck.expovariate(10 ** (point / 400)) for bot, point in points.items()}
    return tuple((bot,) for bot in sorted(times, key=times.__getitem__))


def test_with_four_seats_the_error_of_elo_holds_the_truth_19_times_in_20() -> None:
    luck, held = Random(10), []
    truth = {"A": 150.0, "B": 60.0, "C": 0.0, "D": -60.0, "E": -150.0}
    for _ in range(150):
        orders = Counter(
            drawn_order(luck, {bot: truth[bot] for bot in four}) for four in combinations(truth, 4) for _ in range(15)
        )
        held += [abs(rating.points - truth[bot]) <= rating.error for bot, rating in ratings(orders).elo.items()]
    assert fmean(held) == pytest.approx(0.95, abs=0.025)


def test_nobody_has_no_elo() -> None:
    assert rated({}).elo == {}


def elo_between(won: float, drawn: float, lost: float) -> Elo:
    return elo_of([(1.0, won), (0.5, drawn), (0.0, lost)])


def test_between_two_elo_is_twice_what_it_is_from_their_mean() -> None:
    pair, field = elo_between(1063, 0, 937), rated({("A", "B"): 1063, ("B", "A"): 937}).elo["A"]
    assert pair == pytest.approx((2 * field.points, 2 * field.error))


def test_1063_of_2000_are_22_elo_give_or_take_15() -> None:
    assert elo_between(1063, 0, 937) == pytest.approx((22, 15), abs=0.5)


def test_draws_make_elo_surer() -> None:
    assert elo_between(60, 100, 40).error < elo_between(110, 0, 90).error


@pytest.mark.parametrize("played", [(7, 0, 0), (0, 0, 7), (0, 7, 0), (0, 0, 0)])
def test_elo_between_two_is_finite_after_a_clean_sweep(played: tuple[int, int, int]) -> None:
    assert all(map(math.isfinite, elo_between(*played)))


# When to stop.


def sequential(won: float, drawn: float, lost: float, bounds: tuple[float, float]) -> Verdict:
    """Return the state of the test after tables that were won, drawn and lost."""
    return sequential_points({0.0: lost, 0.5: drawn, 1.0: won}, bounds)


@given(st.integers(0, 3000), st.integers(0, 3000))
def test_without_draws_the_sequential_test_is_walds(won: int, lost: int) -> None:
    chance = 1 / (1 + 10 ** (-10 / 400))
    wald = won * math.log(chance / 0.5) + lost * math.log((1 - chance) / 0.5)
    assert sequential(won, 0, lost, (0, 10)).llr == pytest.approx(wald, abs=0.01)


@pytest.mark.long
@pytest.mark.parametrize(("stronger_by", "truth"), [(0, "H0"), (80, "H1")])
def test_a_sequential_test_errs_once_in_20_though_it_looks_all_the_time(stronger_by: float, truth: str) -> None:
    luck, accepted = Random(9), []
    chance = 1 / (1 + 10 ** (-stronger_by / 400))
    for _ in range(150):
        tables = won = drawn = 0
        while not (verdict := sequential(won, drawn, tables - won - drawn, (0, 80))).accepted:
            drawn_now = flipped(luck, 8, 0.2)
            tables, drawn, won = tables + 8, drawn + drawn_now, won + flipped(luck, 8 - drawn_now, (chance - 0.1) / 0.8)
        accepted.append(verdict.accepted)
    assert accepted.count(truth) >= 0.9 * len(accepted)


def test_five_wins_in_a_row_prove_nothing() -> None:
    assert sequential(5, 0, 0, (0, 10)).accepted == ""


@pytest.mark.parametrize(("won", "lost", "accepted"), [(600, 400, "H1"), (400, 600, "H0"), (0, 0, "")])
def test_a_sequential_test_ends_when_it_is_clear(won: int, lost: int, accepted: str) -> None:
    assert sequential(won, 100, lost, (0, 10)).accepted == accepted


# Text.


@pytest.mark.parametrize(
    ("sure", "said"),
    [
        (0.99951, "A ahead of B: >99.9 % sure"),
        (0.9979, "A ahead of B: 99.7 % sure"),
        (0.989, "A ahead of B: 98.9 % sure"),
        (0.985, "A ahead of B: 98.5 % sure"),
        (0.9849, "A ahead of B: 98.4 % sure, 98.5 % needed"),
        (0.61, "A ahead of B: 61 % sure, 98.5 % needed"),
    ],
)
def test_how_sure_is_said_in_words_and_never_rounded_up(sure: float, said: str) -> None:
    assert words("A", "B", sure) == said
    assert is_certain(said) == (sure >= MIN_CERTAINTY)


def test_1063_of_2000_are_sure_enough_for_three_digits() -> None:
    assert percent(sure_by_wins(1063, 0, 937)) == "99.7 %"


@pytest.mark.parametrize(
    ("sure", "played", "count"),
    [
        (0.985, 100, 110),  # already certain: advises one more, with two digits
        (0.9, 100, 290),
        (0.8413, 1_000, 4_800),
        (0.8413, 10, 48),
        (0.5, 1_000, None),
        (0.3, 1_000, None),
        (0.56, 1_000, None),
    ],
)
def test_how_much_is_needed_grows_with_the_square_of_what_certainty_lacks(
    sure: float, played: int, count: int | None
) -> None:
    assert needed(sure, played) == count


def test_as_much_as_was_said_to_be_needed_is_enough() -> None:
    def sure(tables: int) -> float:
        return sure_by_wins(0.53 * tables, 0, 0.47 * tables)

    count = needed(sure(400), 400)
    assert count is not None and sure(count) >= MIN_CERTAINTY > sure(round(0.8 * count))


def test_a_probability_does_not_depend_on_the_order_of_hashes() -> None:
    script = """
from host.rating.evidence import Evidence, duel
met = [duel(47 + n % 7, n % 3, 43)._replace(bots=(f"bot {n}", f"bot {n * 7 % 50}")) for n in range(1, 50)]
print(repr(Evidence(met).sure_ahead("bot 1", "bot 7")))
"""

    def told(seed: int) -> str:
        env = {"PYTHONHASHSEED": str(seed), "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=True
        ).stdout

    assert len({told(seed) for seed in range(1, 7)}) == 1


@pytest.mark.long
@pytest.mark.parametrize("unbeaten", [long(False), True])
def test_newtons_method_finds_the_same_strengths_and_errors_in_a_large_field(unbeaten: bool) -> None:
    luck, bots = Random(3), [f"bot{number:03}" for number in range(FEW + 20)]
    truth = {bot: luck.gauss(0, 0.8) for bot in bots}
    orders = Counter[TableOrder]()
    for one, other in combinations(bots, 2):
        for _ in range(3 if luck.random() < 0.2 else 0):
            wins = (unbeaten and one == bots[0]) or luck.random() < 1 / (1 + math.exp(truth[other] - truth[one]))
            drawn = luck.random() < 0.1 and one != bots[0]
            orders[((one, other),) if drawn else ((one,), (other,)) if wins else ((other,), (one,))] += 1
    for _ in range(40):
        orders[tuple((bot,) for bot in luck.sample(bots[1:], 4))] += 1
    _, choices = choices_of(orders)
    anchor = choices.anchor()
    assert bool(anchor) == unbeaten
    slowly, (found, roots) = choices.most_likely(anchor), choices.strengths(anchor)
    assert found != slowly
    assert found == pytest.approx(slowly, rel=1e-9)
    for ours, theirs in zip(roots, inverse_root(choices.information(slowly, anchor)), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("interval", [(0.5, 0.5), (0.49999999483710594, 0.5000000051628941), (0.0, 1.0), (0.2, 0.8)])
def test_each_interval_of_a_win_rate_counts_some_tables(interval: tuple[float, float]) -> None:
    tables = wilson_tables(0.5, interval)
    assert 0 < tables < math.inf and wilson(tables / 2, tables) == pytest.approx(interval, abs=1e-5)


def test_an_interval_without_spread_becomes_narrower_unit_by_unit() -> None:
    intervals = []
    for units in range(2, 40):  # of two tables each, of which both bots win one
        each = (float(units), float(units))
        intervals.append(Evidence([Meeting(("a", "b"), 2 * units, units, each, (each, each))]).interval_of_share("a"))
    widths = [high - low for low, high in intervals]
    assert widths == sorted(widths, reverse=True) and widths[-1] > 0.25
