"""The randomness of a game comes from a seed, is the same on every machine, and is fair."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.games.luck import Luck, Stacked, derive

DECK = "A23456789TJQK"


@given(st.lists(st.integers()), st.binary(), st.text(st.characters(codec="utf-8")))
def test_a_shuffle_is_the_same_cards_in_some_order(cards: list[int], root: bytes, path: str) -> None:
    assert Counter(Luck(root, path).shuffled(cards)) == Counter(cards)


@given(st.binary(), st.text(st.characters(codec="utf-8")))
def test_the_same_seed_deals_the_same_cards(root: bytes, path: str) -> None:
    assert list(Luck(root, path).shuffled(DECK)) == list(Luck(root, path).shuffled(DECK))


def test_these_cards_come_on_every_machine_and_python() -> None:
    luck = Luck(b"croupier", "league/NEPTR+Nestor/7")
    assert ["".join(luck.shuffled(DECK)) for _ in range(2)] == ["56Q74KTJ8923A", "T28654K7Q9J3A"]


def test_another_path_deals_other_cards() -> None:
    dealt = {"".join(Luck(b"root", f"demo/{table}").shuffled(DECK)) for table in range(100)}
    assert len(dealt) == 100


def test_another_root_deals_other_cards() -> None:
    assert list(Luck(b"one", "demo/1").shuffled(DECK)) != list(Luck(b"two", "demo/1").shuffled(DECK))


def test_every_order_is_as_likely_as_any_other() -> None:
    luck = Luck(b"root", "demo/1")
    seen = Counter("".join(luck.shuffled("ABC")) for _ in range(6000))
    assert len(seen) == 6 and sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 20.5  # p = 0.001 if fair


def test_what_nobody_draws_costs_nothing() -> None:
    partly, one_card = Luck(b"root", "demo/1"), Luck(b"root", "demo/1")
    first = next(partly.shuffled(DECK)) + "".join(partly.shuffled(DECK))
    assert first == "".join(islice(one_card.shuffled(DECK), 1)) + "".join(one_card.shuffled(DECK))


def test_a_path_belongs_to_its_root() -> None:
    assert len({derive(b"one", "a"), derive(b"one", "b"), derive(b"two", "a")}) == 3


def test_a_stack_deals_the_given_decks_whatever_is_shuffled() -> None:
    stack = Stacked(["KQ", "J"])
    assert [list(stack.shuffled(DECK)), list(stack.shuffled(DECK))] == [["K", "Q"], ["J"]]


def test_a_stack_without_decks_says_so() -> None:
    with pytest.raises(IndexError, match="no deck is left"):
        Stacked([]).shuffled(DECK)
