"""The kind `league`: tables of any number of seats at which all pairs meet equally often, for any field."""

import random
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from command import croupier
from stage_configs import stage_of

from host.config.template import template
from host.games import GAMES
from host.play.records import Fixture
from host.play.table_plans import PLANS
from host.rules.catalogue import load_game
from host.stages.kind import Field, StageConfig
from host.stages.league import LEAGUE
from host.stages.table_design import Design, design

HOLDEM = GAMES["holdem"]
SEED = b"a seed for tests"


def blank(seats: int) -> Fixture:
    rules = HOLDEM.default_rules._replace(seats=seats)
    return Fixture("holdem", rules, "", "", (), 0)


def fixtures_of(stage: StageConfig, seats: int, bots: int) -> list[Fixture]:
    field = Field([f"b{number:03}" for number in range(bots)], SEED)
    return LEAGUE.due(stage, blank(seats), field, {})


def promised(stage: StageConfig, seats: int, bots: int) -> Design:
    """Play the fixtures of a league; compare who sat where, and who met whom, with the promises. Return its design."""
    fixtures = fixtures_of(stage, seats, bots)
    tables, seated, met = Counter[str](), Counter[tuple[str, int]](), Counter[tuple[str, ...]]()
    for fixture in fixtures:
        (setups,) = PLANS[fixture.plan](fixture, SEED)
        for setup in setups:
            tables.update(setup.bots)
            seated.update((bot, seat) for seat, bot in enumerate(setup.bots))
        for pair in combinations(sorted(fixture.bots), 2):
            met[pair] += fixture.tables
    seats = min(seats, bots)
    plan = design(bots, seats, stage.tables, seats if stage.mirror else 1)  # type: ignore[attr-defined]
    assert len(fixtures) == len({fixture.path for fixture in fixtures})
    assert len(tables) == bots and set(tables.values()) == {plan.tables} and plan.tables >= stage.tables  # type: ignore[attr-defined]
    assert {seated[bot, seat] * seats for bot in tables for seat in range(seats)} == {plan.tables}
    shared = [met[pair] for pair in combinations(sorted(tables), 2)]
    assert (min(shared), max(shared)) == plan.shared
    assert LEAGUE.size is not None
    size = LEAGUE.size(stage, blank(seats), bots)
    assert (size.fixtures, size.tables) == (len(fixtures), sum(fixture.tables for fixture in fixtures))
    return plan


def random_leagues(number: int) -> None:
    """Test this many random leagues of tables for two to ten."""
    luck, balanced = random.Random(17), 0
    for _ in range(number):
        seats, bots, tables = luck.randint(2, 10), luck.randint(2, 70), round(10 ** luck.uniform(0.5, 3))
        mirror = luck.random() < 0.3
        plan = promised(stage_of("league", tables=tables, mirror=mirror), seats, bots)
        assert plan.most - plan.fewest <= 2, plan
        # All pairs meet equally often, or differ by one meeting.
        balanced += plan.most - plan.fewest <= 1
        if tables >= 300 and not mirror:
            assert plan.tables <= 1.1 * tables, plan
    assert balanced >= 0.8 * number


@pytest.mark.long
def test_in_a_league_all_bots_play_as_often_in_every_seat_and_all_pairs_meet_as_promised() -> None:
    random_leagues(40)


@pytest.mark.proof
def test_a_thousand_random_leagues_keep_their_promises() -> None:
    random_leagues(1_000)


@pytest.mark.parametrize(
    ("bots", "seats"), [(4, 3), (5, 4), (7, 3), (8, 4), (9, 3), (10, 5), (13, 4), (16, 4), (21, 5)]
)
def test_all_pairs_meet_exactly_as_often_where_the_numbers_allow_it(bots: int, seats: int) -> None:
    plan = promised(stage_of("league", tables=1_000), seats, bots)
    assert plan.most == plan.fewest


@pytest.mark.parametrize(("bots", "asked", "tables"), [(12, 110, 110), (12, 100, 110), (13, 120, 120), (20, 181, 190)])
def test_no_pair_is_left_out_if_ten_tables_a_pair_fit(bots: int, asked: int, tables: int) -> None:
    plan = design(bots, 2, asked)
    met = Counter(frozenset(plan.places(number)) for number in range(plan.meetings))
    assert len(met) == bots * (bots - 1) // 2 and plan.fewest > 0
    assert plan.tables == tables and plan.meetings * plan.length == bots * tables // 2


def test_the_tables_of_a_league_do_not_depend_on_the_order_of_entry() -> None:
    stage, bots = stage_of("league", tables=20), ["c", "a", "e", "b", "d"]
    one, other = (LEAGUE.due(stage, blank(4), Field(order, SEED), {}) for order in (bots, bots[::-1]))
    assert one == other
    assert one != LEAGUE.due(stage, blank(4), Field(bots, b"another seed"), {})


def test_a_small_field_sits_at_smaller_tables() -> None:
    assert {len(fixture.bots) for fixture in fixtures_of(stage_of("league"), 5, 3)} == {3}


def test_the_tables_of_500_bots_are_designed_with_bounded_work() -> None:
    plan = design(500, 10, 400)
    assert plan.tables == 400 and plan.shared == (0, 20)


TRIO = '''\
"""Highest card: the seat with the highest number wins; a game for three without chips."""

import re
from typing import NamedTuple

from host.games.engine import Game, Opening, Request
from protocols.wire import Grammar, Move


class Rules(NamedTuple):
    """The numbers of the game."""

    seats: int = {seats}


class View(NamedTuple):
    """A question: the card."""

    card: int


def allows(rules, view, move):
    return True


def play(rules, luck, tell=None):
    cards = list(luck.shuffled(range(1, 21)))[: rules.seats]
    scores = []
    for seat, card in enumerate(cards):
        answer = yield Request(seat, View(card))
        scores.append(card if isinstance(answer, Move) and answer.verb == "KEEP" else 10)
    return tuple(scores)


def winners(scores):
    best = max(scores)
    return tuple(seat for seat, score in enumerate(scores) if score == best)


GAME = Game(
    name="highest{seats}",
    title="Highest card",
    seats=({seats}, {seats}),
    protocol="lines",
    presets={{"plain": Rules()}},
    grammar=Grammar(re.compile("(?P<verb>KEEP|SWAP)"), "KEEP or SWAP"),
    play=play,
    allows=allows,
    winners=winners,
    view=View,
    edges={{"a low card": View(1), "a high card": View(20)}},
    opening=Opening("card", 11, below="SWAP", otherwise="KEEP"),
    card="Each question is a card from 1 to 20: KEEP it, or SWAP it for a ten.",
)
'''
BOT = "import sys\nfor line in sys.stdin:\n    print('KEEP' if int(line) >= {} else 'SWAP', flush=True)\n"


def tournament(place: Path, seats: int, bots: int) -> Path:
    (place / "bots").mkdir(parents=True)
    (place / f"highest{seats}.py").write_text(TRIO.format(seats=seats))
    for number in range(bots):
        (place / "bots" / f"b{number}.py").write_text(BOT.format(2 + 6 * number))
    config = f'game = "highest{seats}:GAME"\nseed = "public"\nbots = ["bots/*"]\n'
    (place / "croupier.toml").write_text(config)
    return place


@pytest.mark.long
@pytest.mark.parametrize("seats", [3, 4])
def test_a_game_for_three_or_four_without_chips_is_a_league_without_a_line_of_config(
    seats: int, tmp_path: Path
) -> None:
    folder = tournament(tmp_path / "t", seats, seats - 1)
    assert "C004" in (few := croupier("-C", folder, "run", "--progress", "none").err) and f"needs {seats} bots" in few
    for number in range(seats - 1, 4):
        (folder / "bots" / f"b{number}.py").write_text(BOT.format(2 + 6 * number))
    keys = '[[stage]]\nkind = "league"\ntables = 24\nrank_by = ["score", "wins", "elo"]\npractice = true\n'
    (folder / "croupier.toml").write_text((folder / "croupier.toml").read_text() + keys)
    dry = croupier("-C", folder, "run", "--dry-run").out
    assert f"each bot plays 24 tables of {seats}" in dry and "every two bots share" in dry
    assert croupier("-C", folder, "run", "--progress", "none").code == 0
    rows = croupier("-C", folder, "standings", "--json").json["rows"]
    assert [row["tables"] for row in rows] == [24] * 4 and {"score_low", "wins_low", "elo_low"} <= rows[0].keys()
    assert "wins" in croupier("-C", folder, "standings", "--csv").out.splitlines()[0]
    assert croupier("-C", folder, "report").code == 0 and croupier("-C", folder, "verify").code == 0
    assert "Elo" in (folder / "report.html").read_text()


@pytest.mark.long
def test_the_tables_of_a_league_are_rated_one_by_one(tmp_path: Path) -> None:
    """The journal keeps the scores of each table for rankings: with the sums alone, Elo would rate whole rows of tables."""
    folder = tournament(tmp_path / "t", 3, 3)
    keys = '[[stage]]\nkind = "league"\ntables = 120\nrank_by = ["elo", "score"]\npractice = true\n'
    (folder / "croupier.toml").write_text((folder / "croupier.toml").read_text() + keys)
    assert croupier("-C", folder, "run", "--progress", "none").code == 0
    rows = croupier("-C", folder, "standings", "--json").json["rows"]
    assert all(row["elo"] is not None and row["elo_high"] - row["elo_low"] < 200 for row in rows)


def test_a_ranking_that_counts_wins_is_refused_in_a_game_without_winners(tmp_path: Path) -> None:
    text = 'game = "cardshark"\nseed = "public"\nbots = ["sample:*"]\n[[stage]]\nkind = "league"\nrank_by = ["wins"]\n'
    (tmp_path / "croupier.toml").write_text(text)
    done = croupier("-C", tmp_path, "run")
    assert (
        done.code == 3
        and "C013" in done.err
        and "croupier.toml:6: " in done.err
        and "needs tables with winners" in done.err
    )
    assert "hint: one of score, elo, runoff" in done.err


def test_a_new_tournament_of_a_game_for_three_has_a_league(tmp_path: Path) -> None:
    game = load_game("highest3:GAME", tournament(tmp_path / "own", 3, 3), "croupier.toml:1")
    text = template(game, False, ())
    assert 'kind    = "league"' in text and "# kind" not in text
