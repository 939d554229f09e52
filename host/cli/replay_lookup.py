"""Finds recorded tables by name."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import quote

import click

from host.base.errors import nothing_played
from host.cli import CliContext
from host.inspect.recorded import load_fixture, seed_of
from host.inspect.table_replays import TableLocation, named_while_running
from host.play.fixture_id import FixtureId, group_of, with_sorted_bots
from host.results.journal import reading

MAX_EXAMPLES = 3  # names of tables in the message about an unknown table


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
        raise nothing_played(context.folder)
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


def page_of(location: TableLocation, seat: int | None) -> tuple[str, str]:
    """Return a page that plays a table, and the fragment of its address; `seat` selects whose view it shows."""
    from host.report.html_file import page_of_table

    with reading(location.journal, location.registry) as journal:
        text, name = page_of_table(journal, location.fixture, location.nth, location.spoilers)
    return text, f"r={quote(name, safe='')}" + ("" if seat is None else f"&as={seat}")
