"""Writes tables as CSV, and reads tables of text from learning platforms and spreadsheets.

Such a table has columns separated by commas, semicolons or tabs. Its encoding is UTF-8 with or without a byte order
mark, UTF-16 with a byte order mark, or the Western encoding of Windows.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from host.base.errors import Problem, UserError
from host.base.safe_text import csv_cell
from host.base.system_errors import file_problem

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
MAX_SHEET_BYTES = 16 * 1024 * 1024


def write_rows(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str = ",") -> int:
    """Write a header and rows as CSV. Return the number of rows. Texts cannot run as formulas in a spreadsheet."""
    writer, count = csv.writer(file, delimiter=delimiter, lineterminator="\n"), 0
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
        count += 1
    return count


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Return rows as CSV, with a header. A column that a row lacks becomes an empty cell."""
    sheet = io.StringIO()
    write_rows(sheet, columns, ([row.get(column, "") for column in columns] for row in rows), delimiter)
    return sheet.getvalue()


class Sheet(NamedTuple):
    """A table of text, and the format of its file."""

    lines: list[list[str]]  # without empty ones
    delimiter: str
    marked: bool  # whether it begins with a byte order mark


def read_sheet(path: Path) -> Sheet:
    """Read a table of text. Raise UserError if the file cannot be read, is too large, or is not a table."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_SHEET_BYTES + 1)
    except OSError as failed:
        raise UserError([file_problem("read", path, failed)], 2) from failed
    if len(data) > MAX_SHEET_BYTES:
        message = f"is not a table of text: it is larger than {MAX_SHEET_BYTES >> 20} MiB"
        raise UserError([Problem("R013", str(path), message)], 2)
    text = _decoded(data)
    first = text.partition("\n")[0].removesuffix("\r")
    if given := re.fullmatch("sep=(.)", first):  # written by a spreadsheet for a spreadsheet
        text, delimiter = text.partition("\n")[2], given[1]
    else:
        delimiter = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if any(line)]
    except (csv.Error, ValueError) as wrong:  # ValueError: since Python 3.13, a delimiter that csv does not allow
        raise UserError([Problem("R013", str(path), f"is not a table of text: {wrong}")], 2) from wrong
    return Sheet(lines, delimiter, data.startswith((codecs.BOM_UTF8, *UTF16_MARKS)))


def _decoded(data: bytes) -> str:
    for encoding in ["utf-16"] if data.startswith(UTF16_MARKS) else ["utf-8-sig", "cp1252"]:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    return data.decode("latin-1")
