"""Programs that know nothing of croupier read its exports, and agree with its results."""

import io
import json
from itertools import pairwise
from pathlib import Path

import chess.pgn
import pyspiel
import pytest
from command import croupier
from pokerkit import Card, StandardHighHand
from py4swiss.trf import TrfParser


def events_of(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in croupier("export", "jsonl", "-C", folder).out.splitlines()]


@pytest.mark.long
def test_pokerkit_ranks_every_showdown_of_holdem_as_it_was_ranked(tmp_path: Path) -> None:
    bots = [f"sample:{name}" for name in ("always_bet", "card_score", "careful", "odds", "tight")]
    assert croupier("play", *bots, "-n", 12, "--seed", "showdown", "--preset", "standard", cwd=tmp_path).code == 0
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


@pytest.mark.parametrize("game", ["leduc_poker", "connect_four", "goofspiel(players=2,num_cards=4,imp_info=True)"])
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


def test_a_chess_program_reads_the_results_of_a_game_for_two(tmp_path: Path) -> None:
    bot = tmp_path / "mine"
    bot.mkdir()
    (bot / "bot.py").write_text("while input():\n    print('STAND', flush=True)\n")
    (bot / "bot.toml").write_text("name = 'quo\"te'\n")
    bots = ("mine", "sample:neptr")
    assert croupier("play", *bots, "-n", 40, "-g", "pazaak", "--seed", "x", cwd=tmp_path).code == 0
    rows = {row["bot"]: row for row in croupier("standings", "--json", cwd=tmp_path).json["rows"]}
    text = io.StringIO(croupier("export", "pgn", cwd=tmp_path).out)
    games = [*iter(lambda: chess.pgn.read_game(text), None)]
    assert len(games) == 40 and not any(game.errors for game in games)
    won = dict.fromkeys(rows, 0)
    for game in games:
        winner = {"1-0": "White", "0-1": "Black"}.get(game.headers["Result"])
        if winner:
            won[game.headers[winner]] += 1
    assert won == {bot: row["wins"] for bot, row in rows.items()} and sum(won.values()) <= 40


@pytest.mark.parametrize("bots", [5, 6])
def test_a_pairing_program_reads_a_swiss_stage(tmp_path: Path, bots: int) -> None:
    names = ("neptr", "dumb_bold", "dumb_cautious", "glaucus", "nestor", "optimum")[:bots]
    entered = ", ".join(f'"sample:{name}"' for name in names)
    stage = '[[stage]]\nkind = "swiss"\nrounds = 3\ntables_per_pairing = 20\nrank_by = ["sets", "buchholz"]\npractice = true\n'
    (tmp_path / "croupier.toml").write_text(f'game = "pazaak"\nbots = [{entered}]\n{stage}')
    assert croupier("run", "-C", tmp_path).code == 0
    assert croupier("export", "trf", "-o", tmp_path / "swiss.trf", "-C", tmp_path).code == 0
    rows = {row["bot"]: row for row in croupier("standings", "--json", "-C", tmp_path).json["rows"]}
    report = TrfParser.parse(tmp_path / "swiss.trf", strict=True)  # it checks opponents, colours, results and points
    assert report.x_section.number_of_rounds == 3 and report.tournament_section.number_of_players == str(bots)
    assert {player.name: (player.points_times_ten / 10, player.rank) for player in report.player_sections} == {
        bot: (row["score"], row["rank"]) for bot, row in rows.items()
    }
    byes = [result for player in report.player_sections for result in player.results if result.result.is_bye()]
    assert len(byes) == 3 * (bots % 2) and all(len(player.results) == 3 for player in report.player_sections)


def test_only_a_swiss_stage_has_a_trf(tmp_path: Path) -> None:
    assert croupier("play", "sample:neptr", "sample:nestor", "-n", 4, cwd=tmp_path).code == 0
    done = croupier("export", "trf", cwd=tmp_path)
    assert done.code == 2 and "there is no swiss stage" in done.err and "croupier export csv" in done.err


def test_a_game_without_a_winner_has_no_pgn(tmp_path: Path) -> None:
    assert croupier("play", "sample:basic", "sample:kelly", "-n", 2, "-g", "cardshark", cwd=tmp_path).code == 0
    done = croupier("export", "pgn", cwd=tmp_path)
    assert done.code == 2 and "is not a game for two with a winner" in done.err
