"""A report as one file: the page, and the tables that go with it."""

from typing import Any

from host.journal import Journal
from host.report.account import account
from host.report.page import empty_account, rendered
from host.report.tables import known_seed, load, packed, worth_seeing
from host.report.text import one_line


def report_of(journal: Journal, most: int) -> tuple[str, int]:
    """Return the report of a journal, and how many replays it carries, at most so many."""
    seed = known_seed(journal)
    places = worth_seeing(journal, most) if seed is not None else []
    tables: dict[str, dict[str, Any]] = {}
    for place in places:
        assert seed is not None
        for table in load(journal, seed, place.fixture, [place.nth]):
            tables[place.name] = packed(table, place.why)
    text = rendered(account(journal, seed), places, tables, live=False)
    return text, text.count('<script type="application/octet-stream"')


def casino_of(name: str, playlog: str) -> str:
    """Return a page with one play.log on it, and nothing else."""
    return rendered(empty_account(one_line(name)), [], {}, live=False, playlog=(one_line(name), playlog))
