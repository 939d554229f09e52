"""The texts of some games of OpenSpiel are read into named fields; where a text cannot be read, the text itself is there."""

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from host.games.engine import Table
from host.games.luck import Luck
from host.play import openspiel
from host.play.openspiel_views import MAX_READ, READABLE, Told, card
from host.report.event_validation import told
from protocols import PROTOCOLS
from protocols.wire import Move

VARIANTS = [*READABLE, "leduc_poker(players=3)", "oh_hell(players=4)", "go_fish(players=3)", "cribbage(players=4)"]
VARIANTS += ["backgammon(hyper_backgammon=True)", "liars_dice(numdice=3)"]


@pytest.fixture
def fresh() -> Iterator[None]:
    """Forget the games that are loaded, before and after a test that changes how they are read."""
    for cached in (openspiel.game_named, openspiel._reading):
        cached.cache_clear()
    yield
    for cached in (openspiel.game_named, openspiel._reading):
        cached.cache_clear()


def asked(name: str, tables: int) -> Iterator[tuple[Any, Any, list[tuple[str, Any]]]]:
    """Play tables with random moves; yield the rules, each question, and the events up to it."""
    game = openspiel.game_named(name)
    for nth in range(tables):
        chance, events = random.Random(nth), list[tuple[str, Any]]()

        def tell(event: str, events: list[tuple[str, Any]] = events, **facts: Any) -> None:
            events.append((event, facts))

        rules = game.presets["openspiel"]
        table = Table(game, rules, Luck(b"seed", str(nth)), tell=tell)
        while table.request is not None:
            yield rules, table.request.view, events
            table.answer(Move("PLAY", chance.choice(openspiel.numbers(table.request.view))))


@pytest.mark.parametrize("name", VARIANTS)
def test_every_question_has_its_fields(name: str) -> None:
    readable = READABLE[name.partition("(")[0]]
    for rules, view, events in asked(name, 1):
        so_far, seats = events, rules.seats
        assert view._fields == ("seat", "legal", "names", *readable.fields, "state")
        assert view[3:-1] != tuple(readable.empty.values()) and view.state
        assert len(PROTOCOLS["lines"].ask(view)[0].split(b" ")) == len(view)
    for event, facts in so_far:
        if event != "state":  # its lines are escaped
            assert told("openspiel", "table", event, facts, seats) == facts
    names = {event for event, _ in so_far}
    assert names & {"deal", "state"} and not names & {"chance", "move"}


@pytest.mark.parametrize("name", ["hearts", "spades", "oh_hell", "euchre", "cribbage"])
def test_a_card_that_may_be_played_is_in_the_hand(name: str) -> None:
    cards = 0
    for _, view, _ in asked(name, 3):
        said = [word for each in view.names for word in each.removeprefix("Choose_").split("_")]
        if all(len(word) == 2 and card(word) != word for word in said):
            assert {*said} <= {*view.hand}
            cards += 1
    assert cards > 20


@pytest.mark.parametrize("name", ["hearts", "spades", "oh_hell"])
def test_spectators_see_every_card_played_and_who_takes_the_trick(name: str) -> None:
    held: dict[int, list[Any]] = {}
    *_, (_, _, events) = asked(name, 1)
    for event, facts in events:
        if event == "deal":
            held.setdefault(facts["seat"], []).extend(facts["cards"])
        elif event in ("play", "discard"):
            for each in facts["cards"]:
                held[facts["seat"]].remove(each)
    assert not any(held.values()) and "take" in {event for event, _ in events}


@pytest.mark.parametrize(("name", "most"), [("liars_dice", 6), ("leduc_poker", 6)])
def test_a_question_shows_the_own_cards_only(name: str, most: int) -> None:
    game = openspiel.game_named(name)
    tables = [Table(game, game.presets["openspiel"], Luck(b"seed", str(nth))) for nth in range(100)]
    assert len({table.request.view for table in tables if table.request}) <= most


def test_texts_are_read() -> None:
    board = "+------|------+\n|......|x...x7|\n|......|....xx|\n|......|....xx|\n|......|.....x|\n|......|.....x|\n"
    board += "|      |      |\n|......|.....o|\n|......|.....o|\n|......|..x..o|\n|......|..x..1|\n|....x.|..xoo2|\n"
    board += "+------|------+\nTurn: x\nPrevious player: 1\nExtra turn: 0\nDice: 36\nBar:\nScores, X: 0, O: 1\n"
    said = READABLE["backgammon"].values(Told(board, 0, {}))
    assert said["points"] == (7, 4, 0, 0, 0, 1, *[0] * 10, 1, 0, 0, 0, 3, -1, -1, -12)[:24] or said["dice"] == (3, 6)
    other = READABLE["backgammon"].values(Told(board, 1, {}))
    assert other["points"] == tuple(-each for each in reversed(said["points"]))
    assert (other["points"][0], other["off"], other["bar"]) == (12, (1, 0), (0, 0))
    tricks = (
        "S 54\nH KJT875\nD J3\nC none\n\nTricks:\nN  E  S  W  N  E  S\n         2C QC 4C JC \nJS 8S KS 6S \n      AD \n"
    )
    said = READABLE["hearts"].values(Told(f"Pass Direction: No Pass\n\nHand: \n{tricks}", 2, {}))
    assert (said["hand"][:3], said["leader"], said["trick"]) == (("5S", "4S", "KH"), 2, ("AD",))
    assert said["played"] == ("2C", "QC", "4C", "JC", "JS", "8S", "KS", "6S")
    lines = "Phase Ask\nCurrent Player 0\nYour cards: a2 d1 \nplayer 0 cards 3 books 0\nplayer 1 cards 5 books 1\n"
    said = READABLE["go_fish"].values(Told(f"{lines}1 asked -3 for 0 recieved 1 booked 0\n1 asked 0 for 12\n", 0, {}))
    assert (said["hand"], said["cards"], said["books"]) == (("a", "a", "d"), (3, 5), (0, 1))
    assert [tuple(each) for each in said["asked"]] == [(1, None, "a", 1), (1, 0, "m", 0)]
    said = READABLE["dou_dizhu"].values(
        Told(
            "My hand 33T(BWJ)\nPlayed cards (CJ)4\nface up card rank: 0start player: 2My position from Dizhu: 1", 0, {}
        )
    )
    assert (said["hand"], said["played"]) == (("3", "3", "T", "(BWJ)"), ("(CJ)", "4"))
    assert (said["start"], said["position"]) == (2, 1)


@pytest.mark.parametrize("name", READABLE)
def test_a_text_that_is_not_as_expected_has_no_fields(name: str) -> None:
    readable, game = READABLE[name], openspiel._loaded(name)
    state, chance = game.new_initial_state(), random.Random(1)
    for _ in range(60):
        if state.is_terminal():
            break
        if not state.is_chance_node():
            text = openspiel._texts(game, state, state.current_player())[0]
        state.apply_action(chance.choice(state.legal_actions()))
    options, keys = game.get_parameters(), {*readable.fields}
    for wrong in (
        "",
        "-",
        text.upper()[::-1],
        text[len(text) // 2 :],
        text.replace("a", "").replace("0", "?") + "\n:::",
    ):
        assert {*readable.values(Told(wrong, 0, options))} in (set(), keys)
    assert readable.values(Told("", 0, options)) == {}
    for long in (text * 10_000, "|" * MAX_READ, ": " * (MAX_READ // 2), "S KQ\n" * (MAX_READ // 5)):
        began = time.perf_counter()
        readable.values(Told(long, 0, options))
        assert time.perf_counter() - began < 0.5


@pytest.mark.usefixtures("fresh")
def test_a_version_with_other_texts_has_the_generic_view(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = openspiel._texts

    def renamed(game: Any, state: Any, seat: int) -> tuple[str, str]:
        text, line = usual(game, state, seat)
        return text.replace("Private", "Own"), line.replace("Private", "Own")

    monkeypatch.setattr(openspiel, "_texts", renamed)
    game = openspiel.game_named("leduc_poker")
    assert game.view._fields == ("seat", "legal", "names", "state") and "<state>" in game.card
    assert all("[Own:_" in view.state for _, view, _ in asked("leduc_poker", 2))


@pytest.mark.usefixtures("fresh")
def test_a_single_text_that_cannot_be_read_leaves_its_fields_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    game, usual = openspiel.game_named("leduc_poker"), openspiel._texts
    monkeypatch.setattr(openspiel, "_texts", lambda *about: ("unknown", usual(*about)[1]))
    request = Table(game, game.presets["openspiel"], Luck(b"seed", "1")).request
    assert request is not None
    empty = tuple(READABLE["leduc_poker"].empty.values())
    assert request.view[3:-1] == empty and "[Private:_" in request.view[-1]


def test_dice_without_separators_are_not_guessed() -> None:
    assert "hand" not in openspiel.game_named("liars_dice(numdice=2,dice_sides=12)").view._fields
    assert openspiel.game_named("liars_dice(numdice=1,dice_sides=12)").view._fields[3:] == ("hand", "bids", "state")
