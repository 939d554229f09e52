"""The workers of a Dask cluster, on other machines: each is looked at, given the bots, and kept at play.

Dask is asked for no more than it does best: who is there, and carrying a call to one of them. Which worker plays what
is decided here, fixture by fixture, as among the processes of one machine.
"""

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
import ssl
import uuid
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import dask.config
import trio
from distributed import CancelledError, Client, KilledWorker, Security
from distributed.comm.core import CommClosedError

from host.backends import dask_worker
from host.backends.local import Queue
from host.backends.prepare_bots import PrepareRequest, PrepareResult
from host.base.errors import Problem, UserError
from host.games.engine import Game
from host.play.custom_games import GameOrigin, origin, sources
from host.play.records import WorkerSetup, encode
from host.sandbox.levels import UNPROTECTED, Level
from host.sandbox.limits import Limits
from host.submissions import requirements
from host.submissions.bot_spec import BuiltBot, Submission
from host.submissions.build import File, files_of
from host.tournament.stage_runner import Backend

POLL = 0.5
"""Seconds between two looks at who is there."""

ANSWERS = 5.0
"""Seconds in which a scheduler that is there has answered."""

FROZEN = 30.0
"""Seconds without an answer after which a scheduler counts as gone, though its connection stands."""

PATIENCE = 120.0
"""Seconds that a run waits for a scheduler that has gone, or for the first worker."""

LOOKS = 3
"""Times that a run looks whether there is anybody to play, when who was there has gone."""

HEARD = 2.0
"""Seconds between two words to every worker that the run goes on (dask_worker.LEASE)."""

STRANGE = "S012"
SAME = ("distributed", "dask")
"""Packages whose versions must be the same on both sides, as croupier's own source must (dask_worker.edition)."""

CLEAR = (
    "WARNING  {} is in the clear: whoever is on that network can read the seed, and run code on every machine; "
    "tls:// keeps them out (docs/running.md)"
)

T = TypeVar("T")
Say = Callable[[str], None]
Versions = Mapping[str, Mapping[str, str]]
"""Of what must be the same everywhere, by who has them: "client", "scheduler", each worker's address."""

for quiet in ("distributed", "distributed.client"):  # what befalls the cluster, croupier says itself
    logging.getLogger(quiet).setLevel(logging.CRITICAL + 1)
warnings.filterwarnings("ignore", message=r"\s*Mismatched versions", module="distributed")
warnings.filterwarnings("ignore", message="Sending large graph", module="distributed")  # it is a bot, and no graph


class Gone(Exception):
    """Raised when a worker, or the scheduler, has gone before it answered."""


CLIENT: Callable[..., Any] = Client  # it has no types
SECURITY: Callable[[], Any] = Security  # nor has it
GONE = (asyncio.CancelledError, CancelledError, KilledWorker)
"""How Dask says the same."""


class WorkerInfo(NamedTuple):
    """One worker of the cluster."""

    address: str
    name: str
    threads: int

    def __str__(self) -> str:
        return f"worker {self.name}" + (f" at {self.address}" if self.name != self.address else "")


class DaskClient:
    """A Dask client, in a thread with an event loop of its own; asked from trio.

    It connects again whenever the scheduler has gone and come back, and knows who is there at the moment.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.tournament = uuid.uuid4().hex
        self.members: Mapping[str, WorkerInfo] = {}
        self.connected = False
        self.trouble: Exception | None = None  # why not
        self._client: Any = None
        self._over = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
        """Stay connected until it is cancelled; then every worker sends the bots home."""
        token, begun = trio.lowlevel.current_trio_token(), trio.Event()

        async def connected() -> None:
            self._loop = asyncio.get_running_loop()
            token.run_sync_soon(begun.set)
            while not self._over.is_set():
                try:
                    await self._stay()
                except (OSError, RuntimeError) as failed:  # closed in between, or refused
                    self.trouble = failed
                self._client, self.connected, self.members = None, False, {}
                await self._pause(POLL)

        async def in_a_thread() -> None:
            await trio.to_thread.run_sync(asyncio.run, connected())

        async with trio.open_nursery() as nursery:
            nursery.start_soon(in_a_thread)
            await begun.wait()
            task_status.started()
            try:
                await trio.sleep_forever()
            finally:
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._over.set)

    async def _stay(self) -> None:
        """Be connected, and keep an eye on who is there. Raise OSError when the connection breaks."""
        client: Any = CLIENT(self.address, asynchronous=True, timeout=ANSWERS, set_as_default=False)
        try:
            await asyncio.wait_for(client, 2 * ANSWERS)
            self._client, heard = client, self._loop_time()
            while not self._over.is_set():
                if client.status != "running":
                    raise OSError("the scheduler has gone")
                told = await asyncio.wait_for(client.scheduler.identity(), FROZEN)
                self.members = {
                    address: WorkerInfo(address, str(each["name"]), each["nthreads"])
                    for address, each in told["workers"].items()
                    if each["status"] == "running"
                }
                self.connected = True
                if self._loop_time() - heard > HEARD:
                    heard = self._loop_time()
                    await self._everywhere(client, dask_worker.heartbeat)
                await self._pause(POLL)
            await self._everywhere(client, dask_worker.stop)
        finally:
            with contextlib.suppress(OSError):
                await asyncio.wait_for(client.close(), ANSWERS)

    async def _everywhere(self, client: Any, function: Callable[[str], None]) -> None:
        """Have every worker told something, beside what it plays."""
        if self.members:
            with contextlib.suppress(OSError):  # one that does not hear it has gone, or is told again
                await asyncio.wait_for(client.run(function, self.tournament, on_error="ignore"), ANSWERS)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._over.wait(), seconds)

    def _loop_time(self) -> float:
        return asyncio.get_running_loop().time()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something of asyncio's from trio."""
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
    def _scheduler(self) -> Iterator[Any]:
        """Use the client. Raise Gone when it is not connected, or no longer."""
        if self._client is None or self._client.status != "running":
            raise Gone
        try:
            yield self._client
        except OSError as broken:
            raise Gone from broken
        except RuntimeError as failed:
            if "is closed" not in str(failed):  # as distributed says of its connections, once they have gone
                raise
            raise Gone from failed

    async def versions(self) -> Versions:
        """Return everybody's versions. Raise Gone when the scheduler has gone."""

        async def ask() -> Any:
            with self._scheduler() as client:
                return await client.get_versions()

        told = await self._there(ask())
        sides = {"client": told["client"], "scheduler": told["scheduler"], **told["workers"]}
        return {who: _versions(side["packages"]) for who, side in sides.items()}

    async def edition(self) -> str:
        """Return which croupier the scheduler has. Raise Gone when it has gone."""

        async def ask() -> str:
            with self._scheduler() as client:
                try:
                    return str(await client.run_on_scheduler(dask_worker.build_id))
                except (ImportError, AttributeError):  # it cannot even read the question
                    return "none"

        return await self._there(ask())

    async def call(self, member: WorkerInfo, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns on a worker, as a task of its own. Raise Gone when the worker goes first."""

        async def ask() -> T:
            key = f"croupier-{function.__name__}-{uuid.uuid4().hex}"
            with self._scheduler() as client:
                task = client.submit(function, *arguments, workers=[member.address], key=key, pure=False)
            waiting = asyncio.ensure_future(task.result())
            try:
                while not (await asyncio.wait([waiting], timeout=POLL))[0]:
                    if member.address not in self.members:
                        raise Gone
                if waiting.cancelled() or isinstance(waiting.exception(), GONE):
                    raise Gone
                answer: T = waiting.result()
                return answer
            finally:
                waiting.cancel()
                task.release()

        return await self._there(ask())


def _versions(packages: Mapping[str, str]) -> dict[str, str]:
    python = ".".join(packages["python"].split(".")[:2])
    return {"python": python} | {name: packages.get(name) or "none" for name in SAME}


class Cluster:
    """The machines of a cluster, and what each must have before it may play."""

    def __init__(self, link: DaskClient, say: Say, patience: float) -> None:
        self._link, self._say, self._patience = link, say, patience
        self._files: dict[str, tuple[File, ...]] = {}  # what travels, by its hash
        self._order = PrepareRequest((), "", GameOrigin(), Limits(), UNPROTECTED)  # its folders are such hashes
        self._downloading = trio.Lock()
        self._hashes: dict[str, str] = {}  # of the bots, by name
        self._outfitted: dict[WorkerInfo, PrepareResult] = {}
        self._fit: list[WorkerInfo] = []
        self._refused: set[str] = set()

    # Before the first table.

    async def demand(self, level: Level) -> Level:
        """Return the demanded level, which every machine that plays must have. Raise Refused when none has it.

        It is not the strongest one that can be had: that would depend on who happens to be there.
        """
        lacks = dict[WorkerInfo, list[Problem]]()
        for _ in range(LOOKS):  # whoever was there may go while it is looked at
            members = await self._gathered()
            with contextlib.suppress(Gone):
                versions = await self._link.versions()
                theirs = {**versions["scheduler"], "croupier": await self._link.edition()}
                ours = {**versions["client"], "croupier": dask_worker.build_id()}
                if problems := other_versions("the scheduler", ours, theirs):
                    raise UserError(problems, 6)  # it would not even understand what it is to pass on
                for member in members:
                    with contextlib.suppress(Gone):
                        lacks[member] = await self._unfit(member, versions, level)
            if lacks:
                break
        problems = [problem for each in lacks.values() for problem in each if problem.code == STRANGE]
        if problems:
            raise UserError(problems, 6)
        self._weed(lacks)
        self._fit = [member for member, problems in lacks.items() if not problems]
        return level

    async def _gathered(self) -> list[WorkerInfo]:
        """Return who is there, as soon as anybody is. Raise Refused when nobody comes."""
        with trio.move_on_after(min(2 * ANSWERS, self._patience)):
            while not self._link.connected:
                await trio.sleep(POLL / 10)
        if not self._link.connected:
            raise UserError([no_scheduler(self._link)], 6)
        if not self._link.members:
            self._say(f"waiting for a worker of {self._link.address}")
        with trio.move_on_after(self._patience):
            while not self._link.members:
                await trio.sleep(POLL / 10)
        if not self._link.members:
            raise UserError([no_worker(self._link)], 6)
        return list(self._link.members.values())

    async def _unfit(self, member: WorkerInfo, versions: Versions, level: Level) -> list[Problem]:
        """Return what keeps a machine from playing at a level."""
        if problems := other_versions(str(member), versions["client"], versions.get(member.address, {})):
            return problems
        try:
            seen = await self._link.call(member, dask_worker.look)
        except OSError as failed:
            return [connection_problem(member, failed)]
        if problems := other_versions(str(member), {"croupier": dask_worker.build_id()}, {"croupier": seen.build_id}):
            return problems
        if seen.level >= level:
            return []
        told = f'[sandbox] level = "{level}" is demanded and this machine gives "{seen.level}"'
        return [Problem("S001", str(member), told, seen.reasons, "croupier doctor, there")]

    def _weed(self, lacks: Mapping[WorkerInfo, Sequence[Problem]]) -> None:
        """Refuse the machines that lack something. Raise Refused when that is all of them."""
        if not lacks:
            raise UserError([no_worker(self._link)], 6)  # who was there has gone
        if all(lacks.values()):
            raise UserError([problem for problems in lacks.values() for problem in problems], 6)
        for member, problems in lacks.items():
            if problems:
                self._refuse(member, problems)

    def _refuse(self, member: WorkerInfo, problems: Sequence[Problem]) -> None:
        """Give a machine no work, and say so by name."""
        self._refused.add(member.address)
        for problem in problems:
            self._say(f"WARNING  {member} gets no work: {str(problem).removeprefix('error')}")

    async def ready(
        self,
        submissions: Sequence[Submission],
        game: Game,
        granted: Limits,
        level: Level,
        told: Callable[[str, float], None],
    ) -> list[BuiltBot]:
        """Have every machine build and start the bots; return them as the first one made them.

        A machine that lacks what a bot needs is refused; what is wrong with a bot is Refused as on one machine.
        """
        own = tuple(
            submission.with_keys(game=game.name)._replace(folder=self._pack(files_of(submission)))
            for submission in submissions
        )
        self._order = PrepareRequest(own, game.name, self._brought(game.name), granted, level)

        async def one(member: WorkerInfo) -> None:
            began = trio.current_time()
            with contextlib.suppress(Gone):
                self._outfitted[member] = await self._outfit(member)
                told(str(member), trio.current_time() - began)

        async with trio.open_nursery() as nursery:
            for member in self._fit:  # whoever else comes is looked at first, in _welcome
                nursery.start_soon(one, member)
        for member in self._fit:
            if member in self._outfitted:
                self._outfitted[member] = self._alike(member, self._outfitted[member])
        for readiness in self._outfitted.values():
            if not all(problem.code.startswith("S") for problem in readiness.problems):
                raise UserError(list(readiness.problems), readiness.exit_code)
        self._weed({member: readiness.problems for member, readiness in self._outfitted.items()})
        return next(list(readiness.bots) for readiness in self._outfitted.values() if not readiness.problems)

    def _pack(self, files: Iterable[File]) -> Path:
        """Have files ready to travel; return the folder, on every machine's shelf, in which they will lie."""
        packed = tuple(files)
        sha256 = dask_worker.packed(packed)
        self._files[sha256] = packed
        return Path(sha256)

    def _brought(self, game: str) -> GameOrigin:
        """Return where the machines find a game: what lies beside croupier.toml travels, what is installed does not."""
        known = origin(game)
        files = [
            File(str(path.relative_to(known.folder)), executable=False, content=path.read_bytes())
            for path in sources(game)
        ]
        return GameOrigin(known.said, str(self._pack(files)), first=True) if files else known

    async def _outfit(self, member: WorkerInfo) -> PrepareResult:
        """Bring a machine what it does not have yet, and have it make all bots ready."""
        try:
            order = self._order._replace(submissions=await self._with_wheels(member))
            folders = [
                each
                for submission in order.submissions
                for each in (submission.folder, submission.wheels)
                if each is not None
            ]
            wanted = [str(folder) for folder in (*folders, order.origin.folder)]
            for sha256 in await self._link.call(
                member, dask_worker.missing_files, [each for each in wanted if each in self._files]
            ):
                await self._link.call(member, dask_worker.store_files, self._files[sha256])
            return await self._link.call(member, dask_worker.ready, order)
        except OSError as failed:
            return PrepareResult((), (connection_problem(member, failed),), 6)
        except UserError as refused:
            return PrepareResult((), tuple(refused.problems), refused.exit_code)

    async def _with_wheels(self, member: WorkerInfo) -> tuple[Submission, ...]:
        """Return the bots with the wheels that they require on a machine, downloaded here: it may have no network.

        All machines get the same ones, so that they make the same bots. One of another architecture sees to itself.
        """
        requiring = [submission for submission in self._order.submissions if submission.spec.requires]
        told = await self._link.call(member, dask_worker.suits, requiring) if requiring else []
        brought: dict[str, Path] = {}
        for submission, suits in zip(requiring, told, strict=True):
            if suits and suits.machine == os.uname().machine:
                async with self._downloading:
                    found = sorted((await requirements.download(submission, suits)).iterdir())
                files = [File(path.name, executable=False, content=path.read_bytes()) for path in found]
                brought[submission.name] = self._pack(files)
        return tuple(submission._replace(wheels=brought.get(submission.name)) for submission in self._order.submissions)

    def _alike(self, member: WorkerInfo, readiness: PrepareResult) -> PrepareResult:
        """Return how a machine is ready: not at all where it makes other bots of the same files than the first one."""
        hashes = {bot.name: bot.sha256 for bot in readiness.bots}
        self._hashes = self._hashes or hashes
        differing = [name for name, sha256 in hashes.items() if sha256 != self._hashes[name]]
        if not differing:
            return readiness
        told = f"makes other bots of the same files than the machines before it: {', '.join(differing)}"
        hint = "the same Python for bots on all machines, or one image"
        return PrepareResult((), (Problem(STRANGE, str(member), told, hint=hint),), 6)

    # At play.

    @contextlib.asynccontextmanager
    async def executor(self, setup: WorkerSetup, on_lost: Say, _workers: int) -> AsyncIterator[Queue]:
        """Keep every machine at play, with as many fixtures at once as it has threads; those too that come later."""
        fit = [member for member, readiness in self._outfitted.items() if not readiness.problems]
        many, threads = len(fit), sum(member.threads for member in fit)
        words = f"{many} worker{'' if many == 1 else 's'} of {self._link.address}, {threads} at once"
        hands = Queue(on_lost, words, threads)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._employ, hands, setup)
            yield hands
            nursery.cancel_scope.cancel()

    async def _employ(self, hands: Queue, setup: WorkerSetup) -> None:
        """Employ whoever is there. Raise Refused when nobody has been for too long; what is played is kept."""
        employed: set[str] = set()

        async def tend(member: WorkerInfo) -> None:
            with contextlib.suppress(Gone):
                await self._tend(member, hands, setup)
            employed.discard(member.address)

        async with trio.open_nursery() as nursery:
            busy = trio.current_time()
            while True:
                for address, member in self._link.members.items():
                    if address not in employed | self._refused:
                        employed.add(address)
                        nursery.start_soon(tend, member)
                if employed:
                    busy = trio.current_time()
                elif trio.current_time() - busy > self._patience:
                    raise UserError([(no_worker if self._link.connected else no_scheduler)(self._link)], 5)
                await trio.sleep(POLL)

    async def _tend(self, member: WorkerInfo, hands: Queue, setup: WorkerSetup) -> None:
        """Keep one machine at play until it has gone. Raise Gone when that is before it could begin."""
        readiness = self._outfitted.pop(member, None) or await self._welcome(member)
        if readiness.problems:
            self._refuse(member, readiness.problems)
            return
        mine = setup._replace(bots=readiness.bots, origin=readiness.origin)
        await self._link.call(member, dask_worker.begin, self._link.tournament, encode(mine))
        there = True

        async def ask(job: bytes) -> bytes:
            nonlocal there
            with contextlib.suppress(Gone):
                reply = await self._link.call(member, dask_worker.play, self._link.tournament, job)
                if reply is not None:
                    return reply
            there = False
            return b""

        async def employ() -> None:
            while there:
                await hands.employ(str(member), ask)

        async with trio.open_nursery() as nursery:
            for _ in range(member.threads):
                nursery.start_soon(employ)

    async def _welcome(self, member: WorkerInfo) -> PrepareResult:
        """Look at a machine that came later, and have it make the bots ready."""
        if problems := await self._unfit(member, await self._link.versions(), self._order.level):
            return PrepareResult((), tuple(problems), 6)
        readiness = self._alike(member, await self._outfit(member))
        if not readiness.problems:
            self._say(f"{member} has joined")
        return readiness


def other_versions(who: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[Problem]:
    """Return the problem of a machine that has not our versions, if it has others."""
    differing = [
        f"{name} {theirs.get(name, 'none')}, and {version} here"
        for name, version in ours.items()
        if theirs.get(name) != version
    ]
    if not differing:
        return []
    hint = "install the same croupier[cluster] on all machines, or run one image on all of them"
    return [Problem(STRANGE, who, f"has {'; '.join(differing)}", hint=hint)]


def connection_problem(member: WorkerInfo, failed: OSError) -> Problem:
    """Return the problem of a machine whose system does not let it take part."""
    return Problem("S013", str(member), "its system stands in the way", str(failed), "croupier doctor, there")


def no_scheduler(link: DaskClient) -> Problem:
    """Return the problem of a scheduler that is not there, or with which no connection comes about."""
    address, told = link.address, str(link.trouble or "")
    if address.startswith("tls:") and isinstance(link.trouble, CommClosedError):
        told = str(link.trouble.__cause__ or told)
        hint = "certificates of one authority for scheduler, workers and this run: docs/running.md"
        return Problem("S017", address, "the scheduler and this run do not trust each other's certificates", told, hint)
    if address.startswith("tcp:") and isinstance(link.trouble, CommClosedError) and speaks_tls(address):
        hint = f"--cluster {address.replace('tcp:', 'tls:')}, with certificates: docs/running.md"
        return Problem("S016", address, "the scheduler speaks TLS only", hint=hint)
    hint = "start one there with  dask scheduler  and see that its port can be reached from here"
    return Problem("S010", address, "no Dask scheduler answers", told, hint)


def speaks_tls(address: str) -> bool:
    """Return whether whoever listens at an address speaks TLS; whom it trusts is not asked."""
    anybody = ssl.create_default_context()
    anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
    place = urlsplit(address)
    try:
        with socket.create_connection((place.hostname or "", place.port or 0), ANSWERS) as plain:
            anybody.wrap_socket(plain).close()
    except OSError:
        return False
    return True


def without_certificates(address: str) -> list[Problem]:
    """Return the problem of a run that is to speak TLS, where Dask has not been told with which certificate."""
    told = "distributed.comm.tls names no ca-file, or no cert and key of the client"
    try:
        if not address.startswith("tls:") or SECURITY().get_connection_args("client")["ssl_context"] is not None:
            return []
    except OSError as failed:
        told = f"distributed.comm.tls: {failed}"
    hint = "make them, and name them in Dask's configuration: docs/running.md"
    return [Problem("S016", address, "this run has no certificate to speak TLS with", told, hint)]


def in_the_clear(address: str) -> bool:
    """Return whether what travels can be read on a network, and nobody has said to Dask that this is meant."""
    place = urlsplit(address)
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(place.hostname or "").is_loopback:
            return False
    meant = dask.config.get("distributed.comm.require-encryption") is not None
    return place.scheme == "tcp" and place.hostname != "localhost" and not meant


def no_worker(link: DaskClient) -> Problem:
    """Return the problem of a scheduler without workers."""
    hint = f"on each machine that is to play:  dask worker {link.address}"
    return Problem("S011", link.address, "this scheduler has no worker", hint=hint)


@contextlib.asynccontextmanager
async def cluster(address: str, say: Say, patience: float = PATIENCE) -> AsyncIterator[Backend]:
    """Open the venue of a Dask scheduler's address; leaving the block ends every bot there.

    `patience` are the seconds in which a scheduler or a worker that has gone may come back.
    """
    if problems := without_certificates(address):
        raise UserError(problems, 6)
    if in_the_clear(address):
        say(CLEAR.format(address))
    link = DaskClient(address)
    async with trio.open_nursery() as nursery:
        await nursery.start(link.run)
        machines = Cluster(link, say, patience)
        yield Backend(machines.demand, machines.ready, machines.executor)
        nursery.cancel_scope.cancel()
