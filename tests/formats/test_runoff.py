"""The ranking `runoff`: an instant run-off, against an election worked out by hand and against every order of counting."""

import json
from itertools import combinations, permutations
from random import Random
from time import process_time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from stage_configs import recorded, stage_of, standings_of

from host.play.records import Record, Result
from host.rating.runoff import RunOff, outlasted
from host.rating.strength import TableOrder


def strict(text: str) -> TableOrder:
    """Return an order from text: `AB=C` has B and C equal."""
    equal: list[list[str]] = []
    for nth, letter in enumerate(text):
        if letter != "=":
            equal[-1].append(letter) if nth and text[nth - 1] == "=" else equal.append([letter])
    return tuple(map(tuple, equal))


def test_an_election_that_was_worked_out_by_hand() -> None:
    # First places: A 8, B 6, C 5, D 2. D goes, its 2 votes to C (7). Then B has the fewest: 4 votes go to C, 2 to A.
    ballots = {"ABCD": 8, "BCAD": 4, "BACD": 2, "CBAD": 5, "DCBA": 2}
    found = outlasted({strict(text): count for text, count in ballots.items()}, "ABCD")
    assert found == {"D": 0, "B": 1, "A": 2, "C": 3}  # A 10, C 11: C wins, although A had the most first places


def test_equal_bots_share_a_vote_and_a_place() -> None:
    assert outlasted({strict("A=BC"): 2, strict("CAB"): 1}, "ABC") == {"A": 0, "B": 0, "C": 0}
    assert outlasted({strict("ABC"): 3, strict("BAC"): 2}, "ABC") == {"C": 0, "B": 1, "A": 2}
    assert outlasted({strict("AB"): 1, strict("CD"): 1, strict("AD"): 1}, "ABCDE") == {
        "B": 0,
        "D": 0,
        "E": 0,
        "C": 3,
        "A": 4,
    }
    assert outlasted({}, "AB") == {"A": 0, "B": 0} and outlasted({}, "") == {}


def by_brute_force(ballots: dict[TableOrder, float], bots: str) -> str:
    """Return the only order of elimination in which each bot has strictly fewer votes than all that are left."""
    right = []
    for order in permutations(bots):
        votes = []
        for nth, bot in enumerate(order[:-1]):
            left = order[nth:]
            ranked = [
                [one for (one,) in ballot if one in left] for ballot in ballots for _ in range(int(ballots[ballot]))
            ]
            count = {one: sum(names[:1] == [one] for names in ranked) for one in left}
            votes.append(all(count[bot] < count[other] for other in left if other != bot))
        if all(votes):
            right.append("".join(order))
    return right[0] if right else ""


def test_the_same_as_trying_every_order_of_elimination() -> None:
    random, compared = Random(7), 0
    for _ in range(60):
        ballots: dict[TableOrder, float] = {}
        for _ in range(random.randint(5, 40)):
            order = tuple((bot,) for bot in random.sample("ABCD", random.randint(2, 4)))
            ballots[order] = ballots.get(order, 0) + 1
        if expected := by_brute_force(ballots, "ABCD"):
            compared += 1
            found = outlasted(ballots, "ABCD")
            assert sorted(found, key=found.__getitem__) == list(expected)
    assert compared > 10


def test_intervals_narrow_with_more_tables_and_never_change() -> None:
    few, many = ({strict("ABC"): n * 5, strict("BAC"): n * 4, strict("CBA"): n * 2} for n in (1, 200))
    small, large = RunOff(few, "ABC"), RunOff(many, "ABC")
    assert [large.interval(bot) for bot in "ABC"] == [(1, 1, 1), (2, 2, 2), (0, 0, 0)]  # B gets the votes of C
    assert small.interval("B").low < 2 and small.interval("B").value == 2
    assert large.sure_ahead("B", "C") == 1 and 0.5 < (small.sure_ahead("B", "C") or 0) < 1
    again = RunOff(dict(reversed(few.items())), "CBA")
    assert [again.interval(bot) for bot in "ABC"] == [small.interval(bot) for bot in "ABC"]


def test_a_league_of_three_is_ranked_by_it_with_its_interval() -> None:
    scores = [(9, 1, 0)] * 5 + [(0, 2, 1)] * 4 + [(0, 1, 2)] * 2
    records = [
        Record(
            f"s/A+B+C/{nth}",
            {
                bot: Result(1, int(score == max(row)), score, score, score, score)
                for bot, score in zip("ABC", row, strict=True)
            },
            {},
            {},
            (),
            (),
            b"",
        )
        for nth, row in enumerate(scores, 1)
    ]
    stage = stage_of("league", rank_by=["runoff"])
    standings = standings_of(stage, records, recorded("ABC"))
    rows = json.loads(json.dumps([row.flat() for row in standings.rows]))
    order = [(row["bot"], row["runoff"]) for row in rows]
    assert order == [("B", 2), ("A", 1), ("C", 0)]  # by points, A would be first
    assert all(row["runoff_low"] <= row["runoff"] <= row["runoff_high"] for row in rows)
    assert rows[0]["runoff_low"] < rows[0]["runoff_high"] and rows[0]["points"] == pytest.approx(15 / 11)


@pytest.mark.proof
@pytest.mark.timing
def test_a_field_of_a_hundred_bots_that_have_all_met_is_counted_in_seconds() -> None:
    bots = [f"b{n:03}" for n in range(100)]
    chance = Random("many")
    ballots = {}
    for one, other in combinations(bots, 2):
        ballots[(one,), (other,)] = float(chance.randint(0, 20))
        ballots[(other,), (one,)] = 20 - ballots[(one,), (other,)]
    began = process_time()
    RunOff(ballots, bots).interval("b000")
    assert process_time() - began < 60


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_only_the_moved_ballots_are_counted_again(seed: int) -> None:
    chance = Random(seed)
    bots = [f"b{n}" for n in range(chance.randint(1, 7))]
    ballots = {}
    for _ in range(chance.randint(0, 12)):
        some = chance.sample(bots, chance.randint(1, len(bots)))
        cuts = sorted(chance.sample(range(1, len(some)), chance.randint(0, len(some) - 1))) if len(some) > 1 else []
        groups = [some[at:to] for at, to in zip([0, *cuts], [*cuts, len(some)], strict=True)]
        ballots[tuple(tuple(sorted(each)) for each in groups)] = float(chance.randint(0, 9))
    left, found = set(bots), {}
    while left:  # all ballots, in each round
        firsts = dict.fromkeys(left, 0.0)
        for order, count in ballots.items():
            best = next((here for equal in order if (here := [bot for bot in equal if bot in left])), [])
            for bot in best:
                firsts[bot] += count / len(best)
        fewest = min(round(count, 9) for count in firsts.values())
        out = {bot for bot in left if round(firsts[bot], 9) == fewest}
        found |= dict.fromkeys(out, len(bots) - len(left))
        left -= out
    assert outlasted(ballots, bots) == found
