"""Helpers for tests: build real bots, play them in this process, and check what they leave behind."""

import atexit
import gc
import os
import shutil
import socket
import stat
import tempfile
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil
import pytest
import trio

from host.base import paths
from host.bots.bot_spec import BuiltBot, Submission
from host.bots.monitor import running_monitor
from host.bots.seat import Seat, open_seat
from host.games.engine import Game
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture, Record, unpack
from host.sandbox import cgroup, landlock, users
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import detect
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.sandbox.process_tree import descendants
from host.stages import CROUPIERS
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.languages import LANGUAGES
from protocols.wire import Answer

SAMPLES = Path(__file__).parents[1] / "sample_bots"
ROGUES = SAMPLES / "rogues"
SEED = b"a seed for tests"
AMPLE = Limits(move=10, startup=10, cpu=10)
"""Limits that no test is meant to reach, even on a busy machine."""

T = TypeVar("T")


def _own_cache() -> Path:
    """Create a cache for this test process; all of a run share their built bots.

    The user of the sandboxes can enter it, but not write to it.
    """
    folder = Path(tempfile.mkdtemp(prefix="croupier-tests-"))
    folder.chmod(0o755)
    if shared := os.environ.get("CROUPIER_TEST_BUILDS"):
        (folder / "bots").symlink_to(shared)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["CROUPIER_CACHE"] = str(folder)
    return folder


CACHE = _own_cache()

# Tests start hundreds of croupier processes, so bytecode is stored even if it may not be written next to the sources.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(CACHE / "bytecode")


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Run asynchronous work to its end."""
    return trio.run(work)


def level() -> Level:
    """Return the level for all tests: CROUPIER_TEST_LEVEL, or else the strongest of this machine."""
    return Level(os.environ.get("CROUPIER_TEST_LEVEL") or detect().level)


def levels() -> list[Level]:
    """Return the levels with isolation that this machine provides."""
    works = {mechanism.name for mechanism in detect().mechanisms if mechanism.works}
    needs = {
        Level.L2: landlock.version() >= landlock.WANTED,
        Level.L3: "user namespace" in works,
        Level.L4: "cgroup" in works,
    }
    return [level for level, works_here in needs.items() if works_here]


# Bots.


def game_called(game: str | Game) -> Game:
    """Return a game that may be given by its name."""
    return CROUPIERS.game(game) if isinstance(game, str) else game


def spec_of(source: Path, game: str | Game = "cardshark", **changes: Any) -> Submission:
    """Return the submission of a single file, or of a folder with a bot.toml, with some keys changed."""
    return load_submission(source).for_game(game_called(game)).with_keys(**changes)


def written(text: str, suffix: str, folder: Path, name: str = "bot") -> Path:
    """Write a bot's source into a folder; return its path. A file without a suffix of a language is a program."""
    path = folder / f"{name}{suffix}"
    path.write_text(textwrap.dedent(text).lstrip("\n"))
    if not any(suffix in row.suffixes for row in LANGUAGES.values()):
        path.chmod(0o755)
    return path


def built(source: Path, game: str | Game = "cardshark", limits: Limits = AMPLE, **changes: Any) -> BuiltBot:
    """Build a bot from a single file or a folder. Raise UserError if it does not build."""
    submission = spec_of(source, game, **changes)
    return trio.run(build, submission, level())._replace(limits=limits)


def built_all(submissions: Sequence[Submission]) -> dict[str, BuiltBot]:
    """Build many bots, two at a time."""
    bots: dict[str, BuiltBot] = {}
    two = trio.CapacityLimiter(2)

    async def one(submission: Submission) -> None:
        async with two:
            bots[submission.name] = await build(submission, level())

    async def all_of_them() -> None:
        async with trio.open_nursery() as nursery:
            for submission in submissions:
                nursery.start_soon(one, submission)

    trio.run(all_of_them)
    return bots


# Play.


def fixture_of(game: str | Game, bots: Iterable[BuiltBot], tables: int, path: str = "test/1", **rules: Any) -> Fixture:
    """Return a fixture of independent tables with a game's first preset, with some rules changed."""
    game = game_called(game)
    preset = game.default_rules._replace(**rules)
    return Fixture(game.name, preset, "independent", path, tuple(bot.name for bot in bots), tables)


@asynccontextmanager
async def opened(game: str | Game, bots: Sequence[BuiltBot], parallel_tables: int = 0) -> AsyncIterator[BotPool]:
    """Open a bot pool in this process, with a running monitor."""
    game = game_called(game)
    preset = game.default_rules
    setup = WorkerSetup(game, preset, tuple(bots), SEED, level(), parallel_tables)
    async with running_monitor() as watcher, AsyncExitStack() as stack:
        yield BotPool(setup, stack, watcher)


def played(
    game: str | Game,
    bots: Sequence[BuiltBot],
    tables: int,
    parallel_tables: int = 0,
    path: str = "test/1",
    **rules: Any,
) -> Record:
    """Play one fixture in a new bot pool; return its record."""

    async def work() -> Record:
        async with opened(game, bots, parallel_tables) as pool:
            return await pool.play(Job(fixture_of(game, bots, tables, path, **rules)))

    return trio.run(work)


@asynccontextmanager
async def seat_of(bot: BuiltBot, game: str | Game = "cardshark", seed: int = 1) -> AsyncIterator[Seat]:
    """Open a seat for one bot, in its own sandbox and without a state file."""
    async with seated_in(bot, game, seed) as (seat, _):
        yield seat


@asynccontextmanager
async def seated_in(
    bot: BuiltBot, game: str | Game = "cardshark", seed: int = 1
) -> AsyncIterator[tuple[Seat, Sandbox]]:
    """Open a seat for one bot; yield its sandbox as well."""
    async with (
        running_monitor() as watcher,
        sandboxed(level(), Home(Path(bot.folder), warm=bool(bot.warm)), bot.limits) as sandbox,
        open_seat(bot, game_called(game), sandbox, seed, watcher) as seat,
    ):
        yield seat, sandbox


def breadth(cases: Iterable[Any], every: int) -> list[Any]:
    """Return cases as parameters: the first of each so many cases is in the default suite, the others are long."""
    return [case if nth % every == 0 else long(case) for nth, case in enumerate(cases)]


def strongest(found: Sequence[Level]) -> list[Any]:
    """Return levels, weakest first, as parameters: the strongest is in the default suite, the others are long."""
    return [*map(long, found[:-1]), *found[-1:]]


def long(case: Any) -> Any:
    """Return a case as a long parameter. A tuple has a value for each name."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.long)


def some_of_all(rows: Iterable[Any], columns: Iterable[Any]) -> list[Any]:
    """Return all pairs as parameters. Each row and each column is in the default suite once or more; other pairs are long."""
    rows, columns = list(rows), list(columns)
    most = max(len(rows), len(columns))
    default = {(nth % len(rows), nth % len(columns)) for nth in range(most)}
    return [
        pytest.param(row, column, id=f"{row.name}-{column.name}", marks=[] if (x, y) in default else pytest.mark.long)
        for x, row in enumerate(rows)
        for y, column in enumerate(columns)
    ]


def offenders(check: Callable[..., object], cases: Iterable[Sequence[Any]]) -> list[str]:
    """Call a check with the values of each case; return the cases in which an assertion failed, with the assertion."""
    found = []
    for case in cases:
        try:
            check(*case)
        except AssertionError as error:
            found.append(f"{check.__name__}{tuple(case)}: {error}")
    return found


def answers_of(record: Record) -> list[list[Answer]]:
    """Return each table's answers."""
    return unpack(record.answers)


def faults_of(record: Record, bot: str) -> dict[str, int]:
    """Return a bot's faults by kind."""
    return record.faults.get(bot, {})


# Traces that bots may leave.


class Traces(NamedTuple):
    """Everything visible on this machine in which a bot might leave something."""

    processes: frozenset[int]
    descriptors: int
    states: frozenset[str]
    rooms: frozenset[str]
    groups: frozenset[str]
    shared_memory: frozenset[str]
    mounts: str
    queues: str

    @classmethod
    def now(cls) -> "Traces":
        """Return the current traces. What earlier tests have left to the garbage collector is closed first.

        What is not garbage is not searched again: after some thousand tests, each search takes a second.
        """
        gc.collect()
        gc.freeze()
        ipc = [Path("/proc/sysvipc") / name for name in ("shm", "msg", "sem")]
        return cls(
            frozenset(process.pid for process in descendants(os.getpid())),
            sum(1 for _ in Path("/proc/self/fd").iterdir()),
            names_in(paths.cache_dir() / "states"),
            names_in(paths.cache_dir() / "rooms"),
            groups(),
            frozenset(path.name for path in Path("/dev/shm").iterdir() if path.lstat().st_uid in sandbox_uids()),
            "".join(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if CACHE.name in line),
            "".join(keys_of(path) for path in ipc if path.exists()),
        )


def groups() -> frozenset[str]:
    """Return the control groups that this process has created."""
    try:
        folders = cgroup.base().folders.values()
    except cgroup.NoGroup:
        return frozenset()
    return frozenset(str(group) for folder in folders for group in folder.glob(f"{cgroup.GROUP_PREFIX}{os.getpid()}-*"))


def keys_of(path: Path) -> str:
    """Return the System V objects of the sandboxes' users: key, id and permissions, without times."""
    head, *lines = (line.split() for line in path.read_text().splitlines())
    owner = head.index("uid")
    return "".join(" ".join(line[:3]) + "\n" for line in lines if int(line[owner]) in sandbox_uids())


def names_in(folder: Path) -> frozenset[str]:
    """Return the names in a folder, or an empty set if it does not exist."""
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()


def world_of(process: int | str) -> str:
    """Return a process's PID namespace."""
    return str(Path(f"/proc/{process}/ns/pid").readlink())


def worlds() -> set[str]:
    """Return the PID namespaces of all descendants of this process, without its own."""
    own = world_of("self")
    found_worlds = set()
    for process in descendants(os.getpid()):
        try:
            found_worlds.add(world_of(process.pid))
        except OSError:
            continue
    return found_worlds - {own}


def inhabitants(of: set[str]) -> list[int]:
    """Return every process in one of these PID namespaces, unless another croupier started it.

    That can happen because the kernel reuses the number of a namespace as soon as it is free.
    """
    living = []
    for name in names_in(Path("/proc")):
        if name.isdigit():
            try:
                if world_of(name) in of and host_of(int(name), of) in (1, os.getpid()):
                    living.append(int(name))
            except (OSError, psutil.Error):
                continue
    return living


def host_of(pid: int, of: set[str]) -> int:
    """Return the PID of the process that started a sandboxed process, or 1 if that process has ended."""
    process = psutil.Process(pid)
    while process.pid > 1 and (process.name() == "bwrap" or world_of(process.pid) in of):
        process = psutil.Process(process.ppid())
    return process.pid


_TAKEN: list[socket.socket] = []


def own_port() -> int:
    """Return a port of this machine for a server that must know it before it starts.

    Nobody else gets it: the kernel chooses none below 32768, and other tests see the socket that is named after it.
    """
    for port in range(20_000, 30_000):
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0croupier-tests-{port}")
            with socket.socket() as free:
                free.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        _TAKEN.append(mark)
        return port
    raise AssertionError("every port is in use")


def workers_of(host: int) -> list[psutil.Process]:
    """Return the workers that a process has started.

    They are its own children: a child of a worker has the worker's command line until it runs its own program.
    """
    workers = []
    for process in psutil.Process(host).children():
        with suppress(psutil.Error):
            workers += [process] if "host.play.worker" in process.cmdline() else []
    return workers


def stray_files(folder: Path) -> list[str]:
    """Return the paths in a folder that are neither regular files nor folders."""
    return [
        str(path)
        for path in folder.rglob("*")
        if not (stat.S_ISREG(mode := path.lstat().st_mode) or stat.S_ISDIR(mode))
    ]


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fail if the block leaves a process, a file, a mount, a System V object or an open descriptor behind."""
    before = Traces.now()
    yield
    after = Traces.now()
    assert after == before, {
        field: (was, now) for field, was, now in zip(Traces._fields, before, after, strict=True) if was != now
    }


def sandbox_uids() -> Sequence[int]:
    """Return the uids that bots may run as."""
    first = paths.sandbox_user()[0]
    return range(first, first + users.MAX_USERS + 1) if os.geteuid() == 0 else [first]
