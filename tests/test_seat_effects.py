"""The advantage of seats and of playing early or late, and how certain it is."""

import csv
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from command import croupier, cup_in

from host.games import GAMES
from host.play.lines import NO_LINE
from host.play.records import Fixture
from host.rating.statistics import is_certain
from host.results.seat_effects import SeatResult, Seats, by_seat, deal_of, effects
from host.stages.round_robin import RoundRobin

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


def tossed(chances: tuple[float, float], tables: int, seed: str) -> Iterator[SeatResult]:
    """Yield the tables of two meetings; the chance of seat 1 differs between them."""
    draw = Random(seed)
    for table in range(tables):
        for meeting, chance in zip("AB", chances, strict=True):
            first = float(draw.random() < chance)
            yield SeatResult(meeting, (meeting, table), ("one", "two"), (first, 1 - first))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    held = 0
    for trial in range(100):
        found = by_seat(tossed((0.9, 0.3), 60, f"trial {trial}"))
        (first,) = (row for row in found.rows if row.seat == "seat 1")
        assert first.low is not None and first.high is not None
        held += first.low <= 0.6 <= first.high
    assert 88 <= held <= 100


def test_that_pairs_are_unequal_is_no_luck() -> None:
    def width(found: Seats) -> float:
        row = found.rows[0]
        assert row.low is not None and row.high is not None
        return row.high - row.low

    apart = by_seat(tossed((1.0, 0.0), 50, "x"))
    assert width(apart) == pytest.approx(0)
    assert width(by_seat(tossed((0.5, 0.5), 50, "x"))) > 0.1


def test_a_seat_that_wins_more_is_said_to_be_ahead_and_an_even_one_is_not() -> None:
    assert by_seat(tossed((0.7, 0.7), 300, "x")).sure == ("seat 1 ahead of seat 2: >99.9 % sure",)
    (words,) = by_seat(tossed((0.5, 0.5), 300, "even")).sure
    assert words.endswith(" % sure, 98.5 % needed")


def test_a_seat_of_small_tables_is_compared_with_one_of_large_tables_only_where_both_were_taken() -> None:
    small = [SeatResult("A", ("A", n), ("one", "two"), (1.0, 0.0)) for n in range(40)]
    large = [SeatResult("B", ("B", n), ("one", "two", "three"), (0.0, 0.0, float(n % 2))) for n in range(40)]
    found = by_seat([*small, *large])
    assert [row.seat for row in found.rows] == ["seat 1", "seat 3", "seat 2"]
    assert found.sure[0] == "seat 1 ahead of seat 3: 0 % sure, 98.5 % needed"


def test_tables_that_share_a_deal_are_one_unit_whatever_fixture_they_are_in() -> None:
    stage = RoundRobin(name="league", mirror=True)
    fixtures = [Fixture("pazaak", RULES, "mirrored", f"league/A+B/{at}", ("A", "B"), 4, at) for at in (1, 5)]
    deals = [deal_of(stage, fixture, nth) for fixture in fixtures for nth in range(4)]
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


def test_chips_are_told_as_what_was_gained(blackjack: Path) -> None:
    shown = croupier("standings", "--by", "seat", "-C", blackjack).out
    assert "chips a table" in shown and "seat 3" in shown
    told = croupier("standings", "--by", "seat", "--json", "-C", blackjack).json
    finals = croupier("standings", "--json", "-C", blackjack).json["rows"]
    gained = sum(row["points"] * 4 - 200 * 4 for row in finals)  # four tourneys, each started with 200 chips
    assert told["unit"] == "chips"
    assert sum(row["won"] for row in told["rows"]) == pytest.approx(gained)


@pytest.mark.parametrize("by", ["pair", "seat"])
def test_every_side_goes_into_a_spreadsheet(by: str, league: Path) -> None:
    rows = list(csv.DictReader(croupier("standings", "--by", by, "--csv", "-C", league).out.splitlines()))
    told = croupier("standings", "--by", by, "--json", "-C", league).json["rows"]
    assert [list(row) for row in rows] == [list(row) for row in told]


# Seats, and playing early or late.


def pairs_play(chance: Callable[[int, int, str], float], tables: int = 4_000, seed: int = 1) -> list[SeatResult]:
    """Return the tables of three pairs with alternating seats; seat 1 wins with `chance(seat, number, bot)`."""
    luck, tables_of_all = Random(seed), list[SeatResult]()
    for pair in combinations("ABC", 2):
        meeting = "+".join(pair)
        for number in range(tables):
            bots = pair if number % 2 == 0 else pair[::-1]
            first = luck.random() < chance(0, number, bots[0])
            tables_of_all.append(SeatResult(meeting, (meeting, number), bots, (float(first), float(not first))))
    return tables_of_all


@pytest.mark.long
def test_where_there_is_no_effect_none_is_seen() -> None:
    seen = 0
    for seed in range(60):
        found = effects("games", pairs_play(lambda _seat, _number, _bot: 0.5, 400, seed))
        seen += any(map(is_certain, found.seats.sure)) + any(effect.seen for effect in found.late)
    assert seen <= 12  # 6 expected: the intervals of a family miss in one test of twenty


def test_a_planted_effect_of_a_seat_is_found_and_measured() -> None:
    found = effects("games", pairs_play(lambda _seat, _number, bot: 0.55 + 0.2 * (bot == "A") - 0.2 * (bot == "B")))
    assert found.seats.sure == ("seat 1 ahead of seat 2: >99.9 % sure",)
    first = found.seats.rows[0]
    assert first.low is not None and first.high is not None and first.low < 0.55 < first.high
    assert not any(effect.seen for effect in found.late)
    assert (found.apart, found.gained) == (0, pytest.approx(0.0))


def test_a_planted_effect_of_playing_late_is_found_and_names_its_bot() -> None:
    def tired(_seat: int, number: int, bot: str) -> float:
        return 0.5 if number < 2_000 or bot != "C" else 0.35

    found = effects("games", pairs_play(tired))
    assert [effect.bot for effect in found.late if effect.seen][-1] == "C"


def test_uneven_seats_are_told_with_what_they_brought() -> None:
    seats = [("A", "B")] * 30 + [("B", "A")] * 10
    found = effects("chips", [SeatResult("A+B", ("A+B", at), bots, (12.0, 8.0)) for at, bots in enumerate(seats)])
    assert (found.apart, found.tables) == (20, 40)
    assert found.gained == pytest.approx(1.0)


def test_too_little_has_no_interval() -> None:
    found = effects("games", [SeatResult("A+B", ("A+B", 1), ("A", "B"), (1.0, 0.0))])
    assert [(effect.more, effect.seen) for effect in found.late] == [(None, False)] * 2
    assert [row.low for row in found.seats.rows] == [None, None]
    assert effects("games", []).tables == 0


def test_a_deal_that_is_played_again_is_the_same_deal() -> None:
    stage = RoundRobin(name="league")
    fixture = Fixture("pazaak", None, "independent", "league/A+B/1", ("A", "B"), 8)
    lines = [b"first", b"second"] * 4
    assert len({deal_of(stage, fixture, nth, lines=lines) for nth in range(8)}) == 1
    assert len({deal_of(stage, fixture, nth, lines=[NO_LINE, *lines[1:]]) for nth in range(8)}) == 2
