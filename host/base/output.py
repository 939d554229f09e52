"""Writes files that appear complete or not at all."""

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from host.base.errors import UserError
from host.base.system_errors import file_problem


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Yield a file opened for writing, which appears only when it is complete. Raise UserError if it cannot be written.

    Open a special file (a FIFO, /dev/null) directly, because a regular file in its place would break it for all programs.
    """
    special = path.exists() and not path.is_file()
    unfinished = path.parent / f".{path.name}.making"  # the name of / is empty
    try:
        with (path if special else unfinished).open("w", newline="\n") as file:
            yield file
        if not special:
            unfinished.replace(path)
    except OSError as error:
        problem = file_problem("written", path, error)
        hint = "; ".join(filter(None, [problem.hint, "-o FILE writes another file"]))
        raise UserError([problem._replace(hint=hint)], 2) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def write_atomically(path: Path, content: bytes | Iterable[bytes], mode: int | None = 0o644) -> None:
    """Write a file completely or not at all, and wait until it is on the disk. Readers see the old or the new content.

    `content` can be given in parts. If `mode` is None, the umask decides who may read the file.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600)
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, mode)
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(descriptor)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def write(path: Path, content: str | bytes) -> None:
    """Write a file that appears only when it is complete. Raise UserError if it cannot be written."""
    with whole_file(path) as file:
        if isinstance(content, bytes):
            file.buffer.write(content)
        else:
            file.write(content)
