"""The scheduler of a season: who gets tables, who does not, and that nothing else decides."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from helpers import breadth
from hypothesis import given, settings
from hypothesis import strategies as st

from host.season.rounds.book import Round, RoundSums, SeasonTotals
from host.season.rounds.round_loop import costs_of, due_at
from host.season.rounds.scheduler import (
    FIRST_TABLES,
    LIFE_TABLES,
    RESTS_AFTER,
    UNIFORM_EVERY,
    Meeting,
    Player,
    RoundTerms,
    Sums,
    next_round,
)
from host.season.rounds.verify_rounds import PlannedRound, first_difference

ELO = 173.7178
NOTHING_PLAYED = Sums({}, {}, {})


def field(count: int, since: int = 1) -> list[Player]:
    """Return versions of as many authors."""
    return [Player(f"bot{nth}-1", f"author{nth}", since) for nth in range(count)]


def play(meetings: Sequence[Meeting], strengths: Mapping[str, float], luck: random.Random) -> Counter[object]:
    """Return the orders of the tables of a round, drawn by the model of the ratings."""
    orders = Counter[object]()
    for labels, tables in meetings:
        for _ in range(tables):
            # The exponential race: the first to arrive is chosen with a probability that is its part of all strengths.
            times = {label: luck.expovariate(10 ** (strengths.get(label, 0) / 400)) for label in labels}
            orders[tuple((label,) for label in sorted(times, key=times.__getitem__))] += 1
    return orders


def after(sums: Sums, meetings: Sequence[Meeting], orders: Counter[object]) -> Sums:
    """Return the sums after a round."""
    tables = Counter(sums.tables)
    for labels, count in meetings:
        tables.update(dict.fromkeys(labels, count))
    return Sums(Counter(sums.orders) + orders, dict(tables), sums.crashes)  # type: ignore[arg-type, operator]


def season(
    players: Sequence[Player], strengths: Mapping[str, float], rounds: int, terms: RoundTerms, seed: int = 1
) -> tuple[Sums, list[PlannedRound]]:
    """Play a season; return its sums, and its rounds as they are stored."""
    luck, sums, stored = random.Random(seed), NOTHING_PLAYED, list[PlannedRound]()
    for number in range(1, rounds + 1):
        each = terms._replace(number=number)
        meetings = next_round(players, sums, each)
        stored.append(PlannedRound(tuple(players), sums, each, meetings))
        sums = after(sums, meetings, play(meetings, strengths, luck))
    return sums, stored


def tables_of(meetings: Sequence[Meeting]) -> Counter[str]:
    """Count the tables of each version."""
    found = Counter[str]()
    for labels, tables in meetings:
        found.update(dict.fromkeys(labels, tables))
    return found


def situation(seed: int) -> tuple[list[Player], Sums, RoundTerms]:
    """Draw a round of any season: versions, earlier results that need not follow from earlier rounds, and terms."""
    luck = random.Random(seed)
    count, authors = luck.randint(0, 14), luck.randint(1, 14)
    players = [Player(f"b{nth}-1", f"a{luck.randint(0, authors)}", luck.randint(1, 9)) for nth in range(count)]
    labels = [each.label for each in players] + ["gone-1", "gone-2"]
    orders, tables = Counter[object](), Counter[str]()
    for _ in range(luck.randint(0, 25)):
        some, times = luck.sample(labels, luck.randint(2, min(4, len(labels)))), luck.randint(1, 40)
        drawn = luck.random() < 0.3
        orders[(tuple(some[:2]), *((each,) for each in some[2:])) if drawn else tuple((each,) for each in some)] += (
            times
        )
        tables.update(dict.fromkeys(some, times))
    crashes = {label: luck.randint(0, 4) for label in labels if luck.random() < 0.25}
    terms = RoundTerms(
        number=luck.randint(1, 12),
        seats=luck.randint(2, 5),
        tables=luck.choice([0, 1, 5, luck.randint(0, 300)]),
        places=luck.randint(1, 8),
        meeting=luck.randint(1, 12),
    )
    return players, Sums(orders, tables, crashes), terms  # type: ignore[arg-type]


SITUATIONS = st.integers(0, 1 << 32).map(situation)


@settings(max_examples=60, deadline=None)
@given(SITUATIONS)
def test_every_round_keeps_the_rules(given: tuple[list[Player], Sums, RoundTerms]) -> None:
    players, sums, terms = given
    meetings = next_round(players, sums, terms)
    author = {each.label: each.author for each in players}
    able = {
        each.label for each in players if each.since <= terms.number and sums.crashes.get(each.label, 0) < RESTS_AFTER
    }
    seats = min(terms.seats, len({author[label] for label in able}))
    size = seats * max(1, min(-(-terms.meeting // seats), terms.tables // seats)) if seats else 0
    for labels, tables in meetings:
        assert len(labels) == seats >= 2 and able.issuperset(labels)
        assert len({author[label] for label in labels}) == seats  # versions of one author never meet
        assert tables > 0 and tables % seats == 0  # every version has every seat equally often
    assert sum(each.tables for each in meetings) <= terms.tables
    assert len({frozenset(each.labels) for each in meetings}) == len(meetings)
    played = tables_of(meetings)
    cap = max(2 * size, 2 * terms.tables * seats / max(1, len(able)), terms.tables * seats / (2 * terms.places))
    assert all(count <= cap for count in played.values())
    assert all(count <= size for label, count in played.items() if sums.crashes.get(label, 0))
    if seats >= 2 and terms.tables >= seats:
        assert meetings


@settings(max_examples=60, deadline=None)
@given(SITUATIONS, st.randoms(use_true_random=False))
def test_the_order_of_arrival_decides_nothing(
    given: tuple[list[Player], Sums, RoundTerms], luck: random.Random
) -> None:
    players, sums, terms = given
    mixed = luck.sample(players, len(players))
    orders = luck.sample([*sums.orders.items()], len(sums.orders))
    tables = luck.sample([*sums.tables.items()], len(sums.tables))
    assert next_round(mixed, Sums(dict(orders), dict(tables), sums.crashes), terms) == next_round(players, sums, terms)


def test_the_alphabet_decides_nothing() -> None:
    players, counts = field(6), Counter[str]()
    for number in range(1, 301):
        ((labels, _),) = next_round(players, NOTHING_PLAYED, RoundTerms(number, 2, 10))
        counts.update(labels)
    assert sum(counts.values()) == 600 and all(70 <= counts[each.label] <= 130 for each in players), counts


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_new_versions_get_their_first_tables_at_once(seats: int) -> None:
    old, new = field(20), [Player(f"new{nth}-1", f"new{nth}", 8) for nth in range(3)]
    sums, _ = season(old, {}, 2, RoundTerms(1, seats, 240))
    for number in (8, UNIFORM_EVERY * 2):
        played = tables_of(next_round([*old, *new], sums, RoundTerms(number, seats, 240)))
        assert all(played[each.label] >= FIRST_TABLES for each in new)
    assert not {each.label for each in new} & {*tables_of(next_round([*old, *new], sums, RoundTerms(7, seats, 240)))}


def test_every_version_gets_the_tables_of_its_life_however_it_plays() -> None:
    players = field(30)
    sums, stored = season(
        players, {each.label: 20 * nth for nth, each in enumerate(players)}, 12, RoundTerms(1, 2, 200)
    )
    assert all(sums.tables[each.label] >= LIFE_TABLES for each in players)
    assert sum(each.tables for one in stored for each in one.meetings) == 12 * 200


def test_every_fifth_round_is_spread_evenly_over_the_field() -> None:
    players = field(20)
    strengths = {each.label: 30 * nth for nth, each in enumerate(players)}
    _, stored = season(players, strengths, 10, RoundTerms(1, 2, 200))
    for each in stored:
        counts = tables_of(each.meetings)
        least, most = min(counts[one.label] for one in players), max(counts.values())
        if each.terms.uniform:
            assert most - least <= 10, each.terms
        elif each.terms.number > 3:
            assert most - least > 10, each.terms
    assert [each.terms.number for each in stored if each.terms.uniform] == [5, 10]


def test_candidates_for_the_first_places_get_more_tables_than_others() -> None:
    players = field(40)
    strengths = {each.label: 12 * nth for nth, each in enumerate(players)}
    sums, _ = season(players, strengths, 10, RoundTerms(1, 2, 300, places=4))
    counts = [sums.tables[each.label] for each in players]
    assert sum(counts[-8:]) / 8 > 2 * sum(counts[:20]) / 20


def test_a_strong_version_that_was_unlucky_early_is_found() -> None:
    players = field(40)
    strengths = {each.label: 10.0 * nth for nth, each in enumerate(players)}
    luck, sums = random.Random(3), NOTHING_PLAYED
    for number in range(1, 11):
        meetings = next_round(players, sums, RoundTerms(number, 2, 300, places=4))
        # The strongest version loses all tables of the first round.
        sums = after(sums, meetings, play(meetings, strengths | ({"bot39-1": -2000} if number == 1 else {}), luck))
    assert sums.tables["bot39-1"] > sums.tables["bot10-1"]


def test_a_version_that_crashes_gets_a_meeting_a_round_and_then_rests() -> None:
    players = field(8)
    sums, _ = season(players, {}, 3, RoundTerms(1, 2, 160))
    for crashes in range(1, RESTS_AFTER + 2):
        played = tables_of(next_round(players, sums._replace(crashes={"bot3-1": crashes}), RoundTerms(4, 2, 160)))
        assert played["bot3-1"] <= (10 if crashes < RESTS_AFTER else 0)
        assert sum(played.values()) == 320


def test_an_uncertain_rating_does_not_earn_more_tables_than_the_first_ones() -> None:
    players = [*field(30), Player("new-1", "new", 6)]
    sums, _ = season(players[:-1], {}, 5, RoundTerms(1, 2, 200))
    played = tables_of(next_round(players, sums, RoundTerms(6, 2, 200)))
    assert FIRST_TABLES <= played["new-1"] <= FIRST_TABLES + 10


@pytest.mark.parametrize(("players", "seats"), [
    ([], 2),
    (field(1), 2),
    ([Player("a-1", "ada", 1), Player("b-1", "ada", 1)], 2),
    (field(2, since=2), 2),
])  # fmt: skip
def test_without_two_authors_nobody_plays(players: list[Player], seats: int) -> None:
    assert next_round(players, NOTHING_PLAYED, RoundTerms(1, seats, 100)) == ()


def test_two_versions_play_the_whole_round_with_each_other() -> None:
    (meeting,) = next_round(field(2), NOTHING_PLAYED, RoundTerms(1, 2, 100))
    assert sorted(meeting.labels) == ["bot0-1", "bot1-1"] and meeting.tables == 100


def test_too_few_authors_for_a_table_share_a_smaller_one_if_the_game_allows_it() -> None:
    (meeting,) = next_round(field(3), NOTHING_PLAYED, RoundTerms(1, 4, 100))
    assert len(meeting.labels) == 3 and meeting.tables % 3 == 0
    assert next_round(field(3), NOTHING_PLAYED, RoundTerms(1, 4, 100, fewest=4)) == ()


def test_one_author_with_many_versions_leaves_tables_for_the_others() -> None:
    players = [*field(3), *(Player(f"clone{nth}-1", "cloner", 1) for nth in range(10))]
    for labels, _ in next_round(players, NOTHING_PLAYED, RoundTerms(1, 2, 200)):
        assert sum(label.startswith("clone") for label in labels) <= 1


# Computing the lists again.


@pytest.fixture(scope="module")
def stored() -> list[PlannedRound]:
    """Return the rounds of a season, as they are stored."""
    players = field(12)
    return season(players, {each.label: 25 * nth for nth, each in enumerate(players)}, 6, RoundTerms(1, 2, 80))[1]


def test_the_lists_of_a_season_are_computed_again(stored: list[PlannedRound]) -> None:
    assert first_difference(stored) == "" and len(stored) == 6


def test_the_first_list_that_differs_is_named(stored: list[PlannedRound]) -> None:
    def with_list(number: int, meetings: Sequence[Meeting]) -> str:
        rounds = [*stored]
        rounds[number - 1] = rounds[number - 1]._replace(meetings=tuple(meetings))
        rounds[5] = rounds[5]._replace(meetings=())
        return first_difference(rounds)

    first, *others = stored[2].meetings
    names = " and ".join(first.labels)
    assert (
        with_list(3, others) == f"round 3: the list lacks {first.tables} tables of {names}, which the scheduler plans"
    )
    less = first._replace(tables=first.tables - 2)
    assert with_list(3, [less, *others]) == (
        f"round 3: the list has {less.tables} tables of {names}, and the scheduler plans {first.tables} tables"
    )
    invented = Meeting(("bot0-1", "bot1-1", "bot2-1"), 3)
    assert with_list(3, [first, *others, invented]) == (
        "round 3: the list has 3 tables of bot0-1 and bot1-1 and bot2-1, which the scheduler does not plan"
    )
    assert with_list(3, [first, *others, first]) == f"round 3: the list has the meeting of {names} twice"
    assert with_list(3, [*others, first]) == "round 3: the list has the same meetings in another order"
    assert first_difference(stored[:2] + stored[3:]) == "round 3 is missing: round 4 follows on round 2"


def test_other_results_lead_to_another_list(stored: list[PlannedRound]) -> None:
    sums = stored[3].sums
    more = {(("bot0-1",), ("bot11-1",)): 200.0, (("bot1-1",), ("bot10-1",)): 200.0}
    rounds = [*stored[:3], stored[3]._replace(sums=sums._replace(orders={**sums.orders, **more}))]
    assert first_difference(rounds).startswith("round 4: the list")


@given(st.floats(0, 1e9), st.floats(1, 1e6), st.floats(0, 1e9))
def test_a_clock_that_is_set_back_holds_no_round_for_longer_than_its_interval(
    began: float, every: float, now: float
) -> None:
    assert due_at(began, every, now) <= now + every
    assert due_at(began, every, began) == began + every


# Slow versions.


@pytest.mark.parametrize("cost", breadth([40.0, 5.0, 300.0], 3))
def test_two_slow_versions_take_their_share_of_a_round_and_no_tables_of_others(cost: float) -> None:
    fast, terms = field(16), RoundTerms(1, 2, 400)
    slow = [each._replace(cost=cost) for each in fast[:2]] + fast[2:]
    costs, spent = {each.label: each.cost for each in slow}, list[float]()
    strengths = {each.label: 30.0 * nth for nth, each in enumerate(fast)}
    without, _ = season(fast, strengths, 20, terms)
    with_two, rounds = season(slow, strengths, 20, terms)
    for each in rounds:
        spent.append(sum(tables * sum(costs[label] for label in labels) / 2 for labels, tables in each.meetings))
    had, have = (sum(sums.tables[each.label] for each in slow[2:]) for sums in (without, with_two))
    assert have >= 0.8 * had
    assert all(0 < with_two.tables[each.label] < 0.5 * without.tables[each.label] for each in slow[:2])
    assert 0.8 * terms.tables <= sum(spent) / len(spent) <= 1.2 * terms.tables
    longest = max(
        1.2 * terms.tables, 0.8 * terms.tables + 2 * cost
    )  # a meeting of two tables may be longer than a share
    assert all(0.8 * terms.tables <= each <= longest for each in spent)


@pytest.mark.parametrize(("tables", "authors", "slow"), [(2, 2, 1), (2, 2, 2), (10, 2, 1), (4, 4, 3)])
def test_slow_versions_play_in_every_round_that_would_have_no_meeting_without_them(
    tables: int, authors: int, slow: int
) -> None:
    players = [each._replace(cost=50.0) for each in field(authors)[:slow]] + field(authors)[slow:]
    sums, rounds = season(players, {each.label: 0.0 for each in players}, 40, RoundTerms(1, 2, tables))
    assert all(each.meetings for each in rounds)
    assert {*sums.tables} == {each.label for each in players}


@pytest.mark.parametrize("workers", [2, 4])
def test_a_slow_meeting_makes_a_round_no_longer_than_its_tables_do(workers: int) -> None:
    slow = [each._replace(cost=60.0) for each in field(16)[:2]] + field(16)[2:]
    costs, both = {each.label: each.cost for each in slow}, {each.label for each in slow[:2]}
    _, rounds = season(slow, {each.label: 0.0 for each in slow}, 20, RoundTerms(1, 2, 400))
    for each in rounds:
        times = [tables * sum(costs[label] for label in labels) / 2 for labels, tables in each.meetings]
        has_slow = [bool({*labels} & both) for labels, _ in each.meetings]
        assert has_slow == sorted(has_slow, reverse=True)  # slow meetings begin first
        free = [0.0] * workers  # when each worker has played what it has got; meetings begin in their order
        for time in times:
            free[free.index(min(free))] += time
        longest = max(time for time, (labels, _) in zip(times, each.meetings, strict=True) if not {*labels} & both)
        assert max(free) <= max(sum(times) / workers + longest, max(times))


def test_the_cost_of_a_table_is_that_of_the_middle_of_the_field() -> None:
    assert costs_of({"a": 0.5, "b": 0.5, "c": 2.0, "new": 0.0}) == {"a": 1.0, "b": 1.0, "c": 4.0, "new": 1.0}
    assert costs_of({}) == {}


def test_the_pace_of_a_uniform_round_counts_for_uniform_rounds_and_for_new_versions() -> None:
    totals = SeasonTotals()
    before, uniform = {"a": 2.0, "b": 4.0, "silent": 0.0}, {"a": 1.0, "b": 2.0, "new": 3.0, "silent": 1.0}
    for number, seconds in ((UNIFORM_EVERY - 1, before), (UNIFORM_EVERY, uniform)):
        sums = RoundSums((), dict.fromkeys(seconds, 10), {}, {}, (), 0.0, seconds)
        totals.add(Round(number, "finished", RoundTerms(number, 2, 20), (), (), sums=sums))
    assert (totals.pace, totals.uniform_pace) == ({"a": 0.2, "b": 0.4, "new": 0.3, "silent": 0.1}, 0.5)
