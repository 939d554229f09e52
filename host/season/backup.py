"""Copies a season into one file while it runs. `tar xzf` restores it: `croupier season open` goes on in the new folder."""

import contextlib
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.journal.reader import reading
from host.season.documents import SITE_FILE
from host.season.entries.store import Store
from host.season.folder import SeasonFolder
from host.season.rounds.book import Book

LEFT_OUT = frozenset({"work", "inbox", "season.sqlite", "season.sqlite-wal", "season.sqlite-shm", "season.lock"})
"""What is not copied as it is: the store is copied by SQLite, requests have no answer yet, and work is done again."""


class Backup(NamedTuple):
    """A backup: its file, the number of its files, its size, and the last round in it."""

    file: Path
    files: int
    bytes: int
    round: int


def back_up(place: Path, target: Path) -> Backup:
    """Write a season into a tar file, compressed. The season process may be running.

    The store is copied first, as it is at one moment (VACUUM INTO): whatever it names is in its folder already, so a
    restored season may have files that its store does not name, and never the other way round. The journals of rounds are
    copied by SQLite, too. Raise UserError if the file exists or cannot be written.
    """
    folder = SeasonFolder(place)
    if target.exists():
        raise UserError([Problem("C016", str(target), "already exists", hint="choose another name")], 2)
    unfinished = target.with_name(f".{target.name}.making")
    try:
        with (
            tempfile.TemporaryDirectory(dir=target.parent) as temporary,
            tarfile.open(unfinished, "w:gz", compresslevel=3) as tar,
        ):
            copy, files = Path(temporary) / "copy.sqlite", 1
            with Store.reading(folder.path) as store:
                store.copy_to(copy)
                last = max((each.number for each in Book(store).rounds()), default=0)
            tar.add(copy, "season.sqlite")
            for path in _others(folder, last):
                name = str(path.relative_to(folder.path))
                if path.name == "run.sqlite":
                    copy.unlink(missing_ok=True)
                    with reading(path) as journal:
                        journal.copy_to(copy)
                    tar.add(copy, name)
                else:
                    with contextlib.suppress(FileNotFoundError):  # the season has just removed it
                        tar.add(path, name, recursive=False)
                files += 1
        unfinished.chmod(0o600)  # it has the seed
        unfinished.rename(target)
    except OSError as failed:
        unfinished.unlink(missing_ok=True)
        raise UserError([file_problem("written", target, failed)], 6) from failed
    return Backup(target, files, target.stat().st_size, last)


def _others(folder: SeasonFolder, last: int) -> Iterator[Path]:
    """Yield every other file of a season. Files that vanish meanwhile, for example old reports, are left out.

    `last` is the last round of the copied store: the folder of a later one would contradict it. Folders of rounds that were
    played again are left out, too.
    """
    for path in sorted(folder.path.rglob("*")):
        top, second = (*path.relative_to(folder.path).parts, "")[:2]
        if top == "rounds" and not (second.isdecimal() and int(second) <= last):
            continue
        hidden = any(part.startswith(".") for part in path.relative_to(folder.path).parts)
        if top in LEFT_OUT or hidden or path.is_dir() or path.is_symlink() or path.suffix == ".lock":
            continue
        if path.name.endswith(("-wal", "-shm", "-journal")) or path.name == SITE_FILE:  # published again
            continue
        if path.exists():
            yield path
