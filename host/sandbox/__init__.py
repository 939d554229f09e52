"""Where a bot runs: a sandbox made once, with a keeper in it; how strong it is, is found by trying and always said."""

import contextlib
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import trio

from host.base.errors import Problem, UserError
from host.sandbox import bubblewrap, cgroup, keeper, landlock, process_tree, seccomp, users
from host.sandbox.bubblewrap import Home
from host.sandbox.cgroup import Group, NoGroup
from host.sandbox.keeper import Ended, Keeper, KeeperDied, KeeperOutOfMemory
from host.sandbox.limits import Limits

__all__ = [
    "LEVELS",
    "Ended",
    "Home",
    "HostCapabilities",
    "Keeper",
    "KeeperDied",
    "KeeperOutOfMemory",
    "Mechanism",
    "Sandbox",
]
__all__ += [
    "at_least",
    "clock_problem",
    "detect",
    "randomizes_pids",
    "require_clock",
    "require_level",
    "sandboxed",
]

LEVELS = ("none", "L2", "L3", "L4")
"""Weakest first: nothing · Landlock, seccomp and limits · own namespaces and a keeper · a control group as well."""

LOWEST = 300
"""No process number that a keeper has drawn is below this."""


def at_least(level: str, demanded: str) -> bool:
    """Return whether a level is at least as strong as the demanded one."""
    return LEVELS.index(level) >= LEVELS.index(demanded)


class Sandbox(NamedTuple):
    """One bot's sandbox under way: its keeper, and at L4 the control group that counts all it uses."""

    level: str
    keeper: Keeper
    group: Group | None = None
    tmp: str = ""  # where that is a folder of the host's disk: what bounds it is whoever looks

    @property
    def warms(self) -> bool:
        """Whether an interpreter can be kept in it: no bot may reach that by a signal, nor leave its own process group."""
        return self.level in ("L3", "L4") and landlock.version() >= landlock.WANTED

    @property
    def pid(self) -> int:
        """The process number of the keeper as the host sees it."""
        return self.keeper.pid


class LaunchPlan(NamedTuple):
    """How a keeper is started: a command, where, with which descriptors; what it and every bot are told of their world."""

    command: list[str]
    folder: str
    world: keeper.KeeperConfig
    inherited: tuple[int, ...] = ()
    said: Mapping[str, str] = {}


class SandboxRequest(NamedTuple):
    """For whom a sandbox is made: what it sees and may use up, and whom its processes belong to."""

    home: Home
    limits: Limits
    user: tuple[int, int]


Lent = contextlib.ExitStack
"""Descriptors that a keeper inherits, closed here as soon as it has them."""


@contextlib.contextmanager
def _bare(guest: SandboxRequest, _lent: Lent) -> Iterator[LaunchPlan]:
    """No sandbox at all."""
    yield LaunchPlan([str(keeper.binary())], str(guest.home.folder), keeper.KeeperConfig(0, tmp=""))


@contextlib.contextmanager
def _fenced(guest: SandboxRequest, lent: Lent) -> Iterator[LaunchPlan]:
    """Landlock, filter and limits, put on every bot by a keeper that stands outside."""
    forbidden = (*landlock.forbidden(guest.home), *(() if guest.home.writable else seccomp.BOT_ONLY))
    with landlock.make_ruleset(guest.home, guest.user) as room:
        lent.callback(os.close, room.ruleset)
        filtered = seccomp.descriptor(seccomp.combined_filter(forbidden))
        lent.callback(os.close, filtered)
        tmp = str(room.tmp)
        world = keeper.KeeperConfig(landlock.task_limit(guest.limits.tasks), tmp, room.ruleset, filtered)
        inherited = (room.ruleset, filtered)
        yield LaunchPlan([str(keeper.binary())], str(room.folder), world, inherited, {"HOME": tmp, "TMPDIR": tmp})


@contextlib.contextmanager
def _apart(guest: SandboxRequest, lent: Lent) -> Iterator[LaunchPlan]:
    """Namespaces of its own, made by bubblewrap, the keeper their first process."""
    filtered = seccomp.descriptor(seccomp.program(() if guest.home.writable else seccomp.BOT_ONLY))
    unwoken = seccomp.descriptor(seccomp.sigcont_filter())
    lent.callback(os.close, filtered)
    lent.callback(os.close, unwoken)
    numbers, inherited = -1, [filtered, unwoken]
    with contextlib.suppress(OSError):  # a container may show it read-only; the kernel may be built without
        numbers = os.open("/proc/sys/kernel/ns_last_pid", os.O_WRONLY | os.O_CLOEXEC)
        lent.callback(os.close, numbers)
        inherited.append(numbers)
    command = bubblewrap.command(guest.home, keeper.binary(), filtered)
    yield LaunchPlan(
        command, "/", keeper.KeeperConfig(guest.limits.tasks + 1, filter=unwoken, numbers=numbers), tuple(inherited)
    )


LAUNCHERS: Mapping[str, Callable[[SandboxRequest, Lent], contextlib.AbstractContextManager[LaunchPlan]]] = {
    "none": _bare,
    "L2": _fenced,
    "L3": _apart,
    "L4": _apart,
}


@contextlib.asynccontextmanager
async def sandboxed(level: str, home: Home, limits: Limits) -> AsyncIterator[Sandbox]:
    """Make a sandbox; leaving the block kills everything in it. Raise KeeperDied when it cannot be made.

    It must be entered in the main thread: a sandbox dies with the thread that started it.
    """
    async with _grouped(level, limits) as group, contextlib.AsyncExitStack() as stack:
        try:
            started = _start(level, home, limits, stack)
        except OSError as error:
            raise KeeperDied(f"no sandbox of level {level} can be made: {error}") from error
        stack.push_async_callback(_ended, started.process)
        conversation = Keeper(started.control, started.said)
        stack.callback(conversation.close)
        try:
            await conversation.kill_all()  # the first answer says that it stands
        except KeeperDied as died:
            raise KeeperDied(started.complaint() or str(died)) from died
        if group is not None:
            # Nothing foreign has run yet; all that the keeper starts will be born into the group.
            with _as_keeper_error():
                group.add(conversation.pid)
            conversation.count(group)
        try:
            yield Sandbox(level, conversation, group, started.said.get("TMPDIR", ""))
        finally:
            with contextlib.suppress(KeeperDied, KeeperOutOfMemory):
                await conversation.reap()


class Started(NamedTuple):
    """A keeper just started: our end of its socket, its outermost process, where that complains, what bots are told."""

    control: socket.socket
    process: subprocess.Popen[bytes]
    complaints: int
    said: Mapping[str, str]

    def complaint(self) -> str:
        """Return what has been complained about so far."""
        os.set_blocking(self.complaints, False)
        with contextlib.suppress(BlockingIOError):
            return os.read(self.complaints, 2000).decode(errors="replace").strip()
        return ""


def _start(level: str, home: Home, limits: Limits, stack: contextlib.ExitStack | contextlib.AsyncExitStack) -> Started:
    """Start a keeper; what must be undone when it has ended goes onto the stack. Raise OSError when it cannot be."""
    with Lent() as lent:
        complaints, complains = os.pipe()
        stack.callback(os.close, complaints)
        lent.callback(os.close, complains)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(ours.close)
        lent.callback(theirs.close)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        user = stack.enter_context(users.borrow_uid())
        _give(home, user)
        way = stack.enter_context(LAUNCHERS[level](SandboxRequest(home, limits, user), lent))
        command = [*way.command, *keeper.arguments(theirs.fileno(), limits, way.world)]
        inherited = (theirs.fileno(), *way.inherited)
        return Started(ours, _spawn(command, inherited, complains, way.folder, user), complaints, way.said)


def _give(home: Home, user: tuple[int, int]) -> None:
    """Make a sandbox's user the owner of what it may write."""
    if home.state is not None:
        os.chown(home.state, *user)
    if home.writable:
        for place, _folders, names in os.walk(home.folder):
            for path in (Path(place), *(Path(place, name) for name in names)):
                os.chown(path, *user, follow_symlinks=False)


@contextlib.asynccontextmanager
async def _grouped(level: str, limits: Limits) -> AsyncIterator[Group | None]:
    """Have a control group at level L4; it is removed when its sandbox has ended."""
    if level != "L4":
        yield None
        return
    with _as_keeper_error():
        group = Group(cgroup.base(), limits)
    try:
        yield group
    finally:
        with trio.CancelScope(shield=True):
            for wait in group.waits():
                await trio.sleep(wait)


@contextlib.contextmanager
def _as_keeper_error() -> Iterator[None]:
    """Let no sandbox be weaker than it says: without its group it is none."""
    try:
        yield
    except NoGroup as reason:
        raise KeeperDied(f"no control group: {reason}") from reason


def _spawn(
    command: Sequence[str], inherited: Sequence[int], stderr: int, folder: str, user: tuple[int, int]
) -> subprocess.Popen[bytes]:
    """Start the sandbox's outermost process, as an ordinary user and with nothing in its environment."""
    root = os.geteuid() == 0
    uid, gid = user
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
    """Wait for a process that has no reason to live on; kill it when it does."""
    with trio.move_on_after(1):
        while process.poll() is None:
            await trio.sleep(0.0005)
        return
    process.kill()
    process.wait()


class Mechanism(NamedTuple):
    """One of the things that sandboxes are made of, whether it works here, and what else is known of it."""

    name: str
    works: bool
    words: str = ""


class HostCapabilities(NamedTuple):
    """What this machine can do: the strongest level, what it is made of, and what stands in the way of the next one."""

    level: str
    reasons: tuple[Problem, ...]
    mechanisms: tuple[Mechanism, ...] = ()


@cache
def detect() -> HostCapabilities:
    """Return the strongest level that works here, by making such a sandbox and running a program in it."""
    mechanisms: list[Mechanism] = []
    problems: list[Problem] = []

    def works(name: str, problem: Problem | None, words: str = "") -> bool:
        mechanisms.append(Mechanism(name, problem is None, words))
        if problem is not None:
            problems.append(problem)
        return problem is None

    def so(level: str) -> HostCapabilities:
        return HostCapabilities(level, tuple(problems), tuple(mechanisms))

    if not works("seccomp", _no_filter()):
        return so("none")
    built = works("keeper", _no_keeper())
    installed = works("bubblewrap", _no_bubblewrap())
    if not built:
        return so("none")  # every other level, L2 too, needs the keeper
    version = landlock.version()
    if installed and works("user namespace", _no_namespaces()):
        mechanisms.append(Mechanism("landlock", version >= landlock.WANTED, str(version)))
        return so("L4" if works("cgroup", _no_group(), _group_words()) else "L3")
    return so("L2" if works("landlock", _no_landlock(), str(version)) else "none")


def _no_filter() -> Problem | None:
    try:
        seccomp.program()
    except (ImportError, OSError) as broken:
        return Problem("S004", "", f"libseccomp does not load: {broken}", hint="apt install libseccomp2")
    return None


def _no_bubblewrap() -> Problem | None:
    if bubblewrap.program() is None:
        return Problem("S003", "", "bubblewrap is not installed", hint="apt install bubblewrap")
    return None


def _no_keeper() -> Problem | None:
    try:
        keeper.binary()
    except UserError as refused:
        return refused.problems[0]
    return None


def _no_namespaces() -> Problem | None:
    if said := _refused("L3"):
        cure = "sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; in a container: "
        cure += "--security-opt seccomp=docker/seccomp.json --security-opt apparmor=unconfined (docs/running.md)"
        return Problem("S001", "", "bubblewrap cannot make a sandbox here", said[-500:] + _why_no_namespaces(), cure)
    return None


def _no_landlock() -> Problem | None:
    if landlock.version() < landlock.WANTED:
        told = f"Landlock has ABI {landlock.version()} here; {landlock.WANTED} is the first that keeps signals inside"
        return Problem("S006", "", told, hint="Linux 6.12 or younger, with landlock among its security modules (lsm=…)")
    if said := _refused("L2"):
        return Problem("S006", "", "Landlock cannot fence a program in here", said)
    return None


def _no_group() -> Problem | None:
    try:
        cgroup.base()
    except NoGroup as reason:
        return Problem("S007", "", "no control group can be made here", str(reason), cgroup.cure())
    return None


def _group_words() -> str:
    with contextlib.suppress(NoGroup):
        return str(cgroup.base().version)
    return ""


@cache
def randomizes_pids(level: str) -> bool:
    """Return whether no process of a level can tell by its number how many there were before, tried where one could.

    A container that shows /proc/sys read-only lets nobody set the next number.
    """
    if level not in ("L3", "L4"):
        return True
    refused, output = _probe("L3", b"/bin/sh", b"-c", b"echo $$")
    return not refused and int(output) >= LOWEST


def _refused(level: str) -> str:
    """Return what keeps a level from working, tried by running a program in such a sandbox; empty when it works."""
    return _probe(level, b"/bin/true")[0]


def _probe(level: str, *words: bytes) -> tuple[str, bytes]:
    """Return what keeps a program from running in a sandbox of a level, empty when nothing does, and what it has written."""
    home = Home(Path("/usr/share"))
    with contextlib.ExitStack() as stack:
        try:
            started = _start(level, home, Limits(), stack)
        except OSError as error:
            return str(error), b""
        stack.callback(process_tree.wait_for_exit, started.process, keeper.TRIAL)
        stack.callback(started.control.close)
        try:
            ended = keeper.ask_sync(started.control, words)
        except OSError as error:
            return started.complaint() or str(error), b""
        return "" if ended.status == 0 and not ended.error else ended.words, ended.output


def _why_no_namespaces() -> str:
    told = ""
    for name in (
        "kernel/unprivileged_userns_clone",
        "user/max_user_namespaces",
        "kernel/apparmor_restrict_unprivileged_userns",
    ):
        setting = Path("/proc/sys") / name
        if setting.exists():
            told += f"\n{name.replace('/', '.')} = {setting.read_text().strip()}"
    return told


def require_level(level: str) -> str:
    """Return the level in force for a demanded minimum; raise Refused (exit code 6) when the machine has less."""
    if level == "none":
        return level
    here = detect()
    if at_least(here.level, level):
        return here.level
    cure = "cure what is named above (croupier doctor), or --unsafe to run all unprotected, on your own bots only"
    if here.level != "none":
        cure += f'; or level = "{here.level}" in croupier.toml: weaker, so see docs/security.md first'
    told = f'[sandbox] level = "{level}" is demanded and this machine gives "{here.level}"'
    raise UserError([Problem("S001", "", told, "\n".join(map(str, here.reasons)), cure)], 6)


def clock_problem(clock: str, level: str) -> Problem | None:
    """Return why a clock cannot be had: nothing tells what it counts, all computing to the last child, or waits."""
    if clock != "wall" and level != "L4":
        told = f'[limits] clock = "{clock}" needs a control group (level L4), and the level is {level}'
        cure = 'level = "L4" under [sandbox]' if detect().level == "L4" else cgroup.cure()
        return Problem("S009", "", told, hint=f'clock = "wall"; or {cure}')
    if clock == "fair" and not _counts_waits():
        told = '[limits] clock = "fair" needs /proc/PID/schedstat, and this kernel does not count there'
        return Problem("S009", "", told, hint='clock = "wall" or "cpu"; or a kernel with CONFIG_SCHED_INFO')
    return None


def _counts_waits() -> bool:
    """Return whether the kernel counts how long a process has waited for a processor, and how often it was let run."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path("/proc/self/schedstat").read_text().split()[2]) > 0
    return False


def require_clock(clock: str, level: str) -> None:
    """Raise Refused (exit code 6) when a clock cannot be had at a level."""
    if problem := clock_problem(clock, level):
        raise UserError([problem], 6)
