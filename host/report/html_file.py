"""Build a report as one file: the page with its tables."""

from collections.abc import Sequence

from host.base.errors import UserError
from host.base.safe_text import one_line
from host.inspect.recorded import known_seed
from host.report.anonymize import REAL_NAMES, Names
from host.report.page import Detail, empty_account, render
from host.report.summary import summarize
from host.report.table_replays import ReplayedTable, TableRef, gzip_base64, load, renamed, select_replays, to_json
from host.report.timelines import chips
from host.report.visibility import public_stages
from host.tournament.journal import Journal

MOST = 990_000
"""Bytes of one report at most. Replays that do not fit are left out."""
REPLAYS = 200_000  # bytes of a report reserved for replays, unless its pages cannot be reduced any further


def report_of(journal: Journal, most: int, names: Names = REAL_NAMES) -> tuple[str, int]:
    """Return the report of a journal with these names, and how many replays it contains, at most `most`."""
    seed, stages = known_seed(journal), public_stages(journal)
    summary = summarize(journal, seed, stages, names=names)
    places = select_replays(journal, stages, most, names) if seed is not None else []
    places, tables, missing_tables = _tables(journal, seed, places, names) if seed is not None else ([], [], "")
    stacks = list(filter(None, map(chips, tables)))
    for detail in Detail:
        room = MOST - len(
            render(
                summary, places, {}, live=False, stacks=stacks, detail=detail, missing_tables=missing_tables
            ).encode()
        )
        if room >= REPLAYS:
            break
    data = fitting(places, tables, room)
    if len(data) < len(places):  # omit the times of decisions before any table
        data = fitting(places, [table._replace(times={}) for table in tables], room)
    chosen = [place for place in places if place.name in data]
    return render(summary, chosen, data, live=False, stacks=stacks, detail=detail, missing_tables=missing_tables), len(
        data
    )


def _tables(
    journal: Journal, seed: bytes, places: Sequence[TableRef], names: Names
) -> tuple[list[TableRef], list[ReplayedTable], str]:
    """Return the places of the tables that can be shown, these tables, and why others cannot be shown."""
    found, tables, left_out, why = list[TableRef](), list[ReplayedTable](), 0, ""
    for place in places:
        try:
            tables.append(renamed(table_at(journal, seed, place), names))
            found.append(place)
        except UserError as refused:
            if refused.problems[0].code != "C019":
                raise
            left_out, why = left_out + 1, refused.problems[0].message
    return found, tables, f"Left out, {left_out} of {len(places)} tables: {why}" if left_out else ""


def fitting(places: Sequence[TableRef], tables: Sequence[ReplayedTable], room: int) -> dict[str, str]:
    """Return compressed tables by name, as many as fit into `room` bytes."""
    data: dict[str, str] = {}
    for place, table in zip(places, tables, strict=True):
        small = gzip_base64(to_json(table, place.why))
        needed = len(small) + 2 * len(place.name) + 200
        if needed <= room:
            data[place.name] = small
            room -= needed
    return data


def table_at(journal: Journal, seed: bytes, place: TableRef) -> ReplayedTable:
    """Replay the table at a place."""
    (table,) = load(journal, seed, place.fixture, [place.nth])
    return table


def page_of_table(journal: Journal, seed: bytes, fixture: str, nth: int) -> tuple[str, str]:
    """Return a page with one table of a fixture, and the table's name. `nth` is from 0; -1 is the last table."""
    (table,) = load(journal, seed, fixture, [nth])
    name = table.sitting.path
    place = TableRef(name, fixture, nth, "")
    data = {name: gzip_base64(to_json(table, ""))}
    return render(empty_account(one_line(name)), [place], data, live=False), name


def casino_of(name: str, playlog: str) -> str:
    """Return a page that contains only one play.log."""
    return render(empty_account(one_line(name)), [], {}, live=False, playlog=(one_line(name), playlog))
