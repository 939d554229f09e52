"""Finds recorded tables by name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from host.inspect.recorded import load_fixture, root_of
from host.inspect.table_replays import TableLocation, named_while_running
from host.journal.reader import reading
from host.play.fixture_id import FixtureId, group_of, with_sorted_bots
from host.stages import Registry


def find_table(journals: Sequence[Path], registry: Registry, name: str) -> TableLocation | None:
    """Find a table by name, or the `last` one played. The bots in the name may be in any order. None: there is none."""
    name = with_sorted_bots(name)
    for path in journals:
        with reading(path, registry) as journal:
            paths = journal.paths()
            if name == "last":
                if paths:
                    return TableLocation(path, paths[-1], -1, registry)
                continue
            if (running := named_while_running(journal, name)) is not None:
                return TableLocation(path, running.fixture, running.nth, registry)
            for fixture in _candidates(paths, name):
                for nth, sitting in enumerate(load_fixture(journal, root_of(journal), fixture).sittings):
                    if sitting.path == name or sitting.path.endswith("/" + name):
                        return TableLocation(path, fixture, nth, registry)
    return None


def example_names(journals: Sequence[Path], registry: Registry) -> Iterator[str]:
    """Yield the name of the first table of each group of fixtures."""
    for place in journals:
        with reading(place, registry) as journal:
            groups = {group_of(path): path for path in sorted(journal.paths(), reverse=True)}
            for fixture in reversed(groups.values()):
                yield load_fixture(journal, root_of(journal), fixture).sittings[0].path


def _candidates(paths: Sequence[str], name: str) -> list[str]:
    """Return the fixtures that may contain a table of this name: those of its group."""
    if FixtureId.parse(name).first_table is None:
        return []
    group = group_of(name)
    return [path for path in paths if path.endswith(group) or group_of(path).endswith(group)]
