"""From any number of bots to five finalists, and from those to one."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import pytest
from helpers import offenders
from hypothesis import given
from hypothesis import strategies as st

from host.games import GAMES
from host.games.luck import Luck
from host.play.fixture_id import contestants
from host.play.records import Fixture, Record, Result
from host.stages import groups
from host.stages.groups import (
    GroupMember,
    Groups,
    GroupsContest,
    drawn,
    going_on,
    groups_of,
    in_order,
    placing,
    rounds,
    shares,
)
from host.stages.kind import Field

FINALISTS = 5

ENTRANTS = range(3, 201)


def placed(sizes: tuple[int, ...]) -> list[list[GroupMember]]:
    """Return finished groups of these sizes, in which all chips differ."""
    bots = iter(range(sum(sizes)))
    return [[GroupMember(f"b{next(bots)}", 100 * (size - place)) for place in range(size)] for size in sizes]


def advancing(groups: list[list[GroupMember]], lot: Sequence[str]) -> list[str]:
    """Return the bots that advance from groups: two of each, until five are left."""
    return in_order(groups, lot)[: going_on(len(groups), len(lot), 2, FINALISTS)]


def everybody(groups: list[list[GroupMember]]) -> list[str]:
    """Return the bots of all groups."""
    return [place.bot for group in groups for place in group]


def test_groups_have_three_to_five_seats_and_differ_by_one() -> None:
    for entrants in ENTRANTS:
        sizes = groups_of(entrants)
        assert sum(sizes) == entrants and min(sizes) >= 3 and max(sizes) <= min(5, min(sizes) + 1), entrants


def test_stages_end_with_five_finalists_or_with_all_there_are() -> None:
    for entrants in ENTRANTS:
        left = entrants
        while len(sizes := groups_of(left)) > 1:
            groups = placed(sizes)
            left = len(advancing(groups, everybody(groups)))
        assert left == min(entrants, FINALISTS), entrants


@pytest.mark.parametrize(
    ("entrants", "sizes"),
    [(5, (5,)), (6, (3, 3)), (7, (4, 3)), (11, (4, 4, 3)), (16, (4, 4, 4, 4)), (23, (5, 5, 5, 4, 4))],
)
def test_groups_are_as_few_and_as_equal_as_possible(entrants: int, sizes: tuple[int, ...]) -> None:
    assert groups_of(entrants) == sizes


@pytest.mark.parametrize("entrants", [-1, 0, 1, 2])
def test_two_make_no_group(entrants: int) -> None:
    with pytest.raises(ValueError, match="3 to 5 seats"):
        groups_of(entrants)


@given(st.lists(st.text(min_size=1), min_size=3, max_size=60, unique=True))
def test_everybody_is_drawn_once_and_the_same_way_from_the_same_seed(bots: list[str]) -> None:
    groups = drawn(bots, Luck(b"seed", "groups"))
    again = drawn(bots, Luck(b"seed", "groups"))
    assert groups == again and sorted(bot for group in groups for bot in group) == sorted(bots)


def test_two_of_each_group_advance_the_firsts_ahead_of_the_seconds() -> None:
    groups = placed((4, 4, 3))
    assert advancing(groups, everybody(groups)) == ["b0", "b4", "b8", "b1", "b5", "b9"]


def test_of_two_groups_the_third_with_more_chips_advances_too() -> None:
    groups = [
        [GroupMember("a", 500), GroupMember("b", 300), GroupMember("c", 80)],
        [GroupMember("d", 400), GroupMember("e", 300), GroupMember("f", 81)],
    ]
    assert advancing(groups, "abcdef") == ["a", "d", "b", "e", "f"]


def test_equal_thirds_are_decided_by_the_lot() -> None:
    groups = [
        [GroupMember("a", 500), GroupMember("b", 300), GroupMember("c", 0)],
        [GroupMember("d", 400), GroupMember("e", 300), GroupMember("f", 0)],
    ]
    assert [advancing(groups, lot)[-1] for lot in ("abcdef", "fedcba")] == ["c", "f"]


def test_the_lot_decides_between_equals_only() -> None:
    for lot in permutations(range(4)):
        first, *tied, last = placing((90, 140, 90, -1), lot)
        assert (first, tied, last) == (1, [seat for seat in lot if seat in (0, 2)], 3)


# The stage.


def due(now: GroupsContest, blank: Fixture) -> list[Fixture]:
    return groups.GROUPS.due(now.stage, blank, Field(now.bots, now.seed), now.records)


def places(now: GroupsContest) -> list[str]:
    return groups.places(now.stage, Field(now.bots, now.seed), now.records)


def left(now: GroupsContest) -> list[str]:
    return groups.left(now.stage, Field(now.bots, now.seed), now.records)


BLANK = Fixture("holdem", GAMES["holdem"].presets["banksalad"], "", "", (), 0)
GROUPS, FINAL = (
    Groups(name=name, advance=advance, until=until) for name, advance, until in (("groups", 2, 5), ("final", 1, 1))
)


def stage(of: Groups = GROUPS, **changes: int) -> Groups:
    return replace(of, **changes)  # type: ignore[arg-type]


def contest(bots: int, of: Groups = GROUPS, seed: bytes = b"seed") -> GroupsContest:
    return GroupsContest(of, [f"b{number:03}" for number in range(bots)], seed, {})


def played(fixture: Fixture, scores: dict[str, int]) -> Record:
    """Return the record of a game that ended with these chips."""
    results = {bot: Result(1, 0, scores[bot], scores[bot], scores[bot], scores[bot]) for bot in fixture.bots}
    return Record(fixture.path, results, {}, {}, (), (tuple(scores[bot] for bot in fixture.bots),), b"")


def by_luck(fixture: Fixture) -> Record:
    """Return a record with random scores: two or more bots survive, or some are eliminated together."""
    chance = hashlib.sha256(fixture.path.encode()).digest()
    worth = [chance[nth] % 7 * 40 for nth in range(len(fixture.bots))]
    return played(fixture, dict(zip(fixture.bots, worth, strict=True)))


def by_name(fixture: Fixture) -> Record:
    """Return the record of a game in which a smaller name has more chips."""
    return played(fixture, {bot: 900 - int(bot[1:]) for bot in fixture.bots})


def played_out(now: GroupsContest, record=by_luck) -> GroupsContest:
    """Play a stage to its end, round by round; fail if it does not end."""
    for _ in range(100):
        fixtures = due(now, BLANK)
        if not fixtures:
            return now
        now = now._replace(records=now.records | {fixture.path: record(fixture) for fixture in fixtures})
    raise AssertionError("the stage never ends")


@pytest.mark.long
def test_groups_leave_five_and_the_final_one() -> None:
    for entrants in ENTRANTS:
        finalists = left(played_out(contest(entrants)))
        final = contest(0, FINAL)._replace(bots=finalists)
        assert len(finalists) == min(entrants, FINALISTS) and len(left(played_out(final))) == 1, entrants


@pytest.mark.long
def test_every_setting_ends_with_exactly_as_many_as_wanted() -> None:
    assert not offenders(check_end, product([3, 5, 6, 7, 11, 23, 64], range(1, 6), range(1, 8)))


def check_end(entrants: int, advance: int, until: int) -> None:
    """Check how many are left at the end of a stage."""
    end = left(played_out(contest(entrants, stage(advance=advance, until=until))))
    assert len(end) == min(entrants, until)


def test_everybody_plays_once_a_round_and_only_those_who_went_on_play_the_next() -> None:
    over = played_out(contest(37))
    entered = set(over.bots)
    for now in rounds(over):
        assert Counter(bot for group in now.groups for bot in group) == Counter(entered)
        entered = set(now.ahead)


def test_a_game_is_a_fixture_of_one_table_and_its_path_names_round_group_and_game() -> None:
    fixtures = due(contest(6, stage(repeat=2)), BLANK._replace(plan="independent"))
    group = contestants(fixtures[0].bots)
    assert [(fixture.path, fixture.tables, fixture.first, fixture.plan) for fixture in fixtures[:2]] == [
        (f"groups/1/{group}/{game}", 1, game, "independent") for game in (1, 2)
    ]


def test_the_next_round_waits_for_the_last_game_of_this_one() -> None:
    now = contest(11)
    *all_but_one, last = due(now, BLANK)
    waiting = now._replace(records={fixture.path: by_luck(fixture) for fixture in all_but_one})
    assert due(waiting, BLANK) == [last]


def test_the_order_of_entry_decides_nothing() -> None:
    now = contest(23)
    assert due(now, BLANK) == due(now._replace(bots=now.bots[::-1]), BLANK)


def test_another_seed_draws_other_groups() -> None:
    assert due(contest(23), BLANK) != due(contest(23, seed=b"another"), BLANK)


def test_going_on_from_half_way_is_the_same_as_never_having_stopped() -> None:
    whole = played_out(contest(23))
    for count in range(len(whole.records)):
        half = whole._replace(records=dict(list(whole.records.items())[:count]))
        assert played_out(half).records == whole.records


def test_places_have_the_finalists_first_and_then_who_came_furthest() -> None:
    over = played_out(contest(30), by_name)
    order, in_rounds = places(over), [set(now.ahead) for now in rounds(over)]
    reached = [sum(bot in ahead for ahead in in_rounds) for bot in order]
    assert order[:FINALISTS] == left(over) and reached == sorted(reached, reverse=True) and {*order} == {*over.bots}


def test_the_final_decides_every_place() -> None:
    over = played_out(contest(5, FINAL), by_name)
    assert (left(over), places(over)) == (["b000"], ["b000", "b001", "b002", "b003", "b004"])


def test_while_the_final_is_played_nobody_has_won() -> None:
    assert left(contest(5, FINAL)) == contest(5).bots


def test_who_is_among_the_first_more_often_goes_on_whatever_its_chips() -> None:
    games = ({"b000": 999, "b001": 0, "b002": -1}, {"b000": -2, "b001": 300, "b002": 200})
    games += ({"b000": 0, "b001": 110, "b002": 200},)
    now = contest(3, stage(until=2, repeat=3))
    records = {game.path: played(game, scores) for game, scores in zip(due(now, BLANK), games, strict=True)}
    assert left(now._replace(records=records)) == ["b001", "b002"]


def test_equals_for_the_second_place_are_decided_by_the_seed_alone() -> None:
    def second(seed: bytes) -> str:
        now = contest(3, stage(until=2), seed)
        (game,) = due(now, BLANK)
        return left(now._replace(records={game.path: played(game, {"b000": 300, "b001": 7, "b002": 7})}))[1]

    seeds = [bytes([number]) for number in range(20)]
    assert [second(seed) for seed in seeds] == [second(seed) for seed in seeds]
    assert {second(seed) for seed in seeds} == {"b001", "b002"}


@pytest.mark.parametrize(
    ("scores", "advanced"),
    [
        ((300, 200, 0, -1, -2), [1, 1, 0, 0, 0]),
        ((120, 80, 80, 0), [1, 0.5, 0.5, 0]),
        ((90, 90, 90), [2 / 3] * 3),
        ((795, 0, -1, -1, -3), [1, 1, 0, 0, 0]),
        ((795, -1, -1, -1, 0), [1, 0, 0, 0, 1]),
    ],
)
def test_a_tie_for_second_place_is_a_share_of_advancing(scores: tuple[int, ...], advanced: list[float]) -> None:
    assert shares(scores) == pytest.approx(advanced)


@given(st.lists(st.integers(-4, 6), min_size=3, max_size=5), st.integers(1, 2))
def test_shares_are_what_the_lots_come_to_in_the_mean(scores: list[int], advance: int) -> None:
    lots = list(permutations(range(len(scores))))
    times = Counter(seat for lot in lots for seat in placing(tuple(scores), lot)[:advance])
    assert shares(tuple(scores), advance) == pytest.approx([times[seat] / len(lots) for seat in range(len(scores))])
