"""Comparing two bots: the test is right as often as it promises, and ends early."""

import random
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from hypothesis import given
from hypothesis import strategies as st

from host.games import GAMES
from host.play.lines import Repeats
from host.play.records import Fixture, Record
from host.rating.statistics import ELO, sequential_mean, sequential_points, tables_left
from host.tournament.comparison import FIRST_TEST_TABLES, Comparison, add_result, batches, sides


def decided(lead: float, draw: random.Random, spread: float) -> str:
    """Return the test's decision on a bot whose lead per table is normally distributed, tested every ten tables."""
    values: list[float] = []
    while True:
        values += [draw.gauss(lead * spread, spread) for _ in range(10)]
        mean = sum(values) / len(values)
        deviation = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
        if accepted := sequential_mean(len(values), mean, deviation, (0.0, 200.0)).accepted:
            return accepted


@pytest.mark.parametrize(("elo", "truth"), [(0.0, "H0"), (200.0, "H1"), (-100.0, "H0"), (400.0, "H1")])
def test_a_test_of_means_is_wrong_in_one_of_twenty_at_most(elo: float, truth: str) -> None:
    draw = random.Random(elo)
    said = [decided(elo / (2 * ELO), draw, spread=37.0) for _ in range(200)]
    assert said.count(truth) >= 0.92 * len(said)


def test_a_test_of_means_is_the_test_of_wins_where_tables_are_won_or_lost() -> None:
    won, lost = 5200, 5000
    mean, tables = (won - lost) / (won + lost), won + lost
    deviation = (1 - mean * mean) ** 0.5
    by_mean = sequential_mean(tables, mean, deviation, (0.0, 10.0))
    assert by_mean.llr == pytest.approx(sequential_points({0.0: lost, 1.0: won}, (0.0, 10.0)).llr, rel=0.01)


def test_nothing_is_said_of_no_tables_or_of_equal_ones() -> None:
    assert not sequential_mean(0, 0.0, 0.0).accepted
    assert not sequential_mean(1000, 3.0, 0.0).accepted
    assert tables_left(sequential_points({}, (0.0, 10.0)), 0) is None


def test_what_it_would_take_is_what_is_left_to_the_bound() -> None:
    verdict = sequential_points({0.0: 500, 1.0: 520}, (0.0, 10.0))
    left = tables_left(verdict, 1020)
    assert left is not None
    factor = (1020 + left) / 1020
    enough = {0.0: round(500 * factor), 1.0: round(520 * factor) + 1}
    too_few = {0.0: round(500 * factor * 0.95), 1.0: round(520 * factor * 0.95)}
    assert sequential_points(enough, (0.0, 10.0)).accepted == "H1"
    assert not sequential_points(too_few, (0.0, 10.0)).accepted


@given(st.integers(1, 1_000_000))
def test_batches_hold_every_table_once(most: int) -> None:
    after = 1
    for first, size in batches(most):
        assert first == after
        assert 0 < size <= max(FIRST_TEST_TABLES, most // 4)
        after += size
    assert after == most + 1


def test_every_game_seats_as_many_of_one_as_of_the_other() -> None:
    for game in GAMES.values():
        low, high = game.seats
        assert low <= 2 * sides(game) <= high


def record_of(path: str, scores: list[tuple[int, ...]]) -> Record:
    """Return a record in which only the scores matter."""
    return Record(path, {}, {}, {}, (), tuple(scores), b"")


def duel_of(game: str, bots: tuple[str, ...], scores: list[tuple[int, ...]]) -> Comparison:
    """Return the comparison of two bots after these tables."""
    rules: Any = GAMES[game].default_rules
    fixture = Fixture(game, rules, "independent", "duel/x/1", bots, len(scores))
    return add_result(Comparison(), GAMES[game], fixture, b"seed", record_of("duel/x/1", scores))


def test_seats_rotate_and_sides_stay() -> None:
    duel = duel_of("pazaak", ("new", "old"), [(3, 1), (3, 1), (2, 3)])
    assert (duel.won, duel.drawn, duel.lost, duel.lead) == (1, 0, 2, 2 - 2 - 1)
    assert (duel.mean, duel.tables) == (pytest.approx(-1 / 3), 3)


def test_a_side_of_two_wins_with_either() -> None:
    scores = [(0, -1, 200, -2), (0, 200, -1, -2), (100, 100, -1, -2)]
    duel = duel_of("holdem", ("new", "old", "new#2", "old#2"), scores)
    assert (duel.won, duel.drawn, duel.lost) == (2, 1, 0)


def test_chips_are_compared_where_nobody_wins() -> None:
    duel = duel_of("cardshark", ("new", "old"), [(210, 190), (200, 200), (150, 160)])
    assert (duel.won, duel.drawn, duel.lost, duel.mean) == (1, 1, 1, pytest.approx(10 / 3))
    low, high = duel.interval
    assert low < duel.mean < high


# The command.


def compared(place: Path, *words: object) -> tuple[int, dict[str, Any]]:
    """Compare two bots with a fixed seed; return the exit code and the values that are the same in every run."""
    done = croupier("compare", *words, "--seed", "x", "--json", "-C", place)
    told = done.json
    return done.code, {key: told[key] for key in told if key not in ("seconds", "journal")}


@pytest.mark.long
def test_a_better_bot_is_found_better_and_a_worse_one_is_not(tmp_path: Path) -> None:
    code, better = compared(tmp_path, "sample:neptr", "sample:dumb_bold")
    assert (code, better["accepted"], better["interrupted"]) == (0, "H1", False)
    assert better["elo"]["low"] > 10
    assert better["tables"] == better["won"] + better["drawn"] + better["lost"] < 2000

    done = croupier("compare", "sample:dumb_bold", "sample:neptr", "--seed", "x", "-C", tmp_path)
    assert done.code == 1, done
    assert done.out.startswith("H0 accepted after ")
    assert ": dumb_bold is not stronger than neptr by 10 Elo: -" in done.out


@pytest.mark.long
def test_the_same_seed_ends_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    bots = ("sample:cautious", "sample:davey", "-g", "cardshark", "--elo", "0,400", "-n", 200)
    assert compared(tmp_path, *bots, "--workers", 1) == compared(tmp_path, *bots, "--workers", 2)


@pytest.mark.long
def test_who_is_not_sure_says_what_it_would_take(tmp_path: Path) -> None:
    bots = ("sample:glaucus", "sample:glaucus")
    done = croupier("compare", *bots, "--no-mirror", "-n", 100, "--seed", "y", "-C", tmp_path)
    assert done.code == 8
    assert done.out.startswith("undecided after 100 tables: glaucus against glaucus#2 ")
    assert " more tables would decide it: -n " in done.out
    assert done.err.startswith("WARNING  sample:glaucus and sample:glaucus are the same program")


@pytest.mark.long
def test_a_table_of_more_seats_has_two_of_each(tmp_path: Path) -> None:
    _, told = compared(tmp_path, "sample:odds", "sample:always_bet", "-n", 8)
    assert (told["game"], told["tables"]) == ("holdem", 8)
    assert (told["new"], told["old"]) == ("odds", "always_bet")


def test_equal_tables_are_counted_once_by_the_test() -> None:
    often = Comparison(400, 300, 0, 100, repeats=Repeats(400, 4, 100.0), deals=400, points={1.0: 300, 0.0: 100})
    once = Comparison(4, 3, 0, 1, deals=4, points={1.0: 3, 0.0: 1})
    for by_wins in (True, False):
        llr = once._replace(by_wins=by_wins).verdict((0.0, 10.0)).llr
        assert often._replace(by_wins=by_wins).verdict((0.0, 10.0)).llr == pytest.approx(llr, abs=1e-9)
    assert often.elo == pytest.approx(once.elo)
    assert often.sure == pytest.approx(once.sure)


# Mirrored deals.


@given(st.integers(1, 100_000), st.integers(1, 6))
def test_batches_do_not_divide_a_deal(most: int, deal: int) -> None:
    sizes = [size for _, size in batches(most, deal)]
    assert all(size % deal == 0 for size in sizes) and sum(sizes) == max(deal, most - most % deal)


def test_the_tables_of_a_deal_are_one_result() -> None:
    rules: Any = GAMES["pazaak"].default_rules
    scores = [(3, 1), (3, 1), (3, 1), (1, 3)]
    fixture = Fixture("pazaak", rules, "mirrored", "duel/x/1", ("new", "old"), len(scores))
    duel = add_result(Comparison(), GAMES["pazaak"], fixture, b"seed", record_of("duel/x/1", scores))
    assert (duel.tables, duel.won, duel.lost, duel.deals) == (4, 3, 1, 2)
    assert duel.points == {0.5: 1, 1.0: 1} and (duel.lead, duel.squares) == (4, 4.0)


def sampled(luck: float, lead: float, draw: random.Random) -> str:
    """Return the decision on a bot that wins a mirrored pair of tables twice or never if luck decides it, else by skill."""
    points: dict[float, float] = {}
    while True:
        for _ in range(20):
            good = draw.random() < luck
            pair = [1.0, 0.0] if good else [float(draw.random() < 0.5 + lead) for _ in range(2)]
            points[sum(pair) / 2] = points.get(sum(pair) / 2, 0) + 1
        if accepted := sequential_points(points, (0.0, 100.0)).accepted:
            return accepted


@pytest.mark.parametrize(("lead", "truth"), [(0.0, "H0"), (0.14 / 0.5, "H1")])
def test_the_test_of_mirrored_deals_is_wrong_in_one_of_twenty_at_most(lead: float, truth: str) -> None:
    draw = random.Random(truth)
    said = [sampled(0.5, lead, draw) for _ in range(200)]
    assert said.count(truth) >= 0.92 * len(said)


@pytest.mark.long
def test_equal_programs_are_equal_at_mirrored_deals(tmp_path: Path) -> None:
    done = croupier("compare", "sample:optimum", "sample:optimum", "-n", 1000, "--seed", "y", "-C", tmp_path, "--json")
    assert (done.code, done.json["accepted"]) == (1, "H0")
    assert done.json["deals"] * 2 == done.json["tables"] and done.json["won"] == done.json["lost"]


@pytest.mark.long
def test_a_repository_accepts_a_bot_that_is_not_worse(tmp_path: Path) -> None:
    bots = ("sample:neptr", "sample:dumb_bold")
    assert croupier("compare", *bots, "--not-worse", 10, "-C", tmp_path).code == 0
    worse = croupier("compare", *reversed(bots), "--not-worse", 10, "-C", tmp_path)
    assert worse.code == 1 and ": dumb_bold is weaker than neptr: -" in worse.out
    both = croupier("compare", *bots, "--not-worse", 10, "--elo", "0,5", "-C", tmp_path)
    assert both.code == 2 and "leave out one of the two" in both.err


def test_a_bot_that_is_asked_for_one_table_at_a_time_is_named(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text("while input():\n    print('STAND', flush=True)\n")
    told = croupier("compare", "one.py", "sample:neptr", "-g", "pazaak", "-n", 2, cwd=tmp_path)
    assert "parallel_tables = 64" in told.err and told.err.splitlines()[0].endswith(": one")
