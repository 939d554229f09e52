"""Play fixtures on this machine in several worker processes, each of which plays one fixture at a time."""

import contextlib
import math
import os
import subprocess
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec
import trio

from host.backends.load import choose_placement
from host.backends.placement import Placement, placement_request
from host.backends.shares import MAX_SHARE, Hand, Shares
from host.backends.worker_process import start_worker
from host.base.errors import Problem, UserError
from host.play.jobs import Job, WorkerSetup, encode, encode_setup, split_lines, worker_input
from host.play.records import Record

MAX_LOST_WORKERS = 10
"""Number of lost workers of one fixture after which the run stops, because the cause must be a defect of croupier."""

WORKER_EXIT_TIMEOUT_S = 2.0


class WorkerFailed(Exception):
    """Raised when a worker reports a failure of croupier, or when one fixture has lost MAX_LOST_WORKERS workers."""


PlayJob = Callable[[bytes], Awaitable[bytes]]
"""Sends an encoded job to a worker and returns the encoded record; b"" when the worker is lost."""

PlayJobs = Callable[[Sequence[bytes]], Awaitable[Sequence[bytes]]]
"""Sends encoded jobs to a worker and returns encoded records, in order.

There may be fewer records than jobs, but at least one. The last record is b"" when the worker is lost.
"""

SHORT_FIXTURE_S = 0.2
"""Seconds below which a fixture is short.

A worker that has played a short fixture may be sent several fixtures together.
"""


class FixtureQueue:
    """Fixtures for the workers of one run; each worker takes the next one when it has finished the last one.

    `count` is the number of workers. At most MAX_SHARE * `count` fixtures are unfinished, so that the memory does not
    grow with the number of fixtures. A worker whose fixtures are short gets fixtures of the same bots (`Shares`). It
    may be sent up to `at_once` fixtures together.
    """

    def __init__(self, on_lost: Callable[[str], None], description: str, count: int, at_once: int = 1) -> None:
        self.description, self.count = description, count
        self._on_lost, self._at_once = on_lost, at_once
        self._lost = defaultdict[str, list[str]](list)  # by path of a fixture, why it was started again
        self._room, self._waiting = trio.Semaphore(count * MAX_SHARE), trio.Semaphore(0)
        self._started, self._needed = 0, trio.Semaphore(0)
        self._shares = Shares()
        self._done, self._records = trio.open_memory_channel[Record](math.inf)

    async def submit(self, job: Job) -> None:
        """Add one fixture. Wait while too many fixtures are unfinished."""
        await self._room.acquire()
        self._shares.add(job)
        self._waiting.release()
        if self._started < self.count:
            self._started += 1
            self._needed.release()

    async def worker_needed(self) -> None:
        """Wait until a fixture needs another worker. Each of the first `count` fixtures needs one."""
        await self._needed.acquire()

    @property
    def has_result(self) -> bool:
        """Whether `next_result` returns without waiting."""
        return self._records.statistics().current_buffer_used > 0

    async def next_result(self) -> Record:
        """Return the next record, whichever fixture ends first."""
        return await self._records.receive()

    async def feed(self, worker: str, play: PlayJob) -> None:
        """Send one fixture after another to a worker until it is lost. Then requeue the fixture that it was playing.

        `worker` is its name in messages. Raise WorkerFailed when the worker reports a failure of croupier, or when the
        fixture has lost too many workers. Raise UserError when the worker reports a UserError.
        """

        async def play_first(jobs: Sequence[bytes]) -> Sequence[bytes]:
            return [await play(jobs[0])]

        await self.feed_several(worker, play_first)

    async def feed_several(self, worker: str, play: PlayJobs) -> None:
        """Send fixtures to a worker as `feed` does, but several short ones together. Requeue the fixtures not played."""
        seconds = math.inf  # of the longest of the last fixtures
        with self._shares.hand() as hand:
            while True:
                await self._waiting.acquire()
                jobs = [hand.take_similar() if seconds < SHORT_FIXTURE_S else hand.take_first()]
                if seconds < SHORT_FIXTURE_S and jobs[0].fixture.path not in self._lost:
                    jobs += self._more_jobs(hand)
                replies = await play([encode(job) for job in jobs])
                seconds = 0.0
                is_lost = not replies[-1]
                for reply in replies[:-1] if is_lost else replies:
                    record = _decode_record(reply)
                    lost = self._lost.pop(record.path, [])
                    counted = record._replace(replayed=record.replayed + len(lost), failures=(*lost, *record.failures))
                    self._done.send_nowait(counted if lost else record)
                    self._room.release()
                    del jobs[0]
                    seconds = max(seconds, record.seconds)
                if is_lost:
                    break
                for job in jobs:
                    self._requeue(job)
        for job in jobs[1:]:
            self._requeue(job)
        self._requeue_lost(worker, jobs[0])

    def _more_jobs(self, hand: Hand) -> Iterator[Job]:
        """Yield at most `at_once` - 1 jobs to send to a worker together with another one.

        Yield at most an equal part of the waiting jobs, so that the other workers get as many. Stop at a job that has lost a
        worker.
        """
        for _ in range(min(self._at_once - 1, self._waiting.value // self.count)):
            job = hand.take_similar()
            if job.fixture.path in self._lost:
                self._shares.add(job)
                return
            self._waiting.acquire_nowait()
            yield job

    def _requeue(self, job: Job) -> None:
        self._shares.add(job)
        self._waiting.release()

    def _requeue_lost(self, worker: str, job: Job) -> None:
        """Requeue the fixture that a lost worker was playing.

        It is then sent alone, so that no other fixture is lost with it.

        Raise WorkerFailed if the fixture has lost MAX_LOST_WORKERS workers.
        """
        path = job.fixture.path
        self._lost[path].append(f"{worker} is lost")
        if len(self._lost[path]) >= MAX_LOST_WORKERS:
            raise WorkerFailed(f"{MAX_LOST_WORKERS} workers in a row have died while playing {path}")
        self._on_lost(f"{worker} is lost; {path} is played again")
        self._requeue(job)


@contextlib.asynccontextmanager
async def fed_queue(
    placement: Placement,
    on_lost: Callable[[str], None],
    run_worker: Callable[[FixtureQueue, Sequence[int]], Awaitable[None]],
) -> AsyncIterator[FixtureQueue]:
    """Yield a queue whose fixtures are played by workers on this machine, as many as `placement` has.

    `run_worker` starts a worker on some cores and feeds it from the queue until it is lost. It is called as soon as a
    fixture needs the worker, and again whenever the worker is lost.
    """
    queue = FixtureQueue(on_lost, str(placement), placement.workers)

    async def keep_running(cores: Sequence[int]) -> None:
        await queue.worker_needed()
        while True:
            await run_worker(queue, cores)

    async with trio.open_nursery() as nursery:
        for nth in range(placement.workers):
            nursery.start_soon(keep_running, placement.cores_of(nth))
        yield queue
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def local_workers(
    setup: WorkerSetup, on_lost: Callable[[str], None], workers: int
) -> AsyncIterator[FixtureQueue]:
    """Start workers, place them on cores, and yield their queue. If `workers` is 0, start as many as there is room for.

    Call `on_lost` with a sentence for each lost worker. Leaving the block ends the workers and every bot. Raise
    WorkerFailed when croupier itself fails.
    """
    placement = await choose_placement(placement_request(setup, workers))
    encoded_setup = encode_setup(setup)

    async def run_worker(queue: FixtureQueue, cores: Sequence[int]) -> None:
        async with connected(start_worker(), worker_input(cores, encoded_setup)) as link:
            await queue.feed("a worker", link.play)

    async with fed_queue(placement, on_lost, run_worker) as queue:
        yield queue


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


class WorkerLink(NamedTuple):
    """A connection to a worker process. `send` sends lines that have no reply."""

    process: subprocess.Popen[bytes]
    send: Callable[[bytes], Awaitable[None]]
    play: PlayJob


@contextlib.asynccontextmanager
async def connected(process: subprocess.Popen[bytes], first_lines: bytes) -> AsyncIterator[WorkerLink]:
    """Send a worker process its first lines, and yield a connection to it. End the process when the block ends."""
    assert process.stdin is not None and process.stdout is not None
    stdin = trio.lowlevel.FdStream(os.dup(process.stdin.fileno()))
    stdout = trio.lowlevel.FdStream(os.dup(process.stdout.fileno()))
    process.stdin.close()
    process.stdout.close()

    async def send(lines: bytes) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # the worker has died: its output ends as well
            await stdin.send_all(lines)

    try:
        async with contextlib.aclosing(split_lines(stdout)) as replies:

            async def play(job: bytes) -> bytes:
                await send(job + b"\n")
                return await anext(replies, b"")

            await send(first_lines)
            yield WorkerLink(process, send, play)
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
