"""From any number of bots to five finalists."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.games.luck import Luck
from host.tournament.groups import FINALISTS, Place, advancing, drawn, groups_of, placing

ENTRANTS = range(3, 201)


def placed(sizes: tuple[int, ...]) -> list[list[Place]]:
    """Return finished groups of these sizes in which everybody has chips of its own."""
    bots = iter(range(sum(sizes)))
    return [[Place(f"b{next(bots)}", 100 * (size - place)) for place in range(size)] for size in sizes]


def everybody(groups: list[list[Place]]) -> list[str]:
    """Return the bots of all groups."""
    return [place.bot for group in groups for place in group]


@pytest.mark.parametrize("entrants", ENTRANTS)
def test_groups_have_three_to_five_seats_and_differ_by_one(entrants: int) -> None:
    sizes = groups_of(entrants)
    assert sum(sizes) == entrants and min(sizes) >= 3 and max(sizes) <= min(5, min(sizes) + 1)


@pytest.mark.parametrize("entrants", ENTRANTS)
def test_stages_end_with_five_finalists_or_with_all_there_are(entrants: int) -> None:
    left = entrants
    while len(sizes := groups_of(left)) > 1:
        groups = placed(sizes)
        left = len(advancing(groups, everybody(groups)))
    assert left == min(entrants, FINALISTS)


@pytest.mark.parametrize(
    ("entrants", "sizes"),
    [(5, (5,)), (6, (3, 3)), (7, (4, 3)), (11, (4, 4, 3)), (16, (4, 4, 4, 4)), (23, (5, 5, 5, 4, 4))],
)
def test_groups_are_as_few_and_as_equal_as_possible(entrants: int, sizes: tuple[int, ...]) -> None:
    assert groups_of(entrants) == sizes


@pytest.mark.parametrize("entrants", [-1, 0, 1, 2])
def test_two_make_no_group(entrants: int) -> None:
    with pytest.raises(ValueError, match="3 to 5 seats"):
        groups_of(entrants)


@given(st.lists(st.text(min_size=1), min_size=3, max_size=60, unique=True))
def test_everybody_is_drawn_once_and_the_same_way_from_the_same_seed(bots: list[str]) -> None:
    groups = drawn(bots, Luck(b"seed", "groups"))
    again = drawn(bots, Luck(b"seed", "groups"))
    assert groups == again and sorted(bot for group in groups for bot in group) == sorted(bots)


def test_two_of_each_group_advance() -> None:
    groups = placed((4, 4, 3))
    assert advancing(groups, everybody(groups)) == ["b0", "b1", "b4", "b5", "b8", "b9"]


def test_of_two_groups_the_third_with_more_chips_advances_too() -> None:
    groups = [[Place("a", 500), Place("b", 300), Place("c", 80)], [Place("d", 400), Place("e", 300), Place("f", 81)]]
    assert advancing(groups, "abcdef") == ["a", "b", "d", "e", "f"]


def test_equal_thirds_are_decided_by_the_lot() -> None:
    groups = [[Place("a", 500), Place("b", 300), Place("c", 0)], [Place("d", 400), Place("e", 300), Place("f", 0)]]
    assert [advancing(groups, lot)[-1] for lot in ("abcdef", "fedcba")] == ["c", "f"]


@pytest.mark.parametrize("lot", [*permutations(range(4))])
def test_the_lot_decides_between_equals_only(lot: tuple[int, ...]) -> None:
    first, *tied, last = placing((90, 140, 90, -1), lot)
    assert (first, tied, last) == (1, [seat for seat in lot if seat in (0, 2)], 3)
