"""Run on this machine: N worker processes, each playing one fixture at a time."""

import contextlib
import math
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import trio

from host.base.errors import Problem, UserError
from host.play.custom_games import failed_game, origin
from host.play.jobs import Job, WorkerSetup, encode
from host.play.placement import choose_placement, placement_request
from host.play.records import Record

MAX_LOST_WORKERS = 10
"""Workers that one fixture can lose. Then the run stops, because the cause must be a defect of croupier."""

MAX_WORKERS_LOST_IN_CUSTOM_GAME = 3
"""The same for an organiser's own game or one of a library, whose code can end the process."""

WORKER_EXIT_TIMEOUT_S = 2.0


class WorkerFailed(Exception):
    """Raised when a worker reports a failure of croupier, or when one fixture has lost MAX_LOST_WORKERS workers."""


PlayJob = Callable[[bytes], Awaitable[bytes]]
"""Sends an encoded job to a worker and returns the encoded record, or b"" when the worker is lost."""

PlayJobs = Callable[[Sequence[bytes]], Awaitable[Sequence[bytes]]]
"""Sends encoded jobs to a worker and returns the encoded records of the first of them, at least one; b"" is the last
record when the worker is lost."""

SHORT_FIXTURE_S = 0.2
"""Seconds below which a fixture is short: a worker that has played one may be sent several at once."""


class FixtureQueue:
    """Fixtures for the workers of one run; each worker takes the next one when it has finished the last one.

    At most `count` fixtures wait, so that no worker waits for the coordinator and the memory does not grow with the
    number of fixtures. If a worker is sent up to `at_once` short fixtures, as many times more wait.
    """

    def __init__(self, on_lost: Callable[[str], None], description: str, count: int, at_once: int = 1) -> None:
        self.description, self.count = description, count
        self._on_lost, self._at_once = on_lost, at_once
        self._lost = defaultdict[str, list[str]](list)  # by path of a fixture, why it was started again
        self._room = trio.Semaphore(count * at_once)
        self._put, self._jobs = trio.open_memory_channel[Job](math.inf)
        self._done, self._records = trio.open_memory_channel[Record](math.inf)

    async def submit(self, job: Job) -> None:
        """Add one fixture; wait while too many fixtures wait for a worker."""
        await self._room.acquire()
        self._put.send_nowait(job)

    @property
    def has_result(self) -> bool:
        """Whether `next_result` returns at once."""
        return self._records.statistics().current_buffer_used > 0

    async def next_result(self) -> Record:
        """Return the next record, whichever fixture ends first."""
        return await self._records.receive()

    async def feed(self, worker: str, play: PlayJob) -> None:
        """Send one fixture after another to a worker until it is lost, and then requeue the fixture it was playing.

        Raise WorkerFailed when the worker reports a failure, or when the fixture has lost too many workers; UserError
        (exit code 3) if the cause is an organiser's own game.
        """

        async def play_first(jobs: Sequence[bytes]) -> Sequence[bytes]:
            return [await play(jobs[0])]

        await self.feed_several(worker, play_first)

    async def feed_several(self, worker: str, play: PlayJobs) -> None:
        """Do the same, but send several short fixtures at once, and requeue those that were not played."""
        seconds = math.inf  # of the longest of the last fixtures
        while True:
            jobs = [await self._jobs.receive()]
            if seconds < SHORT_FIXTURE_S and jobs[0].fixture.path not in self._lost:
                jobs += self._more_jobs()
            for _ in jobs:
                self._room.release()
            replies = await play([encode(job) for job in jobs])
            seconds = 0.0
            for reply in filter(None, replies):
                record = _decode_record(reply)
                lost = self._lost.pop(record.path, [])
                counted = record._replace(replayed=record.replayed + len(lost), failures=(*lost, *record.failures))
                self._done.send_nowait(counted if lost else record)
                del jobs[0]
                seconds = max(seconds, record.seconds)
            if not replies[-1]:
                break
            for job in jobs:
                self._requeue(job)
        for job in jobs[1:]:
            self._requeue(job)
        self._requeue_lost(worker, jobs[0])

    def _more_jobs(self) -> Iterator[Job]:
        """Yield jobs to play together with another, and leave as many to each other worker. None has lost a worker."""
        waiting = self._jobs.statistics().current_buffer_used
        for _ in range(min(self._at_once - 1, waiting // self.count)):
            job = self._jobs.receive_nowait()
            if job.fixture.path in self._lost:
                self._put.send_nowait(job)
                return
            yield job

    def _requeue(self, job: Job) -> None:
        with contextlib.suppress(trio.WouldBlock):  # it may be one more than there is room for
            self._room.acquire_nowait()
        self._put.send_nowait(job)

    def _requeue_lost(self, worker: str, job: Job) -> None:
        """Requeue the fixture that a lost worker was playing. It is then played alone, so that others are not lost."""
        path, game = job.fixture.path, job.fixture.game
        self._lost[path].append(f"{worker} is lost")
        lost = len(self._lost[path])
        if origin(game).said and lost >= MAX_WORKERS_LOST_IN_CUSTOM_GAME:
            first, last = job.fixture.first, job.fixture.first + job.fixture.tables - 1
            tables = f"tables {first} to {last}" if last > first else f"table {first}"
            raise failed_game(game, f"failed in {path} ({tables}): it ended its process {lost} times")
        if lost >= MAX_LOST_WORKERS:
            raise WorkerFailed(f"{MAX_LOST_WORKERS} workers in a row have died while playing {path}")
        self._on_lost(f"{worker} is lost; {path} is played again")
        self._requeue(job)


@contextlib.asynccontextmanager
async def local_workers(
    setup: WorkerSetup, on_lost: Callable[[str], None], workers: int
) -> AsyncIterator[FixtureQueue]:
    """Start workers and place them on cores; if `workers` is 0, as many as there is room for.

    Leaving the block ends them and every bot.

    Raise WorkerFailed when croupier itself fails.
    """
    placement = await choose_placement(placement_request(setup, workers))
    queue = FixtureQueue(on_lost, str(placement), placement.workers)
    encoded_setup = encode(setup)

    async def keep_running(cores: Sequence[int]) -> None:
        """Run one worker, and start another whenever it is lost."""
        while True:
            async with _worker(encoded_setup, cores) as play:
                await queue.feed("a worker", play)

    async with trio.open_nursery() as nursery:
        for nth in range(placement.workers):
            nursery.start_soon(keep_running, placement.cores_of(nth))
        yield queue
        nursery.cancel_scope.cancel()


def _decode_record(reply: bytes) -> Record:
    try:
        return msgspec.json.decode(reply, type=Record)
    except msgspec.ValidationError as invalid:
        message = msgspec.json.decode(reply)
        if isinstance(message, dict) and "failed" in message:
            raise WorkerFailed(message["failed"]) from invalid
        if isinstance(message, dict) and "refused" in message:
            raise UserError([Problem(*each) for each in message["refused"]], message["exit_code"]) from invalid
        raise


def start_module(module: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python module in its own session. ^C does not reach it; it ends when its standard input is closed."""
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )


@contextlib.asynccontextmanager
async def _worker(encoded_setup: bytes, cores: Sequence[int]) -> AsyncIterator[PlayJob]:
    """Start one worker on some cores, or on every core if there are none, and send it the setup."""
    process = start_module("host.play.worker", *map(str, cores))
    assert process.stdin is not None and process.stdout is not None
    stdin = trio.lowlevel.FdStream(os.dup(process.stdin.fileno()))
    stdout = trio.lowlevel.FdStream(os.dup(process.stdout.fileno()))
    process.stdin.close()
    process.stdout.close()

    async def send_line(line: bytes) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the worker has died: its output ends as well
            await stdin.send_all(line + b"\n")

    async def output_lines() -> AsyncGenerator[bytes, None]:
        rest = b""
        async for chunk in stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line

    try:
        async with contextlib.aclosing(output_lines()) as replies:

            async def play(job: bytes) -> bytes:
                await send_line(job)
                return await anext(replies, b"")

            await send_line(encoded_setup)
            yield play
    finally:
        with trio.CancelScope(shield=True):
            await stdin.aclose()
            with trio.move_on_after(WORKER_EXIT_TIMEOUT_S):
                while process.poll() is None:
                    await trio.sleep(0.002)
            if process.poll() is None:
                process.kill()
                process.wait()
            await stdout.aclose()
