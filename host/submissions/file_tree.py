"""Lists the files of a bot's folder without following links or opening special files."""

import os
import stat
from pathlib import Path

from host.base.config_file import display_path
from host.base.errors import Problem
from host.base.safe_text import one_line
from host.bots.bot_spec import unsafe_name
from host.sandbox.limits import MIB

MAX_FILES, MAX_FILE_BYTES, MAX_FOLDER_BYTES, MAX_FOLDER_DEPTH = 1000, 16 * MIB, 64 * MIB, 20
IGNORED_NAMES = frozenset((".git", ".hg", ".svn", ".idea", ".vscode", ".DS_Store", "__pycache__", ".mypy_cache"))
"""Files that tools leave behind; they are not part of a bot."""

SPECIAL = {
    stat.S_IFLNK: "is a link",
    stat.S_IFIFO: "is a FIFO",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}
ALLOWED_FILES_HINT = "a bot contains only regular files: no links, no devices, no unusual names"


class FileTree:
    """The regular files of a folder and their modes. Links are not followed and special files are not opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modes: dict[str, int] = {}
        self.problems: list[Problem] = []
        self._bytes_left, self._entries_left = MAX_FOLDER_BYTES, MAX_FILES
        try:
            self._scan(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC), "", 0)
        except OSError as error:
            self._refuse("", f"cannot be read: {error.strerror}")
        self.names = tuple(sorted(self.modes))

    def _scan(self, at: int, inside: str, depth: int) -> None:
        folders = []
        try:
            with os.scandir(at) as entries:
                for entry in entries:
                    if entry.name in IGNORED_NAMES:
                        continue
                    self._entries_left -= 1
                    if self._entries_left < 0 or len(self.problems) >= 20:
                        break
                    status = os.stat(entry.name, dir_fd=at, follow_symlinks=False)
                    path = inside + entry.name
                    if unsafe_name(path):
                        self._refuse(path, "has a name that a bot's file cannot have")
                    elif stat.S_ISDIR(status.st_mode):
                        folders.append(entry.name)
                    else:
                        self._add_file(path, status)
            for name in folders:
                if depth == MAX_FOLDER_DEPTH:
                    self._refuse(inside + name, f"is more than {MAX_FOLDER_DEPTH} folders deep")
                elif self._entries_left >= 0:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
                    self._scan(os.open(name, flags, dir_fd=at), f"{inside}{name}/", depth + 1)
        except OSError as error:
            self._refuse(inside, f"cannot be read: {error.strerror}")
        finally:
            os.close(at)
        if depth == 0 and self._entries_left < 0:
            self._refuse("", f"has more than {MAX_FILES} files")

    def _add_file(self, path: str, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse(path, SPECIAL.get(stat.S_IFMT(status.st_mode), "is not a regular file"))
        elif status.st_size > MAX_FILE_BYTES:
            self._refuse(path, f"is larger than {MAX_FILE_BYTES // MIB} MiB")
        elif status.st_size > self._bytes_left:
            self._refuse(path, f"makes the folder larger than {MAX_FOLDER_BYTES // MIB} MiB")
        else:
            self._bytes_left -= status.st_size
            self.modes[path] = status.st_mode

    def _refuse(self, path: str, why: str) -> None:
        self.problems.append(Problem("B016", self.where(path), why, hint=ALLOWED_FILES_HINT))

    def where(self, path: str) -> str:
        """Return a file's name for messages."""
        return display_path(self.folder / path)

    def start_of(self, path: str, most: int = 4096) -> bytes:
        """Return the first bytes of a file; b"" if it has been removed or replaced by a link."""
        try:
            descriptor = os.open(self.folder / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""

    def listing(self) -> str:
        """Return the list of files for a message."""
        names = ", ".join(map(one_line, self.names[:8])) or "nothing"
        return f"{self.where('')} has: {names}" + (", …" if len(self.names) > 8 else "")


class SingleFile(FileTree):
    """A bot that is a single file. Other files in its folder do not belong to it."""

    def __init__(self, path: Path, status: os.stat_result) -> None:
        self.folder, self.modes, self.problems, self._bytes_left = path.parent, {}, [], MAX_FOLDER_BYTES
        if unsafe_name(path.name):
            self._refuse(path.name, "has a name that a bot's file cannot have")
        else:
            self._add_file(path.name, status)
        self.names = tuple(self.modes)
