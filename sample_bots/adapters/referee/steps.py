"""Defines what a referee of another host is asked and told, one step at a time.

`brutaltester.py`, `codingame.py` and `botzone.py` each have a generator `play`: it yields steps, is sent their results, and
returns the scores. It does no I/O. `driver.py` runs the steps of many tables at the same time.
"""

from collections.abc import Generator
from typing import Any, NamedTuple


class Failed(Exception):
    """Raised for anything that a referee must not write. The text says what it wrote, and what was expected."""


class Table(NamedTuple):
    """A table as referee/1 opens it."""

    number: int
    seats: int
    seed: int  # below 2^31
    rules: dict[str, Any]


class Options(NamedTuple):
    """What the organiser has set."""

    seed: bool = True  # whether the referee is told a seed
    reuse: bool = False  # whether a process of brutaltester plays one table after another
    fault: str = "! fault"  # what a referee of brutaltester reads instead of each line of a failed answer
    keep_running: bool = False  # whether a judge of Botzone may stay alive between turns
    scale: int = 1  # by which scores are multiplied


class Question(NamedTuple):
    """A question to one seat. `view` has one field."""

    seat: int
    view: dict[str, str]
    lines: int = 1  # of the answer
    limit_ms: int = 0  # 0: no limit of its own


class Answer(NamedTuple):
    """The answer of a seat: a text, or the kind of its fault."""

    text: str = ""
    fault: str = ""


class Begin(NamedTuple):
    """Start a process for the table, or take one that waits for another table. A process that it has is killed."""


class Send(NamedTuple):
    """Write a text to the process."""

    text: str


class Close(NamedTuple):
    """Close the input of the process."""


class Read(NamedTuple):
    """Read lines of the process; the result is a list of them, without line ends."""

    lines: int = 1


class ReadOutput(NamedTuple):
    """Read all that the process writes until it ends or writes a line. The result is the text, and whether it has ended."""

    last_line: str


class Ask(NamedTuple):
    """Ask seats at the same time; the result is a dict of their answers."""

    questions: tuple[Question, ...]


class Tell(NamedTuple):
    """Report what happened to spectators."""

    event: dict[str, Any]


class Show(NamedTuple):
    """Give texts to seats that are not asked any more."""

    texts: dict[int, str]


Step = Begin | Send | Close | Read | ReadOutput | Ask | Tell | Show
Play = Generator[Step, Any, list[float]]

MAX_TOLD = 4000  # characters of a text for spectators


def seat_of(word: str, table: Table) -> int:
    """Return the number of a seat. Raise Failed if the table has no such seat."""
    if not word.isascii() or not word.isdigit() or int(word) >= table.seats:
        raise Failed(f"names player {word[:40]!r} of {table.seats}")
    return int(word)


def number_of(word: str, what: str, most: int) -> int:
    """Return a whole number from 0 to `most`. Raise Failed for anything else."""
    if not word.isascii() or not word.isdigit() or len(word) > 12 or int(word) > most:
        raise Failed(f"has {word[:40]!r} as {what}, which is a whole number up to {most}")
    return int(word)


def told(text: str) -> Tell:
    """Return a text for spectators that is drawn as it is."""
    return Tell({"event": "state", "text": text[:MAX_TOLD]})


def scaled(scores: list[float], scale: int) -> list[int]:
    """Return scores as whole numbers, multiplied by the scale. Raise Failed if one of them is not whole then."""
    whole = []
    for score in scores:
        value = round(score * scale)
        if abs(score * scale - value) > 1e-6:
            raise Failed(f"has the score {score}, and scores are whole numbers: set scale, for example 100")
        whole.append(value)
    return whole
