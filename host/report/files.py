"""A report as one file: the page, and the tables that go with it."""

from host.journal import Journal
from host.report.account import account
from host.report.page import empty_account, rendered
from host.report.tables import known_seed, load, packed, squeezed, worth_seeing
from host.report.text import one_line

MOST = 990_000
"""Bytes of one report: replays that do not fit any more are left out."""


def report_of(journal: Journal, most: int) -> tuple[str, int]:
    """Return the report of a journal, and how many replays it carries, at most so many."""
    seed = known_seed(journal)
    told = account(journal, seed)
    places = worth_seeing(journal, most) if seed is not None else []
    room = MOST - len(rendered(told, places, {}, live=False).encode())
    data: dict[str, str] = {}
    for place in places:
        assert seed is not None
        (table,) = load(journal, seed, place.fixture, [place.nth])
        small = squeezed(packed(table, place.why))
        needed = len(small) + 2 * len(place.name) + 200
        if needed <= room:
            data[place.name] = small
            room -= needed
    return rendered(told, [place for place in places if place.name in data], data, live=False), len(data)


def casino_of(name: str, playlog: str) -> str:
    """Return a page with one play.log on it, and nothing else."""
    return rendered(empty_account(one_line(name)), [], {}, live=False, playlog=(one_line(name), playlog))
