"""Replay tables of a journal, and pack them for the casino of a page."""

import base64
import gzip
import json
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from host.base.safe_text import one_line
from host.bots.values import Evidence
from host.inspect.recorded import does_not_fit, load_fixture
from host.play.custom_games import display_of
from host.play.match import TableSetup
from host.report.anonymize import REAL_NAMES, WITHHELD, Names
from host.report.replay import Event, events, spelled
from host.report.visibility import table_of
from host.tournament.journal import Journal
from host.tournament.stages import kind_of, stages_of
from protocols.wire import Fault, Move

KEPT = 1000  # characters of an answer, and of standard error, in the evidence of a replay


class TableRef(NamedTuple):
    """The place of a table in a journal, and why somebody might want to see it."""

    name: str
    fixture: str
    nth: int  # in its fixture, from 0
    why: str


class ReplayedTable(NamedTuple):
    """A table that was replayed from its journal."""

    game: str
    sitting: TableSetup
    events: list[Event]
    evidence: list[Evidence]
    times: Mapping[int, tuple[int, int]] = {}  # wall and CPU time of decisions in microseconds, by number, if recorded

    @property
    def bots(self) -> list[str]:
        """The bots by seat, with control characters escaped."""
        return [one_line(bot) for bot in self.sitting.bots]


def select_replays(journal: Journal, stages: Container[str], most: int, names: Names = REAL_NAMES) -> list[TableRef]:
    """Return at most `most` tables of these stages: the last one, faults, slow answers, one of each group, then others."""
    staged = {stage.name: stage for stage in stages_of(journal.metadata())}
    stage_of = {path: name for name in staged if name in stages for path in journal.paths(name)}
    found: dict[str, TableRef] = {}

    def add(path: str, nth: int, why: str) -> None:
        place = TableRef(names.path(table_of(staged[stage_of[path]], path, nth + 1)), path, nth, why)
        if len(found) < most:
            found.setdefault(place.name, place)

    paths = list(stage_of)
    if paths:
        add(paths[-1], 0, "the last fixture")
    wrong, slow = dict[tuple[str, str], Evidence](), dict[str, Evidence]()
    at: dict[int, str] = {}
    for _, path, piece in journal.evidence():
        if path in stage_of and piece.kind != "slowest" and (piece.bot, piece.kind) not in wrong:
            wrong[piece.bot, piece.kind] = piece
            at[id(piece)] = path
        if (
            path in stage_of
            and piece.kind == "slowest"
            and piece.wall > slow.get(piece.bot, piece._replace(wall=0)).wall
        ):
            slow[piece.bot] = piece
            at[id(piece)] = path
    for piece in list(wrong.values())[: most // 2]:
        add(at[id(piece)], piece.table - 1, f"{one_line(names.bot(piece.bot))}: {piece.kind}")
    for piece in sorted(slow.values(), key=lambda piece: -piece.wall)[: max(1, most // 10)]:
        add(at[id(piece)], piece.table - 1, f"the slowest answer of {one_line(names.bot(piece.bot))}")
    seen: set[str] = set()
    for path in reversed(paths):  # later stages matter more
        group = path if kind_of(staged[stage_of[path]]).tourneys else path.rpartition("/")[0]
        if group not in seen:
            seen.add(group)
            add(path, 0, stage_of[path])
    for path in reversed(paths):
        add(path, 0, stage_of[path])
    for path in paths:
        if len(found) < most and (whole := journal.full_record(path)):
            for nth in range(1, len(whole[0].scores)):
                add(path, nth, stage_of[path])
    return list(found.values())


def find(journal: Journal, name: str) -> TableRef | None:
    """Return the place of the table with this full name; None if there is none."""
    group, _, said = name.rpartition("/")
    number = int(said) if said.isascii() and said.isdecimal() and len(said) < 10 else 0
    for stage in stages_of(journal.metadata()):
        for path in journal.paths(stage.name):
            beside, _, first = path.rpartition("/")
            if kind_of(stage).tourneys:
                nth = number - 1 if path == group else -1
            else:
                nth = number - int(first) if beside == group and first.isdecimal() else -1
            if nth >= 0 and (whole := journal.full_record(path)) and nth < len(whole[0].scores):
                return TableRef(name, path, nth, "")
    return None


def load(journal: Journal, seed: bytes, fixture: str, wanted: Sequence[int] | None = None) -> Iterator[ReplayedTable]:
    """Replay tables of a fixture, all if `wanted` is None. Raise UserError if the journal does not fit the rules."""
    recorded = load_fixture(journal, seed, fixture)
    times = journal.times(fixture)
    try:
        for nth in range(len(recorded.sittings)) if wanted is None else wanted:
            table = recorded.table(nth)
            yield ReplayedTable(
                game=table.game.name,
                sitting=table.sitting,
                events=list(events(table)),
                evidence=[piece for piece in recorded.record.evidence if piece.table == table.number],
                times={time.number: (time.wall, time.cpu) for time in times if time.table == table.number},
            )
    except (ValueError, IndexError, KeyError) as differs:
        raise does_not_fit(journal.path, differs) from differs


def renamed(table: ReplayedTable, names: Names) -> ReplayedTable:
    """Return a replayed table with the given names. It was dealt by its real name, which is part of its luck."""
    if not names.masks:
        return table
    bots, path = tuple(names.all_of(table.sitting.bots)), names.path(table.sitting.path)
    happened = [
        Event(ev, facts | {"table": path, "bots": list(bots)}) if ev == "table.start" else Event(ev, facts)
        for ev, facts in table.events
    ]
    return table._replace(
        sitting=table.sitting._replace(bots=bots, path=path, luck=WITHHELD),
        events=happened,
        evidence=list(map(names.evidence, table.evidence)),
    )


# The format of a table on a page: events by shape, questions by column. Compressed, it is a third of plain events.


def to_json(table: ReplayedTable, why: str = "") -> dict[str, Any]:
    """Return a table for the casino. A question and its answer are one row, `turn`. Omit what the picture works out."""
    shapes: list[list[str]] = []
    rows: list[list[Any]] = []
    questions: list[list[str]] = []
    display = display_of(table.game)
    for event in table.events:
        ev, facts = event
        if ev == "table.start" or ev in display.omitted_events or event.twice:
            continue
        if ev == "ask":
            questions.append(facts["q"].split(" "))
            continue
        omitted = ("n",) if ev == "answer" else display.omitted_facts.get(ev, ())
        kept = {key: json_value(value) for key, value in facts.items() if key not in omitted}
        shape = ["turn" if ev == "answer" else ev, *kept]
        if shape not in shapes:
            shapes.append(shape)
        rows.append([shapes.index(shape), *kept.values()])
    took = [table.times.get(number, (0, 0)) for number in range(1, max(table.times, default=0) + 1)]
    pieces = {piece.number: evidence(piece) for piece in sorted(table.evidence, key=lambda one: one.kind != "slowest")}
    return {
        "v": 1,
        "table": one_line(table.sitting.path),
        "game": table.game,
        "bots": table.bots,
        "rules": json_value(table.sitting.rules._asdict()),
        "why": why,
        "shapes": shapes,
        "rows": rows,
        "questions": ["\n".join(column) for column in zip(*questions, strict=True)],
        "kept": pieces,
        "took": [[rounded(us) for us in column] for column in zip(*took, strict=True)],
    }


def rounded(us: int) -> int:
    """Return a time rounded to two digits. More digits would be noise, and would double the size of a page."""
    return round(us, min(0, 2 - len(str(us))))


def json_value(value: Any) -> Any:
    """Return a fact as a JSON value; an answer as readable text."""
    if isinstance(value, (Move, Fault)):
        return spelled(value)
    if isinstance(value, tuple):
        return [json_value(each) for each in value]
    if isinstance(value, Mapping):
        return {key: json_value(each) for key, each in value.items()}
    return value


def evidence(piece: Evidence) -> dict[str, Any]:
    """Return the evidence of one decision as JSON values, with times in microseconds."""

    def text(said: bytes) -> str:
        return "\n".join(map(one_line, said.decode(errors="replace")[-KEPT:].split("\n")))

    return {
        "kind": piece.kind,
        "us": round(piece.wall * 1e6),
        "cpu_us": round(piece.cpu * 1e6),
        "waited_us": round(piece.waited * 1e6),
        "overhead_us": round(piece.overhead * 1e6),
        "raw": text(piece.raw),
        "stderr": text(piece.stderr),
        "ended": one_line(piece.ended),
    }


def gzip_base64(table: Mapping[str, Any] | str) -> str:
    """Return a table, or the text of a file, packed for a page: JSON, gzip, base64."""
    raw = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()
