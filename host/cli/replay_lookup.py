"""Finding a table in a journal, and showing it again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import click

from host.base.errors import Problem, UserError
from host.bots.values import Evidence
from host.play.match import TableSetup
from host.play.records import Record, unpack
from host.play.table_plans import table_setups
from host.report.replay import Event, as_text, events, seen_by
from host.report.visibility import known_seed
from host.tournament.journal import Journal, reading
from host.tournament.stage_runner import fixture_of


class Shown(NamedTuple):
    """A table found again."""

    sitting: TableSetup
    events: list[Event]
    evidence: list[Evidence]

    def seen_by(self, seat: int) -> "Shown":
        """Return the table as one seat has seen it."""
        own = [piece for piece in self.evidence if piece.bot == self.sitting.bots[seat]]
        return self._replace(events=list(seen_by(self.events, seat)), evidence=own)


def seed_of(journal: Journal) -> bytes:
    """Return the seed of what a journal holds. Raise Refused when it cannot be read, which only its owner may."""
    seed = known_seed(journal)
    if seed is None:
        raise UserError(
            [Problem("R010", str(journal.path), "its seed cannot be read: run/seed is missing, another's or not ours")],
            3,
        )
    return seed


class Place(NamedTuple):
    """Where a table lies: its journal, its fixture, and its number there from 0; -1 is the last."""

    journal: Path
    fixture: str
    nth: int


def find_table(journals: Sequence[Path], folder: Path, name: str) -> Shown:
    """Return a table by its name, or the last one played. Raise as `place_of` does."""
    return load_table(*place_of(journals, folder, split(name)[0]))


def split(name: str) -> tuple[str, int]:
    """Return a table's name and the question behind it, `league/A+B/7:12`; 0 when there is none."""
    table, colon, number = name.rpartition(":")
    return (table, int(number)) if colon and number.isascii() and number.isdecimal() else (name, 0)


def place_of(journals: Sequence[Path], folder: Path, name: str) -> Place:
    """Return where a table of this name lies, or the last one played; its bots may be named in any order.

    Raise UsageError when there is no such table, Refused when nothing has been played.
    """
    played = False
    name = _in_order(name)
    for path in journals:
        with reading(path) as journal:
            paths = journal.paths()
            played = played or bool(paths)
            if name == "last":
                if paths:
                    return Place(path, paths[-1], -1)
                continue
            for fixture in _candidates(paths, name):
                whole = journal.full_record(fixture)
                assert whole is not None
                seats = _sittings(journal, *whole)
                for nth, sitting in enumerate(seats):
                    if sitting.path == name or sitting.path.endswith("/" + name):
                        return Place(path, fixture, nth)
    if not played:
        raise UserError([Problem("R006", str(folder), "nothing has been played here yet", hint="croupier run")], 3)
    raise click.UsageError(f"there is no table {name!r}; `croupier errors` and `croupier replay last` name some")


def _in_order(name: str) -> str:
    """Return a table's name with its contestants as seed paths have them: sorted."""
    return "/".join("+".join(sorted(part.split("+"))) for part in name.split("/"))


def _candidates(paths: Sequence[str], name: str) -> list[str]:
    """Return the fixtures in which a table of this name may have been played: its own group's."""
    group = name.rpartition("/")[0]
    return [path for path in paths if group and (path.endswith(group) or path.rpartition("/")[0].endswith(group))]


def load_table(path: Path, fixture: str, nth: int) -> Shown:
    """Return a fixture's nth table."""
    with reading(path) as journal:
        return _shown(journal, fixture, nth)


def page_of(place: Place, seat: int | None) -> tuple[str, str]:
    """Return a page that plays a table, and what its address ends with to open it, as seen from a seat if that is said."""
    from host.report.html_file import page_of_table

    with reading(place.journal) as journal:
        text, name = page_of_table(journal, seed_of(journal), place.fixture, place.nth)
    return text, f"r={quote(name, safe='')}" + ("" if seat is None else f"&as={seat}")


def _sittings(journal: Journal, record: Record, about: dict[str, object]) -> list[TableSetup]:
    return table_setups(fixture_of(about), seed_of(journal), record.scores)


def _shown(journal: Journal, fixture: str, nth: int) -> Shown:
    whole = journal.full_record(fixture)
    assert whole is not None
    record, about = whole
    seats = _sittings(journal, record, about)
    answers = unpack(record.answers)
    number = nth % len(seats)
    try:
        happened = list(events(str(about["game"]), seats[number], seed_of(journal), answers[number]))
    except ValueError as differs:
        problem = Problem("R008", str(journal.path), f"the journal does not fit the rules: {differs}")
        raise UserError([problem], 1) from differs
    return Shown(seats[number], happened, [piece for piece in record.evidence if piece.table == number + 1])


def shown_again(shown: Shown) -> Iterator[str]:
    """Yield a table as lines of text."""
    return as_text(iter(shown.events), shown.sitting.bots, shown.evidence)
