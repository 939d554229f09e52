"""Writes tables as CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

from host.base.safe_text import csv_cell


def write_rows(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str = ",") -> int:
    """Write a header and rows as CSV. Return the number of rows. Texts cannot run as formulas in a spreadsheet."""
    writer, count = csv.writer(file, delimiter=delimiter, lineterminator="\n"), 0
    writer.writerow(columns)
    for row in rows:
        writer.writerow([csv_cell(cell) if isinstance(cell, str) else cell for cell in row])
        count += 1
    return count


def as_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Return rows as CSV, with a header. A key that a row does not have is an empty cell."""
    sheet = io.StringIO()
    write_rows(sheet, columns, ([row.get(column, "") for column in columns] for row in rows), delimiter)
    return sheet.getvalue()
