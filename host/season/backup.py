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
"""Names in the folder of a season that are not copied as they are.

SQLite copies the store. The requests in `inbox` have no answer yet, and the season process does the work in `work`
again.
"""


class Backup(NamedTuple):
    """A finished backup: its file, the number of files in it, its size in bytes, and the last round in it (0: none)."""

    file: Path
    files: int
    bytes: int
    round: int


def back_up(place: Path, target: Path) -> Backup:
    """Write a season into a compressed tar file. The season process may be running.

    SQLite first copies the store as it is at one moment (VACUUM INTO). All files that the store names exist by then. So
    a restored season may have files that its store does not name, but it has every file that its store names. SQLite
    copies the journals of the rounds, too. Raise UserError if `target` exists or cannot be written.
    """
    folder = SeasonFolder(place)
    if target.exists():
        raise UserError([Problem("C016", str(target), "already exists", hint="choose another name")], 2)
    unfinished = target.with_name(f".{target.name}.making")
    try:
        unfinished.unlink(missing_ok=True)
        unfinished.touch(0o600)  # it has the seed
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
        unfinished.rename(target)
    except OSError as failed:
        raise UserError([file_problem("written", target, failed)], 6) from failed
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink()
    return Backup(target, files, target.stat().st_size, last)


def _others(folder: SeasonFolder, last: int) -> Iterator[Path]:
    """Yield the path of each file to copy, except the store. Leave out files that vanish meanwhile.

    `last` is the last round in the copied store. Folders of later rounds are left out, because they would contradict
    this store. Folders of rounds that were played again are left out, too.
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
