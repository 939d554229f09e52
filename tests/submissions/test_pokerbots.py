"""Bots for MIT Pokerbots play with croupier's runner and with all other files unchanged; the game is MIT's classic one."""

import random
import runpy
import shutil
import subprocess
import sys
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from command import croupier
from helpers import SAMPLES
from pokerkit import StandardHighHand

KIT = SAMPLES / "adapters" / "pokerbots"
GAME = SAMPLES / "referees" / "pokerbots"
SKELETONS = Path(__file__).with_name("pokerbots")

BOT_TOML = {
    "python": 'entry = "player.py"\n',
    "java": 'build = ["javac javabot/Player.java"]\nrun = ["java", "-Xshare:auto", "javabot.Player"]\n',
    "cpp": 'language = "cpp"\nbuild = ["c++ -std=c++20 -O1 -I. -o bot main.cpp"]\nrun = ["./bot"]\n',
}


def bot(folder: Path, language: str) -> None:
    """Write a bot: the files of our skeleton, and the runner of the kit in its place."""
    shutil.copytree(SKELETONS / language, folder)
    shutil.copytree(KIT / language, folder, dirs_exist_ok=True)
    (folder / "bot.toml").write_text(BOT_TOML[language])


@pytest.fixture(scope="module")
def referee() -> dict[str, Any]:
    """The functions of the referee."""
    argv, stdin = sys.argv, sys.stdin
    sys.stdin = open("/dev/null")  # noqa: PTH123, SIM115 - it serves until the input ends
    try:
        return runpy.run_path(str(GAME / "referee.py"))
    finally:
        sys.stdin.close()
        sys.argv, sys.stdin = argv, stdin


def play_without_faults(folder: Path) -> None:
    """Play mirrored matches of all bots in a folder."""
    shutil.copytree(GAME, folder / "pokerbots")
    (folder / "croupier.toml").write_text(
        'game = "pokerbots/"\nbots = ["bots/*"]\nseed = "d7b44809a0359169b755a7030186df92"\n[rules]\nrounds = 12\n'
        '[[stage]]\nkind = "round-robin"\ntables_per_pair = 4\nmirror = true\npractice = true\n'
    )
    assert (done := croupier("run", cwd=folder)).code == 0, done.err
    assert "every recorded answer gives the recorded score" in croupier("verify", cwd=folder).out
    rows = croupier("standings", "--json", cwd=folder).json["rows"]
    assert len(rows) == len([*(folder / "bots").iterdir()])
    assert all(row["faults"] == row.get("illegal", 0) == 0 for row in rows)


@pytest.mark.long
def test_unchanged_players_in_three_languages_play_mirrored_matches(tmp_path: Path) -> None:
    for language in BOT_TOML:
        bot(tmp_path / "bots" / language, language)
    play_without_faults(tmp_path)
    replay = croupier("replay", "round-robin/cpp+python/1", cwd=tmp_path).out
    assert "T60.000%20P0%20H" in replay and "%20D" in replay


@pytest.mark.long
def test_the_board_of_a_bot_in_cpp_may_be_an_array(tmp_path: Path) -> None:
    for name in ("vector", "array"):
        bot(tmp_path / "bots" / name, "cpp")
    states = tmp_path / "bots" / "array" / "skeleton" / "states.h"
    states.write_text(states.read_text().replace("std::vector<std::string> deck", "std::array<std::string, 5> deck"))
    assert "5> deck" in states.read_text()
    play_without_faults(tmp_path)


def test_a_new_process_in_the_middle_of_a_round_waits_for_the_next_one(tmp_path: Path) -> None:
    bot(tmp_path / "bot", "python")
    lines = "T60.000 C B2c,3c,4c\nT60.000 R10 O5c,5d D-2\nT60.000 P1 HAs,Ad R6\nT60.000 R10 F D10\n"
    done = subprocess.run(
        [sys.executable, "player.py"], cwd=tmp_path / "bot", input=lines, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["K", "K", "R10", "K"] and done.stderr.startswith("over 10")


def test_hands_are_worth_what_pokerkit_says(referee: dict[str, Any]) -> None:
    chance, worth = random.Random(7), referee["worth"]
    hands = [chance.sample(referee["DECK"], 7) for _ in range(1500)]
    hands += [list(cards) for cards in combinations(["Ah", "2h", "3h", "4h", "5h", "6h", "Kh", "As", "Ad", "Ks"], 7)]
    ranked = [(worth(cards), StandardHighHand.from_game("".join(cards[:2]), "".join(cards[2:]))) for cards in hands]
    for (one, known), (other, known_other) in pairwise(ranked):
        assert (one < other, one == other) == (known < known_other, known == known_other)


def test_raises_have_the_bounds_of_the_classic_game(referee: dict[str, Any]) -> None:
    state = referee["Round"]()
    assert not state.allowed("K") and not state.allowed("R3") and state.allowed("R4") and state.allowed("R400")
    assert not state.allowed("R401")
    state.act("R10")
    assert not state.allowed("R17") and state.allowed("R18")  # by at least the last raise
    assert state.act("C")
    state.next_street()
    assert state.active == 1 and state.allowed("K") and not state.allowed("F") and not state.allowed("C")
    state.act("R390")
    assert not state.allowed("R400") and state.allowed("C")  # the caller has no more chips


def test_what_is_not_legal_is_a_check_or_a_fold(referee: dict[str, Any]) -> None:
    play = referee["play"](bytes(32), 1)
    asked = next(play)["ask"]
    assert asked[0]["view"]["message"].startswith("T60.000 P0 H")
    said = play.send([{"seat": 0, "move": "C"}])
    said = play.send([{"seat": 1, "move": "R1"}])  # a check: the flop follows
    assert said["illegal"] == [1] and " K B" in said["ask"][0]["view"]["message"]
    said = play.send([{"seat": 1, "move": "R5"}])
    said = play.send([{"seat": 0, "fault": "timeout"}])  # a fold
    assert [ask["view"]["message"] for ask in said["ask"]] == ["T60.000 F D-2", "T60.000 R5 F D2"]
    with pytest.raises(StopIteration) as over:
        play.send([{"seat": 0, "move": "K"}, {"seat": 1, "move": "K"}])
    assert over.value.value == [-2, 2]
