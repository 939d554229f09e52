"""Standings by seat and by language: what everybody there has won, how sure it is, and of whom it is said."""

import csv
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from command import croupier, cup_in

from host.games import GAMES
from host.play.records import Fixture
from host.tournament.seat_effects import Deal, Factors, Taken, compared, deal

RULES = GAMES["pazaak"].presets["thread"]
LEAGUE = """\
game = "pazaak"
seed = "a seed for tests"
bots = ["sample:dumb_bold", "sample:dumb_cautious", "sample:neptr", "sample:cincinnati_kid"]
[[stage]]
name = "league"
kind = "round-robin"
tables_per_pair = 40
practice = true
[limits]
move = "10 s"
cpu = "10 s"
"""


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("league")
    (folder / "croupier.toml").write_text(LEAGUE)
    done = croupier("run", "-C", folder, "--progress", "none")
    assert done.code == 0, done.err
    return folder


@pytest.fixture(scope="module")
def blackjack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = cup_in(tmp_path_factory.mktemp("blackjack") / "cup")
    done = croupier("run", "-C", folder, "--progress", "none")
    assert done.code == 0, done.err
    return folder


def tossed(chances: tuple[float, float], tables: int, seed: str) -> Iterator[tuple[Deal, list[Taken]]]:
    """Yield tables of two meetings, in each of which seat 1 wins with another chance."""
    draw = Random(seed)
    for table in range(tables):
        for meeting, chance in zip("AB", chances, strict=True):
            first = float(draw.random() < chance)
            yield (meeting, table), [("seat 1", first), ("seat 2", 1 - first)]


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for trial in range(100):
        found = compared(tossed((0.9, 0.3), 60, f"trial {trial}"), together=True)
        (first,) = (row for row in found.rows if row.name == "seat 1")
        assert first.low is not None and first.high is not None
        held += first.low <= 0.6 <= first.high
    assert 88 <= held <= 100


def test_that_pairs_are_unequal_is_no_luck() -> None:
    def width(found: Factors) -> float:
        row = found.rows[0]
        assert row.low is not None and row.high is not None
        return row.high - row.low

    apart = compared(tossed((1.0, 0.0), 50, "x"), together=True)
    assert width(apart) == pytest.approx(0)
    assert width(compared(tossed((0.5, 0.5), 50, "x"), together=True)) > 0.1


def test_a_seat_that_wins_more_is_said_to_be_ahead_and_an_even_one_is_not() -> None:
    assert compared(tossed((0.7, 0.7), 300, "x"), together=True).sure == ["seat 1 ahead of seat 2, >99.9 % sure"]
    (words,) = compared(tossed((0.5, 0.5), 300, "even"), together=True).sure
    assert "cannot be told apart" in words


def test_a_seat_of_small_tables_is_compared_with_one_of_large_tables_only_where_both_were_taken() -> None:
    small = [(("A", n), [("seat 1", 1.0), ("seat 2", 0.0)]) for n in range(40)]
    large = [(("B", n), [("seat 1", 0.0), ("seat 2", 0.0), ("seat 3", float(n % 2))]) for n in range(40)]
    found = compared([*small, *large], together=True)
    assert [row.name for row in found.rows] == ["seat 1", "seat 3", "seat 2"]
    assert "seat 1 ahead of seat 3" not in "".join(found.sure)


def test_tables_that_share_a_deal_are_one_unit_whatever_fixture_they_are_in() -> None:
    stage = {"name": "league", "kind": "round-robin", "mirror": True}
    fixtures = [Fixture("pazaak", RULES, "mirrored", f"league/A+B/{at}", ("A", "B"), 4, at) for at in (1, 5)]
    deals = [deal(stage, fixture, nth) for fixture in fixtures for nth in range(4)]
    assert [deals.index(each) for each in deals] == [0, 0, 2, 2, 4, 4, 6, 6]


def test_seats_share_all_games_that_were_won(league: Path) -> None:
    told = croupier("standings", "--by", "seat", "--json", "-C", league).json
    assert (told["schema"], told["unit"], told["stage"]) == ("croupier/seats/1", "games", "league")
    assert {row["seat"] for row in told["rows"]} == {"seat 1", "seat 2"}
    assert [row["tables"] for row in told["rows"]] == [240, 240]
    assert sum(row["won"] for row in told["rows"]) == 240
    assert all(row["low"] <= row["mean"] <= row["high"] for row in told["rows"])
    assert "seat" in told["sure"][0] and all(set(each["seats"]) == {"seat 1", "seat 2"} for each in told["advice"])
    assert "bots" not in str(told["advice"])


def test_a_language_is_judged_by_tables_at_which_there_were_others(league: Path) -> None:
    told = croupier("standings", "--by", "language", "--json", "-C", league).json
    rows = {row["language"]: row["tables"] for row in told["rows"]}
    assert (told["schema"], rows) == ("croupier/languages/1", {"c": 120, "cpp": 120})
    assert told["sure"][0].endswith("% sure") or "cannot be told apart" in told["sure"][0]


def test_chips_are_told_as_what_was_gained(blackjack: Path) -> None:
    shown = croupier("standings", "--by", "seat", "-C", blackjack).out
    assert "chips a table" in shown and "seat 3" in shown
    told = croupier("standings", "--by", "language", "--json", "-C", blackjack).json
    finals = croupier("standings", "--json", "-C", blackjack).json["rows"]
    gained = sum(row["points"] * 4 - 200 * 4 for row in finals)  # four tourneys, each begun with 200 chips
    assert told["unit"] == "chips"
    assert sum(row["won"] for row in told["rows"]) == pytest.approx(gained)


@pytest.mark.parametrize("by", ["pair", "seat", "language"])
def test_every_side_goes_into_a_spreadsheet(by: str, league: Path) -> None:
    rows = list(csv.DictReader(croupier("standings", "--by", by, "--csv", "-C", league).out.splitlines()))
    told = croupier("standings", "--by", by, "--json", "-C", league).json["rows"]
    assert [list(row) for row in rows] == [list(row) for row in told]


def test_one_language_alone_is_compared_with_nobody(tmp_path: Path) -> None:
    (tmp_path / "croupier.toml").write_text(LEAGUE.replace(', "sample:cincinnati_kid"', ""))
    assert croupier("run", "-C", tmp_path, "--progress", "none").code == 0
    shown = croupier("standings", "--by", "language", "-C", tmp_path)
    assert (shown.code, shown.out) == (0, "stage league knows one language only: no table tells of it\n")
