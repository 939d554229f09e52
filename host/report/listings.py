"""Makes listings of the results of a run, which print themselves as text, JSON and CSV: by bot, by pair, or overall."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from host.base.format import plural
from host.base.sheet import as_csv
from host.games.engine import Game
from host.inspect.recorded import known_seed
from host.journal.reader import Journal, UndecidedFixture
from host.journal.state import RunState
from host.journal.tournament_dir import seed_text
from host.report import terminal
from host.report.pictures import picture_json, picture_lines
from host.report.stage_results import Stage, stage_of
from host.results.course import Position
from host.results.overall import OverallRow, overall
from host.results.standings import PairResult, Row
from host.rules.catalogue import display_of
from host.stages.kind import SkippedStage
from protocols.wire import FaultKind

NO_STANDINGS = "no fixture is finished yet, so there are no standings"


class Listing(NamedTuple):
    """Results that print themselves: `facts` as JSON, `cells` as the rows of CSV, and the result of `parts` as text."""

    schema: str
    facts: Mapping[str, Any]
    columns: Sequence[str]
    cells: Sequence[Mapping[str, Any]]
    parts: Callable[[], Iterable[terminal.Part]]

    def json(self) -> Mapping[str, Any]:
        """Return the JSON object. Rates are from 0 to 1, times are in seconds, and unknown values are null."""
        return self.facts

    def text(self) -> Iterable[str]:
        """Return the text for people."""
        return [terminal.text_of(self.parts())]

    def csv(self, delimiter: str = ",") -> str:
        """Return the rows as CSV, with a header."""
        return as_csv(self.columns, self.cells, delimiter)


class Results(NamedTuple):
    """Results of a stage, with facts about its run. Text, JSON, CSV and pages show this value."""

    run: RunState
    stage: Stage
    game: Game | None = None  # None: its code is not known here
    seed: str | None = None  # None while it is secret, and if it is not known
    skipped: Sequence[SkippedStage] = ()
    undecided: Sequence[UndecidedFixture] = ()
    interrupted: bool = False

    @property
    def title(self) -> str:
        """Return one line: the run, the stage, the number of fixtures, the sandbox level, the seed and the status."""
        run, fixtures = self.run, self.stage.fixtures
        return (
            f"{run.name} · {self.stage.name} · {fixtures} {plural(fixtures, 'fixture')} · level {run.level.label} · "
            f"seed sha256 {run.seed_sha256[:8]}… · {run.status}"
        )

    @property
    def nothing(self) -> Sequence[str]:
        """Return the lines that are printed for a stage without results."""
        return self.title, NO_STANDINGS

    def facts(self) -> dict[str, Any]:
        """Return the facts about the run and the stage, by JSON key."""
        run, stage = self.run, self.stage
        return {
            "run": run.name,
            "game": run.game,
            "sandbox": run.level,
            "seed_sha256": run.seed_sha256,
            "committed": run.committed,
            "seed": self.seed,
            "state": run.status,
            "interrupted": self.interrupted,
            "stage": stage.name,
            "kind": stage.kind,
            "stage_state": stage.state,
            "seal": stage.seal or None,
            "fixtures": stage.fixtures,
            "changes": [change.json() for change in run.changes],
            "skipped": [skipped.stage.name for skipped in self.skipped],
            **stage.again._asdict(),
        }

    def certainty(self) -> dict[str, Any]:
        """Return the sentences about the certainty of the order, and the advice about more play, by JSON key."""
        standings = self.stage.standings
        advice = [each._asdict() for each in standings.advice]
        return {"sure": standings.sure, "advice": advice, "repeated": standings.repeated}


def results_of(journal: Journal, position: Position, *, interrupted: bool = False) -> Results:
    """Return the results of the stage of a position, from its journal."""
    run, stage = position.tournament.run, stage_of(position)
    seed = known_seed(journal) if run.finished else None  # None if its hash is not the one in the journal
    return Results(
        run=run,
        game=journal.registry.known_game(run.game),
        stage=stage._replace(seal=journal.seal(stage.name) if position.state.over else ""),
        seed=None if seed is None else seed_text(seed),
        skipped=run.skipped,
        undecided=journal.undecided(stage.name),
        interrupted=interrupted,
    )


def by_bot(results: Results, *, verbose: bool = False) -> Listing:
    """Return a listing of the standings of a stage. `verbose` adds rounds, faults by kind and advice to the text."""
    run, stage = results.run, results.stage
    rows, standings = stage.rows, stage.standings

    def parts() -> Iterator[terminal.Part]:
        if stage.fixtures or results.undecided:
            yield from terminal.standings_text(
                results.title, rows, standings.sentences, standings.advice, display_of(results.game).unit
            )
            yield from picture_lines(stage.picture, verbose=verbose)
            yield from terminal.details(rows, standings.advice) if verbose else ()
        elif stage.name in [skipped.stage.name for skipped in results.skipped]:
            yield results.title
        else:
            yield from results.nothing
        yield from map(str, results.skipped)
        yield from (f"changed  {change.text()}" for change in run.changes)

    facts = {
        **results.facts(),
        "rows": [row.flat() for row in rows],
        **results.certainty(),
        "so_far": standings.so_far,
        "undecided": [each.json() for each in results.undecided],
        **picture_json(stage.picture),
    }
    cells = [cells_of(row) for row in rows]
    return Listing("standings", facts, [*cells[0]] if cells else [], cells, parts)


def cells_of(row: Row) -> dict[str, Any]:
    """Return the cells of a row in CSV, by column: the keys of the JSON, and a column for each kind of fault."""
    cells = row.flat()
    counts = cells.pop("faults_by_kind")
    cells |= {key: int(cells[key]) for key in ("disqualified", "withdrawn")}
    return cells | {f"faults_{kind}": counts.get(kind, 0) for kind in FaultKind}


def by_pair(results: Results) -> Listing:
    """Return a listing of the results of each pair of bots in a stage."""
    stage, repeated = results.stage, results.stage.standings.repeated
    names = dict.fromkeys([*(row.bot for row in stage.rows), *stage.references])
    cells = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in stage.pairs.items()]
    nothing = f"stage {stage.name} has no table with two bots"
    facts = {**results.facts(), "by": stage.pairs_by, "rows": cells, **results.certainty()}
    parts = partial(terminal.pairs_text, list(names), stage.pairs, repeated) if cells else lambda: [nothing]
    return Listing("pairs", facts, ["bot", "against", *PairResult._fields], cells, parts)


def of_all_stages(positions: Sequence[Position]) -> Listing:
    """Return a listing of all bots, sorted by the last stage that they reached, then by their place there."""
    run, rows = positions[0].tournament.run, overall(positions)
    cells = [row._asdict() for row in rows]
    facts = {"run": run.name, "game": run.game, "sandbox": run.level, "state": run.status, "rows": cells}
    title = f"{run.name} · all stages · {run.status}"
    text = partial(terminal.overall_text, title, rows) if rows else lambda: [title, NO_STANDINGS]
    return Listing("overall", facts, OverallRow._fields, cells, text)
