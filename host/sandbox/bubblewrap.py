"""The world a bot sees: a read-only system, its own folder, an empty /tmp, five devices, and nobody else."""

import shutil
from functools import cache
from pathlib import Path
from typing import NamedTuple

from host.base.paths import SANDBOX_UID

SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
DEVICES = ("null", "zero", "full", "random", "urandom")
BOT, KEEPER = "/bot", "/run/keeper"
NUMBERING = "40"  # CAP_CHECKPOINT_RESTORE, which older libraries know by its number only: to number processes


class Home(NamedTuple):
    """What of the host's files a sandbox is given: the bot's folder, read-only or not, and its one state file."""

    folder: Path
    writable: bool = False
    state: Path | None = None
    state_name: str = ""
    scratch: int = 16 << 20  # bytes of /tmp


@cache
def program() -> str | None:
    """Return where bubblewrap is; None when it is not installed."""
    return shutil.which("bwrap")


@cache
def system() -> tuple[str, ...]:
    """Return the mounts of the read-only system; of /etc only what programs need to start."""
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            mounts += ["--ro-bind", name, name]
    for setting in (*SETTINGS, *map(str, sorted(Path("/etc").glob("java-*")))):
        mounts += ["--ro-bind-try", setting, setting]
    for device in DEVICES:
        mounts += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    return tuple(mounts)


def command(home: Home, keeper: Path, filter_fd: int) -> list[str]:
    """Return the command line that makes the sandbox and runs the keeper in it as PID 1.

    No /proc, no /sys, no shared memory: they tell about the host or outlive a process. The environment must be empty:
    bubblewrap's own stays readable for its lifetime whatever --clearenv says.
    """
    mounts = ["--bind" if home.writable else "--ro-bind", str(home.folder), BOT]
    if home.state is not None:
        mounts += ["--bind", str(home.state), f"{BOT}/{home.state_name}"]
    return [
        program() or "bwrap",
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "bot", "--new-session", "--as-pid-1"),
        *("--uid", f"{SANDBOX_UID}", "--gid", f"{SANDBOX_UID}", "--cap-drop", "ALL", "--cap-add", NUMBERING),
        *system(),
        *("--size", str(home.scratch), "--tmpfs", "/tmp"),
        *("--ro-bind", str(keeper), KEEPER),
        *mounts,
        *("--chdir", BOT, "--remount-ro", "/"),
        *("--seccomp", str(filter_fd)),
        *("--", KEEPER),
    ]
