"""Stalls that no counter of a process shows: each kind is injected, told apart by samples, and charged to no bot."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

import pytest
import trio
from helpers import AMPLE, CACHE, breadth, built, level, nothing_left_behind, seated_in, written

from host.bots.bot_spec import BuiltBot
from host.bots.clock import HostStall
from host.bots.monitor import unwrap_exception_group
from host.bots.stall_sampler import PERIOD_S, Stalls, StallSampler
from host.bots.values import Batch, Question
from host.games import GAMES
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import Sandbox, sandboxed
from host.sandbox.limits import Limits
from protocols.wire import Answer, Fault, FaultKind, Move

VIEW = GAMES["cardshark"].examples[0]
SAMPLED_S = 0.3
pytestmark = pytest.mark.timing
Stall = Callable[[list[int]], AbstractContextManager[object]]
"""A stall of these processes, a keeper and its bot, for the length of a block."""


def bot_of(source: str, suffix: str = ".py", limits: Limits = AMPLE, protocol: str = "lines") -> BuiltBot:
    """Build a bot."""
    folder = CACHE / "stalls"
    folder.mkdir(exist_ok=True)
    return built(written(source, suffix, folder, "stalled"), limits=limits, protocol=protocol)


def children(keeper: int) -> list[int]:
    """Return the processes that a process has started."""
    with suppress(OSError):
        return [int(pid) for pid in Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split()]
    return []


# Injected stalls.


@contextmanager
def stopped(processes: list[int]) -> Iterator[None]:
    """Stop processes for the length of the block."""
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def grouped(hierarchy: str, processes: list[int], settings: dict[str, str]) -> Iterator[Path]:
    """Put processes into a control group of their own with these settings, for the length of the block."""
    parent = Path("/sys/fs/cgroup", hierarchy)
    if not os.access(parent / "cgroup.procs", os.W_OK):
        pytest.skip(f"NO CONTROL GROUP OF {hierarchy} CAN BE MADE HERE")
    group = parent / f"test-{os.getpid()}"
    group.mkdir()
    try:
        for file, value in settings.items():
            (group / file).write_text(value)
        for pid in processes:
            (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        while group.exists():  # its processes may start others meanwhile
            for pid in (group / "cgroup.procs").read_text().split():
                with suppress(OSError):
                    (parent / "cgroup.procs").write_text(pid)
            with suppress(OSError):
                group.rmdir()


@contextmanager
def frozen(file: Path, words: tuple[str, str]) -> Iterator[None]:
    """Freeze a control group for the length of the block."""
    file.write_text(words[0])
    try:
        yield
    finally:
        file.write_text(words[1])


@contextmanager
def frozen_by_first_version(processes: list[int]) -> Iterator[None]:
    """Freeze processes by a control group of version 1."""
    with grouped("freezer", processes, {}) as group, frozen(group / "freezer.state", ("FROZEN", "THAWED")):
        yield


@contextmanager
def frozen_by_second_version(processes: list[int]) -> Iterator[None]:
    """Freeze processes by a control group of version 2."""
    with grouped("unified", processes, {}) as group, frozen(group / "cgroup.freeze", ("1", "0")):
        yield


def on_slow_disk(file: Path, processes: list[int]) -> AbstractContextManager[object]:
    """Let processes read 50 000 bytes a second from the disk with this file, of which no page is in memory."""
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    device = file.stat().st_dev
    slow = {"blkio.throttle.read_bps_device": f"{os.major(device)}:{os.minor(device)} 50000"}
    return grouped("blkio", processes, slow)


def without_memory(processes: list[int]) -> AbstractContextManager[object]:
    """Let the bot wait for memory: from 8 MiB on its group has none, and the kernel kills no process."""
    return grouped("memory", processes, {"memory.limit_in_bytes": str(8 << 20), "memory.oom_control": "1"})


def throttled(processes: list[int]) -> AbstractContextManager[object]:
    """Give processes 1 ms of a processor every 20 ms."""
    return grouped("cpu", processes, {"cpu.cfs_period_us": "20000", "cpu.cfs_quota_us": "1000"})


def unharmed(_processes: list[int]) -> AbstractContextManager[object]:
    """Stall nothing."""
    return nullcontext()


@contextmanager
def large_file(folder: Path) -> Iterator[Path]:
    """Create a file of 1 MiB that the bot in this folder can read, for the length of the block."""
    file = folder / "large"
    file.write_bytes(os.urandom(1 << 20))
    file.chmod(0o644)
    try:
        yield file
    finally:
        file.unlink()


# What the samples say.

WHEN_TOLD = "import sys, time\nprint(flush=True)\nsys.stdin.read()\n"
SPINS = "while True:\n    pass\n"
WAITS = "time.sleep(3600)\n"
READS = 'file = open("large", "rb", 0)\nwhile file.read(65536):\n    pass\n'
MAPS = 'import mmap\nfile = open("large", "rb", 0)\npages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n'
TOUCHES = MAPS + "for at in range(0, len(pages), 4096):\n    pages[at]\n"
ADVISES = MAPS + "pages.madvise(22)  # MADV_POPULATE_READ\n"
GROWS = "held = []\nwhile True:\n    held.append(bytearray(1 << 20))\n"


def sampled(source: str, stall: Stall, pause: float = PERIOD_S, *, calls: bool = False) -> Stalls:
    """Sample a bot for 0.3 s while it is stalled; return the shares. `pause` is the time between two samples.

    With `calls` the bot waits for a model meanwhile.
    """
    bot = bot_of(WHEN_TOLD + source)

    async def look() -> Stalls:
        async with sandboxed(level(), Home(Path(bot.folder)), AMPLE) as sandbox:
            (begun, output), (told, tells) = os.pipe(), os.pipe()
            argv = [word.encode() for word in bot.argv]
            await sandbox.keeper.start(argv, dict(bot.env), AMPLE, (told, output, output))
            await trio.lowlevel.wait_readable(begun)
            with stall([sandbox.pid, *children(sandbox.pid)]):
                for descriptor in (begun, output, told, tells):
                    os.close(descriptor)
                return await samples_of(sandbox, pause, calls=calls)

    return trio.run(look)


async def samples_of(sandbox: Sandbox, pause: float, *, calls: bool = False) -> Stalls:
    """Sample a sandbox for 0.3 s, in which its bot may wait for a model; return the shares."""
    samples = StallSampler(sandbox)
    samples.begin()
    samples.waits_for_model = calls
    until = time.perf_counter() + SAMPLED_S
    while time.perf_counter() < until:
        await trio.sleep(pause)
        samples.sample()
    return samples.stalls


def test_a_sandbox_stopped_from_outside_is_told_from_a_bot_that_is_stopped_alone() -> None:
    assert sampled(WAITS, stopped).stopped > 0.1
    for source, stall in (
        (WAITS, lambda processes: stopped(processes[1:])),
        (WAITS, unharmed),
        ("import os\nif not os.fork():\n    time.sleep(60)", unharmed),
    ):
        stalls = sampled(source, stall)
        assert stalls.stopped == stalls.blocked == 0


def test_of_a_bot_that_waits_for_a_model_only_pauses_of_croupier_are_sampled() -> None:
    assert sampled(WAITS, stopped, calls=True).stopped == 0
    assert sampled(WAITS, unharmed, pause=0.2, calls=True).paused > 0.1


@pytest.mark.parametrize("stall", [frozen_by_first_version, frozen_by_second_version])
def test_a_frozen_sandbox_is_stopped_from_outside(stall: Stall) -> None:
    stalls = sampled(WAITS, stall)

    assert stalls.stopped > 0.1
    assert stalls.blocked == 0


def test_a_bot_without_quota_is_throttled() -> None:
    assert sampled(SPINS, throttled).throttled > 0.1


@pytest.mark.parametrize("source", [READS, TOUCHES, ADVISES], ids=["read", "page fault", "madvise"])
def test_a_bot_that_waits_for_a_slow_disk_is_blocked(source: str) -> None:
    def stall(processes: list[int]) -> AbstractContextManager[object]:
        return on_slow_disk(file, processes)

    with large_file(Path(bot_of(WHEN_TOLD + source).folder)) as file:
        stalls = sampled(source, stall)

    assert stalls.blocked > 0.1
    assert stalls.stopped == stalls.throttled == 0


def test_a_bot_that_waits_for_memory_is_blocked() -> None:
    stalls = sampled(GROWS, without_memory)

    assert stalls.blocked > 0.1
    assert stalls.stopped == stalls.throttled == 0


def test_a_program_that_is_read_from_a_slow_disk_is_blocked_though_its_keeper_waits_too() -> None:
    bot = bot_of("int main(void)\n{\n    for (;;) {}\n}\n", ".c")

    async def look() -> Stalls:
        async with sandboxed(level(), Home(Path(bot.folder)), AMPLE) as sandbox, trio.open_nursery() as nursery:
            nothing = os.open("/dev/null", os.O_RDWR)
            with on_slow_disk(Path(bot.folder, "bot"), [sandbox.pid]):
                nursery.start_soon(sandbox.keeper.start, [b"./bot"], {}, AMPLE, (nothing, nothing, nothing))
                stalls = await samples_of(sandbox, PERIOD_S)
            os.close(nothing)
        return stalls

    stalls = trio.run(look)
    assert stalls.blocked > 0.1
    assert stalls.stopped == 0


def test_a_pause_of_croupier_itself_is_seen_though_it_wakes_up_in_time() -> None:
    assert sampled(WAITS, unharmed, pause=0.2).paused > 0.1


# What becomes of the answer.

MOVE_S = 0.6  # the first 40 ms are not sampled, and on a busy machine a stall begins late
STALL_S = 3.0  # longer than the clock waits
FIRST = 'import sys\n\nif len(sys.argv) == 1:\n    sys.stdin.readline()\n    print("S", flush=True)\n    sys.stdin.readline()\n'
SAYS = FIRST + 'print("S", flush=True)\n'


@contextmanager
def reading_slowly(folder: Path, processes: list[int]) -> Iterator[None]:
    """Let a bot read a large file from a slow disk."""
    with large_file(folder) as file, on_slow_disk(file, processes):
        yield


STALLED = {
    "stopped": (SAYS, lambda _folder, processes: stopped(processes), "stopped from outside"),
    "frozen": (SAYS, lambda _folder, processes: frozen_by_first_version(processes), "stopped from outside"),
    "disk": (FIRST + TOUCHES, reading_slowly, "blocked"),
    "memory": (FIRST + GROWS, lambda _folder, processes: without_memory(processes), "blocked"),
    "quota": (FIRST + SPINS, lambda _folder, processes: throttled(processes), "throttled"),
}


@pytest.mark.parametrize("protocol", breadth(["lines", "argv"], 2))
@pytest.mark.parametrize("kind", STALLED)
@pytest.mark.one_in(3)
def test_a_stalled_bot_is_not_late_and_the_evidence_says_why(kind: str, protocol: str) -> None:
    source, stall, words = STALLED[kind]
    bot = bot_of(source, limits=AMPLE._replace(move=MOVE_S, startup=10), protocol=protocol)

    async def hold(sandbox: Sandbox, task_status: trio.TaskStatus) -> None:
        with stall(Path(bot.folder), [sandbox.pid, *children(sandbox.pid)]):
            task_status.started()
            await trio.sleep(STALL_S)

    async def ask() -> list[Answer]:
        async with seated_in(bot) as (seat, sandbox), trio.open_nursery() as nursery:
            if protocol == "lines":
                assert await seat.ask(Batch([Question(1, 1, VIEW)])) == [Move("S")]
            await nursery.start(hold, sandbox)
            return await seat.ask(Batch([Question(1, 2, VIEW)]))

    if protocol == "argv" and source is SAYS:  # its keeper starts it after the stall
        assert trio.run(ask) == [Move("S")]
    else:
        with pytest.raises(HostStall, match=rf"{words} \d\.\d*[1-9]"), unwrap_exception_group():
            trio.run(ask)


def waited_for_core(*processes: int) -> float:
    """Return the seconds that processes have been ready to run without running, as the kernel counts them."""
    return sum(int(Path(f"/proc/{each}/schedstat").read_text().split()[1]) for each in processes) / 1e9


@pytest.mark.long
def test_a_keeper_that_has_just_reported_a_late_bot_is_not_taken_for_a_stalled_one() -> None:
    silent = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
    bot = bot_of(silent, ".c", AMPLE._replace(move=0.02), "argv")

    async def play() -> set[FaultKind]:
        faults = set[FaultKind]()
        for _ in range(5):
            async with seated_in(bot) as (seat, sandbox):
                while not seat.benched:
                    before = waited_for_core(sandbox.pid, os.getpid())
                    try:
                        await seat.ask(Batch([Question(1, 1, VIEW)]))
                    except HostStall as stall:  # on a busy machine it may be true
                        assert waited_for_core(sandbox.pid, os.getpid()) - before > bot.limits.move / 2, stall
                faults |= set(seat.faults)
        return faults

    assert trio.run(play) == {FaultKind.TIMEOUT}


def test_a_stall_is_found_also_while_questions_wait_for_room_in_the_pipe() -> None:
    bot = bot_of(SAYS, limits=AMPLE._replace(move=MOVE_S, startup=10))
    many = [Question(table, 1, VIEW) for table in range(2, 10_000)]

    async def ask() -> bool:
        async with seated_in(bot) as (seat, sandbox):
            assert await seat.ask(Batch([Question(1, 1, VIEW)])) == [Move("S")]
            with stopped([sandbox.pid, *children(sandbox.pid)]):
                try:
                    await seat.ask(Batch(many))
                except HostStall:
                    return True
        return False

    assert trio.run(ask)


def has_closed_all(pid: int) -> bool:
    """Return whether a process has no open descriptor."""
    return not list(Path(f"/proc/{pid}/fd").iterdir())


SHEDS = """
    import os, sys, time

    if sys.argv[1:] or sys.stdin.readline():
        if not os.fork():
            os.closerange(0, 3)
            time.sleep(60)
        time.sleep(0.1)
        print("S", flush=True)
"""


@pytest.mark.parametrize("protocol", ["argv", "lines"])
def test_the_next_question_does_not_pay_for_a_process_that_dies_slowly(protocol: str) -> None:
    # A frozen process cannot die. It is thawed after one and a half times the limit of the next question.
    limits = AMPLE._replace(move=0.6, startup=0.0)
    bot = bot_of(SHEDS, limits=limits, protocol=protocol)

    async def hold(sandbox: Sandbox, freed: trio.Event) -> None:
        while not (left := [pid for child in children(sandbox.pid) for pid in children(child) if has_closed_all(pid)]):
            await trio.sleep(0.005)
        with frozen_by_first_version(left):
            await trio.sleep(1.5 * limits.move)
        freed.set()

    async def ask() -> tuple[list[Answer], bool, list[float]]:
        freed, answers = trio.Event(), list[Answer]()
        async with seated_in(bot) as (seat, sandbox), trio.open_nursery() as nursery:
            nursery.start_soon(hold, sandbox, freed)
            for number in range(1, 3 if protocol == "argv" else 4):
                answers += await seat.ask(Batch([Question(number, 1, VIEW)]))
            waited = freed.is_set()
            return answers, waited, [piece.wall for piece in seat.all_evidence()]

    with nothing_left_behind():
        answers, waited, walls = trio.run(ask)

    gone = [] if protocol == "argv" else [Fault(FaultKind.EXIT)]
    assert answers == [Move("S"), *gone, Move("S")]
    assert waited
    assert max(walls) < limits.move
