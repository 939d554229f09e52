"""Replay tables of a journal, and pack them for the casino of a page."""

import base64
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from host.base.safe_text import one_line
from host.bots.values import Evidence
from host.games.engine import Game
from host.inspect.evidence import by_question, times_json
from host.inspect.recorded import RecordedFixture, RecordedTable, load_fixture, root_of
from host.inspect.replay import Event, events, seen_by
from host.inspect.visibility import Visible, running_name, still_running, table_of, visible
from host.journal.check import does_not_fit
from host.journal.reader import Journal, reading
from host.play.fixture_id import FixtureId
from host.play.table_plans import TableSetup
from host.stages import CROUPIERS, Registry, kind_of
from host.stages.kind import StageConfig
from protocols.wire import Answer, Fault

RUNNING_NAME = re.compile(r"\A.+/fixture ([0-9]{1,9})/([0-9]{1,9})", re.DOTALL)  # visibility.running_name
TOLD_TURN = "told.turn"  # a game's own event `turn` in the format of a page, where `turn` is a question and its answer
KEPT = 1000  # characters of an answer, and of standard error, in the evidence of a replay


class TableRef(NamedTuple):
    """The place of a table in a journal, and the reason to show this table."""

    name: str
    fixture: str
    nth: int  # in its fixture, from 0
    why: str = ""
    title: str = ""  # its place in the tournament: "Final, set 4"
    result: str = ""  # the players and the result
    special: bool = True  # whether something unusual happens at the table


class ReplayedTable(NamedTuple):
    """A table that was replayed from its journal."""

    game: Game
    sitting: TableSetup  # with the bot at each seat. In a game for partners a bot has several seats
    events: list[Event]
    evidence: list[Evidence]
    times: Mapping[int, tuple[int, int]] = {}  # wall and CPU time of decisions in microseconds, by number, if recorded

    @property
    def bots(self) -> list[str]:
        """Return the names of the bots by seat, with control characters escaped."""
        return [one_line(bot) for bot in self.sitting.bots]


class TableLocation(NamedTuple):
    """The place of a table: its journal, its fixture, and its index `nth` in the fixture, from 0; -1 is the last table.

    With `spoilers` the table is shown even if it is still secret.
    """

    journal: Path
    fixture: str
    nth: int
    registry: Registry = CROUPIERS  # of its journal
    spoilers: bool = False


class ShownFixture(NamedTuple):
    """A recorded fixture, as far as spectators may see it. If it is `limited`, its stage is still running."""

    recorded: RecordedFixture
    number: int  # in the journal
    limited: bool

    @property
    def path(self) -> str:
        """Return the name of the fixture. While its stage runs, the name has only its number in the journal."""
        return f"fixture {self.number}" if self.limited else self.recorded.fixture.path

    def name(self, nth: int) -> str:
        """Return the name of the nth table, from 0; -1 is the last."""
        sittings = self.recorded.sittings
        if self.limited:
            return running_name(self.recorded.fixture.path, self.number, nth % len(sittings) + 1)
        return sittings[nth].path

    def table(self, nth: int) -> RecordedTable:
        """Return the nth table, from 0; -1 is the last.

        If the fixture is limited, leave out all texts of bots except moves: details of faults, and notes.
        """
        table = self.recorded.table(nth)
        return table._replace(answers=tuple(map(_without_detail, table.answers)), notes={}) if self.limited else table


def _without_detail(answer: Answer) -> Answer:
    return answer._replace(detail="") if isinstance(answer, Fault) else answer


def shown_fixture(journal: Journal, seed: bytes, path: str, spoilers: bool = False) -> ShownFixture:
    """Return a fixture as far as spectators may see it. Raise UserError (exit code 5) if they may not see it yet.

    All code that shows tables gets them from this function.
    """
    recorded, place, shown = load_fixture(journal, seed, path), journal.place_of(path), visible(journal, spoilers)
    assert place is not None  # it has been loaded
    stage, number = place
    limited = stage in shown.tables
    if stage not in shown or (limited and any(sitting.luck for sitting in recorded.sittings)):
        raise still_running(stage)
    return ShownFixture(recorded, number, limited)


def shown_name(journal: Journal, shown: Visible, stage: StageConfig, path: str, nth: int) -> str:
    """Return the name under which spectators see the nth table of a fixture, from 0.

    It is `running_name` while the stage runs, and then the table's own name.
    """
    if stage.name in shown.stages:
        return table_of(stage, path, nth + 1)
    place = journal.place_of(path)
    return running_name(path, place[1] if place else 0, nth + 1)


def find(journal: Journal, name: str, spoilers: bool = False) -> TableRef | None:
    """Return the place of the table with this name; None if there is none.

    The name may be without the stage, or without the stage and the round. While a stage runs, the only name of its
    tables is `running_name`; raise UserError (exit code 5) for a table's own name, unless `spoilers` is set.
    """
    if (place := named_while_running(journal, name)) is not None:
        return place
    wanted = FixtureId.parse(name)
    number = wanted.first_table or 0

    def is_wanted(group: str) -> bool:
        return group == wanted.group or group.endswith(f"/{wanted.group}")

    shown = visible(journal, spoilers)
    for stage in journal.state().configs:
        for path in journal.paths(stage.name):
            played = FixtureId.parse(path)
            if kind_of(stage).tourneys:
                nth = number - 1 if is_wanted(path) else -1
            else:
                nth = number - (played.first_table or number + 1) if is_wanted(played.group) else -1
            if 0 <= nth < len(journal.full_record(path).scores):
                if stage.name not in shown.stages:
                    raise still_running(stage.name)
                return TableRef(name, path, nth)
    return None


def named_while_running(journal: Journal, name: str) -> TableRef | None:
    """Return the place of the table with this `running_name`; None if there is none. Its stage may have ended."""
    match = RUNNING_NAME.fullmatch(name)
    path = match and journal.path_of(int(match[1]))
    if not match or not path or running_name(path, int(match[1]), int(match[2])) != name:
        return None
    nth = int(match[2]) - 1
    return TableRef(name, path, nth) if 0 <= nth < len(journal.full_record(path).scores) else None


def load(
    journal: Journal, seed: bytes, fixture: str, wanted: Sequence[int] | None = None, spoilers: bool = False
) -> Iterator[ReplayedTable]:
    """Replay tables of a fixture, as far as spectators may see them.

    `wanted` has their indexes, from 0; None means all.

    Raise UserError if the journal does not fit the rules, or if its stage is running and its tables are still secret.
    """
    shown = shown_fixture(journal, seed, fixture, spoilers)
    times = () if shown.limited else journal.times(fixture)
    evidence = () if shown.limited else shown.recorded.record.evidence
    pieces, measured = defaultdict[int, list[Evidence]](list), defaultdict[int, dict[int, tuple[int, int]]](dict)
    for piece in evidence:
        pieces[piece.table].append(piece)
    for time in times:
        measured[time.table][time.number] = (time.wall, time.cpu)
    try:
        for nth in range(len(shown.recorded.sittings)) if wanted is None else wanted:
            table = shown.table(nth)
            played = ReplayedTable(
                game=table.game,
                sitting=table.sitting._replace(bots=table.seated),
                events=list(events(table)),
                evidence=pieces[table.number],
                times=measured[table.number],
            )
            yield retitled(played, shown.name(nth), table.sitting.bots) if shown.limited else played
    except (ValueError, IndexError, KeyError) as differs:
        raise does_not_fit(journal.path, differs) from differs


def retitled(table: ReplayedTable, path: str, bots: tuple[str, ...]) -> ReplayedTable:
    """Return a replayed table with another name and with other names of its bots. Its cards do not change."""
    happened = [
        Event(ev, facts | {"table": path, "bots": list(bots)}) if ev == "table.start" else Event(ev, facts)
        for ev, facts in table.events
    ]
    return table._replace(sitting=table.sitting._replace(bots=bots, path=path, luck=""), events=happened)


def load_table(location: TableLocation) -> ReplayedTable:
    """Load a table and play it again."""
    with reading(location.journal, location.registry) as journal:
        (table,) = load(journal, root_of(journal), location.fixture, [location.nth], location.spoilers)
    return table


def as_seen_by(table: ReplayedTable, seat: int) -> ReplayedTable:
    """Return a table that has only the events that one seat could observe, and the evidence of its own decisions."""
    asked, secret = _asked_of(table, seat), table.game.display.secret_answers
    own = [piece for piece in table.evidence if piece.number in asked]
    return table._replace(events=list(seen_by(table.events, seat, secret)), evidence=own)


def _asked_of(table: ReplayedTable, seat: int) -> set[int]:
    """Return the numbers of the questions that were asked of a seat."""
    return {event.facts["n"] for event in table.events if event.ev == "answer" and event.facts["seat"] == seat}


def for_author(table: ReplayedTable, seat: int) -> ReplayedTable:
    """Return a table that has only what the author of the bot at a seat may see.

    This is what the seat saw (`as_seen_by`), and the times of the seat's own decisions. A fault of another bot has only
    its kind, because the detail may quote the output of that bot.
    """
    seen = as_seen_by(table, seat)
    own = _asked_of(table, seat)
    events = [Event(event.ev, event.facts | _kind_of_fault(event.facts, seat)) for event in seen.events]
    return seen._replace(events=events, times={number: each for number, each in table.times.items() if number in own})


def _kind_of_fault(facts: Mapping[str, Any], seat: int) -> dict[str, str]:
    """Return {"a": the kind of fault} if an event is a fault of another seat, otherwise {}."""
    answer = facts.get("a")
    if facts.get("seat") == seat or not isinstance(answer, str) or not answer.startswith("("):
        return {}
    return {"a": f"{answer.partition(':')[0].rstrip(')')})"}


# The format of a table on a page: events by shape, questions by column. Compressed, it is a third of plain events.


def to_json(table: ReplayedTable) -> dict[str, Any]:
    """Return a table as JSON values for the casino of a page.

    A question and its answer are one row, `turn`. Facts that the page computes itself are left out.
    """
    shapes: list[list[str]] = []
    rows: list[list[Any]] = []
    questions: list[list[str]] = []
    display = table.game.display
    for event in table.events:
        ev, facts = event
        if ev == "table.start" or ev in display.omitted_events or event.twice:
            continue
        if ev == "ask":
            questions.append(facts["q"].split(" "))
            continue
        omitted = ("n",) if ev == "answer" else display.omitted_facts.get(ev, ())
        kept = {key: value for key, value in facts.items() if key not in omitted}
        shape = [{"answer": "turn", "turn": TOLD_TURN}.get(ev, ev), *kept]
        if shape not in shapes:
            shapes.append(shape)
        rows.append([shapes.index(shape), *kept.values()])
    took = [table.times.get(number, (0, 0)) for number in range(1, max(table.times, default=0) + 1)]
    return {
        "v": 1,
        "table": one_line(table.sitting.path),
        "game": table.game.name,
        "bots": table.bots,
        "rules": table.sitting.rules._asdict(),
        "shapes": shapes,
        "rows": rows,
        # A game may have views of several forms; the shorter ones end with empty fields.
        "questions": ["\n".join(column) for column in zip_longest(*questions, fillvalue="")],
        "kept": {number: evidence(piece) for number, piece in by_question(table.evidence).items()},
        "took": [[rounded(us) for us in column] for column in zip(*took, strict=True)],
    }


def rounded(us: int) -> int:
    """Return a time rounded to two significant digits. More digits would be noise, and would double the size of a page."""
    return round(us, min(0, 2 - len(str(us))))


def evidence(piece: Evidence) -> dict[str, Any]:
    """Return the evidence of one decision as JSON values, with times in microseconds; None for a time not measured."""

    def text(said: bytes) -> str:
        return "\n".join(map(one_line, said.decode(errors="replace")[-KEPT:].split("\n")))

    times = times_json(piece, ("us", "cpu_us", "waited_us", "overhead_us", "stalls_us"), lambda time: round(time * 1e6))
    return {
        "kind": piece.kind,
        **times,
        "raw": text(piece.raw),
        "stderr": text(piece.stderr),
        "ended": one_line(piece.ended),
    }


def gzip_base64(table: Mapping[str, Any] | str) -> str:
    """Return a table, or the text of a file, packed for a page: JSON, gzip, base64."""
    raw = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    return base64.b64encode(gzip.compress(raw, 9, mtime=0)).decode()
