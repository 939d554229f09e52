"""Where a bot runs: a sandbox made once, with a keeper in it; how strong it is, is found by trying and always said."""

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator, Sequence
from functools import cache as once
from pathlib import Path
from typing import NamedTuple

import trio

from host import places
from host.bots.limits import Limits
from host.bots.sandboxes import bubblewrap, keeper, seccomp
from host.bots.sandboxes.bubblewrap import Home
from host.bots.sandboxes.keeper import Ended, Keeper, KeeperDied
from host.problems import Problem, Refused

__all__ = ["LEVELS", "Ended", "Home", "Keeper", "KeeperDied", "Sandbox", "demand", "found", "sandboxed"]

LEVELS = ("none", "L2", "L3", "L4")
"""Weakest first: nothing · Landlock, seccomp and limits · own namespaces and a keeper · a control group as well."""


class Sandbox(NamedTuple):
    """One bot's sandbox under way: its keeper, and the keeper's process id as the host sees it."""

    level: str
    keeper: Keeper
    pid: int


class Found(NamedTuple):
    """What this machine can do: the strongest level, and what stands in the way of the next one."""

    level: str
    reasons: tuple[Problem, ...]


@contextlib.asynccontextmanager
async def sandboxed(level: str, home: Home, limits: Limits) -> AsyncIterator[Sandbox]:
    """Make a sandbox; leaving the block kills everything in it. Raise KeeperDied when it cannot be made.

    It must be entered in the main thread: a sandbox dies with the thread that started it.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    told, tells = os.pipe()
    complaints, complains = os.pipe()
    closing = [tells, complains, theirs.detach()]
    control = closing[-1]
    started: subprocess.Popen[bytes] | None = None
    conversation = Keeper(ours)
    try:
        if level == "none":
            command = [str(keeper.binary())]
            working = str(home.folder)
        else:
            filtered = seccomp.descriptor(() if home.writable else seccomp.AT_PLAY)
            closing.append(filtered)
            command = bubblewrap.command(home, keeper.binary(), filtered, tells)
            working = "/"
        world = keeper.World() if level != "none" else keeper.World(tmp="", tasks=False)
        started = _spawn([*command, *keeper.arguments(control, limits, world)], closing, complains, working)
        while closing:
            os.close(closing.pop())
        try:
            await conversation.sweep()  # the first answer says that it stands
        except KeeperDied as died:
            os.set_blocking(complaints, False)
            with contextlib.suppress(BlockingIOError):
                raise KeeperDied(os.read(complaints, 2000).decode(errors="replace").strip() or str(died)) from died
            raise
        pid = started.pid
        if level != "none":
            pid = json.loads(os.read(told, 4096))["child-pid"]
        yield Sandbox(level, conversation, pid)
    finally:
        conversation.close()
        for descriptor in (*closing, told, complaints):
            os.close(descriptor)
        if started is not None:
            with trio.CancelScope(shield=True):
                await _ended(started)


def _spawn(command: Sequence[str], passed: Sequence[int], stderr: int, folder: str) -> subprocess.Popen[bytes]:
    """Start the sandbox's outermost process, as an ordinary user and with nothing in its environment."""
    root = os.geteuid() == 0
    uid, gid = places.sandbox_user()
    return subprocess.Popen(
        command,
        env={},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        pass_fds=passed,
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


@once
def found() -> Found:
    """Return the strongest level that works here, by making such a sandbox and running a program in it."""
    if bubblewrap.program() is None:
        missing = Problem("S003", "", "bubblewrap is not installed", hint="apt install bubblewrap")
        return Found("none", (missing,))
    try:
        seccomp.program()
    except (ImportError, OSError) as broken:
        missing = Problem("S004", "", f"libseccomp does not load: {broken}", hint="apt install libseccomp2")
        return Found("none", (missing,))
    keeper.binary()
    command = bubblewrap.command(Home(Path("/usr")), keeper.binary(), -1, -1)
    cut = command.index("--seccomp")
    reader, writer = os.pipe()
    with os.fdopen(reader) as complaints:
        trial = _spawn([*command[:cut], "--", bubblewrap.KEEPER], (), writer, "/")
        os.close(writer)
        said = complaints.read()
    if trial.wait() == 2:  # the keeper's word for "no arguments": it stood in its sandbox
        return Found("L3", ())
    refusal = Problem(
        "S001",
        "",
        "bubblewrap cannot make a sandbox here",
        said.strip()[-500:] + _why_no_namespaces(),
        "sudo sysctl kernel.unprivileged_userns_clone=1 user.max_user_namespaces=10000; in a container: see docs",
    )
    return Found("none", (refusal,))


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


def demand(level: str) -> str:
    """Return the level in force for a demanded minimum; raise Refused (exit code 6) when the machine has less."""
    here = found()
    if LEVELS.index(here.level) < LEVELS.index(level):
        demanded = Problem(
            "S001",
            "",
            f'[sandbox] level = "{level}" is demanded and this machine gives "{here.level}"',
            "\n".join(str(reason) for reason in here.reasons),
            "cure what is named above (croupier doctor), or --unsafe to run everything unprotected, on your own bots only",
        )
        raise Refused([demanded], 6)
    return here.level if level != "none" else "none"
