"""Writes files that appear complete or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from host.base.errors import UserError
from host.base.system_errors import file_problem


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a file for writing; it appears only when it is complete. Raise UserError if it cannot be written.

    What exists and is not a regular file (a FIFO, /dev/null) is written to: a file in its place would end it for all.
    """
    special = path.exists() and not path.is_file()
    unfinished = path.with_name(f".{path.name}.making")
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


def write(path: Path, content: str | bytes) -> None:
    """Write a file that appears only when it is complete. Raise UserError if it cannot be written."""
    with whole_file(path) as file:
        if isinstance(content, bytes):
            file.buffer.write(content)
        else:
            file.write(content)
