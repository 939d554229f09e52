"""Run on a Dask cluster: check the workers, send them the bots, and give each one fixture after another.

Dask only lists the workers and carries calls to one of them. The queue of fixtures is croupier's own, the same as for
worker processes on one machine, because it replays a lost fixture on any machine and counts how often it was lost.
`Client.submit(retries=)` does not help there: it runs a task again after an exception, not after the death of a worker.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import trio

from host.backends import dask_worker
from host.backends.dask_client import (
    CONNECT_TIMEOUT_S,
    POLL_INTERVAL_S,
    ConnectionLost,
    DaskClient,
    Versions,
    WorkerInfo,
)
from host.backends.dask_problems import (
    VERSION_MISMATCH,
    certificate_problems,
    in_the_clear,
    machine_problem,
    no_scheduler,
    no_worker,
    version_problems,
)
from host.backends.local import FixtureQueue
from host.backends.placement import placement_request
from host.backends.prepare_bots import PrepareRequest, PrepareResult
from host.base.errors import Problem, UserError
from host.base.format import counted
from host.bots.bot_spec import Submission
from host.games.engine import Game
from host.play.jobs import WorkerSetup, encode_setup
from host.rules.catalogue import GameRef, ref_of, sources
from host.sandbox.levels import UNPROTECTED, Level
from host.sandbox.limits import Limits
from host.submissions import requirements
from host.submissions.examine import Ready
from host.submissions.file_tree import File, read_files
from host.submissions.referees import load_referee
from host.tournament.stage_runner import Backend

RECONNECT_TIMEOUT_S = 120.0
"""Seconds that a run waits for a lost scheduler, or for the first worker."""

MAX_CHECK_ROUNDS = 3
"""Maximum number of times that a run checks the workers.

It checks again only when all of them were lost during a check.
"""

CLEARTEXT_WARNING = (
    "WARNING  {} is not encrypted: anyone on that network can read the seed, and run code on every machine; "
    "tls:// prevents this (docs/running.md)"
)

ReportProgress = Callable[[str], None]


class Cluster:
    """The machines of a cluster. It checks which machines can play, sends them the bots, and gives them fixtures."""

    def __init__(self, client: DaskClient, report: ReportProgress, reconnect_timeout: float) -> None:
        self._client, self._report, self._reconnect_timeout = client, report, reconnect_timeout
        self._files: dict[str, tuple[File, ...]] = {}  # to send, by hash
        self._request = PrepareRequest((), "", GameRef(), Limits(), UNPROTECTED)  # its folders are these hashes
        self._download_lock = trio.Lock()
        self._bot_hashes: dict[str, str] = {}  # by name of the bot, as the first machine has built it
        self._results: dict[WorkerInfo, PrepareResult] = {}
        self._suitable: list[WorkerInfo] = []
        self._refused: set[str] = set()  # addresses

    # Before the first table.

    async def require_level(self, level: Level) -> Level:
        """Check all machines, refuse those that cannot play at the required level, and return this level.

        Raise UserError when no machine can play, or when versions differ. The result is not the strongest level
        available, because that would depend on which machines are connected.
        """
        found = dict[WorkerInfo, list[Problem]]()
        for _ in range(MAX_CHECK_ROUNDS):  # a worker can be lost while it is checked
            workers = await self._wait_for_workers()
            with contextlib.suppress(ConnectionLost):
                versions = await self._client.versions()
                theirs = {**versions["scheduler"], "croupier": await self._client.scheduler_build_id()}
                ours = {**versions["client"], "croupier": dask_worker.build_id()}
                if problems := version_problems("the scheduler", ours, theirs):
                    raise UserError(problems, 6)  # it could not decode the messages that it passes on
                for worker in workers:
                    with contextlib.suppress(ConnectionLost):
                        found[worker] = await self._check(worker, versions, level)
            if found:
                break
        mismatches = [problem for each in found.values() for problem in each if problem.code == VERSION_MISMATCH]
        if mismatches:
            raise UserError(mismatches, 6)
        self._refuse_unsuitable(found)
        self._suitable = [worker for worker, problems in found.items() if not problems]
        return level

    async def _wait_for_workers(self) -> list[WorkerInfo]:
        """Return the workers as soon as there is one. Raise UserError when none connects in time."""
        with trio.move_on_after(min(2 * CONNECT_TIMEOUT_S, self._reconnect_timeout)):
            while not self._client.connected:
                await trio.sleep(POLL_INTERVAL_S / 10)
        if not self._client.connected:
            raise UserError([no_scheduler(self._client)], 6)
        if not self._client.workers:
            self._report(f"waiting for a worker of {self._client.address}")
        with trio.move_on_after(self._reconnect_timeout):
            while not self._client.workers:
                await trio.sleep(POLL_INTERVAL_S / 10)
        if not self._client.workers:
            raise UserError([no_worker(self._client)], 6)
        return list(self._client.workers.values())

    async def _check(self, worker: WorkerInfo, versions: Versions, level: Level) -> list[Problem]:
        """Return the problems that prevent a machine from playing at a level."""
        if problems := version_problems(str(worker), versions["client"], versions.get(worker.address, {})):
            return problems
        try:
            machine = await self._client.call(worker, dask_worker.inspect_machine)
        except OSError as error:
            return [machine_problem(worker, error)]
        ours, theirs = {"croupier": dask_worker.build_id()}, {"croupier": machine.build_id}
        if problems := version_problems(str(worker), ours, theirs):
            return problems
        if machine.level >= level:
            return []
        message = f'[sandbox] level = "{level}" is required, and this machine provides "{machine.level}"'
        return [Problem("S001", str(worker), message, machine.reasons, "croupier doctor, on that machine")]

    def _refuse_unsuitable(self, found: Mapping[WorkerInfo, Sequence[Problem]]) -> None:
        """Refuse the machines that have problems. Raise UserError when no machine is left."""
        if not found:
            raise UserError([no_worker(self._client)], 6)  # all workers are lost
        if all(found.values()):
            raise UserError([problem for problems in found.values() for problem in problems], 6)
        for worker, problems in found.items():
            if problems:
                self._refuse(worker, problems)

    def _refuse(self, worker: WorkerInfo, problems: Sequence[Problem]) -> None:
        """Exclude a machine from play, and report why."""
        self._refused.add(worker.address)
        for problem in problems:
            self._report(f"WARNING  {worker} gets no work: {str(problem).removeprefix('error')}")

    async def ready(
        self,
        submissions: Sequence[Submission],
        game: Game,
        granted: Limits,
        level: Level,
        on_ready: Callable[[str, float], None],
    ) -> Ready:
        """Make every machine build and start the bots. Return the bots that the first machine has built.

        A machine that lacks something a bot needs is refused. Raise UserError for a problem of a bot itself, or when no
        machine is left.
        """
        packed = tuple(
            submission.with_keys(game=game.name)._replace(
                game=None,
                folder=self._pack(read_files(submission.folder, submission.files, submission.limits.submission)),
            )
            for submission in submissions
        )
        self._request = PrepareRequest(packed, game.name, self._pack_game(game), granted, level)

        async def prepare(worker: WorkerInfo) -> None:
            began = trio.current_time()
            with contextlib.suppress(ConnectionLost):
                self._results[worker] = await self._prepare(worker)
                on_ready(str(worker), trio.current_time() - began)

        async with trio.open_nursery() as nursery:
            for worker in self._suitable:  # workers that join later are checked and prepared in _admit
                nursery.start_soon(prepare, worker)
        for worker in self._suitable:
            if worker in self._results:
                self._results[worker] = self._compare_builds(worker, self._results[worker])
        for result in self._results.values():
            if not all(problem.code.startswith("S") for problem in result.problems):
                raise UserError(list(result.problems), result.exit_code)
        self._refuse_unsuitable({worker: result.problems for worker, result in self._results.items()})
        return Ready(game, next(result.bots for result in self._results.values() if not result.problems))

    def _pack(self, files: Iterable[File]) -> Path:
        """Register files to be sent. Return the name of their folder in the file cache of every machine."""
        packed = tuple(files)
        sha256 = dask_worker.hash_files(packed)
        self._files[sha256] = packed
        return Path(sha256)

    def _pack_game(self, game: Game) -> GameRef:
        """Return the GameRef with which machines find a game. Register its files if they are beside croupier.toml.

        The files of an installed package are not sent. A referee is built on each machine, like a bot.
        """
        known = ref_of(game)
        if known.has_referee:
            submission = load_referee(Path(known.folder))[1]
            packed = self._pack(read_files(submission.folder, submission.files, submission.limits.submission))
            return GameRef(known.said, str(packed), packed=True)
        files = [
            File(str(path.relative_to(known.folder)), executable=False, content=path.read_bytes())
            for path in sources(game)
        ]
        return GameRef(known.said, str(self._pack(files)), packed=True) if files else known

    async def _prepare(self, worker: WorkerInfo) -> PrepareResult:
        """Send a machine the files that it lacks, and make it prepare all bots."""
        try:
            request = self._request._replace(submissions=await self._with_wheels(worker))
            folders = [
                folder
                for submission in request.submissions
                for folder in (submission.folder, submission.wheels)
                if folder is not None
            ]
            names = [str(folder) for folder in (*folders, request.ref.folder)]
            needed = [name for name in names if name in self._files]
            for sha256 in await self._client.call(worker, dask_worker.missing_files, needed):
                await self._client.call(worker, dask_worker.store_files, self._files[sha256])
            return await self._client.call(worker, dask_worker.ready, request)
        except OSError as error:
            return PrepareResult((), (machine_problem(worker, error),), 6)
        except UserError as refused:
            return PrepareResult((), tuple(refused.problems), refused.exit_code)

    async def _with_wheels(self, worker: WorkerInfo) -> tuple[Submission, ...]:
        """Return the submissions with the wheels for a machine.

        They are downloaded here because that machine may have no network. All machines get the same wheels, so that
        they build the same bots. A machine with another architecture downloads its own wheels.
        """
        requiring = [submission for submission in self._request.submissions if submission.spec.requires]
        targets = await self._client.call(worker, dask_worker.wheel_targets, requiring) if requiring else []
        wheels: dict[str, Path] = {}
        for submission, target in zip(requiring, targets, strict=True):
            if target and target.machine == os.uname().machine:
                async with self._download_lock:
                    paths = sorted((await requirements.download(submission, target)).iterdir())
                files = [File(path.name, executable=False, content=path.read_bytes()) for path in paths]
                wheels[submission.name] = self._pack(files)
        return tuple(
            submission._replace(wheels=wheels.get(submission.name)) for submission in self._request.submissions
        )

    def _compare_builds(self, worker: WorkerInfo, result: PrepareResult) -> PrepareResult:
        """Return the result of a machine, or a problem if its bots differ from those of the first machine."""
        hashes = {bot.name: bot.sha256 for bot in result.bots}
        self._bot_hashes = self._bot_hashes or hashes
        differing = [name for name, sha256 in hashes.items() if sha256 != self._bot_hashes[name]]
        if not differing:
            return result
        message = f"builds different bots from the same files than the first machine: {', '.join(differing)}"
        hint = "the same Python for bots on all machines, or one image"
        return PrepareResult((), (Problem(VERSION_MISMATCH, str(worker), message, hint=hint),), 6)

    # While playing.

    @contextlib.asynccontextmanager
    async def executor(self, setup: WorkerSetup, on_lost: ReportProgress, _workers: int) -> AsyncIterator[FixtureQueue]:
        """Yield a queue. Every machine plays fixtures of the queue, one per thread at a time, also if it joins later."""
        suitable = [worker for worker, result in self._results.items() if not result.problems]
        count, threads = len(suitable), sum(worker.threads for worker in suitable)
        description = f"{counted(count, 'worker')} of {self._client.address}, {threads} at once"
        queue = FixtureQueue(on_lost, description, threads, dask_worker.MAX_AT_ONCE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve_workers, queue, setup)
            yield queue
            nursery.cancel_scope.cancel()

    async def _serve_workers(self, queue: FixtureQueue, setup: WorkerSetup) -> None:
        """Send fixtures to every worker that is connected, until cancelled.

        Raise UserError (exit code 5) when no worker was connected for more than `reconnect_timeout` seconds.
        Fixtures that were played before stay in the journal.
        """
        active: set[str] = set()

        async def serve(worker: WorkerInfo) -> None:
            with contextlib.suppress(ConnectionLost):
                await self._serve(worker, queue, setup)
            active.discard(worker.address)

        async with trio.open_nursery() as nursery:
            last_active = trio.current_time()
            while True:
                for address, worker in self._client.workers.items():
                    if address not in active | self._refused:
                        active.add(address)
                        nursery.start_soon(serve, worker)
                if active:
                    last_active = trio.current_time()
                elif trio.current_time() - last_active > self._reconnect_timeout:
                    raise UserError([(no_worker if self._client.connected else no_scheduler)(self._client)], 5)
                await trio.sleep(POLL_INTERVAL_S)

    async def _serve(self, worker: WorkerInfo, queue: FixtureQueue, setup: WorkerSetup) -> None:
        """Send fixtures to one worker until it is lost. Refuse the worker if it cannot prepare the bots.

        Raise ConnectionLost when the worker is lost before its first fixture.
        """
        result = self._results.pop(worker, None) or await self._admit(worker)
        if result.problems:
            self._refuse(worker, result.problems)
            return
        own_setup = setup._replace(bots=result.bots, game=setup.game._replace(ref=result.ref))
        own_setup = own_setup._replace(open_folder="", recordings="")  # folders of this machine
        request = placement_request(own_setup, worker.threads)
        await self._client.call(worker, dask_worker.begin, self._client.tournament, encode_setup(own_setup), request)
        connected = True

        async def play(thread: int, jobs: Sequence[bytes]) -> Sequence[bytes]:
            nonlocal connected
            with contextlib.suppress(ConnectionLost):
                replies = await self._client.call(worker, dask_worker.play, self._client.tournament, jobs, thread)
                if replies:
                    return replies
            connected = False
            return [b""]

        async def feed_thread(thread: int) -> None:
            while connected:
                await queue.feed_several(str(worker), partial(play, thread))

        async with trio.open_nursery() as nursery:
            for thread in range(worker.threads):
                nursery.start_soon(feed_thread, thread)

    async def _admit(self, worker: WorkerInfo) -> PrepareResult:
        """Check a machine that joins during the run, and make it prepare the bots."""
        if problems := await self._check(worker, await self._client.versions(), self._request.level):
            return PrepareResult((), tuple(problems), 6)
        result = self._compare_builds(worker, await self._prepare(worker))
        if not result.problems:
            self._report(f"{worker} has joined")
        return result


@contextlib.asynccontextmanager
async def cluster(
    address: str, report: ReportProgress, reconnect_timeout: float = RECONNECT_TIMEOUT_S
) -> AsyncIterator[Backend]:
    """Open the cluster at the address of a Dask scheduler. Leaving the block ends every bot on its machines.

    `reconnect_timeout` is how many seconds a run waits for a lost scheduler or for a worker. Raise UserError (exit code
    6) if the address needs TLS and this run has no certificate.
    """
    if problems := certificate_problems(address):
        raise UserError(problems, 6)
    if in_the_clear(address):
        report(CLEARTEXT_WARNING.format(address))
    client = DaskClient(address)
    async with trio.open_nursery() as nursery:
        await nursery.start(client.run)
        machines = Cluster(client, report, reconnect_timeout)
        yield Backend(machines.require_level, machines.ready, machines.executor)
        nursery.cancel_scope.cancel()
