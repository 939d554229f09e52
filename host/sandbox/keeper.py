"""Sends requests to a keeper and reads its replies. Also finds or compiles the keeper's binary."""

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
from host.sandbox.cgroup import Cgroup
from host.sandbox.limits import Limits

REQUEST, REPLY = struct.Struct("=6I2q"), struct.Struct("=2i4I5q")
CREDENTIALS = struct.Struct("3i")  # process number, uid and gid of the sender, set by the kernel
ROOM = socket.CMSG_SPACE(CREDENTIALS.size)
TIMED_OUT, FLOODED, OVER_CPU, EXITED, STOPPED, REAP_PENDING = 1, 2, 4, 8, 16, 32
LONGEST_REPLY = 128 << 10
MOST_WORDS, LONGEST_REQUEST = 1024, 128 << 10
"""Limits of a request: words of the command, as many variables, and bytes in total."""
MOST_QUESTION_WORDS, LONGEST_QUESTION = 512, 48 << 10
"""Limits of a question's arguments: words and bytes. The rest of a request is the bot's command and environment."""

LINE_END = 2  # bytes of a line end, allowed beyond the limit of an answer
TRIAL = 20.0  # seconds for a test of a sandbox; a busy machine needs long
BUSY_TIMEOUT_S = 20.0
"""Seconds beyond the given limits after which a silent keeper counts as dead. A keeper that crashes is detected
immediately, because its socket closes. Killed processes with a million mappings can take seconds to exit; they are
reaped later."""


class KeeperDied(HostFailure):
    """Raised when a keeper ends or stops replying, and the cause is unknown."""


class KeeperOutOfMemory(Exception):
    """Raised when the kernel has killed a keeper because its bot used up the memory. This is a fault of the bot."""


def with_gap(first: bytes, left_out: int, last: bytes) -> bytes:
    """Return a text of two parts. If bytes are left out between the parts, add a line there with their number."""
    if left_out <= 0:
        return first + last
    return b"%b\n%b\n%b" % (first, f"… {left_out} bytes left out …".encode(), last)


class Ended(NamedTuple):
    """The end of a process, and the usage of it and its descendants.

    Times are in seconds. Memory is that of the largest process, in bytes.
    """

    status: int  # from wait4
    error: int  # errno if the process could not be started
    flags: int
    wall: float
    cpu: float
    memory: int
    output: bytes
    stderr: bytes  # all, or half from its start and half from its end if it is too long
    complaints: int  # total bytes written to standard error
    own: float  # processor time of the keeper itself since it started
    killed: int = 0  # processes that the kernel killed because the group had no memory left

    @property
    def timed_out(self) -> bool:
        """Return whether the output of the process was still open at the deadline."""
        return bool(self.flags & TIMED_OUT)

    @property
    def stopped(self) -> bool:
        """Return whether the keeper killed the process before it ended by itself."""
        return bool(self.flags & STOPPED) and os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == SIGKILL

    @property
    def marked_stderr(self) -> bytes:
        """Return the standard error, with a line where bytes are left out."""
        half = len(self.stderr) // 2
        return with_gap(self.stderr[:half], self.complaints - len(self.stderr), self.stderr[half:])

    @property
    def words(self) -> str:
        """Return how the process ended, as text for people."""
        if self.error:
            return f"could not be started: {os.strerror(self.error)}"
        if self.killed:
            return f"out of memory: the kernel has killed {self.killed} process{'es' if self.killed > 1 else ''}"
        if self.stopped or not self.flags & EXITED:
            return "was stopped"
        if os.WIFSIGNALED(self.status):
            return f"killed by signal {os.WTERMSIG(self.status)}"
        return f"exited with {os.WEXITSTATUS(self.status)}"


LOST = Ended(0, 0, 0, 0.0, 0.0, 0, b"", b"", 0, 0.0)
"""The end of a process whose keeper has died: nothing is known of it."""

TOO_LONG = LOST._replace(error=errno.E2BIG)


def fits_message(words: Sequence[bytes], env: Mapping[str, str]) -> bool:
    """Return whether a command and its environment fit into a request. A bot's author chooses their sizes."""
    size = sum(len(word) + 1 for word in words) + sum(len(f"{name}={env[name]}".encode()) + 1 for name in env)
    return max(len(words), len(env)) <= MOST_WORDS and REQUEST.size + size <= LONGEST_REQUEST


CURE = "apt install gcc libc6-dev"


@cache
def binary() -> Path:
    """Return the path of the keeper's binary in the cache; its name is the hash of its source.

    If it is missing, copy it from the installed wheel; if the wheel does not contain it, compile it. The copy is needed
    because the user of a sandbox may be unable to read the folder of the installation. Raise UserError (exit code 6) if
    there is neither a shipped keeper nor a C compiler that works.
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


QUICK_REPLY_MS = 1
"""Milliseconds to wait for the reply to a start or a sweep before other tasks run. Most C programs start and exit in
less; to wake a task of trio costs 60 µs."""


class Overdue(NamedTuple):
    """A function to call while there is no reply: first after `seconds`, then after the seconds that it returns."""

    seconds: float
    look: Callable[[float], float]
    """Takes the seconds since the question, and returns the seconds until the next call."""


class KeeperConfig(NamedTuple):
    """Settings of one keeper: the /tmp that it empties, and the restrictions that it puts on every bot."""

    tasks: int  # limit of processes and threads, with the keeper; 0 = no limit
    tmp: str = "/tmp"  # "" if the bot has no /tmp of its own
    ruleset: int = -1  # descriptor of Landlock's ruleset; -1 = none
    filter: int = -1  # descriptor of a system call filter for bots only; -1 = none
    numbers: int = -1  # descriptor of the file that sets the next process number; -1 = none
    kept: str = ""  # a folder that outlives the processes of a bot, until `forget`


def arguments(control: int, limits: Limits, world: KeeperConfig) -> list[str]:
    """Return the keeper's arguments: its socket, the limits of every process that it starts, and its settings."""
    numbers = (control, world.tasks, max(limits.files, limits.state), limits.open_files)
    return [*map(str, numbers), world.tmp, *map(str, (world.ruleset, world.filter, world.numbers)), world.kept]


class CgroupSnapshot(NamedTuple):
    """Usage of a control group at one moment.

    `computed` and `own` are processor seconds, of the group and of its keeper. `killed` is the number of processes that
    the kernel killed because of the memory limit.
    """

    computed: float
    own: float
    killed: int


class Keeper:
    """A connection to one keeper, for one request at a time.

    Usage is exact if the keeper is in a control group. Otherwise it is what wait4 reports.
    """

    def __init__(
        self, control: socket.socket, said: Mapping[str, str], last_words: Callable[[], str] = lambda: ""
    ) -> None:
        control.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        # Number of words at the start of every command that start an interpreter, which stays alive; 0 = cold starts.
        self.warm = 0
        self.pid = 0  # process number of the keeper on the host, known after the first reply
        control.setblocking(False)
        self._control = control
        self._peek = select.poll()
        self._peek.register(control, select.POLLIN)
        self._said = said  # variables in the environment of every bot
        self._last_words = last_words  # returns what the sandbox wrote and how it ended
        self._group: Cgroup | None = None
        self._own = 0.0
        self._since = CgroupSnapshot(0.0, 0.0, 0)
        self._reap_pending = False  # whether killed processes may still be exiting

    def count(self, group: Cgroup) -> None:
        """Measure usage by a control group from now on. The caller has just moved the keeper into the group."""
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
        """Run a program for at most `wall` seconds. Return how it ended, with its output and usage.

        Before it replies, the keeper kills everything that the program left behind. Call `overdue` while there is no
        reply. Raise KeeperDied or KeeperOutOfMemory.
        """
        return await self._request(b"A", argv, env, limits, wall, overdue=overdue)

    async def start(
        self, argv: Iterable[bytes], env: Mapping[str, str], limits: Limits, stdio: tuple[int, int, int]
    ) -> Ended:
        """Kill everything in the sandbox, then start a program. In the result, `error` is 0, or the errno of a failure.

        `stdio` are the descriptors for its standard input, output and error.
        """
        return await self._request(b"S", argv, env, limits, limits.startup, stdio)

    async def kill_all(self, patience: float = 0.0) -> Ended:
        """Kill everything in the sandbox; return how the started program ended, and its usage since the start.

        First give the program `patience` seconds to exit by itself.
        """
        return await self._request(b"K", (), {}, Limits(), patience)

    async def reap(self) -> float:
        """Wait until all killed processes are gone. Return the processor time that no report contains yet, in seconds."""
        if not self._reap_pending:
            return 0.0
        return (await self._request(b"K", (), {}, Limits(), 0.0, patient=True)).cpu

    def kill_now(self) -> None:
        """Kill everything in the sandbox immediately. The keeper answers the pending request with the output so far."""
        self._tell(b"X")

    def pause(self) -> None:
        """Freeze all processes in the sandbox."""
        self._tell(b"P")

    def resume(self) -> None:
        """Resume all processes in the sandbox."""
        self._tell(b"R")

    def forget(self) -> None:
        """Kill everything in the sandbox, and empty the folder that outlives its processes."""
        self._tell(b"F")

    def _tell(self, kind: bytes) -> None:
        """Send a request that has no reply. A broken connection is detected by the next request that has one."""
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
        self._reap_pending = False
        try:
            self._control.sendmsg([request], passed)  # the buffer has room: only one request is pending at a time
            is_quick = kind != b"A" and self._peek.poll(QUICK_REPLY_MS)
            silent = not is_quick and not await self._replied(wall, overdue)
            if not silent:
                reply, ancillary, _, _ = self._control.recvmsg(LONGEST_REPLY, ROOM)
                if reply:
                    self.pid = CREDENTIALS.unpack(ancillary[0][2])[0]
                    return self._counted(_read(reply), kind)
        except OSError as broken:
            self._raise_if_outgrown()
            raise self._died(f"lost the connection to the keeper: {broken}") from broken
        self._raise_if_outgrown()
        raise self._died("the keeper does not respond" if silent else "the keeper has exited")

    def _died(self, how: str) -> KeeperDied:
        return KeeperDied("; ".join(filter(None, (how, self._last_words()))))

    async def _replied(self, wall: float, overdue: Overdue | None) -> bool:
        """Wait for a reply, and call `overdue` meanwhile. Return whether the reply came in time."""
        began = trio.current_time()
        last = began + wall + BUSY_TIMEOUT_S
        look = began + overdue.seconds if overdue else last
        while True:
            # Shielded: a keeper cannot be asked again after its reply was abandoned.
            with trio.CancelScope(shield=True, deadline=min(look, last)) as scope:
                await trio.lowlevel.wait_readable(self._control.fileno())
            now = trio.current_time()
            if not scope.cancelled_caught or self._peek.poll(0):
                return True
            if overdue is None or now >= last:
                return False
            look = now + overdue.look(now - began)

    def _spot(self) -> CgroupSnapshot:
        if self._group is None:
            return self._since
        return CgroupSnapshot(self._group.computed(), self._own, self._group.killed())

    def _counted(self, ended: Ended, kind: bytes) -> Ended:
        """Return `ended` with the usage since the last start as the group counted it, without the keeper's own."""
        self._own, self._reap_pending = ended.own, bool(ended.flags & REAP_PENDING)
        if self._group is None:
            return ended
        now, since = self._spot(), self._since
        if kind == b"K" or self._reap_pending:
            self._since = now
        computed = now.computed - since.computed - (now.own - since.own)
        return ended._replace(cpu=max(computed, 0.0), killed=now.killed - since.killed)

    def _raise_if_outgrown(self) -> None:
        if self._group is not None and self._group.killed() > self._since.killed:
            raise KeeperOutOfMemory("out of memory: the kernel has killed all processes, including the keeper")

    def close(self) -> None:
        """Close the socket. The keeper then exits, and its whole sandbox with it."""
        self._control.close()


def ask_sync(control: socket.socket, argv: Sequence[bytes]) -> Ended:
    """Let a keeper run a program, without an event loop. Return how it ended. Raise OSError if there is no reply."""
    control.settimeout(TRIAL + BUSY_TIMEOUT_S)
    control.send(_packed(b"A", argv, {}, Limits(), TRIAL, patient=True))
    reply = control.recv(LONGEST_REPLY)
    if not reply:
        raise ConnectionResetError("the keeper has exited")
    return _read(reply)


def _packed(
    kind: bytes,
    words: Sequence[bytes],
    env: Mapping[str, str],
    limits: Limits,
    wall: float,
    warm: int = 0,
    *,
    patient: bool,
) -> bytes:
    variables = [f"{name}={value}".encode() for name, value in env.items()]
    longest = limits.output + LINE_END
    counts = (len(words), len(variables), longest, warm, patient)
    head = REQUEST.pack(kind[0], *counts, int(wall * 1e9), int(limits.cpu * 1e9))
    return head + b"".join(word + b"\0" for word in (*words, *variables))


def _read(reply: bytes) -> Ended:
    status, error, flags, written, errors, _reaped, wall, cpu, own, memory, complaints = REPLY.unpack_from(reply)
    output = reply[REPLY.size : REPLY.size + written]
    stderr = reply[REPLY.size + written : REPLY.size + written + errors]
    return Ended(status, error, flags, wall / 1e9, cpu / 1e9, memory * 1024, output, stderr, complaints, own / 1e9)
