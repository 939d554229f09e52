"""Makes listings of the grades of a stage, which print themselves as text, JSON and CSV."""

from functools import partial
from typing import Any

from host.inspect.gradebook import Gradebook, rows_of_students
from host.inspect.roster import Roster, roster_name
from host.report import terminal
from host.report.listings import Listing, Results


def grade_list(results: Results, book: Gradebook) -> Listing:
    """Return a listing of the grades of a stage, with a row for each bot and for each submission that was refused."""
    cells = [row.cells() for row in book.rows]
    repeated = results.stage.standings.repeated
    facts = {**results.facts(), "rows": [row.json() for row in book.rows], "repeated": repeated}
    columns = list(dict.fromkeys(column for row in cells for column in row))
    text = partial(terminal.grades_text, results.title, book.rows, repeated=repeated)
    return Listing("grades", facts, columns, cells, text)


def roster_list(results: Results, book: Gradebook, roster: Roster) -> Listing:
    """Return a listing of the grades of a stage, with a row for each student of a roster.

    The rows have the order and the columns of the roster, followed by the columns of grades.
    """
    grades, found = grade_list(results, book), rows_of_students(book.rows, roster)
    blank = dict.fromkeys(grades.columns, "")
    cells: list[dict[str, Any]] = [
        {**student, **blank, **row.cells()} for student, row in zip(roster.rows, found, strict=True)
    ]
    columns = [*(column for column in roster.columns if column not in grades.columns), *grades.columns]
    facts = {
        **grades.facts,
        "rows": [student | {"grade": row.json()} for student, row in zip(cells, found, strict=True)],
    }
    names = [*map(roster_name, roster.rows)]
    text = partial(terminal.grades_text, results.title, found, names, results.stage.standings.repeated)
    return grades._replace(facts=facts, columns=columns, cells=cells, parts=text)
