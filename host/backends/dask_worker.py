"""What a Dask worker does for a tournament: it builds the bots in its own sandbox and keeps `python -m host.play.worker` at play.

Everything here runs inside Dask's worker process, in the threads of its tasks. A sandbox dies with the thread that
started it, so bots that play are started by a process of their own; that ends with its standard input, and so with
this process, however it ends.
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
from distributed import get_worker

import host
import protocols
from host import __version__
from host.backends.local import start
from host.backends.prepare_bots import PrepareRequest, PrepareResult, spelled
from host.play.records import encode
from host.sandbox.detect import detect
from host.sandbox.levels import Level
from host.submissions.bot_spec import Submission
from host.submissions.build import File, copy_files
from host.submissions.languages import missing
from host.submissions.requirements import WheelTarget, target_of

LEASE = 60.0
"""Seconds without a word from whoever runs a tournament after which its bots are sent home: it has gone."""


class Look(NamedTuple):
    """What a machine is, as far as a tournament cares."""

    build_id: str
    level: Level
    reasons: str  # why it is not a stronger one


@cache
def build_id() -> str:
    """Return which croupier this is: its version, and a hash of the source that plays."""
    known = hashlib.sha256()
    for package in (host, protocols):
        root = Path(package.__path__[0])
        for path in sorted([*root.rglob("*.py"), *root.rglob("*.c")]):
            if "data" not in path.relative_to(root).parts:
                known.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return f"{__version__} ({known.hexdigest()[:8]})"


def look() -> Look:
    """Look at this machine."""
    here = detect()
    return Look(build_id(), here.level, "\n".join(map(str, here.reasons)))


# What travels, travels as files, once, and is known by its hash: bots, the wheels they require, an organiser's own game.


def packed(files: Sequence[File]) -> str:
    """Return the hash that files are known by."""
    return hashlib.sha256(encode(files)).hexdigest()


def file_cache() -> Path:
    """Return where things that have travelled lie. Dask removes it with its worker, or after one that was killed."""
    folder = Path(get_worker().local_directory) / "croupier"
    folder.mkdir(exist_ok=True)
    return folder


def missing_files(hashes: Sequence[str]) -> list[str]:
    """Return what has not come here yet."""
    return [sha256 for sha256 in hashes if not (file_cache() / sha256).is_dir()]


def store_files(files: tuple[File, ...]) -> None:
    """Keep what has come, under its hash."""
    place = file_cache() / packed(files)
    with tempfile.TemporaryDirectory(dir=file_cache(), prefix="making-") as making:
        whole = Path(making) / "whole"
        whole.mkdir()
        copy_files(files, whole)
        with contextlib.suppress(OSError):  # it has come twice at once
            whole.rename(place)


def suits(submissions: Sequence[Submission]) -> list[WheelTarget | None]:
    """Return which wheels suit bots here; None for one that cannot play here anyway."""
    return [None if missing(submission) else target_of(submission) for submission in submissions]


def ready(order: PrepareRequest) -> PrepareResult:
    """Have bots built and started, in a process of its own; the order's folders are hashes of what has come here.

    Raise OSError when that process has died.
    """
    submissions = tuple(
        submission._replace(
            folder=file_cache() / submission.folder,
            wheels=file_cache() / submission.wheels if submission.wheels else None,
        )
        for submission in order.submissions
    )
    brought = order.origin
    if brought.first:
        brought = brought._replace(folder=str(file_cache() / brought.folder))
    with start("host.backends.prepare_bots") as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(spelled(order._replace(submissions=submissions, origin=brought)))
        process.stdin.flush()
        told = process.stdout.read()
    if not told:
        raise OSError(f"whoever made the bots ready has ended with code {process.returncode}")
    return msgspec.json.decode(told, type=PrepareResult)


# Play.


class _Players:
    """The workers that play one tournament here; each is asked by one thread at a time."""

    def __init__(self, first: bytes) -> None:
        self._first = first
        self._idle: list[subprocess.Popen[bytes]] = []
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._over = threading.Event()
        self.heard = time.monotonic()
        threading.Thread(target=self._expire, daemon=True).start()

    def play(self, job: bytes) -> bytes | None:
        """Have a job played; return nothing when its worker dies, None when all have been sent home."""
        player = self._one()
        if player is None:
            return None
        assert player.stdin is not None and player.stdout is not None
        reply = b""
        with contextlib.suppress(OSError, ValueError):  # it has died, or been sent home: seen in its silence
            player.stdin.write(job + b"\n")
            player.stdin.flush()
            reply = player.stdout.readline()
        if not reply.endswith(b"\n"):
            _ended([player])
            return b""
        with self._lock:
            self._idle.append(player)
        return reply

    @property
    def over(self) -> bool:
        """Whether all have been sent home."""
        return self._over.is_set()

    def _one(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._over.is_set():
                return None
            if self._idle:
                return self._idle.pop()
            player = start("host.play.worker")
            self._all.append(player)
        assert player.stdin is not None
        with contextlib.suppress(OSError):
            player.stdin.write(self._first + b"\n")
        return player

    def stop(self) -> None:
        """End every worker, and with them their bots."""
        with self._lock:
            self._over.set()
        _ended(self._all)

    def _expire(self) -> None:
        while not self._over.wait(1.0):
            if time.monotonic() - self.heard > LEASE:
                self.stop()


def _ended(players: Sequence[subprocess.Popen[bytes]]) -> None:
    """End workers in good order: by the end of their input, and by force where that is not heard."""
    for player in players:
        assert player.stdin is not None
        with contextlib.suppress(OSError, ValueError):
            player.stdin.close()
    for player in players:
        try:
            player.wait(2)
        except subprocess.TimeoutExpired:
            player.kill()
            player.wait()


_playing: dict[str, _Players] = {}


@atexit.register
def _all_dismissed() -> None:
    for players in _playing.values():
        players.stop()


def begin(tournament: str, setup: bytes) -> None:
    """Be ready to play a tournament, whose setup is spelled as for every worker."""
    if tournament not in _playing or _playing[tournament].over:
        _playing[tournament] = _Players(setup)


def play(tournament: str, job: bytes) -> bytes | None:
    """Play a job of a tournament; return its record, nothing when its worker has died, None when there is no such one."""
    players = _playing.get(tournament)
    return players.play(job) if players else None


def heartbeat(tournament: str) -> None:
    """Take note that whoever runs a tournament is still there."""
    if tournament in _playing:
        _playing[tournament].heard = time.monotonic()


def stop(tournament: str) -> None:
    """End a tournament here; it does not wait for what that takes."""
    players = _playing.pop(tournament, None)
    if players:
        threading.Thread(target=players.stop).start()
