"""Programs that know nothing of croupier read its exports, and agree with its results."""

import json
from itertools import pairwise
from pathlib import Path

import pyspiel
import pytest
from command import croupier
from helpers import breadth
from pokerkit import Card, StandardHighHand


def events_of(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in croupier("export", "jsonl", "-C", folder).out.splitlines()]


@pytest.mark.long
def test_pokerkit_ranks_every_showdown_of_holdem_as_it_was_ranked(tmp_path: Path) -> None:
    bots = [f"sample:{name}" for name in ("always_bet", "card_score", "careful", "odds", "tight")]
    words = ("--seed", "showdown", "--preset", "standard", "--limits", "move=10s,cpu=10s")
    assert croupier("play", *bots, "-n", 12, *words, cwd=tmp_path).code == 0
    assert not any(row["faults"] for row in croupier("standings", "--json", "-C", tmp_path).json["rows"])
    cards: dict[object, str] = {}
    shown = equal = 0
    for event in events_of(tmp_path):
        if event["ev"] == "round.start":
            cards = {}
        elif event["ev"] == "deal":
            cards[event["seat"]] = cards.get(event["seat"], "") + str(event["card"])
        elif event["ev"] == "round.end" and event["worth"]:
            worth = {seat: tuple(rank) for seat, *rank in event["worth"]}  # type: ignore[attr-defined]
            hands = {seat: StandardHighHand.from_game(cards[seat], str(event["board"])) for seat in worth}
            for one, other in pairwise(worth):
                assert (hands[one] < hands[other], hands[one] == hands[other]) == (
                    worth[one] < worth[other],
                    worth[one] == worth[other],
                ), event
                shown, equal = shown + 1, equal + (worth[one] == worth[other])
            assert event["winners"] == [seat for seat, hand in hands.items() if hand == max(hands.values())]
    assert shown > 90 and equal
    assert len([*Card.parse("TcJd")]) == 2  # the cards are spelled as PokerKit spells them


GAMES = ["leduc_poker", "connect_four", "goofspiel(players=2,num_cards=4,imp_info=True)"]


@pytest.mark.parametrize("game", breadth(GAMES, 3))
def test_pyspiel_replays_the_actions_of_every_table_to_its_scores(tmp_path: Path, game: str) -> None:
    (tmp_path / "any.py").write_text("for line in iter(input, None):\n    print('HIGHEST', flush=True)\n")
    done = croupier("play", "any.py", "any.py", "-n", 30, "--seed", "x", "-g", f"openspiel:{game}", cwd=tmp_path)
    assert done.code == 0
    loaded = pyspiel.load_game(game)
    if loaded.get_type().dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS:
        loaded = pyspiel.convert_to_turn_based(loaded)
    tables = 0
    for event in events_of(tmp_path):
        if event["ev"] == "table.start":
            state = loaded.new_initial_state()
        elif "action" in event:
            state.apply_action(event["action"])
        elif event["ev"] == "table.end":
            assert state.is_terminal() and [round(100 * each) for each in state.returns()] == event["scores"]
            tables += 1
    assert tables == 30
