"""A kind of stage is one object in a module of its own, and no other file contains its name."""

import re

from command import ROOT

from host.stages import KINDS
from host.stages.adhoc import ADHOC

NAMES = [*KINDS, ADHOC.name]
SOURCES = [
    path
    for folder in ("host", "protocols")
    for pattern in ("*.py", "*.html", "*.js")
    for path in sorted((ROOT / folder).rglob(pattern))
    if ROOT / "host" / "stages" not in path.parents and path.name != "public_check.py"
]
"""check.py, which outsiders run without croupier, has to know the schedules of croupier's own kinds."""
AMBIGUOUS = {"groups", "independent", "pairs"}
"""Names that are also JSON keys, sections of the page or names of plans. They may be quoted, but not compared with a kind."""


def quoted(names: set[str]) -> str:
    """Return a pattern that finds one of these names as a literal."""
    return rf"""["'](?:{"|".join(map(re.escape, sorted(names)))})["']"""


COMPARED = re.compile(rf"""kind["'\])]*\s*(?:==|!=|\bin\b|\bnot\s+in\b)\s*[(\[{{]?[^\n)\]}}]*{quoted(AMBIGUOUS)}""")
NAMED = re.compile(quoted({*NAMES} - AMBIGUOUS))


def test_a_kind_is_found_by_its_own_name() -> None:
    assert all(kind.name == name == kind.config().kind for name, kind in KINDS.items())


def test_no_file_but_its_own_names_a_kind() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in SOURCES
        for pattern in (NAMED, COMPARED)
        for match in pattern.finditer(path.read_text())
    ]
    assert len(SOURCES) > 100 and found == []


def test_the_test_finds_a_kind_that_is_compared() -> None:
    assert COMPARED.search('if stage.kind == "independent":') and COMPARED.search('stage["kind"] in ("x", "groups")')
    assert NAMED.search("{% if stage.kind == 'round-robin' %}") and not COMPARED.search('{"tables": 1}')
