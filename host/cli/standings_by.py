"""Standings seen from another side: every pair, every seat, every language."""

from pathlib import Path

import click

from host.cli import Office, print_json
from host.cli.common import NOBODY, standing
from host.cli.replay_lookup import seed_of
from host.games import GAMES
from host.report import terminal
from host.tournament.journal import reading
from host.tournament.seat_effects import factors
from host.tournament.standings import Pair, by_pair, told
from host.tournament.tournament_dir import Folder


def print_pairs(office: Office, place: Path, stage: str | None, *, as_csv: bool) -> None:
    """Print how every two bots that have met alone at a table have fared."""
    with reading(Folder(place).journal) as journal:
        now = standing(journal, stage)
    rows, sure, advice = told(now.stage, now.facts, now.records, now.bots)
    pairs = by_pair(now.records)
    met = [{"bot": one, "against": other, **pair._asdict()} for (one, other), pair in pairs.items()]
    if as_csv:
        terminal.write_cells(["bot", "against", *Pair._fields], met)
    elif office.json:
        print_json("pairs", **now.told, rows=met, sure=sure, advice=[each._asdict() for each in advice])
    elif pairs:
        terminal.print_pairs([row.bot for row in rows], pairs)
    else:
        click.echo(f"no two bots have met alone at a table of stage {now.stage['name']}")


def print_factors(office: Office, place: Path, stage: str | None, by: str, *, as_csv: bool) -> None:
    """Print what the seats, or the languages, of a stage are worth."""
    with reading(Folder(place).journal) as journal:
        now = standing(journal, stage)
        seed = seed_of(journal) if now.stage["kind"] == "tables" else b""  # there the seats are drawn from it
        found = factors(by, now.stage, journal, seed)
    unit = "games" if GAMES[now.facts["game"]].winners else "chips"
    rows = terminal.factor_rows(by, found.rows)
    if as_csv:
        terminal.write_cells(terminal.factor_keys(by), rows)
    elif office.json:
        advice = [
            {f"{by}s" if key == "bots" else key: value for key, value in each._asdict().items()}
            for each in found.advice
        ]
        print_json(f"{by}s", **now.told, unit=unit, rows=rows, sure=found.sure, advice=advice)
    elif found.rows:
        terminal.print_factors(now.head, by, unit, found)
    elif now.records:
        click.echo(f"stage {now.stage['name']} knows one language only: no table tells of it")
    else:
        click.echo(f"{terminal.one_line(now.head)}\n{NOBODY}")
