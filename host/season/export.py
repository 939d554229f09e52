"""Writes a season as a folder that anyone can check without croupier (docs/checking.md)."""

from importlib.resources import files
from pathlib import Path

import msgspec

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.config.tournament_config import Tournament
from host.journal.lock import lock_holder
from host.report.public import public_lines
from host.season.entries.store import Store
from host.season.folder import CHAIN_FILE, SeasonFolder, records_of
from host.season.publish import with_authors
from host.season.rounds.book import Book
from host.season.rounds.chain import is_final_over, links_of
from host.season.rounds.play import reading_round
from host.season.rounds.season import Season, ladder_in


def export_season(place: Path, tournament: Tournament, target: Path) -> int:
    """Write the chain, the ladder, the records of all finished rounds, and a program that checks them.

    Return the number of rounds. The season process may be running. Raise UserError if the season has no chain yet, if
    the store or a journal is damaged, or if a file cannot be written.
    """
    folder = SeasonFolder(place)
    # The final may have ended after the season process did. If croupier.toml is wrong, `tournament` is that of a round:
    # it has another name than the season, so the chain stays as it is.
    if tournament.season and folder.store.exists() and not lock_holder(folder.store):
        with Store.open(place) as store:
            season = Season(folder, tournament, store)
            season.final_over = is_final_over(season)
            season.chain.update(season, season.book.rounds())
    with Store.reading(place) as store, store.snapshot():
        links, rounds, last = links_of(store), Book(store).rounds(), ladder_in(store)
        ladder = last and with_authors(store, last)
    if not links:
        hint = "croupier season open  writes the chain of a season that an older croupier has opened"
        raise UserError([Problem("R006", str(place), "this season has no chain yet", hint=hint)], 3)
    sealed = {link.about for link in links}
    over = [each.number for each in rounds if each.counted and f"round {each.number}" in sealed]
    try:
        (target / "rounds").mkdir(parents=True, exist_ok=True)
        for number in over:
            (target / records_of(number)).write_text(_records(folder, tournament, number))
        (target / CHAIN_FILE).write_text("".join(f"{link.line}\n" for link in links))
        if ladder:
            (target / "ladder.json").write_bytes(msgspec.json.encode(ladder) + b"\n")
        (target / "check.py").write_text(files("host.season").joinpath("season_check.py").read_text())
    except OSError as failed:
        raise UserError([file_problem("written", target, failed)], 6) from failed
    return len(over)


def _records(folder: SeasonFolder, tournament: Tournament, number: int) -> str:
    """Return the lines of a round's journal that everybody may see, as one text."""
    with reading_round(folder.round(number), tournament) as journal, journal.snapshot():
        return "".join(public_lines(journal).lines)
