"""Standings: the order by the rules of each kind of stage, its certainty, and its display."""

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from stage_configs import recorded as field
from stage_configs import stage_of
from stage_configs import standings_of as standings_told

from host.base.errors import UserError
from host.base.format import THIN_SPACE
from host.bots.values import Usage
from host.games import GAMES
from host.journal.state import RunState, StageState, StageStatus, Terms
from host.play import table_plans
from host.play.lines import pack_lines
from host.play.records import Fixture, Record, Result, Undecided, undecided_record
from host.rating.statistics import is_certain
from host.report import terminal
from host.report.listings import Listing, cells_of
from host.report.pictures import picture_lines
from host.report.terminal import Column, Table, shortened, text_of
from host.report.timelines import Ranks, SumsSoFar, UntilAllMet, early_order, head_to_head, ranks
from host.results.course import NOTHING, Position, StageOutcome, course
from host.results.overall import overall
from host.results.standings import Row, by_pair, reordered, standings
from host.stages import KINDS, stage_from_json
from host.stages.groups import GROUPS as GROUPS_KIND
from host.stages.groups import Groups
from host.stages.kind import BLANK, Field, StageConfig
from host.stages.knockout import KNOCKOUT
from host.tournament.progress import Progress, Tally

IDLE = Usage(0, 0.0, 0.0, 0.0, 0, 0, (0,) * 26)


def played(path: str, results: Mapping[str, Result], **more: Any) -> Record:
    """Return a record that contains only results."""
    return Record(path, dict(results), {}, dict.fromkeys(results, IDLE), (), (), b"")._replace(**more)


def tourney(number: int, chips: Mapping[str, int], **more: Any) -> Record:
    """Return the record of a tourney with these final chips."""
    return played(f"tables/{number}", {bot: Result(5, 0, 0, 0, 0, left) for bot, left in chips.items()}, **more)


def block(
    pair: str, wins: tuple[int, int], hands: tuple[int, int] = (0, 0), tables: int = 0, number: int = 1
) -> Record:
    """Return the record of tables of two bots, each named by a letter."""
    tables = tables or sum(wins)
    results = (Result(tables, won, sum_, 0, 3, 0) for won, sum_ in zip(wins, hands, strict=True))
    return played(f"league/{pair}/{number}", dict(zip(pair, results, strict=True)))


def sureness(rows: list[Row], records: list[Record]) -> list[str]:
    """Return the statements of a stage's standings about the certainty of the order."""
    stage = {"name": "stage", "kind": rows[0].kind, "rank_by": []}
    return standings_told(stage, records, field(row.bot for row in rows)).sure


def told(usage: Usage) -> Row:
    """Return the row of a bot with this usage."""
    (row,) = standings(
        stage_of("mixed-tables", rank_by=["score"]), [tourney(1, {"A": 200}, usage={"A": usage})], field("A")
    )
    return row


def usage(walls: Mapping[int, int], slowest: float, cpu: float = 0.0) -> Usage:
    """Return usage with answers by bucket: `{8: 990}` are 990 answers below 256 µs."""
    return Usage(sum(walls.values()), 0.0, slowest, cpu, 0, 1, tuple(walls.get(bucket, 0) for bucket in range(26)))


def ranking(rows: Iterable[Row]) -> list[tuple[int, str]]:
    return [(row.rank, row.bot) for row in rows]


# Tables.


def test_the_mean_over_tourneys_ranks() -> None:
    records = [tourney(1, {"A": 500, "B": 200}), tourney(2, {"A": 0, "B": 400})]
    rows = standings(stage_of("mixed-tables", rank_by=["score"]), records, field("AB"))
    assert [(row.bot, row.points.value) for row in rows] == [("B", 300), ("A", 250)]


def test_the_interval_is_about_the_mean() -> None:
    luck = Random(1)
    records = [tourney(number, {"A": luck.randrange(400)}) for number in range(100)]
    (row,) = standings(stage_of("mixed-tables", rank_by=["score"]), records, field("A"))
    assert row.first.low is not None and row.first.high is not None and row.points.value is not None
    assert row.first.low < row.points.value < row.first.high and row.first.high - row.first.low == pytest.approx(
        2 * 1.96 * 115 / 10, rel=0.15
    )


def test_one_tourney_says_nothing_of_luck() -> None:
    (row,) = standings(stage_of("mixed-tables", rank_by=["score"]), [tourney(1, {"A": 900})], field("A"))
    assert (row.points.value, row.first.low, row.first.high) == (900, None, None)


def test_a_game_without_winners_has_no_wins() -> None:
    (row,) = standings(stage_of("mixed-tables", rank_by=["score"]), [tourney(1, {"A": 900})], field("A"))
    assert (row.wins, row.rate) == (None, None)


@given(st.permutations(range(8)))
@settings(max_examples=25)
def test_the_order_in_which_fixtures_ended_does_not_matter(order: list[int]) -> None:
    luck = Random(2)
    records = [tourney(number, {bot: luck.randrange(400) for bot in "ABC"}) for number in range(8)]
    mixed = [records[number] for number in order]
    stage = stage_of("mixed-tables")
    assert standings_told(stage, records, field("ABC")) == standings_told(stage, mixed, field("ABC"))


# Round robin.


def test_games_rank_before_hands() -> None:
    records = [block("AX", (10, 10), (41, 40)), block("BX", (12, 8), (40, 41)), block("CX", (10, 10), (44, 40))]
    rows = standings(stage_of("round-robin", rank_by=["win_rate", "total_score"]), records, field("ABC"))
    assert [(row.bot, row.wins, row.points.value) for row in rows] == [("B", 12, 40), ("C", 10, 44), ("A", 10, 41)]


def test_equals_share_a_rank_and_keep_the_given_order() -> None:
    records = [block("AX", (5, 5)), block("BX", (5, 5)), block("CX", (4, 6)), block("DX", (6, 4))]
    rows = standings(stage_of("round-robin", rank_by=["win_rate", "total_score"]), records, field("CBAD"))
    assert ranking(rows) == [(1, "D"), (2, "B"), (2, "A"), (4, "C")]


def test_equal_sums_share_a_rank_however_they_are_spread_over_opponents() -> None:
    spread = {"AX": 11, "AY": 11, "BX": 5, "BY": 17, "CX": 0, "CY": 22}
    records = [block(pair, (won, 0), (won, 0), tables=50) for pair, won in spread.items()]
    rows = standings(stage_of("round-robin", rank_by=["score"]), records, field("ABCXY"))
    assert ranking(rows)[:3] == [(1, "A"), (1, "B"), (1, "C")]


def test_tourneys_with_equal_sums_share_a_rank() -> None:
    ends = [(19, 131, 192), (95, 124, 164), (8, -133, -234)]
    records = [tourney(number, dict(zip("ABC", chips, strict=True))) for number, chips in enumerate(ends, 1)]
    rows = standings(stage_of("mixed-tables"), records, field("ABC"))
    assert ranking(rows) == [(1, "A"), (1, "B"), (1, "C")]


def test_a_draw_is_a_win_for_nobody() -> None:
    rows = standings(stage_of("round-robin", rank_by=["win_rate"]), [block("AB", (4, 3), tables=10)], field("AB"))
    assert [(row.tables, row.wins, row.rate) for row in rows] == [(10, 4, 0.4), (10, 3, 0.3)]


def test_who_has_played_more_is_not_ahead_for_that() -> None:
    records = [block("AX", (60, 40)), block("BX", (7, 3))]
    assert ranking(standings(stage_of("round-robin", rank_by=["win_rate", "total_score"]), records, field("AB"))) == [
        (1, "B"),
        (2, "A"),
    ]


def test_who_has_not_played_is_last_and_says_so() -> None:
    rows = standings(stage_of("round-robin", rank_by=["win_rate"]), [block("AB", (0, 9))], field("CAB"))
    assert [(row.bot, row.note) for row in rows] == [("B", ""), ("A", ""), ("C", "has not played yet")]


def test_nothing_played_is_no_reason_to_fail() -> None:
    found = standings_told(stage_of("round-robin"), [], field("AB"))
    assert [row.tables for row in found.rows] == [0, 0] and found.sure == []


def test_an_unknown_measure_is_refused() -> None:
    stage = stage_from_json({"kind": "round-robin", "name": "s", "rank_by": ["elo"]})
    assert stage.rank_by == ("elo",)
    for word, kind, why in (("luck", UserError, "C018"), ("+", ValueError, "way to rank")):
        with pytest.raises(kind, match=why):
            stage_from_json({"kind": "round-robin", "name": "s", "rank_by": [word]})


def test_places_won_elsewhere_rank_and_who_has_none_comes_after() -> None:
    rows = standings(
        stage_of("knockout", rank_by=["win_rate", "total_score"]),
        [block("AB", (9, 1)), block("CX", (8, 2))],
        field("ABC"),
    )
    assert ranking(reordered(rows, ["B", "C"], {})) == [(1, "B"), (2, "C"), (3, "A")]
    equal = dict.fromkeys("BC", (1.0,))
    assert ranking(reordered(rows, ["B", "C"], equal)) == [(1, "B"), (1, "C"), (3, "A")]


# Friendly games.


def test_wins_rank_where_the_game_has_winners() -> None:
    rows = standings(stage_of("independent"), [block("AB", (1063, 937))], field("AB"))
    assert [(row.bot, row.wins) for row in rows] == [("A", 1063), ("B", 937)]


def test_seats_rotate_and_every_bot_keeps_its_own_scores() -> None:
    worth = {"A": 10, "B": 20, "C": 30}
    blank = Fixture("cardshark", GAMES["cardshark"].presets["thread"], "independent", "play/5", ("A", "B", "C"), 7, 5)
    (sittings,) = table_plans.independent(blank, b"")
    scores = tuple(tuple(worth[bot] for bot in sitting.bots) for sitting in sittings)
    results = {bot: Result(7, 0, 7 * worth[bot], 0, 30, 0) for bot in sittings[0].bots}
    rows = standings(
        stage_of("independent", rank_by=["score"]), [played("play/5", results, scores=scores)], field("ABC")
    )
    assert [(row.bot, row.points.value) for row in rows] == [("C", 30), ("B", 20), ("A", 10)]


def test_without_single_scores_fixtures_count_as_much_as_they_are_large() -> None:
    results = [Result(30, 0, 300, 0, 0, 0), Result(10, 0, 500, 0, 0, 0)]
    records = [played(f"play/{number}", {"A": result}) for number, result in enumerate(results)]
    (row,) = standings(stage_of("independent", rank_by=["score"]), records, field("A"))
    assert row.points.value == 20 and row.first.low is not None and row.first.low < 20


# Costs.


def test_p99_is_the_upper_edge_of_where_99_of_100_answers_lie() -> None:
    assert told(usage({5: 500, 8: 490, 14: 10}, slowest=0.009)).costs.p99 == 0.000256


def test_one_time_out_in_fifty_is_seen_in_p99() -> None:
    assert told(usage({8: 98, 20: 2}, slowest=1.0004)).costs.p99 == 1.0004


def test_p99_is_never_above_the_slowest_answer() -> None:
    assert told(usage({11: 100}, slowest=0.0011)).costs.p99 == 0.0011


def test_cpu_is_told_by_the_decision() -> None:
    assert told(usage({5: 400}, slowest=0.1, cpu=2.0)).costs.cpu_per_decision == 0.005


def test_who_was_never_asked_has_no_times() -> None:
    assert (told(IDLE).costs.p99, told(IDLE).costs.cpu_per_decision) == (None, None)


def test_faults_are_counted_by_kind_over_all_fixtures() -> None:
    records = [tourney(1, {"A": 0}, faults={"A": {"timeout": 2, "crash": 1}}), tourney(2, {"A": 0}, faults={})]
    records.append(tourney(3, {"A": 0}, faults={"A": {"crash": 4}}))
    (row,) = standings(stage_of("mixed-tables", rank_by=["score"]), records, field("A"))
    assert (row.costs.faults, row.costs.faults_by_kind) == (7, {"crash": 5, "timeout": 2})


def test_a_benched_bot_is_told() -> None:
    records = [tourney(number, {"A": 0}, benched=("A",) if number < 3 else ()) for number in range(5)]
    (row,) = standings(stage_of("mixed-tables", rank_by=["score"]), records, field("A"))
    assert (row.costs.benched, row.note) == (3, "benched in 3 of 5 fixtures")


# Certainty.


def season(strength: Mapping[str, float], tables: int, seed: int = 0) -> list[Record]:
    """Return a round robin in blocks, won according to strength."""
    luck, records = Random(seed), []
    for one, other in combinations(strength, 2):
        chance = strength[one] / (strength[one] + strength[other])
        wins = sum(luck.random() < chance for _ in range(tables))
        records.append(block(one + other, (wins, tables - wins), (3 * wins, 3 * (tables - wins))))
    return records


def cup(means: Mapping[str, float], tourneys: int, seed: int = 0) -> list[Record]:
    """Return tourneys with random chips around these means."""
    luck = Random(seed)
    return [
        tourney(number, {bot: max(0, round(luck.gauss(mean, 100))) for bot, mean in means.items()})
        for number in range(tourneys)
    ]


def said(kind: str, records: list[Record], names: str) -> list[str]:
    return standings_told(stage_of(kind), records, field(names)).sure


def test_the_better_is_said_to_be_ahead() -> None:
    (sentence,) = said("mixed-tables", cup({"A": 200, "B": 260}, 100), "AB")
    assert sentence.startswith("B ahead of A: ") and sentence.endswith(" % sure")


def test_the_better_of_a_league_is_said_to_be_ahead() -> None:
    assert said("round-robin", season({"A": 2, "B": 1}, 2000), "AB") == ["A ahead of B: >99.9 % sure"]


def test_those_who_cannot_be_told_apart_are_named_together() -> None:
    first, second = said("round-robin", season({"A": 9, "B": 3, "C": 3, "D": 3}, 300), "ABCD")
    assert first.startswith("A ahead of ")
    assert re.fullmatch(r"[BCD] ahead of [BCD] \([BCD] between them\): [0-9.]+ % sure, 98\.5 % needed", second)


def test_of_many_only_the_first_and_the_last_are_named() -> None:
    names = "ABCDEFGH"
    (sentence,) = said("mixed-tables", cup(dict.fromkeys(names, 200), 3), names)
    assert " (6 bots between them): " in sentence
    (sentence,) = said("mixed-tables", cup(dict.fromkeys("ABCDE", 200), 3), "ABCDE")
    assert re.search(r"\([A-E], [A-E] and [A-E] between them\)", sentence)


@pytest.mark.parametrize("kind", ["mixed-tables", "round-robin"])
def test_identical_bots_are_rarely_told_apart(kind: str) -> None:
    ahead = neighbours = 0
    for seed in range(25):
        equal = dict.fromkeys("ABCDE", 200.0)
        records = cup(equal, 25, seed) if kind == "mixed-tables" else season(equal, 100, seed)
        ahead += sum(map(is_certain, said(kind, records, "ABCDE")))
        neighbours += 4
    assert ahead <= 0.05 * neighbours


# The cross table.


def test_a_pair_is_seen_from_both_sides() -> None:
    pairs = by_pair([block("AB", (60, 30), tables=100), block("AB", (10, 0), number=2)])
    assert (pairs["A", "B"][:4], pairs["B", "A"][:4]) == ((110, 70, 10, 30), (110, 30, 10, 70))


@pytest.mark.parametrize(("wins", "certain"), [((510, 490), False), ((490, 510), False), ((560, 440), True)])
def test_the_order_of_a_pair_is_certain_or_marked(wins: tuple[int, int], certain: bool) -> None:
    pairs = by_pair([block("AB", wins)])
    assert pairs["A", "B"].certain is pairs["B", "A"].certain is certain


def test_only_two_at_a_table_are_a_pair() -> None:
    assert by_pair([tourney(1, {"A": 1, "B": 2, "C": 3})]) == {}


# Advice on how many more fixtures to play.


def advice(records: list[Record], names: str, **stage: Any) -> list[Any]:
    config = stage_of(**{"kind": "round-robin"} | stage)
    return [tuple(each) for each in standings_told(config, records, field(names)).advice]


def test_neighbours_that_are_too_close_say_how_many_tables_would_tell() -> None:
    ((bots, sure, needed, played, unit),) = advice([block("AB", (520, 480))], "AB")
    assert (bots, played, unit) == (("A", "B"), 1000, "tables_per_pair") and 0.85 < sure < 0.91
    assert 2_000 < needed < 3_200


def test_equals_are_as_good_as_equal_and_the_certain_need_nothing() -> None:
    assert [each[2] for each in advice([block("AB", (500, 500))], "AB")] == [None]
    assert advice([block("AB", (600, 400))], "AB") == []


def test_tourneys_are_counted_in_tourneys() -> None:
    ((_, _, needed, played, unit),) = advice(cup({"A": 200, "B": 220}, 100), "AB", kind="mixed-tables")
    assert (played, unit) == (100, "tourneys") and needed > 100


def test_advice_is_one_line_for_people() -> None:
    records = [block("AB", (520, 480)), block("BC", (510, 490)), block("AC", (515, 485)), block("CD", (500, 500))]
    found = standings_told(stage_of("round-robin"), records, field("ABCD"), status=StageStatus.FINISHED)
    lines = terminal.advised(found.advice)
    assert lines[0].startswith("certain at about ") and " tables a pair, now 1\u202f000" in lines[0]


def test_verbose_standings_tell_faults_by_kind_and_every_close_order() -> None:
    records = [block("AB", (520, 480)), block("CD", (500, 500))]
    records[0] = records[0]._replace(faults={"B": {"timeout": 2, "illegal": 1}})
    found = standings_told(stage_of("round-robin"), records, field("ABCD"), status=StageStatus.FINISHED)
    lines = list(terminal.details(found.rows, found.advice))
    assert lines[0] == "B: 2 timeout, 1 illegal"
    assert len(lines) == 1 + len(found.advice) and all("certain at " in line for line in lines[1:])
    closest = (
        "C ahead of D: 50 % sure, 98.5 % needed; now 1\u202f000 tables a pair, certain at more than a hundred times"
    )
    assert closest in lines


# Groups.


def game(group: str, number: int, chips: Iterable[int]) -> Record:
    """Return a game of a group."""
    results = {bot: Result(1, 0, left, left, left, left) for bot, left in zip(group, chips, strict=True)}
    return played(f"groups/1/{group}/{number}", results)


GROUPS = Groups(name="groups", until=5)


def test_in_groups_the_share_of_games_in_which_a_bot_advances_is_first_and_chips_are_second() -> None:
    luck = Random(5)
    games = [game("ABC", number, (300 + luck.randrange(90), luck.randrange(300), 100)) for number in range(1, 41)]
    rows = standings_told(GROUPS, games, field("ABC")).rows
    assert rows[0].bot == "A" and rows[0].rate == 1.0
    for row in rows:
        assert row.first.low is not None and row.rate is not None and row.first.high is not None
        assert row.first.low <= row.rate <= row.first.high + 1e-9
        assert row.points.low is not None and row.points.value is not None and row.points.high is not None
        assert row.points.low <= row.points.value <= row.points.high
    assert rows[0].points.high - rows[0].points.low == pytest.approx(2 * 1.96 * 26 / 40**0.5, rel=0.3)  # type: ignore[operator]
    shown_at_all = shown(rows, [])
    assert shown_at_all.count("±") == 2 and "advanced" in shown_at_all


def test_a_single_game_of_a_group_has_no_interval_of_chips() -> None:
    rows = standings_told(GROUPS, [game("ABC", 1, (300, 200, 100))], field("ABC")).rows
    assert [(row.points.low, row.points.high) for row in rows] == [(None, None)] * 3


def test_bots_of_different_groups_are_not_compared() -> None:
    games = [game("ABC", number, (300, 200, 100)) for number in range(1, 21)]
    games += [game("DEF", number, (300, 200, 100)) for number in range(1, 21)]
    found = standings_told(replace(GROUPS, advance=1), games, field("ABCDEF"))
    assert not [sentence for sentence in found.sure if sentence.startswith(("A ahead of D", "D ahead of A"))]
    assert all({*each.bots} <= {*"ABC"} or {*each.bots} <= {*"DEF"} for each in found.advice)


def test_who_does_not_take_part_in_a_stage_is_out_and_not_waiting() -> None:
    rows = standings_told(GROUPS, [game("ABC", 1, (300, 200, 100))], field("ABCDE"), field=[*"ABCE"]).rows
    assert [(row.bot, row.note) for row in rows[3:]] == [("E", "has not played yet"), ("D", "is out")]


def test_while_pairs_are_missing_the_opponents_count() -> None:
    records = [block("AB", (70, 30)), block("AC", (40, 60)), block("DE", (90, 10))]  # D has met only the weak E
    found = standings_told(stage_of("round-robin"), records, field("ABCDE"))
    assert found.so_far.startswith("so far 3 of 10 pairs have met") and not found.advice
    assert next(iter(found.rows[0].estimates)) == "elo"
    over = standings_told(stage_of("round-robin"), records, field("ABCDE"), status=StageStatus.FINISHED)
    assert over.so_far == "" and (over.rows[0].bot, next(iter(over.rows[0].estimates))) == ("D", "win_rate")


EARLY = [
    block("AB", (60, 40)),
    block("CD", (90, 10)),
    block("AC", (55, 45)),
    block("BD", (80, 20)),
    block("AD", (95, 5)),
    block("BC", (50, 50)),
]


def ranks_of(
    stage: StageConfig, records: Sequence[Record], bots: Iterable[str], *, complete: bool = True
) -> Ranks | None:
    """Return the ranks over time that a page shows, with those of the standings at the end."""
    now = {row.bot: row.rank for row in standings_told(stage, records, field(bots)).rows}
    order = UntilAllMet(early_order(stage, records, complete=complete), SumsSoFar(by_rate=True, tourneys=False))
    return ranks(records, "fixtures", order, now)


def test_the_chips_at_its_end_decide_a_tourney_also_if_all_bots_have_played_all_its_tables() -> None:
    records = [
        tourney(nth, chips) for nth, chips in enumerate(({"A": 10, "B": 30}, {"A": 20, "B": 5}, {"A": 7, "B": 7}))
    ]
    pair = head_to_head(records, tourneys=True)["A", "B"]
    assert (pair.tables, pair.won, pair.drawn, pair.lost) == (3, 1, 1, 1)
    order = SumsSoFar(by_rate=False, tourneys=True)
    for record in records:
        order.add(record)
    assert {bot: merit for bot, (merit, _) in order.merits().items()} == {"A": 37 / 3, "B": 42 / 3}


@pytest.mark.parametrize("count", range(1, 6))
def test_the_ranks_over_time_and_the_live_order_are_those_of_the_standings(count: int) -> None:
    some, stage = EARLY[:count], stage_of("round-robin")
    rows = [row for row in standings_told(stage, some, field("ABCD")).rows if row.tables]
    line = ranks_of(stage, EARLY, "ABCD")
    assert line is not None
    assert {bot: places[count - 1] for bot, places in line.of.items() if places[count - 1]} == {
        row.bot: row.rank for row in rows
    }
    tally = Tally()
    for done, record in enumerate([None, *some]):
        tally.add(Progress(stage, done, 6, record, "ABCD"))
    assert tally.early is not None and tally.early.pairs.missing
    strengths = tally.early.strengths()
    assert [strengths[row.bot] for row in rows] == sorted(strengths.values(), reverse=True)


def test_when_all_pairs_have_met_the_results_alone_rank() -> None:
    line = ranks_of(stage_of("round-robin"), EARLY, "ABCD")
    rows = standings_told(stage_of("round-robin"), EARLY, field("ABCD")).rows
    assert line is not None and {bot: places[-1] for bot, places in line.of.items()} == {
        row.bot: row.rank for row in rows
    }


def test_a_bot_with_weak_opponents_is_not_ahead_early_by_its_rate() -> None:
    records = [block("AB", (70, 30)), block("AC", (60, 40)), block("DE", (65, 35)), block("BE", (99, 1))]
    line = ranks_of(stage_of("round-robin"), records, "ABCDE", complete=False)
    assert line is not None and (line.of["A"][-1], line.of["D"][-1]) == (1, 4)


def test_the_ranks_of_very_many_bots_begin_when_all_have_met() -> None:
    bots = [f"b{number}" for number in range(61)]
    records = [block((one, other), (60, 40)) for one, other in combinations(bots, 2)]
    line = ranks_of(stage_of("round-robin"), records, bots)
    assert line is not None and {places[:-1] for places in line.of.values()} == {(None,) * 39}


def test_bots_that_have_not_met_are_not_surely_ordered_early() -> None:
    names = "ABCDEFGHIJ"
    records = [block("AB", (600, 400)), block("CD", (900, 100))]  # 2 of 45 pairs
    found = standings_told(stage_of("round-robin"), records, field(names))
    assert [is_certain(sentence) for sentence in found.sure if "C ahead of A" in sentence] == [False]
    assert "A ahead of B: >99.9 % sure" in found.sure


def test_one_game_has_no_interval() -> None:
    (won, lost) = standings(stage_of("round-robin"), [block("AB", (1, 0))], field("AB"))
    assert (won.rate, won.first.low, won.first.high, lost.first.low) == (1.0, None, None, None)
    assert "±39" not in shown([won, lost], []).replace(" ", "")


def test_bots_out_in_the_same_place_of_their_groups_are_equal_until_chips_tell_them_apart() -> None:
    games = [game("ABCDE", 1, (900, 600, 0, -1, -2)), game("FGHIJ", 1, (800, 700, 5, -1, -2))]
    order = [*"AFGBHCDIEJ"]
    rows = standings_told(GROUPS, games, field("ABCDEFGHIJ"), places=order, status=StageStatus.FINISHED).rows
    assert ranking(rows) == [*zip((1, 2, 3, 4, 5, 6, 7, 7, 9, 9), order, strict=True)]


def cup_set(pair: str, wins: tuple[int, int]) -> Record:
    """Return the record of the first set of a tie."""
    return block(pair, wins)._replace(path=f"cup/{'+'.join(pair)}/set 1/1")


FINAL = Groups(name="final", advance=1, until=1)
TWO_STAGES = {
    "groups": [game("ABCD", 1, (900, 600, 0, -1)), game("EFGH", 1, (800, 700, 0, -1))],
    "final": [game("ABEF", 1, (0, 2400, -1, -2))],
}


def positions_in(run: RunState, names: str, records: Mapping[str, Mapping[str, Record]]) -> list[Position]:
    """Return the positions of a run whose stages have these records."""
    return course(run, field(names), b"", NOTHING._replace(records=records.__getitem__))


def by_path(records: Iterable[Record]) -> dict[str, Record]:
    """Return records by their paths, which may be the same for several."""
    return {f"{record.path} {number}": record for number, record in enumerate(records)}


def outcome(stage: Any, names: Iterable[str], records: Mapping[str, Record], max_faults: int) -> StageOutcome:
    """Return the outcome of the only stage of a run."""
    run = RunState(terms=Terms(max_faults=max_faults), stages=[StageState(stage, field=[*names])])
    (position,) = positions_in(run, "".join(names), {stage.name: records})
    return position.outcome


TWO_STATES = (
    StageState(GROUPS, field=[*"ABCDEFGH"], places=[*"AEFBCGDH"]),
    StageState(FINAL, field=[*"AEFB"], places=[*"BAEF"]),
)
TWO = positions_in(
    RunState(stages=TWO_STATES), "ABCDEFGH", {stage: by_path(games) for stage, games in TWO_STAGES.items()}
)


def test_bots_out_before_the_final_are_ranked_by_how_far_they_came() -> None:
    assert ranking(TWO[-1].standings.rows) == [
        *((1, "B"), (2, "A"), (3, "E"), (4, "F")),
        *((5, "C"), (5, "G"), (7, "D"), (7, "H")),
    ]


def test_overall_the_last_stage_counts_then_the_place_in_it() -> None:
    rows = overall(TWO)
    assert [(row.rank, row.bot, row.stage, row.place, row.tables) for row in rows[:5]] == [
        *((1, "B", "final", 1, 2), (2, "A", "final", 2, 2), (3, "E", "final", 3, 2), (4, "F", "final", 4, 2)),
        (5, "C", "groups", 5, 1),
    ]


AT_MOST_3 = RunState(terms=Terms(max_faults=3))
FAULTY = {"A": {"timeout": 2, "crash": 2}, "B": {"illegal": 3}}


def test_a_bot_with_too_many_faults_is_last_when_the_stage_is_over() -> None:
    records = [block("AB", (70, 30))._replace(faults=FAULTY), block("AC", (60, 40)), block("BC", (50, 50))]
    known = (stage_of("round-robin"), records, field("ABCD"), AT_MOST_3)
    running = standings_told(*known, field=[*"ABC"]).rows
    assert ranking(running) == [(1, "A"), (2, "C"), (3, "B"), (4, "D")] and not running[0].disqualified
    assert running[0].note == "4 faults, more than max_faults = 3: it will be disqualified when the stage is over"
    over = standings_told(*known, field=[*"ABC"], status=StageStatus.FINISHED)
    assert ranking(over.rows) == [(1, "C"), (2, "B"), (3, "A"), (4, "D")]  # B has 3 faults; D is not in the stage
    assert [row.note for row in over.rows if row.disqualified] == ["disqualified: 4 faults, more than max_faults = 3"]
    assert over.rows[0].tables == 200 and not any("A" in sentence.split() for sentence in over.sure)


def test_a_disqualified_bot_does_not_play_the_next_stage_and_the_next_best_takes_its_place() -> None:
    names = [*"ABCDEFGH"]
    records = {
        fixture.path: game("".join(fixture.bots), 1, [1000 - 100 * ord(bot) for bot in fixture.bots])
        for fixture in GROUPS_KIND.due(GROUPS, BLANK, Field(names, b""), {})
    }
    records = {path: record._replace(faults={"A": {"crash": 4}}) for path, record in records.items()}
    all_in, without_a = (outcome(GROUPS, names, records, most) for most in (0, 3))
    assert len(all_in.advancing) == len(without_a.advancing) == 5
    assert all_in.advancing == all_in.places[:5] and "A" in all_in.advancing
    assert without_a.places == [*(bot for bot in all_in.places if bot != "A"), "A"]
    assert without_a.advancing == without_a.places[:5]
    league = outcome(stage_of("round-robin"), "AB", {"": records_of_two()}, 3)
    assert (league.places, league.advancing) == (["B", "A"], ["B"])


def records_of_two() -> Record:
    """Return the record of a pair whose winner has too many faults."""
    return block("AB", (70, 30))._replace(faults=FAULTY)


def test_a_disqualified_bot_is_out_of_later_stages_and_says_why() -> None:
    stages = [stage_of("round-robin"), stage_of("round-robin", name="final")]
    states = (StageState(stages[0], StageStatus.FINISHED), StageState(stages[1], field=[*"BC"]))
    records = [records_of_two(), block("AC", (60, 40)), block("BC", (50, 50))]
    played_stages = {"round-robin": by_path(records), "final": by_path([block("BC", (9, 1))])}
    run = positions_in(replace(AT_MOST_3, stages=states), "ABC", played_stages)
    assert [(row.rank, row.bot, row.note) for row in run[-1].standings.rows][2] == (3, "A", "is out, disqualified")
    assert [(row.bot, row.stage, row.place) for row in overall(run)][2] == ("A", "round-robin", 3)


def test_a_bracket_and_groups_are_lines_on_the_screen() -> None:
    cup = stage_of("knockout", name="cup", set=10, first_to=1)
    records = [cup_set("AC", (6, 4)), cup_set("BD", (3, 7))]
    rows = standings_told(cup, records, field("ABCD"), field=[*"ABCD"]).rows
    assert ranking(rows) == [(1, "A"), (1, "D"), (3, "B"), (3, "C")]  # the final and the tie for place 3 are open
    assert KNOCKOUT.picture and GROUPS_KIND.picture
    bracket = list(picture_lines(KNOCKOUT.picture(cup, "ABCD", records), verbose=False))
    assert bracket[:3] == ["round 1 for places 1 to 4:", "  A  1 : 0  C", "  D  1 : 0  B"]
    assert bracket[3:] == ["final:", "  A  0 : 0  D  open", "for places 3 and 4:", "  C  0 : 0  B  open"]
    lines = list(picture_lines(GROUPS_KIND.picture(GROUPS, "ABCDEFGH", TWO_STAGES["groups"]), verbose=False))
    assert lines[0] == "round 1; each group is ordered by games in which a bot advanced, then by chips:"
    assert [line.split()[-1] for line in lines[1:5]] == ["900", "600", "0", "-1"]


# Output on the screen.


def shown(rows: list[Row], sure: list[str]) -> str:
    return terminal.text_of(terminal.standings_text("Mock Cup · 1\u202f063 tables", rows, sure))


def league(names: Iterable[str]) -> tuple[list[Row], list[Record]]:
    """Return the rows and records of a league with 100 000 tables per pair."""
    records = [
        played(
            f"{one}+{other}", {one: Result(99_999, 60_000, 250_000, 0, 3, 3), other: Result(99_999, 39_999, 0, 0, 3, 3)}
        )
        for one, other in combinations(names, 2)
    ]
    return standings(stage_of("round-robin"), records, field(names)), records


def test_thousands_are_set_apart_and_times_have_units() -> None:
    records = [block("AB", (424_112, 275_888), (1_290_331, 900_000))]
    records[0] = records[0]._replace(usage={"A": usage({8: 1000}, 0.1, cpu=0.011), "B": IDLE})
    lines = shown(standings(stage_of("round-robin"), records, field("AB")), []).splitlines()
    first = "1  A    c           424_112  60.59 %  0.11    1_290_331       0  ≤ 256 µs         11 µs"
    assert lines[2].rstrip() == first.replace("_", THIN_SPACE)


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=9, unique=True))
@settings(max_examples=40)
def test_a_strangers_name_is_harmless_and_the_table_fits(names: list[str]) -> None:
    rows, records = league(names)
    parts = [*terminal.standings_text("head", rows, []), *terminal.pairs_text(names, by_pair(records))]
    lines = terminal.text_of(parts).split("\n")
    assert all(line.replace(THIN_SPACE, " ").isprintable() and cell_len(line) <= 100 for line in lines)


def test_markup_in_a_name_is_only_a_name() -> None:
    rows, _ = league(["[red]x[/red]", "B"])
    assert "[red]x[/red]" in shown(rows, ["[red]x[/red] ahead of B: 99 % sure"])


def test_what_is_not_known_is_a_dash_and_not_a_nought() -> None:
    rows = standings(stage_of("mixed-tables"), [tourney(1, {"A": 200})], field("AB"))
    assert shown(rows, []).splitlines()[2].split()[-5:] == ["200.0", "–", "0", "–", "–"]


def test_sentences_are_broken_between_them_only() -> None:
    rows, _ = league("AB")
    sentence = "A ahead of B: 97 % sure"
    lines = shown(rows, [sentence] * 9).splitlines()[4:]
    assert " · ".join(lines).split(" · ") == [sentence] * 9 and all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "<0.1 µs"),
        (2e-7, "0.2 µs"),
        (1.1e-5, "11 µs"),
        (0.00014, "140 µs"),
        (0.00099951, "1.0 ms"),
        (0.0012, "1.2 ms"),
        (0.3, "300 ms"),
        (1.0004, "1.0 s"),
        (10.0, "10 s"),
        (90_000, "1\u202f500 min"),
    ],
)
def test_a_time_has_a_unit_and_is_never_nought(seconds: float, words: str) -> None:
    assert terminal.duration(seconds) == words


def test_a_pair_that_is_not_certain_is_starred() -> None:
    text = terminal.text_of(terminal.pairs_text("AB", by_pair([block("AB", (502, 498))])))
    assert "50.2 ±3.1 *" in text and "* the order of this pair is less than 98.5 % sure" in text


def test_json_has_what_programs_were_promised() -> None:
    (standing,) = standings(stage_of("mixed-tables"), [tourney(1, {"A": 9})], field("A"))
    row = json.loads(json.dumps(standing.flat()))
    promised = {
        "rank": 1,
        "bot": "A",
        "language": "c",
        "tables": 5,
        "wins": None,
        "score": 9,
        "low": None,
        "high": None,
    }
    assert row.items() >= (promised | {"faults": 0}).items()


def test_a_spreadsheet_takes_no_name_for_a_formula() -> None:
    rows, _ = league(["=1+1", "B"])
    cells = [cells_of(row) for row in rows]
    sheet = Listing("", {}, [*cells[0]], cells, list).csv()
    assert sheet.splitlines()[1].startswith("1,'=1+1,c,ada,99999,60000,")


# Speed.


def test_large_fields_are_ranked_while_one_looks() -> None:
    names = [f"bot{number}" for number in range(50)]
    records = cup({name: 200.0 + 3 * number for number, name in enumerate(names)}, 100)
    started = time.process_time()
    assert len(standings_told(stage_of("mixed-tables"), records, field(names)).rows) == len(names)
    assert time.process_time() - started < 10  # 0.6 s measured


def test_a_whole_season_is_ranked_at_once() -> None:
    records = [record for number in range(10) for record in season(dict.fromkeys("ABCDEFGH", 1.0), 100, number)]
    records = [record._replace(path=f"{record.path}/{number}") for number, record in enumerate(records)]
    started = time.process_time()
    assert len(standings_told(stage_of("round-robin"), records, field("ABCDEFGH")).rows) == 8
    assert time.process_time() - started < 2  # 0.005 s measured


# Tables that repeat others.


def repeating(pair: str, lines: Mapping[str, int], number: int = 1, won: str = "") -> Record:
    """Return the record of tables of two bots: how often each line was played. The first bot wins the lines `won`."""
    tables = [line for line, times in lines.items() for _ in range(times)]
    wins = sum(line in won for line in tables)
    record = block(pair, (wins, len(tables) - wins), tables=len(tables), number=number)
    lines = [pair[:2].encode().ljust(4) + line.encode().ljust(8) + line.encode().ljust(8) for line in tables]
    return record._replace(lines=pack_lines(lines))


def test_tables_count_as_many_as_are_different_if_all_are_repeated_equally_often() -> None:
    (row, _) = standings(stage_of("round-robin"), [repeating("AB", {"x": 200, "y": 200}, won="x")], field("AB"))
    few = standings(stage_of("round-robin"), [block("AB", (1, 1))], field("AB"))[0]
    assert (row.rate, row.tables, row.different) == (0.5, 400, 2)
    assert row.first[1:] == pytest.approx(few.first[1:])


def test_tables_that_another_fixture_repeats_count_once() -> None:
    records = [repeating("AB", {"x": 1, "y": 1}, number, won="xy") for number in (1, 3, 5)]
    assert by_pair(records)["A", "B"][6:] == pytest.approx(by_pair([block("AB", (2, 0))])["A", "B"][6:])
    apart = [repeating(pair, {"x": 1, "y": 1}, won="xy") for pair in ("AB", "AC")]
    assert [row.different for row in standings(stage_of("round-robin"), apart, field("ABC"))] == [4, 2, 2]


def test_a_line_that_wins_half_of_all_tables_makes_nothing_certain() -> None:
    rest = {f"r{number}": 1 for number in range(500)}
    won = "w" + "".join(list(rest)[:250])
    record = repeating("AB", {"w": 500, **rest}, won=won)
    pair = by_pair([record])["A", "B"]
    assert pair.different == 501 and pair.rate > 0.7 and not pair.certain
    assert by_pair([block("AB", (int(pair.rate * 1000), 1000 - int(pair.rate * 1000)))])["A", "B"].certain


@pytest.mark.parametrize("rank_by", [["win_rate"], ["elo"], ["score"], ["total_score"]])
def test_no_ranking_is_certain_by_repetition(rank_by: list[str]) -> None:
    lines = {"x": 200, "y": 200}
    record = repeating("AB", lines, won="xy")
    scores = tuple((1, 0) if table % 2 == 0 else (0, 1) for table in range(400))
    several = [record, record._replace(path="league/AB/401")]
    many = [each._replace(scores=scores) for each in several]
    stage = stage_of("round-robin", rank_by=rank_by)
    found = standings_told(stage, many, field("AB"))
    assert found.repeated == "2 different tables in 800: a table that repeats another is not evidence"
    assert not found.advice and not any("% sure" in sentence and "needed" not in sentence for sentence in found.sure)
    fresh = [block("AB", (400, 0), number=number)._replace(scores=scores) for number in (1, 401)]
    assert "ahead" in standings_told(stage, fresh, field("AB")).sure[0]
    assert not standings_told(stage, fresh, field("AB")).repeated


def test_the_strength_counts_all_tables_and_its_error_the_different_ones() -> None:
    stage, lines = stage_of("round-robin", rank_by=["elo"]), {"x": 60, "y": 40}
    (once,) = (row.first for row in standings(stage, [block("AB", (60, 40))], field("AB")) if row.bot == "A")
    again = [repeating("AB", lines, won="x")]
    (often,) = (row.first for row in standings(stage, again, field("AB")) if row.bot == "A")
    assert often.value == pytest.approx(once.value)
    assert often.high - often.value > 6 * (once.high - once.value)  # type: ignore[operator]


def test_a_table_that_is_too_wide_even_without_spare_columns_has_its_widest_columns_cut() -> None:
    columns = [Column("bot", ["x" * 70, "é"], right=False), Column("status", ["y" * 60, "a"]), Column("#", ["1", "22"])]
    head, first, second = text_of([Table([*columns, Column("more", ["z", "z"], spare=True)])]).split("\n")
    assert first == "x" * 46 + "…  " + "y" * 46 + "…   1"
    assert head.split() == ["bot", "status", "#"] and second == "é" + " " * 94 + "a  22"


@pytest.mark.parametrize("count", [16, 200])
def test_long_names_are_told_apart_where_they_are_shortened(count: int) -> None:
    names = [f"submission_of_team_number_{number}" for number in range(count)]
    shown = {*map(shortened, names)}
    assert len(shown) == count
    assert all(len(name) <= 24 for name in shown)


def test_the_places_of_a_swiss_stage_count_the_points_for_undecided_sets() -> None:
    swiss = stage_of("swiss", rounds=2, tables_per_pairing=10, rank_by=["sets"])
    records, seeds = dict[str, Record](), [*"DCBA"]
    while due := KINDS["swiss"].due(swiss, BLANK, Field(seeds, b""), records):
        for path, bots in ((fixture.path, fixture.bots) for fixture in due):
            records[path] = block("".join(bots), (5, 5))._replace(path=path)
            if {*bots} == {*"BD"}:
                records[path] = undecided_record(path, bots, Undecided("it died"))
    league = StageState(stage_of("round-robin", name="league"), StageStatus.FINISHED, field=[*"ABCD"], places=seeds)
    run = RunState(stages=[league, StageState(swiss, StageStatus.FINISHED, field=seeds)])
    over = positions_in(run, "ABCD", {"league": {}, "swiss": records})[1]
    assert "swiss/1/B+D/1" in records and over.bots == seeds
    assert over.outcome.places == [row.bot for row in over.standings.rows] == [*"DACB"]
