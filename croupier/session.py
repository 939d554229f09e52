"""The thread of this process in which croupier plays, and the errors that it raises."""

import asyncio
import atexit
import contextlib
import fcntl
import operator
import os
import secrets
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Future
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self, TypeVar

import trio

from host.backends.kept import KeptWorkers
from host.base.errors import Problem, UserError, cause_of, wrong_usage
from host.rules.catalogue import own_code_error
from host.tournament.progress import Progress, progress_text

SHOWN_AFTER_S = 2.0  # seconds after which the progress is printed
PRINTED_EVERY_S = 0.2
BAR_WIDTH = 30
EXIT_TIMEOUT_S = 5.0
PREFIX, LOCK = "croupier-", "lock"

Value = TypeVar("Value")


class Error(Exception):
    """Raised where the command `croupier` would print an error. `str()` returns that text, with all problems.

    The other attributes describe the first problem, as texts: `code` (of docs/errors.md), `where` (the file and line,
    or the bot), `message`, and `cure` (the suggested remedy; it may be ""). `exit_code` is the exit code of the
    command, a number.
    """

    def __init__(self, refused: UserError) -> None:
        super().__init__(str(refused))
        problem = refused.problems[0]
        self.code, self.where, self.message, self.cure = problem.code, problem.where, problem.message, problem.hint
        self.exit_code = refused.exit_code


def missing(absent: ModuleNotFoundError, extra: str) -> Error:
    """Return the Error (exit code 6) for a package that is not installed. `extra` is the extra that installs it."""
    hint = f"pip install 'croupier[{extra}]'"
    return Error(UserError([Problem("S008", "", f"the Python package {absent.name} is not installed", hint=hint)], 6))


@contextlib.contextmanager
def errors() -> Iterator[None]:
    """In this block, replace a UserError by an `Error`, and an exception group of trio by the exception inside it.

    The group is not the context of the exception either: notebooks cannot display an exception with a group in it.
    """
    try:
        yield
    except UserError as refused:
        _raise_alone(Error(refused), None)
    except BaseExceptionGroup as group:
        cause = cause_of(group)
        known = cause if isinstance(cause, UserError) else own_code_error(cause)
        if known is None:
            _raise_alone(cause, cause.__context__)
        _raise_alone(Error(known), None)


def _raise_alone(error: BaseException, context: BaseException | None) -> NoReturn:
    """Raise an exception with this context instead of the exception that is being handled."""
    try:
        raise error
    except BaseException:
        error.__context__ = context
        raise


def whole(name: str, value: Any, least: int | None = None) -> int:
    """Return the argument `name` as an int, if its value is a whole number, for example one of numpy.

    Raise TypeError if it is not, also for a bool, and ValueError if it is less than `least`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: a whole number, not {value!r}") from None
    if isinstance(value, bool):
        raise TypeError(f"{name}: a whole number, not {value!r}")
    if least is not None and number < least:
        raise ValueError(f"{name}: at least {least}")
    return number


def seed_of(seed: Any) -> str | None:
    """Return a seed as text; None stays None. Raise TypeError if it is neither a text nor a whole number nor None."""
    return seed if seed is None or isinstance(seed, str) else str(whole("seed", seed))


def limits_of(limits: str | Mapping[str, str] | None) -> str | None:
    """Return limits as the text of the option `--limits`; None stays None."""
    return limits if limits is None or isinstance(limits, str) else ",".join(map("=".join, limits.items()))


def folder_of(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder. Raise Error if it does not exist."""
    path = Path(folder)
    if not path.is_dir():
        raise Error(wrong_usage(f"{path}: no such folder"))
    return path


class Session:
    """A thread in which trio runs, the workers that it keeps, and a folder for journals, until the process ends.

    The thread is not the caller's: a notebook has an event loop there, and a sandbox ends with the thread that made it.
    """

    def __init__(self) -> None:
        _remove_left_behind()
        self.workers = KeptWorkers()
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.lock = _locked(self.folder)
        self._ready, self._ends = threading.Event(), list[trio.Event]()
        self._one_at_a_time = threading.Lock()
        self._functions: threading.Thread | None = None  # in which async functions run
        self._thread = threading.Thread(target=trio.run, args=(self._main,), name="croupier", daemon=True)
        self._thread.start()
        self._ready.wait()

    async def _main(self) -> None:
        self._token, self._end = trio.lowlevel.current_trio_token(), trio.Event()
        try:
            async with trio.open_nursery() as self._nursery:
                self._ready.set()
                await self._end.wait()
                for end in self._ends:
                    end.set()
        finally:
            with trio.CancelScope(shield=True):
                await self.workers.close()

    def new_journal(self) -> Path:
        """Return the path of a new journal in the folder. The file does not exist yet."""
        return self.folder / f"{secrets.token_hex(8)}.sqlite"

    def run(self, work: Callable[[], Awaitable[Value]]) -> Value:
        """Run an async function in the thread. Return its result, or raise the exception that it raises.

        At ^C cancel the function, wait up to EXIT_TIMEOUT_S, and raise KeyboardInterrupt. Raise RuntimeError if a
        function at a table calls this, or after `close`.
        """
        result, scope = Future[Value](), trio.CancelScope()

        async def task() -> None:
            try:
                with scope:
                    result.set_result(await work())
                if scope.cancelled_caught:
                    result.cancel()
            except BaseException as failed:  # the caller gets every exception, whoever has raised it
                result.set_exception(failed)

        if threading.current_thread() in (self._thread, self._functions):
            raise RuntimeError("a function at a table cannot call croupier itself")
        with self._one_at_a_time, errors():
            try:
                self._token.run_sync_soon(self._nursery.start_soon, task)
            except trio.RunFinishedError as ended:
                raise RuntimeError("croupier.close() has ended the bots: reset the environment") from ended
            try:
                return result.result()
            except KeyboardInterrupt:
                self._token.run_sync_soon(scope.cancel)
                with contextlib.suppress(BaseException):
                    result.result(EXIT_TIMEOUT_S)
                raise

    @cached_property
    def _event_loop(self) -> asyncio.AbstractEventLoop:
        """Return the event loop of async functions: one for all calls, because clients keep their connections in it."""
        started = Future[asyncio.AbstractEventLoop]()

        def serve() -> None:
            with asyncio.Runner() as runner:  # its end cancels the tasks that functions have left
                try:
                    started.set_result(runner.get_loop())
                except OSError as failed:  # for example too many open files
                    started.set_exception(failed)
                    return
                runner.get_loop().run_forever()

        self._functions = threading.Thread(target=serve, name="croupier functions", daemon=True)
        self._functions.start()
        return started.result()

    async def in_event_loop(self, work: Coroutine[Any, Any, Value]) -> Value:
        """Run a coroutine of asyncio in the event loop of async functions, and return its result.

        If this call is cancelled, the coroutine is cancelled, too.
        """
        done, future = trio.Event(), asyncio.run_coroutine_threadsafe(work, self._event_loop)
        future.add_done_callback(lambda _: self.soon(done.set))
        try:
            await done.wait()
        finally:
            future.cancel()
        return future.result()

    def soon(self, call: Callable[[], object]) -> None:
        """Call a function in the thread, without waiting. Do nothing if the thread has ended."""
        with contextlib.suppress(trio.RunFinishedError):
            self._token.run_sync_soon(call)

    async def start(self, task: Callable[..., Awaitable[Any]], end: trio.Event) -> Any:
        """Start a task that runs until `end` is set. Return the value that it passes to `task_status.started`.

        `close` sets `end`, too.
        """
        self._ends = [each for each in self._ends if not each.is_set()] + [end]
        return await self._nursery.start(task)

    def close(self) -> None:
        """End the workers and every bot, and delete the journals."""
        self.soon(self._end.set)
        self._thread.join(EXIT_TIMEOUT_S)
        if self._functions is not None:
            self._event_loop.call_soon_threadsafe(self._event_loop.stop)
            self._functions.join(EXIT_TIMEOUT_S)
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self.lock)


def _locked(folder: Path) -> int:
    """Create and take the lock of a session's folder, and return its file descriptor.

    The process holds the lock until it ends, however it ends.
    """
    lock = os.open(folder / f".{LOCK}", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / f".{LOCK}").rename(folder / LOCK)  # so that nobody sees it without being locked
    return lock


def _remove_left_behind() -> None:
    """Remove the folders of sessions whose process was killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}????????"):
        with contextlib.suppress(OSError):
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if folder.lstat().st_uid == os.getuid():
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


_session: Session | None = None
_lock = threading.Lock()


def session() -> Session:
    """Return the session of this process; begin one if there is none."""
    global _session
    with _lock:
        if _session is None:
            _session = Session()
        return _session


def close() -> None:
    """End all bots and workers that croupier keeps for the next call, and return None. The next call starts new ones.

    Results remain valid except for their tables: `Result.table` needs the journal, which this function deletes. The end
    of the process does the same. Nothing happens if no call has started any.
    """
    global _session
    with _lock:
        ended, _session = _session, None
    if ended is not None:
        ended.close()


def _forget() -> None:
    """Forget the session in a child process, which has none of its threads. The folder belongs to the parent."""
    global _session
    if _session is not None:
        os.close(_session.lock)
    _session = None


atexit.register(close)
os.register_at_fork(after_in_child=_forget)


class Bar:
    """Prints the progress of a long call on one line of standard error, in a terminal or in a notebook."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._next, self._width = time.monotonic() + SHOWN_AFTER_S, 0
        self._warnings: list[str] = []

    def say(self, text: str) -> None:
        """Keep a warning until the call ends. Then the caller's thread issues it with `warnings.warn`.

        Ignore a text that is not a warning.
        """
        kind, _, words = text.partition("  ")
        if kind == "WARNING":
            self._warnings.append(words)

    def progress(self, progress: Progress) -> None:
        """Print the progress of a stage, unless a line was printed in the last PRINTED_EVERY_S seconds."""
        done = int(BAR_WIDTH * progress.done / max(1, progress.known))
        self.line(f"[{'#' * done}{'.' * (BAR_WIDTH - done)}] {progress_text(progress)}")

    def line(self, text: str) -> None:
        """Print a line over the last one, unless that was printed in the last PRINTED_EVERY_S seconds."""
        if self._shown and time.monotonic() >= self._next:
            self._next = time.monotonic() + PRINTED_EVERY_S
            self._print(text)

    def _print(self, text: str) -> None:
        print(f"\r{text:<{self._width}}", end="", file=sys.stderr, flush=True)
        self._width = len(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._width:
            self._print("")
            print("\r", end="", file=sys.stderr, flush=True)
        for words in self._warnings:
            warnings.warn(words, stacklevel=3)
