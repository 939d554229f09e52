"""Run in Dask workers: store files, prepare bots, and play fixtures in `python -m host.play.worker`.

Everything here runs in Dask's worker process, in the threads of its tasks. A sandbox ends with the thread that started
it, so a separate process starts the bots. That process ends when its standard input is closed. Therefore it ends with
Dask's process, however Dask's process ends.
"""

import atexit
import contextlib
import hashlib
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
import trio
from distributed import get_worker

import host
import protocols
from host import __version__
from host.backends.load import choose_placement
from host.backends.local import WORKER_EXIT_TIMEOUT_S
from host.backends.placement import PlacementRequest
from host.backends.prepare_bots import PrepareRequest, PrepareResult, encode_request
from host.backends.worker_process import start_module, start_worker
from host.bots.bot_spec import Submission
from host.play.jobs import encode, worker_input
from host.sandbox.detect import detect
from host.sandbox.levels import Level
from host.submissions.file_tree import File, copy_files
from host.submissions.languages import missing
from host.submissions.requirements import WheelTarget, target_of

HEARTBEAT_TIMEOUT_S = 60.0
"""Seconds without a heartbeat after which this machine ends the bots: the run was killed before it could end them."""


MAX_AT_ONCE = 8
"""Maximum number of fixtures in one task. A task of Dask costs as much processor time as a fixture of one table."""

MAX_TASK_S = 0.25
"""Seconds after which a task begins no further fixture, because the run receives no record before the task ends."""


class MachineInfo(NamedTuple):
    """Properties of a machine that decide whether it can play."""

    build_id: str
    level: Level
    reasons: str  # why it does not have a stronger level


@cache
def build_id() -> str:
    """Return the version of croupier and a hash of its source."""
    digest = hashlib.sha256()
    for package in (host, protocols):
        root = Path(package.__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.c")]):
            if "data" not in path.relative_to(root).parts:
                digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return f"{__version__} ({digest.hexdigest()[:8]})"


def inspect_machine() -> MachineInfo:
    """Return the properties of this machine."""
    sandbox = detect()
    return MachineInfo(build_id(), sandbox.level, "\n".join(map(str, sandbox.reasons)))


# Bots, their wheels and an organiser's own game are sent to a machine as files, once, and are identified by their hash.
# Not UploadDirectory: it would send everything to every machine again.


def hash_files(files: Sequence[File]) -> str:
    """Return the hash that identifies files."""
    return hashlib.sha256(encode(files)).hexdigest()


def file_cache() -> Path:
    """Return the folder of received files. Dask removes it with its worker, or when it finds that the worker was killed."""
    folder = Path(get_worker().local_directory) / "croupier"
    folder.mkdir(exist_ok=True)
    return folder


def missing_files(hashes: Sequence[str]) -> list[str]:
    """Return the hashes of files that this machine has not received yet."""
    return [sha256 for sha256 in hashes if not (file_cache() / sha256).is_dir()]


def store_files(files: tuple[File, ...]) -> None:
    """Store files in a folder whose name is their hash."""
    folder = file_cache() / hash_files(files)
    with tempfile.TemporaryDirectory(dir=file_cache(), prefix="making-") as making:
        whole = Path(making) / "whole"
        whole.mkdir()
        copy_files(files, whole)
        with contextlib.suppress(OSError):  # two tasks have stored them at the same time
            whole.rename(folder)


def wheel_targets(submissions: Sequence[Submission]) -> list[WheelTarget | None]:
    """Return, in order, the target for which each bot needs wheels on this machine; None if the bot cannot run here."""
    return [None if missing(submission) else target_of(submission) for submission in submissions]


def ready(request: PrepareRequest) -> PrepareResult:
    """Build and start bots in a separate process, and return its result. Raise OSError when that process has died.

    Each folder of a bot in the request is given as the hash of files that `store_files` has stored on this machine.
    """
    submissions = tuple(
        submission._replace(
            folder=file_cache() / submission.folder,
            wheels=file_cache() / submission.wheels if submission.wheels else None,
        )
        for submission in request.submissions
    )
    game = request.ref
    if game.packed:
        game = game._replace(folder=str(file_cache() / game.folder))
    with start_module("host.backends.prepare_bots") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(encode_request(request._replace(submissions=submissions, ref=game)))
        process.stdin.flush()
        result = process.stdout.read()
    if not result:
        raise OSError(f"the process that prepares the bots has ended with code {process.returncode}")
    return msgspec.json.decode(result, type=PrepareResult)


# Playing.


class _LocalPool:
    """Worker processes that play one tournament on this machine; each is used by one thread at a time."""

    def __init__(self, encoded_setup: bytes, request: PlacementRequest) -> None:
        self._encoded_setup = encoded_setup
        placement = trio.run(choose_placement, request)
        # The cores of workers that have not been started; none if there are more workers than cores.
        self._cores = [*placement.cores] if placement.workers == request.workers else []
        self._workers = dict[subprocess.Popen[bytes], tuple[int, ...]]()  # that have not died, each with its cores
        self._idle: list[tuple[int, subprocess.Popen[bytes]]] = []  # with the thread of the run that used each last
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self.last_heartbeat = time.monotonic()
        threading.Thread(target=self._stop_when_abandoned, daemon=True).start()

    def play(self, job: bytes, thread: int) -> bytes | None:
        """Play a job. Return the record; b"" when the worker is lost, and None when the pool has been stopped.

        If possible, use the worker that `thread` used last, because it keeps the sandboxes of its bots.
        """
        worker = self._take_worker(thread)
        if worker is None:
            return None
        assert worker.stdin is not None and worker.stdout is not None
        reply = b""
        with contextlib.suppress(OSError, ValueError):  # it has died or was stopped, so the reply stays incomplete
            worker.stdin.write(job + b"\n")
            worker.stdin.flush()
            reply = worker.stdout.readline()
        if not reply.endswith(b"\n"):
            with self._lock:
                self._cores += [cores] if (cores := self._workers.pop(worker)) else []
            with contextlib.suppress(OSError), worker:  # leaving the block closes its pipes and waits for its end
                worker.kill()  # it may have closed its output alone
            return b""
        with self._lock:
            self._idle.append((thread, worker))
        return reply

    @property
    def stopped(self) -> bool:
        """Whether the pool has been stopped."""
        return self._stopped.is_set()

    def _take_worker(self, thread: int) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._stopped.is_set():
                return None
            if self._idle:
                own = [nth for nth, (last, _) in enumerate(self._idle) if last == thread]
                return self._idle.pop(own[0] if own else -1)[1]
            cores = self._cores.pop(0) if self._cores else ()
            worker = start_worker()
            self._workers[worker] = cores
        assert worker.stdin is not None
        with contextlib.suppress(OSError):
            worker.stdin.write(worker_input(cores, self._encoded_setup))
        return worker

    def stop(self) -> None:
        """End every worker and its bots."""
        with self._lock:
            self._stopped.set()
            self._idle, workers = [], [*self._workers]
        _end(workers)

    def _stop_when_abandoned(self) -> None:
        while not self._stopped.wait(1.0):
            if time.monotonic() - self.last_heartbeat > HEARTBEAT_TIMEOUT_S:
                self.stop()


def _end(workers: Sequence[subprocess.Popen[bytes]]) -> None:
    """Close the input of workers, and kill those that do not end within WORKER_EXIT_TIMEOUT_S."""
    for worker in workers:
        assert worker.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            worker.stdin.close()
    for worker in workers:
        try:
            worker.wait(WORKER_EXIT_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()


_pools: dict[str, _LocalPool] = {}  # by tournament


@atexit.register
def _stop_all() -> None:
    for pool in _pools.values():
        pool.stop()


# Not a WorkerPlugin for begin, heartbeat and stop: the setup differs from machine to machine, the scheduler keeps a
# plugin after its run was killed and would start it on new workers, and no teardown is called for a run that was killed.


def begin(tournament: str, encoded_setup: bytes, request: PlacementRequest) -> None:
    """Prepare to play a tournament with this setup, unless that has been done already.

    Choose the cores of this machine on which its workers will run.
    """
    if tournament not in _pools or _pools[tournament].stopped:
        _pools[tournament] = _LocalPool(encoded_setup, request)


def play(tournament: str, jobs: Sequence[bytes], thread: int) -> list[bytes]:
    """Play jobs, one after another, until MAX_TASK_S have passed.

    Return the records of the jobs that were played, in order. The last record is b"" when the worker of its job has
    died. The list is empty when the tournament is not played here. The run keeps several tasks open on this machine,
    and `thread` is the number of this task among them.
    """
    pool, until, replies = _pools.get(tournament), time.monotonic() + MAX_TASK_S, list[bytes]()
    for job in jobs:
        reply = pool.play(job, thread) if pool else None
        if reply is None:
            break
        replies.append(reply)
        if not reply or time.monotonic() > until:
            break
    return replies


def heartbeat(tournament: str) -> None:
    """Note that the run of a tournament is still connected."""
    if tournament in _pools:
        _pools[tournament].last_heartbeat = time.monotonic()


def stop(tournament: str) -> None:
    """End a tournament on this machine, without waiting until its bots have ended."""
    pool = _pools.pop(tournament, None)
    if pool:
        threading.Thread(target=pool.stop).start()
