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
    from host.results.course import Position
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
    from host.cli.common import facts_json, find_stage, keep_everything, print_standings
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
        position = find_stage(book, stage)
        listing = LISTINGS[chosen](position, book, facts_json(book, position))
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


def by_pair(position: "Position", _journal: "Journal", facts: Mapping[str, Any]) -> Listing:
    """Return the results of each pair of bots at tables of two."""
    from host.report import terminal
    from host.results.standings import PairResult, by_pair
    from host.stages import references_of

    rows, sure, advice, _ = position.standings
    names = dict.fromkeys([*(row.bot for row in rows), *references_of(position.config)])
    pairs = by_pair(position.counted)
    cells = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]

    def text() -> None:
        if pairs:
            terminal.print_pairs(list(names), pairs)
        else:
            click.echo(f"stage {position.state.name} has no table with two bots")

    certain = {"sure": sure, "advice": [each._asdict() for each in advice]}
    return Listing("pairs", {**facts, "rows": cells, **certain}, ["bot", "against", *PairResult._fields], cells, text)


def grades_of_bots(position: "Position", journal: "Journal", facts: Mapping[str, Any]) -> Listing:
    """Return the points of each bot for beating the references of a stage. Raise UserError if it gives no grades."""
    from host.cli.common import title_of
    from host.report import terminal
    from host.results.grades import grades_of

    rows = grades_of(position.config, position.tournament.bots, position.shown_bots, position.counted)
    if not rows and position.shown_bots:
        message = f'stage "{position.state.name}" gives no grades'
        hint = "a stage of references with [stage.grades] does: docs/grading.md"
        raise UserError([Problem("C017", str(journal.path), message, hint=hint)], 2)
    graded = [row._asdict() | {"marks": [mark._asdict() for mark in row.marks]} for row in rows]
    cells = [row.flat() for row in rows]
    columns = list(cells[0]) if cells else []
    text = partial(terminal.print_grades, title_of(position), rows)
    return Listing("grades", {**facts, "rows": graded}, columns, cells, text)


def overall_standings(position: "Position", journal: "Journal", facts: Mapping[str, Any]) -> Listing:
    """Return all bots by the last stage that they reached, then by their place in it."""
    from host.cli.common import print_nothing
    from host.report import terminal
    from host.results.course import positions_of
    from host.results.overall import OverallRow, overall

    rows = overall(positions_of(journal))
    cells = [row._asdict() for row in rows]
    about = {key: facts[key] for key in ("run", "game", "sandbox", "state")}
    head = f"{facts['run']} · all stages · {facts['state']}"
    text = partial(terminal.print_overall, head, rows) if rows else partial(print_nothing, position)
    return Listing("overall", about | {"rows": cells}, OverallRow._fields, cells, text)


def by_seat(position: "Position", journal: "Journal", facts: Mapping[str, Any]) -> Listing:
    """Return the advantage of each seat in a stage."""
    from host.cli.common import print_nothing, title_of
    from host.inspect.recorded import seed_of
    from host.play.custom_games import game_by_name
    from host.report import terminal
    from host.results.seat_effects import SeatRow, by_seat, seat_results

    seed = seed_of(journal) if position.kind.tourneys else b""  # the seats of a tourney are drawn from it
    found = by_seat(seat_results(position.config, journal, seed))
    unit = "games" if game_by_name(position.tournament.run.game).winners else "chips"
    cells = [row._asdict() for row in found.rows]
    advice = [
        {"seats" if key == "bots" else key: value for key, value in each._asdict().items()} for each in found.advice
    ]
    json = {**facts, "unit": unit, "rows": cells, "sure": found.sure, "advice": advice}
    nothing = partial(print_nothing, position)
    text = partial(terminal.print_seats, title_of(position), unit, found) if found.rows else nothing
    return Listing("seats", json, SeatRow._fields, cells, text)


LISTINGS: Mapping[str, Callable[["Position", "Journal", Mapping[str, Any]], Listing]] = {
    "pair": by_pair,
    "seat": by_seat,
    "grades": grades_of_bots,
    "overall": overall_standings,
}
