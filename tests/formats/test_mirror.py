"""Mirrored deals: every bot plays the same cards from every seat. They reduce luck and change nothing else."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, variance

import pytest
from command import croupier
from helpers import breadth
from stage_configs import recorded, stage_of, standings_of

from benchmarks.simple import FIELDS, record
from host.games import GAMES
from host.games.engine import Table
from host.games.luck import Deal
from host.play.records import Fixture, Record, Result
from host.play.table_plans import PLANS
from host.results.standings import by_pair, standings
from host.stages.kind import Field
from host.stages.mixed_tables import MIXED_TABLES, MixedTables

RULES = {name: game.default_rules for name, game in GAMES.items()}
RULES["holdem"] = RULES["holdem"]._replace(rounds=20)
DECK = list(range(52))


def test_a_deals_shuffles_do_not_depend_on_what_was_drawn_before() -> None:
    one, other = Deal(b"root", "x/1"), Deal(b"root", "x/1")
    list(one.shuffled(DECK))
    next(other.shuffled(DECK))
    assert list(one.shuffled(DECK)) == list(other.shuffled(DECK))


def test_the_rest_of_a_deck_is_what_was_not_drawn_in_a_new_order() -> None:
    deal = Deal(b"root", "x/1")
    cards = deal.shuffled(DECK)
    drawn = [next(cards) for _ in range(20)]
    rest = list(deal.rest(cards))
    assert sorted(drawn + rest) == DECK and rest != list(cards)
    assert list(deal.rest(cards)) == []


def test_what_is_left_comes_in_the_same_order_wherever_it_is_left() -> None:
    def after(drawn: int) -> list[int]:
        deal = Deal(b"root", "x/1")
        cards = deal.shuffled(DECK)
        for _ in range(drawn):
            next(cards)
        return list(deal.rest(cards))

    few, many = after(10), after(12)
    assert [card for card in few if card in many] == many and len(few) == len(many) + 2


def test_the_rest_of_a_deck_is_as_random_as_a_shuffle() -> None:
    firsts = Counter[int]()
    for number in range(4_000):
        deal = Deal(b"root", f"x/{number}")
        cards = deal.shuffled("AAAB")
        next(cards)
        if Counter(rest := list(deal.rest(cards))) == Counter("AAB"):
            firsts[rest.index("B")] += 1
    times = firsts.total()
    assert all(abs(firsts[at] - times / 3) < 4 * math.sqrt(times * 2 / 9) for at in range(3))


def test_every_bot_holds_the_same_cards_in_the_same_seat() -> None:
    bots = tuple(FIELDS["holdem"])
    (tables,) = PLANS["mirrored"](Fixture("holdem", RULES["holdem"], "mirrored", "x/1", bots, 5), b"s")
    asked = [Table(GAMES["holdem"], table.rules, table.shuffler(b"s")).request for table in tables]
    assert len(set(asked)) == 1
    assert {table.bots[asked[0].seat] for table in tables if asked[0]} == set(bots)


def tourneys(bots: Sequence[str], count: int) -> list[Fixture]:
    stage = MixedTables(name="tables", tourneys=count, rounds=3, mirror=True)
    return MIXED_TABLES.due(stage, Fixture("cardshark", RULES["cardshark"], "", "", (), 0), Field(bots, b"s"), {})


def test_in_as_many_tourneys_as_there_are_bots_everybody_plays_every_place_once() -> None:
    bots = list("abcdef")
    seats = [next(PLANS[fixture.plan](fixture, b"s"))[0] for fixture in tourneys(bots, 7)]
    assert [{sitting.bots[seat] for sitting in seats[:6]} for seat in range(4)] == [set(bots)] * 4
    assert len({sitting.luck for sitting in seats[:6]}) == 1 and seats[6].luck != seats[0].luck


CASES = [
    ("pazaak", ("independent", "mirrored"), 2, 40, 60),
    ("cardshark", ("independent", "mirrored"), 4, 24, 50),
    ("cardshark", ("tourney", "mirrored tourney"), 4, 5, 60),
    ("holdem", ("independent", "mirrored"), 5, 5, 30),
]


@pytest.mark.long
@pytest.mark.parametrize(("game", "plans", "seats", "tables", "cups"), breadth(CASES, len(CASES)))
def test_mirroring_moves_no_mean(game: str, plans: tuple[str, str], seats: int, tables: int, cups: int) -> None:
    players = FIELDS[game]
    bots = tuple(players)[:seats]
    blank = Fixture(game, RULES[game], "", "", bots, tables)

    def worth(plan: str, number: int) -> float:
        played = record(blank._replace(plan=plan, path=f"x/{number}", first=1), players, bytes([number]))
        result = played.results[bots[1]]
        return result.final if "tourney" in plan else max(0, result.score) / result.tables

    alone, shared = ([worth(plan, number) for number in range(cups)] for plan in plans)
    error = math.sqrt((variance(alone) + variance(shared)) / cups)
    assert abs(fmean(alone) - fmean(shared)) < 4 * error


@pytest.mark.long
def test_mirroring_takes_luck_out_of_pazaak() -> None:
    players = FIELDS["pazaak"]
    bots = tuple(players)[1:3]

    def wins(plan: str) -> list[int]:
        fixture = Fixture("pazaak", RULES["pazaak"], plan, "", bots, 20)
        cups = range(0, 2_000, 20)
        return [
            record(fixture._replace(path=f"x/{at + 1}", first=at + 1), players, b"s").results[bots[0]].wins
            for at in cups
        ]

    assert variance(wins("independent")) > 2 * variance(wins("mirrored"))


# Standings of mirrored deals.


def league(squares: int) -> list[Record]:
    """Return 1 000 tables of two bots, 520 won by the first, with this sum of squared wins per deal; 0: no shared deals."""
    units, both = (500, 1000 + 40 - squares) if squares else (0, 0)  # each deal has two winners: (2 - x) x, summed
    results = {
        "a": Result(1000, 520, 0, 0, 3, 3, units, (squares, both) if squares else ()),
        "b": Result(1000, 480, 0, 0, 3, 3, units, (both, squares - 80) if squares else ()),
    }
    return [Record("league/a+b/1", results, {}, {}, (), (), b"")]


def test_what_luck_is_left_in_mirrored_games_is_told_by_their_intervals() -> None:
    def width(squares: int) -> float:
        row = standings(stage_of("round-robin", rank_by=["win_rate"]), league(squares), recorded("ab"))[0]
        assert row.first.low is not None and row.first.high is not None
        return row.first.high - row.first.low

    half_won = 20 * 4 + 480  # each bot won most deals once
    as_alone = 135 * 4 + 250  # as if all deals were different
    assert width(half_won) < 0.5 * width(0)
    assert width(as_alone) == pytest.approx(width(0), rel=0.02)
    pair, unknown = by_pair(league(half_won))["a", "b"], by_pair(league(0))["a", "b"]
    assert pair.sure > unknown.sure and pair.high - pair.low < unknown.high - unknown.low


def test_tourneys_that_share_a_deal_are_one_unit() -> None:
    def tourney(number: int, a: int, b: int) -> Record:
        results = {bot: Result(5, 0, 0, 0, 0, left) for bot, left in (("a", a), ("b", b))}
        return Record(f"tables/{number}", results, {}, {}, (), (), b"")

    records = [tourney(number, *((300 + number % 4, 100) if number % 2 else (140, 340))) for number in range(1, 21)]
    stage = MixedTables(name="tables")
    rows = standings_of(replace(stage, mirror=True), records, recorded("ab")).rows
    a, b = (next(row for row in rows if row.bot == bot) for bot in "ab")
    assert (a.points.value, b.points.value) == (221, 220)
    assert a.first.low is not None and a.first.high is not None
    assert 220 < a.first.low < 221 < a.first.high < 222  # each two tourneys have a mean of 220.5 or 221.5
    wide = standings_of(stage, records, recorded("ab")).rows[0]
    assert wide.first.low is not None and wide.first.low < 190


@pytest.mark.long
def test_friends_play_mirrored_and_the_same_again(tmp_path: object) -> None:
    words = [
        "play",
        "sample:dumb_bold",
        "sample:glaucus",
        "-n",
        100,
        "--mirror",
        "--json",
        "--seed",
        "x",
        "-C",
        tmp_path,
    ]
    one, other = croupier(*words, "--workers", 2).json, croupier(*words, "--workers", 1).json
    assert [row["wins"] for row in one["rows"]] == [row["wins"] for row in other["rows"]]
    assert croupier("verify", "-C", tmp_path).code == 0
    assert croupier("replay", "last", "-C", tmp_path).code == 0
