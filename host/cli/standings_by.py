"""Print standings by pair or by seat, and grades."""

from pathlib import Path

import click

from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.cli import CliContext, print_json
from host.cli.common import NO_STANDINGS, load_results, run_results
from host.inspect.recorded import seed_of
from host.play.custom_games import game_by_name
from host.report import terminal
from host.results.grades import grades_of
from host.results.journal import reading
from host.results.seat_effects import SeatRow, by_seat, seat_results
from host.results.standings import OverallRow, Pair, by_pair
from host.stages import kind_of, references_of


def print_pairs(context: CliContext, journal: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print the results of each pair of bots at tables of two."""
    with reading(journal, context.registry) as book:
        results = load_results(book, stage)
    rows, sure, advice, _ = results.standings
    names = dict.fromkeys([*(row.bot for row in rows), *references_of(results.stage)])
    pairs = by_pair(results.records)
    met = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]
    if as_csv:
        terminal.write_cells(["bot", "against", *Pair._fields], met)
    elif context.json:
        print_json("pairs", **results.facts_json, rows=met, sure=sure, advice=[each._asdict() for each in advice])
    elif pairs:
        terminal.print_pairs(list(names), pairs)
    else:
        click.echo(f"stage {results.stage.name} has no table with two bots")


def print_grades(context: CliContext, journal: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print the points of each bot for beating the references of a stage."""
    with reading(journal, context.registry) as book:
        results = load_results(book, stage)
    rows = grades_of(results.stage, results.bots, results.order, results.records)
    if not rows and results.order:
        message = f'stage "{results.stage.name}" gives no grades'
        hint = "a stage of references with [stage.grades] does: docs/grading.md"
        raise UserError([Problem("C017", str(journal), message, hint=hint)], 2)
    if as_csv:
        terminal.write_cells(list(rows[0].flat()), [row.flat() for row in rows])
    elif context.json:
        graded = [row._asdict() | {"marks": [mark._asdict() for mark in row.marks]} for row in rows]
        print_json("grades", **results.facts_json, rows=graded)
    else:
        terminal.print_grades(results.title, rows)


def print_overall(context: CliContext, journal: Path, *, as_csv: bool) -> None:
    """Print all bots by the last stage that they reached, then by their place in it."""
    with reading(journal, context.registry) as book:
        results = load_results(book, None)
        rows = run_results(book).overall()
    if as_csv:
        terminal.write_cells(OverallRow._fields, [row._asdict() for row in rows])
    elif context.json:
        facts = {key: results.facts_json[key] for key in ("run", "game", "sandbox", "state")}
        print_json("overall", **facts, rows=[row._asdict() for row in rows])
    elif rows:
        terminal.print_overall(f"{results.facts['name']} · all stages · {results.facts['state']}", rows)
    else:
        click.echo(f"{one_line(results.title)}\n{NO_STANDINGS}")


def print_seats(context: CliContext, journal: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print the advantage of each seat in a stage."""
    with reading(journal, context.registry) as book:
        results = load_results(book, stage)
        seed = seed_of(book) if kind_of(results.stage).tourneys else b""  # the seats of a tourney are drawn from it
        found = by_seat(seat_results(results.stage, book, seed))
    unit = "games" if game_by_name(results.facts["game"]).winners else "chips"
    rows = [row._asdict() for row in found.rows]
    if as_csv:
        terminal.write_cells(SeatRow._fields, rows)
    elif context.json:
        advice = [
            {"seats" if key == "bots" else key: value for key, value in each._asdict().items()} for each in found.advice
        ]
        print_json("seats", **results.facts_json, unit=unit, rows=rows, sure=found.sure, advice=advice)
    elif found.rows:
        terminal.print_seats(results.title, unit, found)
    else:
        click.echo(f"{one_line(results.title)}\n{NO_STANDINGS}")
