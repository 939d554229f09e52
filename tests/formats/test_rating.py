"""`croupier rating`: one strength for each bot over several tournaments, in which each game has the same weight."""

import csv
import io
import re
import shutil
from collections.abc import Mapping, Sequence
from itertools import permutations
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import croupier
from helpers import SAMPLES

from host.rating.statistics import ELO, Z
from host.rating.strength import TableOrder, weighted_ratings

ROUND_ROBIN = """\
game = "{game}"
name = "{name}"
seed = "{name}"
bots = ["bots/*"]
[[stage]]
name = "all"
kind = "round-robin"
tables_per_pair = {tables}
practice = true
[limits]
move = "10 s"
cpu = "10 s"
"""

PAZAAK = {"ada": "pazaak/dumb_bold", "bob": "pazaak/dumb_cautious", "eve": "pazaak/glaucus"}
BRISCOLA = {"bob": "briscola/avaro", "eve": "briscola/goloso"}
ALONE = {"kit": "briscola/avaro", "zoe": "briscola/goloso"}


def tournament_in(folder: Path, game: str, bots: Mapping[str, str], tables: int) -> Path:
    """Create a round robin of sample bots with other names; return its folder."""
    for name, sample in bots.items():
        shutil.copytree(SAMPLES / sample, folder / "bots" / name)
        spec = folder / "bots" / name / "bot.toml"
        spec.write_text(re.sub(r"(?m)^name\s*=.*", f'name = "{name}"', spec.read_text()))
    (folder / "croupier.toml").write_text(ROUND_ROBIN.format(game=game, name=folder.name, tables=tables))
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with tournaments that were played: two of Pazaak, two of Briscola."""
    place = tmp_path_factory.mktemp("rating")
    for name, game, bots, tables in (
        ("spring", "pazaak", PAZAAK, 40),
        ("autumn", "pazaak", PAZAAK, 20),
        ("words", "briscola", BRISCOLA, 12),
        ("apart", "briscola", ALONE, 12),
    ):
        done = croupier("run", "-C", tournament_in(place / name, game, bots, tables))
        assert done.code == 0, done.err
    return place


def by_hand(wins: Mapping[tuple[str, str], float], noise: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    """Return the strength of each bot and half its interval, by Newton's method on weighted wins."""
    bots = sorted({bot for pair in wins for bot in pair})
    logs, size = np.zeros(len(bots)), len(bots)

    def sums(of: Mapping[tuple[str, str], float]) -> tuple[Any, Any]:
        gradient, information = np.zeros(size), np.zeros((size, size))
        for (one, other), times in of.items():
            lead = np.eye(size)[bots.index(one)] - np.eye(size)[bots.index(other)]
            chance = 1 / (1 + np.exp(-lead @ logs))
            gradient += times * (1 - chance) * lead
            information += times * chance * (1 - chance) * np.outer(lead, lead)
        return gradient, information

    for _ in range(100):
        gradient, information = sums(wins)
        logs += np.linalg.pinv(information) @ gradient
    inverse = np.linalg.pinv(sums(wins)[1])
    spread = np.sqrt(np.diag(inverse @ sums(noise)[1] @ inverse))
    return {bot: (ELO * logs[nth], Z * ELO * spread[nth]) for nth, bot in enumerate(bots)}


def wins_in(folder: Path) -> dict[tuple[str, str], int]:
    rows = croupier("standings", "--by", "pair", "--json", "-C", folder).json["rows"]
    assert not any(row["drawn"] for row in rows)
    return {(row["bot"], row["against"]): row["won"] for row in rows}


def test_each_game_has_the_same_weight_and_intervals_count_what_was_played(place: Path) -> None:
    folders = [place / name for name in ("spring", "autumn", "words")]
    told = croupier("rating", *folders, "--json").json
    assert told["schema"] == "croupier/rating/1"
    games = {each["game"]: (each["tournaments"], each["tables"], each["weight"]) for each in told["games"]}
    assert games == {"pazaak": (2, 180, pytest.approx(96 / 180)), "briscola": (1, 12, pytest.approx(96 / 12))}
    wins, noise = dict[tuple[str, str], float](), dict[tuple[str, str], float]()
    for folder, weight in zip(folders, (96 / 180, 96 / 180, 96 / 12), strict=True):
        for pair, won in wins_in(folder).items():
            wins[pair] = wins.get(pair, 0) + weight * won
            noise[pair] = noise.get(pair, 0) + weight**2 * won
    expected = by_hand(wins, noise)
    assert {row["bot"] for row in told["rows"]} == {"ada", "bob", "eve"} == {*expected}
    for row in told["rows"]:
        points, half = expected[row["bot"]]
        assert row["elo"] == pytest.approx(points, abs=0.01)
        assert (row["elo_high"] - row["elo_low"]) / 2 == pytest.approx(half, rel=1e-4)
    assert sum(row["elo"] for row in told["rows"]) == pytest.approx(0, abs=1e-6)
    assert [row["rank"] for row in told["rows"]] == [1, 2, 3]
    assert [(row["tables"], row["games"]) for row in sorted(told["rows"], key=lambda row: str(row["bot"]))] == [
        (120, 1),
        (132, 2),
        (132, 2),
    ]
    assert told["missing"] == [
        "1 bot played in some of the 2 games only: ada (pazaak)",
        "a name is one bot here, but its bytes differ between tournaments (sha256): bob, eve",
    ]


def test_text_and_csv_have_the_same_rows(place: Path) -> None:
    words = ("rating", place / "spring", place / "words")
    told, text = croupier(*words, "--json").json, croupier(*words).out
    rows = list(csv.DictReader(io.StringIO(croupier(*words, "--csv").out)))
    assert [(row["bot"], float(row["elo"])) for row in rows] == [(row["bot"], row["elo"]) for row in told["rows"]]
    assert "pazaak · 1 tournament · 120 tables · a table counts 0.55" in text
    assert all(re.search(rf"{row['rank']}  {row['bot']} .*{row['games']} of 2", text) for row in told["rows"])
    assert all(sentence in text for sentence in told["sure"])
    assert all(f"missing: {sentence}" in text for sentence in told["missing"])


def test_one_tournament_has_the_elo_of_its_standings(place: Path) -> None:
    cup = place / "copy"
    shutil.copytree(place / "spring", cup)
    toml = cup / "croupier.toml"
    toml.write_text(toml.read_text().replace("tables_per_pair", 'rank_by = ["elo"]\ntables_per_pair'))
    assert croupier("run", "--fresh", "-C", cup).code == 0
    standings = {row["bot"]: row for row in croupier("standings", "--json", "-C", cup).json["rows"]}
    for row in croupier("rating", cup, "--json").json["rows"]:
        for key in ("elo", "elo_low", "elo_high"):
            assert row[key] == pytest.approx(standings[row["bot"]][key], abs=0.01)
    told = croupier("rating", cup, place / "spring", "--json").json
    assert any("copy" in each and "have one seed" in each for each in told["missing"])


def test_groups_that_never_met_are_rated_apart(place: Path) -> None:
    told = croupier("rating", place / "spring", place / "apart", "--json").json
    groups: dict[int, list[Any]] = {}
    for row in told["rows"]:
        groups.setdefault(row["group"], []).append(row)
    assert [sorted(row["bot"] for row in rows) for rows in groups.values()] == [["ada", "bob", "eve"], ["kit", "zoe"]]
    for rows in groups.values():
        assert sum(row["elo"] for row in rows) == pytest.approx(0, abs=1e-6)
    assert told["missing"][0].startswith("no table connects these 2 groups of bots: ada, bob, eve | kit, zoe;")
    assert not any("ada" in each and "kit" in each for each in told["sure"])


def test_bots_that_others_never_met_do_not_change_their_rating(place: Path) -> None:
    alone, more = (
        croupier("-C", place, "rating", *folders, "--json").json
        for folders in (("apart",), ("apart", "spring", "words"))
    )
    figures = [[{**row, "group": 0} for row in told["rows"] if row["bot"] in ("kit", "zoe")] for told in (alone, more)]
    assert figures[0] == figures[1] and {*alone["sure"]} <= {*more["sure"]}
    assert sorted({(each["group"], each["game"]) for each in more["games"]}) == [
        (1, "briscola"),
        (1, "pazaak"),
        (2, "briscola"),
    ]
    text = croupier("-C", place, "rating", "apart", "spring").out
    assert "group 1 · pazaak · 1 tournament" in text and "group 2 · briscola · 1 tournament" in text


def test_pairs_that_never_met_are_named(place: Path, tmp_path: Path) -> None:
    bots = {"eve": "pazaak/dumb_bold", "kim": "pazaak/dumb_cautious"}
    assert croupier("run", "-C", tournament_in(tmp_path / "more", "pazaak", bots, 30)).code == 0
    told = croupier("rating", place / "spring", tmp_path / "more", "--json").json
    assert (
        "2 of 6 pairs never met: ada and kim, bob and kim; their results against others compare them" in told["missing"]
    )


def test_an_unfinished_tournament_counts_what_it_has_and_says_so(place: Path, tmp_path: Path) -> None:
    cup = tmp_path / "cup"
    shutil.copytree(place / "spring", cup)
    toml = cup / "croupier.toml"
    toml.write_text(toml.read_text() + '[[stage]]\nname = "last"\nkind = "round-robin"\ntables_per_pair = 20\n')
    assert croupier("run", "--fresh", "--stage", "all", "-C", cup).code == 0
    told = croupier("rating", cup, "--json").json
    assert told["tournaments"][0]["state"] == "interrupted" and told["tournaments"][0]["tables"] == 120
    assert told["missing"] == [f"spring ({cup}) is interrupted: only its finished fixtures count"]


def test_what_cannot_be_rated_is_refused_with_a_cure(place: Path, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "croupier.toml").write_text('game = "pazaak"\n')
    (tmp_path / "season").mkdir()
    (tmp_path / "season" / "croupier.toml").write_text("[season]\n")
    alone = tmp_path / "alone"
    alone.mkdir()
    toml = 'game = "cardshark"\nbots = ["sample:davey"]\n[[stage]]\nkind = "solo"\ntables = 4\npractice = true\n'
    (alone / "croupier.toml").write_text(toml)
    done = croupier("run", "-C", alone)
    assert done.code == 0, done.err
    for folder, code, first in (
        (tmp_path / "none", 3, f"error[C011] {tmp_path}/none: is not the folder of a tournament"),
        (tmp_path / "new", 3, f"error[R006] {tmp_path}/new: nothing has been played here yet"),
        (tmp_path / "season", 3, f"error[E101] {tmp_path}/season: is a season"),
        (alone, 3, f"error[R006] {alone}: no table that counts has two bots"),
        (place / "spring", 2, f"error[U001] {place}/spring is named twice"),
    ):
        done = croupier("rating", *([folder, folder] if code == 2 else [folder]))
        assert (done.code, done.first[: len(first)]) == (code, first)
        assert "hint: " in done.err


def test_intervals_hold_if_the_games_have_unequal_numbers_of_tables() -> None:
    bots, strength, draws = ("A", "B", "C"), {"A": 0.4, "B": 0.0, "C": -0.4}, np.random.default_rng(1)
    tables, held, spread, errors = (400, 40), 0, list[float](), list[float]()
    for _ in range(400):
        orders, noise = dict[TableOrder, float](), dict[TableOrder, float]()
        for each in tables:
            weight = sum(tables) / len(tables) / each
            for one, other in permutations(bots, 2):
                if one < other:
                    won = int(draws.binomial(each, 1 / (1 + np.exp(strength[other] - strength[one]))))
                    for order, times in ((((one,), (other,)), won), (((other,), (one,)), each - won)):
                        orders[order] = orders.get(order, 0) + weight * times
                        noise[order] = noise.get(order, 0) + weight**2 * times
        found = weighted_ratings(orders, noise).elo["A"]
        spread.append(found.points)
        errors.append(found.error)
        held += abs(found.points - ELO * strength["A"]) <= found.error
    assert 0.93 <= held / 400 <= 0.97
    assert np.mean(errors) / Z == pytest.approx(np.std(spread), rel=0.1)


def test_a_weight_alone_changes_no_certainty() -> None:
    orders: dict[TableOrder, float] = {(("A",), ("B",)): 30, (("B",), ("A",)): 10}
    plain = weighted_ratings(orders, orders)
    heavy = weighted_ratings({o: 5 * n for o, n in orders.items()}, {o: 25 * n for o, n in orders.items()})
    assert heavy.elo["A"].points == pytest.approx(plain.elo["A"].points) == pytest.approx(ELO * log(3) / 2)
    assert heavy.elo["A"].error == pytest.approx(plain.elo["A"].error)
    assert heavy.sure_ahead("A", "B") == pytest.approx(plain.sure_ahead("A", "B"))


def test_a_bot_that_won_all_its_tables_has_a_bound_and_the_prior_is_named(tmp_path: Path) -> None:
    def lines(words: Sequence[str]) -> list[str]:
        return [line for line in words if "one drawn table more of each bot" in line]

    bots = {"ada": "pazaak/neptr", "bob": "pazaak/dumb_cautious"}
    folder = tournament_in(tmp_path / "cup", "pazaak", bots, 2)
    assert croupier("run", "-C", folder).code == 0
    told = croupier("rating", folder, "--json").json
    assert [(row["bot"], row["elo"]) for row in told["rows"]] == [("ada", None), ("bob", None)]
    assert told["rows"][0]["elo_high"] is None and told["rows"][1]["elo_low"] is None
    assert len(lines(told["missing"])) == 1
