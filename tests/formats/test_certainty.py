"""What tables say about an order: each is evidence for every ranking, unless it repeats another one."""

import re
import shutil
from pathlib import Path
from random import Random

import pytest
from command import ROOT, croupier
from helpers import long
from stage_configs import recorded, stage_of, standings_of

from host.play.records import Record, Result
from host.stages.round_robin import PairTally
from host.tournament.comparison import Comparison, TableResult

BIGGER = """\
import re
from typing import NamedTuple
from host.games.engine import Game, Opening, Request, best_unless_equal
from protocols.wire import Grammar, Move

class Rules(NamedTuple):
    seats: int = 2

class View(NamedTuple):
    number: int

def play(rules, luck, tell=None):
    number = {number}
    answers = yield [Request(seat, View(number)) for seat in (0, 1)]
    one, other = (answer.n if isinstance(answer, Move) else -1 for answer in answers)
    ahead = {ahead}
    return (100, -100) if ahead == 1 else (-100, 100) if ahead == 2 else (0, 0)

GAME = Game(
    name="numbers", title="Numbers", seats=(2, 2), protocol="lines", presets={{"usual": Rules()}}, play=play, view=View,
    grammar=Grammar(re.compile(r"(?P<n>[0-9]{{1,4}})"), "a number", "SAY"), allows=lambda rules, view, move: True,
    winners=best_unless_equal, edges={{"first": View(1)}}, card="numbers",
    opening=Opening("number", 1, below="0", otherwise="0"),
)
"""
DEALT = BIGGER.format(number="luck.below(1000)", ahead="(one > other) + 2 * (other > one)")
WITHOUT_CHANCE = BIGGER.format(number="1", ahead="(one - other) % 3")
TOURNAMENT = """\
game = "{game}"
bots = ["bots/*"]
seed = "a seed for tests"
[[stage]]
kind = "{kind}"
{keys}
practice = true
"""
ALWAYS = 'for line in __import__("sys").stdin: print({answer!r}, flush=True)\n'
DRAWN = """\
import os, random, sys
draw = random.Random(int(os.environ["CROUPIER_SEED"]))
for line in sys.stdin:
    print(draw.choice({numbers}), flush=True)
"""


def tournament(place: Path, game: str, bots: dict[str, str], keys: str, kind: str = "round-robin") -> None:
    """Write a tournament of an own game, or of the folder of a referee."""
    (place / "bots").mkdir(parents=True)
    for name, text in bots.items():
        (place / "bots" / f"{name}.py").write_text(text)
    named = "referee/"
    if game != named:
        (place / "game.py").write_text(game)
        named = "game:GAME"
    (place / "croupier.toml").write_text(TOURNAMENT.format(game=named, kind=kind, keys=keys))
    done = croupier("run", "-C", place, "--progress", "none")
    assert done.code == 0, done.err


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("round-robin", "tables_per_pair = 40"),
        long(("round-robin", 'tables_per_pair = 40\nrank_by = ["total_score"]')),
        long(("round-robin", 'tables_per_pair = 40\nrank_by = ["score"]')),
        long(("league", 'tables = 40\nrank_by = ["score"]')),
        ("swiss", 'tables_per_pairing = 40\nrounds = 1\nrank_by = ["sets"]'),
    ],
)
def test_forty_tables_won_of_forty_are_certain_in_every_ranking(tmp_path: Path, kind: str, keys: str) -> None:
    bots = {"five": ALWAYS.format(answer=5), "one": ALWAYS.format(answer=1)}
    tournament(tmp_path, DEALT, bots, keys, kind)
    expected = "99.8 % sure" if kind == "swiss" else ">99.9 % sure"  # by Elo, with the prior
    assert croupier("standings", "-C", tmp_path, "--json").json["sure"] == [f"five ahead of one: {expected}"]


@pytest.mark.long
def test_bots_that_use_chance_are_told_apart_in_a_game_without_chance(tmp_path: Path) -> None:
    bots = {"papery": DRAWN.format(numbers=[1, 1, 1, 2, 0]), "rocky": DRAWN.format(numbers=[0, 0, 0, 1, 2])}
    tournament(tmp_path, WITHOUT_CHANCE, bots, "tables_per_pair = 600")
    told = croupier("standings", "-C", tmp_path, "--json").json
    assert told["sure"] == ["papery ahead of rocky: >99.9 % sure"] and not told["repeated"]
    assert croupier("verify", "-C", tmp_path).code == 0


@pytest.mark.long
def test_bots_that_never_answer_differently_play_the_same_table_again(tmp_path: Path) -> None:
    bots = {"paper": ALWAYS.format(answer=1), "rock": ALWAYS.format(answer=0)}
    tournament(tmp_path, WITHOUT_CHANCE, bots, "tables_per_pair = 60")
    told = croupier("standings", "-C", tmp_path, "--json").json
    assert told["repeated"].startswith("2 different tables in 60") and re.search("needed", told["sure"][0])


@pytest.mark.long
@pytest.mark.parametrize("chance", [long(True), False])
def test_equal_tables_of_a_referee_count_once(tmp_path: Path, chance: bool) -> None:
    shutil.copytree(ROOT / "sample_bots" / "referees" / "goofspiel_python", tmp_path / "referee")
    program = next((tmp_path / "referee").glob("*.py"))
    dealt = program.read_text()
    fixed = dealt.replace('shuffled(key, "shuffle", deck)', "list(deck)")
    assert fixed != dealt
    program.write_text(dealt if chance else fixed)
    bots = {"high": ALWAYS.format(answer="HIGH"), "low": ALWAYS.format(answer="LOW")}
    tournament(tmp_path, "referee/", bots, "tables_per_pair = 100\nrank_by = ['score']")
    told = croupier("standings", "-C", tmp_path, "--json").json
    assert (told["repeated"] == "") == chance
    assert chance or "needed" in told["sure"][0]
    assert croupier("verify", "-C", tmp_path).code == 0
    compared = croupier(
        "compare",
        "bots/high.py",
        "bots/low.py",
        "-g",
        "referee/",
        "-n",
        "160",
        "--seed",
        "numbers",
        "--json",
        cwd=tmp_path,
    ).json
    assert (chance or "needed" in compared["sure"]) and compared["different"] == (compared["tables"] if chance else 2)


# Certainty of many tournaments, drawn.


def block(won: int, tables: int, first: int = 1) -> Record:
    """Return the record of tables of two bots."""
    results = {bot: Result(tables, wins, wins, 0, 1, 0) for bot, wins in (("a", won), ("b", tables - won))}
    return Record(f"league/a+b/{first}", results, {}, {}, (), (), b"")


def ended_early(draw: Random, chance: float) -> bool:
    """Return whether a pair ends before its sixteenth block of 50 tables."""
    pair = PairTally(("a", "b"))
    for number in range(15):
        pair = pair.after(block(sum(draw.random() < chance for _ in range(50)), 50, 50 * number + 1))
        if pair.certain:
            return True
    return False


@pytest.mark.long
def test_a_pair_of_equal_bots_is_rarely_ended_early_and_a_clear_one_is() -> None:
    draw = Random(1979)
    assert sum(ended_early(draw, 0.5) for _ in range(300)) <= 6
    assert sum(ended_early(draw, 0.62) for _ in range(50)) >= 48


def test_bots_that_remember_within_a_fixture_are_not_told_apart_by_it() -> None:
    """Each fixture is won by one of two equal bots: the first four times in five."""
    records = [block(90 if number else 10, 100, 100 * number + 1) for number in range(5)]
    (sentence,) = standings_of(stage_of("round-robin", rank_by=["win_rate"]), records, recorded("ab")).sure
    assert sentence.endswith("needed")
    even = [block(74, 100, 100 * number + 1) for number in range(5)]
    assert standings_of(stage_of("round-robin"), even, recorded("ab")).sure == ["a ahead of b: >99.9 % sure"]


def tourney(number: int, **chips: int) -> Record:
    results = {bot: Result(5, 0, 0, 0, 0, left) for bot, left in chips.items()}
    return Record(f"tables/{number}", results, {}, {}, (), (), b"")


def test_scores_that_a_few_results_decide_have_no_interval_yet() -> None:
    draw = Random(1979)
    usual = [tourney(number, a=draw.randint(0, 20), b=draw.randint(0, 20)) for number in range(25)]
    stage = stage_of("mixed-tables")
    found = standings_of(stage, usual, recorded("ab"))
    assert not found.missing and all(row.first.low is not None for row in found.rows)
    rare = [*usual[:24], tourney(24, a=-600, b=620)]
    found = standings_of(stage, rare, recorded("ab"))
    assert found.missing[0].startswith("no interval of the scores yet") and found.rows[0].first.low is None


def test_rare_large_losses_are_rarely_taken_for_strength() -> None:
    """Both sides are equal: one wins 1 in 19 of 20 tables, and loses 19 in the other."""
    draw, wrong = Random(1979), 0
    for _ in range(200):
        duel = Comparison(by_wins=False)
        for _ in range(40):
            for _ in range(40):
                lead = -19.0 if draw.random() < 0.05 else 1.0
                duel = duel.after([TableResult(lead, 1 if lead > 0 else -1)])
            if accepted := duel.verdict((0.0, 40.0)).accepted:
                wrong += accepted == "H1"
                break
    assert wrong <= 14  # 5 % and two standard deviations
