"""Reads the files of strangers: the limits, one walk through a folder, and the copying of files.

No link is followed, only regular files are opened, and the number, size and depth of files are limited.
"""

import errno
import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from host.base.errors import Problem, UserError
from host.base.paths import display_path
from host.base.safe_text import escape_control_chars, one_line
from host.bots.bot_spec import QUOTES, format_limit, unsafe_name
from host.sandbox.limits import MIB


class TreeLimits(NamedTuple):
    """Limits of a tree of files that croupier accepts."""

    entries: int  # files and folders together
    file_bytes: int  # size of one file
    total_bytes: int  # size of all files
    depth: int  # levels of nested folders
    on_disk: bool = False  # count the blocks on the disk, not the sizes: a sparse file is larger than its blocks


SUBMITTED = TreeLimits(1000, 16 * MIB, 64 * MIB, 20)  # a submission: a folder, a file, or what is in an archive
BUILDING = TreeLimits(10_000, 512 * MIB, 512 * MIB, 40, on_disk=True)  # each folder that a running build writes to
BUILT = TreeLimits(10_000, 64 * MIB, 256 * MIB, 40)  # a built bot, with its unpacked packages
WHEEL_LIMITS = TreeLimits(1000, 128 * MIB, 128 * MIB, 40, on_disk=True)  # the packages that a bot requires
DOWNLOADING = TreeLimits(10_000, 256 * MIB, 256 * MIB, 40, on_disk=True)  # pip copies a file, then deletes the original


def submitted(file_bytes: int) -> TreeLimits:
    """Return SUBMITTED with `file_bytes` as the limit of one file, and the limit of all files changed in proportion."""
    ratio = SUBMITTED.total_bytes // SUBMITTED.file_bytes
    return SUBMITTED._replace(file_bytes=file_bytes, total_bytes=ratio * file_bytes)


def enlarged(limits: TreeLimits, file_bytes: int) -> TreeLimits:
    """Return `limits` with larger sizes, for a submission whose files may have `file_bytes` each.

    The sizes are multiplied by `file_bytes` divided by the limit of one file in SUBMITTED, rounded up and at least 1.
    """
    factor = max(1, -(-file_bytes // SUBMITTED.file_bytes))
    return limits._replace(file_bytes=factor * limits.file_bytes, total_bytes=factor * limits.total_bytes)


MAX_PATH_BYTES = 2000  # of a path relative to its tree
MAX_PROBLEMS = 20  # of one tree; an untrusted author can submit thousands of wrong files

IGNORED_NAMES = frozenset((".git", ".hg", ".svn", ".idea", ".vscode", ".DS_Store", "__pycache__", ".mypy_cache"))
"""Files that tools leave behind; they are not part of a bot."""

SPECIAL = {
    stat.S_IFLNK: "is a link",
    stat.S_IFIFO: "is a FIFO",
    stat.S_IFSOCK: "is a socket",
    stat.S_IFBLK: "is a device",
    stat.S_IFCHR: "is a device",
}
LARGER_HINT = "an organiser can accept larger files: submission in [limits] of croupier.toml"
ALLOWED_FILES_HINT = "a bot contains only regular files: no links, no devices, no unusual names"
FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def special(mode: int) -> str:
    """Return the words about a special file, for example "is a link"; "" for a regular file and for a folder."""
    return "" if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else SPECIAL.get(stat.S_IFMT(mode), "is not a regular file")


class LimitExceeded(Exception):
    """Raised for a tree that exceeds its limits. `path` is the first file that does; "" for the whole tree."""

    def __init__(self, path: str, why: str, hint: str = ALLOWED_FILES_HINT) -> None:
        super().__init__(path, why)
        self.path, self.why, self.hint = path, why, hint


class Budget:
    """Counts the files of one tree and their bytes, until they exceed the limits of the tree."""

    def __init__(self, limits: TreeLimits) -> None:
        self.limits = limits
        self.entries_left, self.bytes_left = limits.entries, limits.total_bytes

    def take(self, path: str, depth: int, size: int) -> None:
        """Count a file or a folder that is `depth` folders deep. Raise LimitExceeded if it exceeds a limit."""
        self.entries_left -= 1
        self.bytes_left -= size
        if self.entries_left < 0:
            raise LimitExceeded("", f"has more than {self.limits.entries} files")
        if depth > self.limits.depth:
            raise LimitExceeded(path, f"is more than {self.limits.depth} folders deep")
        if len(os.fsencode(path)) > MAX_PATH_BYTES:
            raise LimitExceeded(path, f"has a path of more than {MAX_PATH_BYTES} bytes")
        if size > self.limits.file_bytes:
            raise LimitExceeded(path, f"is larger than {format_limit(self.limits.file_bytes)}", LARGER_HINT)
        if self.bytes_left < 0:
            why = f"makes the folder larger than {format_limit(self.limits.total_bytes)}"
            raise LimitExceeded(path, why, LARGER_HINT)


class TreeEntry(NamedTuple):
    """A file or a folder of a tree. The descriptor `folder` is valid until the walk continues."""

    path: str  # relative to the tree
    mode: int = 0  # type and permissions
    error: int = 0  # errno if it cannot be examined, or if it is a folder that cannot be read
    folder: int = -1  # descriptor of the folder that contains it

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def refused(self) -> str:
        """Return the reason why the entry cannot be part of a bot; "" if it can."""
        return f"cannot be read: {os.strerror(self.error)}" if self.error else special(self.mode)

    def read(self, most: int) -> tuple[bytes, os.stat_result]:
        """Return at most `most` bytes of the file, and its status. Raise OSError for anything but a regular file."""
        return _read(os.open(self.path.rpartition("/")[2], FILE_FLAGS, dir_fd=self.folder), most)


def walk(tree: Path, limits: TreeLimits, ignored: Collection[str] = ()) -> Iterator[TreeEntry]:
    """Yield the files and folders of a tree: of each folder first all entries by name, then the content of its folders.

    Yield an unreadable folder again, with its error. Raise LimitExceeded if the tree exceeds the limits.
    """
    budget = Budget(limits)

    def scan(name: Path | str, parent: int | None, path: str, depth: int) -> Iterator[TreeEntry]:
        try:
            at = os.open(name, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
        except OSError as error:
            yield TreeEntry(path, error=error.errno or errno.EIO)
            return
        try:
            with os.scandir(at) as listing:
                found = (each.name for each in listing if each.name not in ignored)
                names = sorted(islice(found, budget.entries_left + 1))
            folders = []
            for each in names:
                inside = f"{path}/{each}" if path else each
                try:
                    status = os.stat(each, dir_fd=at, follow_symlinks=False)
                except OSError as error:
                    yield TreeEntry(inside, error=error.errno or errno.EIO)
                    continue
                is_folder = stat.S_ISDIR(status.st_mode)
                size = 0 if is_folder else status.st_blocks * 512 if limits.on_disk else status.st_size
                budget.take(inside, depth + is_folder, size)
                folders += [(each, inside)] if is_folder else []
                yield TreeEntry(inside, status.st_mode, folder=at)
            for each, inside in folders:
                yield from scan(each, at, inside, depth + 1)
        finally:
            os.close(at)

    return scan(tree, None, "", 0)


def exceeds(tree: Path, limits: TreeLimits) -> bool:
    """Return whether a tree that a program is writing exceeds the limits, or has folders that cannot be read."""
    try:
        return any(entry.error in (errno.EACCES, errno.EPERM) for entry in walk(tree, limits))
    except LimitExceeded:
        return True


def _read(descriptor: int, most: int) -> tuple[bytes, os.stat_result]:
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "is not a regular file")
        return file.read(most), status


def read_file(tree: Path, path: str, most: int) -> tuple[bytes, os.stat_result]:
    """Return at most `most` bytes of a file, and its status. Raise OSError for anything but a regular file.

    No part of the path below the tree may be a link, also if a folder was replaced after the walk.
    """
    *folders, name = path.split("/")
    with ExitStack() as stack:
        at = os.open(tree, FOLDER_FLAGS)
        stack.callback(os.close, at)
        for folder in folders:
            at = os.open(folder, FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=at)
            stack.callback(os.close, at)
        return _read(os.open(name, FILE_FLAGS, dir_fd=at), most)


class File(NamedTuple):
    """A file of a submission."""

    name: str  # relative to its folder
    executable: bool
    content: bytes


def vanished(path: Path) -> UserError:
    """Return the error for a file of a bot that existed when the bot was loaded, and no longer does."""
    hint = "put it back, then give the command again"
    return UserError([Problem("C012", display_path(path), "was removed while croupier read the bot", hint=hint)], 3)


def read_files(tree: Path, names: Iterable[str], most: int) -> Iterator[File]:
    """Yield files of a submission, at most `most` bytes of each.

    Raise UserError: exit code 4 if one is not a regular file, 3 if one has been removed.
    """
    for name in names:
        try:
            content, status = read_file(tree, name, most)
        except FileNotFoundError as error:
            raise vanished(tree / name) from error
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ELOOP):
                raise
            raise UserError([Problem("B016", escape_control_chars(name), "is not a regular file")], 4) from error
        yield File(name, bool(status.st_mode & 0o111), content)


def write_file(folder: Path, file: File) -> Path:
    """Write a new file below a folder, and return its path. Raise OSError if it exists."""
    target = folder / file.name
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("xb") as written:
        written.write(file.content)
    target.chmod(0o755 if file.executable else 0o644)
    return target


def copy_files(files: Iterable[File], folder: Path) -> None:
    """Write a bot's files into a folder. Set their modification times to 0, so that they carry no information."""
    for file in files:
        os.utime(write_file(folder, file), (0, 0))


def _refused_name(name: str) -> str:
    if not unsafe_name(name):
        return ""
    quoted = next((f": it has a {letter}" for letter in name if letter in QUOTES and name.isprintable()), "")
    return f"has a name that a bot's file cannot have{quoted}"


class FileTree:
    """The regular files of a submission and their modes, and the problems of all other files."""

    def __init__(self, folder: Path, limits: TreeLimits = SUBMITTED) -> None:
        self.folder = folder
        self.modes: dict[str, int] = {}
        self.problems: list[Problem] = []
        try:
            for entry in walk(folder, limits, IGNORED_NAMES):
                if why := entry.refused or _refused_name(entry.path.rpartition("/")[2]):
                    self.refuse(entry.path, why)
                elif entry.is_file:
                    self.modes[entry.path] = entry.mode
                if len(self.problems) == MAX_PROBLEMS:
                    break
        except LimitExceeded as exceeded:
            self.refuse(exceeded.path, exceeded.why, exceeded.hint)
        self.names = tuple(sorted(self.modes))

    def refuse(self, path: str, why: str, hint: str = ALLOWED_FILES_HINT) -> None:
        """Add the problem of a file."""
        self.problems.append(Problem("B016", self.where(path), why, hint=hint))

    def where(self, path: str) -> str:
        """Return a file's name for messages."""
        return display_path(self.folder / path)

    def start_of(self, path: str, most: int = 4096) -> bytes:
        """Return the first bytes of a file; b"" if it has been removed or replaced by a link."""
        try:
            return read_file(self.folder, path, most)[0]
        except OSError:
            return b""

    def listing(self) -> str:
        """Return a text with the names of the first files, for a message."""
        names = ", ".join(map(one_line, self.names[:8])) or "nothing"
        return f"{self.where('')} has: {names}" + (", …" if len(self.names) > 8 else "")


class SingleFile(FileTree):
    """A bot that is a single file. Other files in its folder do not belong to it."""

    def __init__(self, path: Path, status: os.stat_result, limits: TreeLimits = SUBMITTED) -> None:
        self.folder, self.modes, self.problems = path.parent, {}, []
        why, hint = special(status.st_mode) or _refused_name(path.name), ALLOWED_FILES_HINT
        try:
            Budget(limits).take(path.name, 0, status.st_size)
        except LimitExceeded as exceeded:
            why, hint = (why, hint) if why else (exceeded.why, exceeded.hint)
        if why:
            self.refuse(path.name, why, hint)
        else:
            self.modes[path.name] = status.st_mode
        self.names = tuple(self.modes)
