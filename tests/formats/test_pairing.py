"""Pairings: the promises of every stage, as claims."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from random import Random

import pytest
from helpers import offenders
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games import GAMES
from host.play.records import BOTS_AT_ONCE, Fixture
from host.play.table_plans import form_table, independent, solvent
from host.stages import elimination
from host.stages.pairing import (
    Pair,
    halves,
    match_winner,
    open_ties,
    padded,
    round_robin,
    set_winner,
    ties,
)

fields = st.integers(0, 20).map(lambda size: [f"b{number}" for number in range(1, size + 1)])
FOUR = ["1", "2", "3", "4"]


def places_of(bracket: elimination.BracketPlan, winner: Callable[[Pair], str | None]) -> list[str | None]:
    """Follow a bracket; return its bots by place, and None for a place up to the last that is still open."""
    placed: dict[int, str] = {}
    for some in elimination.followed(bracket, winner).placed:
        placed |= dict(enumerate((bot for bot in some.bots if bot is not None), some.first))
    return [placed.get(place) for place in range(1, max(placed, default=0) + 1)]


def better(pair: Pair) -> str:
    """Return the winner when the better-ranked bot wins every match."""
    return min(pair, key=lambda bot: int(bot.removeprefix("b")))


def due(group: Sequence[str | None], won: Mapping[frozenset[str], str]) -> list[Pair]:
    """Return the ties that a group plays next, given the winners of the ties so far."""
    if len(group) < 2:
        return []
    now = [tie for tie in open_ties(group) if frozenset(tie) not in won]
    return now or [tie for half in halves(group, lambda tie: won[frozenset(tie)]) for tie in due(half, won)]


def played_out(ranked: list[str], won: dict[frozenset[str], str]) -> list[str | None]:
    """Play a cup round by round, in which the better bot wins; add the winners to `won`; return the places."""
    while pairs := due(padded(ranked), won):
        won.update({frozenset(pair): better(pair) for pair in pairs})
    return places_of(elimination.single(ranked, every_place=True), lambda pair: won.get(frozenset(pair)))


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
    pairs = list(round_robin(bots))
    assert sorted(map(sorted, pairs)) == sorted(map(sorted, combinations(bots, 2)))
    for start in range(0, len(pairs), max(1, len(bots) // 2)):  # in each round, each bot plays at most once
        assert len({bot for pair in pairs[start : start + len(bots) // 2] for bot in pair}) == 2 * len(
            pairs[start : start + len(bots) // 2]
        )


@pytest.mark.parametrize("size", [33, 40, 63, 200, 500])
def test_a_large_field_meets_in_blocks_of_bots_and_early_standings_know_all_bots(size: int) -> None:
    bots = [f"b{number:03}" for number in range(size)]
    pairs = list(round_robin(bots))
    assert sorted(pairs) == list(combinations(bots, 2))  # the earlier bot is the first
    kept, made = dict[str, None](), 0  # the bots of a worker, the least recently used first
    for pair in pairs:
        for bot in pair:
            made += bot not in kept
            kept.pop(bot, None)
            kept[bot] = None
        for bot in [*kept][: max(len(kept) - BOTS_AT_ONCE, 0)]:
            del kept[bot]
    assert made / len(pairs) <= 1 / 8
    played = Counter[str]()
    for pair in pairs:
        played.update(pair)
        if len(played) == size:
            break
    assert max(played.values()) - min(played.values()) <= BOTS_AT_ONCE


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
    assert due(padded(FOUR), won) == [("3", "2"), ("1", "4")]


def test_the_first_ranked_have_the_byes() -> None:
    assert ties(padded(["1", "2", "3"])) == [("1", "3"), ("2", None)]


@given(fields)
def test_a_cup_places_everybody_by_strength_where_the_better_always_wins_its_first_two(bots: list[str]) -> None:
    places = played_out(bots, {})
    assert sorted(map(str, places)) == sorted(bots) and places[:2] == bots[:2]


@given(fields)
def test_nobody_meets_the_same_opponent_twice_in_a_cup(bots: list[str]) -> None:
    met: list[frozenset[str]] = []
    won: dict[frozenset[str], str] = {}
    while pairs := due(padded(bots), won):
        met += map(frozenset, pairs)
        won.update({frozenset(pair): max(pair) for pair in pairs})
    assert len(met) == len(set(met))


def test_no_place_is_given_away_while_a_match_is_open() -> None:
    assert places_of(elimination.single(FOUR, every_place=True), lambda pair: None) == []


class Played:
    """A bracket with random winners. `chance` draws them."""

    def __init__(self, kind: Callable[..., elimination.BracketPlan], size: int, chance: Random, *, every: bool) -> None:
        self.bots = [f"b{number}" for number in range(1, size + 1)]
        self.defeats, self.ties, self._chance = Counter[str](), list[tuple[Pair, str]](), chance
        self.outcome = elimination.followed(kind(self.bots, every_place=every), self._winner)

    def _winner(self, pair: Pair) -> str:
        winner = self._chance.choice(pair)
        self.ties.append((pair, winner))
        self.defeats.update(bot for bot in pair if bot != winner)
        return winner

    @property
    def shares(self) -> list[tuple[int, list[str]]]:
        """Return each place with the bots that share it."""
        found = [(some.first, [bot for bot in some.bots if bot is not None]) for some in self.outcome.placed]
        return sorted((first, bots) for first, bots in found if bots)


KINDS_OF_BRACKET = (elimination.single, elimination.double)


def check_brackets(size: int, chance: Random) -> None:
    """Play brackets of one size in all four ways; check that every bot has the place that was promised."""
    for kind in KINDS_OF_BRACKET:
        for every in (True, False):
            played = Played(kind, size, chance, every=every)
            shares = played.shares
            assert sorted(bot for _, bots in shares for bot in bots) == sorted(played.bots)
            assert [first for first, _ in shares] == [
                1 + sum(len(bots) for _, bots in shares[:nth]) for nth in range(len(shares))
            ]
            assert all(len(bots) == 1 for _, bots in shares) or not every
            allowed = 1 if kind is elimination.single else 2
            if not every:
                assert all(played.defeats[bot] == allowed for bot in played.bots if [bot] != shares[0][1])
            check_reset(played, kind)


def check_reset(played: Played, kind: Callable[..., elimination.BracketPlan]) -> None:
    """Check that a second final is played exactly if the first was won by the bot with a defeat."""
    finals = [each for each in played.outcome.rounds if each.title.endswith(("final", "final (bracket reset)"))]
    assert [each.title for each in finals][1:] in ([], ["second final (bracket reset)"])
    if len(played.bots) < 2 or kind is elimination.single:
        assert len(finals) <= 1
        return
    pair = open_ties(finals[0].group)[0]
    winners = [winner for tie, winner in played.ties if tie == pair][-len(finals) :]
    (champion,) = played.shares[0][1]
    assert champion == winners[-1]
    assert (len(finals) == 2) == (winners[0] != pair[0])  # the unbeaten bot is the first of the two
    assert not finals[-1].note or f"{pair[1]} has won the final" in finals[-1].note


@given(st.integers(1, 40), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_every_bot_has_the_place_that_its_bracket_promises(size: int, chance: Random) -> None:
    check_brackets(size, chance)


@pytest.mark.proof
def test_every_bot_of_a_thousand_fields_has_the_place_that_its_bracket_promises() -> None:
    for seed in range(1000):
        check_brackets(1 + seed % 130, Random(seed))


def test_the_best_seeds_meet_as_late_as_possible() -> None:
    assert not offenders(check_seeds, product(KINDS_OF_BRACKET, [*range(2, 40), 100, 128]))


def check_seeds(kind: Callable[..., elimination.BracketPlan], size: int) -> None:
    """Check in which round of a bracket the best seeds meet."""
    bots = [f"b{number}" for number in range(1, size + 1)]
    rounds = elimination.followed(kind(bots, every_place=False), better).rounds
    unbeaten = [each for each in rounds if each.lost != (-2, 0) and each.won == (-1, 0) and each.title != "final"]
    best = len(padded(bots))
    for each in unbeaten:
        for one, two in open_ties(each.group):
            assert not {one, two} <= set(bots[: best // 2])  # of the best half at most one sits in a tie
        best //= 2


def test_only_the_best_seeds_have_byes() -> None:
    assert not offenders(check_byes, [(size,) for size in range(2, 40)])


def check_byes(size: int) -> None:
    """Check which bot has a bye in the first round."""
    bots = [f"b{number}" for number in range(1, size + 1)]
    for kind in KINDS_OF_BRACKET:
        first = elimination.followed(kind(bots, every_place=False), lambda pair: None).rounds[0]
        free = [one for one, two in ties(first.group) if two is None]
        assert free == bots[: len(padded(bots)) - size]
