"""Each worker and its bots share the cores that they are given, and the choice is shown and recorded."""

import json
import os
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import trio
from command import croupier, cup_in
from helpers import SAMPLES, SEED, built, fixture_of, level, workers_of

from host.backends.load import busy_cores
from host.backends.local import local_workers
from host.backends.placement import (
    Placement,
    PlacementRequest,
    ordered_cores,
    parse_cores,
    place,
    placement_request,
    quota_of,
    usable_cores,
)
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.monitor import running_monitor
from host.games import GAMES
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.sandbox.launch import starting_on
from host.sandbox.process_tree import descendants

EIGHT = range(8)


@pytest.mark.parametrize(
    ("request_", "words", "cores"),
    [
        (PlacementRequest(), "8 workers, each on a core of its own", tuple((core,) for core in EIGHT)),
        (
            PlacementRequest(workers=20),
            "8 workers instead of 20 (8 cores are usable), each on a core of its own",
            tuple((core,) for core in EIGHT),
        ),
        (
            PlacementRequest(workers=9, pondering=True),
            "8 workers instead of 9 (8 cores are usable) on any core (bots may ponder)",
            (),
        ),
        (PlacementRequest(workers=2), "2 workers, each on a core of its own", ((0,), (1,))),
        (PlacementRequest(pondering=True), "8 workers on any core (bots may ponder)", ()),
        (PlacementRequest("free"), "8 workers on any core", ()),
        (PlacementRequest(workers=25, models=True), "25 workers on any core (bots ask models)", ()),
        (
            PlacementRequest("core", workers=25, models=True),
            "8 workers instead of 25 (8 cores are usable), each on a core of its own",
            tuple((core,) for core in EIGHT),
        ),
        (PlacementRequest("free", workers=20), "20 workers on any core", ()),
        (PlacementRequest("core", workers=1), "1 worker on a core of its own", ((0,),)),
        (
            PlacementRequest("core", workers=20),
            "8 workers instead of 20 (8 cores are usable), each on a core of its own",
            tuple((core,) for core in EIGHT),
        ),
        (PlacementRequest(cores=3), "2 workers, each on 3 cores of its own", ((0, 1, 2), (3, 4, 5))),
        (PlacementRequest(workers=1, cores=3), "1 worker on 3 cores of its own", ((0, 1, 2),)),
        (PlacementRequest(cores=100), "1 worker on 8 cores of its own", (tuple(EIGHT),)),
    ],
)
def test_workers_are_placed_as_asked(
    request_: PlacementRequest, words: str, cores: tuple[tuple[int, ...], ...]
) -> None:
    placement = place(request_, EIGHT, 8)
    assert (str(placement), placement.cores) == (words, cores)


def test_a_quota_that_names_no_cores_places_no_worker() -> None:
    assert place(PlacementRequest(), EIGHT, 2) == Placement(2, reason="2 of 8 cores by quota")
    assert place(PlacementRequest("core"), EIGHT, 2) == Placement(2, ((0,), (1,)))


def test_physical_cores_come_before_their_sibling_threads(tmp_path: Path) -> None:
    for core in EIGHT:
        (tmp_path / f"cpu{core}/topology").mkdir(parents=True)
        (tmp_path / f"cpu{core}/topology/thread_siblings_list").write_text(f"{core % 4},{core % 4 + 4}\n")
    assert ordered_cores(EIGHT, tmp_path) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert ordered_cores({1, 4, 5, 6}, tmp_path) == [1, 4, 6, 5]
    assert ordered_cores({3, 1}, tmp_path / "absent") == [1, 3]
    assert parse_cores("0-2,5\n") == {0, 1, 2, 5}


def test_the_least_quota_of_all_groups_counts(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert quota_of(inner) == float("inf")
    (inner / "cpu.max").write_text("max 100000\n")
    assert quota_of(inner) == float("inf")
    (tmp_path / "outer" / "cpu.max").write_text("250000 100000\n")
    assert quota_of(inner) == 2.5
    (tmp_path / "cpu.cfs_quota_us").write_text("50000\n")
    (tmp_path / "cpu.cfs_period_us").write_text("100000\n")
    assert quota_of(inner) == 0.5


def test_an_affinity_mask_is_respected() -> None:
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(allowed)})
        assert usable_cores() == 1
        assert ordered_cores(os.sched_getaffinity(0)) == [max(allowed)]
        assert 0 <= trio.run(busy_cores) < 2
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.usefixtures("workers_of_users")
def test_a_worker_and_its_bots_share_the_core_and_no_worker_shares_it() -> None:
    bots = [built(SAMPLES / "cardshark" / name) for name in ("davey.c", "cautious.c")]
    setup = WorkerSetup(
        GAMES["cardshark"], GAMES["cardshark"].presets["thread"], tuple(bots), SEED, level(), placement="core"
    )

    before = {worker.pid for worker in workers_of(os.getpid())}  # those that another test keeps

    async def seen() -> list[set[int]]:
        """Return the cores of each worker with its bots."""
        async with local_workers(setup, print, 0) as hands:
            for nth in range(hands.count):
                await hands.submit(Job(fixture_of("cardshark", bots, 1, f"test/{nth}")))
            for _ in range(hands.count):
                await hands.next_result()
            return [
                set().union(*(os.sched_getaffinity(each.pid) for each in (worker, *descendants(worker.pid))))
                for worker in workers_of(os.getpid())
                if worker.pid not in before
            ]

    assert sorted(trio.run(seen), key=min) == [{core} for core in sorted(os.sched_getaffinity(0))[: usable_cores()]]


@pytest.mark.long
def test_the_placement_is_shown_and_recorded(tmp_path: Path) -> None:
    for placement, words in (("core", "1 worker on a core of its own"), ("free", "1 worker on any core")):
        cup = cup_in(tmp_path / placement, more=f'[run]\nworkers = 1\nplacement = "{placement}"\n')
        done = croupier("run", "-C", cup)
        assert f" · {words} · " in done.out
        assert f" · {words} · " in croupier("status", "-C", cup).out
        assert json.loads(croupier("status", "-C", cup, "--json").out)["workers"] == words


def test_an_unknown_placement_is_refused(tmp_path: Path) -> None:
    cup = cup_in(tmp_path / "cup", more='[run]\nplacement = "cores"\n')
    refused = croupier("run", "-C", cup)
    assert refused.code == 3
    assert 'placement = "cores"' in refused.first


def test_a_bot_that_asks_for_cores_gets_them_and_others_do_not() -> None:
    one, two = (built(SAMPLES / "cardshark" / name) for name in ("davey.c", "cautious.c"))
    cores = sorted(os.sched_getaffinity(0))[:2]

    async def seen() -> list[set[int]]:
        """Return the cores of each bot's sandbox in a worker that has two cores."""
        bots = (one, two.with_keys(cores=2))
        setup = WorkerSetup(GAMES["cardshark"], GAMES["cardshark"].presets["thread"], bots, SEED, level())
        async with running_monitor() as watcher, AsyncExitStack() as stack:
            with starting_on(cores[:1]):
                pool = BotPool(setup, stack, watcher, cores)
                return [os.sched_getaffinity((await pool.sandbox(bot)).pid) for bot in bots]

    assert trio.run(seen) == [set(cores[:1]), set(cores)]


def test_a_worker_has_room_for_the_bot_that_asks_for_most_cores() -> None:
    bots = tuple(BuiltBot(BotSpec(name=f"bot {cores}", cores=cores), (), "", "") for cores in (1, 4, 2))
    setup = WorkerSetup(GAMES["cardshark"], GAMES["cardshark"].presets["thread"], bots, SEED, level())
    assert placement_request(setup, 3) == PlacementRequest("auto", 3, cores=4)
