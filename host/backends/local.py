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

from host.play.records import Job, Record, WorkerSetup, encode

LOST_AFTER = 10
"""Times one fixture may lose its worker before it stops the run: it is our fault, and looks like one."""


class WorkerFailed(Exception):
    """Raised when a worker says that croupier itself has failed, or dies again and again over one fixture."""


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0))


Ask = Callable[[bytes], Awaitable[bytes]]
"""Has a worker play a job; returns its reply, or nothing when the worker is lost."""


class Queue:
    """Hands made of workers that each take the next job when they have played the last one."""

    def __init__(self, on_lost: Callable[[str], None], words: str, count: int) -> None:
        self.words, self.count = words, count
        self._on_lost, self._lost = on_lost, Counter[str]()
        self._put, self._jobs = trio.open_memory_channel[Job](100_000)
        self._done, self._records = trio.open_memory_channel[Record](0)

    async def submit(self, job: Job) -> None:
        """Hand over one fixture."""
        await self._put.send(job)

    async def next_result(self) -> Record:
        """Return the next record, whichever fixture ends first."""
        return await self._records.receive()

    async def employ(self, worker: str, ask: Ask) -> None:
        """Keep a worker at work until it is lost; its fixture then goes to the next. Raise WorkerFailed."""
        while True:
            job = await self._jobs.receive()
            reply = await ask(encode(job))
            if not reply:
                break
            await self._done.send(_read(reply))
        path = job.fixture.path
        self._lost[path] += 1
        if self._lost[path] >= LOST_AFTER:
            raise WorkerFailed(f"{LOST_AFTER} workers in a row have died while playing {path}")
        self._on_lost(f"{worker} is lost; {path} is played again")
        self._put.send_nowait(job)


@contextlib.asynccontextmanager
async def processes(setup: WorkerSetup, on_lost: Callable[[str], None], workers: int) -> AsyncIterator[Queue]:
    """Start workers, 0 for one a core; leaving the block ends them and every bot.

    Raise WorkerFailed when croupier itself fails.
    """
    workers = workers or usable_cores()
    hands = Queue(on_lost, f"{workers} worker{'s' if workers > 1 else ''}", workers)
    first = encode(setup)

    async def tend() -> None:
        """Keep one worker alive and at work."""
        while True:
            async with _worker(first) as ask:
                await hands.employ("a worker", ask)

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


def start(module: str) -> subprocess.Popen[bytes]:
    """Start a module in a session of its own: ^C reaches it through us, as the end of its input."""
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )


@contextlib.asynccontextmanager
async def _worker(first: bytes) -> AsyncIterator[Ask]:
    """Start one worker, and tell it the setup."""
    process = start("host.play.worker")
    assert process.stdin is not None and process.stdout is not None
    stdin = trio.lowlevel.FdStream(os.dup(process.stdin.fileno()))
    stdout = trio.lowlevel.FdStream(os.dup(process.stdout.fileno()))
    process.stdin.close()
    process.stdout.close()

    async def tell(line: bytes) -> None:
        with contextlib.suppress(trio.BrokenResourceError):  # a dead worker is seen at the end of its output
            await stdin.send_all(line + b"\n")

    async def replies() -> AsyncGenerator[bytes, None]:
        rest = b""
        async for chunk in stdout:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield line

    try:
        async with contextlib.aclosing(replies()) as told:

            async def ask(line: bytes) -> bytes:
                await tell(line)
                return await anext(told, b"")

            await tell(first)
            yield ask
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
