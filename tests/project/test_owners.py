"""What belongs to one module is named in no other: the rows of a journal, and the names of rankings.

The names of kinds of stage are in test_kinds.py, the paths of fixtures in test_fixture_id.py.
"""

import re
from collections.abc import Collection

from command import ROOT

from host.rating.rankings import RANKINGS

SQL = re.compile(r"\b(?:SELECT|INSERT (?:OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM) ")
JOURNAL = {str(path.relative_to(ROOT)) for path in (ROOT / "host" / "journal").glob("*.py")}
STORE = {str(path.relative_to(ROOT)) for path in (ROOT / "host" / "season" / "entries").glob("*.py")}
STORE.add("host/season/site_database.py")
"""The store of a season, whose rows no other package reads; and its published copy."""

OTHER_MEANINGS = {"elo", "score", "sets", "wins"}
"""Names of rankings that are also keys of results."""

CONFIGURED = {"host/rating/rankings.py", "host/report/public_check.py"} | {
    str(path.relative_to(ROOT)) for path in (ROOT / "host" / "stages").glob("*.py")
}
"""The rankings themselves, the kinds of stage, whose configs have rankings as defaults, and check.py, which runs alone."""


def found(pattern: re.Pattern[str], own: Collection[str]) -> list[str]:
    """Return the lines of host that match a pattern, in other files than the owners."""
    return [
        f"{name}:{number}: {line.strip()}"
        for ending in ("py", "html", "js")
        for path in sorted((ROOT / "host").rglob(f"*.{ending}"))
        if (name := str(path.relative_to(ROOT))) not in own
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]


def test_only_the_journal_and_the_store_read_and_write_their_rows() -> None:
    assert found(SQL, JOURNAL | STORE) == []
    assert SQL.search('"SELECT key, value FROM run"')


def test_no_ranking_is_named_outside_rankings_and_configs() -> None:
    names = {*RANKINGS} - OTHER_MEANINGS
    assert len(names) >= 5
    assert found(re.compile(rf"""["'](?:{"|".join(sorted(names))})["']"""), CONFIGURED) == []
