"""Reads a roster of students, which is a table of text with a header, and finds the bot of each student."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.sheet import Sheet, read_sheet
from host.submissions.intake_log import file_stem

MIN_TOKEN_CHARS = 3
"""Minimum characters of an id or e-mail address that is searched for inside another text, such as a file name."""

TITLES: Mapping[str, str] = {
    "first": "firstname givenname forename vorname",
    "last": "lastname surname familyname nachname",
    "name": "name fullname student studentname username displayname participant author",
    "id": "id idnumber studentid studentnumber matriculationnumber matrikelnummer login loginid userid sisid sisuserid "
    "sisloginid orgdefinedid externalid",
    "email": "email emailaddress mail",
    "file": "file filename submission submissionfile",
    "bot": "bot botname",
}
"""The possible titles of a column in a roster, by meaning of the column.

Titles are in small letters, without blanks and signs. A blank separates two titles.
"""

MEANINGS = {title: meaning for meaning, titles in TITLES.items() for title in titles.split()}


class Roster(NamedTuple):
    """The students of a course, with all columns of the file, and how the file is written."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, str]]
    delimiter: str = ","
    marked: bool = False  # whether it begins with a byte order mark


class Entrant(NamedTuple):
    """A bot, or a refused submission, with the texts by which a roster can name it."""

    bot: str
    author: str = ""
    file: str = ""  # the path that was handed in; empty if it is not known
    refused_at: float | None = None  # when it was refused, in seconds since 1970; None if it was accepted


class Match(NamedTuple):
    """A student, with the entrant that belongs to the student.

    `entrant` is None if none does, or if it is not clear which.
    """

    row: Mapping[str, str]
    entrant: Entrant | None
    candidates: Sequence[Entrant] = ()  # the entrants that may belong to the student, if it is not clear which one does


class Matches(NamedTuple):
    """The students in the order of the roster, and the entrants that suit no student."""

    students: Sequence[Match]
    others: Sequence[Entrant]


def read_roster(path: Path) -> Roster:
    """Read a roster. Raise UserError if the file cannot be read, or has no students, or no column that names them."""
    sheet = read_sheet(path)
    if not names_students(sheet):
        message = "names no students: its first line must have the title of at least one column"
        hint = "name, first name and last name, id, e-mail, file or bot"
        raise UserError([Problem("R013", str(path), message, hint=hint)], 2)
    if len(sheet.lines) == 1:
        raise UserError([Problem("R013", str(path), "has titles, but no student", hint="a line for each student")], 2)
    columns = [title.strip() for title in sheet.lines[0]]
    rows = [dict(zip(columns, [*line, *[""] * len(columns)], strict=False)) for line in sheet.lines[1:]]
    return Roster(columns, rows, sheet.delimiter, sheet.marked)


def names_students(sheet: Sheet) -> bool:
    """Return whether the first line of a sheet has the title of a column that names students."""
    return any(map(_meaning, sheet.lines[0] if sheet.lines else ()))


def match(roster: Roster, entrants: Sequence[Entrant]) -> Matches:
    """Find the bot of each student.

    A column `bot`, or `file` with the name of the file that was handed in, decides. Otherwise the name, the id or the
    e-mail address of a student must equal the bot's author, its name or the name of its file. If nothing is equal, a
    text of the student must be a part of a text of the bot, as in the names that learning platforms give to files. A bot
    that suits two students belongs to neither. A student gets a refused submission only if no accepted one suits.
    """
    suiting = [_suiting(row, entrants) for row in roster.rows]
    named = {entrant for some in suiting for entrant in some}
    found = [_in_force(some) for some in suiting]
    claimed: dict[Entrant, int] = {}
    for some in found:
        if len(some) == 1:
            claimed[some[0]] = claimed.get(some[0], 0) + 1
    students = [
        Match(row, some[0]) if len(some) == 1 and claimed[some[0]] == 1 else Match(row, None, some)
        for row, some in zip(roster.rows, found, strict=True)
    ]
    return Matches(students, [entrant for entrant in entrants if entrant not in named])


def _in_force(suiting: Sequence[Entrant]) -> Sequence[Entrant]:
    """Return the accepted submissions of a student. If there are none, return only the one that was refused last."""
    accepted = [each for each in suiting if each.refused_at is None]
    return accepted or sorted(suiting, key=lambda each: each.refused_at or 0.0)[-1:]


def _suiting(row: Mapping[str, str], entrants: Sequence[Entrant]) -> list[Entrant]:
    """Return the entrants that suit a student: the best among the accepted ones, and the best among the refused ones.

    If the roster names the bot or the file of the student, return only the entrants with this name or file.
    """
    given: dict[str, list[str]] = {}
    for title, text in row.items():
        if (meaning := _meaning(title)) and text.strip():
            given.setdefault(meaning, []).append(text.strip())
    decided = [
        entrant
        for entrant in entrants
        if entrant.bot in given.get("bot", ())
        or (entrant.file and {Path(entrant.file).name, _stem(entrant.file)} & {*given.get("file", ())})
    ]
    if decided:
        return decided
    accepted = [entrant for entrant in entrants if entrant.refused_at is None]
    refused = [entrant for entrant in entrants if entrant.refused_at is not None]
    return [*_called_as(given, accepted), *_called_as(given, refused)]


def _called_as(given: Mapping[str, Sequence[str]], entrants: Sequence[Entrant]) -> Sequence[Entrant]:
    """Return the entrants with a text that equals a name, the id or the address of a student.

    If there are none, return those with a text that contains one of them. `given` has the texts about the student by
    meaning.
    """
    names = [
        *given.get("name", ()),
        *(" ".join(pair) for pair in zip(given.get("first", ()), given.get("last", ()), strict=False)),
    ]
    addresses = given.get("email", ())
    whole = {*map(_key, [*names, *given.get("id", ()), *addresses, *(each.partition("@")[0] for each in addresses)])}
    whole |= {_key(" ".join(reversed(words))) for name in names if len(words := re.split(r"[,\s]+", name)) > 1}
    equal = [entrant for entrant in entrants if whole & {*map(_key, _texts(entrant))} - {""}]
    if equal:
        return equal
    parts = [words for name in names if len(words := _words(name)) > 1]
    parts += [words[::-1] for words in parts]
    parts += [[_key(each)] for each in (*given.get("id", ()), *addresses) if len(_key(each)) >= MIN_TOKEN_CHARS]
    return [entrant for entrant in entrants if any(_inside(part, entrant) for part in parts)]


def _inside(part: Sequence[str], entrant: Entrant) -> bool:
    """Return whether a text that names an entrant, or the name of its file's folder, has the words `part` in a row."""
    folder = Path(entrant.file).parent.name
    for text in (*_texts(entrant), folder):
        words = _words(text)
        if any(words[start : start + len(part)] == [*part] for start in range(len(words))):
            return True
    return False


def _texts(entrant: Entrant) -> tuple[str, str, str]:
    return entrant.bot, entrant.author, _stem(entrant.file)


def _stem(file: str) -> str:
    return file_stem(Path(file).name)


def _meaning(title: str) -> str | None:
    return MEANINGS.get(re.sub(r"[^a-z]", "", title.casefold()))


def _plain(text: str) -> str:
    """Return a text in small letters without accents."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", _plain(text)) if word]


def _key(text: str) -> str:
    return "".join(_words(text))


def roster_name(row: Mapping[str, str]) -> str:
    """Return the name of a student for messages.

    It is the column with the name; without one, first and last name; without these, the first column that can name a
    student; "" if there is none.
    """
    given = dict[str, str]()
    for title, text in row.items():
        if kind := _meaning(title):
            given.setdefault(kind, text)
    both = " ".join(filter(None, [given.get("first"), given.get("last")]))
    return given.get("name") or both or next(iter(given.values()), "")
