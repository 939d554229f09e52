"""Taking in a stranger's submission: regular files only, no link followed, nothing outside its own folder."""

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from host.bots.build import LARGEST_FILE, LARGEST_FOLDER, MOST_FILES, bounded, harmless
from host.problems import Problem, Refused

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def unpacked(submission: Path, target: Path, name: str | None) -> Path:
    """Copy a file, a folder or an archive below `target`; return the copy. Raise Refused, naming what is not taken."""
    try:
        status = submission.lstat()
    except FileNotFoundError as missing:
        raise refusal(submission, "no such file") from missing
    if stat.S_ISLNK(status.st_mode):
        raise refusal(submission, "is a link; submissions are files, folders and archives")
    stem = submission.resolve().name
    archive = next((suffix for suffix in ARCHIVES if stem.lower().endswith(suffix)), None)
    if stat.S_ISDIR(status.st_mode):
        copy = target / (name or stem)
        _write(copy, _from_folder(submission))
    elif archive and stat.S_ISREG(status.st_mode):
        copy = target / (name or stem[: -len(archive)])
        _write(copy, _from_zip(submission) if archive == ".zip" else _from_tar(submission))
        _lift(copy)
    elif stat.S_ISREG(status.st_mode):
        copy = target / (name + submission.suffix if name else stem)
        if status.st_size > LARGEST_FILE:
            raise refusal(submission, f"is larger than {LARGEST_FILE >> 20} MiB")
        copy.write_bytes(bounded(os.open(submission, os.O_RDONLY | os.O_NOFOLLOW)))
        copy.chmod(0o755 if status.st_mode & 0o111 else 0o644)
    else:
        raise refusal(submission, f"is {kind_of(status.st_mode)}; submissions are files, folders and archives")
    return copy


def refusal(path: Path | str, why: str) -> Refused:
    """Return the refusal of one file, by name."""
    hint = "hand in regular files only: no links, no devices, no more than the limits say"
    return Refused([Problem("B016", harmless(str(path)), why, hint=hint)], 4)


def kind_of(mode: int) -> str:
    """Return what a special file is, for people."""
    kinds = {stat.S_IFLNK: "a link", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return kinds.get(stat.S_IFMT(mode), "a device")


File = tuple[str, bytes, bool]
"""A file's path inside its submission, its content, and whether it may be executed."""


def _from_folder(folder: Path) -> Iterator[File]:
    for place, folders, names, at in os.fwalk(folder, follow_symlinks=False):
        inside = Path(place).relative_to(folder)
        for name in sorted(folders):
            if stat.S_ISLNK(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                raise refusal(inside / name, "is a link")
        for name in sorted(names):
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            if not stat.S_ISREG(status.st_mode):
                raise refusal(inside / name, f"is {kind_of(status.st_mode)}")
            if status.st_size > LARGEST_FILE:
                raise refusal(inside / name, f"is larger than {LARGEST_FILE >> 20} MiB")
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
            yield str(inside / name), bounded(descriptor), bool(status.st_mode & 0o111)


def _from_zip(path: Path) -> Iterator[File]:
    try:
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                mode = entry.external_attr >> 16
                if entry.is_dir():
                    continue
                if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                    raise refusal(entry.filename, f"is {kind_of(mode)}")
                if entry.file_size > LARGEST_FILE:
                    raise refusal(entry.filename, f"is larger than {LARGEST_FILE >> 20} MiB")
                with archive.open(entry) as file:  # its size is what it claims: read no more than allowed
                    yield entry.filename, file.read(LARGEST_FILE + 1), bool(mode & 0o111)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as broken:
        raise refusal(path, f"cannot be unpacked: {broken}") from broken


def _from_tar(path: Path) -> Iterator[File]:
    try:
        with tarfile.open(path) as archive:
            for entry in archive:
                if entry.isdir():
                    continue
                file = archive.extractfile(entry) if entry.isreg() else None
                if file is None:
                    raise refusal(entry.name, "is a link or a device")
                if entry.size > LARGEST_FILE:
                    raise refusal(entry.name, f"is larger than {LARGEST_FILE >> 20} MiB")
                yield entry.name, file.read(LARGEST_FILE + 1), bool(entry.mode & 0o111)
    except (tarfile.TarError, EOFError, OSError) as broken:
        raise refusal(path, f"cannot be unpacked: {broken}") from broken


def _write(copy: Path, files: Iterator[File]) -> None:
    """Write files below a folder that nobody else can reach yet."""
    copy.mkdir()
    total = 0
    for count, (name, content, executable) in enumerate(files, 1):
        path = PurePosixPath(name.replace("\\", "/"))
        total += len(content)
        if path.is_absolute() or ".." in path.parts or not name.isprintable():
            raise refusal(name, "leads out of its folder, or has control characters in its name")
        if count > MOST_FILES or total > LARGEST_FOLDER or len(content) > LARGEST_FILE:
            raise refusal(name, f"makes it more than {MOST_FILES} files or {LARGEST_FOLDER >> 20} MiB")
        target = copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as written:
            written.write(content)
        target.chmod(0o755 if executable else 0o644)


def _lift(folder: Path) -> None:
    """Take the one folder that an archive often wraps everything in out of the way."""
    inside = list(folder.iterdir())
    if len(inside) == 1 and inside[0].is_dir():
        aside = folder.with_name(folder.name + ".lifted")
        inside[0].rename(aside)
        shutil.rmtree(folder)
        aside.rename(folder)
