"""The rules of Briscola, one by one, and whole games that obey them."""

import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command import croupier
from helpers import answers_of, built, played, written
from hypothesis import given, settings
from hypothesis import strategies as st

from host.games.briscola import (
    ALL_POINTS,
    DECK,
    GAME,
    POINTS,
    Rules,
    View,
    best_card,
    in_order,
)
from host.games.engine import Table
from host.games.luck import Luck, Stacked
from host.submissions.sample_bots import samples
from host.submissions.scaffold import STARTER_PROTOCOLS, starter_files
from protocols.wire import Answer, Fault, FaultKind, Move

LOW = Move("LOW")
TWO, PARTNERS = GAME.presets["two"], GAME.presets["partners"]


def cards(text: str) -> tuple[str, ...]:
    """Return the cards of a text."""
    return tuple(text.split())


def card(text: str) -> Move:
    """Return the move that plays a card."""
    return Move("PLAY", text=text)


def view(table: Table) -> View:
    """Return the next question of a table."""
    assert table.request is not None
    assert isinstance(table.request.view, View)
    return table.request.view


def seat(table: Table) -> int:
    """Return the seat that is asked."""
    assert table.request is not None
    return table.request.seat


def dealt(text: str, last: str = "") -> Stacked:
    """Return a deck with these cards on top, and those of `last` at the bottom."""
    top, bottom = cards(text), cards(last)
    return Stacked([[*top, *(each for each in DECK if each not in top + bottom), *bottom]])


@pytest.mark.parametrize(
    ("trick", "taker"),
    [
        ("4d Kd", "Kd"),
        ("3d Kd", "3d"),
        ("3d Ad", "Ad"),
        ("2d Ah", "2d"),
        ("Ad 2c", "2c"),
        ("4c 2c", "4c"),
        ("Jd 7d", "Jd"),
        ("Qd Jd 3h Kd", "Kd"),
        ("Ad 2c 4c 3d", "4c"),
        ("7h 6s 5d 4s", "7h"),
    ],
)
def test_the_highest_trump_or_else_the_highest_card_of_the_suit_led_takes_the_trick(trick: str, taker: str) -> None:
    assert best_card(cards(trick), "5c") == taker


def test_the_cards_have_120_points() -> None:
    assert ALL_POINTS == 120
    assert [POINTS[rank + "d"] for rank in "A3KQJ76542"] == [11, 10, 4, 3, 2, 0, 0, 0, 0, 0]


def test_three_cards_each_then_the_trump_card_and_any_card_may_be_played() -> None:
    table = Table(GAME, TWO, dealt("2d Kh 3c 4d Ad As 5c"))
    assert view(table) == View(2, "5c", 34, cards("2d Kh 3c"), (), (), 0, 0, ())
    assert table.answer(card("Kh"))
    assert (seat(table), view(table).hand, view(table).trick) == (1, cards("4d Ad As"), ("Kh",))
    assert table.answer(card("Ad"))  # a heart was led


def test_who_takes_the_trick_draws_first_and_leads() -> None:
    table = Table(GAME, TWO, dealt("2d Kh 3c 4d Ad As 5c 6s 7s"))
    table.answer(card("2d"))
    table.answer(card("Ad"))
    assert (seat(table), view(table).stock) == (1, 32)
    assert view(table).hand == cards("4d 6s As") and view(table).played == cards("2d Ad")
    assert (view(table).your_points, view(table).their_points) == (11, 0)
    table.answer(LOW)
    assert view(table).hand == cards("7s Kh 3c")


def test_four_players_draw_in_the_order_of_play() -> None:
    table = Table(GAME, PARTNERS, dealt("2d Kh 3h 4d Ad As 7h Qh 2h 2s 4s 6s 5c Js 7s Ks 3s"))
    for each in ("2d", "4d", "7h", "2s"):  # seat 1 takes the trick
        assert table.answer(card(each))
    drawn = {}
    for _ in range(4):
        (drawn[seat(table)],) = set(view(table).hand) & {*cards("Js 7s Ks 3s")}
        table.answer(card(next(each for each in view(table).hand if each not in drawn.values())))
    assert drawn == {1: "Js", 2: "7s", 3: "Ks", 0: "3s"}


def test_the_trump_card_is_drawn_last() -> None:
    table = Table(GAME, TWO, Luck(b"root", "x"))
    trump = view(table).trump
    while view(table).stock:
        assert trump not in view(table).hand
        table.answer(LOW)
    assert trump not in view(table).hand  # the player that took the trick has drawn first
    table.answer(LOW)
    assert trump in view(table).hand


def test_partners_sit_opposite_each_other_and_add_up_their_points() -> None:
    table = Table(GAME, PARTNERS, dealt("2d Kh 3h 4d 6d As Ad Qh 2h 2s 4s 6s 5c"))
    for each in ("2d", "4d", "Ad", "2s"):
        table.answer(card(each))
    assert (seat(table), view(table).your_points, view(table).their_points) == (2, 11, 0)
    table.answer(LOW)
    assert (seat(table), view(table).your_points, view(table).their_points) == (3, 0, 11)
    table.answer(LOW)
    assert (seat(table), view(table).your_points, view(table).their_points) == (0, 11, 0)


def test_partners_see_each_others_cards_when_the_stock_is_empty() -> None:
    table = Table(GAME, PARTNERS, Luck(b"root", "x"))
    while view(table).stock:
        assert view(table).partner == ()
        table.answer(LOW)
    seen: dict[int, View] = {}
    for _ in range(4):
        seen[seat(table)] = view(table)
        table.answer(LOW)
    order = list(seen)
    for first in order[:2]:
        partner = (first + 2) % 4
        assert seen[first].partner == seen[partner].hand
        assert seen[partner].partner == seen[first].hand[1:]  # the lowest card has been played


def test_two_players_never_see_each_others_cards() -> None:
    table = Table(GAME, TWO, Luck(b"root", "x"))
    while table.request is not None:
        assert view(table).partner == ()
        table.answer(LOW)


NONSENSE: list[tuple[Answer, bool]] = [
    (card("As"), False),
    (LOW, True),
    (Fault(FaultKind.TIMEOUT), True),
    (Fault(FaultKind.UNREADABLE), True),
]


@pytest.mark.parametrize(("answer", "legal"), NONSENSE)
def test_a_fault_and_an_illegal_card_play_the_lowest_card(answer: Answer, legal: bool) -> None:
    table = Table(GAME, TWO, dealt("2c Kh 3d 4d Ad As 5c"))
    assert table.answer(answer) is legal
    assert view(table).trick == ("Kh",)  # a trump is above all other cards


def test_high_plays_the_highest_card() -> None:
    table = Table(GAME, TWO, dealt("2c Kh 3d 4d Ad As 5c"))
    table.answer(Move("HIGH"))
    assert view(table).trick == ("2c",)


def test_cards_are_ordered_by_trump_rank_and_suit() -> None:
    assert in_order(cards("2c Ah 3h Kd 2s 2d 7c"), "5c") == cards("2d 2s Kd 3h Ah 2c 7c")


@pytest.mark.parametrize(
    ("scores", "winners"), [((61, 59), (0,)), ((59, 61), (1,)), ((60, 60), ()), ((120, 0), (0,)), ((0, 120), (1,))]
)
def test_61_points_win_and_60_each_are_a_draw(scores: tuple[int, int], winners: tuple[int, ...]) -> None:
    assert GAME.winners is not None
    assert GAME.winners(scores) == winners


@pytest.mark.parametrize("name", GAME.edges)
def test_the_edge_cases_are_positions_of_a_game(name: str) -> None:
    asked = GAME.edges[name]
    assert isinstance(asked, View)
    seen = [*asked.hand, *asked.trick, *asked.played, *asked.partner]
    others = asked.players * len(asked.hand) - len(asked.trick)  # in all hands
    assert len(seen) == len({*seen}) and asked.hand == in_order(asked.hand, asked.trump)
    assert asked.stock + others + len(asked.trick) + len(asked.played) == len(DECK)
    assert asked.your_points + asked.their_points == sum(POINTS[each] for each in asked.played)
    assert (asked.trump in asked.hand + asked.trick + asked.played) <= (asked.stock == 0)


def moves(random: Random, asked: View) -> Answer:
    """Return a random answer; nine of ten are legal moves for certain."""
    legal: list[Answer] = [card(random.choice(asked.hand)), LOW, Move("HIGH")]
    other: list[Answer] = [card(random.choice(DECK)), Fault(FaultKind.CRASH)]
    return random.choice(legal if random.random() < 0.9 else other)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([TWO, PARTNERS]))
def test_whole_games_obey_the_rules(number: int, rules: Rules) -> None:
    random, told = Random(number), list[tuple[str, dict[str, Any]]]()
    table = Table(GAME, rules, Luck(b"root", str(number)), tell=lambda event, **facts: told.append((event, facts)))
    players, asked_of = 4 if rules.partners else 2, [0] * 4
    while table.request is not None:
        asked = view(table)
        asked_of[seat(table)] += 1
        seen = [*asked.hand, *asked.trick, *asked.played, *asked.partner]
        assert len(seen) == len({*seen}) and {*seen} <= {*DECK}
        assert len(asked.hand) == min(3, len(DECK) // players - len(asked.played) // players)
        hidden = asked.players * len(asked.hand) - len(asked.trick)
        assert asked.stock + hidden + len(asked.trick) + len(asked.played) == len(DECK)
        assert asked.your_points + asked.their_points == sum(POINTS[each] for each in asked.played)
        table.answer(moves(random, asked))
    assert asked_of[:players] == [len(DECK) // players] * players
    assert table.scores is not None and sum(table.scores) == ALL_POINTS
    hands = [set[str]() for _ in range(players)]  # as a spectator follows them
    points = [0] * players
    for event, facts in told:
        if event == "deal":
            assert not hands[facts["seat"]] & {*facts["cards"]}
            hands[facts["seat"]] |= {*facts["cards"]}
        elif event == "play":
            hands[facts["seat"]] -= {*facts["cards"]}
        elif event == "score":
            points[facts["seat"]] = facts["points"]
    assert not any(hands) and tuple(points[:2]) == table.scores
    assert points == points[:2] * (players // 2)
    taken = [each for event, facts in told if event == "take" for each in facts["cards"]]
    assert sorted(taken) == sorted(DECK)


@pytest.mark.parametrize("rules", [TWO, PARTNERS], ids=list(GAME.presets))
def test_the_same_seed_gives_the_same_game(rules: Rules) -> None:
    def game(path: str) -> list[View]:
        table, views = Table(GAME, rules, Luck(b"root", path)), list[View]()
        while table.request is not None:
            views.append(view(table))
            table.answer(LOW)
        return views

    assert game("x") == game("x") != game("y")


# Bots.

BOTH = [pytest.param(False, id="two", marks=pytest.mark.long), pytest.param(True, id="partners")]


@pytest.mark.long
@pytest.mark.parametrize("partners", [False, True])
def test_the_sample_bots_play_alike_every_time_and_whatever_the_number_of_tables_at_once(partners: bool) -> None:
    bots = [built(path, GAME.name) for path in samples(GAME.name).values()]
    assert len(bots) == 3
    for seated in (bots[:2], bots[1:]):
        record, again = (played(GAME.name, seated, 2, at_once, partners=partners) for at_once in (1, 2))
        assert not record.faults and all(sum(scores) == ALL_POINTS for scores in record.scores)
        assert (record.scores, answers_of(record)) == (again.scores, answers_of(again))


JSON = """
import json, sys

for line in sys.stdin:
    print(json.dumps({"move": "HIGH" if json.loads(line)["stock"] < 7 else "LOW"}), flush=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("partners", BOTH)
def test_the_starter_bot_plays_alike_over_every_protocol(partners: bool, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    scores = set()
    for protocol in (*STARTER_PROTOCOLS, "json"):
        text = JSON if protocol == "json" else starter_files("mine", GAME, "python", protocol)["bot.py"]
        bot = built(written(text, ".py", tmp_path, f"over_{protocol}"), GAME.name, protocol=protocol)
        record = played(GAME.name, [bot, bot.with_keys(name="twin")], 1, partners=partners)
        assert not record.faults
        scores.add(record.scores)
    assert len(scores) == 1


@pytest.mark.long
def test_what_a_table_scores_is_called_points_everywhere(tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    assert croupier("new", cup, "--game", "briscola").code == 0
    for name in ("avaro", "furbo"):
        assert croupier("-C", cup, "add", f"sample:{name}").code == 0
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("100_000", "20"))
    ran = croupier("-C", cup, "run", "--progress", "none")
    assert ran.code == 0 and croupier("-C", cup, "report").code == 0
    page = re.sub(r"(?s)<(script|style).*?</\1>|<[^>]+>", " ", (cup / "report.html").read_text())
    shown = "".join((page, ran.out, *(croupier("-C", cup, "standings", *more).out for more in ([], ["--by", "pair"]))))
    assert re.search(r"\bpoints\b", page) and not re.search(r"\bhands\b", shown)
