"""N workers on this machine, each a process of its own, fed one fixture at a time."""

import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import trio

from host.record import Job, Record, Setup, encode

LOST_AFTER = 10
"""Times one fixture may lose its worker before it stops the run: it is our fault, and looks like one."""


class WorkerFailed(Exception):
    """Raised when a worker says that croupier itself has failed, or dies again and again over one fixture."""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


class Processes:
    """Hands made of worker processes."""

    def __init__(self, workers: int) -> None:
        self.words, self.count = f"{workers} worker{'s' if workers > 1 else ''}", workers
        self._jobs, self.waiting = trio.open_memory_channel[Job](100_000)
        self.done, self._records = trio.open_memory_channel[Record](0)

    async def give(self, job: Job) -> None:
        """Hand over one fixture."""
        await self._jobs.send(job)

    async def take(self) -> Record:
        """Return the next record, whichever fixture ends first."""
        return await self._records.receive()


@contextlib.asynccontextmanager
async def processes(setup: Setup, on_lost: Callable[[str], None], workers: int) -> AsyncIterator[Processes]:
    """Start workers, 0 for one a core; leaving the block ends them and every bot.

    Raise WorkerFailed when croupier itself fails.
    """
    workers = workers or usable_cores()
    hands = Processes(workers)
    lost: Counter[str] = Counter()
    first = encode(setup) + b"\n"

    async def tend() -> None:
        """Keep one worker at work; when it dies, its fixture goes to the next."""
        job: Job | None = None
        while True:
            async with _worker() as (ask, replies):
                await ask(first)
                while True:
                    if job is None:
                        job = await hands.waiting.receive()
                    await ask(encode(job) + b"\n")
                    reply = await anext(replies, b"")
                    if not reply:
                        break
                    await hands.done.send(_read(reply))
                    job = None
            lost[job.fixture.path] += 1
            if lost[job.fixture.path] >= LOST_AFTER:
                raise WorkerFailed(f"{LOST_AFTER} workers in a row have died while playing {job.fixture.path}")
            on_lost(f"a worker has died; {job.fixture.path} is played again")

    async with trio.open_nursery() as nursery:
        for _ in range(workers):
            nursery.start_soon(tend)
        yield hands
        nursery.cancel_scope.cancel()


def _read(reply: bytes) -> Record:
    try:
        return msgspec.json.decode(reply, type=Record)
    except msgspec.ValidationError as no_record:
        told = msgspec.json.decode(reply)
        if isinstance(told, dict) and "failed" in told:
            raise WorkerFailed(told["failed"]) from no_record
        raise


@contextlib.asynccontextmanager
async def _worker() -> AsyncIterator[tuple[Callable[[bytes], Awaitable[None]], AsyncIterator[bytes]]]:
    """Start one worker in a session of its own: ^C reaches it through us, as the end of its input."""
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "host.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )
    assert process.stdin is not None and process.stdout is not None
    stdin = trio.lowlevel.FdStream(os.dup(process.stdin.fileno()))
    stdout = trio.lowlevel.FdStream(os.dup(process.stdout.fileno()))
    process.stdin.close()
    process.stdout.close()

    async def ask(line: bytes) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # a dead worker is seen at the end of its output
            await stdin.send_all(line)

    async def replies() -> AsyncGenerator[bytes, None]:
        rest = b""
        async for chunk in stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line

    try:
        async with contextlib.aclosing(replies()) as told:
            yield ask, told
    finally:
        with trio.CancelScope(shield=True):
            await stdin.aclose()
            with trio.move_on_after(2):
                while process.poll() is None:
                    await trio.sleep(0.002)
            if process.poll() is None:
                process.kill()
                process.wait()
            await stdout.aclose()
