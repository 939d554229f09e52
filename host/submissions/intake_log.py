"""Reads and writes the log of submissions to a tournament, with their results. It is in the folder of the bots."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.base.format import clock
from host.submissions.archive import UNPACKERS, own_name

INTAKE_LOG = ".intake.jsonl"
"""The file inside `bots/`, one JSON object a line. A hidden file is not a bot."""

ADDED, REFUSED, REMOVED = "added", "refused", "removed"
EXISTS_ALREADY = ("C003", "C016")  # the codes of refusals because a bot or a file of this name exists
ARCHIVE = re.compile("(?:" + "|".join(map(re.escape, UNPACKERS)) + ")$", re.IGNORECASE)


class IntakeRow(NamedTuple):
    """A submission and its result. `code`, `why` and `cure` describe the first problem, if there is one.

    A bot that was added can have a problem, too: it builds and starts, but fails the check.
    """

    submission: str  # the path that was handed in
    result: str  # ADDED, REFUSED, or REMOVED for a refused submission that does not count any more
    bot: str  # the bot's name; if the submission was refused, the name that the bot would have had
    author: str = ""
    code: str = ""
    why: str = ""
    cure: str = ""
    remarks: tuple[str, ...] = ()
    sha256: str = ""  # of the bot; empty if it was refused
    path: str = ""  # of its copy in bots/
    at: Annotated[float, msgspec.Meta(ge=0, lt=1e11)] = 0.0  # in seconds since 1970

    @classmethod
    def refused(cls, submission: Path, name: str | None, problem: Problem, at: float) -> "IntakeRow":
        """Return the row of a refused submission."""
        bot = bot_name_of(submission) if name is None else name
        why = problem.message.splitlines()[0] if problem.message else ""
        return cls(str(submission), REFUSED, bot, code=problem.code, why=why, cure=problem.hint, at=at)

    def cells(self) -> dict[str, str]:
        """Return the cells of the row by column name, for a spreadsheet."""
        return {**self._asdict(), "remarks": " · ".join(self.remarks), "at": clock(self.at)}


def file_stem(name: str) -> str:
    """Return the name of a file without the suffix of an archive or of a source."""
    return ARCHIVE.sub("", name) if ARCHIVE.search(name) else Path(name).stem


def bot_name_of(submission: Path) -> str:
    """Return the name of the bot that a submission becomes."""
    return own_name(file_stem(submission.name))


def stored(text: str) -> str:
    r"""Return a text in the form that the log uses: a byte of a file name that is not UTF-8 becomes `\udcfc`."""
    return text.encode(errors="backslashreplace").decode()


def append(bots: Path, row: IntakeRow) -> None:
    """Append a row to the log of a folder of bots."""
    values = {key: stored(value) if isinstance(value, str) else value for key, value in row._asdict().items()}
    with (bots / INTAKE_LOG).open("ab") as log:
        log.write(msgspec.json.encode(values) + b"\n")


def read(bots: Path) -> list[IntakeRow]:
    """Return the rows of a log in their order; none if there is no log. Raise UserError if it is damaged."""
    path = bots / INTAKE_LOG
    if not path.exists():
        return []
    try:
        rows = [msgspec.json.decode(line, type=dict[str, Any]) for line in path.read_bytes().splitlines()]
        return [msgspec.convert([*IntakeRow(**row)], IntakeRow) for row in rows]
    except (OSError, ValueError, TypeError) as damaged:
        raise UserError([Problem("C011", str(path), f"cannot be read: {damaged}", hint="remove it")], 3) from damaged


def open_refusals(rows: Sequence[IntakeRow]) -> list[IntakeRow]:
    """Return the refusals that are still open: for each submission at most one, the last.

    A refusal is closed if the same path or a bot of the same name is added later, or if the submission is removed later.
    A bot that was added earlier does not close a refusal: it may be the reason of the refusal. The refusal of a path that was
    added earlier does not count if the reason is that the bot exists already.
    """
    found, added = dict[str, IntakeRow](), set[str]()
    for row in rows:
        if row.result == REFUSED and not (row.submission in added and row.code in EXISTS_ALREADY):
            found[row.submission] = row
        elif row.result == REMOVED:
            found.pop(row.submission, None)
        elif row.result == ADDED:
            added.add(row.submission)
            found = {
                file: refused for file, refused in found.items() if refused.bot != row.bot and file != row.submission
            }
    return list(found.values())


def last_added(rows: Iterable[IntakeRow]) -> dict[str, IntakeRow]:
    """Return the last row with the result ADDED of each bot, by the bot's name."""
    return {row.bot: row for row in rows if row.result == ADDED}
