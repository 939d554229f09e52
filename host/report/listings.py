"""The results of a run as values that print themselves as text, as JSON and as CSV: by bot or pair, grades, overall."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from host.base.format import plural
from host.base.safe_text import csv_cell
from host.inspect.recorded import known_seed
from host.journal.journal import Journal
from host.journal.tournament_dir import seed_text
from host.play.records import count_replays
from host.report import terminal
from host.report.pictures import picture_json, picture_lines
from host.results.course import Position, positions_of
from host.results.overall import OverallRow, overall
from host.results.standings import PairResult, Row, as_counted_by
from host.results.standings import by_pair as pairs_of
from host.rules.catalogue import display_of
from host.stages import references_of
from protocols.wire import FaultKind

NO_STANDINGS = "no fixture is finished yet, so there are no standings"


class Listing(NamedTuple):
    """Rows of results. `facts` are the keys of their JSON object, `cells` the rows of their CSV."""

    schema: str
    facts: Mapping[str, Any]
    columns: Sequence[str]
    cells: Sequence[Mapping[str, Any]]
    parts: Callable[[], Iterable[terminal.Part]]

    def json(self) -> Mapping[str, Any]:
        """Return the keys of the JSON object: rates from 0 to 1, times in seconds, null for unknown values."""
        return self.facts

    def text(self) -> Iterable[str]:
        """Return the text for people."""
        return [terminal.text_of(self.parts())]

    def csv(self, delimiter: str = ",") -> str:
        """Return the rows as CSV, with a header."""
        return as_csv(self.columns, self.cells, delimiter)


def as_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], delimiter: str = ",") -> str:
    """Return rows as CSV, with a header. Texts cannot run as formulas in a spreadsheet."""
    sheet = io.StringIO()
    writer = csv.DictWriter(sheet, columns, delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: csv_cell(value) if isinstance(value, str) else value for key, value in row.items()})
    return sheet.getvalue()


def stage_facts(journal: Journal, position: Position, *, interrupted: bool = False) -> dict[str, Any]:
    """Return what the journal says about a run and a stage as JSON keys."""
    run, state, records = position.tournament.run, position.state, position.counted
    seed = known_seed(journal)  # None if its hash is not the one in the journal
    return {
        "run": run.name,
        "game": run.game,
        "sandbox": run.level,
        "seed_sha256": run.seed_sha256,
        "committed": run.committed,
        "seed": seed_text(seed) if seed is not None and run.finished else None,
        "state": run.status,
        "interrupted": interrupted,
        "stage": state.name,
        "seal": journal.seal(state.name) if state.over else None,
        "fixtures": len(records),
        "changes": [change.json() for change in run.changes],
        "skipped": [skipped.stage.name for skipped in run.skipped],
        **count_replays(records)._asdict(),
    }


def title_of(position: Position) -> str:
    """Return the run, the stage, and their state in one line."""
    run, fixtures = position.tournament.run, len(position.counted)
    return (
        f"{run.name} · {position.state.name} · {fixtures} {plural(fixtures, 'fixture')} · level {run.level.label} · "
        f"seed sha256 {run.seed_sha256[:8]}… · {run.status}"
    )


def _nothing(position: Position) -> Sequence[str]:
    return title_of(position), NO_STANDINGS


def by_bot(journal: Journal, position: Position, *, interrupted: bool = False, verbose: bool = False) -> Listing:
    """Return the standings of a stage."""
    run, stage, kind = position.tournament.run, position.config, position.kind
    standings, rows, advice = position.standings, position.standings.rows, position.standings.advice
    everything = as_counted_by(stage, position.recorded)
    picture = kind.picture(stage, position.shown_bots, everything) if kind.picture else None

    def parts() -> Iterator[terminal.Part]:
        if position.recorded:
            yield from terminal.standings_text(
                title_of(position), rows, standings.sentences, advice, display_of(run.game).unit
            )
            yield from picture_lines(picture, verbose=verbose)
            yield from terminal.details(rows, advice) if verbose else ()
        elif stage in [skipped.stage for skipped in run.skipped]:
            yield title_of(position)
        else:
            yield from _nothing(position)
        yield from map(str, run.skipped)
        yield from (f"changed  {change.text()}" for change in run.changes)

    facts = {
        **stage_facts(journal, position, interrupted=interrupted),
        "rows": [row.flat() for row in rows],
        "sure": standings.sure,
        "advice": [each._asdict() for each in advice],
        "so_far": standings.so_far,
        "repeated": standings.repeated,
        "undecided": [each.json() for each in journal.undecided(position.state.name)],
        **picture_json(picture),
    }
    cells = [cells_of(row) for row in rows]
    return Listing("standings", facts, [*cells[0]] if cells else [], cells, parts)


def cells_of(row: Row) -> dict[str, Any]:
    """Return the cells of a row in CSV: the keys of JSON, and a column for each kind of fault."""
    cells = row.flat()
    counts = cells.pop("faults_by_kind")
    cells |= {key: int(cells[key]) for key in ("disqualified", "withdrawn")}
    return cells | {f"faults_{kind}": counts.get(kind, 0) for kind in FaultKind}


def by_pair(journal: Journal, position: Position) -> Listing:
    """Return the results of each pair of bots at tables of two."""
    standings, repeated = position.standings, position.standings.repeated
    names = dict.fromkeys([*(row.bot for row in standings.rows), *references_of(position.config)])
    pairs = pairs_of(position.counted)
    cells = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]
    nothing = f"stage {position.state.name} has no table with two bots"
    advice = [each._asdict() for each in standings.advice]
    certain = {"sure": standings.sure, "advice": advice, "repeated": repeated}
    facts = {**stage_facts(journal, position), "rows": cells, **certain}
    parts = partial(terminal.pairs_text, list(names), pairs, repeated) if pairs else lambda: [nothing]
    return Listing("pairs", facts, ["bot", "against", *PairResult._fields], cells, parts)


def of_all_stages(journal: Journal, position: Position) -> Listing:
    """Return all bots by the last stage that they reached, then by their place in it."""
    run, rows = position.tournament.run, overall(positions_of(journal))
    cells = [row._asdict() for row in rows]
    facts = {"run": run.name, "game": run.game, "sandbox": run.level, "state": run.status, "rows": cells}
    text = partial(terminal.overall_text, f"{run.name} · all stages · {run.status}", rows)
    return Listing("overall", facts, OverallRow._fields, cells, text if rows else partial(_nothing, position))


LISTINGS: Mapping[str, Callable[[Journal, Position], Listing]] = {
    "bot": by_bot,
    "pair": by_pair,
    "overall": of_all_stages,
}
"""The listings by their names on the command line."""
