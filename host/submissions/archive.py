"""Imports untrusted submissions: copies regular files only, follows no links, and writes nothing outside the target."""

import bz2
import gzip
import json
import lzma
import os
import re
import resource
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import IO, Any

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.base.value_types import InvalidValue
from host.bots.bot_spec import MANIFEST, MAX_BOT_NAME_CHARS, QUOTES, bot_name, format_limit
from host.sandbox.limits import GIB, MIB
from host.submissions.file_tree import (
    IGNORED_NAMES,
    LARGER_HINT,
    SUBMITTED,
    Budget,
    File,
    FileTree,
    LimitExceeded,
    TreeLimits,
    read_files,
    special,
    write_file,
)

UNPACKERS: Mapping[str, Callable[[Path], Any] | None] = {
    ".zip": None,
    ".tar": lambda path: path.open("rb"),
    ".tar.gz": gzip.open,
    ".tgz": gzip.open,
    ".tar.bz2": bz2.open,
    ".tar.xz": lzma.open,
}
"""The suffixes of the supported archives, each with the function that opens the tar inside; None for a zip."""

OTHER_ARCHIVES = (".rar", ".7z", ".tar.zst", ".gz", ".bz2", ".xz", ".zst")
"""Suffixes of archives that authors hand in, and that croupier cannot unpack."""

ALLOWED = "submit regular files only: no links, no devices, and within the limits"
PACK_AGAIN = "pack it again, without a password, or hand in the folder"
UNPACK_CPU_S = 20
UNPACK_MEMORY_BYTES = 2 * GIB

BROKEN = (zipfile.BadZipFile, tarfile.TarError, RuntimeError, EOFError, OSError, ValueError, zlib.error, lzma.LZMAError)
"""The exceptions of the libraries for an archive that is damaged, encrypted or packed by an unknown method."""


def import_submission(submission: Path, target: Path, name: str | None, limits: TreeLimits = SUBMITTED) -> Path:
    """Copy a file or a folder into `target`, or unpack an archive there. Return the path of the copy.

    `name` is the name of the copy. If it is None, make the name from the name of the submission. Also unpack an archive
    that is the only file of a folder or of an archive. Raise UserError (exit code 4) for a file that is not allowed.
    """
    copy = _imported(submission, target, name, limits)
    files = [path for path in copy.rglob("*") if path.is_file()] if copy.is_dir() else []
    if not files or not all(path.name.lower().endswith(tuple(UNPACKERS)) for path in files):
        return copy
    if len(files) > 1:
        hint = "unpack it, and hand in each of them: croupier add FOLDER/*"
        raise refusal(submission, f"has {len(files)} archives and nothing else", hint)
    inner = files[0].rename(target / f".{files[0].name[-MAX_BOT_NAME_CHARS:]}")
    paths.remove_tree(copy)
    try:
        return _imported(inner, target, copy.name, limits)
    except UserError as refused:
        problems = [Problem(*(part.replace(str(inner), str(submission)) for part in each)) for each in refused.problems]
        raise UserError(problems, refused.exit_code) from refused
    finally:
        inner.unlink()


def _imported(submission: Path, target: Path, name: str | None, limits: TreeLimits) -> Path:
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
        copy = target / _called(submission, own_name(full) if name is None else name)
        tree = FileTree(submission, limits)
        if tree.problems:
            raise UserError(tree.problems, 4)
        copy.mkdir()
        if (submission / MANIFEST).is_dir():  # even if it is empty, the copy is refused as the original would be
            (copy / MANIFEST).mkdir()
        for file in read_files(submission, tree.names, limits.file_bytes):
            write_file(copy, file)
    elif why := special(status.st_mode):
        raise refusal(submission, f"{why}; submissions are files, folders and archives")
    elif status.st_size > (most := limits.total_bytes if archive else limits.file_bytes):
        raise refusal(submission, f"is larger than {format_limit(most)}", LARGER_HINT)
    elif archive:
        copy = target / _called(submission, own_name(full[: -len(archive)]) if name is None else name)
        files = _files_in(submission, UNPACKERS[archive], limits)
        _in_child_process(submission, lambda: _write(submission, copy, files, limits))
        _strip_wrapper_dir(copy)
    elif full.lower().endswith(OTHER_ARCHIVES):
        hint = f"pack it as one of {', '.join(UNPACKERS)}, or hand in the folder"
        raise refusal(submission, "is an archive that croupier cannot unpack", hint)
    else:
        copied = f"{_called(submission, own_name(submission.stem) if name is None else name)}{submission.suffix}"
        (file,) = read_files(submission.parent, [submission.name], limits.file_bytes)
        copy = write_file(target, file._replace(name=copied))
    return copy


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


def own_name(name: str) -> str:
    """Return the name of a bot, made from the name of a file or a folder.

    The name of the bot has no quotes, no ending that Moodle adds, and at most MAX_BOT_NAME_CHARS characters.
    """
    name = re.sub("_assignsubmission_.*", "", "".join(letter for letter in name if letter not in QUOTES))
    if len(name) > MAX_BOT_NAME_CHARS:
        name = (
            f"{name[:25].rstrip()}_{name[-14:].lstrip()}"  # the end of a name often has a number that makes it unique
        )
    return name


def _called(submission: Path, name: str) -> str:
    """Return `name`. Raise UserError, which names the submission, if a bot cannot have this name."""
    try:
        return bot_name(name)
    except InvalidValue as wrong:
        hint = "--as NAME gives it another name, for example  --as Seventeen"
        raise refusal(submission, f"its name {wrong.message}", hint) from None


MAX_ENTRY_NAME_CHARS = 300  # of a file in an archive, for messages; a tar can name a file with 64 MiB


def refusal(submission: Path, why: str, hint: str = ALLOWED, member: str = "") -> UserError:
    """Return the error for a submission, or for a member of an archive, that is not allowed."""
    where = f"{submission}: {member[:MAX_ENTRY_NAME_CHARS]}" if member else str(submission)
    return UserError([Problem("B016", escape_control_chars(where), why, hint=hint)], 4)


def _files_in(path: Path, opened: Callable[[Path], Any] | None, limits: TreeLimits) -> Iterator[File]:
    """Yield the files of an archive. `opened` opens the tar inside; None means that the archive is a zip."""
    try:
        yield from _from_tar(path, opened, limits) if opened else _from_zip(path, limits.file_bytes)
    except BROKEN as broken:
        raise refusal(path, f"cannot be unpacked: {escape_control_chars(str(broken))[:200]}", PACK_AGAIN) from broken


def _from_zip(path: Path, most: int) -> Iterator[File]:
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            mode = entry.external_attr >> 16
            if entry.is_dir() or _left_out(entry.filename):
                continue
            if why := stat.S_IFMT(mode) and special(mode):
                raise refusal(path, why, member=entry.filename)
            with archive.open(entry) as file:  # the stated size can be wrong, so limit the read
                yield File(entry.filename, bool(mode & 0o111), file.read(most + 1))


def _from_tar(path: Path, opened: Callable[[Path], Any], limits: TreeLimits) -> Iterator[File]:
    with tempfile.TemporaryFile() as plain:
        _extract(path, opened, plain, limits)
        # tarfile.data_filter is not used: it accepts links and absolute paths, which we refuse by name. Zips have no filter.
        with tarfile.open(fileobj=plain, mode="r:") as archive:
            for entry in archive:
                if entry.isdir() or _left_out(entry.name):
                    continue
                file = archive.extractfile(entry) if entry.isreg() else None
                if file is None:
                    raise refusal(path, "is a link or a device", member=entry.name)
                yield File(entry.name, bool(entry.mode & 0o111), file.read(limits.file_bytes + 1))


def _extract(path: Path, opened: Callable[[Path], Any], plain: IO[bytes], limits: TreeLimits) -> None:
    """Decompress a tar into `plain`. Raise UserError if it becomes too large: its headers can state any size."""
    room = limits.total_bytes + limits.entries * 4096
    with opened(path) as packed:
        while chunk := packed.read(MIB):
            room -= len(chunk)
            if room < 0:
                raise refusal(path, f"unpacks to more than {format_limit(limits.total_bytes)}", LARGER_HINT)
            plain.write(chunk)
    plain.seek(0)


def _left_out(name: str) -> bool:
    """Return whether a tool left this file behind. Such a file is not part of a bot."""
    return bool({*PurePosixPath(name).parts} & {*IGNORED_NAMES, "__MACOSX"})


def _write(archive: Path, copy: Path, files: Iterator[File], limits: TreeLimits) -> None:
    """Write the files of an archive into a new folder that no other process uses yet.

    Raise UserError (exit code 4) for a file that is not allowed.
    """
    copy.mkdir()
    budget = Budget(limits)
    for file in files:
        path = PurePosixPath(file.name.replace("\\", "/"))
        try:
            if path.is_absolute() or ".." in path.parts:
                raise refusal(archive, "points outside its folder", member=file.name)
            if not file.name.isprintable():
                raise refusal(archive, "has a character in its name that cannot be printed", member=file.name)
            # Its own name does not count as a folder, nor does a folder in which all files are wrapped.
            budget.take(file.name, len(path.parts) - 2, len(file.content))
            write_file(copy, file._replace(name=str(path)))
        except LimitExceeded as exceeded:
            raise refusal(archive, exceeded.why, exceeded.hint, exceeded.path) from exceeded
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as twice:
            why = "is in it twice, or is a file and a folder at once"
            raise refusal(archive, why, member=file.name) from twice
        except OSError as failed:
            raise refusal(archive, f"cannot be written: {failed.strerror}", member=file.name) from failed


def _strip_wrapper_dir(folder: Path) -> None:
    """Move all files one level up if the only entry of a folder is another folder, as in many archives."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        aside = folder.with_name(folder.name + ".lifted")
        inside[0].rename(aside)
        paths.remove_tree(folder)
        aside.rename(folder)
