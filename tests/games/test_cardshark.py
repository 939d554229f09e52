"""Blackjack KotH: the sentences of the rules, as claims."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games import cardshark2011
from host.games.cardshark import DECK, GAME, Rules, View, score
from host.games.engine import Table
from host.games.luck import Luck, Stacked
from protocols import argv
from protocols.wire import Answer, Fault, FaultKind, Move

THREAD, ENGINE = GAME.presets["thread"], GAME.presets["engine2011"]
H, S, D, NOTHING = Move("H"), Move("S"), Move("D"), Fault(FaultKind.TIMEOUT)


def b(chips: int) -> Move:
    """Return a bet."""
    return Move("B", chips)


def alone(chips: int, hands: int = 1) -> Rules:
    """Return the rules of a table with one bot."""
    return THREAD._replace(seats=1, stacks=(chips,), hands=hands)


def chips_after(shoe: str, chips: int, *answers: Answer) -> int:
    """Return the chips of a bot after one hand with this shoe."""
    table = Table(GAME, alone(chips), Stacked([shoe]), answers)
    assert table.scores is not None
    return table.scores[0]


def asked(table: Table) -> str:
    """Return the open question's arguments."""
    assert table.request is not None
    return b" ".join(argv.ask(table.request.view)).decode()


@pytest.mark.parametrize(
    ("hand", "points"),
    [("T9", 19), ("AK", 21), ("AA", 12), ("AAA8", 21), ("A5T4", 20), ("A2A2A2AA22", 15), ("T6K", 26), ("KJA", 21)],
)
def test_one_ace_counts_eleven_while_the_total_stays_within_21(hand: str, points: int) -> None:
    assert score(hand) == points


def test_the_worked_example_of_the_rule_sheet() -> None:
    rules = THREAD._replace(seats=2, stacks=(200, 200))
    decided = [Table(GAME, rules, Stacked(["24T3576789TJ"]), [H] * moves) for moves in range(3)]
    assert list(map(asked, decided)) == ["5 23 T#2435 10 190", "9 45 T#24356 10 190", "11 236 T#243567 10 190"]


WINS, LOSES = "T998", "TT99"  # 19 against 17, and against 19: equal scores lose


@pytest.mark.parametrize(
    ("chips", "moves", "won", "lost"),
    [
        (200, [S], 210, 190),
        (200, [b(15), S], 225, 175),
        (200, [b(-15), S], 225, 175),
        (200, [b(190), S], 400, 0),
        (200, [b(191)], 210, 190),
        (200, [b(0)], 210, 190),
        (200, [b(135), S], 345, 55),
        (200, [b(5), D], 215, 185),  # a bet is a move: no double after it
        (200, [NOTHING], 210, 190),
        (10, [S], 20, 0),
        (19, [D], 29, 9),  # it cannot pay for a double
    ],
)
def test_the_money_examples(chips: int, moves: list[Answer], won: int, lost: int) -> None:
    assert (chips_after(WINS, chips, *moves), chips_after(LOSES, chips, *moves)) == (won, lost)


@pytest.mark.parametrize(("shoe", "chips"), [("5968T", 220), ("5968T"[:4] + "2T", 180)])
def test_a_double_pays_twice_takes_one_card_and_stands(shoe: str, chips: int) -> None:
    assert chips_after(shoe, 200, D) == chips


def test_nine_chips_are_out_and_kept() -> None:
    assert Table(GAME, alone(9), Stacked([])).scores == (9,)


def test_a_bot_that_is_out_is_neither_dealt_in_nor_asked() -> None:
    table = Table(GAME, THREAD._replace(seats=2, stacks=(9, 200), hands=1), Stacked([WINS]), [S])
    assert table.scores == (9, 210)


def test_a_bust_bot_is_not_asked_again_and_loses_though_the_dealer_busts() -> None:
    assert chips_after("TT66KT", 200, H) == 190


def test_the_list_is_cleared_and_the_shoe_goes_on_in_the_next_hand() -> None:
    table = Table(GAME, alone(200, hands=2), Stacked(["T99856TT5"]), [S])
    assert asked(table) == "15 5T 6#5T 10 200"


def test_an_empty_shoe_is_replaced_without_a_word() -> None:
    assert asked(Table(GAME, alone(200), Stacked(["T99", "8"]))) == "19 T9 9#T9 10 190"


def test_hits_of_different_bots_alternate() -> None:
    table = Table(GAME, THREAD._replace(seats=2, stacks=(200, 200)), Stacked(["22T22T3456"]), [H, H, H])
    assert table.request is not None and (table.request.seat, table.request.view.hand) == (1, "224")


@pytest.mark.parametrize(
    ("said", "move"),
    [
        ("H", H),
        ("s\n", S),
        (" d ", D),
        ("H please", H),
        ("B 15", b(15)),
        ("b -15", b(-15)),
        ("B 135.714285714", b(135)),
        ("B 15 dollars", b(15)),
        ("B  7.", b(7)),
    ],
)
def test_the_first_word_decides(said: str, move: Move) -> None:
    assert argv.receive(GAME.grammar, said.encode()) == move


@pytest.mark.parametrize("said", ["", "hit", "P", "B", "B x", "B1", "HS", "X 3", "B 1234567890123", "B .5"])
def test_what_is_no_move_is_unreadable(said: str) -> None:
    assert argv.receive(GAME.grammar, said.encode()) == Fault(FaultKind.UNREADABLE)


def test_two_lines_are_one_too_many() -> None:
    assert argv.receive(GAME.grammar, b"H\nS") == Fault(FaultKind.EXTRA)


@pytest.mark.parametrize("move", [b(0), b(191), Move("P")])
def test_an_illegal_move_is_remembered(move: Move) -> None:
    assert Table(GAME, alone(200), Stacked([WINS]), [move]).illegal == [0]


def test_the_engine_says_small_letters_and_counts_aces_as_one() -> None:
    table = Table(GAME, ENGINE._replace(seats=1, stacks=(200,)), Stacked(["t9ak"]))
    assert asked(table) == "11 ak t#ak 10 190"


@pytest.mark.parametrize(
    ("said", "move"), [("stand", None), ("x h", H), ("s b 3", b(3)), ("H\nS", None), ("b", None), ("d s", D)]
)
def test_the_engine_takes_any_word_it_knows(said: str, move: Move | None) -> None:
    assert cardshark2011.read(said) == (move or Fault(FaultKind.UNREADABLE))


stacks = st.lists(st.integers(0, 400), min_size=1, max_size=4)
answers = st.lists(
    st.one_of(st.sampled_from([H, H, S, D, NOTHING]), st.integers(-250, 250).map(b)), min_size=1, max_size=30
)  # used repeatedly
MOST_MOVES = 5 * 4 * 450  # five hands of four bots that bet chip by chip


def play_out(rules: Rules, root: bytes, said: Iterable[Answer]) -> tuple[Table, dict[str, list[dict[str, Any]]]]:
    """Answer in turn until the round is over; return the table and its events."""
    told: dict[str, list[dict[str, Any]]] = {"hand.start": [], "hand.end": [], "dealer.plays": []}

    def tell(event: str, **facts: Any) -> None:
        told.setdefault(event, []).append(facts)

    table, said = Table(GAME, rules, Luck(root, "demo/1"), tell=tell), list(said)
    while table.request is not None and len(table.answers) < MOST_MOVES:
        table.answer(said[len(table.answers) % len(said)])
    return table, told


@given(stacks, answers, st.binary(max_size=4))
@settings(max_examples=80, deadline=None)
def test_every_round_ends(chips: list[int], said: list[Answer], root: bytes) -> None:
    table, _ = play_out(THREAD._replace(seats=len(chips), stacks=tuple(chips)), root, said)
    assert table.request is None


@given(stacks, answers, st.binary(max_size=4))
@settings(max_examples=80, deadline=None)
def test_a_hand_moves_nothing_but_stakes(chips: list[int], said: list[Answer], root: bytes) -> None:
    _, told = play_out(THREAD._replace(seats=len(chips), stacks=tuple(chips)), root, said)
    for start, end in zip(told["hand.start"], told["hand.end"], strict=True):
        moved = [after - before for before, after in zip(start["chips"], end["chips"], strict=True)]
        assert all(abs(chips) == stake for chips, stake in zip(moved, end["stakes"], strict=True))
        assert min(end["chips"]) >= 0


@given(stacks, answers, st.binary(max_size=4))
@settings(max_examples=40, deadline=None)
def test_a_table_is_its_seed_and_its_answers(chips: list[int], said: list[Answer], root: bytes) -> None:
    rules = THREAD._replace(seats=len(chips), stacks=tuple(chips))
    live, _ = play_out(rules, root, said)
    again = Table(GAME, rules, Luck(root, "demo/1"), live.answers)
    assert (again.scores, again.answers, again.illegal) == (live.scores, live.answers, live.illegal)


@given(st.binary(max_size=4), st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_no_card_comes_a_fifth_time_out_of_one_shoe(root: bytes, seats: int) -> None:
    _, told = play_out(THREAD._replace(seats=seats, hands=1), root, [S])
    cards = told["dealer.plays"][0]["hand"] + "".join(told["hand.end"][0]["hands"])
    assert all(cards.count(card) <= DECK.count(card) for card in cards)


def test_there_is_an_example_for_every_edge() -> None:
    assert len(GAME.examples) >= 14 and all(isinstance(example, View) for example in GAME.examples)
