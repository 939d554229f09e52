"""Builds a report in one file: the page of a run with the replays of its tables."""

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
"""Most bytes of a report. Replays that do not fit are left out."""
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
    """Return the report of a journal as HTML, and the number of replays in it.

    `names` are the names of the bots in the report. `classes` are grades by stage that replace the grades of bots, for
    example the grades of students. Without `evidence`, the report does not contain evidence of faults, such as the
    texts that bots wrote to standard error.
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
    if len(data) < len(places):  # rather omit the times of decisions than a table
        data = fitting(places, [table._replace(times={}) for table in tables], room)
    kept = [place for place in places if place.name in data]
    return page.html(kept, data, detail), len(data)


def spectators_report(journal: Journal) -> tuple[str, int]:
    """Return the report of a journal without evidence of faults as HTML, and the number of replays in it.

    Only the author of a bot may see the evidence, for example the texts that the bot wrote to standard error.
    """
    return report_of(journal, evidence=False)


def _tables(
    journal: Journal,
    seed: bytes,
    places: Sequence[TableRef],
    played: Mapping[tuple[str, int], ReplayedTable],
    names: Anonymizer,
) -> tuple[list[TableRef], list[ReplayedTable], str]:
    """Replay tables. Return the references and the replays of the tables that can be replayed, and a text about the others.

    `played` are tables that have been replayed already, by fixture and number. The text is "" if all can be replayed.
    """
    found, tables, left_out, why = list[TableRef](), list[ReplayedTable](), 0, ""
    for place in places:
        try:
            table = played.get((place.fixture, place.nth))
            table = table or next(load(journal, seed, place.fixture, [place.nth]))
            tables.append(renamed(table, names))
            found.append(place)
        except UserError as refused:
            if refused.problems[0].code != "C019":
                raise
            left_out, why = left_out + 1, refused.problems[0].message
    return found, tables, f"Left out, {left_out} of {len(places)} tables: {why}" if left_out else ""


def fitting(places: Sequence[TableRef], tables: Sequence[ReplayedTable], room: int) -> dict[str, str]:
    """Return the compressed tables that fit into `room` bytes in total, by name. Take earlier tables first."""
    data: dict[str, str] = {}
    for place, table in zip(places, tables, strict=True):
        small = gzip_base64(to_json(table))
        needed = len(small) + 2 * len(place.name) + 200
        if needed <= room:
            data[place.name] = small
            room -= needed
    return data


def page_of_table(journal: Journal, fixture: str, nth: int, spoilers: bool = False) -> tuple[str, str]:
    """Return a page with one table of a fixture, and the table's name. `nth` is from 0; -1 is the last table."""
    (table,) = load(journal, root_of(journal), fixture, [nth], spoilers)
    return page_of(table), table.sitting.path


def page_of(table: ReplayedTable) -> str:
    """Return a page with one table as HTML. The page shows the table immediately."""
    name = table.sitting.path
    place = TableRef(name, "", 0, title=name)
    return Page(RunSummary(one_line(name))).html([place], {name: gzip_base64(to_json(table))})
