"""The host's end of the keeper: what may be asked of it, and how its one small binary comes to be."""

import errno
import os
import select
import shutil
import socket
import struct
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from signal import SIGKILL
from typing import NamedTuple

import trio

from host.base import paths
from host.base.errors import HostFailure, Problem, UserError
from host.sandbox import keeper_build
from host.sandbox.cgroup import Group
from host.sandbox.limits import Limits

REQUEST, REPLY = struct.Struct("=6I2q"), struct.Struct("=2i4I5q")
CREDENTIALS = struct.Struct("3i")  # a process, its user and group, as the kernel vouches for them
ROOM = socket.CMSG_SPACE(CREDENTIALS.size)
TIMED_OUT, FLOODED, OVER_CPU, EXITED, STOPPED, REAP_PENDING = 1, 2, 4, 8, 16, 32
LONGEST_REPLY = 128 << 10
MOST_WORDS, LONGEST_REQUEST = 1024, 128 << 10
"""What a keeper has room for: words of a command, as many variables, and the bytes of all of them."""

LINE_END = 2  # bytes that an answer may be longer than its limit
TRIAL = 20.0  # seconds that a trial may take: a busy machine is not one without sandboxes
PATIENCE = 20.0
"""Seconds that a keeper may take longer than the limits it was given before it is taken for dead. One that has died is known at
once, by the end of its socket; but what it kills may take seconds to die, when it has a million mappings: it is buried later."""


class KeeperDied(HostFailure):
    """Raised when a keeper ends or falls silent and nobody knows why."""


class KeeperOutOfMemory(Exception):
    """Raised when the kernel has killed a keeper because its bot has used up its memory: a fault of the bot."""


class Ended(NamedTuple):
    """How a process ended and what it and its descendants used: seconds, and bytes of the largest process."""

    status: int  # as of wait4
    error: int  # errno when it could not be started
    flags: int
    wall: float
    cpu: float
    memory: int
    output: bytes
    stderr: bytes
    complaints: int  # bytes written to stderr in all
    own: float  # seconds of the keeper itself since it began
    killed: int = 0  # processes that the kernel has killed for their group's memory

    @property
    def timed_out(self) -> bool:
        """Whether it was still talking at its deadline."""
        return bool(self.flags & TIMED_OUT)

    @property
    def stopped(self) -> bool:
        """Whether it was killed by its keeper rather than ended."""
        return bool(self.flags & STOPPED) and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == SIGKILL

    @property
    def words(self) -> str:
        """How it ended, for people."""
        if self.error:
            return f"could not be started: {os.strerror(self.error)}"
        if self.killed:
            return f"out of memory: the kernel has killed {self.killed} process{'es' if self.killed > 1 else ''} of it"
        if self.stopped or not self.flags & EXITED:
            return "was stopped"
        if os.WIFSIGNALED(self.status):
            return f"killed by signal {os.WTERMSIG(self.status)}"
        return f"exited with {os.WEXITSTATUS(self.status)}"


TOO_LONG = Ended(0, errno.E2BIG, 0, 0.0, 0.0, 0, b"", b"", 0, 0.0)


def fits_message(words: Sequence[bytes], env: Mapping[str, str]) -> bool:
    """Return whether there is room for a command and its environment; their sizes are a stranger's choice."""
    size = sum(len(word) + 1 for word in words) + sum(len(f"{name}={env[name]}".encode()) + 1 for name in env)
    return max(len(words), len(env)) <= MOST_WORDS and REQUEST.size + size <= LONGEST_REQUEST


CURE = "apt install gcc libc6-dev"


@cache
def binary() -> Path:
    """Return the keeper's program in the cache, named by the hash of its source.

    It is copied from the installed wheel if that contains it, else compiled by this machine's C compiler. The copy is needed
    because the user of a sandbox may be unable to read the folder of the installation.
    Raise Refused (exit code 6) when there is neither a shipped keeper nor a C compiler that works.
    """
    folder = paths.cache_dir() / "keeper"
    name = keeper_build.file_name()
    target, shipped = folder / name, keeper_build.SHIPPED_FOLDER / name
    if target.exists():
        return target
    folder.mkdir(exist_ok=True, mode=0o755)
    made = folder / f"making-{os.getpid()}"
    if shipped.exists():
        shutil.copyfile(shipped, made)
        made.chmod(0o755)
    else:
        try:
            keeper_build.compile_keeper(made, keeper_build.STATIC, keeper_build.DYNAMIC)
        except keeper_build.BuildError as error:
            raise UserError([Problem("S002", "", error.reason, error.output, CURE)], 6) from error
    made.rename(target)
    return target


Overdue = Callable[[float], float]
"""Told how long a question has taken, it says in how many seconds it wants to be told again."""


class KeeperConfig(NamedTuple):
    """What a keeper is told of where it stands: whose /tmp it empties, and what it must put on every bot itself."""

    tasks: int  # of all processes that the kernel counts together, the keeper among them; 0 = no limit
    tmp: str = "/tmp"  # empty where the bot has none of its own
    ruleset: int = -1  # descriptors of Landlock's ruleset and of a system call filter for bots alone; -1 for none
    filter: int = -1
    numbers: int = -1  # of where to set the next process's number


def arguments(control: int, limits: Limits, world: KeeperConfig) -> list[str]:
    """Return the keeper's own arguments: its socket, the limits that hold for every process it starts, its world."""
    numbers = (control, world.tasks, max(limits.files, limits.state), limits.open_files)
    return [*map(str, numbers), world.tmp, *map(str, (world.ruleset, world.filter, world.numbers))]


class CgroupSnapshot(NamedTuple):
    """What had been used at one moment: seconds of the group and of the keeper in it, processes killed in it."""

    computed: float
    own: float
    killed: int


class Keeper:
    """A conversation with one keeper; one request at a time. What it reports of a group is exact, else as wait4 knows it."""

    def __init__(self, control: socket.socket, said: Mapping[str, str]) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.warm = 0  # words of every command that are an interpreter's own, which is kept; 0 = each start is cold
        self.pid = 0  # of the keeper as this process sees it, known from its first reply on
        control.setblocking(False)
        self._control = control
        self._peek = select.poll()
        self._peek.register(control, select.POLLIN)
        self._said = said  # to every bot, whatever else its environment is
        self._group: Group | None = None
        self._own = 0.0
        self._since = CgroupSnapshot(0.0, 0.0, 0)
        self._unswept = False  # whether those that were killed have yet to die

    def count(self, group: Group) -> None:
        """Take usage from the group that the keeper is now in."""
        self._group = group
        self._since = self._spot()

    async def ask(
        self,
        argv: Iterable[bytes],
        env: Mapping[str, str],
        limits: Limits,
        wall: float,
        overdue: Overdue | None = None,
    ) -> Ended:
        """Start the program afresh and return its whole output; everything it left behind is killed by then.

        `overdue` is called when there is no answer after the limit of a move, and then when it says so.
        """
        return await self._request(b"A", argv, env, limits, wall, overdue=overdue)

    async def start(
        self, argv: Iterable[bytes], env: Mapping[str, str], limits: Limits, stdio: tuple[int, int, int]
    ) -> Ended:
        """Start the program on three descriptors, in a sandbox swept clean; `error` says why it could not be."""
        return await self._request(b"S", argv, env, limits, limits.startup, stdio)

    async def kill_all(self, patience: float = 0.0) -> Ended:
        """Kill everything in the sandbox; return how the started program ended and what was used since its start.

        It has `patience` seconds to exit by itself, when it is about to.
        """
        return await self._request(b"K", (), {}, Limits(), patience)

    async def reap(self) -> float:
        """Wait until all that was killed is gone; return the seconds it has used since its end was told, mostly none."""
        if not self._unswept:
            return 0.0
        return (await self._request(b"K", (), {}, Limits(), 0.0, patient=True)).cpu

    def kill_now(self) -> None:
        """Kill everything in the sandbox at once; the question under way is answered with what there is."""
        self._tell(b"X")

    def pause(self) -> None:
        """Stop everything in the sandbox."""
        self._tell(b"P")

    def resume(self) -> None:
        """Let everything in the sandbox go on."""
        self._tell(b"R")

    def _tell(self, kind: bytes) -> None:
        """Send a request that has no reply; what is wrong with the keeper is found by the next one that has."""
        with suppress(OSError):
            self._control.send(REQUEST.pack(kind[0], *(0,) * 7))

    async def _request(
        self,
        kind: bytes,
        argv: Iterable[bytes],
        env: Mapping[str, str],
        limits: Limits,
        wall: float,
        stdio: tuple[int, ...] = (),
        overdue: Overdue | None = None,
        *,
        patient: bool = False,
    ) -> Ended:
        words, env = [*argv], {**env, **self._said}
        if not fits_message(words, env):
            return TOO_LONG
        warm = self.warm if kind in b"AS" else 0
        request = _packed(kind, words, env, limits, wall, warm, patient=patient)
        passed = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", stdio).tobytes())] if stdio else []
        if kind != b"K":
            self._since = self._spot()
        self._unswept = False
        try:
            self._control.sendmsg([request], passed)  # there is room: never more than one is under way
            silent = not await self._replied(wall, limits.move, overdue)
            if not silent:
                reply, told, _, _ = self._control.recvmsg(LONGEST_REPLY, ROOM)
                if reply:
                    self.pid = CREDENTIALS.unpack(told[0][2])[0]
                    return self._counted(_read(reply), kind)
        except OSError as broken:
            self._raise_if_outgrown()
            raise KeeperDied(f"the keeper has gone: {broken}") from broken
        self._raise_if_outgrown()
        raise KeeperDied("the keeper is silent" if silent else "the keeper has gone")

    async def _replied(self, wall: float, move: float, overdue: Overdue | None) -> bool:
        """Wait for a reply; return whether it has come in time. Whoever is overdue is asked about meanwhile."""
        began = trio.current_time()
        last = began + wall + PATIENCE
        look = began + move if overdue else last
        while True:
            # Shielded: a keeper that was left in the middle of a reply cannot be asked again.
            with trio.CancelScope(shield=True, deadline=min(look, last)) as scope:
                await trio.lowlevel.wait_readable(self._control.fileno())
            now = trio.current_time()
            if not scope.cancelled_caught or self._peek.poll(0):
                return True
            if overdue is None or now >= last:
                return False
            look = now + overdue(now - began)

    def _spot(self) -> CgroupSnapshot:
        if self._group is None:
            return self._since
        return CgroupSnapshot(self._group.computed(), self._own, self._group.killed())

    def _counted(self, ended: Ended, kind: bytes) -> Ended:
        """Return what the group says was used since the last start, the keeper's own work left out."""
        self._own, self._unswept = ended.own, bool(ended.flags & REAP_PENDING)
        if self._group is None:
            return ended
        now, since = self._spot(), self._since
        if kind == b"K" or self._unswept:
            self._since = now
        computed = now.computed - since.computed - (now.own - since.own)
        return ended._replace(cpu=max(computed, 0.0), killed=now.killed - since.killed)

    def _raise_if_outgrown(self) -> None:
        if self._group is not None and self._group.killed() > self._since.killed:
            raise KeeperOutOfMemory("out of memory: the kernel has killed everything, the keeper too")

    def close(self) -> None:
        """Let go of the dead man's switch: the keeper exits and its whole sandbox with it."""
        self._control.close()


def ask_sync(control: socket.socket, argv: Sequence[bytes]) -> Ended:
    """Ask a keeper by its bare socket, without an event loop; raise OSError when it does not answer."""
    control.settimeout(TRIAL + PATIENCE)
    control.send(_packed(b"A", argv, {}, Limits(), TRIAL))
    reply = control.recv(LONGEST_REPLY)
    if not reply:
        raise ConnectionResetError("the keeper has gone")
    return _read(reply)


def _packed(
    kind: bytes,
    words: Sequence[bytes],
    env: Mapping[str, str],
    limits: Limits,
    wall: float,
    warm: int = 0,
    *,
    patient: bool = True,
) -> bytes:
    variables = [f"{name}={value}".encode() for name, value in env.items()]
    longest = limits.output + LINE_END
    counts = (len(words), len(variables), longest, warm, patient)
    head = REQUEST.pack(kind[0], *counts, int(wall * 1e9), int(limits.cpu * 1e9))
    return head + b"".join(word + b"\0" for word in (*words, *variables))


def _read(reply: bytes) -> Ended:
    status, error, flags, said, complained, _reaped, wall, cpu, own, memory, complaints = REPLY.unpack_from(reply)
    output = reply[REPLY.size : REPLY.size + said]
    stderr = reply[REPLY.size + said : REPLY.size + said + complained]
    return Ended(status, error, flags, wall / 1e9, cpu / 1e9, memory * 1024, output, stderr, complaints, own / 1e9)
