"""Worker processes that are kept between several runs of one program, with the sandboxes of their bots."""

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple

from host.backends.load import choose_placement
from host.backends.local import FixtureQueue, WorkerLink, connected, fed_queue
from host.backends.placement import Placement, PlacementRequest, placement_request
from host.backends.worker_process import start_worker
from host.play.jobs import NEW_SETUP, WorkerSetup, encode_setup, worker_input
from host.rules.catalogue import ref_of


class KeptWorker:
    """A worker process that waits for its next setup or its next fixture."""

    def __init__(self, link: WorkerLink, ends: contextlib.AsyncExitStack) -> None:
        self._link, self._ends = link, ends
        self._is_playing = False

    @property
    def waits(self) -> bool:
        """Whether the worker runs and has nothing to do."""
        return not self._is_playing and self._link.process.poll() is None

    async def use(self, setup: bytes) -> None:
        """Give the worker another setup."""
        await self._link.send(NEW_SETUP + setup + b"\n")

    async def play(self, job: bytes) -> bytes:
        """Send an encoded job to the worker. Return the encoded record; b"" when the worker is lost."""
        self._is_playing = True
        record = await self._link.play(job)
        self._is_playing = not record  # a worker that is lost does not wait for anything
        return record

    async def close(self) -> None:
        """End the worker and its bots."""
        await self._ends.aclose()


class _Group(NamedTuple):
    """The settings of a worker that cannot change after its start. It can play every setup with the same settings."""

    cores: tuple[int, ...]
    pondering: bool
    logs: bool


class KeptWorkers:
    """The workers of a program that plays many times. A worker keeps the sandboxes of bots that do not change.

    `executor` is used as `host.backends.local.local_workers` is. Blocks that are open at the same time do not share
    workers. Such workers should not be pinned to cores (placement "free").
    """

    def __init__(self) -> None:
        self._idle = defaultdict[_Group, list[KeptWorker]](list)
        self._placements: dict[PlacementRequest, Placement] = {}

    @contextlib.asynccontextmanager
    async def executor(
        self, setup: WorkerSetup, on_lost: Callable[[str], None], workers: int
    ) -> AsyncIterator[FixtureQueue]:
        """Open a queue of fixtures with this setup. Leaving the block keeps the workers that are not playing.

        It ends the workers that are playing, and all workers if the game has an organiser's own code.

        For equal requests the placement of workers is chosen once, because the choice needs time to measure the load.
        """
        request = placement_request(setup, workers)
        if request not in self._placements:
            self._placements[request] = await choose_placement(request)
        line = encode_setup(setup)

        async def run_worker(queue: FixtureQueue, cores: Sequence[int]) -> None:
            group = _Group(tuple(cores), setup.pondering, setup.logs)
            worker = await self._worker(group, line)
            try:
                await queue.feed("a worker", worker.play)
            finally:
                if worker.waits and not ref_of(setup.game).said:  # the code of an organiser's own game may change
                    self._idle[group].append(worker)
                else:
                    await worker.close()

        async with fed_queue(self._placements[request], on_lost, run_worker) as queue:
            yield queue

    async def _worker(self, group: _Group, setup: bytes) -> KeptWorker:
        """Return a worker with this setup: one that is idle, or a new one."""
        idle = self._idle[group]
        while idle:
            worker = idle.pop()  # before the first await: other tasks take workers meanwhile
            if worker.waits:
                await worker.use(setup)
                return worker
            await worker.close()
        ends = contextlib.AsyncExitStack()
        link = await ends.enter_async_context(connected(start_worker(), worker_input(group.cores, setup)))
        return KeptWorker(link, ends)

    async def close(self) -> None:
        """End all workers that are kept."""
        for idle in self._idle.values():
            while idle:
                await idle.pop().close()
