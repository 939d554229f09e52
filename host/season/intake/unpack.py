"""Unpacks one upload into a folder, in a process of its own: python -m host.season.intake.unpack, a request on its input.

The season process goes on meanwhile, and can end this process, whatever the archive does to it. Where the kernel has
Landlock, this process can open nothing of the season but its own folder: no store, seed or journal, and no other upload.
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
"""How archives begin, with the suffixes that they have."""

TAR_MAGIC, TAR_MAGIC_OFFSET = b"ustar", 257


class UnpackRequest(msgspec.Struct, frozen=True):
    """An upload, the name of the file as its author called it, and the folder in which the bot's folder is created."""

    upload: str
    file_name: str
    target: str
    bot: str
    file_bytes: int  # the largest file of a submission


class Unpacked(msgspec.Struct, frozen=True):
    """The SHA-256 of the files of the bot, which are in the folder TARGET/BOT; or the problems for which it is refused."""

    content: str = ""
    problems: tuple[Problem, ...] = ()


def taken(request: UnpackRequest) -> Path:
    """Link an upload into its folder, under a name with a suffix. Return the link."""
    given = Path(request.target) / "given"
    given.mkdir()
    named = given / _with_suffix(request)
    os.link(request.upload, named)
    return named


def unpack(request: UnpackRequest, named: Path) -> Unpacked:
    """Copy a file or an archive into the folder TARGET/BOT. Return the problems if it is not accepted."""
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
            if runnable(file.read(4)):  # a file that is handed in alone has no mode
                copy.chmod(0o755)
        folder.mkdir()
        copy.rename(folder / copy.name)
    sha256 = hash_of(fingerprint(folder))
    paths.remove_tree(named.parent)
    return Unpacked(sha256)


def _with_suffix(request: UnpackRequest) -> str:
    """Return the name of the file, with the suffix of an archive if it has none, as in PUT /api/bots/mine."""
    if "." in request.file_name:
        return request.file_name
    with Path(request.upload).open("rb") as file:
        head = file.read(TAR_MAGIC_OFFSET + len(TAR_MAGIC))
    found = next((suffix for magic, suffix in ARCHIVES.items() if head.startswith(magic)), "")
    return request.file_name + (found or (".tar" if head[TAR_MAGIC_OFFSET:] == TAR_MAGIC else ""))


def _other_name(named: Path, bot: str) -> str | None:
    """Return the bot's name as the name for the copy of a file, if no bot can be called as the file is; otherwise None.

    With None the copy keeps the name of the file, because in some languages a source file must have that of its class.
    """
    try:
        bot_name(named.stem)
    except InvalidValue:
        return bot
    return None


def _named(problem: Problem, named: Path) -> Problem:
    """Return a problem that names the file as its author called it."""
    hint = "give the file another name" if problem.hint.startswith("--as ") else problem.hint
    return problem._replace(where=problem.where.replace(str(named), named.name), hint=hint)


def main() -> None:
    """Answer the request on standard input."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=UnpackRequest)
    named = taken(request)
    tempfile.tempdir = request.target
    confine(Path(request.target))
    sys.stdout.buffer.write(msgspec.json.encode(unpack(request, named)))


if __name__ == "__main__":
    main()
