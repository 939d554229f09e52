"""Writes the end of what bots and compilers print to run/stderr/BOT.log and run/build/BOT/build.log.

Bot names are not trusted, and neither is the folder. No name leads out of the folder, no link is followed, no file is
longer than 64 KiB, and no content can move the cursor of a terminal.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot
from host.play.records import Record
from host.submissions.build import build_log

MAX_LOG_BYTES = 64 << 10  # bytes in one log
MAX_FILE_NAME_CHARS = 200  # characters in a file name


class Logs:
    """The logs of a run, below its folder `run`. If they cannot be written, a warning is printed once; the run goes on."""

    def __init__(self, run: Path, say: Callable[[str], None]) -> None:
        self._run, self._say = run, say
        self._wrong = ""

    def heard(self, record: Record) -> None:
        """Append the stderr output of the bots in a fixture to their logs."""
        for bot, pieces in record.said:
            text = "".join(f"── {table}\n{_text(said)}\n" for table, said in pieces)
            self._write(("stderr", f"{file_name(bot)}.log"), text)

    def built(self, bots: Sequence[BuiltBot]) -> None:
        """Copy the logs of the builds that were made on this machine."""
        for bot in bots:
            with suppress(OSError):
                text = build_log(bot.sha256).read_text(errors="replace")
                self._write(("build", file_name(bot.name), "build.log"), text, anew=True)

    def refused(self, refused: UserError) -> UserError:
        """Write the logs of failed builds; return the error with the paths of these logs."""
        problems = [self._named(problem) if problem.log else problem for problem in refused.problems]
        return UserError(problems, refused.exit_code)

    def _named(self, problem: Problem) -> Problem:
        place = ("build", file_name(problem.where), "build.log")
        if not self._write(place, problem.log, anew=True):
            return problem
        return problem.with_log_path(self._run.joinpath(*place))

    def _write(self, place: Sequence[str], text: str, *, anew: bool = False) -> bool:
        """Append text to a log, or replace its content if `anew`; return whether it was written."""
        try:
            with _folder(self._run, place[:-1]) as folder:
                before = b"" if anew else _read(place[-1], folder)
                _replace(place[-1], folder, _end(before + text.encode()))
        except OSError as failed:
            wrong = f"WARNING  {self._run.joinpath(*place)} cannot be written: {failed.strerror}"
            if not self._wrong:
                self._say(wrong)
            self._wrong = wrong
            return False
        return True


def file_name(bot: str) -> str:
    """Return a file name for a bot: without a slash, never hidden, and different for different bots."""
    safe = quote(bot, safe=" +@,=()")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= MAX_FILE_NAME_CHARS:
        return safe
    return f"{safe[: MAX_FILE_NAME_CHARS - 17]}-{hashlib.sha256(bot.encode()).hexdigest()[:16]}"


def _text(said: bytes) -> str:
    return escape_control_chars(said.decode(errors="replace")).rstrip("\n")


def _end(text: bytes) -> bytes:
    """Return the last MAX_LOG_BYTES bytes of a text, if possible from the start of a line."""
    if len(text) <= MAX_LOG_BYTES:
        return text
    end = text[-MAX_LOG_BYTES:]
    return end.partition(b"\n")[2] or end


@contextmanager
def _folder(base: Path, names: Sequence[str]) -> Iterator[int]:
    """Open a folder below another; create it if it is missing. Raise OSError if a link is in its place."""
    base.mkdir(parents=True, exist_ok=True)
    at = os.open(base, os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=at)
            below = os.open(name, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def _read(name: str, folder: int) -> bytes:
    """Return the content of a log; empty if it does not exist or is not a regular file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_LOG_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _replace(name: str, folder: int, content: bytes) -> None:
    """Write a file completely or not at all. An existing file or link of this name is replaced, never written through."""
    making = f".{name}.making"
    with suppress(FileNotFoundError):
        os.unlink(making, dir_fd=folder)
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
