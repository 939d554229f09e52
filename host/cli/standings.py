"""The command `standings`: prints the results of a stage by bot, pair or seat, its grades, or all stages together."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from host.base.errors import Problem, UserError
from host.cli import CliContext, completers, options, print_json
from host.cli.journals import journal_of

if TYPE_CHECKING:
    from host.cli.common import StageResults
    from host.results.journal import Journal


@click.command()
@click.argument("stage", shell_complete=completers.stages, required=False)
@click.option(
    "--by", type=click.Choice(["bot", "pair", "seat"]), default="bot", help="one row per bot, pair of bots, or seat"
)
@click.option("--grades", is_flag=True, help="the points of each bot for beating references")
@click.option("--overall", is_flag=True, help="all stages: by the last stage that a bot reached, then its place there")
@click.option("--csv", "as_csv", is_flag=True, help="print comma-separated values")
@options.JOURNAL
@click.pass_obj
def standings(
    context: CliContext,
    stage: str | None,
    by: str,
    grades: bool,
    overall: bool,
    as_csv: bool,
    journal: Path | None,
) -> None:
    """Print the standings with error bars, or the results of each pair, or the advantage of each seat."""
    from host.cli.common import keep_everything, load_results, print_standings
    from host.results.journal import reading

    keep_everything()
    path = journal_of(context, journal)
    if overall and (stage or by != "bot"):
        raise click.UsageError("--overall is about all stages: give no STAGE and no --by")
    if grades and not overall and by != "bot":
        raise click.UsageError("--grades has one row per bot: give no --by")
    chosen = "overall" if overall else "grades" if grades else by
    if chosen == "bot":
        print_standings(context, path, stage, as_csv=as_csv)
        return
    with reading(path, context.registry) as book:
        listing = LISTINGS[chosen](load_results(book, stage), book)
    listing.print(context, as_csv=as_csv)


class Listing(NamedTuple):
    """Rows that can be printed as CSV, as JSON or as text."""

    schema: str
    json: Mapping[str, Any]
    columns: Sequence[str]  # of CSV
    cells: Sequence[Mapping[str, Any]]  # the rows of CSV
    print_text: Callable[[], None]

    def print(self, context: CliContext, *, as_csv: bool) -> None:
        """Print the rows in the form that the user has chosen."""
        from host.report.terminal import write_cells

        if as_csv:
            write_cells(self.columns, self.cells)
        elif context.json:
            print_json(self.schema, **self.json)
        else:
            self.print_text()


def by_pair(results: "StageResults", _journal: "Journal") -> Listing:
    """Return the results of each pair of bots at tables of two."""
    from host.report import terminal
    from host.results.standings import PairResult, by_pair
    from host.stages import references_of

    rows, sure, advice, _ = results.standings
    names = dict.fromkeys([*(row.bot for row in rows), *references_of(results.stage)])
    pairs = by_pair(results.records)
    cells = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]

    def text() -> None:
        if pairs:
            terminal.print_pairs(list(names), pairs)
        else:
            click.echo(f"stage {results.stage.name} has no table with two bots")

    certain = {"sure": sure, "advice": [each._asdict() for each in advice]}
    return Listing(
        "pairs", results.facts_json | {"rows": cells} | certain, ["bot", "against", *PairResult._fields], cells, text
    )


def grades_of_bots(results: "StageResults", journal: "Journal") -> Listing:
    """Return the points of each bot for beating the references of a stage. Raise UserError if it gives no grades."""
    from host.report import terminal
    from host.results.grades import grades_of

    rows = grades_of(results.stage, results.bots, results.order, results.records)
    if not rows and results.order:
        message = f'stage "{results.stage.name}" gives no grades'
        hint = "a stage of references with [stage.grades] does: docs/grading.md"
        raise UserError([Problem("C017", str(journal.path), message, hint=hint)], 2)
    graded = [row._asdict() | {"marks": [mark._asdict() for mark in row.marks]} for row in rows]
    cells = [row.flat() for row in rows]
    columns = list(cells[0]) if cells else []
    text = partial(terminal.print_grades, results.title, rows)
    return Listing("grades", results.facts_json | {"rows": graded}, columns, cells, text)


def overall_standings(results: "StageResults", journal: "Journal") -> Listing:
    """Return all bots by the last stage that they reached, then by their place in it."""
    from host.cli.common import positions_of
    from host.report import terminal
    from host.results.overall import OverallRow, overall

    rows = overall(positions_of(journal))
    cells = [row._asdict() for row in rows]
    facts = {key: results.facts_json[key] for key in ("run", "game", "sandbox", "state")}
    head = f"{results.run.name} · all stages · {results.run.status}"
    text = partial(terminal.print_overall, head, rows) if rows else results.print_nothing
    return Listing("overall", facts | {"rows": cells}, OverallRow._fields, cells, text)


def by_seat(results: "StageResults", journal: "Journal") -> Listing:
    """Return the advantage of each seat in a stage."""
    from host.inspect.recorded import seed_of
    from host.play.custom_games import game_by_name
    from host.report import terminal
    from host.results.seat_effects import SeatRow, by_seat, seat_results
    from host.stages import kind_of

    seed = seed_of(journal) if kind_of(results.stage).tourneys else b""  # the seats of a tourney are drawn from it
    found = by_seat(seat_results(results.stage, journal, seed))
    unit = "games" if game_by_name(results.run.game).winners else "chips"
    cells = [row._asdict() for row in found.rows]
    advice = [
        {"seats" if key == "bots" else key: value for key, value in each._asdict().items()} for each in found.advice
    ]
    json = results.facts_json | {"unit": unit, "rows": cells, "sure": found.sure, "advice": advice}
    text = partial(terminal.print_seats, results.title, unit, found) if found.rows else results.print_nothing
    return Listing("seats", json, SeatRow._fields, cells, text)


LISTINGS: Mapping[str, Callable[["StageResults", "Journal"], Listing]] = {
    "pair": by_pair,
    "seat": by_seat,
    "grades": grades_of_bots,
    "overall": overall_standings,
}
