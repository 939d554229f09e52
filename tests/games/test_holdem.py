"""The rules of hold'em: the examples of the rules, and properties of every game."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games.engine import Request, Table
from host.games.holdem import (
    DECK,
    GAME,
    Other,
    Player,
    RoundResult,
    Rules,
    View,
    allows,
    chips,
    play_round,
    scores,
    view_of,
)
from host.games.luck import Luck, Stacked
from protocols import jsonlines, lines
from protocols.wire import Answer, Fault, FaultKind, Move, read_move

ADAPTER = Path(__file__).parents[2] / "sample_bots" / "adapters" / "banksalad" / "convert.py"
spec = importlib.util.spec_from_file_location("convert", ADAPTER)
assert spec and spec.loader
convert = importlib.util.module_from_spec(spec)
spec.loader.exec_module(convert)

FOLD, CRASH = Move("BET", 0), Fault(FaultKind.CRASH)


def deck(cards: str) -> list[str]:
    """Return the cards of a text: one space between cards, two between dealing rounds."""
    return cards.split()


ONE_WINS = deck("Ac 2c 3h 4h 5s  Ad 7c 8h 9h Js  Ks Qd Tc 4s 2d")  # seat 0 has the only pair of aces
TWO_WIN = deck("Ac As 3h 4h 5s  Kd Kh 8h 9h Js  Ad Qd Tc 6s 2d")
THREE_WIN = deck("Ac As Ah 4h 5s  3d 3h 6h 9h Js  Ad Qd Tc 7s 2d")
ALL_SHARE = deck("2c 3c 4c 5h 6h  7s 8s 2d 3d 4d  Ks Kd Qh Qc 9s")  # all play the two pairs of the board

Bot = Callable[[View], Answer]


def call(view: View) -> Answer:
    """Call, or check."""
    return Move("BET", view.min_bet_amt)


def fold(view: View) -> Answer:
    """Fold."""
    return FOLD


def push(view: View) -> Answer:
    """Bet the maximum."""
    return Move("BET", view.max_bet_amt)


def saying(*answers: Answer | int) -> Bot:
    """Return a bot that gives these answers one by one, and then calls."""
    left = iter(answers)

    def bot(view: View) -> Answer:
        answer = next(left, None)
        return call(view) if answer is None else Move("BET", answer) if isinstance(answer, int) else answer

    return bot


def one_round(cards: list[str], bots: list[Bot], stacks: list[int] | None = None) -> tuple[list[Player], RoundResult]:
    """Play one round in the order of the bots; return the players and the result."""
    players = [Player(seat, had) for seat, had in enumerate(stacks or [200] * len(bots))]
    game = play_round(Rules(seats=len(bots)), players, iter(cards), None)
    request = next(game)
    while True:
        try:
            request = game.send(bots[request.seat](request.view))
        except StopIteration as over:
            return players, over.value


def asked(cards: list[str], bots: list[Bot], stacks: list[int] | None = None) -> list[Request]:
    """Return all questions of one round."""
    requests: list[Request] = []

    def noting(seat: int) -> Bot:
        def bot(view: View) -> Answer:
            requests.append(Request(seat, view))
            return bots[seat](view)

        return bot

    one_round(cards, [noting(seat) for seat in range(len(bots))], stacks)
    return requests


def had(players: list[Player]) -> list[int]:
    """Return the chips of the players."""
    return [player.chips for player in players]


# --- the money examples of the rule sheet, section 8 -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("cards", "after"),
    [
        (ONE_WINS, [215, 195, 195, 195, 195]),
        (TWO_WIN, [205, 205, 195, 195, 195]),
        (THREE_WIN, [201, 201, 201, 195, 195]),  # a pot of 20 is split by three: two chips are lost
        (ALL_SHARE, [199] * 5),
    ],
)
def test_when_all_only_call_the_winners_share_twenty(cards: list[str], after: list[int]) -> None:
    assert had(one_round(cards, [call] * 5)[0]) == after


def test_nobody_can_bet_more_than_the_poorest_has() -> None:
    _, result = one_round(list(DECK), [push, call, call], [200, 200, 50])
    assert (result.pot, result.all_in, result.end, len(result.board)) == (147, True, "showdown", 10)


def test_all_in_ends_the_betting() -> None:
    assert len(asked(list(DECK), [push, call, call], [200, 200, 50])) == 3


def test_after_a_raise_the_better_is_asked_for_the_difference() -> None:
    bots = [saying(5), saying(12), saying()]
    view = asked(list(DECK), bots, [101, 200, 200])[3].view
    assert (view.my_chips, view.min_bet_amt, view.total_bet_amt) == (95, 7, 29)


def test_a_bet_is_shown_to_the_others() -> None:
    view = asked(list(DECK), [saying(5), saying(12), saying()], [101, 200, 200])[1].view
    assert view.bet_players == (Other(95, 5, False),)


def test_when_all_fold_everybody_keeps_what_is_left_after_the_ante() -> None:
    players, result = one_round(list(DECK), [fold] * 5)
    assert (had(players), result.pot, result.end) == ([199] * 5, 0, "all_died")


def test_the_second_chip_must_be_bet_to_stay() -> None:
    view = asked(list(DECK), [call] * 3, [2, 200, 200])[0].view
    assert (view.my_chips, view.min_bet_amt, view.max_bet_amt) == (1, 1, 1)


def test_a_single_chip_is_out_and_lost() -> None:
    out: list[list[int]] = []
    all_but_one = saying(198)  # then the winner bets its last chip, and the caller keeps one chip and folds
    bots = [all_but_one, saying(198, FOLD), fold]
    table = Table(
        GAME,
        Rules(seats=3),
        Stacked([[0, 1, 2], DECK, [0, 2]]),
        tell=lambda event, **facts: out.append(facts["out"]) if event == "round.end" else None,
    )
    while table.request:
        table.answer(bots[table.request.seat](table.request.view))
    assert (out, table.scores) == ([[1]], (397, 0, 199))


# --- betting ------------------------------------------------------------------------------------------------------


def test_there_is_no_free_check() -> None:
    assert {request.view.min_bet_amt for request in asked(ONE_WINS, [call] * 5)} == {1}


def test_the_raiser_stands_first_among_those_who_bet() -> None:
    view = asked(ONE_WINS, [saying(1), saying(3), call, call, call])[2].view
    assert (view.bet_players, len(view.betting_players)) == ((Other(196, 3, False),), 3)


def test_the_dead_stay_in_the_list_where_the_queue_has_them() -> None:
    view = asked(ONE_WINS, [fold, saying(1), saying(2), call, call])[3].view
    assert [other.died for other in view.bet_players + view.betting_players] == [False, False, True, False]


def test_the_last_one_living_is_asked_and_may_throw_the_pot_away() -> None:
    players, result = one_round(list(DECK), [saying(9, FOLD), saying(9, FOLD), saying(9, FOLD)])
    assert (result.end, result.winners, had(players)) == ("all_died", (), [190, 190, 190])


def test_the_last_player_takes_what_the_dead_have_bet() -> None:
    players, result = one_round(list(DECK), [saying(9), fold, fold])
    assert (had(players), result.winners, result.board) == ([199, 199, 199], (0,), "")


@pytest.mark.parametrize("kind", list(FaultKind))
def test_a_fault_costs_the_round_and_nothing_else(kind: FaultKind) -> None:
    players, _ = one_round(ONE_WINS, [call, saying(2, Fault(kind, "Oops")), call, call, call])
    assert had(players)[1] == 197 and not any(player.died for player in players if player.seat != 1)


@pytest.mark.parametrize("n", [-5, 0, 1, 200, 10**30])
def test_a_bet_outside_the_limits_is_a_death(n: int) -> None:
    players, _ = one_round(ONE_WINS, [saying(2), saying(n), call, call, call])
    assert (players[1].died, had(players)[1]) == (True, 199)


def test_zero_is_allowed_and_folds_all_the_same() -> None:
    view = GAME.examples[3]
    assert [n for n in range(-2, 300) if allows(Rules(), view, Move("BET", n))] == [0, *range(7, 189)]


# --- the end --------------------------------------------------------------------------------------------------------


def table_of(bots: list[Bot], rules: Rules | None = None, seed: str = "", tell: Any = None) -> Table:
    """Play a whole game."""
    table = Table(GAME, rules or Rules(seats=len(bots)), Luck(b"holdem", seed), tell=tell)
    while table.request:
        table.answer(bots[table.request.seat](table.request.view))
    return table


def test_a_game_has_a_hundred_rounds() -> None:
    assert table_of([fold] * 5).scores == (100,) * 5


def test_a_game_ends_when_two_are_left() -> None:
    table = table_of([push] * 5)
    assert sum(score > 0 for score in table.scores or ()) <= 2


def test_who_is_out_ranks_by_its_last_round_then_by_its_chips() -> None:
    players = [Player(seat, chips) for seat, chips in enumerate([795, 0, 1, 0, 1])]
    for player, last in zip(players, [0, 4, 4, 9, 4], strict=True):
        player.last = last
    assert scores(players) == (795, -3, -1, 0, -1)


def test_the_score_of_who_is_out_is_no_chips() -> None:
    assert chips((795, 199, 0, -1, -1)) == (795, 199, 0, 0, 0)


def test_the_richest_win_the_game() -> None:
    assert GAME.winners is not None and GAME.winners((20, 30, 0, 30, -1)) == (1, 3)


def test_a_game_of_poker_goes_by_the_kickers() -> None:
    cards = deck("Ac Ad 3c 3d  Kc Qd 4h 5h  As 9d 7c 6s 2d")
    players = [Player(seat, 200) for seat in range(4)]
    game = play_round(GAME.presets["standard"], players, iter(cards), None)
    next(game)
    with pytest.raises(StopIteration) as over:
        while True:
            game.send(Move("BET", 1))
    assert over.value.value.winners == (0,)


# --- on the wire ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", GAME.examples)
def test_a_view_is_its_line(view: View) -> None:
    assert view_of(lines.PROTOCOL.encode(view).decode().strip()) == view


def test_json_has_the_names_of_2018() -> None:
    asked = jsonlines.PROTOCOL.encode(GAME.examples[0])
    assert b'"bet_players"' in asked and b'"bet_amt"' in asked and b'"total_bet_amt"' in asked


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"12", Move("BET", 12)),
        (b" 12\r\n", Move("BET", 12)),
        (b"-3", Move("BET", -3)),
        (b"-0", FOLD),
        (b"999999999999", Move("BET", 999999999999)),
        (b"1000000000000", Fault(FaultKind.UNREADABLE)),
        (b"7.0", Fault(FaultKind.UNREADABLE)),
        (b"+7", Fault(FaultKind.UNREADABLE)),
        (b"BET 7", Fault(FaultKind.UNREADABLE)),
        (b"", Fault(FaultKind.UNREADABLE)),
        (b"! ZeroDivisionError", Fault(FaultKind.EXCEPTION, "ZeroDivisionError")),
        (b"! TimeoutError", Fault(FaultKind.TIMEOUT, "TimeoutError")),
    ],
)
def test_an_answer_is_a_number(said: bytes, answer: Answer) -> None:
    assert lines.PROTOCOL.receive(GAME.grammar, said) == answer


class Stubborn:
    """A value whose `__int__` fails."""

    def __int__(self) -> int:
        raise KeyError("no number")


@pytest.mark.parametrize(
    ("returned", "line"),
    [
        (7, "7"),
        (7.9, "7"),
        (-0.5, "0"),
        (True, "1"),
        (" 7 ", "7"),
        ("1_0", "10"),
        ("7.0", "! ValueError"),
        ("", "! ValueError"),
        (None, "! TypeError"),
        ([7], "! TypeError"),
        ({"bet": 7}, "! TypeError"),
        (float("nan"), "! ValueError"),
        (float("inf"), "! OverflowError"),
        (10**30, "999999999999"),
        (-(10**30), "-999999999999"),
        ("9" * 5000, "! ValueError"),
        (Stubborn(), "! KeyError"),
    ],
)
def test_the_adapter_converts_as_python_does(returned: object, line: str) -> None:
    assert convert.line(returned) == line


@pytest.mark.long
@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none(), st.lists(st.integers())))
def test_whatever_a_bot_returns_is_readable_on_our_side(returned: object) -> None:
    answer = read_move(GAME.grammar, convert.line(returned).encode())
    assert answer.verb == "BET" if isinstance(answer, Move) else answer.kind is FaultKind.EXCEPTION


def test_an_exception_with_an_odd_name_is_still_one() -> None:
    odd = type("Odd name\n7", (Exception,), {})
    assert convert.report(odd()) == "! Exception"


# --- in any game ----------------------------------------------------------------------------------------------------


def wild(seed: int, seats: int) -> list[Bot]:
    """Return bots that make random bets, each with its own preferences."""
    random = Random(seed)

    def bot_of(temper: list[float]) -> Bot:
        def bot(view: View) -> Answer:
            low, high = view.min_bet_amt, view.max_bet_amt
            bets = [low, random.randint(low, high), high, 0, random.choice([-1, low - 1, high + 1])]
            [n] = random.choices([*bets, None], temper)
            return CRASH if n is None else Move("BET", n)

        return bot

    return [bot_of([8 * random.random(), random.random(), random.random() / 4, 1, 0.1, 0.1]) for _ in range(seats)]


def questions(bots: list[Bot], rules: Rules, luck: Any, tell: Any = None) -> Iterator[Request]:
    """Play a game and yield its questions."""
    table = Table(GAME, rules, luck, tell=tell)
    while table.request:
        yield table.request
        table.answer(bots[table.request.seat](table.request.view))


games = given(st.integers(0, 2**32), st.integers(3, 6), st.sampled_from(["banksalad", "standard"]))


@games
@settings(max_examples=25, deadline=None)
def test_every_question_can_be_answered(seed: int, seats: int, ranking: Any) -> None:
    rules = Rules(seats=seats, ranking=ranking)
    for _, view in questions(wild(seed, seats), rules, Luck(b"any", str(seed))):
        others = view.bet_players + view.betting_players
        known = view.my_cards + view.community_cards
        assert 1 <= view.min_bet_amt <= view.max_bet_amt <= view.my_chips
        assert 2 <= len(others) < seats and sum(other.bet_amt for other in others) <= view.total_bet_amt
        assert all(other.died or other.chips >= 0 for other in others)
        assert (
            len(known) in (4, 10, 12, 14)
            and len({known[at : at + 2] for at in range(0, len(known), 2)}) == len(known) / 2
        )


@games
@settings(max_examples=25, deadline=None)
def test_chips_are_never_created(seed: int, seats: int, ranking: Any) -> None:
    before, wrong = [200] * seats, []

    def tell(event: str, **facts: Any) -> None:
        nonlocal before
        if event == "round.end":
            burned = facts["pot"] - facts["share"] * len(facts["winners"])
            if burned < 0 or sum(facts["chips"]) != sum(before) - len(before) - burned:
                wrong.append(facts)
            before = [left for left in facts["chips"] if left > 1]

    for _ in questions(wild(seed, seats), Rules(seats=seats, ranking=ranking), Luck(b"any", str(seed)), tell):
        pass
    assert not wrong


@games
@settings(max_examples=10, deadline=None)
def test_seed_and_answers_are_the_whole_game(seed: int, seats: int, ranking: Any) -> None:
    rules, bots = Rules(seats=seats, ranking=ranking), wild(seed, seats)
    table = Table(GAME, rules, Luck(b"any", str(seed)))
    while table.request:
        table.answer(bots[table.request.seat](table.request.view))
    assert Table(GAME, rules, Luck(b"any", str(seed)), table.answers).scores == table.scores


def test_nobody_is_shown_another_card() -> None:
    one, board = list(DECK[:10]), list(DECK[40:])
    another = [one[0], *DECK[20:24], one[5], *DECK[30:34]]  # only the first player's two cards are the same
    assert asked(one + board, [call] * 5)[0] == asked(another + board, [call] * 5)[0]
