"""Keeps the lines of fixtures whose answers have been removed from a journal, in a compressed file beside it."""

import contextlib
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path

from host.base.output import write_atomically
from protocols.strict_json import read_json

MAX_BYTES = 1 << 30  # of all lines; a stranger could have written the file


def kept_lines_file(journal: Path) -> Path:
    """Return the file of the lines. It exists if the answers of the journal have been removed, or are being removed."""
    return journal.with_name("lines.json.gz")


def write_kept_lines(journal: Path, lines: Mapping[int, str]) -> None:
    """Write the lines of the fixtures, by their numbers, completely or not at all."""
    content = json.dumps({str(number): line for number, line in lines.items()}).encode()
    write_atomically(kept_lines_file(journal), gzip.compress(content, 9, mtime=0), mode=None)


def kept_lines(journal: Path) -> Mapping[int, str]:
    """Return the lines by the numbers of their fixtures; none if there is no such file, or if it is damaged.

    Then the entries of the chain are not sound.
    """
    damaged = (OSError, ValueError, EOFError, zlib.error)
    with contextlib.suppress(*damaged), gzip.open(kept_lines_file(journal)) as file:
        found = read_json(file.read(MAX_BYTES))
        if isinstance(found, dict):
            return {int(number): str(line) for number, line in found.items()}
    return {}
