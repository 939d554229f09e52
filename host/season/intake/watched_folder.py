"""The folder door of a season: a file in AUTHOR/ of a folder is handed in once it no longer changes."""

import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from host.base.errors import UserError
from host.base.safe_text import one_line
from host.config.season_config import AuthorLimits
from host.season.entries.inbox import Submit
from host.season.entries.names import usable_name
from host.season.folder import SeasonFolder
from host.season.intake.doors import Outcome, authors_of, leave, outcome
from host.submissions.file_tree import FILE_FLAGS, FOLDER_FLAGS, submitted
from host.submissions.pack import packed

STABLE_S = 2.0  # a file that has not changed for this time is complete
POLL_S = 0.5
VERDICT_SUFFIX = ".verdict.txt"
MAX_DEPTH = 20
MAX_ENTRIES = 1000  # of the folder of one author that are looked at


class Seen(NamedTuple):
    """What is known of a file or folder: its last change, when that was noticed, and the request that handed it in."""

    changed: tuple[int, ...]
    noticed: float
    request: str = ""
    shown: bool = False  # whether its verdict lies beside it


class WatchedFolder:
    """A folder with a folder for each author. `told` gets a line for each file that is handed in, and for each verdict."""

    def __init__(self, season: SeasonFolder, folder: Path, limits: AuthorLimits, told: Callable[[str], None]) -> None:
        self._season, self._folder, self._limits, self._told = season, folder, limits, told
        self._seen: dict[tuple[str, str], Seen] = {}

    def look(self, now: float) -> None:
        """Hand in what is complete, and write the verdicts that have come. Raise UserError if the season is not open."""
        authors = authors_of(self._season)
        found = dict(self._entries(authors))
        self._seen = {key: seen for key, seen in self._seen.items() if key in found}
        for key, changed in found.items():
            seen = self._seen.get(key)
            if seen is None or seen.changed != changed:
                self._seen[key] = Seen(changed, now)
            elif not seen.request and now - seen.noticed >= STABLE_S:
                self._seen[key] = seen._replace(request=self._hand_in(*key))
            elif seen.request and not seen.shown:
                self._show(key, seen)

    def _entries(self, authors: set[str]) -> Iterator[tuple[tuple[str, str], tuple[int, ...]]]:
        """Yield the files and folders of the authors, with what changes when they do. No link is followed."""
        for author in sorted(authors):
            try:
                at = os.open(self._folder / author, FOLDER_FLAGS | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                with os.scandir(at) as entries:
                    names = sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False))
                for name in names:
                    if not name.startswith(".") and not name.endswith(VERDICT_SUFFIX):
                        yield (author, name), _changed(at, name)
            finally:
                os.close(at)

    def _hand_in(self, author: str, name: str) -> str:
        """Hand in a file or a folder; return the id of the request, or a mark that there is none."""
        try:
            file_name, content = self._contents(author, name)
            request = Submit(author, file_name, "folder", usable_name(name.partition(".")[0], 30))
            identity = leave(self._season, request, content)
        except (UserError, OSError) as refused:
            why = refused.problems[0].message if isinstance(refused, UserError) else refused.strerror
            self._told(f"{author}/{one_line(name)}: not handed in: {one_line(str(why))[:200]}")
            return "-"
        self._told(f"{author}/{one_line(name)}: handed in, {len(content)} bytes")
        return identity

    def _contents(self, author: str, name: str) -> tuple[str, bytes]:
        path, limits = self._folder / author / name, submitted(self._limits.size)
        if stat.S_ISDIR(path.lstat().st_mode):
            return f"{name}.tar.gz", packed(path, limits)
        at = os.open(path.parent, FOLDER_FLAGS | os.O_NOFOLLOW)
        try:
            descriptor = os.open(name, FILE_FLAGS, dir_fd=at)
            with os.fdopen(descriptor, "rb") as file:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(0, "is not a regular file")
                return name, file.read(self._limits.size + 1)  # a larger one is refused by the season
        finally:
            os.close(at)

    def _show(self, key: tuple[str, str], seen: Seen) -> None:
        author, name = key
        if seen.request == "-":
            return
        found = outcome(self._season, author, seen.request)
        if not found.final:
            return
        self._seen[key] = seen._replace(shown=True)
        self._told(f"{author}/{one_line(name)}: {one_line(found.state)[:200]}")
        self._write_verdict(author, name, found)

    def _write_verdict(self, author: str, name: str, found: Outcome) -> None:
        """Write a verdict beside the file; the author can write there, too, so no link is followed."""
        text = "".join(f"{line}\n" for line in found.lines())
        unfinished = f".{secrets.token_hex(8)}"
        try:
            at = os.open(self._folder / author, FOLDER_FLAGS | os.O_NOFOLLOW)
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                with os.fdopen(os.open(unfinished, flags, 0o644, dir_fd=at), "w") as file:
                    file.write(text)
                os.rename(unfinished, f"{name}{VERDICT_SUFFIX}", src_dir_fd=at, dst_dir_fd=at)
            finally:
                os.close(at)
        except OSError as failed:
            self._told(f"{author}/{one_line(name)}: its verdict cannot be written there: {failed.strerror}")

    def watch(self) -> None:
        """Look again and again, until the process ends."""
        while True:
            self.look(time.monotonic())
            time.sleep(POLL_S)


def _changed(at: int, name: str, room: list[int] | None = None, depth: int = 0) -> tuple[int, ...]:
    """Return what changes when a file, or a file in a folder, does. Of a large folder, only MAX_ENTRIES files count."""
    room = [MAX_ENTRIES] if room is None else room
    try:
        status = os.stat(name, dir_fd=at, follow_symlinks=False)
    except OSError:
        return ()
    own: tuple[int, ...] = (status.st_ino, status.st_size, status.st_mtime_ns)
    if not stat.S_ISDIR(status.st_mode) or depth == MAX_DEPTH:
        return own
    try:
        inner = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=at)
    except OSError:
        return own
    try:
        with os.scandir(inner) as entries:
            kept = sorted(entry.name for entry, _ in zip(entries, range(room[0]), strict=False))
        for each in kept:
            room[0] -= 1
            own += _changed(inner, each, room, depth + 1) if room[0] > 0 else ()
    finally:
        os.close(inner)
    return own
