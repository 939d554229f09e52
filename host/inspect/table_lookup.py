"""Finds recorded tables by name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from host.inspect.recorded import load_fixture, root_of
from host.inspect.table_replays import TableLocation, find
from host.journal.reader import reading
from host.play.fixture_id import group_of, with_sorted_bots
from host.stages import Registry


def find_table(journals: Sequence[Path], registry: Registry, name: str) -> TableLocation | None:
    """Return the place of the table with this name; None if there is none. The name `last` means the last table played.

    The bots in the name may be in any order. The first journal that has such a table counts.
    """
    name = with_sorted_bots(name)
    for path in journals:
        with reading(path, registry) as journal:
            paths = journal.paths() if name == "last" else []
            if paths:
                return TableLocation(path, paths[-1], -1, registry)
            if found := find(journal, name, spoilers=True):
                return TableLocation(path, found.fixture, found.nth, registry)
    return None


def example_names(journals: Sequence[Path], registry: Registry) -> Iterator[str]:
    """Yield the name of the first table of each group of fixtures (`FixtureId.group`) in each journal."""
    for place in journals:
        with reading(place, registry) as journal:
            groups = {group_of(path): path for path in sorted(journal.paths(), reverse=True)}
            for fixture in reversed(groups.values()):
                yield load_fixture(journal, root_of(journal), fixture).sittings[0].path
