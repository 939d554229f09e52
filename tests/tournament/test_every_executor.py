"""Every backend plays a fixture with the same result, and a backend that fails reports it."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import psutil
import pytest
import trio
import trio.testing
from helpers import AMPLE, SAMPLES, SEED, built, fixture_of, level, opened, spec_of, workers_of
from machines import machines

from host.backends.backend import open_backend
from host.backends.kept import KeptWorkers
from host.backends.local import WorkerFailed, local_workers
from host.bots.bot_spec import BuiltBot
from host.games import GAMES
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup, split_lines
from host.play.records import Fixture, Record
from host.sandbox.process_tree import descendants
from host.tournament.stage_runner import Executor, WorkerPool

FIXTURES = 6
Workers = Callable[[], list[psutil.Process]]


@pytest.fixture
def started_workers(workers_of_users: None) -> Workers:
    """Return a function that returns the workers which this test has started: other tests may keep some."""
    others = workers_of(os.getpid())
    return lambda: [worker for worker in workers_of(os.getpid()) if worker not in others]


class Here:
    """An executor that plays in this process."""

    words = "here"

    def __init__(self, pool: BotPool) -> None:
        self._pool = pool
        self._records: list[Record] = []

    async def submit(self, job: Job) -> None:
        """Play one fixture."""
        self._records.append(await self._pool.play(job))

    async def next_result(self) -> Record:
        """Return the next record."""
        return self._records.pop(0)

    @property
    def has_result(self) -> bool:
        """Whether a fixture has ended."""
        return bool(self._records)


@asynccontextmanager
async def here(setup: WorkerSetup, _lost: Callable[[str], None], _workers: int) -> AsyncIterator[Here]:
    """Play in this process."""
    async with opened(setup.game, setup.bots, setup.parallel_tables) as pool:
        yield Here(pool)


@asynccontextmanager
async def on_a_cluster(setup: WorkerSetup, lost: Callable[[str], None], workers: int) -> AsyncIterator[WorkerPool]:
    """Play on the workers of a Dask cluster, which build the bots themselves."""
    specs = [spec_of(SAMPLES / setup.game.name / f"{bot.name}.c") for bot in setup.bots]
    with machines(*(f"machine-{number}" for number in range(workers))) as cluster:
        async with open_backend(cluster.address, lost) as there:
            level = await there.demand(setup.level)
            _, ready = await there.ready(specs, setup.game, AMPLE, level, lambda _name, _seconds: None)
            assert [bot.sha256 for bot in ready] == [bot.sha256 for bot in setup.bots]
            async with there.executor(setup, lost, 0) as hands:
                yield hands


EXECUTORS: dict[str, tuple[Executor, int]] = {
    "here": (here, 1),
    "one worker": (local_workers, 1),
    "two workers": (local_workers, 2),
    "a worker a core": (local_workers, 0),
    "a cluster of two": (on_a_cluster, 2),
}


@pytest.fixture(scope="module")
def bots() -> list[BuiltBot]:
    """Return two fast bots."""
    return [built(SAMPLES / "cardshark" / name) for name in ("davey.c", "cautious.c")]


def fixtures(bots: list[BuiltBot]) -> list[Fixture]:
    """Return fixtures for the bots."""
    return [fixture_of("cardshark", bots, 2, f"test/{number}") for number in range(1, FIXTURES + 1)]


def setup_of(bots: list[BuiltBot]) -> WorkerSetup:
    """Return the setup of an executor."""
    return WorkerSetup(GAMES["cardshark"], GAMES["cardshark"].presets["thread"], tuple(bots), SEED, level())


def all_of(
    executor: Executor, workers: int, bots: list[BuiltBot], lost: Callable[[str], None] = print
) -> dict[str, Any]:
    """Return the results of the fixtures, without the values that differ in every run."""

    async def play() -> list[Record]:
        async with executor(setup_of(bots), lost, workers) as hands:
            for fixture in fixtures(bots):
                await hands.submit(Job(fixture))
            return [await hands.next_result() for _ in range(FIXTURES)]

    return {
        record.path: record._replace(usage={}, evidence=(), seconds=0.0, overhead=0.0, times=())
        for record in trio.run(play)
    }


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name != "two workers" else []) for name in EXECUTORS]
)
def test_the_same_fixtures_come_out_the_same(name: str, bots: list[BuiltBot]) -> None:
    executor, workers = EXECUTORS[name]
    assert all_of(executor, workers, bots) == all_of(here, 1, bots)


@pytest.mark.long
def test_a_worker_that_dies_is_replaced_and_its_fixture_played_again_and_counted(
    bots: list[BuiltBot], started_workers: Workers
) -> None:
    lost: list[str] = []

    async def play() -> list[Record]:
        async with local_workers(setup_of(bots), lost.append, 1) as hands:
            for fixture in fixtures(bots):
                await hands.submit(Job(fixture))
            first = await hands.next_result()
            (worker,) = started_workers()
            worker.send_signal(signal.SIGKILL)
            return [first, *[await hands.next_result() for _ in range(FIXTURES - 1)]]

    records = trio.run(play)
    again = [record for record in records if record.replayed]
    assert [(record.replayed, record.failures) for record in again] == [(1, ("a worker is lost",))]
    played = {
        record.path: record._replace(
            usage={}, evidence=(), seconds=0.0, overhead=0.0, times=(), replayed=0, failures=()
        )
        for record in records
    }
    assert played == all_of(here, 1, bots)
    assert len(lost) == 1
    assert lost[0].startswith("a worker is lost; test/")


def test_a_second_worker_is_started_when_a_second_fixture_needs_it(
    bots: list[BuiltBot], started_workers: Workers
) -> None:
    async def play() -> list[int]:
        async with local_workers(setup_of(bots), print, 2) as hands:
            seen = [len(started_workers())]
            for fixture in fixtures(bots)[:2]:
                await hands.submit(Job(fixture))
                await hands.next_result()
                seen.append(len(started_workers()))
            return seen

    assert trio.run(play) == [0, 1, 2]


@pytest.mark.long
def test_kept_workers_that_have_died_are_replaced_by_new_ones(bots: list[BuiltBot], started_workers: Workers) -> None:
    kept, setup = KeptWorkers(), setup_of(bots)._replace(placement="free")

    async def play() -> list[str]:
        async with kept.executor(setup, print, 2) as hands:
            for fixture in fixtures(bots)[:2]:
                await hands.submit(Job(fixture))
            return sorted([(await hands.next_result()).path for _ in range(2)])

    async def play_twice() -> None:
        try:
            paths = await play()
            first = started_workers()
            assert len(first) == 2
            for worker in first:
                worker.kill()
                worker.wait()
            assert await play() == paths
            assert len(started_workers()) == 2
        finally:
            await kept.close()

    trio.run(play_twice)


def test_a_worker_that_fails_says_why(bots: list[BuiltBot]) -> None:
    async def play() -> None:
        async with local_workers(setup_of(bots), print, 1) as hands:
            await hands.submit(Job(fixtures(bots)[0]._replace(bots=("stranger",))))
            await hands.next_result()

    with pytest.raises(BaseExceptionGroup) as failure:
        trio.run(play)
    assert failure.group_contains(WorkerFailed, match="KeyError: 'stranger'")


@pytest.mark.long
def test_a_bot_whose_sandbox_cannot_be_made_has_crashed_and_the_run_goes_on(bots: list[BuiltBot]) -> None:
    records = all_of(local_workers, 1, [bot._replace(folder="/nowhere") for bot in bots])
    assert len(records) == FIXTURES
    for record in records.values():
        assert record.faults["davey"]["crash"] == 1 and "davey" in record.benched
        assert any(failure.startswith("davey") for failure in record.failures)


def test_nothing_lives_on_after_the_block(bots: list[BuiltBot]) -> None:
    before = {each.pid for each in descendants(os.getpid())}
    all_of(*EXECUTORS["two workers"], bots)
    assert {each.pid for each in descendants(os.getpid())} == before


@pytest.mark.long
def test_leaving_early_ends_what_is_under_way(bots: list[BuiltBot]) -> None:
    async def play() -> None:
        async with local_workers(setup_of(bots), print, 2) as hands:
            for fixture in fixtures(bots):
                await hands.submit(Job(fixture._replace(tables=1000)))
            await trio.testing.wait_all_tasks_blocked()

    before = {each.pid for each in descendants(os.getpid())}
    trio.run(play)
    assert {each.pid for each in descendants(os.getpid())} == before


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
def test_lines_are_the_same_however_their_bytes_arrive(size: int) -> None:
    written = b"one\n\nthree and more\nwithout an end"

    async def chunks() -> AsyncIterator[bytes]:
        for at in range(0, len(written), size):
            await trio.lowlevel.checkpoint()
            yield written[at : at + size]

    async def work() -> list[bytes]:
        return [line async for line in split_lines(chunks())]

    assert trio.run(work) == [b"one", b"", b"three and more"]
