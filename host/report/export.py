"""Exports results for other programs: CSV with a row per seat or decision, JSON with an event per line, or a play.log.

docs/export.md describes the formats.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TextIO

import msgspec

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.base.sheet import write_rows
from host.inspect.evidence import by_question
from host.inspect.recorded import root_of
from host.inspect.replay import by_seat, spelled
from host.inspect.table_replays import ReplayedTable, TableRef, evidence, find, load, shown_fixture
from host.inspect.visibility import still_running, visible
from host.journal.reader import Journal
from host.report import playlog
from host.results.withdrawal import left_out
from protocols.wire import spell

COLUMNS = ("stage", "fixture", "table", "seat", "bot", "score", "won", "drawn")
DECISION_COLUMNS = ("stage", "table", "number", "seat", "bot", "answer", "illegal", "score")

Chosen = tuple[str, str, list[int] | None]
"""A stage, the path of a fixture, and the numbers (from 0) of the chosen tables of the fixture; None: all tables."""


def chosen(journal: Journal, selection: str | None, spoilers: bool) -> Iterator[Chosen]:
    """Yield the fixtures and tables of a selection: the name of a stage or of a table, "last", or None for everything.

    Leave out tables of withdrawn bots that do not count any more, unless the selection names the table. Raise UserError
    if the selection does not exist, or if its stage is running and its cards are still secret.
    """
    state = journal.state()
    stages = {stage.name: stage for stage in state.configs}
    place: TableRef | None = None
    if selection == "last" and (paths := journal.paths()):
        place = TableRef(paths[-1], paths[-1], -1, "")
    elif selection is not None and selection not in stages:
        place = find(journal, selection, spoilers)
        if place is None:
            hint = f"a stage ({', '.join(stages)}), a table, or last"
            raise UserError([Problem("U001", "", f"there is no table and no stage {selection!r}", hint=hint)], 2)
    found: Iterable[Chosen]
    if place is not None:
        of = journal.place_of(place.fixture)
        assert of is not None  # it has been found
        found = [(of[0], place.fixture, [place.nth])]
    else:
        found = (
            (stage, path, None)
            for stage in (stages if selection is None else [selection])
            for path in journal.paths(stage, left_out(stages[stage], state.withdrawn))
        )
    shown = visible(journal, spoilers)
    for stage, path, tables in found:
        if stage not in shown:
            raise still_running(stage)
        yield stage, path, tables


def refuse_evidence(journal: Journal, fixture: str) -> None:
    """Raise UserError if the stage of a fixture is running. Its evidence is secret then, even if its tables are not."""
    place = journal.place_of(fixture)
    if place is not None and place[0] not in visible(journal).stages:
        raise still_running(place[0])


def write_csv(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write one row per seat at each table of a selection, as CSV. Return the number of rows."""
    return write_rows(file, COLUMNS, seat_rows(journal, selection, spoilers))


def seat_rows(journal: Journal, selection: str | None, spoilers: bool) -> Iterator[Sequence[Any]]:
    """Return an iterator over the rows (see COLUMNS) of each seat at each table of a selection.

    Raise UserError in the same cases as `chosen`.
    """
    return _seats(journal, root_of(journal), list(chosen(journal, selection, spoilers)), spoilers)


def _seats(journal: Journal, seed: bytes, meant: Sequence[Chosen], spoilers: bool) -> Iterator[Sequence[Any]]:
    for stage, path, tables in meant:
        shown = shown_fixture(journal, seed, path, spoilers)
        recorded = shown.recorded
        winners, seats = recorded.game.winners, recorded.sittings
        for nth in range(len(seats)) if tables is None else tables:
            scores = recorded.record.scores[nth]
            won = winners(scores) if winners else ()
            for seat, bot in enumerate(seats[nth].bots):
                drawn = len(won) != 1 and (not won or seat in won)
                ended = (int(seat in won), int(drawn)) if winners else ("", "")
                yield stage, shown.path, shown.name(nth), seat, bot, scores[seat], *ended


def write_decisions(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write one row per decision of a selection as CSV, with a column for each field of the question.

    Return the number of rows.

    Raise UserError (exit code 1) if the journal does not fit the rules.
    """
    return write_rows(file, _decision_columns(journal), _decisions(journal, selection, spoilers))


def _decision_columns(journal: Journal) -> list[str]:
    fields = journal.game.view._fields
    return [*DECISION_COLUMNS, *(f"q_{name}" for name in fields)]


def _decisions(journal: Journal, selection: str | None, spoilers: bool) -> Iterator[list[str | int]]:
    """Yield the rows of all decisions of a selection.

    Raise UserError (exit code 1) if the journal does not fit the rules.
    """
    seed = root_of(journal)
    for stage, path, tables in list(chosen(journal, selection, spoilers)):
        shown = shown_fixture(journal, seed, path, spoilers)
        recorded = shown.recorded
        with recorded.refusing_misfits():
            for nth in range(len(recorded.sittings)) if tables is None else tables:
                table = shown.table(nth)
                name, seated, scores = shown.name(nth), table.seated, by_seat(table, table.scores)
                for decision in table.decisions():
                    seat, answer = decision.seat, spelled(decision.answer, table.game)
                    about = (decision.number, seat, seated[seat], answer, int(not decision.allowed), scores[seat])
                    question = [int(value) if isinstance(value, int) else _field_cell(value) for value in decision.view]
                    yield [stage, name, *about, *question]


def _field_cell(value: object) -> str:
    """Return the value of a question's field as the text of a cell. An empty value is an empty cell."""
    text = spell(value)
    return "" if text == "-" else text


def write_events(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write the events of a selection as JSON, one per line. Return the number of tables."""
    seed, tables = root_of(journal), 0
    for _, path, wanted in list(chosen(journal, selection, spoilers)):
        for table in load(journal, seed, path, wanted, spoilers):
            tables += 1
            file.write(as_lines(table))
    return tables


def as_lines(table: ReplayedTable) -> str:
    """Return the events of a table as JSON, one per line."""
    return b"\n".join([*[msgspec.json.encode({"v": 1} | event) for event in lines(table)], b""]).decode()


def lines(table: ReplayedTable) -> Iterator[dict[str, Any]]:
    """Yield the events of a table as JSON values.

    An answer includes its times and its evidence if they were recorded.
    """
    kept = {number: evidence(piece) for number, piece in by_question(table.evidence).items()}
    about = {"game": table.game.name, "rules": table.sitting.rules._asdict()}
    for event in table.events:
        if event.twice:
            continue
        ev, facts = event
        row = {"ev": ev} | facts
        if ev == "table.start":
            row |= about
        if ev == "answer" and facts["n"] in table.times:
            wall, cpu = table.times[facts["n"]]
            row |= {"us": wall, "cpu_us": cpu or None}
        if ev == "answer" and facts["n"] in kept:
            row |= {key: value for key, value in kept[facts["n"]].items() if value is not None or key not in row}
        yield row


def write_playlog(journal: Journal, selection: str | None, spoilers: bool, file: TextIO) -> int:
    """Write the table of a selection as a play.log, by default the last table. Return 1, the number of tables.

    Raise UserError if its game has no play.log, if the selection has more than one table, or if nothing has been
    played.
    """
    seed, selection = root_of(journal), selection or "last"
    for _, path, tables in chosen(journal, selection, spoilers):
        shown = shown_fixture(journal, seed, path, spoilers)
        game = shown.recorded.game
        if game.name != playlog.GAME:
            hint = "croupier export jsonl"
            raise UserError([Problem("U001", path, f"{game.title} has no play.log", hint=hint)], 2)
        if tables is None and len(shown.recorded.sittings) > 1:
            hint = f"name one: {shown.name(0)}"
            raise UserError(
                [Problem("U001", selection, "a play.log contains one table, and this is more", hint=hint)], 2
            )
        table = shown.table(tables[0] if tables else 0)
        watcher = playlog.Watcher(list(map(one_line, table.seated)))
        table.play(watcher.tell)
        file.write(watcher.text())
        return 1
    raise UserError([Problem("R006", str(journal.path), "nothing has been played yet", hint="croupier run")], 3)
