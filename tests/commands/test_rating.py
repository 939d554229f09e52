"""One rating over several tournaments: the figures are computed a second way, and what is missing is said."""

import json
import re
import shutil
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command import croupier
from helpers import SAMPLES

from host.results.joint_rating import JointRating, Orders, Tournament

ELO = 400 / np.log(10)
LEAGUE = """\
game = "{game}"
name = "{game}"
seed = "a seed for tests"
bots = [{bots}]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = {tables}
practice = true
"""


def league(place: Path, game: str, tables: int, *bots: str) -> Path:
    """Write a tournament in which every two bots meet; return its folder."""
    place.mkdir()
    named = ", ".join(f'"{bot}"' for bot in bots)
    (place / "croupier.toml").write_text(LEAGUE.format(game=game, bots=named, tables=tables))
    return place


def called(name: str, sample: str, place: Path) -> str:
    """Copy a sample bot and give it another name; return its folder."""
    folder = shutil.copytree(SAMPLES / sample, place / sample)
    manifest = folder / "bot.toml"
    manifest.write_text(re.sub(r"(?m)^name .*", f'name = "{name}"', manifest.read_text()))
    return str(folder)


@pytest.fixture(scope="module")
def leagues(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two finished tournaments of two games, with two names in common."""
    place = tmp_path_factory.mktemp("leagues")
    ours = [called("ada", "pazaak/neptr", place), called("grace", "pazaak/nestor", place)]
    pazaak = league(place / "pazaak-league", "pazaak", 30, *ours, "sample:dumb_bold")
    ours = [called("ada", "briscola/avaro", place), called("grace", "briscola/goloso", place)]
    briscola = league(place / "briscola-league", "briscola", 50, *ours, "sample:furbo")
    for folder in (pazaak, briscola):
        done = croupier("-C", folder, "run", "--progress", "none")
        assert done.code == 0, done.err
    return [pazaak, briscola]


def fitted(results: Counter[tuple[str, str]]) -> tuple[dict[str, float], dict[str, float]]:
    """Return strengths and half widths in Elo, by Newton's method, from how often the first bot has beaten the second."""
    bots = sorted({bot for pair in results for bot in pair})
    at, log = {bot: nth for nth, bot in enumerate(bots)}, np.zeros(len(bots))
    for _ in range(100):
        gradient, information = np.zeros(len(bots)), np.ones((len(bots), len(bots))) / len(bots)
        for (winner, loser), times in results.items():
            lead = np.zeros(len(bots))
            lead[at[winner]], lead[at[loser]] = 1, -1
            p = 1 / (1 + np.exp(-lead @ log))
            gradient += times * (1 - p) * lead
            information += times * p * (1 - p) * np.outer(lead, lead)
        log += np.linalg.solve(information, gradient)
        log -= log.mean()
    centred = np.eye(len(bots)) - 1 / len(bots)
    errors = np.sqrt(np.diag(centred @ np.linalg.inv(information) @ centred))
    return {bot: ELO * log[at[bot]] for bot in bots}, {bot: 1.959964 * ELO * errors[at[bot]] for bot in bots}


def test_each_game_has_the_same_weight(leagues: list[Path]) -> None:
    by_game = []
    for folder in leagues:
        wins = Counter[tuple[str, str]]()
        for row in croupier("-C", folder, "standings", "--by", "pair", "--json").json["rows"]:
            wins[row["bot"], row["against"]] += row["won"] + row["drawn"] / 2
        by_game.append(wins)
    fewest = min(wins.total() for wins in by_game)
    weighted = Counter[tuple[str, str]]()
    for wins in by_game:
        weighted.update({pair: times * fewest / wins.total() for pair, times in wins.items()})
    expected, _ = fitted(weighted)
    told = croupier("rating", *leagues, "--json").json
    assert [row["bot"] for row in told["rows"]] == sorted(expected, key=expected.__getitem__, reverse=True)
    assert {row["bot"]: row["elo"] for row in told["rows"]} == pytest.approx(expected, abs=0.01)
    assert [(each["game"], each["results"], each["weight"]) for each in told["games"]] == [
        ("pazaak", 90, 1), ("briscola", 150, pytest.approx(0.6)),
    ]  # fmt: skip
    assert {row["bot"]: (row["tables"], row["games"]) for row in told["rows"]} == {
        "ada": (160, ["pazaak", "briscola"]),
        "grace": (160, ["pazaak", "briscola"]),
        "dumb_bold": (60, ["pazaak"]),
        "furbo": (100, ["briscola"]),
    }
    assert told["missing"] == [
        "without tables of pazaak: furbo",
        "without tables of briscola: dumb_bold",
        "5 of 6 pairs have met at a table",
        "another program in another tournament, rated as one bot: " + ", ".join(
            row["bot"] for row in told["rows"] if len(row["games"]) == 2
        ),
    ]  # fmt: skip
    shown = croupier("rating", *leagues)
    assert shown.code == 0 and "2 tournaments of 2 games · each game counts as 90 results" in shown.out
    assert all(sentence in shown.out for sentence in told["sure"] + told["missing"]) and told["sure"]
    table = croupier("rating", *leagues, "--csv").out.splitlines()
    assert table[0] == "rank,bot,elo,low,high,tables,games" and len(table) == 5


def test_bots_that_no_table_connects_are_not_compared(leagues: list[Path], tmp_path: Path) -> None:
    other = league(tmp_path / "other", "pazaak", 30, "sample:neptr", "sample:hk_47")
    done = croupier("rating", leagues[0], other)
    assert done.code == 3 and "nothing has been played here yet" in done.err and str(other) in done.err
    assert croupier("-C", other, "run", "--progress", "none").code == 0
    told = croupier("rating", leagues[0], other, "--json").json
    assert [each["game"] for each in told["games"]] == ["pazaak"]
    assert told["missing"][0].startswith("no tables connect these bots") and " | " in told["missing"][0]
    assert told["missing"][1:] == ["4 of 10 pairs have met at a table"]
    apart = {"neptr", "hk_47"}
    for sentence in told["sure"]:
        named = {row["bot"] for row in told["rows"] if row["bot"] in sentence}
        assert named <= apart or not named & apart


def test_a_folder_that_is_no_tournament_or_is_named_twice_is_refused(leagues: list[Path], tmp_path: Path) -> None:
    assert "there is no folder" in croupier("rating", tmp_path / "none").first
    assert "is named twice" in croupier("rating", leagues[0], leagues[0] / ".." / leagues[0].name).first
    assert croupier("rating", tmp_path).code == 3
    assert croupier("rating").code == 2


def won(**times: int) -> Orders:
    """Return orders of tables of two: `a_b=3` says that bot a has beaten bot b three times."""
    found = Orders()
    for names, number in times.items():
        one, other = names.split("_")
        found.orders[(one,), (other,)] += number
        found.evidence[(one,), (other,)] += number
    return found


def tournament(game: str, orders: Orders, finished: bool = True) -> Tournament:
    """Return what a rating takes from a tournament."""
    return Tournament(game, game, game, finished, {}, {}, (), orders)


def test_an_interval_is_never_narrower_than_the_weighted_tables_allow() -> None:
    often, seldom = won(a_b=600, b_a=300, b_c=500, c_b=100), won(a_b=20, b_a=25, a_c=30, c_a=8)
    rating = JointRating([tournament("often", often), tournament("seldom", seldom)])
    assert rating.counted_as == 83 and rating.weight("seldom") == 1
    weighted = Counter[tuple[str, str]]()
    for game, orders in (("often", often), ("seldom", seldom)):
        for ((one,), (other,)), times in orders.orders.items():
            weighted[one, other] += times * rating.weight(game)
    points, errors = fitted(weighted)
    for row in rating.rows:
        low, high = row.elo.low, row.elo.high
        assert low is not None and high is not None and row.elo.value == pytest.approx(points[row.bot], abs=0.01)
        assert (high - low) / 2 == pytest.approx(errors[row.bot], rel=1e-3)
    # Without weights the same tables are more, and the intervals of the strengths narrower.
    _, narrower = fitted(Counter({(one, other): times for ((one,), (other,)), times in often.orders.items()}))
    assert all(narrower[bot] < errors[bot] for bot in errors)


def test_two_tournaments_of_a_game_share_its_weight_and_one_that_is_not_finished_is_named() -> None:
    rating = JointRating(
        [
            tournament("chess", won(a_b=6, b_a=4)),
            tournament("chess", won(a_b=10, b_a=10), finished=False),
            tournament("go", won(a_b=10, b_a=5)),
        ]
    )
    assert rating.counted_as == 15 and rating.weight("chess") == 0.5
    assert rating.missing == ["chess is not finished: it counts as far as it has been played"]
    assert json.dumps([row.bot for row in rating.rows]) == '["a", "b"]'


def test_who_has_won_all_tables_has_a_bound() -> None:
    rows = JointRating([tournament("chess", won(a_b=6, b_c=4, c_b=2))]).rows
    assert next((row.bot, row.elo.bound) for row in rows) == ("a", "≥")
    assert all(one.rank < other.rank for one, other in pairwise(rows))
