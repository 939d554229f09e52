"""Finds recorded tables by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import click

from host.base.errors import Problem, UserError
from host.inspect.recorded import load_fixture, seed_of
from host.report.replay import seen_by
from host.report.table_replays import ReplayedTable, load
from host.tournament.journal import reading


class Place(NamedTuple):
    """Where a table lies: its journal, its fixture, and its number there from 0; -1 is the last."""

    journal: Path
    fixture: str
    nth: int


def split(name: str) -> tuple[str, int]:
    """Return a table's name and the question behind it, `league/A+B/7:12`; 0 if there is none."""
    table, colon, number = name.rpartition(":")
    return (table, int(number)) if colon and number.isascii() and number.isdecimal() else (name, 0)


def place_of(journals: Sequence[Path], folder: Path, name: str) -> Place:
    """Return where a table of this name lies, or the last one played; its bots may be named in any order.

    Raise UsageError if there is no such table, UserError if nothing has been played.
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
                for nth, sitting in enumerate(load_fixture(journal, seed_of(journal), fixture).sittings):
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


def load_table(place: Place) -> ReplayedTable:
    """Return the table at a place, played again."""
    with reading(place.journal) as journal:
        (table,) = load(journal, seed_of(journal), place.fixture, [place.nth])
    return table


def as_seen_by(table: ReplayedTable, seat: int) -> ReplayedTable:
    """Return a table as one seat has seen it."""
    own = [piece for piece in table.evidence if piece.bot == table.sitting.bots[seat]]
    return table._replace(events=list(seen_by(table.events, seat)), evidence=own)


def page_of(place: Place, seat: int | None) -> tuple[str, str]:
    """Return a page that plays a table, and the end of the address that opens it, as seen from a seat if one is given."""
    from host.report.html_file import page_of_table

    with reading(place.journal) as journal:
        text, name = page_of_table(journal, seed_of(journal), place.fixture, place.nth)
    return text, f"r={quote(name, safe='')}" + ("" if seat is None else f"&as={seat}")
