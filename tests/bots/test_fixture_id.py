"""The identity of a fixture is one value: a path is spelled and parsed in one module, and cut nowhere else."""

import re

import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st

from host.play.fixture_id import FixtureId, contestants, contestants_in, group_of, is_within

PATHS = {
    "tables/7": FixtureId("tables", first_table=7),
    "league/NEPTR+Nestor/10001": FixtureId("league", meeting="NEPTR+Nestor", first_table=10001),
    "knockout/ada+grace/set 2/1": FixtureId("knockout", meeting="ada+grace/set 2", first_table=1),
    "swiss/3/ada+grace/1": FixtureId("swiss", 3, "ada+grace", 1),
    "trial 0/4/1": FixtureId("trial 0", 4, "", 1),
    "ladder/finals/best": FixtureId("ladder", meeting="finals/best"),
    "groups/007": FixtureId("groups", meeting="007"),
}
NAMES = st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters="%+._-"), min_size=1, max_size=8)
CUT = re.compile(r"""(?:split|partition)\(["'][/+]["']""")
OWN = {"host/play/fixture_id.py", "host/play/table_plans.py", "host/report/public_check.py"}
"""The modules that cut such texts: the paths of fixtures, and the names of processes."""
FOLDERS = ("play", "stages", "rating", "results", "config", "tournament", "inspect", "backends", "report", "web", "cli")
"""The packages in which a text with a slash is a path of a fixture; in the others it is the name of a file."""


@pytest.mark.parametrize("path", PATHS)
def test_a_path_spells_an_identity(path: str) -> None:
    assert FixtureId.parse(path) == PATHS[path]
    assert str(PATHS[path]) == path


@given(
    st.builds(
        lambda stage, number, bots, first: FixtureId(stage, number, contestants(bots) if bots else "", first),
        st.from_regex("[A-Za-z0-9_-]{1,40}", fullmatch=True),
        st.none() | st.integers(0, 10**9),
        st.lists(NAMES, min_size=2, max_size=5),
        st.integers(0, 10**9),
    )
)
def test_every_identity_is_read_as_it_was_spelled(identity: FixtureId) -> None:
    assert FixtureId.parse(str(identity)) == identity
    assert group_of(str(identity)) == identity.group == str(identity).rpartition("/")[0]
    assert is_within(str(identity), identity.group)


@given(st.lists(NAMES, min_size=1, max_size=5))
def test_a_meeting_names_its_bots(bots: list[str]) -> None:
    assert sorted(contestants_in(contestants(bots))) == sorted(bots)


def test_numbers_in_paths_are_ordered_as_numbers() -> None:
    paths = ["league/a+b/10001", "league/a+b/1", "groups/10/a+b/1", "groups/9/a+b/1"]
    ordered = ["groups/9/a+b/1", "groups/10/a+b/1", "league/a+b/1", "league/a+b/10001"]
    assert sorted(paths, key=lambda path: FixtureId.parse(path).sort_key) == ordered


def test_no_other_module_cuts_a_path() -> None:
    cuts = [
        f"{name}:{number}: {line.strip()}"
        for folder in FOLDERS
        for path in sorted((ROOT / "host" / folder).glob("**/*.py"))
        if (name := str(path.relative_to(ROOT))) not in OWN
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if CUT.search(line)
    ]
    assert not cuts
