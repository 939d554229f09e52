"""Games of OpenSpiel: tables follow from the seed, views show what a seat may know, and what cannot be played is named."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command import croupier

from host.base.errors import UserError
from host.games.engine import Game, GameFailed, Table
from host.games.luck import Luck
from host.play import openspiel
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, Move, read_move

SOME = ["tic_tac_toe", "leduc_poker(players=3)", "goofspiel", "backgammon", "hearts", "skat", "oh_hell(players=4)"]
BOT = """\
import sys

for line in sys.stdin:
    seat, legal, names, *more = line.split()
    print(CHOICE, flush=True)
"""


def rules_of(game: Game) -> Any:
    """Return the rules of a game."""
    return game.presets["openspiel"]


def played(game: Game, nth: int, choose: Callable[[Any, random.Random], Answer], rules: Any = None) -> Table:
    """Return a table whose questions are answered by a function."""
    table, chance = Table(game, rules or rules_of(game), Luck(b"seed", f"test/{nth}")), random.Random(nth)
    while table.request is not None:
        assert len(PROTOCOLS["lines"].ask(table.request.view)[0]) < 8192
        table.answer(choose(table.request.view, chance))
    return table


def any_move(view: Any, chance: random.Random) -> Answer:
    """Return a legal move, by its number or by its name."""
    legal = openspiel.numbers(view)
    at = chance.randrange(len(legal))
    name = view.names[at] if view.names else ""
    by_name = chance.random() < 0.5 and view.names.count(name) == 1 and not name.isdigit()
    return read_move(openspiel.GRAMMAR, name.encode()) if by_name else Move("PLAY", legal[at])


def is_repeated(name: str, tables: int) -> bool:
    """Play random tables twice, and again from their answers. Return whether scores and answers are the same."""
    game = openspiel.game_named(name)
    for nth in range(tables):
        one, other = played(game, nth, any_move), played(game, nth, any_move)
        again = Table(game, rules_of(game), Luck(b"seed", f"test/{nth}"), one.answers)
        if not one.scores == other.scores == again.scores or one.illegal or one.answers != other.answers:
            return False
    return True


@pytest.mark.parametrize("name", SOME)
def test_a_table_follows_from_its_seed_and_its_answers(name: str) -> None:
    assert is_repeated(name, 3)


@pytest.mark.long
def test_at_least_ninety_games_can_be_played() -> None:
    quick = [each.name for each in openspiel.playable_games() if not each.obstacle and each.name != "bridge"]
    passed = [name for name in quick if is_repeated(name, 2)]
    assert passed == quick
    assert len(quick) >= 90


def test_different_seeds_deal_different_cards() -> None:
    game = openspiel.game_named("hearts")
    views = [Table(game, rules_of(game), Luck(b"seed", str(nth))).request for nth in range(2)]
    assert views[0] != views[1]


@pytest.mark.parametrize("name", ["liars_dice", "leduc_poker"])
def test_a_question_shows_the_own_cards_only(name: str) -> None:
    game = openspiel.game_named(name)
    tables = [Table(game, rules_of(game), Luck(b"seed", str(nth))) for nth in range(100)]
    assert len({table.request.view for table in tables if table.request}) <= 6


def test_a_structured_observation_is_json_without_the_cards_of_others() -> None:
    game = openspiel.game_named("hearts")
    table = Table(game, rules_of(game), Luck(b"seed", "test"))
    for _ in range(40):
        assert table.request is not None
        known = json.loads(table.request.view.state)
        hidden = [{*hand} <= {"XX"} for hand in known["hands"]]
        assert hidden == [seat != table.request.seat for seat in range(4)] and " " not in table.request.view.state
        table.answer(Move("LOWEST"))


def test_a_seat_does_not_see_a_simultaneous_move() -> None:
    game, seen = openspiel.game_named("goofspiel"), set()
    for answer in (Move("LOWEST"), Move("HIGHEST")):
        table = Table(game, rules_of(game), Luck(b"seed", "test"))
        assert table.answer(answer)
        assert table.request is not None and table.request.seat == 1
        seen.add(table.request.view)
    assert len(seen) == 1


def test_a_fault_plays_the_lowest_move() -> None:
    game = openspiel.game_named("connect_four")
    by_fault = played(game, 1, lambda view, _: Fault(FaultKind.TIMEOUT) if view.seat else Move("HIGHEST"))
    by_choice = played(game, 1, lambda view, _: Move("LOWEST" if view.seat else "HIGHEST"))
    assert by_fault.scores == by_choice.scores


@pytest.mark.parametrize(
    ("name", "scores"), [("tic_tac_toe", (-100, 100)), ("leduc_poker(players=3)", (-1300, 650, 650))]
)
def test_a_fault_may_forfeit_the_table(name: str, scores: tuple[int, ...]) -> None:
    game = openspiel.game_named(name)
    rules = rules_of(game)._replace(fault="forfeit")
    assert played(game, 1, lambda view, _: Fault(FaultKind.CRASH), rules).scores == scores


@pytest.mark.parametrize("wrong", [Move("PLAY", 9), Move("PLAY", text="nonsense")])
def test_an_illegal_move_is_a_fault(wrong: Move) -> None:
    game = openspiel.game_named("tic_tac_toe")
    table = Table(game, rules_of(game), Luck(b"seed", "test"))
    assert not table.answer(wrong)


def test_a_journal_of_another_version_is_refused() -> None:
    game = openspiel.game_named("tic_tac_toe")
    with pytest.raises(GameFailed) as failed:
        Table(game, rules_of(game)._replace(version="1.0"), Luck(b"seed", "test"))
    assert isinstance(failed.value.__cause__, UserError)
    assert re.search(r"was played with OpenSpiel 1\.0, and [0-9.]+ is installed", str(failed.value.__cause__))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openspiel:leduc_pokr", "did you mean openspiel:leduc_poker?"),
        ("openspiel:blackjack", "it is a game for one player"),
        ("openspiel:tarok", "it draws its own chance"),
        ("openspiel:pathfinding", "name parameters that give it more seats"),
        ("openspiel:leduc_poker(players=99)", "is refused by OpenSpiel"),
        ("openspiel:leduc_poker(hands=2)", "is refused by OpenSpiel"),
    ],
)
def test_a_game_that_cannot_be_played_says_why(name: str, said: str, tmp_path: Path) -> None:
    told = croupier("-C", tmp_path, "new", "cup", "--game", name)
    assert told.code == 3 and "error[C018]" in told.err and said in told.err


def test_the_games_are_listed() -> None:
    rows = croupier("games", "--openspiel", "--json").json["rows"]
    playable = {row["name"] for row in rows if not row["obstacle"]}
    assert len(playable) >= 90 and "chess" in playable
    text = croupier("games", "--openspiel").out
    assert "openspiel:leduc_poker" in text and "it is a game for one player" in text


def test_a_tournament_of_three_seats_is_played_and_verified(tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    assert croupier("new", cup, "--game", "openspiel:leduc_poker(players=3)").code == 0
    choices = {"low": "'LOWEST'", "high": "'HIGHEST'", "named": "names.split(',')[0]", "two": "'2'"}
    for name, choice in choices.items():
        (cup / "bots" / f"{name}.py").write_text(BOT.replace("CHOICE", choice))
    config = cup / "croupier.toml"
    config.write_text(config.read_text().replace("100_000", "12"))
    assert croupier("-C", cup, "run", "--progress", "none").code == 0
    rows = croupier("-C", cup, "standings", "--json").json["rows"]
    assert {row["bot"]: row["faults"] > 0 for row in rows} == {"low": False, "high": False, "named": False, "two": True}
    assert croupier("-C", cup, "verify").code == 0
    assert croupier("-C", cup, "report").code == 0
    shown = croupier("-C", cup, "replay", "last").out
    assert "Round 1 sequence: " in shown
