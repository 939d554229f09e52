"""Writes the output of bots and compilers to log files.

The end of the output goes to run/stderr/BOT.log and run/build/BOT/build.log. With `--logs DIR`, all output of the bots
goes to one file per table.

Bot names are not trusted, and neither is the folder. No name leads out of the folder, no link is followed, the size of
each log is limited, and no content can move the cursor of a terminal.
"""

import os
import re
import stat
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from host.base.errors import Problem, UserError
from host.base.paths import file_name
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot
from host.play.records import Record
from host.submissions.build import build_log

MAX_LOG_BYTES = 64 << 10  # bytes in one log
MAX_ALL_LOGS_BYTES = 256 << 20  # most bytes that one command writes to the logs by table


class Logs:
    """Logs of a run, below its folder `run`. If a log cannot be written, `say` prints one warning; the run goes on."""

    def __init__(self, run: Path, say: Callable[[str], None]) -> None:
        self._run, self._say = run, say
        self._wrong = ""

    def heard(self, record: Record) -> None:
        """Append the stderr output of the bots in a fixture to run/stderr/BOT.log."""
        for bot, pieces in record.said:
            text = "".join(f"── {table}\n{_text(output)}\n" for table, output in pieces)
            self._write(("stderr", f"{file_name(bot)}.log"), text)

    def built(self, bots: Sequence[BuiltBot]) -> None:
        """Copy the build logs of some bots to run/build/BOT/build.log. Leave out bots built on another machine."""
        for bot in bots:
            with suppress(OSError):
                text = build_log(bot.sha256).read_text(errors="replace")
                self._write(("build", file_name(bot.name), "build.log"), text, replace=True)

    def refused(self, refused: UserError) -> UserError:
        """Write the logs of failed builds, and return the error with the paths of these logs."""
        problems = [self._named(problem) if problem.log else problem for problem in refused.problems]
        return UserError(problems, refused.exit_code)

    def _named(self, problem: Problem) -> Problem:
        place = ("build", file_name(problem.where), "build.log")
        if not self._write(place, problem.log, replace=True):
            return problem
        return problem.with_log_path(self._run.joinpath(*place))

    def _write(self, place: Sequence[str], text: str, *, replace: bool = False) -> bool:
        """Append text to a log, or replace its content if `replace`. Return whether the log was written.

        `place` is the path of the log below the folder `run`, name by name.
        """
        try:
            with _folder(self._run, place[:-1]) as folder:
                before = b"" if replace else _read(place[-1], folder)
                _replace(place[-1], folder, _end(before + text.encode()))
        except OSError as failed:
            wrong = f"WARNING  {self._run.joinpath(*place)} cannot be written: {failed.strerror}"
            if not self._wrong:
                self._say(wrong)
            self._wrong = wrong
            return False
        return True


class TableLogs:
    """Logs of `--logs DIR`: all stderr output of each bot, question by question, in DIR/BOT/TABLE.log.

    They have at most MAX_ALL_LOGS_BYTES in total. If they would have more, or if a log cannot be written, `say` prints
    one warning, and no more logs are written.
    """

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        self._folder, self._say, self._left = folder, say, MAX_ALL_LOGS_BYTES

    def heard(self, bot: str, pieces: Iterable[tuple[str, bytes]]) -> None:
        """Write the logs of a bot in a fixture. `pieces` are its questions (`play/A+B/17:3`), each with its output."""
        tables: dict[str, list[str]] = {}
        for question, output in pieces:
            table, _, number = question.rpartition(":")
            # Indent the text, so that a line of a bot cannot look like a heading.
            tables.setdefault(table, []).append(f"question {number}\n{textwrap.indent(_text(output), '  ')}\n")
        for table, texts in tables.items():
            content = "".join(texts).encode()
            if self._left and len(content) > self._left:
                self._give_up(f"{self._folder} has {MAX_ALL_LOGS_BYTES >> 20} MiB of logs; no more are written")
            elif self._left:
                self._left -= len(content)
                self._write(log_place(bot, table), content)

    def _write(self, place: Sequence[str], content: bytes) -> None:
        try:
            with _folder(self._folder, place[:-1]) as folder:
                _replace(place[-1], folder, content)
        except OSError as failed:
            self._give_up(f"{self._folder.joinpath(*place)} cannot be written: {failed.strerror}")

    def _give_up(self, why: str) -> None:
        self._left = 0
        self._say(f"WARNING  {why}")


def log_place(bot: str, table: str) -> tuple[str, ...]:
    """Return the path of a bot's log of one table, below the folder of `--logs`: `("A", "play", "A+B", "17.log")`."""
    *folders, name = map(file_name, PurePosixPath(table).parts)
    return (file_name(bot), *folders, f"{name}.log")


def logged(folder: Path, bot: str, table: str) -> dict[int, str]:
    """Return the stderr output of a bot at a table, by number of the question. Empty if the folder has no such log."""
    try:
        text = folder.joinpath(*log_place(bot, table)).read_text(errors="replace")
    except OSError:
        return {}
    questions = re.split(r"^question ([0-9]{1,9})\n", text, flags=re.MULTILINE)[1:]
    return {int(number): textwrap.dedent(lines) for number, lines in zip(questions[::2], questions[1::2], strict=True)}


def _text(output: bytes) -> str:
    return escape_control_chars(output.decode(errors="replace")).rstrip("\n")


def _end(text: bytes) -> bytes:
    """Return the last MAX_LOG_BYTES bytes of a text, if possible from the start of a line."""
    if len(text) <= MAX_LOG_BYTES:
        return text
    end = text[-MAX_LOG_BYTES:]
    return end.partition(b"\n")[2] or end


@contextmanager
def _folder(base: Path, names: Sequence[str]) -> Iterator[int]:
    """Open the folder at the path `names` below `base`, and yield its descriptor. Create missing folders.

    Raise OSError if one of `names` is a link.
    """
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
    """Return the first MAX_LOG_BYTES of a log; empty if it does not exist or is not a regular file."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_LOG_BYTES) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""


def _replace(name: str, folder: int, content: bytes) -> None:
    """Write a file completely or not at all. Replace an existing file or link of this name; do not follow the link."""
    making = f".{name}.making"
    with suppress(FileNotFoundError):
        os.unlink(making, dir_fd=folder)
    descriptor = os.open(making, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    os.rename(making, name, src_dir_fd=folder, dst_dir_fd=folder)
