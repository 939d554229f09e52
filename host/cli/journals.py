"""Chooses the journal and the table that a command reads."""

import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from host.base.errors import Problem, UserError, nothing_played
from host.cli import CliContext

if TYPE_CHECKING:
    from host.inspect.table_replays import TableLocation

MAX_EXAMPLES = 3  # names of tables in the message about an unknown table


def journals_of(context: CliContext, chosen: Path | None) -> list[Path]:
    """Return the journals in which a table may be: the one that `journal_of` chooses, then the others of the folder."""
    first = journal_of(context, chosen)
    return [first] if chosen is not None else [first, *(path for path in _adhoc_games(context) if path != first)]


def journal_of(context: CliContext, chosen: Path | None) -> Path:
    """Return the chosen journal, otherwise the tournament's, otherwise that of the last `croupier play`.

    This is one rule for all commands that read a journal. The tournament's journal may not exist yet. Raise UserError
    if there is neither a tournament nor a journal, or if the chosen one does not exist.
    """
    if chosen is not None:
        if not chosen.exists():
            hint = "a path starts in the folder in which you are, also with -C"
            raise UserError([Problem("C011", str(chosen), "there is no such journal", hint=hint)], 3)
        return chosen
    tournament, adhoc = context.folder / "run" / "run.sqlite", _adhoc_games(context)
    if adhoc and not tournament.exists():
        return adhoc[0]
    if not tournament.exists() and not (context.folder / "croupier.toml").exists():
        raise nothing_played(context.folder, hint="croupier run, or croupier play BOT BOT")
    return tournament


def journal_option(context: CliContext, journal: Path) -> str:
    """Return the option that makes another command read this journal too; "" if it does so without one."""
    return "" if journal == journal_of(context, None) else f" --journal {shlex.quote(str(journal))}"


def _adhoc_games(context: CliContext) -> list[Path]:
    """Return the journals of games outside the tournament, the most recent first."""
    usual = [context.folder / "run" / "play.sqlite", *(context.folder / ".croupier").glob("play-*.sqlite")]
    return sorted((path for path in usual if path.exists()), key=lambda path: path.stat().st_mtime, reverse=True)


def split(name: str) -> tuple[str, int]:
    """Split `league/A+B/7:12` into the name of the table and the number of the question; 0 if there is none."""
    table, colon, number = name.rpartition(":")
    return (table, int(number)) if colon and number.isascii() and number.isdecimal() else (name, 0)


def find_table(journals: Sequence[Path], context: CliContext, name: str) -> "TableLocation":
    """Find a table by name. Raise UsageError for an unknown table, UserError if nothing has been played."""
    from host.inspect import table_lookup

    if found := table_lookup.find_table(journals, context.registry, name):
        return found
    listed = ", ".join(islice(table_lookup.example_names(journals, context.registry), MAX_EXAMPLES))
    if not listed:
        raise nothing_played(context.folder)
    raise click.UsageError(f"there is no table {name!r}; tables here are called, for example, {listed}, or last")
