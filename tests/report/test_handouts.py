"""Handouts for participants: a game's manual, rules and example; a table as one bot saw it, as text or as a page."""

from pathlib import Path

import pytest
from command import croupier
from helpers import breadth

from host.games import GAMES

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handouts")
    done = croupier("play", "sample:neptr", "sample:dumb_bold", "-g", "pazaak", "-n", 3, "--seed", "x", "-C", folder)
    assert done.code == 0, done.err
    return folder


@pytest.mark.parametrize("game", GAMES)
def test_the_manual_of_a_game_is_the_manual_without_other_games(game: str) -> None:
    told = croupier("games", game, "--protocol").out
    manual = (ROOT / "protocols" / "README.md").read_text()
    assert set(told.splitlines()) <= set(manual.splitlines())
    assert f"| {game} answer |" in told
    assert not any(f"| {other} answer |" in told for other in GAMES if other != game)
    assert "](../" not in told
    assert [line for line in manual.splitlines() if line.startswith("## ")] == [
        line for line in told.splitlines() if line.startswith("## ")
    ]


@pytest.mark.parametrize("game", GAMES)
def test_the_rules_of_a_game_are_its_page(game: str) -> None:
    told = croupier("games", game, "--rules").out
    page = (ROOT / "docs" / "games" / f"{game}.md").read_text()
    assert set(told.splitlines()) <= set(page.splitlines())
    assert told.startswith("# ") and "<!--" not in told


@pytest.mark.long
@pytest.mark.parametrize("game", breadth(GAMES, 5))
def test_the_example_of_a_game_is_a_bot_that_check_accepts(game: str, tmp_path: Path) -> None:
    bot = tmp_path / "example.py"
    bot.write_text(croupier("games", game, "--example").out)
    checked = croupier("check", bot, "-g", game)
    assert checked.code == 0, checked.out


def test_a_card_is_a_text_in_json_too_and_needs_a_game() -> None:
    (row,) = croupier("games", "pazaak", "--rules", "--json").json["rows"]
    assert row["game"] == "pazaak" and row["rules"].startswith("# ")
    assert croupier("games", "--rules").code == 2


def test_a_bot_has_seen_its_own_questions_and_all_moves(played: Path) -> None:
    whole = croupier("replay", "last", "-C", played).out
    seen = croupier("replay", "last", "--as", "sample:neptr", "-C", played).out
    asked = [line for line in whole.splitlines() if "  →  " in line]
    told = [line for line in seen.splitlines() if "  →  " in line]
    assert len(told) == len(asked)
    assert [line for line in told if " neptr " in line] == [line for line in asked if " neptr " in line]
    for line in (line for line in told if " dumb_bold " in line):
        assert line.partition(" dumb_bold ")[2].partition("→")[0].strip() == ""
    assert "side_decks" in whole and "side_decks" not in seen
    events = croupier("replay", "last", "--as", "neptr", "--json", "-C", played).json["events"]
    seat = events[0]["bots"].index("neptr")
    assert {event["seat"] for event in events if event["ev"] == "ask"} == {seat}
    assert croupier("replay", "last", "--as", "nestor", "-C", played).code == 2


def test_a_table_is_a_page_that_opens_with_it(played: Path, tmp_path: Path) -> None:
    page = tmp_path / "table.html"
    told = croupier("replay", "dumb_bold+neptr/2", "--as", "neptr", "-o", page, "--json", "-C", played).json
    assert told["table"] == "play/dumb_bold+neptr/2"
    assert told["url"].startswith(f"{page.resolve().as_uri()}#r=play%2Fdumb_bold%2Bneptr%2F2&as=")
    assert page.read_text().count('data-name="play/dumb_bold+neptr/2"') == 1
