"""The rules of Hearts, one by one, and whole games that obey them."""

from collections.abc import Iterable
from itertools import pairwise
from random import Random

import pytest

from host.games import GAMES
from host.games.engine import Table
from host.games.hearts import ALL_POINTS, DECK, GAME, POINTS, Rules, View, in_order, legal_cards
from host.games.luck import Luck, Stacked
from host.submissions.sample_bots import samples
from protocols.wire import Answer, Fault, FaultKind, Move

LOW = Move("LOW")
ONE_HAND = Rules(most_hands=1)


def cards(text: str) -> tuple[str, ...]:
    """Return the cards of a text."""
    return tuple(text.split())


def passing(text: str) -> Move:
    """Return the move that passes these cards."""
    return Move("PASS", text=text)


def view(table: Table) -> View:
    """Return the next question of a table."""
    assert table.request is not None
    assert isinstance(table.request.view, View)
    return table.request.view


def dealt(*hands: str) -> Stacked:
    """Return a deck that deals these hands; the last ones get what is left."""
    given = [card for hand in hands for card in cards(hand)]
    return Stacked([[*given, *(card for card in DECK if card not in given)]])


SUITS = [" ".join(rank + suit for rank in "23456789TJQKA") for suit in "cdsh"]


@pytest.mark.parametrize(("hands", "shift"), [(1, 1), (2, 3), (3, 2)])
def test_three_cards_go_left_then_right_then_across_and_then_none(hands: int, shift: int) -> None:
    table = Table(GAME, Rules(target=10_000, most_hands=4), Luck(b"root", "x"))
    while view(table).direction != ("LEFT", "RIGHT", "ACROSS")[hands - 1] or view(table).task != "PASS":
        table.answer(LOW)
    passed = [request.view.hand[:3] for request in table.together]
    assert [request.seat for request in table.together] == [0, 1, 2, 3]
    for _ in range(4):
        table.answer(LOW)
    seen: dict[int, tuple[str, ...]] = {}
    while view(table).task == "PLAY" and len(seen) < 4:
        assert table.request is not None
        seen[table.request.seat] = view(table).received
        assert view(table).passed == passed[table.request.seat]
        table.answer(LOW)
    assert [seen[(seat + shift) % 4] for seat in range(4)] == passed


def test_in_the_fourth_hand_no_card_is_passed() -> None:
    table = Table(GAME, Rules(target=10_000, most_hands=4), Luck(b"root", "x"))
    while view(table).direction != "NONE":
        table.answer(LOW)
    assert (view(table).task, view(table).passed, view(table).received) == ("PLAY", (), ())


def test_the_two_of_clubs_is_led_by_its_player_after_the_passing() -> None:
    table = Table(GAME, ONE_HAND, dealt(*SUITS))
    for move in (passing("2c 3c 4c"), LOW, LOW, LOW):
        table.answer(move)
    assert table.request is not None and table.request.seat == 1 and view(table).legal == ("2c",)


@pytest.mark.parametrize(
    ("hand", "trick", "first", "broken", "legal"),
    [
        ("2c 5d Kh", "", True, False, "2c"),
        ("3c 5d Kh", "2c", True, False, "3c"),
        ("5d Qs Kh", "2c", True, False, "5d"),
        ("Qs 7h Kh", "2c", True, False, "Qs 7h Kh"),
        ("5d Qs Kh", "2c", False, False, "5d Qs Kh"),
        ("5d Qs Kh", "", False, False, "5d Qs"),
        ("5d Qs Kh", "", False, True, "5d Qs Kh"),
        ("7h Kh", "", False, False, "7h Kh"),
        ("5d 7h Kh", "2h", False, False, "7h Kh"),
    ],
)
def test_these_cards_may_be_played(hand: str, trick: str, first: bool, broken: bool, legal: str) -> None:
    assert legal_cards(cards(hand), cards(trick), first, broken) == cards(legal)


def test_who_takes_everything_gives_26_points_to_the_others() -> None:
    spades, hearts = SUITS[2], SUITS[3]
    clubs = dealt("5c 6c 7c 8c 9c Tc Jc Qc Kc Ac 2d 3d 4d", spades, hearts, "2c 3c 4c 5d 6d 7d 8d 9d Td Jd Qd Kd Ad")
    table = Table(GAME, ONE_HAND, clubs)
    for move in (passing("2d 3d 4d"), LOW, LOW, passing("2c 3c 4c")):
        table.answer(move)
    while table.request is not None:
        table.answer(LOW)
    assert table.scores == (0, -26, -26, -26)


def test_points_are_counted_for_who_takes_the_trick() -> None:
    table = Table(GAME, ONE_HAND, Luck(b"root", "x"))
    while table.request is not None:
        table.answer(LOW)
    assert sum(table.scores or ()) == -ALL_POINTS


NONSENSE: list[tuple[Answer, str]] = [
    (passing("2c 2c 3c"), "a card twice"),
    (passing("2c 3c"), "two cards"),
    (passing("2c 3c Ah"), "a card of another hand"),
    (Move("PLAY", text="2c"), "a card to play"),
    (Fault(FaultKind.TIMEOUT), "no answer"),
]


@pytest.mark.parametrize(("answer", "what"), NONSENSE, ids=[what for _, what in NONSENSE])
def test_a_fault_and_an_illegal_pass_pass_the_three_lowest_cards(answer: Answer, what: str) -> None:
    table = Table(GAME, ONE_HAND, dealt(*SUITS))
    assert table.answer(answer) is isinstance(answer, Fault), what
    for _ in range(3):
        table.answer(LOW)
    assert view(table).received == cards("2c 3c 4c")  # in seat 1, which has the two of clubs now


def test_an_illegal_card_plays_the_lowest_legal_one() -> None:
    table = Table(GAME, ONE_HAND, Luck(b"root", "x"))
    for _ in range(4):
        table.answer(LOW)
    assert not table.answer(Move("PLAY", text="Ah")) and view(table).trick == ("2c",)


def moves(random: Random, asked: View) -> Move:
    """Return a random legal move."""
    if asked.task == "PASS":
        return passing(" ".join(random.sample(asked.hand, 3)))
    return random.choice([Move("PLAY", text=random.choice(asked.legal)), LOW, Move("HIGH")])


@pytest.mark.parametrize("number", range(10))
def test_whole_games_obey_the_rules(number: int) -> None:
    random, told = Random(number), list[tuple[str, dict[str, Iterable[int]]]]()
    table = Table(GAME, Rules(), Luck(b"root", str(number)), tell=lambda event, **facts: told.append((event, facts)))
    while table.request is not None:
        asked = view(table)
        assert len(asked.hand) == (14 - asked.trick_number if asked.trick_number else 13)
        assert asked.hand == in_order(asked.hand) and set(asked.legal) <= set(asked.hand)
        assert len(asked.played) == 4 * max(asked.trick_number - 1, 0) and not {*asked.played} & {*asked.hand}
        assert sum(asked.taken) == sum(POINTS[card] for card in asked.played)
        assert table.answer(moves(random, asked))
    ends = [facts for event, facts in told if event == "hand.end"]
    assert table.scores == tuple(-points for points in ends[-1]["points"])
    assert max(ends[-1]["points"]) >= 100 and all(max(end["points"]) < 100 for end in ends[:-1])
    for before, after in pairwise([{"points": (0, 0, 0, 0)}, *ends]):
        assert sum(after["points"]) - sum(before["points"]) in (ALL_POINTS, 3 * ALL_POINTS)
    best = max(table.scores)
    assert all((table.scores[seat] == best) is (seat in GAME.winners(table.scores)) for seat in range(4))


def test_no_two_games_have_a_sample_bot_of_the_same_name() -> None:
    names = [name for game in GAMES for name in samples(game)]
    assert sorted(names) == sorted(set(names))  # `croupier play sample:NAME` finds the game by the bot
