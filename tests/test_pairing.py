"""Pairings: the promises of every stage, as claims."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.games import GAMES
from host.play.records import Fixture
from host.play.table_plans import form_table, independent, solvent
from host.tournament.pairing import (
    Cup,
    Pair,
    knockout,
    match_winner,
    padded,
    round_robin,
    set_winner,
    ties,
)

fields = st.integers(0, 20).map(lambda size: [f"b{number}" for number in range(1, size + 1)])
FOUR = ["1", "2", "3", "4"]


def better(pair: Pair) -> str:
    """Return the winner when the better-ranked bot wins every match."""
    return min(pair, key=lambda bot: int(bot.removeprefix("b")))


def played_out(ranked: list[str], won: dict[frozenset[str], str]) -> Cup:
    """Play a cup round by round, in which the better bot wins; add the winners to `won`; return the end."""
    while (state := knockout(ranked, lambda pair: won.get(frozenset(pair)))).due:
        won.update({frozenset(pair): better(pair) for pair in state.due})
    return state


@given(fields, st.integers(1, 6), st.randoms(use_true_random=False))
def test_all_play_the_same_number_of_rounds(bots: list[str], wanted: int, lot: object) -> None:
    rounds = Counter(dict.fromkeys(bots, 0))
    while bots and min(rounds.values()) < wanted:
        lot.shuffle(bots)  # type: ignore[attr-defined]
        rounds.update(form_table(bots, rounds, 4))
    assert set(rounds.values()) <= {wanted}


@pytest.mark.parametrize(("bots", "sizes"), [(5, [4, 1, 4, 1]), (9, [4, 4, 1, 4]), (3, [3, 3, 3, 3]), (1, [1] * 4)])
def test_the_last_table_may_be_short(bots: int, sizes: list[int]) -> None:
    names, formed = [f"b{number}" for number in range(bots)], []
    rounds = Counter(dict.fromkeys(names, 0))
    for _ in sizes:
        formed.append(form_table(names, rounds, 4))
        rounds.update(formed[-1])
    assert [len(table) for table in formed] == sizes


def test_nobody_left_is_no_table() -> None:
    assert form_table([], {}, 4) == []


def test_ten_chips_are_enough_and_nine_are_not() -> None:
    assert solvent({"A": 200, "B": 9, "C": 10}, 10) == ["A", "C"]


@given(fields)
def test_everybody_meets_everybody_once(bots: list[str]) -> None:
    assert sorted(map(sorted, round_robin(bots))) == sorted(map(sorted, combinations(bots, 2)))


def test_the_first_listed_bot_is_player_one_of_every_other_table() -> None:
    fixture = Fixture("pazaak", GAMES["pazaak"].presets["thread"], "independent", "league/A+B/1", ("A", "B"), 4)
    (setups,) = independent(fixture, b"")
    assert [setup.bots[0] for setup in setups] == ["A", "B", "A", "B"]


@pytest.mark.parametrize(
    ("games", "hands", "winner"),
    [((60, 40), (9, 99), 0), ((40, 60), (99, 9), 1), ((50, 50), (99, 98), 0), ((50, 50), (9, 9), None)],
)
def test_a_set_goes_by_games_then_hands_or_does_not_count(
    games: tuple[int, int], hands: tuple[int, int], winner: int | None
) -> None:
    assert set_winner(games, hands) == winner


@pytest.mark.parametrize(
    ("sets", "winner"), [("ABAABA", "A"), ("AAA", None), ("AAABBBB", "B"), ("AAAABBBB", "A"), ("", None)]
)
def test_the_first_with_four_sets_wins_the_match(sets: str, winner: str | None) -> None:
    assert match_winner(list(sets), 4) == winner


def test_a_set_that_does_not_count_brings_nobody_nearer() -> None:
    assert match_winner(["A", None, "A", None, "A"], 4) is None


def test_four_bots_play_the_mock_bracket_of_the_thread() -> None:
    assert ties(padded(FOUR)) == [("1", "3"), ("2", "4")]


def test_winners_then_meet_winners_and_losers_losers() -> None:
    won = {frozenset("13"): "3", frozenset("24"): "2"}
    assert knockout(FOUR, lambda pair: won.get(frozenset(pair))).due == [("3", "2"), ("1", "4")]


def test_the_first_ranked_have_the_byes() -> None:
    assert ties(padded(["1", "2", "3"])) == [("1", "3"), ("2", None)]


@given(fields)
def test_a_cup_places_everybody_by_strength_where_the_better_always_wins_its_first_two(bots: list[str]) -> None:
    places = played_out(bots, {}).places
    assert sorted(map(str, places)) == sorted(bots) and places[:2] == bots[:2]


@given(fields)
def test_nobody_meets_the_same_opponent_twice_in_a_cup(bots: list[str]) -> None:
    met: list[frozenset[str]] = []
    won: dict[frozenset[str], str] = {}
    while due := knockout(bots, lambda pair: won.get(frozenset(pair))).due:
        met += map(frozenset, due)
        won.update({frozenset(pair): max(pair) for pair in due})
    assert len(met) == len(set(met))


def test_no_place_is_given_away_while_a_match_is_open() -> None:
    assert knockout(FOUR, lambda pair: None).places == [None] * 4
