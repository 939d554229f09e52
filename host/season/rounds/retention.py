"""Removes the answers of old rounds, so that a season of weeks does not fill the disk."""

from collections.abc import Sequence

from host.base.format import thousands
from host.config.tournament_config import Tournament
from host.journal.tournament_dir import Folder
from host.journal.writer import writing
from host.season.folder import SeasonFolder
from host.season.rounds.book import Round
from host.season.season_config import Keep

REDUCED = "answers removed"
"""The beginning of the note of a round whose answers have been removed."""


def too_old(rounds: Sequence[Round], keep: Keep) -> list[Round]:
    """Return the finished rounds whose answers must be removed, oldest first.

    The newest rounds that fit into the limits of `keep` are not among them, nor are rounds whose answers have been
    removed before.
    """
    found, size, number = list[Round](), 0, 0
    for each in reversed(rounds):
        if each.counted is None:
            continue
        size, number = size + each.counted.bytes, number + 1
        if (keep.rounds and number > keep.rounds) or (keep.size and size > keep.size):
            found.append(each)
    return [each for each in reversed(found) if not each.note.startswith(REDUCED)]


def remove_answers(folder: SeasonFolder, which: Round, tournament: Tournament) -> str:
    """Remove the answers of a round from its journal, and return a note for the round that says so.

    Raise UserError if the journal is damaged. The function may be called in a thread.
    """
    journal = Folder(folder.round(which.number)).journal
    before = journal.stat().st_size
    with writing(journal, tournament.registry) as opened:
        opened.remove_answers()
    after = journal.stat().st_size
    return f"{REDUCED}: {thousands(before / 1024)} KiB became {thousands(after / 1024)}; results, faults and seals are kept"
