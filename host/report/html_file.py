"""Build a report as one file: the page with its tables."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from host.base.errors import UserError
from host.base.safe_text import one_line
from host.inspect.gradebook import ClassList
from host.inspect.recorded import known_seed, root_of
from host.inspect.table_replays import ReplayedTable, TableRef, gzip_base64, load, to_json
from host.inspect.visibility import visible
from host.journal.reader import Journal
from host.report.anonymize import REAL_NAMES, Anonymizer, renamed
from host.report.offers import Offers, Quota
from host.report.page import Detail, Page
from host.report.summary import RunSummary, summarize
from host.report.timelines import chips

MAX_REPORT_BYTES = 990_000
"""Bytes of one report at most. Replays that do not fit are left out."""
REPLAYS = 200_000  # bytes of a report reserved for replays, unless its pages cannot be reduced any further
USUAL = Quota(20, 200)


def report_of(
    journal: Journal,
    quota: Quota = USUAL,
    names: Anonymizer = REAL_NAMES,
    classes: Mapping[str, ClassList] = MappingProxyType({}),
    *,
    evidence: bool = True,
) -> tuple[str, int]:
    """Return the report of a journal with these names, and how many replays it contains.

    `classes` has the grades of stages that are shown in place of those of their bots. Without `evidence`, the report does
    not have what the bots wrote to standard error, and what else is evidence of faults.
    """
    seed, shown = known_seed(journal), visible(journal)
    summary = summarize(journal, seed, shown.stages, names=names)
    stages = (stage._replace(grades=classes.get(stage.name, stage.grades)) for stage in summary.stages)
    summary = summary._replace(stages=tuple(stages))
    places, tables, missing_tables = list[TableRef](), list[ReplayedTable](), ""
    if seed is not None:
        offers = Offers(journal, summary, shown, names)
        root = journal.state().root(seed)
        chosen = offers.choose(root, quota)
        places, tables, missing_tables = _tables(journal, root, chosen, offers.tables, names)
        tables = tables if evidence else [table._replace(evidence=[]) for table in tables]
    stacks = list(filter(None, map(chips, tables)))
    page = Page(summary, stacks=stacks, missing_tables=missing_tables)
    for detail in Detail if evidence else (Detail.CUT,):
        text = page.html(places, detail=detail)
        room = MAX_REPORT_BYTES - len(text.encode())
        if room >= REPLAYS:
            break
    if not places:
        return text, 0
    data = fitting(places, tables, room)
    if len(data) < len(places):  # omit the times of decisions before any table
        data = fitting(places, [table._replace(times={}) for table in tables], room)
    kept = [place for place in places if place.name in data]
    return page.html(kept, data, detail), len(data)


def spectators_report(journal: Journal) -> tuple[str, int]:
    """Return the report of a journal without what the bots wrote to standard error and what else is evidence of faults.

    Their authors alone may see that. Return also how many replays it contains.
    """
    return report_of(journal, evidence=False)


def _tables(
    journal: Journal,
    seed: bytes,
    places: Sequence[TableRef],
    played: Mapping[tuple[str, int], ReplayedTable],
    names: Anonymizer,
) -> tuple[list[TableRef], list[ReplayedTable], str]:
    """Return the places of the tables that can be shown, these tables, and why others cannot be shown."""
    found, tables, left_out, why = list[TableRef](), list[ReplayedTable](), 0, ""
    for place in places:
        try:
            table = played.get((place.fixture, place.nth)) or table_at(journal, seed, place)
            tables.append(renamed(table, names))
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
        small = gzip_base64(to_json(table))
        needed = len(small) + 2 * len(place.name) + 200
        if needed <= room:
            data[place.name] = small
            room -= needed
    return data


def table_at(journal: Journal, seed: bytes, place: TableRef) -> ReplayedTable:
    """Replay the table at a place."""
    (table,) = load(journal, seed, place.fixture, [place.nth])
    return table


def page_of_table(journal: Journal, fixture: str, nth: int, spoilers: bool = False) -> tuple[str, str]:
    """Return a page with one table of a fixture, and the table's name. `nth` is from 0; -1 is the last table."""
    (table,) = load(journal, root_of(journal), fixture, [nth], spoilers)
    return page_of(table), table.sitting.path


def page_of(table: ReplayedTable) -> str:
    """Return a page with one table, which it shows at once."""
    name = table.sitting.path
    place = TableRef(name, "", 0, title=name)
    return Page(RunSummary(one_line(name))).html([place], {name: gzip_base64(to_json(table))})
