"""Imports untrusted submissions: copies regular files only, follows no links, and writes nothing outside the target."""

import bz2
import gzip
import json
import lzma
import os
import resource
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from host.base import paths
from host.base.config_file import InvalidValue
from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import bot_name
from host.sandbox.limits import GIB, MIB
from host.submissions.build import read_bounded
from host.submissions.file_tree import IGNORED_NAMES, MAX_FILE_BYTES, MAX_FILES, MAX_FOLDER_BYTES, MAX_FOLDER_DEPTH

UNPACKERS: Mapping[str, Callable[[Path], Any] | None] = {
    ".zip": None,
    ".tar": lambda path: path.open("rb"),
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
"""The supported archives, each with the function that opens the tar inside."""

OTHER_ARCHIVES = (".rar", ".7z", ".tar.zst", ".gz", ".bz2", ".xz", ".zst")
"""Suffixes of archives that authors hand in, and that croupier cannot unpack."""

ALLOWED = "submit regular files only: no links, no devices, and within the limits"
PACK_AGAIN = "pack it again, without a password, or hand in the folder"
UNPACK_CPU_S = 20
UNPACK_MEMORY_BYTES = 2 * GIB

BROKEN = (zipfile.BadZipFile, tarfile.TarError, RuntimeError, EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
"""The exceptions of the libraries for an archive that is damaged, encrypted or packed by an unknown method."""


def import_submission(submission: Path, target: Path, name: str | None) -> Path:
    """Copy a file, a folder or an archive into `target`. Return the copy. Raise UserError that names a file not allowed."""
    try:
        status = submission.lstat()
    except OSError as missing:
        hint = "check the path; a sample bot of croupier is called sample:NAME"
        raise refusal(submission, "no such file", hint) from missing
    if stat.S_ISLNK(status.st_mode):
        raise refusal(submission, "is a link; submissions are files, folders and archives")
    full = submission.resolve().name
    archive = next((suffix for suffix in UNPACKERS if full.lower().endswith(suffix)), None)
    if stat.S_ISDIR(status.st_mode):
        copy = target / _called(submission, full if name is None else name)
        with _naming(submission, "/"):
            _write(copy, _from_folder(submission))
    elif not stat.S_ISREG(status.st_mode):
        raise refusal(submission, f"is {archive_kind(status.st_mode)}; submissions are files, folders and archives")
    elif archive:
        if status.st_size > MAX_FOLDER_BYTES:
            raise refusal(submission, f"is larger than {MAX_FOLDER_BYTES // MIB} MiB")
        copy = target / _called(submission, full[: -len(archive)] if name is None else name)
        files = _from_tar(submission, opened) if (opened := UNPACKERS[archive]) else _from_zip(submission)
        with _naming(submission, ": "):
            _in_child_process(submission, lambda: _write(copy, files))
        _strip_wrapper_dir(copy)
    elif full.lower().endswith(OTHER_ARCHIVES):
        hint = f"pack it as one of {', '.join(UNPACKERS)}, or hand in the folder"
        raise refusal(submission, "is an archive that croupier cannot unpack", hint)
    else:
        copy = target / f"{_called(submission, submission.stem if name is None else name)}{submission.suffix}"
        if status.st_size > MAX_FILE_BYTES:
            raise refusal(submission, f"is larger than {MAX_FILE_BYTES // MIB} MiB")
        copy.write_bytes(read_bounded(os.open(submission, os.O_RDONLY | os.O_NOFOLLOW)))
        copy.chmod(0o755 if status.st_mode & 0o111 else 0o644)
    return copy


@contextmanager
def _naming(submission: Path, separator: str) -> Iterator[None]:
    """Let the problems of a UserError in the block name the submission before the file inside it."""
    try:
        yield
    except UserError as refused:
        named = escape_control_chars(str(submission))
        places = [each.where if each.where == named else named + separator + each.where for each in refused.problems]
        problems = [each._replace(where=where) for each, where in zip(refused.problems, places, strict=True)]
        raise UserError(problems, refused.exit_code) from refused


def _in_child_process(archive: Path, unpack: Callable[[], None]) -> None:
    """Unpack in a child process with limits. Raise UserError if it fails.

    A crafted header can make the libraries use any amount of time and memory.
    """
    with tempfile.TemporaryFile() as problems_file:
        child = os.fork()
        if not child:
            failed = 1
            try:
                resource.setrlimit(resource.RLIMIT_AS, (UNPACK_MEMORY_BYTES, UNPACK_MEMORY_BYTES))
                resource.setrlimit(resource.RLIMIT_CPU, (UNPACK_CPU_S, UNPACK_CPU_S))
                unpack()
                failed = 0
            except UserError as refused:
                problems_file.write(json.dumps(refused.problems).encode())
                problems_file.flush()
            finally:
                os._exit(failed)
        _, failed = os.waitpid(child, 0)
        problems_file.seek(0)
        problems = json.loads(problems_file.read() or b"[]")
    if problems:
        raise UserError([Problem(*each) for each in problems], 4)
    if failed:
        limits = f"{UNPACK_CPU_S} s of processor time and {UNPACK_MEMORY_BYTES // GIB} GiB of memory"
        raise refusal(archive, f"cannot be unpacked with {limits}")


def _called(submission: Path, name: str) -> str:
    """Return the name of a submission. Raise UserError for a name that a bot cannot have."""
    try:
        return bot_name(name)
    except InvalidValue as wrong:
        hint = "--as NAME gives it another name, for example  --as Seventeen"
        raise refusal(submission, f"its name {wrong.message}", hint) from None


MAX_NAME_CHARS = 300  # of a file in an archive, for messages; a tar can name a file with 64 MiB


def refusal(path: Path | str, why: str, hint: str = ALLOWED) -> UserError:
    """Return the error for a file that is not allowed: a path of the host, or a name in an archive."""
    shown = path[:MAX_NAME_CHARS] if isinstance(path, str) else str(path)
    return UserError([Problem("B016", escape_control_chars(shown), why, hint=hint)], 4)


def archive_kind(mode: int) -> str:
    """Return the kind of a special file, for people."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


TOO_DEEP = f"is more than {MAX_FOLDER_DEPTH} folders deep"

File = tuple[str, bytes, bool]
"""The path of a file inside its submission, its content, and whether it is executable."""


def _from_folder(folder: Path) -> Iterator[File]:
    for place, folders, names, at in os.fwalk(folder, follow_symlinks=False):
        inside = Path(place).relative_to(folder)
        if len(inside.parts) > MAX_FOLDER_DEPTH:
            raise refusal(inside, TOO_DEEP)
        folders[:] = [name for name in folders if name not in IGNORED_NAMES]
        for name in sorted(folders):
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                raise refusal(inside / name, "is a link")
        for name in sorted(set(names) - IGNORED_NAMES):
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise refusal(inside / name, f"is {archive_kind(status.st_mode)}")
            if status.st_size > MAX_FILE_BYTES:
                raise refusal(inside / name, f"is larger than {MAX_FILE_BYTES // MIB} MiB")
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
            yield str(inside / name), read_bounded(descriptor), bool(status.st_mode & 0o111)


def _from_zip(path: Path) -> Iterator[File]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                mode = entry.external_attr >> 16
                if entry.is_dir() or _left_out(entry.filename):
                    continue
                if stat.S_IFMT(mode) and not stat.S_ISREG(mode):
                    raise refusal(entry.filename, f"is {archive_kind(mode)}")
                if entry.file_size > MAX_FILE_BYTES:
                    raise refusal(entry.filename, f"is larger than {MAX_FILE_BYTES // MIB} MiB")
                with archive.open(entry) as file:  # the stated size can be wrong, so limit the read
                    yield entry.filename, file.read(MAX_FILE_BYTES + 1), bool(mode & 0o111)
    except BROKEN as broken:
        raise refusal(path, f"cannot be unpacked: {escape_control_chars(str(broken))[:200]}", PACK_AGAIN) from broken


def _from_tar(path: Path, opened: Callable[[Path], Any]) -> Iterator[File]:
    try:
        with tempfile.TemporaryFile() as plain:
            _extract(path, opened, plain)
            # tarfile.data_filter is not used: it accepts links and absolute paths, which we refuse by name. Zips have no filter.
            with tarfile.open(fileobj=plain, mode="r:") as archive:
                for entry in archive:
                    if entry.isdir() or _left_out(entry.name):
                        continue
                    file = archive.extractfile(entry) if entry.isreg() else None
                    if file is None:
                        raise refusal(entry.name, "is a link or a device")
                    if entry.size > MAX_FILE_BYTES:
                        raise refusal(entry.name, f"is larger than {MAX_FILE_BYTES // MIB} MiB")
                    yield entry.name, file.read(MAX_FILE_BYTES + 1), bool(entry.mode & 0o111)
    except BROKEN as broken:
        raise refusal(path, f"cannot be unpacked: {escape_control_chars(str(broken))[:200]}", PACK_AGAIN) from broken


def _extract(path: Path, opened: Callable[[Path], Any], plain: IO[bytes]) -> None:
    """Decompress a tar up to a limit before it is read, because its headers can state any size."""
    room = MAX_FOLDER_BYTES + MAX_FILES * 4096
    with opened(path) as packed:
        while chunk := packed.read(MIB):
            room -= len(chunk)
            if room < 0:
                raise refusal(path, f"unpacks to more than {MAX_FOLDER_BYTES // MIB} MiB")
            plain.write(chunk)
    plain.seek(0)


def _left_out(name: str) -> bool:
    """Return whether a tool left this file behind. Such a file is not part of a bot."""
    return bool({*PurePosixPath(name).parts} & {*IGNORED_NAMES, "__MACOSX"})


def _write(copy: Path, files: Iterator[File]) -> None:
    """Write files into a new folder that no other process uses yet."""
    copy.mkdir()
    total = 0
    for count, (name, content, executable) in enumerate(files, 1):
        path = PurePosixPath(name.replace("\\", "/"))
        total += len(content)
        if len(path.parts) > MAX_FOLDER_DEPTH + 2:  # its own name, and a folder in which all files may be wrapped
            raise refusal(name, TOO_DEEP)
        if path.is_absolute() or ".." in path.parts:
            raise refusal(name, "leads out of its folder")
        if not name.isprintable():
            raise refusal(name, "has a character in its name that cannot be printed")
        if count > MAX_FILES or total > MAX_FOLDER_BYTES or len(content) > MAX_FILE_BYTES:
            raise refusal(name, f"makes it more than {MAX_FILES} files or {MAX_FOLDER_BYTES // MIB} MiB")
        target = copy / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as written:
                written.write(content)
            target.chmod(0o755 if executable else 0o644)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as twice:
            raise refusal(name, "is in it twice, or is a file and a folder at once") from twice
        except OSError as failed:
            raise refusal(name, f"cannot be written: {failed.strerror}") from failed


def _strip_wrapper_dir(folder: Path) -> None:
    """Remove the single folder in which an archive often wraps all its files."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        aside = folder.with_name(folder.name + ".lifted")
        inside[0].rename(aside)
        paths.remove_tree(folder)
        aside.rename(folder)
