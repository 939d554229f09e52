"""Creates sandboxes: starts the keeper of each level, and removes everything when the keeper ends."""

import contextlib
import os
import resource
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import trio

from host.sandbox import bubblewrap, cgroup, keeper, landlock, seccomp, users
from host.sandbox.bubblewrap import Home
from host.sandbox.cgroup import Cgroup, NoGroup
from host.sandbox.keeper import Keeper, KeeperDied, KeeperOutOfMemory
from host.sandbox.levels import Level
from host.sandbox.limits import Limits

SOCKET_BUFFER_BYTES = 1 << 20
LAST_WORDS_TIMEOUT_S = 0.1  # within which bubblewrap ends after its keeper
EXIT_TIMEOUT_S = 1  # within which a process must end after its keeper
MAX_COMPLAINT_BYTES = 2000
CORE_LIMIT = (1, 1)
"""The soft and the hard limit of a core dump, in bytes. With a limit of 0, the kernel would start the machine's core
dump program, as root, for every crash of a bot. The keeper sets the same limits, but as an ordinary user it cannot
raise a hard limit of 0."""


class Sandbox(NamedTuple):
    """One bot's sandbox: its keeper, and its control group if its level has one."""

    level: Level
    keeper: Keeper
    group: Cgroup | None = None
    # Whether an interpreter may stay in the sandbox, whose filter then allows the interpreter to use Landlock.
    warm: bool = False
    # Its /tmp if that is a folder on the host's disk, whose size the monitor must limit; else "".
    tmp: str = ""
    # Given the bot's clock, returns a block in which a relay passes the bot's requests to models; None if it asks none.
    serve: Callable[[Any], contextlib.AbstractContextManager[None]] | None = None
    variables: Mapping[str, str] = {}  # environment variables of a bot that asks models

    @property
    def warms(self) -> bool:
        """Return whether an interpreter can stay alive in the sandbox.

        The kernel must be able to deny bots to send signals to the interpreter, and to leave their process group.
        """
        return self.warm and self.level.traits.can_warm and landlock.version() >= landlock.WANTED

    @property
    def pid(self) -> int:
        """Return the process number of the keeper on the host."""
        return self.keeper.pid

    @property
    def cores(self) -> int:
        """Return the number of processor cores that the bot may use; 1 if the keeper has died."""
        with contextlib.suppress(OSError):
            return len(os.sched_getaffinity(self.pid))
        return 1  # the keeper has died, as the next request to it will find


class LaunchPlan(NamedTuple):
    """Plan for the start of a keeper: command, current folder, settings, and the descriptors that it inherits."""

    command: list[str]
    folder: str
    world: keeper.KeeperConfig
    inherited: tuple[int, ...] = ()
    environment: Mapping[str, str] = {}  # variables of every bot


class SandboxRequest(NamedTuple):
    """A request for a sandbox: its level, its files, its limits, and the uid and gid of its processes."""

    level: Level
    home: Home
    limits: Limits
    user: tuple[int, int]


Lent = contextlib.ExitStack
"""The stack that closes our copies of the descriptors that a keeper inherits, as soon as the keeper has started."""


@contextlib.contextmanager
def _bare(request: SandboxRequest, _lent: Lent) -> Iterator[LaunchPlan]:
    """Plan a keeper without isolation."""
    yield LaunchPlan([str(keeper.binary())], str(request.home.folder), keeper.KeeperConfig(0, tmp=""))


@contextlib.contextmanager
def _fenced(request: SandboxRequest, lent: Lent) -> Iterator[LaunchPlan]:
    """Plan a keeper outside the sandbox. It puts Landlock, the system call filter and limits on each bot."""
    forbidden = (*landlock.forbidden(request.home), *landlock.SYSTEM_CALLS)
    forbidden += () if request.home.writable else seccomp.BOT_ONLY
    with landlock.make_ruleset(request.home, request.user) as room:
        lent.callback(os.close, room.ruleset)
        filtered = seccomp.descriptor(seccomp.combined_filter(forbidden))
        lent.callback(os.close, filtered)
        tmp = str(room.tmp)
        world = keeper.KeeperConfig(landlock.task_limit(request.limits.tasks), tmp, room.ruleset, filtered)
        inherited = (room.ruleset, filtered)
        yield LaunchPlan(
            [str(keeper.binary())], str(room.folder), world, inherited, environment={"HOME": tmp, "TMPDIR": tmp}
        )


@contextlib.contextmanager
def _apart(request: SandboxRequest, lent: Lent) -> Iterator[LaunchPlan]:
    """Plan a keeper that is the first process of namespaces created by bubblewrap."""
    forbidden: tuple[str | int, ...] = () if request.home.writable else seccomp.BOT_ONLY
    if not request.home.warm:  # an interpreter needs Landlock to separate its forks, which it then denies to them
        forbidden += landlock.SYSTEM_CALLS
    limits, shared_memory = request.limits, request.level.traits.exact_cpu
    filtered = seccomp.descriptor(
        seccomp.program(
            forbidden,
            shared_memory=shared_memory,
            own_descriptor=limits.open_files,
            connects=request.home.relay is not None,
        )
    )
    unwoken = seccomp.descriptor(seccomp.sigcont_filter())
    lent.callback(os.close, filtered)
    lent.callback(os.close, unwoken)
    numbers, inherited = -1, [filtered, unwoken]
    with contextlib.suppress(OSError):  # read-only in some containers, absent in some kernels
        numbers = os.open("/proc/sys/kernel/ns_last_pid", os.O_RDWR | os.O_CLOEXEC)
        lent.callback(os.close, numbers)
        inherited.append(numbers)
    command = bubblewrap.command(request.home, request.home.scratch or limits.files, keeper.binary(), filtered)
    world = keeper.KeeperConfig(limits.tasks + 1, filter=unwoken, numbers=numbers, kept=request.home.kept)
    yield LaunchPlan(command, "/", world, tuple(inherited))


Launcher = Callable[[SandboxRequest, Lent], contextlib.AbstractContextManager[LaunchPlan]]

LAUNCHERS: Mapping[Level, Launcher] = {
    Level.NONE: _bare,
    Level.L2: _fenced,
    Level.L3: _apart,
    Level.L4: _apart,
}


@contextlib.asynccontextmanager
async def sandboxed(level: Level, home: Home, limits: Limits) -> AsyncIterator[Sandbox]:
    """Yield a new sandbox; the end of the block kills everything in it. Raise KeeperDied if it cannot be created.

    Enter the block in the main thread: the kernel kills a sandbox when the thread that started it ends.
    """
    async with _grouped(level, limits) as group, contextlib.AsyncExitStack() as stack:
        try:
            started = start(level, home, limits, stack)
        except OSError as error:
            raise KeeperDied(f"cannot create a sandbox of level {level}: {error}") from error
        stack.push_async_callback(_ended, started.process)
        own = Keeper(started.control, started.environment, started.last_words)
        stack.callback(own.close)
        await own.kill_all()  # its first reply shows that it runs
        if group is not None:
            # No bot has run yet. All processes that the keeper starts will be in the group.
            with _as_keeper_error():
                group.add(own.pid)
            own.count(group)
        try:
            yield Sandbox(level, own, group, home.warm, started.environment.get("TMPDIR", ""))
        finally:
            with contextlib.suppress(KeeperDied, KeeperOutOfMemory):
                await own.reap()


async def why_no_sandbox(level: Level) -> str:
    """Return why a sandbox without a bot cannot be created at a level, or "" if it can."""
    try:
        async with sandboxed(level, Home(Path("/usr/share")), Limits()) as sandbox:
            ended = await sandbox.keeper.ask([b"/bin/true"], {}, Limits(), keeper.TRIAL)
            return "" if ended.status == 0 and not ended.error else ended.words
    except KeeperDied as died:
        return str(died)


class Started(NamedTuple):
    """A keeper that was just started: our end of its socket, its outermost process (bubblewrap, or the keeper itself).

    `complaints` is the descriptor of its standard error. `environment` has the variables of every bot.
    """

    control: socket.socket
    process: subprocess.Popen[bytes]
    complaints: int
    environment: Mapping[str, str]

    def complaint(self) -> str:
        """Return what the keeper has written to standard error so far."""
        os.set_blocking(self.complaints, False)
        with contextlib.suppress(BlockingIOError):
            return os.read(self.complaints, MAX_COMPLAINT_BYTES).decode(errors="replace").strip()
        return ""

    def last_words(self) -> str:
        """Return what a keeper that has died wrote to standard error, and how its outermost process ended."""
        ended = ""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self.process.wait(LAST_WORDS_TIMEOUT_S)
            ended = f"the sandbox was killed by signal {-status}" if status < 0 else f"the sandbox exited with {status}"
        return "; ".join(filter(None, (self.complaint(), ended)))


def start(level: Level, home: Home, limits: Limits, stack: contextlib.ExitStack | contextlib.AsyncExitStack) -> Started:
    """Start a keeper. Push the steps that clean up after its end onto the stack. Raise OSError if it does not start."""
    with Lent() as lent:
        complaints, complains = os.pipe()
        stack.callback(os.close, complaints)
        lent.callback(os.close, complains)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(ours.close)
        lent.callback(theirs.close)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
        user = (os.geteuid(), os.getegid()) if home.trusted else stack.enter_context(users.borrow_uid())
        _give(home, user)
        plan = stack.enter_context(LAUNCHERS[level](SandboxRequest(level, home, limits, user), lent))
        command = [*plan.command, *keeper.arguments(theirs.fileno(), limits, plan.world)]
        inherited = (theirs.fileno(), *plan.inherited)
        return Started(ours, _spawn(command, inherited, complains, plan.folder, user), complaints, plan.environment)


def _give(home: Home, user: tuple[int, int]) -> None:
    """Make a sandbox's user the owner of the files that it may write."""
    if home.state is not None:
        os.chown(home.state, *user)
    if home.relay is not None:
        os.chown(home.relay, *user)
    if home.writable:
        for place, _folders, names in os.walk(home.folder):
            for path in (Path(place), *(Path(place, name) for name in names)):
                os.chown(path, *user, follow_symlinks=False)


@contextlib.asynccontextmanager
async def _grouped(level: Level, limits: Limits) -> AsyncIterator[Cgroup | None]:
    """Yield a new control group, or None if the level has none. Remove the group after its sandbox has ended."""
    if not level.traits.exact_cpu:
        yield None
        return
    with _as_keeper_error():
        group = cgroup.make_group(limits)
    try:
        yield group
    finally:
        # A group that cannot be removed now is removed by a later croupier; that does not end a run.
        with trio.CancelScope(shield=True), contextlib.suppress(NoGroup):
            for wait in group.waits():
                await trio.sleep(wait)


@contextlib.contextmanager
def _as_keeper_error() -> Iterator[None]:
    """Turn a NoGroup of the block into KeeperDied: without its group a sandbox would be weaker than its level."""
    try:
        yield
    except NoGroup as reason:
        raise KeeperDied(f"no control group: {reason}") from reason


@contextlib.contextmanager
def _preferred_for_oom() -> Iterator[None]:
    """If the machine runs out of memory, let the kernel kill processes started in the block, not a worker of croupier.

    A process inherits this preference when it starts. Later an ordinary user cannot set the preference of a keeper.
    """
    own, before = Path("/proc/self/oom_score_adj"), ""
    with contextlib.suppress(OSError):  # without /proc there is no preference
        before = own.read_text()
        own.write_text("1000")
    try:
        yield
    finally:
        if before:
            own.write_text(before)


def _spawn(
    command: Sequence[str], inherited: Sequence[int], stderr: int, folder: str, user: tuple[int, int]
) -> subprocess.Popen[bytes]:
    """Start the sandbox's outermost process as an ordinary user with an empty environment."""
    root = os.geteuid() == 0
    uid, gid = user
    if root and resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:  # as sudo sets it
        with contextlib.suppress(OSError, ValueError):  # a container's root may not raise it
            resource.setrlimit(resource.RLIMIT_CORE, CORE_LIMIT)
    with _preferred_for_oom():
        return subprocess.Popen(
            command,
            env={},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=inherited,
            start_new_session=True,
            user=uid if root else None,
            group=gid if root else None,
            extra_groups=[] if root else None,
        )


async def _ended(process: subprocess.Popen[bytes]) -> None:
    """Wait until the outermost process ends, also if the caller is cancelled. Kill it after EXIT_TIMEOUT_S.

    The process has no work left.
    """
    with trio.CancelScope(shield=True, deadline=trio.current_time() + EXIT_TIMEOUT_S):
        while process.poll() is None:
            await trio.sleep(0.0005)
        return
    process.kill()
    process.wait()


@contextlib.contextmanager
def starting_on(cores: Sequence[int]) -> Iterator[None]:
    """Start every process in the block on `cores`. If `cores` is empty, a process inherits the cores of this thread."""
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
