"""Find a journal, a stage or a table by name."""

import shlex
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from host.base.errors import Problem, UserError, nothing_played, unknown_with_list, wrong_usage

if TYPE_CHECKING:
    from host.inspect.table_replays import TableLocation
    from host.journal.reader import Journal
    from host.results.course import Position

MAX_EXAMPLES = 3  # names of tables in the message about an unknown table


def journals_of(folder: Path, chosen: Path | None) -> list[Path]:
    """Return the journals in which a table may be: the one that `journal_of` chooses, then the others of the folder."""
    first = journal_of(folder, chosen)
    return [first] if chosen is not None else [first, *(path for path in _adhoc_games(folder) if path != first)]


def journal_of(folder: Path, chosen: Path | None) -> Path:
    """Return the chosen journal, otherwise the tournament's, otherwise the journal of the last `croupier play`.

    All commands that read a journal use this rule. The tournament's journal may not exist yet. Raise UserError if there
    is neither a tournament nor a journal, or if the chosen journal does not exist.
    """
    if chosen is not None:
        if not chosen.exists():
            hint = "a path starts in the folder in which you are, also with -C"
            raise UserError([Problem("C011", str(chosen), "there is no such journal", hint=hint)], 3)
        return chosen
    tournament, adhoc = folder / "run" / "run.sqlite", _adhoc_games(folder)
    if adhoc and not tournament.exists():
        return adhoc[0]
    if not tournament.exists() and not (folder / "croupier.toml").exists():
        raise nothing_played(folder, hint="croupier run, or croupier play BOT BOT")
    return tournament


def open_journal(folder: Path, chosen: Path | None = None) -> "AbstractContextManager[Journal]":
    """Open the journal that `journal_of` chooses, for reading."""
    from host.config.resolver import registry_of
    from host.journal.reader import reading

    return reading(journal_of(folder, chosen), registry_of(folder))


def journal_option(folder: Path, journal: Path) -> str:
    """Return the option with which other commands read this journal; "" if they read it without an option."""
    return "" if journal == journal_of(folder, None) else f" --journal {shlex.quote(str(journal))}"


def _adhoc_games(folder: Path) -> list[Path]:
    """Return the journals of games outside the tournament, the most recent first."""
    usual = [folder / "run" / "play.sqlite", *(folder / ".croupier").glob("play-*.sqlite")]
    return sorted((path for path in usual if path.exists()), key=lambda path: path.stat().st_mtime, reverse=True)


def find_stage(journal: "Journal", name: str | None) -> "Position":
    """Return the position in the stage `name`; for None, in the last stage that has been played, or in the first.

    Raise UserError if there is no such stage, or if the journal has no stages.
    """
    from host.results.course import positions_of

    positions = {position.state.name: position for position in positions_of(journal)}
    if not positions:
        raise nothing_played(journal.path)
    if name is not None and name not in positions:
        raise wrong_usage(unknown_with_list("stage", name, positions))
    wanted = [*positions] if name is None else [name]
    return positions[next((each for each in reversed(wanted) if journal.has_played(each)), wanted[0])]


def split(name: str) -> tuple[str, int]:
    """Split `league/A+B/7:12` into the name of a table and the number of a question. Without a number it is 0."""
    table, colon, number = name.rpartition(":")
    return (table, int(number)) if colon and number.isascii() and number.isdecimal() else (name, 0)


def find_table(folder: Path, chosen: Path | None, name: str) -> "TableLocation":
    """Find a table by name in the journals of a folder, or in a chosen one.

    Raise UserError for an unknown table, or if nothing has been played.
    """
    from host.config.resolver import registry_of
    from host.inspect import table_lookup

    journals, registry = journals_of(folder, chosen), registry_of(folder)
    if found := table_lookup.find_table(journals, registry, name):
        return found
    listed = ", ".join(islice(table_lookup.example_names(journals, registry), MAX_EXAMPLES))
    if not listed:
        raise nothing_played(folder)
    raise wrong_usage(f"there is no table {name!r}; tables here are called, for example, {listed}, or last")
