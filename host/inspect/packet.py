"""Collects all data of a tournament that the author of a bot may see: its faults, its slow answers, and its tables.

The tables are shown as the bot's seat saw them. The data has nothing about other bots except their names, and what the
bot's own seat was shown.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.bots.values import Evidence
from host.inspect.evidence import time_breakdown
from host.inspect.recorded import known_root
from host.inspect.table_replays import ReplayedTable, for_author, load
from host.inspect.visibility import table_of, visible
from host.journal.reader import Journal
from host.play.fixture_id import FixtureId
from host.play.records import Record, count_faults

MAX_FAULTS, MAX_SLOWEST, MAX_TABLES = 1000, 50, 200
SLOWEST = "slowest"


class PacketDecision(NamedTuple):
    """A decision of the bot with its evidence.

    Texts are as the programs wrote them; bytes that are not UTF-8 are replaced.
    """

    where: str  # TABLE:N
    kind: str  # the kind of fault, or "slowest"
    detail: str
    question: str
    answer: str
    stderr: str
    ended: str
    milliseconds: float
    computed_ms: float
    time: str  # how the time was spent, in words; "" if nothing was measured


class PacketTable(NamedTuple):
    """A table of the bot, as seen from its seat."""

    table: str
    seat: int
    bots: tuple[str, ...]
    scores: tuple[int, ...]
    events: tuple[dict[str, Any], ...]


class Packet(NamedTuple):
    """All data of a tournament that the author of a bot may see."""

    tournament: str
    game: str
    bot: str
    sha256: str
    tables: int  # number of tables that the bot has played
    fault_counts: dict[str, int]
    faults: tuple[PacketDecision, ...]
    slowest: tuple[PacketDecision, ...]
    own_tables: tuple[PacketTable, ...]
    left_out: str  # why some of its tables are not in the packet; "" if all are


def packet_of(journal: Journal, bot: str) -> Packet:
    """Return the packet for the author of a bot. Raise UserError (exit code 2) if the journal has no such bot."""
    bots = journal.bots()
    if bot not in bots:
        hint = f"bots here: {', '.join([*bots][:12])}"
        raise UserError([Problem("C012", bot, "has not played in this tournament", hint=hint)], 2)
    state = journal.state()
    records = [record for _, record in journal.records() if bot in record.results]
    counts = {kind: count for (faulty, kind), count in count_faults(records).items() if faulty == bot}
    over, stages = visible(journal).stages, {stage.name: stage for stage in state.configs}
    pieces = [
        (FixtureId.parse(path).stage, path, piece) for _, path, piece in journal.evidence("WHERE fault.bot = ?", (bot,))
    ]
    own = [
        _decision(table_of(stages.get(stage), path, piece.table), piece)
        for stage, path, piece in pieces
        if stage in over
    ]
    slowest = sorted((each for each in own if each.kind == SLOWEST), key=lambda each: -each.milliseconds)
    tables, left_out = _tables(journal, bot, records)
    return Packet(
        tournament=state.name,
        game=state.game,
        bot=bot,
        sha256=bots[bot].sha256,
        tables=sum(record.results[bot].tables for record in records),
        fault_counts=counts,
        faults=tuple(each for each in own if each.kind != SLOWEST)[:MAX_FAULTS],
        slowest=tuple(slowest[:MAX_SLOWEST]),
        own_tables=tuple(tables),
        left_out=left_out,
    )


def _decision(table: str, piece: Evidence) -> PacketDecision:
    return PacketDecision(
        where=f"{table}:{piece.number}",
        kind=piece.kind,
        detail=piece.detail,
        question=_text(piece.question),
        answer=_text(piece.raw),
        stderr=_text(piece.stderr),
        ended=piece.ended,
        milliseconds=round(piece.wall * 1000, 3),
        computed_ms=round(piece.cpu * 1000, 3),
        time=time_breakdown(piece),
    )


def _text(written: bytes) -> str:
    return written.decode(errors="replace")


def _tables(journal: Journal, bot: str, records: list[Record]) -> tuple[list[PacketTable], str]:
    """Return the first tables of the bot as its seat saw them, and a text that says why others are left out."""
    root, running, found = known_root(journal), set[str](), list[PacketTable]()
    if root is None:
        return [], "The seed of the run is not known here, so tables cannot be shown."
    finished = visible(journal).stages
    total = 0
    for record in records:
        stage = FixtureId.parse(record.path).stage
        if stage not in finished:
            running.add(stage)
            continue
        total += record.results[bot].tables
        if len(found) < MAX_TABLES:
            found += _of_fixture(journal, root, record.path, bot, MAX_TABLES - len(found))
    parts = [f"What the bot was asked in {stage} is secret while it runs." for stage in sorted(running)]
    parts += [f"The first {len(found)} of {total} tables are here."] if total > len(found) else []
    return found, " ".join(parts)


def _of_fixture(journal: Journal, root: bytes, path: str, bot: str, most: int) -> Iterator[PacketTable]:
    """Yield the first tables of a fixture at which a bot had a seat, at most `most` of them."""
    for table in load(journal, root, path):
        if most <= 0:
            return
        if bot in table.sitting.bots:
            most -= 1
            yield _own(table, table.sitting.bots.index(bot))


def _own(table: ReplayedTable, seat: int) -> PacketTable:
    seen = for_author(table, seat)
    scores = next((tuple(each.facts["scores"]) for each in reversed(table.events) if "scores" in each.facts), ())
    events = tuple({"ev": each.ev, **each.facts} for each in seen.events)
    return PacketTable(table.sitting.path, seat, tuple(table.sitting.bots), scores, events)
