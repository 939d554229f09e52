"""Finds recorded tables by name."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext
from host.inspect.recorded import load_fixture, seed_of
from host.play.custom_games import display_of
from host.play.fixture_id import FixtureId, group_of, with_sorted_bots
from host.report.replay import seen_by
from host.report.table_replays import ReplayedTable, load, named_while_running
from host.results.journal import reading
from host.stages import CROUPIERS, Registry

MAX_EXAMPLES = 3  # names of tables in the message about an unknown table


class TableLocation(NamedTuple):
    """The position of a table: its journal, its fixture, and its number in the fixture from 0; -1 is the last.

    With `spoilers` it is shown even if it is still secret.
    """

    journal: Path
    fixture: str
    nth: int
    registry: Registry = CROUPIERS  # of its journal
    spoilers: bool = False


def split(name: str) -> tuple[str, int]:
    """Split `league/A+B/7:12` into the name of the table and the number of the question; 0 if there is none."""
    table, colon, number = name.rpartition(":")
    return (table, int(number)) if colon and number.isascii() and number.isdecimal() else (name, 0)


def find_table(journals: Sequence[Path], context: CliContext, name: str) -> TableLocation:
    """Find a table by name, or the `last` one played. The bots in the name may be in any order.

    Raise UsageError for an unknown table, UserError if nothing has been played.
    """
    any_played = False
    name = with_sorted_bots(name)
    for path in journals:
        with reading(path, context.registry) as journal:
            paths = journal.paths()
            any_played = any_played or bool(paths)
            if name == "last":
                if paths:
                    return TableLocation(path, paths[-1], -1, context.registry)
                continue
            if (running := named_while_running(journal, name)) is not None:
                return TableLocation(path, running.fixture, running.nth, context.registry)
            for fixture in _candidates(paths, name):
                for nth, sitting in enumerate(load_fixture(journal, seed_of(journal), fixture).sittings):
                    if sitting.path == name or sitting.path.endswith("/" + name):
                        return TableLocation(path, fixture, nth, context.registry)
    if not any_played:
        raise UserError(
            [Problem("R006", str(context.folder), "nothing has been played here yet", hint="croupier run")], 3
        )
    listed = ", ".join(islice(_examples(journals, context), MAX_EXAMPLES))
    raise click.UsageError(f"there is no table {name!r}; tables here are called, for example, {listed}, or last")


def _examples(journals: Sequence[Path], context: CliContext) -> Iterator[str]:
    """Yield the name of the first table of each group of fixtures."""
    for place in journals:
        with reading(place, context.registry) as journal:
            groups = {group_of(path): path for path in sorted(journal.paths(), reverse=True)}
            for fixture in reversed(groups.values()):
                yield load_fixture(journal, seed_of(journal), fixture).sittings[0].path


def _candidates(paths: Sequence[str], name: str) -> list[str]:
    """Return the fixtures that may contain a table of this name: those of its group."""
    if FixtureId.parse(name).first_table is None:
        return []
    group = group_of(name)
    return [path for path in paths if path.endswith(group) or group_of(path).endswith(group)]


def load_table(location: TableLocation) -> ReplayedTable:
    """Load a table and play it again."""
    with reading(location.journal, location.registry) as journal:
        (table,) = load(journal, seed_of(journal), location.fixture, [location.nth], location.spoilers)
    return table


def as_seen_by(table: ReplayedTable, seat: int) -> ReplayedTable:
    """Return what one seat saw of a table."""
    asked = {event.facts["n"] for event in table.events if event.ev == "answer" and event.facts["seat"] == seat}
    secret = display_of(table.game).secret_answers
    own = [piece for piece in table.evidence if piece.number in asked]
    return table._replace(events=list(seen_by(table.events, seat, secret)), evidence=own)


def page_of(location: TableLocation, seat: int | None) -> tuple[str, str]:
    """Return a page that plays a table, and the fragment of its address; `seat` selects whose view it shows."""
    from host.report.html_file import page_of_table

    with reading(location.journal, location.registry) as journal:
        text, name = page_of_table(journal, location.fixture, location.nth, location.spoilers)
    return text, f"r={quote(name, safe='')}" + ("" if seat is None else f"&as={seat}")
