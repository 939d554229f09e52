"""The randomness of a game comes from a seed, is the same on every machine, and is fair."""

from collections import Counter
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from host.games.luck import MAX_BELOW, Deal, Luck, Stacked, derive, whole_number, words

DECK = "A23456789TJQK"


# The published test vectors (docs/checking.md), for implementations in any language.

ROOT, PATH = bytes(range(16)), "league/ada+davey/1/17"
WORDS = "296a454cca6fc30b ec3008f403b920c0 a3461a66d34e48a4 ce8dc0ee0ed5f234 2edb5e51dd0c0ba6"
SHUFFLED = "1 6 4 2 7 9 3 5 0 8"
SHUFFLED_NEXT = "4 8 9 1 3 2 7 6 0 5"
SHUFFLED_52 = (
    "27 30 36 44 22 48 31 19 4 33 20 2 14 41 18 40 25 49 37 6 11 50 16 42 8 9 10 34 7 1 24 12 13 15 23 17 45 3 29 39 26 "
    "32 38 43 28 5 47 35 46 21 0 51"
)


def test_the_key_and_the_words_of_a_path_are_those_of_the_vectors() -> None:
    key = derive(ROOT, PATH)
    assert key.hex() == "4575aec9ce9fe6dab77f061e05063389fc14f4a7160afd327a3b96900c5dbaca"
    assert " ".join(f"{word:016x}" for word in islice(words(key, "shuffle"), 5)) == WORDS
    assert whole_number(ROOT, PATH) == 1760946100


@pytest.mark.parametrize("kind", [Luck, Deal])
def test_shuffles_are_those_of_the_vectors(kind: type[Luck]) -> None:
    luck = kind(ROOT, PATH)
    first, second = luck.shuffled(range(10)), luck.shuffled(range(10))
    assert " ".join(map(str, second)) == SHUFFLED_NEXT  # the order of the calls counts, not that of the draws
    assert " ".join(map(str, first)) == SHUFFLED
    assert " ".join(map(str, kind(ROOT, PATH).shuffled(range(52)))) == SHUFFLED_52


@pytest.mark.parametrize("kind", [Luck, Deal])
def test_numbers_and_picks_are_those_of_the_vectors(kind: type[Luck]) -> None:
    luck = kind(ROOT, PATH)
    assert [luck.below(n) for n in (6, 6, 52, 2, 1000, 1 << 32)] == [0, 1, 11, 0, 556, 1560434897]
    assert [luck.pick(weights) for weights in ([1, 1, 2], [1, 1, 2], [0, 5, 5], [3, 0, 1])] == [1, 2, 2, 2]


def test_the_rest_of_a_shared_deal_is_a_shuffle_of_the_whole_deck_without_what_was_drawn() -> None:
    deal = Deal(ROOT, PATH)
    cards = deal.shuffled(range(10))
    drawn = list(islice(cards, 3))
    assert [*deal.rest(cards)] == [int(card) for card in SHUFFLED_NEXT.split() if int(card) not in drawn]


# What holds for every seed.


@pytest.mark.long
@given(st.lists(st.integers()), st.binary(), st.text(st.characters(codec="utf-8")))
def test_a_shuffle_is_the_same_cards_in_some_order(cards: list[int], root: bytes, path: str) -> None:
    assert Counter(Luck(root, path).shuffled(cards)) == Counter(cards)


@given(st.binary(), st.text(st.characters(codec="utf-8")))
def test_the_same_seed_deals_the_same_cards(root: bytes, path: str) -> None:
    assert list(Luck(root, path).shuffled(DECK)) == list(Luck(root, path).shuffled(DECK))


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


# Draws of numbers.


def test_draws_and_shuffles_do_not_change_each_other() -> None:
    one, other = Luck(b"root", "demo/1"), Luck(b"root", "demo/1")
    drawn = [(other.below(100), other.pick([1, 1])) for _ in range(5)]
    assert list(one.shuffled(DECK)) == list(other.shuffled(DECK))
    assert [one.below(100) for _ in range(5)] == [below for below, _ in drawn]
    assert [one.pick([1, 1]) for _ in range(5)] == [picked for _, picked in drawn]


def test_a_draw_of_mirrored_tables_is_the_same_whatever_was_drawn_before() -> None:
    one, other = Deal(b"root", "demo/1"), Deal(b"root", "demo/1")
    other.below(6), next(other.shuffled(DECK)), one.below(1000)
    assert one.below(1000) == other.below(1000) and one.pick([1] * 99) == other.pick([1] * 99)


@given(st.binary(), st.integers(1, MAX_BELOW))
def test_a_number_is_below_its_bound(root: bytes, bound: int) -> None:
    assert all(0 <= number < bound for luck in [Luck(root, "demo/1")] for number in [luck.below(bound)] * 3)


@given(st.binary(), st.lists(st.floats(0, 1e300) | st.integers(0, 10**9), min_size=1).filter(any))
def test_only_what_has_a_weight_is_picked(root: bytes, weights: list[float]) -> None:
    luck = Luck(root, "demo/1")
    assert all(weights[luck.pick(weights)] > 0 for _ in range(5))


def test_numbers_and_picks_come_as_often_as_they_should() -> None:
    luck, weights = Luck(b"root", "demo/1"), (1, 2, 0, 3)
    numbers, picks = Counter(luck.below(6) for _ in range(6000)), Counter(luck.pick(weights) for _ in range(6000))
    assert set(picks) == {0, 1, 3}
    assert sum((numbers[number] - 1000) ** 2 / 1000 for number in range(6)) < 20.5  # p = 0.001 if fair
    assert sum((picks[at] - 1000 * weights[at]) ** 2 / (1000 * weights[at]) for at in picks) < 13.8


@pytest.mark.parametrize("bound", [0, -1, MAX_BELOW + 1])
def test_a_bound_that_is_none_is_refused(bound: int) -> None:
    with pytest.raises(ValueError, match="must be 1 to"):
        Luck(b"root", "demo/1").below(bound)


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [1, float("nan")], [float("inf")]], ids=repr)
def test_weights_that_are_none_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        Luck(b"root", "demo/1").pick(weights)


def test_a_stack_draws_the_given_numbers() -> None:
    stack = Stacked([], draws=[3, 1, 7])
    assert stack.below(6) == 3 and stack.pick([1, 1]) == 1
    with pytest.raises(IndexError, match="the next draw of this stack is 7"):
        stack.below(6)
    with pytest.raises(IndexError, match="is None"):
        stack.below(6)
