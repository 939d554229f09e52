"""Keeps the lines (chain.py) of fixtures whose answers have been removed, in a compressed file beside the journal."""

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
    """Return the path of the file for the kept lines. It exists once croupier begins to remove the answers."""
    return journal.with_name("lines.json.gz")


def write_kept_lines(journal: Path, lines: Mapping[int, str]) -> None:
    """Write the kept lines into their file, completely or not at all. `lines` has each line by fixture number."""
    content = json.dumps({str(number): line for number, line in lines.items()}).encode()
    write_atomically(kept_lines_file(journal), gzip.compress(content, 9, mtime=0), mode=None)


def kept_lines(journal: Path) -> Mapping[int, str]:
    """Return the kept lines, by fixture number; empty if their file is missing or damaged.

    If a line is missing, the entry of its fixture in the chain is not sound.
    """
    damaged = (OSError, ValueError, EOFError, zlib.error)
    with contextlib.suppress(*damaged), gzip.open(kept_lines_file(journal)) as file:
        found = read_json(file.read(MAX_BYTES))
        if isinstance(found, dict):
            return {int(number): str(line) for number, line in found.items()}
    return {}
