"""Options that several commands have in common."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from host.cli import completers

DEFAULT_BIND = "127.0.0.1:8080"  # where servers listen

GAME_OPTION = click.option(
    *("-g", "--game"),
    shell_complete=completers.games,
    metavar="GAME",
    help="default: the game in the bots' bot.toml, or the tournament's",
)
SEED_OPTION = click.option("--seed", help="32 hexadecimal digits, or any text, as in croupier.toml; default: random")
PRESET = click.option(
    "--preset", metavar="NAME", help="the game's rules; default: the tournament's, or the game's first preset"
)
WORKERS_OPTION = click.option("--workers", type=click.IntRange(1, 1024), help="worker processes; default: one per core")
LIMITS = click.option(
    "--limits",
    metavar="KEY=VALUE,...",
    help="limits as in [limits] of croupier.toml: bank=60s/table,move=200ms; default: the tournament's",
)
LOGS = click.option(
    "--logs",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="write all that bots print to standard error to DIR/BOT/TABLE.log, question by question",
)


def _without_json(context: click.Context, _option: click.Parameter, as_csv: bool) -> bool:
    """Return `as_csv`, the value of --csv. Raise UsageError if --json is given, too."""
    if as_csv and context.obj.json:
        raise click.UsageError("--csv and --json are two forms of the same rows: leave out one of the two")
    return as_csv


CSV = click.option(*("--csv", "as_csv"), is_flag=True, callback=_without_json, help="print comma-separated values")
UNSAFE = click.option("--unsafe", is_flag=True, help="play without a sandbox: only for bots you wrote yourself")
JOURNAL = click.option(
    *("--journal", "journal"),
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="default: the tournament's, otherwise that of the last croupier play",
)

ROSTER = click.option(
    "--roster",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="a table of the students: the grades have one row for each of them, in its order",
)


def conditions(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how bots play outside a tournament: the fields of `Conditions` except `mirror`."""
    for option in (UNSAFE, LOGS, LIMITS, WORKERS_OPTION, PRESET, SEED_OPTION, GAME_OPTION):
        command = option(command)
    return command
