"""Unpacks one upload into a folder, in a separate process: python -m host.season.intake.unpack.

The process reads a request from its standard input. The season process goes on meanwhile, and can end this process,
whatever the archive does to it. If the kernel has Landlock, this process can open only its own folder in the season: no
store, seed or journal, and no other upload.
"""

import os
import sys
import tempfile
from pathlib import Path

import msgspec

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.value_types import InvalidValue
from host.bots.bot_spec import bot_name
from host.sandbox.landlock import confine
from host.submissions.archive import import_submission
from host.submissions.build import fingerprint, hash_of
from host.submissions.executable_checks import runnable
from host.submissions.file_tree import submitted

ARCHIVES = {b"\x1f\x8b": ".tar.gz", b"BZh": ".tar.bz2", b"\xfd7zXZ\0": ".tar.xz", b"PK\x03\x04": ".zip"}
"""The suffixes of archives, by the bytes with which an archive begins."""

TAR_MAGIC, TAR_MAGIC_OFFSET = b"ustar", 257


class UnpackRequest(msgspec.Struct, frozen=True):
    """A request to unpack an upload."""

    upload: str  # the path of the upload
    file_name: str  # the name of the file, as its author called it
    target: str  # the folder in which the bot's folder is created
    bot: str  # the name of the bot and of its folder
    file_bytes: int  # the largest file of a submission


class Unpacked(msgspec.Struct, frozen=True):
    """The result of unpacking an upload.

    It is the SHA-256 of the bot's files, which are in the folder TARGET/BOT, or the problems of an upload that is refused.
    """

    content: str = ""
    problems: tuple[Problem, ...] = ()


def taken(request: UnpackRequest) -> Path:
    """Link an upload into the folder `given` of the target, under a name with a suffix. Return the path of the link."""
    given = Path(request.target) / "given"
    given.mkdir()
    named = given / _with_suffix(request)
    os.link(request.upload, named)
    return named


def unpack(request: UnpackRequest, named: Path) -> Unpacked:
    """Copy the file `named`, or unpack it if it is an archive, into the folder TARGET/BOT.

    Return the hash of the bot's files, and remove the folder of `named`. If the files are refused, return the problems.
    """
    target = Path(request.target)
    copied = target / "copied"
    copied.mkdir()
    limits = submitted(request.file_bytes)
    try:
        copy = import_submission(named, copied, _other_name(named, request.bot), limits)
    except UserError as refused:
        return Unpacked(problems=tuple(_named(problem, named) for problem in refused.problems))
    folder = target / request.bot
    if copy.is_dir():
        copy.rename(folder)
    else:
        with copy.open("rb") as file:
            if runnable(file.read(4)):  # the upload of a single file has no mode
                copy.chmod(0o755)
        folder.mkdir()
        copy.rename(folder / copy.name)
    sha256 = hash_of(fingerprint(folder))
    paths.remove_tree(named.parent)
    return Unpacked(sha256)


def _with_suffix(request: UnpackRequest) -> str:
    """Return the name of the file. If it has no suffix, as in PUT /api/bots/mine, add that of its kind of archive."""
    if "." in request.file_name:
        return request.file_name
    with Path(request.upload).open("rb") as file:
        head = file.read(TAR_MAGIC_OFFSET + len(TAR_MAGIC))
    found = next((suffix for magic, suffix in ARCHIVES.items() if head.startswith(magic)), "")
    return request.file_name + (found or (".tar" if head[TAR_MAGIC_OFFSET:] == TAR_MAGIC else ""))


def _other_name(named: Path, bot: str) -> str | None:
    """Return the bot's name as the name of the copied file, if a bot cannot have the name of the file; otherwise None.

    With None the copy keeps the name of the file, because in some languages a source file must have the name of its
    class.
    """
    try:
        bot_name(named.stem)
    except InvalidValue:
        return bot
    return None


def _named(problem: Problem, named: Path) -> Problem:
    """Return a problem in which the file has the name that its author gave it."""
    hint = "give the file another name" if problem.hint.startswith("--as ") else problem.hint
    return problem._replace(where=problem.where.replace(str(named), named.name), hint=hint)


def main() -> None:
    """Unpack the upload of the request on standard input, and write the result to standard output."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=UnpackRequest)
    named = taken(request)
    tempfile.tempdir = request.target
    confine(Path(request.target))
    sys.stdout.buffer.write(msgspec.json.encode(unpack(request, named)))


if __name__ == "__main__":
    main()
