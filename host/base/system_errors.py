"""Turns errors of the system (no permission, a full disk) into errors that name the path and the cure.

Such errors are not bugs of croupier, wherever they occur.
"""

import errno
import os
import shlex
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from host.base.errors import Problem, UserError

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})

WITHOUT_MEMORY = ("failed to map segment from shared object", "returned NULL without setting an exception")
"""Parts of the messages with which Python's imports fail if memory runs out. Elsewhere, Python raises MemoryError."""

NO_MEMORY_CURE = "end other programs, raise  ulimit -v , or use fewer --workers"

FULL_OUTPUT_CURE = "free some space where the output goes, or write it to another place"

CURES: Mapping[int, str] = {
    errno.EACCES: "check the owner and the permissions of each part:  namei -l {path}",
    errno.EPERM: "check the owner and the permissions of each part:  namei -l {path}",
    errno.EROFS: "its file system is read-only: mount it writable, or work in another folder",
    errno.ENOSPC: "free some space:  df -h {path}",
    errno.EDQUOT: "the quota of this user is used up: free some space:  df -h {path}",
    errno.ENOENT: "check the path:  namei -l {path}",
    errno.ENOTDIR: "a part of this path is a file, not a folder",
    errno.EISDIR: "this is a folder, not a file",
    errno.ELOOP: "a symbolic link in this path leads back to itself",
    errno.ENAMETOOLONG: "choose a shorter path",
    errno.EMFILE: "allow more open files:  ulimit -n 65536",
    errno.ENFILE: "the system has too many open files; end other programs",
    errno.ENOMEM: NO_MEMORY_CURE,
    errno.EIO: "the disk has failed; look at  dmesg",
    errno.ESTALE: "the file server does not answer for this file; mount it again",
}
"""The advice to the user, by errno. An error without an entry may be a bug of croupier."""

MAY_BE_A_BUG = frozenset({errno.ENOENT})
"""Errors that may be bugs of croupier, except where the caller knows that the user has named the file."""


def file_problem(verb: str, path: Path, error: OSError) -> Problem:
    """Return the problem of a file that cannot be `verb` (read, written, created), with the cure."""
    return Problem("R013", str(path), f"cannot be {verb}: {error.strerror}", hint=cure(error, str(path)))


def cure(error: OSError, path: str) -> str:
    """Return the advice to the user about an error of the system; empty if there is none."""
    return CURES.get(error.errno or 0, "").format(path=shlex.quote(path) if path else "").rstrip()


def system_error(error: BaseException, folders: Iterable[Path]) -> UserError | None:
    """Return the error as users see it, with exit code 6; None if it may be a bug of croupier.

    When a disk is full, the system does not name a file. The error then names the first of `folders` on a full disk.
    """
    if isinstance(error, MemoryError) or any(words in str(error) for words in WITHOUT_MEMORY):
        return UserError([Problem("R013", "", "there is not enough memory", hint=NO_MEMORY_CURE)], 6)
    if not isinstance(error, OSError) or error.errno not in CURES.keys() - MAY_BE_A_BUG:
        return None
    path = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else ""
    if not path and error.errno in DISK_FULL:
        path = next((str(folder) for folder in (*folders, Path(tempfile.gettempdir())) if _is_full(folder)), "")
        if not path and _output_is_full():
            path = "standard output"
            return UserError([Problem("R013", path, f"cannot be written: {error.strerror}", hint=FULL_OUTPUT_CURE)], 6)
    reason = error.strerror or str(error)
    return UserError(
        [Problem("R013", path, f"cannot be used: {reason}" if path else reason, hint=cure(error, path))], 6
    )


def _is_full(folder: Path) -> bool:
    try:
        return os.statvfs(folder).f_bavail == 0
    except OSError:
        return False


def _output_is_full() -> bool:
    """Return whether standard output goes to a full disk. Write a line break to it, because only a write can show this."""
    try:
        os.write(1, b"\n")
    except OSError as failed:
        return failed.errno in DISK_FULL
    return False
