"""Simple Pazaak: the sentences of the rules, as claims."""

from collections import Counter
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games.engine import Table
from host.games.luck import Luck, Stacked
from host.games.pazaak import GAME, HOUSE, Rules, View
from protocols import argv, lines
from protocols.wire import Answer, Fault, FaultKind, Move

THREAD, CONTROLLER = GAME.presets["thread"], GAME.presets["controller2015"]
END, STAND, NOTHING = Move("END"), Move("STAND"), Fault(FaultKind.TIMEOUT)
SIDE_DECKS = ((1, 2, 3, 4), (1, 2, 3, 5))
NEXT_HAND = HOUSE * 4


def played(card: int) -> Move:
    """Return the move that plays a side card."""
    return Move("PLAY", card)


def after(
    answers: Iterable[Answer],
    *decks: Iterable[int],
    rules: Rules = THREAD,
    side_decks: tuple[tuple[int, ...], tuple[int, ...]] = SIDE_DECKS,
) -> Table:
    """Return a table with these decks, hand by hand, after these answers."""
    return Table(GAME, rules, Stacked([*side_decks, *decks, NEXT_HAND]), answers)


def view(table: Table) -> View:
    """Return the view of the open question."""
    assert table.request is not None
    return View(*table.request.view)


def wins(table: Table) -> tuple[int, int]:
    """Return the hands won so far."""
    return view(table)[:2]


def test_the_view_is_the_wire() -> None:
    table = after((), [8], side_decks=((1, 2, 4, 5), (1, 2, 3, 5)))
    assert lines.PROTOCOL.encode(view(table)) == b"0 0 1 8 - 1,2,4,5 4 - 0\n"


def test_argv_says_the_same_fields() -> None:
    table = after([END], [8, 9])
    assert argv.ask(view(table)) == [b"0", b"0", b"0", b"9", b"8", b"1,2,3,5", b"4", b"END", b"0"]


def test_two_twenties_are_a_tie() -> None:
    table = after([END, END, played(3), END, STAND], [9, 4, 8, 6, 10], side_decks=((3, 5, 4, 3), (1, 2, 3, 5)))
    assert wins(table) == (0, 0)


def test_a_played_card_is_shown_as_a_stand_that_was_played() -> None:
    table = after([END, END, played(3)], [9, 4, 8, 6], side_decks=((3, 5, 4, 3), (1, 2, 3, 5)))
    assert view(table) == (0, 0, False, (4, 6), (9, 8, 3), (1, 2, 3, 5), 3, "STAND", True)


def test_who_passes_a_standing_player_wins_at_once_even_with_end() -> None:
    assert wins(after([END, STAND, END], [4, 6, 9])) == (1, 0)


def test_who_is_level_with_a_standing_player_must_go_on() -> None:
    assert wins(after([STAND, END, STAND], [8, 8, 3])) == (0, 1)


def test_the_log_of_the_thread() -> None:
    answers = [END, END, END, END, END, STAND, STAND]
    assert wins(after(answers, [2, 8, 8, 3, 7, 6, 6])) == (0, 1)


def test_both_above_twenty_is_a_tie() -> None:
    assert wins(after([END] * 6, [10, 10, 9, 9, 8, 8])) == (0, 0)


def test_player_two_takes_its_turn_against_a_bust_player_one() -> None:
    table = after([END] * 5, [10, 5, 9, 6, 8, 4])
    assert view(table)[2:5] == (False, (5, 6, 4), (10, 9, 8))


def test_player_one_moves_first_in_every_hand() -> None:
    assert view(after([STAND, STAND], [5, 6])).player_one


def test_a_new_hand_knows_no_last_action() -> None:
    table = after([STAND, STAND], [5, 6], [7])
    assert (view(table).opponent_hand, view(table).opponent_action) == ((), None)


def test_a_played_card_is_gone_for_the_game_and_the_others_keep_their_order() -> None:
    table = after([played(3), STAND], [10, 9], side_decks=((3, 1, 3, 5), (1, 2, 3, 5)))
    assert view(table).your_side_deck == (1, 3, 5)


def test_no_play_is_told_before_the_opponent_plays_again() -> None:
    table = after([played(3), STAND, STAND], [10, 9], [6, 5])
    assert not view(table).opponent_did_play


@pytest.mark.parametrize("answer", [played(5), Move("PLAY", 0), NOTHING, Fault(FaultKind.UNREADABLE)])
def test_what_cannot_be_played_is_a_plain_stand(answer: Answer) -> None:
    table = after([answer], [10, 9])
    assert view(table)[3:] == ((9,), (10,), (1, 2, 3, 5), 4, "STAND", False)


def test_only_a_card_that_is_not_there_is_illegal() -> None:
    assert after([played(5), played(5)], [10, 9]).illegal == [0]


def test_the_controller_tells_an_impossible_play_as_a_play() -> None:
    assert view(after([played(5)], [10, 9], rules=CONTROLLER)).opponent_did_play


def test_a_bot_on_twenty_is_asked_like_any_other() -> None:
    assert view(after([END, END], [10, 9, 10])).your_hand == (10, 10)


def test_the_controller_lets_a_bot_on_twenty_stand_unasked() -> None:
    table = after([END, END, END, END], [10, 9, 10, 8, 5], rules=CONTROLLER)
    assert wins(table) == (1, 0)


def test_the_controller_shows_an_unasked_stand() -> None:
    table = after([END, END], [10, 9, 10, 8], rules=CONTROLLER)
    assert view(table)[3:] == ((9, 8), (10, 10), (1, 2, 3, 5), 4, "STAND", False)


def test_a_tie_counts_for_nobody_and_three_wins_end_the_game() -> None:
    table = after([STAND] * 8, [8, 8], [9, 8], [9, 8], [9, 8])
    assert table.scores == (3, 0)


def test_a_game_ends_after_a_thousand_hands() -> None:
    endless = Stacked([*SIDE_DECKS, *[[8, 8]] * 1000])
    assert Table(GAME, THREAD, endless, [STAND] * 2000).scores == (0, 0)


@pytest.mark.parametrize(("scores", "seats"), [((3, 2), (0,)), ((1, 3), (1,)), ((2, 2), ()), ((1, 0), (0,))])
def test_more_hands_win_a_game_and_equal_ones_win_none(scores: tuple[int, int], seats: tuple[int, ...]) -> None:
    assert GAME.winners(scores) == seats


class Counted:
    """A source of luck that records the decks and does not shuffle them."""

    def __init__(self) -> None:
        self.shuffled_decks: list[list[int]] = []

    def shuffled(self, cards: Iterable[int]) -> Iterator[int]:
        """Return the cards unchanged."""
        self.shuffled_decks.append(list(cards))
        return iter(self.shuffled_decks[-1])


@pytest.mark.parametrize(("preset", "of_each", "in_side"), [("thread", 4, 2), ("controller2015", 5, 3)])
def test_each_player_shuffles_side_cards_and_each_hand_a_house_deck(preset: str, of_each: int, in_side: int) -> None:
    luck, side, house = Counted(), Counter(dict.fromkeys(range(1, 6), in_side)), dict.fromkeys(range(1, 11), of_each)
    Table(GAME, GAME.presets[preset], luck, [STAND, STAND])
    assert [Counter(deck) for deck in luck.shuffled_decks] == [side, side, Counter(house), Counter(house)]


@pytest.mark.parametrize(("preset", "cards"), [("thread", 4), ("controller2015", 5)])
def test_a_side_deck_has_as_many_cards_as_the_preset_says(preset: str, cards: int) -> None:
    table = Table(GAME, GAME.presets[preset], Luck(b"", ""))
    assert (len(view(table).your_side_deck), view(table).opponent_side_cards_left) == (cards, cards)


@pytest.mark.parametrize(
    ("said", "move"),
    [("END", END), ("stand", STAND), ("Play 3", played(3)), (" PLAY 05 ", played(5)), ("PLAY 99", played(99))],
)
def test_a_move_is_read_in_either_case(said: str, move: Move) -> None:
    assert argv.receive(GAME.grammar, said.encode()) == move


@pytest.mark.parametrize("said", ["", "HIT", "PLAY", "PLAY x", "PLAY 3 4", "PLAY 100", "PLAY -1", "END END", "STAN"])
def test_what_is_no_move_is_unreadable(said: str) -> None:
    assert argv.receive(GAME.grammar, said.encode()) == Fault(FaultKind.UNREADABLE)


answers = st.lists(
    st.sampled_from([END, END, STAND, NOTHING, *map(played, range(7))]), min_size=1, max_size=40
)  # used repeatedly
presets = st.sampled_from([THREAD, CONTROLLER])


def play_out(table: Table, said: list[Answer]) -> list[View]:
    """Answer in turn until the game is over; return the views."""
    shown = []
    while table.request is not None:
        shown.append(view(table))
        table.answer(said[len(table.answers) % len(said)])
    return shown


@given(answers, st.binary(max_size=4), presets)
@settings(max_examples=60, deadline=None)
def test_every_game_ends_with_three_wins_or_a_thousand_hands(said: list[Answer], root: bytes, rules: Rules) -> None:
    table = Table(GAME, rules, Luck(root, "league/a+b/1"))
    shown = play_out(table, said)
    assert max(table.scores) == 3 or sum(not question.opponent_hand for question in shown) >= 1000


@given(answers, st.binary(max_size=4), presets)
@settings(max_examples=60, deadline=None)
def test_a_table_is_its_seed_and_its_answers(said: list[Answer], root: bytes, rules: Rules) -> None:
    live = Table(GAME, rules, Luck(root, "league/a+b/1"))
    shown = play_out(live, said)
    again = [Table(GAME, rules, Luck(root, "league/a+b/1"), live.answers[:asked]) for asked in range(len(shown[:30]))]
    assert [view(table) for table in again] == shown[:30]


@given(answers, st.binary(max_size=4), presets)
@settings(max_examples=60, deadline=None)
def test_a_side_card_is_in_the_side_deck_or_in_a_hand_or_gone(said: list[Answer], root: bytes, rules: Rules) -> None:
    table = Table(GAME, rules, Luck(root, "league/a+b/1"))
    left = [rules.side_cards, rules.side_cards]
    for question in play_out(table, said):
        me = 0 if question.player_one else 1
        assert len(question.your_side_deck) <= left[me] and question.opponent_side_cards_left <= left[1 - me]
        left[me], left[1 - me] = len(question.your_side_deck), question.opponent_side_cards_left


def test_there_is_an_example_for_every_edge() -> None:
    assert len(GAME.examples) >= 14 and all(isinstance(example, View) for example in GAME.examples)
