"""Writes the files that commands make."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from host.base.errors import Problem, UserError


@contextlib.contextmanager
def making(path: Path) -> Iterator[TextIO]:
    """Open a file for writing; it appears whole or not at all. Raise UserError if it cannot be written."""
    unfinished = path.with_name(f".{path.name}.making")
    try:
        with unfinished.open("w", newline="\n") as file:
            yield file
        unfinished.replace(path)
    except OSError as failed:
        hint = "-o FILE names another place"
        raise UserError([Problem("R013", str(path), f"cannot be written: {failed.strerror}", hint=hint)], 2) from failed
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with making(path) as file:
        if isinstance(content, bytes):
            file.buffer.write(content)
        else:
            file.write(content)
