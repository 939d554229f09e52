"""A house for tests: real bots, really built, really played in this process, and a look at what they leave behind."""

import atexit
import os
import shutil
import stat
import tempfile
import textwrap
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import psutil
import trio

from host.base import paths
from host.bots.monitor import running_monitor
from host.bots.seat import Seat, open_seat
from host.games import GAMES
from host.play.bot_pool import BotPool
from host.play.records import Fixture, Job, Record, WorkerSetup, unpack
from host.sandbox import cgroup, landlock, users
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import detect
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.sandbox.process_tree import descendants
from host.submissions.bot_spec import BuiltBot, Submission
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.languages import LANGUAGES
from protocols.wire import Answer

SAMPLES = Path(__file__).parents[1] / "sample_bots"
ROGUES = SAMPLES / "rogues"
SEED = b"a seed for tests"
AMPLE = Limits(move=10, startup=10, cpu=10)
"""Limits that no test here means to reach, however loaded the machine is."""

T = TypeVar("T")


def _own_cache() -> Path:
    """Make this test run a cache of its own, which the sandboxes' user may enter and nobody else writes."""
    folder = Path(tempfile.mkdtemp(prefix="croupier-tests-"))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["CROUPIER_CACHE"] = str(folder)
    return folder


CACHE = _own_cache()

# Where no bytecode may be written beside the sources, each of the hundreds of croupiers that tests start would compile itself.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    os.environ["PYTHONPYCACHEPREFIX"] = str(CACHE / "bytecode")


def run(work: Callable[[], Awaitable[T]]) -> T:
    """Run asynchronous work to its end."""
    return trio.run(work)


def level() -> Level:
    """Return the level that everything is tested at: CROUPIER_TEST_LEVEL, else the strongest of this machine."""
    return Level(os.environ.get("CROUPIER_TEST_LEVEL") or detect().level)


def levels() -> list[Level]:
    """Return the levels that isolate and work here."""
    works = {mechanism.name for mechanism in detect().mechanisms if mechanism.works}
    needs = {
        Level.L2: landlock.version() >= landlock.WANTED,
        Level.L3: "user namespace" in works,
        Level.L4: "cgroup" in works,
    }
    return [level for level, works_here in needs.items() if works_here]


# Bots.


def spec_of(source: Path, game: str = "cardshark", **changes: Any) -> Submission:
    """Return the spec of a lone file, or of a folder with a bot.toml, some of it changed."""
    return load_submission(source).with_keys(**{"game": game} | changes)


def written(text: str, suffix: str, folder: Path, name: str = "bot") -> Path:
    """Write a bot's source into a folder; return its path. A file without a suffix of a language is a program."""
    path = folder / f"{name}{suffix}"
    path.write_text(textwrap.dedent(text).lstrip("\n"))
    if not any(suffix in row.suffixes for row in LANGUAGES.values()):
        path.chmod(0o755)
    return path


def built(source: Path, game: str = "cardshark", limits: Limits = AMPLE, **changes: Any) -> BuiltBot:
    """Build a bot from a lone file or a folder; raise Refused when it does not build."""
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


def fixture_of(game: str, bots: Iterable[BuiltBot], tables: int, path: str = "test/1", **rules: Any) -> Fixture:
    """Return a fixture of independent tables under a game's first preset, its numbers changed as told."""
    preset = next(iter(GAMES[game].presets.values()))._replace(**rules)
    return Fixture(game, preset, "independent", path, tuple(bot.name for bot in bots), tables)


@asynccontextmanager
async def opened(game: str, bots: Sequence[BuiltBot], parallel_tables: int = 0) -> AsyncIterator[BotPool]:
    """Open a worker's house in this process, its watcher watching."""
    preset = next(iter(GAMES[game].presets.values()))
    setup = WorkerSetup(game, preset, tuple(bots), SEED, level(), parallel_tables)
    async with running_monitor() as watcher, AsyncExitStack() as stack:
        yield BotPool(setup, stack, watcher)


def played(
    game: str, bots: Sequence[BuiltBot], tables: int, parallel_tables: int = 0, path: str = "test/1", **rules: Any
) -> Record:
    """Play one fixture and close the house."""

    async def work() -> Record:
        async with opened(game, bots, parallel_tables) as house:
            return await house.play(Job(fixture_of(game, bots, tables, path, **rules)))

    return trio.run(work)


@asynccontextmanager
async def seat_of(bot: BuiltBot, game: str = "cardshark", seed: int = 1) -> AsyncIterator[Seat]:
    """Seat one bot alone, in a sandbox of its own and without a state file."""
    async with seated_in(bot, game, seed) as (seat, _):
        yield seat


@asynccontextmanager
async def seated_in(bot: BuiltBot, game: str = "cardshark", seed: int = 1) -> AsyncIterator[tuple[Seat, Sandbox]]:
    """Seat one bot alone; yield its sandbox too."""
    async with (
        running_monitor() as watcher,
        sandboxed(level(), Home(Path(bot.folder)), bot.limits) as sandbox,
        open_seat(bot, GAMES[game], sandbox, seed, watcher) as seat,
    ):
        yield seat, sandbox


def answers_of(record: Record) -> list[list[Answer]]:
    """Return each table's answers."""
    return unpack(record.answers)


def faults_of(record: Record, bot: str) -> dict[str, int]:
    """Return a bot's faults by kind."""
    return record.faults.get(bot, {})


# What is left behind.


class Traces(NamedTuple):
    """Everything of this machine that a bot might leave something in, as far as it can be seen from here."""

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
        """Look."""
        ipc = [Path("/proc/sysvipc") / name for name in ("shm", "msg", "sem")]
        return cls(
            frozenset(process.pid for process in descendants(os.getpid())),
            sum(1 for _ in Path("/proc/self/fd").iterdir()),
            names_in(CACHE / "states"),
            names_in(CACHE / "rooms"),
            groups(),
            frozenset(path.name for path in Path("/dev/shm").iterdir() if path.lstat().st_uid in sandbox_uids()),
            "".join(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if CACHE.name in line),
            "".join(keys_of(path) for path in ipc if path.exists()),
        )


def groups() -> frozenset[str]:
    """Return the control groups that this process has made."""
    try:
        folders = cgroup.base().folders.values()
    except cgroup.NoGroup:
        return frozenset()
    return frozenset(str(group) for folder in folders for group in folder.glob(f"{cgroup.PREFIX}{os.getpid()}-*"))


def keys_of(path: Path) -> str:
    """Return which objects of System V the sandboxes' users have: key, id and permissions, not their times."""
    head, *lines = (line.split() for line in path.read_text().splitlines())
    owner = head.index("uid")
    return "".join(" ".join(line[:3]) + "\n" for line in lines if int(line[owner]) in sandbox_uids())


def names_in(folder: Path) -> frozenset[str]:
    """Return the names in a folder; none where there is no folder."""
    return frozenset(path.name for path in folder.iterdir()) if folder.is_dir() else frozenset()


def world_of(process: int | str) -> str:
    """Return a process's PID namespace."""
    return str(Path(f"/proc/{process}/ns/pid").readlink())


def worlds() -> set[str]:
    """Return the PID namespaces, other than ours, of everything that this process has started."""
    own = world_of("self")
    found_worlds = set()
    for process in descendants(os.getpid()):
        try:
            found_worlds.add(world_of(process.pid))
        except OSError:
            continue
    return found_worlds - {own}


def inhabitants(of: set[str]) -> list[int]:
    """Return every process of the machine that lives in one of these PID namespaces, unless another croupier started it.

    The kernel gives a namespace's number again as soon as it is free.
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
    """Return who has started a process in one of these PID namespaces: 1 when that has gone."""
    process = psutil.Process(pid)
    while process.pid > 1 and (process.name() == "bwrap" or world_of(process.pid) in of):
        process = psutil.Process(process.ppid())
    return process.pid


def stray_files(folder: Path) -> list[str]:
    """Return what is not a regular file and no folder below a folder."""
    return [
        str(path)
        for path in folder.rglob("*")
        if not (stat.S_ISREG(mode := path.lstat().st_mode) or stat.S_ISDIR(mode))
    ]


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Fail when the block leaves a process, a file, a mount, an object of System V or an open descriptor behind."""
    before = Traces.now()
    yield
    after = Traces.now()
    assert after == before, {
        field: (was, now) for field, was, now in zip(Traces._fields, before, after, strict=True) if was != now
    }


def sandbox_uids() -> Sequence[int]:
    """Return the uids that bots may run as."""
    first = paths.sandbox_user()[0]
    return range(first, first + users.MOST + 1) if os.geteuid() == 0 else [first]
