"""The values of hands, by the engine of 2018 and by poker."""

import ast
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.games import hands
from host.games.hands import CARDS, banksalad, by_the_book, standard

NAMES = sorted(CARDS)
different = st.lists(st.sampled_from(NAMES), min_size=2, max_size=7, unique=True)
seven = st.lists(st.sampled_from(NAMES), min_size=7, max_size=7, unique=True)


def cards(names: str) -> list[int]:
    """Return the cards of a text like `3d Ks`."""
    return [CARDS[name] for name in names.split()]


def brute(names: list[str]) -> tuple[int, ...]:
    """Return the value of the best five cards by a textbook evaluator that shares no code with ours."""
    return max(five_cards(five) for five in combinations(names, min(5, len(names))))


def five_cards(five: tuple[str, ...]) -> tuple[int, ...]:
    """Return a comparable value of five cards or fewer: category, then ranks in order of importance."""
    ranks = Counter("..23456789TJQKA".index(name[0]) for name in five)
    order = sorted(ranks, key=lambda rank: (ranks[rank], rank), reverse=True)
    shape = sorted(ranks.values(), reverse=True)
    suited = len(five) == 5 and len({name[1] for name in five}) == 1
    top = {14: 5}.get(max(ranks), 0) if sorted(ranks) == [2, 3, 4, 5, 14] else max(ranks)
    straight = len(ranks) == 5 and (top == 5 or max(ranks) - min(ranks) == 4)
    if straight:
        return (10 if suited and top == 14 else 9 if suited else 5), top
    if shape[0] == 4:
        return 8, *order
    if shape[:2] == [3, 2]:
        return 7, *order
    if suited:
        return 6, *order
    if shape[0] == 3:
        return 4, *order
    if shape[0] == 2:
        return (3 if shape[1:2] == [2] else 2), *order
    return 1, *order


@pytest.mark.parametrize(
    ("claim", "hand", "worth"),
    [
        ("a pair is worth its rank and no kicker", "2d As 3c 8s Qc Th Ad", (hands.PAIR, 14)),
        ("two pairs are worth the higher", "Jc Jd 5s 5h 2c 9d Kh", (hands.TWO_PAIRS, 11)),
        ("three pairs are two", "Jc Jd 5s 5h 2c 2d Kh", (hands.TWO_PAIRS, 11)),
        ("a wheel is a straight of five", "Ah 2c 3d 4s 5h 9c Jd", (hands.STRAIGHT, 5)),
        ("the higher straight counts", "4d 5c 6d 7s 8h 9c Kd", (hands.STRAIGHT, 9)),
        ("a pair inside a straight breaks it", "5c 6d 7s 7h 8d 9c Kd", (hands.PAIR, 7)),
        ("a pair at an end of a straight does not", "5c 5d 6s 7h 8d 9c 9h", (hands.STRAIGHT, 9)),
        ("a pair of aces does not break a wheel", "Ah Ad 2c 3d 4s 5h 5c", (hands.STRAIGHT, 5)),
        ("four neighbours are no straight", "5c 6d 7s 8h Td Jc Kd", (hands.HIGH_CARD, 13)),
        ("a flush counts by the five lowest cards of its suit", "2h 4h 6h 8h Th Qh Ah", (hands.FLUSH, 10)),
        ("only the topmost run is looked at for a straight flush", "5s 6s 7s 8s 9s Th 2c", (hands.FLUSH, 9)),
        ("a straight flush", "5s 6s 7s 8s 9s Jh 2c", (hands.STRAIGHT_FLUSH, 9)),
        ("a wheel of one suit needs the last ace in it", "As Ah 2h 3h 4h 5h 9c", (hands.FLUSH, 14)),
        ("and is a straight flush then", "Ah Ac 2h 3h 4h 5h 9c", (hands.STRAIGHT_FLUSH, 5)),
        ("a run begins with the last card of its lowest rank", "5s 5h 6h 7h 8h 9h Kc", (hands.FLUSH, 9)),
        ("and ends with the first of its highest", "5h 6h 7h 8h 9h 9s Kc", (hands.STRAIGHT_FLUSH, 9)),
        ("a royal flush", "Th Jh Qh Kh Ah 2c 3d", (hands.ROYAL_FLUSH, 14)),
        ("an ace before the others in its rank spoils a royal flush", "Th Jh Qh Kh Ah Ac 3d", (hands.FLUSH, 14)),
        ("a full house is worth its three", "8c 8d 8h Kc Kd 2s 3h", (hands.FULL_HOUSE, 8)),
        ("two threes are no full house", "8c 8d 8h Kc Kd Ks 3h", (hands.THREE, 13)),
        ("four of a kind", "8c 8d 8h 8s Kd Ks Kh", (hands.FOUR, 8)),
        ("two cards can be a pair", "8c 8d", (hands.PAIR, 8)),
        ("three neighbours are a high card", "8c 9d Th", (hands.HIGH_CARD, 10)),
        ("one card too", "8c", (hands.HIGH_CARD, 8)),
        ("five equal cards are neither four nor a pair", "8c 8c 8c 8c 8d Kd", (hands.HIGH_CARD, 13)),
        ("eight cards count as well", "2c 3d 4h 5s 6c Ts Jd Kh", (hands.STRAIGHT, 6)),
        ("but the fifth window is not looked at", "2c 3d 4h 5s 6c Ts Jd Kh Kc", (hands.PAIR, 13)),
    ],
)
def test_by_the_engine_of_2018(claim: str, hand: str, worth: hands.Worth) -> None:
    assert banksalad(cards(hand)) == worth, claim


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=9))
def test_the_quick_way_agrees_with_the_book_duplicates_or_not(names: list[str]) -> None:
    hand = [CARDS[name] for name in names]
    assert banksalad(hand) == by_the_book(hand)


@given(st.data())
def test_the_quick_way_agrees_with_the_book_where_suits_and_neighbours_abound(data: st.DataObject) -> None:
    near = [name for name in NAMES if name[1] == "s" or name[0] in "56789"]
    hand = [CARDS[name] for name in data.draw(st.lists(st.sampled_from(near), min_size=5, max_size=7))]
    assert banksalad(hand) == by_the_book(hand)


@given(different)
def test_the_order_of_cards_is_nothing(names: list[str]) -> None:
    hand, sorted_hand = [CARDS[name] for name in names], sorted(CARDS[name] for name in names)
    assert (banksalad(hand), standard(hand)) == (banksalad(sorted_hand), standard(sorted_hand))


@given(different)
def test_poker_agrees_with_a_textbook_on_category(names: list[str]) -> None:
    assert standard([CARDS[name] for name in names])[0] == brute(names)[0]


@given(seven, st.data())
def test_poker_agrees_with_a_textbook_on_who_wins(names: list[str], data: st.DataObject) -> None:
    board, mine = names[:5], names[5:]
    others = data.draw(st.lists(st.sampled_from(sorted({*NAMES} - {*names})), min_size=2, max_size=2, unique=True))
    we, they = (standard([CARDS[name] for name in [*board, *two]]) for two in (mine, others))
    by_book = brute(board + mine), brute(board + others)
    assert (we > they, we == they) == (by_book[0] > by_book[1], by_book[0] == by_book[1])


@pytest.mark.parametrize(
    ("claim", "hand", "worth"),
    [
        ("kickers are spelled", "Ac Ad Kh Qs Jc 2d 3h", (hands.PAIR, 0xEDCB)),
        ("a third pair can be the kicker", "Jc Jd 5s 5h 7c 7d 2h", (hands.TWO_PAIRS, 0xB75)),
        ("the top five of a flush decide", "2h 4h 6h 8h Th Qh Ah", (hands.FLUSH, 0xECA86)),
        ("a pair does not break a straight", "5c 6d 7s 7h 8d 9c Kd", (hands.STRAIGHT, 9)),
        ("two threes are a full house", "8c 8d 8h Kc Kd Ks 3h", (hands.FULL_HOUSE, 0xD8)),
        ("a straight flush hides below a higher straight", "5s 6s 7s 8s 9s Th 2c", (hands.STRAIGHT_FLUSH, 9)),
        ("the higher kicker of four, pair or not", "8c 8d 8h 8s Kd Ks Ah", (hands.FOUR, 0x8E)),
        ("a wheel of one suit", "As Ah 2h 3h 4h 5h 9c", (hands.STRAIGHT_FLUSH, 5)),
    ],
)
def test_by_poker(claim: str, hand: str, worth: hands.Worth) -> None:
    assert standard(cards(hand)) == worth, claim


@pytest.mark.parametrize("worth", [banksalad, standard])
def test_no_cards_are_an_error_as_in_2018(worth: object) -> None:
    with pytest.raises(IndexError):
        worth([])


def test_an_adapter_can_run_the_file_alone() -> None:
    tree = ast.parse(Path(hands.__file__).read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules <= sys.stdlib_module_names | {"collections.abc"}
