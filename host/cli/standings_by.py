"""Print standings by pair or by seat."""

from pathlib import Path

import click

from host.base.safe_text import one_line
from host.cli import CliContext, print_json
from host.cli.common import NO_STANDINGS, load_results
from host.inspect.recorded import seed_of
from host.play.custom_games import game_by_name
from host.report import terminal
from host.tournament.journal import reading
from host.tournament.seat_effects import SeatRow, by_seat, seat_results
from host.tournament.stages import kind_of
from host.tournament.standings import Pair, by_pair, stage_standings
from host.tournament.tournament_dir import Folder


def print_pairs(context: CliContext, folder: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print the results of each pair of bots at tables of two."""
    with reading(Folder(folder).journal) as journal:
        results = load_results(journal, stage)
    rows, sure, advice = stage_standings(results.stage, results.facts, results.records, results.bots)
    pairs = by_pair(results.records)
    met = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]
    if as_csv:
        terminal.write_cells(["bot", "against", *Pair._fields], met)
    elif context.json:
        print_json("pairs", **results.facts_json, rows=met, sure=sure, advice=[each._asdict() for each in advice])
    elif pairs:
        terminal.print_pairs([row.bot for row in rows], pairs)
    else:
        click.echo(f"stage {results.stage.name} has no table with two bots")


def print_seats(context: CliContext, folder: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print the advantage of each seat in a stage."""
    with reading(Folder(folder).journal) as journal:
        results = load_results(journal, stage)
        seed = seed_of(journal) if kind_of(results.stage).tourneys else b""  # the seats of a tourney are drawn from it
        found = by_seat(seat_results(results.stage, journal, seed))
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
