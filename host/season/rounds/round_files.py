"""Writes the files of a round that is over: its records, a public report with replays, and the tables of each author."""

import hashlib
import mmap
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from host.base.errors import UserError
from host.base.output import write_atomically
from host.config.tournament_config import Tournament
from host.inspect.recorded import root_of
from host.inspect.table_replays import ReplayedTable, for_author, load
from host.journal.reader import Journal
from host.report.export import as_lines
from host.report.html_file import spectators_report
from host.report.public import public_lines
from host.season.documents import report_of
from host.season.folder import SeasonFolder, records_of
from host.season.rounds.book import Round
from host.season.rounds.play import STAGE, reading_round

OWN_TABLES = 20
"""The number of tables of a round, for each version, that the version's author gets."""

KEPT_FILES = 10
"""The number of rounds whose reports and own tables are kept."""


class RoundFiles(NamedTuple):
    """The name of a round's report below published/, and the tables of each bot as NDJSON, by name of the bot.

    Each table has only what the author of the bot may see.
    """

    report: str
    tables: dict[str, str]


def has_records(folder: SeasonFolder, which: Round) -> bool:
    """Return whether the records of a round are written: whether the last line of their file has the seal of the round.

    A season that was restored from a backup may have the file of another round with this number. This function does not
    find altered records; check.py does.
    """
    try:
        with (folder.published / records_of(which.number)).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines:
                last = lines[lines.rfind(b"\n", 0, len(lines) - 1) + 1 :]
    except OSError:  # then the records are written again, and the error of this attempt is reported
        return False
    return hashlib.sha256(last).hexdigest() == which.seal


def write_records(folder: SeasonFolder, number: int, tournament: Tournament) -> None:
    """Write the records of a round into published/. Raise UserError if the journal of the round cannot be read.

    The function may be called in a thread.
    """
    with reading_round(folder.round(number), tournament) as journal:
        write_atomically(folder.published / records_of(number), (line.encode() for line in public_lines(journal).lines))


def made_files(folder: SeasonFolder, number: int, tournament: Tournament, bots: Mapping[str, str]) -> RoundFiles:
    """Write the report of a round and remove those of old rounds. Return the report's name and the tables by bot.

    `bots` has the name of each bot, by the label of its version. Raise UserError if the journal of the round cannot be
    read. The function may be called in a thread.
    """
    report = report_of(number)
    with reading_round(folder.round(number), tournament) as journal:
        text, _ = spectators_report(journal)
        write_atomically(folder.published / report, text.encode())
        tables = _own_tables(journal, bots)
    for path in (folder.published / report).parent.glob("*.html"):
        if path.stem.isdecimal() and int(path.stem) <= number - KEPT_FILES:
            path.unlink(missing_ok=True)
    return RoundFiles(report, tables)


def _own_tables(journal: Journal, bots: Mapping[str, str]) -> dict[str, str]:
    root, written = root_of(journal), dict[str, list[str]]()
    left = dict.fromkeys(bots, OWN_TABLES)
    for path in journal.paths(STAGE):
        wanted = [label for label in journal.full_record(path).results if left.get(label, 0) > 0]
        if not wanted:
            continue
        tables = max(left[label] for label in wanted)
        for table in _first(journal, root, path, tables):
            for seat, label in enumerate(table.sitting.bots):
                if label in wanted and left[label] > 0:
                    written.setdefault(bots[label], []).append(as_lines(for_author(table, seat)))
            for label in wanted:
                left[label] -= 1
    return {bot: "".join(parts) for bot, parts in written.items()}


def _first(journal: Journal, root: bytes, path: str, tables: int) -> Iterable[ReplayedTable]:
    """Return the first tables of a fixture, up to `tables` of them; none if they cannot be replayed."""
    wanted = range(min(tables, len(journal.full_record(path).scores)))
    try:
        return list(load(journal, root, path, wanted))
    except UserError:
        return ()
