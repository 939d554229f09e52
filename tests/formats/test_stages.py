"""Stages: pure functions that pair all bots as promised for any field, with the same result each time."""

import contextlib
import itertools
import os
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from helpers import SAMPLES, breadth, built, level

from host.backends.local import FixtureQueue, local_workers
from host.backends.shares import MAX_SHARE, Shares
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.values import ModelCost
from host.games import GAMES
from host.games.engine import Table
from host.games.luck import Luck
from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunState, StageState
from host.journal.writer import writing
from host.play.fixture_id import contestants
from host.play.jobs import Job, WorkerSetup, decode_job, encode
from host.play.lines import pack_lines
from host.play.records import BOTS_AT_ONCE, Fixture, Record, Result, Undecided, undecided_record
from host.play.table_plans import PLANS, table_setups
from host.sandbox.levels import UNPROTECTED
from host.sandbox.limits import ModelAccess
from host.sandbox.process_tree import descendants
from host.stages import KINDS, kind_of
from host.stages.agenda import Agenda, Schedule
from host.stages.gauntlet import Gauntlet
from host.stages.groups import Groups
from host.stages.kind import MAX_BLOCK_TABLES, Entrants, Field, Records, StageConfig
from host.stages.knockout import KNOCKOUT, Knockout, picture, reached, seeded
from host.stages.knockout import places as knockout_places
from host.stages.league import League
from host.stages.pairing import round_robin
from host.stages.round_robin import PairTally, RoundRobin
from host.stages.swiss import Swiss
from host.tournament.fixture_size import fewest_tables
from host.tournament.progress import Progress
from host.tournament.run_budget import RunBudget
from host.tournament.stage_runner import Run, run_stage
from protocols.wire import Move

PAZAAK, CARDSHARK = GAMES["pazaak"], GAMES["cardshark"]
BLANK = Fixture("pazaak", PAZAAK.presets["thread"], "", "", (), 0)
SEED = b"a seed for tests"


def league(tables: int = 100, mirror: bool = False) -> RoundRobin:
    return RoundRobin(name="league", tables_per_pair=tables, mirror=mirror)


def knockout(tables: int = 10, first_to: int = 2) -> Knockout:
    return Knockout(name="cup", set=tables, first_to=first_to)


def won(fixture: Fixture, wins: dict[str, int]) -> Record:
    """Return the record of a fixture in which each bot has won a number of tables."""
    results = {bot: Result(fixture.tables, wins[bot], 3 * wins[bot], 0, 3, 3) for bot in fixture.bots}
    return Record(fixture.path, results, {}, {}, (), (), b"")


def by_strength(fixture: Fixture) -> Record:
    """Return the record of a fixture in which the bot with the smaller name wins all tables."""
    best = min(fixture.bots)
    return won(fixture, {bot: fixture.tables * (bot == best) for bot in fixture.bots})


def played_out(stage: StageConfig, field: Field) -> dict[str, Record]:
    """Play a stage to its end; fail if it does not end."""
    records: dict[str, Record] = {}
    for _ in range(1000):
        due = kind_of(stage).due(stage, BLANK, field, records)
        if not due:
            return records
        records |= {fixture.path: by_strength(fixture) for fixture in due}
    raise AssertionError("the stage never ends")


def test_in_a_round_robin_everybody_meets_everybody_for_all_tables() -> None:
    for size in range(2, 12):
        bots = [f"b{n:02}" for n in range(size)]
        tables = Counter[frozenset[str]]()
        for fixture in KINDS["round-robin"].due(league(25_000), BLANK, Field(bots, SEED), {}):
            tables[frozenset(fixture.bots)] += fixture.tables
        assert tables == {frozenset(pair): 25_000 for pair in combinations(bots, 2)}


def test_the_seed_paths_of_a_round_robin_do_not_depend_on_the_order_of_entry() -> None:
    bots = ["c", "a", "b"]
    stage = league()
    one = KINDS["round-robin"].due(stage, BLANK, Field(bots, SEED), {})
    other = KINDS["round-robin"].due(stage, BLANK, Field(bots[::-1], SEED), {})
    assert one == other


def test_names_with_a_plus_do_not_share_a_path() -> None:
    paths = [
        fixture.path
        for fixture in KINDS["round-robin"].due(league(40), BLANK, Field(["a", "a+b", "b", "b+a"], SEED), {})
    ]
    assert len(paths) == len(set(paths)) == 6


def test_seats_alternate_between_the_tables_of_a_pair_across_blocks() -> None:
    fixtures = KINDS["round-robin"].due(league(16 * MAX_BLOCK_TABLES + 3), BLANK, Field(["a", "b"], SEED), {})
    assert len(fixtures) > 16
    seats = [table.bots for fixture in fixtures for table in table_setups(fixture, SEED, [()] * fixture.tables)]
    assert seats[:2] == [("a", "b"), ("b", "a")]
    assert all(one != other for one, other in pairwise(seats))


def test_mirrored_tables_are_the_same_deal_from_the_other_seat() -> None:
    (fixture,) = KINDS["round-robin"].due(league(4, mirror=True), BLANK, Field(["a", "b"], SEED), {})
    first, second, third, _ = table_setups(fixture, SEED, [()] * 4)
    cards = [Table(PAZAAK, table.rules, table.shuffler(SEED)).request for table in (first, second, third)]
    assert cards[0] == cards[1] != cards[2]
    assert first.bots == second.bots[::-1]


def test_a_pair_ends_early_when_its_order_is_certain_and_goes_on_when_not() -> None:
    stage, field = league(16 * MAX_BLOCK_TABLES), Field(["a", "b"], SEED, stop_early=True)
    first = KINDS["round-robin"].due(stage, BLANK, field, {})
    assert len(first) == 1
    sure, even = by_strength(first[0]), won(first[0], {"a": MAX_BLOCK_TABLES // 2, "b": MAX_BLOCK_TABLES // 2})
    assert KINDS["round-robin"].due(stage, BLANK, field, {sure.path: sure}) == []
    (second,) = KINDS["round-robin"].due(stage, BLANK, field, {even.path: even})
    assert second.first == MAX_BLOCK_TABLES + 1


@pytest.mark.parametrize("size", [2, 3, 5, 8, 13, 16])
def test_a_cup_places_everybody_and_the_strongest_first(size: int) -> None:
    bots = [f"b{n:02}" for n in range(size)]
    random.Random(size).shuffle(bots)
    field, stage = Field(bots, SEED), knockout()
    records = played_out(stage, field)
    places = knockout_places(stage, field, records)
    assert sorted(places) == sorted(bots)
    assert places[0] == "b00"
    assert places[-1] == max(bots) or size & (size - 1)  # with byes, the weakest bot may have skipped a round


def test_a_tie_needs_four_sets_of_seven_and_a_drawn_set_does_not_count() -> None:
    stage, field = knockout(first_to=4), Field(["a", "b"], SEED)
    records: dict[str, Record] = {}
    for wins in [(6, 4), (5, 5), (4, 6), (6, 4), (6, 4), (6, 4)]:
        (fixture,) = KINDS["knockout"].due(stage, BLANK, field, records)
        records[fixture.path] = won(fixture, {"a": wins[0], "b": wins[1]})
    assert len(records) == 6
    assert KINDS["knockout"].due(stage, BLANK, field, records) == []


def random_cup(chance: random.Random, size: int) -> tuple[Knockout, Field]:
    """Return a small knockout of a random form, and its field."""
    stage = Knockout(
        name="cup",
        set=chance.randint(1, 60),
        first_to=chance.randint(1, 2),
        elimination=chance.choice(["single", "double"]),
        places=chance.choice(["all", "first"]),
        seeding=chance.choice(["", "drawn"]),
    )
    bots = [f"b{number}" for number in range(size)]
    order = KNOCKOUT.seeded(stage, Entrants(bots, {}, SEED)) if KNOCKOUT.seeded else None
    assert order and sorted(order) == sorted(bots)
    return stage, Field(order, SEED)


def random_result(fixture: Fixture) -> Record:
    """Return a record that depends only on the path of its fixture, also where it is a draw."""
    wins = random.Random(fixture.path).randint(0, fixture.tables)
    one, other = fixture.bots
    return won(fixture, {one: wins, other: fixture.tables - wins})


@pytest.mark.parametrize("seed", breadth(range(200), 20))
def test_a_cup_of_any_form_ends_the_same_in_whatever_order_its_fixtures_end(seed: int) -> None:
    chance = random.Random(seed)
    stage, field = random_cup(chance, chance.randint(1, 12))
    kind, ends = kind_of(stage), list[tuple[list[str], object]]()
    for _ in range(2):
        records: dict[str, Record] = {}
        while due := kind.due(stage, BLANK, field, records):
            for fixture in chance.sample(due, chance.randint(1, len(due))):
                records[fixture.path] = random_result(fixture)
            standing = knockout_places(stage, field, records)
            assert sorted(standing) == sorted(field.bots)
        ranks = reached(stage, field.bots, list(records.values()))
        places = knockout_places(stage, field, records)
        assert [ranks[bot] for bot in places] == sorted(ranks.values(), reverse=True)
        assert stage.places == "first" or len(set(ranks.values())) == len(places)
        ends.append((places, picture(stage, field.bots, [*records.values()])))
    assert ends[0] == ends[1]
    assert KNOCKOUT.size and KNOCKOUT.size(stage, BLANK, len(field.bots)).fixtures <= len(records)


def test_a_drawn_cup_has_an_order_of_its_own_from_the_seed_of_the_tournament() -> None:
    stage, bots = replace(knockout(), seeding="drawn"), [f"b{number}" for number in range(16)]
    orders = [seeded(stage, Entrants(some, {}, seed)) for some in (bots, bots[::-1]) for seed in (SEED, b"another")]
    assert orders[0] == orders[2] != orders[1] == orders[3] and orders[0] != bots
    assert seeded(stage, Entrants(bots, {}, None)) is None


def test_a_cup_is_seeded_by_the_places_of_an_earlier_stage() -> None:
    stage = replace(knockout(), seeding="league")
    entrants = Entrants(["a", "new", "b", "c"], {"league": ["c", "out", "b", "a"], "other": ["a", "b", "c"]}, SEED)
    assert seeded(stage, entrants) == ["c", "b", "a", "new"]
    assert seeded(replace(stage, seeding="", seeds=("b", "new")), entrants) == ["b", "new", "a", "c"]


def test_two_bots_that_are_always_equal_are_separated_by_their_seeds() -> None:
    stage, field = knockout(tables=10), Field(["b", "a"], SEED)
    records: dict[str, Record] = {}
    while due := KNOCKOUT.due(stage, BLANK, field, records):
        records |= {fixture.path: won(fixture, {"a": 5, "b": 5}) for fixture in due}
    assert len(records) == 20 and knockout_places(stage, field, records) == ["b", "a"]


def test_bots_that_meet_again_in_a_double_elimination_continue_the_numbers_of_their_sets() -> None:
    stage, field = replace(knockout(first_to=1), elimination="double"), Field(["a", "b"], SEED)
    records: dict[str, Record] = {}
    for winner in "aba":
        (fixture,) = KNOCKOUT.due(stage, BLANK, field, records)
        records[fixture.path] = won(fixture, {"a": 10 * (winner == "a"), "b": 10 * (winner == "b")})
    assert list(records) == ["cup/a+b/set 1/1", "cup/a+b/set 2/1", "cup/a+b/set 3/1"]
    assert KNOCKOUT.due(stage, BLANK, field, records) == []
    titles = [(part.title, part.ties[0].winner) for part in picture(stage, field.bots, [*records.values()]).rounds]
    assert titles == [("round 1 of the unbeaten", "a"), ("final", "b"), ("second final (bracket reset)", "a")]
    rounds = picture(stage, field.bots, [*records.values()]).rounds
    assert [part.ties[0].first_set for part in rounds] == [1, 2, 3]


def test_a_cup_in_progress_lists_who_still_plays_after_the_decided() -> None:
    stage, field = knockout(), Field(["d", "a", "c", "b"], SEED)
    assert knockout_places(stage, field, {}) == ["d", "a", "c", "b"]


def test_due_is_a_pure_function_a_thousand_times() -> None:
    chance = random.Random(4)
    for _ in range(1000):
        bots = [f"b{n}" for n in range(chance.randint(2, 9))]
        stage = chance.choice(
            [league(chance.randint(1, 30_000)), knockout(chance.randint(1, 20_000), chance.randint(1, 4))]
        )
        field = Field(bots, SEED)
        due = kind_of(stage).due(stage, BLANK, field, {})
        some: Records = {fixture.path: by_strength(fixture) for fixture in due if chance.random() < 0.5}
        again = kind_of(stage).due(stage, BLANK, field, some)
        assert again == kind_of(stage).due(stage, BLANK, field, some)
        assert not {fixture.path for fixture in again} & some.keys()


@pytest.mark.parametrize(
    ("bots", "tables", "most", "fixtures"),
    [
        (2, 40, 40, 1),  # too few to be worth a start of the bots
        (2, 1_000, 63, 16),
        (4, 1_000, 334, 6 * 3),
        (6, 1_000, 500, 15 * 2),
        (7, 1_000, 1_000, 21),
        (2, 100_000, 6_250, 16),
        (3, 100_000, 10_000, 30),  # as in the original competitions
        (8, 100_000, 10_000, 280),
    ],
)
def test_few_pairs_play_smaller_fixtures_so_that_all_cores_have_work(
    bots: int, tables: int, most: int, fixtures: int
) -> None:
    due = KINDS["round-robin"].due(league(tables), BLANK, Field([f"b{n}" for n in range(bots)], SEED), {})
    assert len(due) == fixtures and max(fixture.tables for fixture in due) == most
    assert sum(fixture.tables for fixture in due) == tables * bots * (bots - 1) // 2


def test_the_sets_of_the_original_cup_have_fixtures_of_ten_thousand_tables() -> None:
    due = KINDS["knockout"].due(Knockout(name="cup"), BLANK, Field([f"b{n}" for n in range(8)], SEED), {})
    assert [fixture.tables for fixture in due] == 4 * 10 * [MAX_BLOCK_TABLES]


# Large stages: fixtures are made as workers ask for them, and a record costs the same however many there are.


class Counted(dict[str, Record]):
    """Records that count how often they are asked for one."""

    asked = 0

    def __contains__(self, path: object) -> bool:
        self.asked += 1
        return super().__contains__(path)

    def __getitem__(self, path: str) -> Record:
        self.asked += 1
        return super().__getitem__(path)


LARGE: dict[str, tuple[StageConfig, int, int]] = {
    "round-robin": (league(MAX_BLOCK_TABLES), 500, 124_750),
    "round-robin, early": (league(4 * MAX_BLOCK_TABLES), 100, 4_950),
    "knockout": (knockout(10, first_to=2), 500, 4 * 1_100),
    "groups": (Groups(name="groups", until=5, repeat=20), 500, 20 * 100),
    "knockout, double": (Knockout(name="cup", places="first", elimination="double", best_of=7), 500, 4 * 900),
    "swiss": (Swiss(name="swiss", rounds=7, tables_per_pairing=100), 200, 7 * 100),
    "gauntlet": (Gauntlet(name="gauntlet", references=tuple(f"b{n:03}" for n in range(6)), tables=500), 500, 6 * 494),
    "league": (League(name="league", tables=100), 300, 300),
}


@pytest.mark.long
@pytest.mark.parametrize("name", breadth(sorted(LARGE, key=lambda name: LARGE[name][2]), 4))
def test_a_record_of_a_large_stage_costs_no_more_than_one_of_a_small_stage(name: str) -> None:
    stage, size, fewest = LARGE[name]
    bots, records, chance = [f"b{n:03}" for n in range(size)], Counted(), random.Random(5)
    field = Field(bots, SEED, stop_early="early" in name)
    agenda = Agenda(kind_of(stage).schedule(stage, BLANK, field, records), records)
    waiting, count = list[Fixture](), 0
    assert records.asked <= 5 * size  # nothing but the first fixtures has been made
    while True:
        while len(waiting) < 8 and (due := agenda.next()):
            waiting.append(due.fixture)
        if not waiting:
            break
        ended = waiting.pop(chance.randrange(len(waiting)))
        records[ended.path] = by_strength(ended)
        agenda.played(ended.path)
        count += 1
    assert count >= fewest and agenda.known == count == len(records)
    assert records.asked <= 8 * count + 2 * size


def test_a_schedule_that_yields_a_path_twice_is_refused() -> None:
    def twice() -> Schedule:
        yield [BLANK, BLANK]

    with pytest.raises(ValueError, match="twice"):
        Agenda(twice(), {})


def test_a_league_of_500_bots_is_recorded_from_its_first_fixture(tmp_path: Path) -> None:
    async def play(job: bytes) -> bytes:
        await trio.lowlevel.checkpoint()
        return encode(by_strength(decode_job(job, type(BLANK.rules)).fixture))

    async def run(journal: Journal) -> None:
        queue = FixtureQueue(print, "two workers", 2)
        async with trio.open_nursery() as nursery:

            def watch(progress: Progress) -> None:
                assert progress.known == 124_750
                if progress.done == 20:
                    nursery.cancel_scope.cancel()

            for worker in ("one", "two"):
                nursery.start_soon(queue.feed, worker, play)
            bots = [f"b{n:03}" for n in range(500)]
            await run_stage(league(MAX_BLOCK_TABLES), Field(bots, SEED), Run(BLANK, journal, queue, watch))

    with writing(tmp_path / "run.sqlite") as journal:
        trio.run(run, journal)
        assert 20 <= len(journal.paths("league")) <= 22


def test_short_fixtures_go_to_a_worker_together_and_a_lost_worker_costs_one_of_them() -> None:
    sent, lost = list[list[str]](), list[str]()

    async def play(jobs: Sequence[bytes]) -> Sequence[bytes]:
        await trio.lowlevel.checkpoint()
        fixtures = [decode_job(job, type(BLANK.rules)).fixture for job in jobs]
        sent.append([fixture.path for fixture in fixtures])
        records = [encode(by_strength(fixture)) for fixture in fixtures]
        match len(sent):
            case 2:
                return records[:3]  # the task took too long for the fourth
            case 3:
                return [records[0], b""]  # the worker died
            case _:
                return records

    async def run() -> list[str]:
        queue = FixtureQueue(lost.append, "one worker", 1, at_once=4)

        async def keep_running() -> None:
            while True:
                await queue.feed_several("a worker", play)

        async with trio.open_nursery() as nursery:
            for number in range(20):
                nursery.start_soon(queue.submit, Job(BLANK._replace(path=f"pair/{number}", bots=("a", "b"), tables=1)))
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(keep_running)
            paths = [(await queue.next_result()).path for _ in range(20)]
            nursery.cancel_scope.cancel()
        return paths

    assert sorted(trio.run(run)) == sorted(f"pair/{number}" for number in range(20))
    assert [len(paths) for paths in sent[:4]] == [1, 4, 4, 1]
    assert lost == [f"a worker is lost; {sent[2][1]} is played again"]
    assert [sent[2][1]] in sent  # alone


def test_fixtures_that_come_back_unplayed_leave_no_room_for_more() -> None:
    submitted = 0

    async def play(jobs: Sequence[bytes]) -> Sequence[bytes]:
        await trio.testing.wait_all_tasks_blocked()
        return [encode(by_strength(decode_job(jobs[0], type(BLANK.rules)).fixture))]  # time for the first one only

    async def run() -> None:
        nonlocal submitted
        queue = FixtureQueue(print, "one worker", 1, at_once=4)

        async def submit_many() -> None:
            nonlocal submitted
            for number in range(2 * MAX_SHARE):
                await queue.submit(Job(BLANK._replace(path=f"pair/{number}", bots=("a", "b"), tables=1)))
                submitted += 1

        async with trio.open_nursery() as nursery:
            nursery.start_soon(submit_many)
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(queue.feed_several, "a worker", play)
            for finished in range(1, 50):
                await queue.next_result()
                assert submitted <= MAX_SHARE + finished
            nursery.cancel_scope.cancel()

    trio.run(run)


def fixtures_of(stage: StageConfig, bots: int) -> list[int]:
    """Return the tables of the fixtures that are due first in a stage."""
    return [due.tables for due in kind_of(stage).due(stage, BLANK, Field([f"b{n}" for n in range(bots)], SEED), {})]


@pytest.mark.parametrize(
    ("tables", "fewest", "fixtures"),
    [
        (100_000, 1, 16 * [6250]),
        (100_000, 3500, 16 * [6250]),
        (50_000, 3500, [*13 * [3572], 3564]),
        (1_600, 3500, 4 * [400]),
        (160, 3500, [50, 50, 50, 10]),
        (100_000, "auto", 16 * [6250]),
        (1_600, "auto", 16 * [100]),
    ],
)
def test_a_pair_plays_four_to_sixteen_fixtures_of_enough_tables(
    tables: int, fewest: int | str, fixtures: list[int]
) -> None:
    assert fixtures_of(replace(league(tables), fixture_tables=fewest), 2) == fixtures
    assert fixtures_of(replace(KINDS["swiss"].config(tables_per_pairing=tables), fixture_tables=fewest), 2) == fixtures
    many = replace(league(tables), fixture_tables=fewest)
    assert fixtures_of(many, 7) == fixtures_of(league(tables), 7)  # 21 pairs play at the same time


def test_slow_starts_make_large_fixtures_and_bots_that_start_for_each_question_do_not_count() -> None:
    def bot(language: str, protocol: str = "lines", parallel_tables: int = 1) -> BuiltBot:
        spec = BotSpec(name="a", language=language, protocol=protocol, parallel_tables=parallel_tables)
        return BuiltBot(spec, (), "", "")

    def fewest(*bots: BuiltBot) -> int:
        return fewest_tables(PAZAAK, bots, 2)

    java, c = bot("java"), bot("c")
    assert fewest(c, c) == 150 and fewest(java, java, c) == 3500
    assert fewest(c, c) < fewest(java, c) < fewest(java, java) == fewest(c, java, c, java)
    assert fewest(bot("c", parallel_tables=128), bot("c", parallel_tables=128)) == 5 * fewest(c, c)
    assert fewest(bot("java", parallel_tables=128), bot("c", parallel_tables=1)) == fewest(java, c)
    assert fewest(bot("java", "argv"), bot("python", "argv")) == 1
    assert fewest_tables(GAMES["holdem"], [java] * 5, 5) < fewest_tables(PAZAAK, [java] * 5, 5)


def job(*bots: str) -> Job:
    """Return a job with a fixture of these bots."""
    return Job(BLANK._replace(path=f"league/{contestants(bots)}", bots=bots, tables=2))


@pytest.mark.parametrize(("size", "workers"), [(14, 2), (60, 1), (60, 2), (60, 8), (200, 4)])
def test_each_worker_is_handed_the_fixtures_of_few_bots(size: int, workers: int) -> None:
    shares, left = Shares(), [job(*pair) for pair in round_robin([f"b{number:03}" for number in range(size)])]
    total, played, made = len(left), set[str](), 0
    with contextlib.ExitStack() as stack:
        hands = [(stack.enter_context(shares.hand()), dict[str, None]()) for _ in range(workers)]
        waiting = 0
        for turn in itertools.count():
            while left and waiting < workers * MAX_SHARE:
                shares.add(left.pop(0))
                waiting += 1
            if not waiting:
                break
            hand, kept = hands[turn % workers]
            taken = hand.take_similar() if turn >= workers else hand.take_first()
            waiting -= 1
            played.add(taken.fixture.path)
            for bot in taken.fixture.bots:
                made += bot not in kept
                kept.pop(bot, None)
                kept[bot] = None
            for bot in [*kept][: max(len(kept) - BOTS_AT_ONCE, 0)]:
                del kept[bot]
    assert len(played) == total
    assert made / total <= max(0.15, 1.2 * workers * min(size, BOTS_AT_ONCE) / total)


def test_long_fixtures_are_handed_out_in_the_order_of_the_stage_and_those_of_a_lost_worker_are_free_again() -> None:
    shares = Shares()
    for number in range(6):
        shares.add(job("a", f"b{number}"))
    with shares.hand() as slow:
        assert slow.take_first() == job("a", "b0")
        with shares.hand() as lost:
            assert lost.take_similar() == job("a", "b1")
            assert slow.take_first() == job("a", "b2")  # the first of the share of another worker
            with shares.hand() as third:
                assert third.take_similar() == job("a", "b4")  # half of it
                assert lost.take_similar() == job("a", "b3")
                assert lost.take_similar() == job("a", "b5")
            shares.add(job("c", "d"))
            shares.add(job("c", "e"))
            assert lost.take_similar() == job("c", "d")
        assert slow.take_first() == job("c", "e")


@pytest.mark.proof
def test_a_large_field_has_the_same_results_for_any_number_of_workers_and_after_an_interruption(tmp_path: Path) -> None:
    one = built(SAMPLES / "pazaak" / "dumb_bold", "pazaak")
    bots = [one._replace(spec=replace(one.spec, name=f"b{number:02}")) for number in range(BOTS_AT_ONCE + 2)]
    setup, stage, processes = WorkerSetup(PAZAAK, BLANK.rules, tuple(bots), SEED, level()), league(2), list[int]()

    async def play(journal: Journal, workers: int, until: int) -> None:
        def watch(progress: Progress) -> None:
            if progress.done % 50 == 0:
                processes.append(sum(1 for _ in descendants(os.getpid())) // workers)
            if progress.done == until:
                scope.cancel()

        with trio.CancelScope() as scope:
            async with local_workers(setup, print, workers) as pool:
                field = Field([bot.name for bot in bots], SEED)
                await run_stage(stage, field, Run(BLANK, journal, pool, watch))

    def scores(*parts: tuple[int, int]) -> dict[str, Any]:
        path = tmp_path / f"{parts}.sqlite"
        with writing(path) as journal:
            for bot in bots:
                journal.add_bot(RecordedBot.of(bot))
            journal.set_state(RunState(name="league", game="pazaak", seed_sha256="0" * 64, stages=[StageState(stage)]))
            for workers, until in parts:
                trio.run(play, journal, workers, until)
            return {path: record.results for path, record in journal.stage_records("league").items()}

    alone = scores((1, -1))
    assert alone == scores((4, 100), (2, -1))
    assert max(processes) <= 2 * BOTS_AT_ONCE + 4  # a worker, and two in each sandbox


def tourney_tables(bots: list[str], rounds: int) -> tuple[Counter[str], dict[str, int]]:
    """Play a tourney of bots that always stand; return the rounds of each bot and the final chips."""
    rules = CARDSHARK.presets["thread"]
    fixture = Fixture("cardshark", rules, "tourney", "tables/1", tuple(bots), rounds)
    plan = PLANS["tourney"](fixture, SEED)
    played, chips = Counter[str](), dict.fromkeys(bots, rules.chips)
    now = next(plan, None)
    while now is not None:
        (sitting,) = now
        assert sitting.rules.stacks == tuple(chips[bot] for bot in sitting.bots)
        assert 1 <= len(sitting.bots) <= rules.seats
        table = Table(CARDSHARK, sitting.rules, Luck(SEED, sitting.path))
        while table.request is not None:
            # bet everything on every hand: some bots lose all chips
            table.answer(Move("B", table.request.view[4]) if table.request.view[4] else Move("S"))
        assert table.scores is not None
        chips |= dict(zip(sitting.bots, table.scores, strict=True))
        played.update(sitting.bots)
        try:
            now = plan.send([table.scores])
        except StopIteration:
            now = None
    return played, chips


@pytest.mark.parametrize("size", range(1, 11))
def test_in_a_tourney_all_solvent_bots_play_the_same_number_of_rounds(size: int) -> None:
    bots = [f"b{n}" for n in range(size)]
    played, chips = tourney_tables(bots, 5)
    assert all(played[bot] == 5 for bot in bots if chips[bot] >= 10)
    assert all(played[bot] <= 5 for bot in bots)


def test_a_pair_does_not_end_early_because_its_tables_repeat_each_other() -> None:
    blocks = [
        Record(
            f"league/a+b/{first}",
            {"a": Result(100, 60, 60, 0, 1, 1), "b": Result(100, 40, 40, 0, 1, 1)},
            {},
            {},
            (),
            (),
            b"",
        )
        for first in range(1, 10_000, 100)
    ]
    lines = pack_lines([b"as first", b"as other"] * 50)

    def certain(records: list[Record]) -> bool:
        return PairTally(("a", "b"), tuple(records)).certain

    assert certain(blocks)
    assert not certain([block._replace(lines=lines) for block in blocks])


def test_a_run_that_nobody_stops_when_a_budget_is_used_up_does_not_wait(tmp_path: Path) -> None:
    async def run(journal: Journal) -> None:
        model = ModelAccess("small", "http://h", "tiny", "", "", 1, 0, 1, 1.0, True, requests_in_all=1)
        budget = RunBudget(WorkerSetup(GAMES["pazaak"], None, (), b"", UNPROTECTED), [model], lambda _reason: None)
        budget.count(undecided_record("", ("a", "b"), Undecided(""))._replace(models={"a": {"small": ModelCost(1)}}))
        queue = FixtureQueue(print, "no worker", 1)
        with trio.fail_after(60):
            await run_stage(league(1), Field(["a", "b"], SEED), Run(BLANK, journal, queue, print, budget=budget))

    with writing(tmp_path / "run.sqlite") as journal, pytest.raises(RuntimeError, match="requests_in_all = 1"):
        trio.run(run, journal)
