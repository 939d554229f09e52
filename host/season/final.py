"""Makes the folder of the final: an ordinary tournament with the versions that were entered when entry closed."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from host.base.errors import Problem, UserError
from host.base.format import counted
from host.base.output import write_atomically
from host.base.paths import remove_tree
from host.config.difference import settings_of
from host.config.resolver import CONFIG
from host.config.tournament_config import Tournament, not_enough_bots
from host.games.luck import digest_of
from host.journal.lock import lock_holder
from host.journal.tournament_dir import Folder, commitment
from host.season.documents import EntryRow
from host.season.entries.inbox import Manage, arrivals
from host.season.entries.store import Store
from host.season.folder import MadeFinal, SeasonFolder, final_seed
from host.season.intake.requests import FROZEN
from host.season.manage import manage
from host.season.rounds.play import copy_own_code, toml_of
from host.season.rounds.season import Season, entries_in
from host.season.season_config import terms_of
from host.submissions.discovery import expand_patterns

POLL_S = 0.5


class Final(NamedTuple):
    """The final that `make_final` has written."""

    entries: Sequence[EntryRow]
    withdrawn: Sequence[str]  # labels that were entered when entry closed, and have been withdrawn since
    digest: str  # of the hashes of the entries
    commitment: str  # SHA-256 of the seed of the final


def make_final(
    place: Path, tournament: Tournament, target: Path, *, references: bool, tell: Callable[[str], None]
) -> Final:
    """Close entry, wait for the verdict on every submission received before, and write the folder of the final.

    `tell` gets the progress in sentences. Raise UserError if `target` is not empty, if the season has never been
    opened, if too few bots are entered, if submissions or requests wait and no process answers them, or if entry is
    opened again meanwhile.
    """
    folder = SeasonFolder(place)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UserError([Problem("C016", str(target), "already exists", hint="choose another folder")], 2)
    if not folder.store.exists():
        raise UserError(
            [Problem("R006", str(place), "this season has not been opened yet", hint="croupier season open")], 3
        )
    running = lock_holder(folder.store)
    entries = _closed_while_running(folder, tournament, tell) if running else _closed_here(folder, tournament)
    with Store.reading(folder.path) as store:
        gone = [each.label for each in entries if store.submissions.withdrawn(each.label.rpartition("-")[0])]
        playing = [each for each in entries if each.label not in gone]
        places = {each.label: store.versions.labelled(each.label).place for each in playing}
    patterns = terms_of(tournament).references if references else ()
    beside = expand_patterns(patterns, folder.path, tournament.game)
    if few := _too_few(tournament, [*places], [path.name for path in beside]):
        hint = "croupier season freeze --undo  opens entry again"
        raise UserError([Problem("C004", str(place), few, hint=hint)], 3)
    digest = digest_of(bytes.fromhex(each.sha256) for each in playing).hex()
    _write(folder, tournament, target, places, beside)
    with Store.reading(folder.path) as store:
        fixed = entries_in(store)
    if fixed is None or fixed.entries != tuple(entries):
        hint = "croupier season freeze  closes it; then make the final in another folder"
        raise UserError([Problem("E104", str(place), "entry has been opened again meanwhile", hint=hint)], 5)
    said = MadeFinal(str(target.absolute()), time.time(), digest, tuple(each.label for each in playing))
    write_atomically(folder.final_file, msgspec.json.encode(said) + b"\n")
    promised = commitment(final_seed(folder.seed()))
    return Final(playing, gone, digest, promised)


def _closed_while_running(
    folder: SeasonFolder, tournament: Tournament, tell: Callable[[str], None]
) -> Sequence[EntryRow]:
    """Ask the season process to close entry, wait until it has fixed the entries, and return them.

    Raise UserError if the season process ends meanwhile.
    """
    with Store.reading(folder.path) as store:
        frozen = store.setting(FROZEN)
    if not frozen:
        manage(folder.path, Manage(action="freeze", reason="the final"))
    said = ""
    while lock_holder(folder.store):
        with Store.reading(folder.path) as store:
            if fixed := entries_in(store):
                return fixed.entries
            season = Season(folder, tournament, store)
            waiting = f"waiting for the verdict on {counted(len(season.waiting()), 'submission')}"
            paused = f", but the season is paused ({season.paused}): croupier season resume" if season.paused else ""
        if said != (said := f"entry is closed; {waiting}{paused}"):
            tell(said)
        time.sleep(POLL_S)
    hint = "croupier season open  goes on; then make the final"
    raise UserError([Problem("E104", str(folder.path), "the season process has ended meanwhile", hint=hint)], 5)


def _closed_here(folder: SeasonFolder, tournament: Tournament) -> Sequence[EntryRow]:
    """Close entry and return the entries, while no process runs the season.

    Raise UserError if submissions wait, or if the inbox has requests, for example to withdraw a bot.
    """
    if unread := arrivals(folder.inbox):
        message = f"{counted(len(unread), 'request')} in its inbox: not answered yet"
        hint = "croupier season open  answers them; then make the final"
        raise UserError([Problem("E104", str(folder.path), message, hint=hint)], 5)
    with Store.open(folder.path) as store:
        if fixed := entries_in(store):
            return fixed.entries
        season = Season(folder, tournament, store)
        if waiting := season.waiting():
            message = f"{counted(len(waiting), 'submission')}, received before entry closed: no verdict yet"
            hint = "croupier season open  examines them; then make the final"
            raise UserError([Problem("E104", str(folder.path), message, hint=hint)], 5)
        if store.time(FROZEN) is None:  # also if the terms have closed entry, which could be edited after the final
            store.set_setting(FROZEN, repr(time.time()))
            season.event("freeze", "season", "entry is closed for the final")
        return season.fix_entries().entries


def _too_few(tournament: Tournament, entered: list[str], references: list[str]) -> str:
    """Say that the final has too few bots for its first stage; "" if it has enough."""
    if not entered:
        return "nobody is entered in the final"
    few = not_enough_bots(tournament.stages[0], entered + references, tournament.game.seats[0])
    return few.message if few else ""


def _write(
    folder: SeasonFolder, tournament: Tournament, target: Path, places: dict[str, str], references: Sequence[Path]
) -> None:
    """Write the folder of the final completely, or not at all if an error or a crash interrupts it.

    The folder has copies of the bots, so it can be moved and published. `places` has the folder of each bot, relative
    to the season's folder, by label.
    """
    unfinished = target.with_name(f".{target.name}.making")
    if unfinished.exists():
        remove_tree(unfinished)
    (unfinished / "bots").mkdir(parents=True)
    for label, place in places.items():
        shutil.copytree(folder.path / place, unfinished / "bots" / label, symlinks=True)
    for path in references:
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, unfinished / "bots" / path.name)
    stages = [
        {key: value for key, value in stage.items() if value not in ("", [], None, {})}  # without empty values
        for stage in settings_of(tournament)["stage"]
    ]
    text = toml_of(tournament, f"{tournament.name}, final", ["bots/*"], stages)
    write_atomically(
        unfinished / CONFIG, text.replace('seed = "random"\n', 'seed = "random"\nbind_seed = true\n').encode()
    )
    copy_own_code(tournament, unfinished)
    made = Folder(unfinished)
    made.run.mkdir()
    write_atomically(made.seed_file, f"{final_seed(folder.seed()).hex()}\n".encode(), 0o600)
    made.commit()
    if target.exists():
        target.rmdir()
    unfinished.rename(target)
