"""The lock of a run: only one process at a time writes its journal."""

import contextlib
import fcntl
import os
import platform
import time
from collections.abc import Iterator
from pathlib import Path

from host.base.errors import Problem, UserError


def lock_holder(path: Path) -> str:
    """Return a text about the process that writes a journal (id, machine, time); empty if no process writes it."""
    try:
        descriptor = os.open(path.with_suffix(".lock"), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.pread(descriptor, 200, 0).decode(errors="replace").strip() or "somebody"
    finally:
        os.close(descriptor)
    return ""


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a run, and write this process's id into its file. The kernel releases it if the process dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor, path)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"pid {os.getpid()} on {platform.node()} since {time.strftime('%H:%M:%S')}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int, path: Path) -> None:
    """Take a lock. Raise UserError if another process holds it.

    Try three times, because `lock_holder` also holds the lock for a moment.
    """
    for patience in (0.05, 0.1, None):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as taken:
            if patience is None:
                holds = os.pread(descriptor, 200, 0).decode(errors="replace").strip()
                raise _in_use(path.parent, holds) from taken
            time.sleep(patience)


def refuse_in_use(path: Path) -> None:
    """Raise UserError (exit code 5) if a process writes a journal."""
    if holds := lock_holder(path):
        raise _in_use(path.parent, holds)


def _in_use(run: Path, holds: str) -> UserError:
    problem = Problem("R003", str(run), f"is in use by {holds}", hint="croupier status --follow")
    return UserError([problem], 5)
