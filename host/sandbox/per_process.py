"""Where no keeper can be built: a sandbox for each process, made by the host itself and killed as a whole.

To those above it is a keeper (keeper.py), only dearer. Inside, bubblewrap is PID 1, which no process in there can kill, and
reaps; a shell waits for the host's word and then becomes the bot. Until then the end of that pipe is the dead man's
switch; from then on it is an undertaker, one for a bot, who holds a descriptor of the PID 1 and outlives the host.
"""

import contextlib
import ctypes
import errno
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import trio

from host.sandbox import bubblewrap, seccomp
from host.sandbox.bubblewrap import Home
from host.sandbox.cgroup import Group, NoGroup
from host.sandbox.keeper import (
    EXITED,
    FLOODED,
    LINE_END,
    PATIENCE,
    STOPPED,
    TIMED_OUT,
    TOO_LONG,
    TRIAL,
    UNSWEPT,
    Ended,
    KeeperDied,
    Overdue,
    fits,
)
from host.sandbox.limits import Limits
from host.sandbox.process_tree import computed, descendants, ends_within

SHELL, PRLIMIT = "/bin/bash", "/usr/bin/prlimit"
"""The shell for which a descriptor may have more than one digit, and what sets limits to the byte."""

LINGER = 0.05  # seconds that a process which has closed its output may take to exit
BURIAL = 0.05  # seconds that a verdict waits for the killed to die
STALLED = 0.05  # seconds: who wakes up so late cannot say that the bot has not exited in time
COMPLAINT = 8 << 10  # bytes kept of standard error: its first and its last half
CHUNK = 1 << 16
SIGNALS = 512  # queued at once: the kernel counts them for all sandboxes of one user
SUBREAPER = 36  # prctl: PR_SET_CHILD_SUBREAPER
NOTHING = Ended(0, 0, 0, 0.0, 0.0, 0, b"", b"", 0, 0.0)

STARTER = f"""
shopt -s execfail
echo >&TELL
read -r croupier <&GO || exit 0
[[ ! -f $1 || ! -r $1 ]] || IFS= read -r -n 4 croupier <"$1"
case $croupier in
    '#!'* | $'\\177ELF' | '') ;;
    *) set -- /dev/null ;;
esac
unset PWD OLDPWD SHLVL croupier
{{ ulimit -n FILES; exec "$@"; }} <&IN >&OUT 2>&ERR GO<&- IN<&- OUT>&- ERR>&- TELL>&-
if [[ ! -e $1 ]]; then echo {errno.ENOENT}; elif [[ ! -x $1 ]]; then echo {errno.EACCES}; else echo {errno.ENOEXEC}; fi >&TELL
"""
"""What becomes the bot. A shell would run a text that names no interpreter, which is a program to nobody else.

The descriptors that the bot must not have are closed for the group alone, so that a start which fails can be told of.
"""


UNDERTAKER = """
import signal, socket, sys
host, handles, told = socket.socket(fileno=int(sys.argv[1])), [], True
while told:
    last, (told, handles, _, _) = handles, socket.recv_fds(host, 1, 1)
if last:
    signal.pidfd_send_signal(last[0], signal.SIGKILL)
    for path in sys.argv[3:]:
        open(path, "w").write(sys.argv[2])
"""
"""Holds what it was given last; when the host goes, it kills that, and thaws what is frozen, which cannot die."""


class World(NamedTuple):
    """For whom sandboxes are made, one after the other: what is seen in them, what may be used up, by which user."""

    home: Home
    limits: Limits
    user: tuple[int, int]
    group: Group | None
    undertaker: socket.socket | None = None


class Life(NamedTuple):
    """One process in its sandbox: bubblewrap's outer half and, by number, the PID 1; what tells of the end."""

    outer: "subprocess.Popen[bytes]"
    outside: int  # descriptors of these two, and of the bot; -1 for none
    inside: int
    bot: int
    status: int
    first: int = 0
    began: float = 0.0
    before: float = 0.0  # seconds that were computed to make the sandbox


class Keeperless:
    """What a keeper is to those above, where there is none."""

    def __init__(self, world: World) -> None:
        self.warm = 0  # nobody is there to keep an interpreter
        self._world = world
        self._life: Life | None = None
        self._paused = False
        self._unwanted = False  # whether it was cut short, which may be before it has begun
        self._since = (0.0, 0)  # the group's seconds, and processes killed in it, when the program was started
        self._dying: Life | None = None  # what was killed, and of whose end was told before it was gone
        self._told = 0.0  # seconds of it that were told

    @property
    def pid(self) -> int:
        """The PID 1 of the program under way, as the host sees it; 0 when there is none, or it is not the bot's yet."""
        return self._life.first if self._life and self._life.began else 0

    @property
    def pauses(self) -> bool:
        """Whether it can stop what runs: nobody in the sandbox can, so a group must."""
        return self._world.group is not None and self._world.group.freezes

    async def ask(
        self,
        argv: Iterable[bytes],
        env: Mapping[str, str],
        limits: Limits,
        wall: float,
        overdue: Overdue | None = None,
    ) -> Ended:
        """Start the program and return its whole output; everything it left behind is killed by then.

        `overdue` is called when there is no answer after the limit of a move, and then when it says so.
        """
        await self._end()
        words = [*argv]
        if not fits(words, env):
            return TOO_LONG
        with contextlib.ExitStack() as ours:
            with contextlib.ExitStack() as theirs:
                said, says = _pipe(ours, theirs)
                complained, complains = _pipe(ours, theirs)
                nothing = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)  # anew: its flags could be a memory
                theirs.callback(os.close, nothing)
                life, error = await self._begin(words, env, (nothing, says, complains))
            if error:
                return NOTHING._replace(error=error)
            hearing = Hearing(said, complained, limits.output + LINE_END)
            try:
                await hearing.listen(life, wall, limits.move, overdue)
            finally:
                took = time.perf_counter() - life.began
                ended = await self._end(BURIAL)
            return hearing.told(ended._replace(wall=took))

    async def start(
        self, argv: Iterable[bytes], env: Mapping[str, str], _limits: Limits, stdio: tuple[int, int, int]
    ) -> Ended:
        """Start the program on three descriptors; `error` says why it could not be."""
        await self._end()
        words = [*argv]
        if not fits(words, env):
            return TOO_LONG
        _, error = await self._begin(words, env, stdio)
        return NOTHING._replace(error=error)

    async def sweep(self, patience: float = 0.0) -> Ended:
        """Kill the program; return how it ended and what was used since its start.

        It has `patience` seconds to exit by itself, when it is about to.
        """
        if patience and self._life:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + patience):
                await trio.lowlevel.wait_readable(self._life.bot)
        return await self._end(BURIAL)

    async def bury(self) -> float:
        """Wait until all that was killed is gone; return the seconds it has used since its end was told, mostly none."""
        life, self._dying = self._dying, None
        if life is None:
            return 0.0
        with trio.CancelScope(shield=True):
            await _gone(life)
        cpu, _ = _closed(life)
        group = self._world.group
        return max((group.computed() if group else cpu - life.before) - self._told, 0.0)

    def cut(self) -> None:
        """Kill the program at once; the question under way is answered with what there is."""
        self._unwanted = True
        if self._life and self._life.began:
            self._kill(self._life)

    def _kill(self, life: Life) -> None:
        self.resume()
        if life.inside < 0:
            with contextlib.suppress(OSError):
                os.killpg(life.outer.pid, signal.SIGKILL)  # half made, it is one group still
        _kill(life.outside)  # first: so its PID 1 falls to us, with all that it knows of what was used
        _kill(life.inside)

    def pause(self) -> None:
        """Stop everything in the sandbox, where that can be done; where nobody is left, the next would be born frozen."""
        if self._world.group and self.pauses and self._life:
            self._paused = True
            self._world.group.freeze()

    def resume(self) -> None:
        """Let everything in the sandbox go on; a frozen process cannot even die."""
        if self._world.group and self._paused:
            self._paused = False
            self._world.group.thaw()

    async def _begin(
        self, argv: Iterable[bytes], env: Mapping[str, str], stdio: tuple[int, int, int]
    ) -> tuple[Life, int]:
        """Start a program in a sandbox of its own; return it, and 0 or the errno that says why it could not be started.

        Raise KeeperDied when there can be no sandbox. It cannot be cancelled: who kills the outer half of bubblewrap in
        the middle leaves the inner one waiting for ever.
        """
        with contextlib.ExitStack() as ours, trio.CancelScope(shield=True, deadline=trio.current_time() + TRIAL):
            with contextlib.ExitStack() as theirs:
                go, goes = _pipe(theirs, ours)
                told, tells = _pipe(ours, theirs)
                complaints, complains = _pipe(ours, theirs)
                reads, reports = os.pipe()
                theirs.callback(os.close, reports)
                os.set_blocking(reads, False)
                try:
                    command, inherited = _command(self._world, argv, env, (go, tells, *stdio), reports, theirs)
                    outer = _spawn(command, inherited, reads, complains, self._world.user)
                except OSError as broken:
                    os.close(reads)
                    raise KeeperDied(f"no sandbox can be made: {broken}") from broken
            self._unwanted = False
            life = self._life = Life(outer, os.pidfd_open(outer.pid), -1, -1, reads)
            try:
                first = json.loads(await _line(reads) or b"{}").get("child-pid", 0)
                if first:
                    life = self._life = life._replace(first=first, inside=os.pidfd_open(first))
                if first and await _line(told):
                    life = self._life = self._held(life)
                    os.write(goes, b"\n")
                    error = int(await _line(told) or b"0")
                    life = self._life = life._replace(began=time.perf_counter())
                    if self._unwanted:
                        self._kill(life)
                    if error:
                        await self._end()
                    return life, error
            except (OSError, ValueError, NoGroup) as broken:
                await self._end()
                raise KeeperDied(f"no sandbox can be made: {broken}") from broken
            await self._end()
            raise KeeperDied(_heard(complaints) or "no sandbox can be made: bubblewrap does not say why")
        await self._end()
        raise KeeperDied("no sandbox can be made: it takes too long")

    def _held(self, life: Life) -> Life:
        """Have what is about to become the bot counted, and sure to die with us; return what is known of it."""
        shell = int(Path(f"/proc/{life.first}/task/{life.first}/children").read_text())
        if self._world.undertaker:
            socket.send_fds(self._world.undertaker, [b"+"], [life.inside])
        if group := self._world.group:
            group.add(shell)
            self._since = group.computed(), group.killed()
        return life._replace(bot=os.pidfd_open(shell), before=_clock(life.first) + _clock(shell))

    async def _end(self, patience: float = math.inf) -> Ended:
        """Kill all that is left of the program; return how it ended and what it used, so far if it takes long to die."""
        await self.bury()
        life, self._life = self._life, None  # nobody may cut short what is ending: its descriptors are soon another's
        if life is None:
            return NOTHING
        with trio.CancelScope(shield=True):
            if life.bot >= 0 and _readable(life.bot):
                with trio.move_on_after(PATIENCE):  # it has exited: bubblewrap is about to say how
                    await trio.lowlevel.wait_readable(life.status)
            said = _heard(life.status)
            # The dead of a namespace that is killed are counted by nobody.
            living = 0.0 if said or self._world.group else sum(map(computed, descendants(life.first)))
            self._kill(life)
            with trio.move_on_after(patience) as waiting:
                await _gone(life)
        status, flags = _status(said)
        ended = NOTHING._replace(status=status, flags=flags, cpu=living)
        if waiting.cancelled_caught:
            self._dying, self._told = life, living
            ended = ended._replace(flags=flags | UNSWEPT)
        else:
            cpu, memory = _closed(life)
            ended = ended._replace(cpu=max(cpu - life.before, living), memory=memory)
        if self._world.group is None:
            return ended
        began, killed = self._since
        group, self._told = self._world.group, self._world.group.computed()
        return ended._replace(cpu=max(self._told - began, 0.0), killed=group.killed() - killed)


class Hearing:
    """What one program says, bounded and always drained, until it ends or its time does."""

    def __init__(self, said: int, complained: int, room: int) -> None:
        self._said, self._complained, self._room = said, complained, room
        for descriptor in (said, complained):
            os.set_blocking(descriptor, False)
        self._output = b""
        self._first, self._last = b"", b""  # halves of what is kept of standard error
        self._complaints = 0
        self._flags = 0

    async def listen(self, life: Life, wall: float, move: float, overdue: Overdue | None) -> None:
        """Hear it to its end, its deadline or its excess."""
        deadline, closed = life.began + wall, False
        look = life.began + move if overdue else deadline
        with select.epoll() as heard:
            for descriptor in (self._said, self._complained, life.bot):
                heard.register(descriptor, select.EPOLLIN)
            while (now := time.perf_counter()) < deadline:
                if overdue and now >= look:
                    look = now + overdue(now - life.began)
                with trio.move_on_after(max(min(look, deadline) - now, 0)):
                    await trio.lowlevel.wait_readable(heard.fileno())
                for descriptor, _ in heard.poll(0):
                    if descriptor == life.bot:
                        return
                    if descriptor == self._complained and not self._complain():
                        heard.unregister(descriptor)
                    if descriptor == self._said and not self._say():
                        heard.unregister(descriptor)
                        closed, deadline = True, min(deadline, time.perf_counter() + LINGER)
                if self._flags & FLOODED:
                    return
            exited = now - deadline > STALLED and _readable(life.bot)
        if not (closed or exited):
            self._flags |= TIMED_OUT

    def told(self, ended: Ended) -> Ended:
        """Return an end with what was heard, also what the dead have left in the pipes."""
        with contextlib.suppress(BlockingIOError):
            while not self._flags & FLOODED and self._say():
                pass
        with contextlib.suppress(BlockingIOError):
            while self._complain():
                pass
        return ended._replace(
            flags=ended.flags | self._flags,
            output=self._output[: self._room],
            stderr=self._first + self._last,
            complaints=self._complaints,
        )

    def _say(self) -> int:
        """Take a piece of the output; return its length, 0 at the end."""
        heard = os.read(self._said, CHUNK)
        self._output += heard
        if len(self._output) > self._room:
            self._flags |= FLOODED
        return len(heard)

    def _complain(self) -> int:
        heard = os.read(self._complained, CHUNK)
        fits = COMPLAINT // 2 - len(self._first)
        self._first += heard[:fits]
        self._last = (self._last + heard[fits:])[-(COMPLAINT // 2) :]
        self._complaints += len(heard)
        return len(heard)


def refusal(home: Home, user: tuple[int, int]) -> str:
    """Return why no such sandbox can be made here, tried by making one; empty when it can."""
    world = World(home, Limits(), user, None)
    with contextlib.ExitStack() as lent:
        for needed in (SHELL, PRLIMIT):
            if not Path(needed).exists():
                return f"{needed} is not there, by which every process is started where there is no keeper"
        go, goes = _pipe(lent, lent)
        os.write(goes, b"\n")
        complaints, complains = _pipe(lent, lent)
        tell, null, out, err, reports = (os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC) for _ in range(5))
        for descriptor in (tell, null, out, err, reports):
            lent.callback(os.close, descriptor)
        command, inherited = _command(world, [b"/bin/true"], {}, (go, tell, null, out, err), reports, lent)
        tried = _spawn(command, inherited, null, complains, user)
        if not ends_within(tried, TRIAL):
            return f"bubblewrap takes longer than {TRIAL:.0f} s"
        return "" if tried.returncode == 0 else _heard(complaints) or f"bubblewrap exits with {tried.returncode}"


def _command(
    world: World,
    argv: Iterable[bytes],
    env: Mapping[str, str],
    descriptors: tuple[int, int, int, int, int],
    reports: int,
    lent: contextlib.ExitStack,
) -> tuple[list[bytes], tuple[int, ...]]:
    """Return the command that runs a program in a sandbox of its own, and the descriptors that it must inherit.

    What is the bot's own secret goes through one: a command line can be read by everybody on the machine.
    """
    home, limits = world.home, world.limits
    filtered = seccomp.descriptor(seccomp.program() if home.writable else seccomp.whole(seccomp.AT_PLAY))
    lent.callback(os.close, filtered)
    options = bubblewrap.alone(home, filtered, reports)
    for name, value in env.items():
        options += ["--setenv", name, value]
    told = os.memfd_create("options")
    lent.callback(os.close, told)
    os.write(told, b"".join(os.fsencode(option) + b"\0" for option in options))
    os.lseek(told, 0, os.SEEK_SET)
    starter = STARTER.replace("FILES", str(limits.open_files))
    for word, descriptor in zip(("GO", "TELL", "IN", "OUT", "ERR"), descriptors, strict=True):
        starter = starter.replace(word, str(descriptor))
    limited = (
        *(PRLIMIT, f"--nproc={limits.tasks + 1}"),  # sound only inside an own user namespace; one is its PID 1
        f"--fsize={max(limits.files, limits.state)}",
        "--core=1",  # a byte, not none: the kernel then starts no program of the host's for a core
        *("--memlock=0", "--msgqueue=0", f"--sigpending={SIGNALS}"),
    )
    words = (bubblewrap.program() or "bwrap", "--args", str(told), "--", *limited, SHELL, "-p", "-c", starter, "bot")
    command = [*map(os.fsencode, words), *argv]
    return command, (*descriptors, reports, told, filtered)


def _spawn(
    command: list[bytes], inherited: tuple[int, ...], stdin: int, stderr: int, user: tuple[int, int]
) -> "subprocess.Popen[bytes]":
    """Start bubblewrap, as an ordinary user, with nothing in its environment and every signal as it should be.

    Its input is the other end of what it reports to: whose outer half may die of a host that does not listen any more, in
    the middle of making a sandbox, leaves the inner one waiting for ever.
    """
    root, (uid, gid) = os.geteuid() == 0, user
    with _unignored():
        return subprocess.Popen(
            command,
            env={},
            cwd="/",
            stdin=stdin,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            pass_fds=inherited,
            start_new_session=True,
            umask=0o077,
            user=uid if root else None,
            group=gid if root else None,
            extra_groups=[] if root else None,
        )


@contextlib.contextmanager
def _unignored() -> Iterator[None]:
    """Have no signal ignored that croupier's own starter has ignored: a child inherits that, but no handler."""
    restored = (signal.SIGPIPE, signal.SIGXFSZ)  # by Popen
    ignored = [
        number
        for number in signal.valid_signals()
        if number not in restored and signal.getsignal(number) is signal.SIG_IGN
    ]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def undertaker(host: socket.socket, group: Group | None) -> "subprocess.Popen[bytes]":
    """Start an undertaker at one end of a pair of sockets; when the other is closed he does his work and leaves."""
    quiet, number = subprocess.DEVNULL, host.fileno()
    command = [sys.executable, "-I", "-S", "-c", UNDERTAKER, str(number), *(group.thawing if group else ())]
    return subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(number,), start_new_session=True
    )


_adopting: set[object] = set()


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Have the PID 1 of a sandbox fall to us when its outer half has gone, so that its usage is ours to read.

    No longer than there are such sandboxes: nobody reaps what else would fall to us.
    """
    us = object()
    _adopting.add(us)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        _adopting.remove(us)
        if not _adopting:
            ctypes.CDLL(None).prctl(SUBREAPER, 0, 0, 0, 0)


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """Return a pipe's ends, each for its stack to close."""
    reads, writes = os.pipe()
    reader.callback(os.close, reads)
    writer.callback(os.close, writes)
    return reads, writes


async def _line(descriptor: int) -> bytes:
    """Return a line, empty when there comes none any more."""
    os.set_blocking(descriptor, False)
    line = b""
    while not line.endswith(b"\n"):
        await trio.lowlevel.wait_readable(descriptor)
        heard = os.read(descriptor, CHUNK)
        if not heard:
            return b""
        line += heard
    return line


def _heard(descriptor: int) -> str:
    """Return what there is to be read."""
    os.set_blocking(descriptor, False)
    with contextlib.suppress(BlockingIOError):
        return os.read(descriptor, CHUNK).decode(errors="replace").strip()
    return ""


def _readable(descriptor: int) -> bool:
    """Return whether there is something to be read, or somebody has ended."""
    looks = select.poll()
    looks.register(descriptor, select.POLLIN)
    return bool(looks.poll(0))


async def _gone(life: Life) -> None:
    """Wait until a sandbox that was killed is no more."""
    for handle in (life.outside, life.inside, life.bot):
        if handle >= 0:
            await trio.lowlevel.wait_readable(handle)


def _closed(life: Life) -> tuple[float, int]:
    """Let go of a sandbox that is no more; return the seconds computed in it and the bytes of its largest process."""
    for handle in (life.outside, life.inside, life.bot, life.status):
        if handle >= 0:
            os.close(handle)
    life.outer.wait()
    return _used(life.first)


def _kill(handle: int) -> None:
    with contextlib.suppress(OSError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def _status(said: str) -> tuple[int, int]:
    """Return a status as of wait4, and flags, for bubblewrap's last words: it gives a signal as a shell does."""
    if not said:
        return signal.SIGKILL, STOPPED
    code = int(json.loads(said).get("exit-code", 0))
    return code - 128 if code - 128 in signal.valid_signals() else code << 8, EXITED


def _clock(pid: int) -> float:
    """Return the seconds that a process has computed itself, from the clock that the kernel has for each (CPUCLOCK_SCHED)."""
    return time.clock_gettime(~pid << 3 | 2)


def _used(first: int) -> tuple[float, int]:
    """Return the seconds computed in a sandbox and the bytes of its largest process; 0 where somebody else has reaped it."""
    if first:
        with contextlib.suppress(ChildProcessError):
            _, _, used = os.wait4(first, 0)
            return used.ru_utime + used.ru_stime, used.ru_maxrss << 10
    return 0.0, 0
