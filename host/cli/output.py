"""Writes files that appear complete or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from host.base.errors import Problem, UserError


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """Open a file for writing; it appears only when it is complete. Raise UserError if it cannot be written."""
    unfinished = path.with_name(f".{path.name}.making")
    try:
        with unfinished.open("w", newline="\n") as file:
            yield file
        unfinished.replace(path)
    except OSError as error:
        hint = "-o FILE writes another file"
        raise UserError([Problem("R013", str(path), f"cannot be written: {error.strerror}", hint=hint)], 2) from error
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
