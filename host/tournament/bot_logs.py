"""What bots and their compilers have said, for people to read: the end of it, in run/stderr/BOT.log and run/build/BOT/build.log.

Names are strangers', and so may be the folder: no name leads out of it, no link is followed, no file is longer than 64 KiB,
and nothing in it can move a terminal's cursor.
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
from host.play.records import Record
from host.submissions.bot_spec import BuiltBot
from host.submissions.build import build_log

LARGEST = 64 << 10  # bytes of one log
LONGEST = 200  # of a file's name


class Logs:
    """The logs of a run, below its folder `run`; where they cannot be written, that is said once and costs nothing."""

    def __init__(self, run: Path, say: Callable[[str], None]) -> None:
        self._run, self._say = run, say
        self._wrong = ""

    def heard(self, record: Record) -> None:
        """Add what bots have said in a fixture to their logs."""
        for bot, pieces in record.said:
            told = "".join(f"── {table}\n{_text(said)}\n" for table, said in pieces)
            self._write(("stderr", f"{file_name(bot)}.log"), told)

    def built(self, bots: Sequence[BuiltBot]) -> None:
        """Keep the logs of the builds that were made on this machine."""
        for bot in bots:
            with suppress(OSError):
                told = build_log(bot.sha256).read_text(errors="replace")
                self._write(("build", file_name(bot.name), "build.log"), told, anew=True)

    def refused(self, refused: UserError) -> UserError:
        """Return a refusal whose builds that have failed name their logs here; they are kept."""
        problems = [self._named(problem) if problem.log else problem for problem in refused.problems]
        return UserError(problems, refused.exit_code)

    def _named(self, problem: Problem) -> Problem:
        place = ("build", file_name(problem.where), "build.log")
        if not self._write(place, problem.log, anew=True):
            return problem
        return problem.with_log_path(self._run.joinpath(*place))

    def _write(self, place: Sequence[str], text: str, *, anew: bool = False) -> bool:
        """Add text to a log, or begin it anew; return whether that was possible."""
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
    """Return a bot's name as a file's: of no more than one folder's, never hidden, and different for different bots."""
    safe = quote(bot, safe=" +@,=()")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= LONGEST:
        return safe
    return f"{safe[: LONGEST - 17]}-{hashlib.sha256(bot.encode()).hexdigest()[:16]}"


def _text(said: bytes) -> str:
    return escape_control_chars(said.decode(errors="replace")).rstrip("\n")


def _end(text: bytes) -> bytes:
    """Return the end of a text that is too long, from the beginning of a line if there is any."""
    if len(text) <= LARGEST:
        return text
    end = text[-LARGEST:]
    return end.partition(b"\n")[2] or end


@contextmanager
def _folder(base: Path, names: Sequence[str]) -> Iterator[int]:
    """Open a folder below another, made if need be. Raise OSError where a link is in its place."""
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
    """Return what a log holds; nothing where there is none, or something else."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(LARGEST) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _replace(name: str, folder: int, content: bytes) -> None:
    """Write a file anew, whole or not at all; whatever was called so is replaced, and never written through."""
    making = f".{name}.making"
    with suppress(FileNotFoundError):
        os.unlink(making, dir_fd=folder)
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
