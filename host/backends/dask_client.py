"""Run a Dask client in its own thread, and call it from trio: list the workers, and call functions on them."""

import asyncio
import contextlib
import logging
import uuid
import warnings
from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import trio
from distributed import CancelledError, Client, KilledWorker
from distributed.comm.core import CommClosedError

from host.backends import dask_worker

POLL_INTERVAL_S = 0.5
"""Seconds between two queries of the list of workers."""

CONNECT_TIMEOUT_S = 10.0
"""Seconds to wait for the first answer of a scheduler."""

RESPONSE_TIMEOUT_S = 30.0
"""Seconds after which a scheduler that does not answer counts as lost, although its connection is open."""

HEARTBEAT_INTERVAL_S = 2.0
"""Seconds between two heartbeats to every worker (see dask_worker.HEARTBEAT_TIMEOUT_S)."""

CHECKED_PACKAGES = ("distributed", "dask")
"""Packages that need the same version everywhere. croupier's own source is compared too (dask_worker.build_id)."""

T = TypeVar("T")
Versions = Mapping[str, Mapping[str, str]]
"""Versions by package, for "client", "scheduler", and the address of each worker."""

for name in ("distributed", "distributed.client"):  # croupier itself reports what happens to the cluster
    logging.getLogger(name).setLevel(logging.CRITICAL + 1)
warnings.filterwarnings("ignore", message=r"\s*Mismatched versions", module="distributed")
warnings.filterwarnings("ignore", message="Sending large graph", module="distributed")  # it is a bot, not a graph


class ConnectionLost(Exception):
    """Raised when a worker or the scheduler disappears before it has answered."""


CLIENT: Callable[..., Any] = Client  # untyped in distributed
LOST_TASK_ERRORS = (asyncio.CancelledError, CancelledError, KilledWorker, CommClosedError)
"""Exceptions that Dask raises for a task whose worker or scheduler is lost. The last one: while its result was fetched."""


class WorkerInfo(NamedTuple):
    """One worker of the cluster."""

    address: str
    name: str
    threads: int

    def __str__(self) -> str:
        return f"worker {self.name}" + (f" at {self.address}" if self.name != self.address else "")


class DaskClient:
    """A Dask client in a thread with its own asyncio loop, called from trio.

    It reconnects when the scheduler comes back, and holds the current list of workers.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.tournament = uuid.uuid4().hex
        self.workers: Mapping[str, WorkerInfo] = {}
        self.connected = False
        self.last_error: Exception | None = None
        self._client: Any = None
        self._closing = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
        """Stay connected until cancelled. Then make every worker end the bots."""
        token, started = trio.lowlevel.current_trio_token(), trio.Event()

        async def stay_connected() -> None:
            self._loop = asyncio.get_running_loop()
            token.run_sync_soon(started.set)
            while not self._closing.is_set():
                try:
                    await self._connect_and_poll()
                except (OSError, RuntimeError) as error:  # the connection was refused or closed
                    self.last_error = error
                self._client, self.connected, self.workers = None, False, {}
                await self._pause(POLL_INTERVAL_S)

        async def run_in_thread() -> None:
            try:
                await trio.to_thread.run_sync(lambda: asyncio.run(stay_connected()))
            finally:
                started.set()  # if it was cancelled before the thread began

        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_in_thread)
            try:
                await started.wait()
                task_status.started()
                await trio.sleep_forever()
            finally:
                with trio.CancelScope(shield=True):
                    await started.wait()  # the thread ends only when its loop is told to, so there must be one
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(self._closing.set)

    async def _connect_and_poll(self) -> None:
        """Connect, and update the list of workers until closed. Raise OSError when the connection breaks."""
        client: Any = CLIENT(self.address, asynchronous=True, timeout=CONNECT_TIMEOUT_S, set_as_default=False)
        try:
            await asyncio.wait_for(client, 2 * CONNECT_TIMEOUT_S)
            self._client, last_heartbeat = client, self._loop_time()
            while not self._closing.is_set():
                if client.status != "running":
                    raise OSError("the scheduler has disconnected")
                identity = await asyncio.wait_for(client.scheduler.identity(), RESPONSE_TIMEOUT_S)
                self.workers = {
                    address: WorkerInfo(address, str(each["name"]), each["nthreads"])
                    for address, each in identity["workers"].items()
                    if each["status"] == "running"
                }
                self.connected = True
                if self._loop_time() - last_heartbeat > HEARTBEAT_INTERVAL_S:
                    last_heartbeat = self._loop_time()
                    await self._call_all(client, dask_worker.heartbeat)
                await self._pause(POLL_INTERVAL_S)
            await self._call_all(client, dask_worker.stop)
        finally:
            with contextlib.suppress(OSError):
                await asyncio.wait_for(client.close(), CONNECT_TIMEOUT_S)

    async def _call_all(self, client: Any, function: Callable[[str], None]) -> None:
        """Call a function on every worker, outside the threads of its tasks."""
        if self.workers:
            with contextlib.suppress(OSError):  # a worker that misses a call is lost, or gets the next one
                await asyncio.wait_for(client.run(function, self.tournament, on_error="ignore"), CONNECT_TIMEOUT_S)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)

    def _loop_time(self) -> float:
        return asyncio.get_running_loop().time()

    async def _run_in_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run an asyncio coroutine in the client's loop, and wait for it in trio."""
        assert self._loop is not None
        token, ended = trio.lowlevel.current_trio_token(), trio.Event()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(lambda _: token.run_sync_soon(ended.set))
        try:
            await ended.wait()
        finally:
            future.cancel()
        return future.result()

    @contextlib.contextmanager
    def _connection(self) -> Iterator[Any]:
        """Yield the Dask client. Raise ConnectionLost when it is not connected, or when the block loses the connection."""
        if self._client is None or self._client.status != "running":
            raise ConnectionLost
        try:
            yield self._client
        except OSError as error:
            raise ConnectionLost from error
        except RuntimeError as error:
            if "is closed" not in str(error):  # distributed has no exception class for its closed connections
                raise
            raise ConnectionLost from error

    async def versions(self) -> Versions:
        """Return the versions of client, scheduler and workers. Raise ConnectionLost if the scheduler is lost.

        Not `get_versions(check=True)`: it only warns, compares packages that do not matter here, and names no machine.
        """

        async def query() -> Any:
            with self._connection() as client:
                return await client.get_versions()

        answer = await self._run_in_loop(query())
        sides = {"client": answer["client"], "scheduler": answer["scheduler"], **answer["workers"]}
        return {side: _checked_versions(found["packages"]) for side, found in sides.items()}

    async def scheduler_build_id(self) -> str:
        """Return the build id of the scheduler's croupier. Raise ConnectionLost if the scheduler is lost."""

        async def query() -> str:
            with self._connection() as client:
                try:
                    return str(await client.run_on_scheduler(dask_worker.build_id))
                except (ImportError, AttributeError):  # its croupier does not have this function
                    return "none"

        return await self._run_in_loop(query())

    async def call(self, worker: WorkerInfo, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a function, called as a task of a worker. Raise ConnectionLost if the worker is lost."""

        async def run_task() -> T:
            key = f"croupier-{function.__name__}-{uuid.uuid4().hex}"
            with self._connection() as client:
                task = client.submit(function, *arguments, workers=[worker.address], key=key, pure=False)
            waiting = asyncio.ensure_future(task.result())
            try:
                # Dask would wait for ever for a worker of this address to come back.
                while not (await asyncio.wait([waiting], timeout=POLL_INTERVAL_S))[0]:
                    if worker.address not in self.workers:
                        raise ConnectionLost
                if waiting.cancelled() or isinstance(waiting.exception(), LOST_TASK_ERRORS):
                    raise ConnectionLost
                result: T = waiting.result()
                return result
            finally:
                waiting.cancel()
                task.release()

        return await self._run_in_loop(run_task())


def _checked_versions(packages: Mapping[str, str]) -> dict[str, str]:
    python = ".".join(packages["python"].split(".")[:2])
    return {"python": python} | {name: packages.get(name) or "none" for name in CHECKED_PACKAGES}
