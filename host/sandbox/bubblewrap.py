"""Defines the files that a bot sees: read-only system folders, its own folder, an empty /tmp and five devices."""

import shutil
from functools import cache
from pathlib import Path
from typing import NamedTuple

from host.base.paths import SANDBOX_UID

SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime")
DEVICES = {"null": "null", "zero": "full", "full": "full", "random": "random", "urandom": "urandom"}
"""The devices of a sandbox, each with the host's device that is mounted there. /dev/full reads as /dev/zero does, but
cannot be mapped: a shared mapping of /dev/zero is shared memory, which filters deny (seccomp.py)."""
BOT, KEEPER, EMPTY, MODELS = "/bot", "/run/keeper", "/run/empty", "/run/models"
# CAP_CHECKPOINT_RESTORE, which lets the keeper choose process numbers. Older versions of libcap know it only by number.
NUMBERING = "40"


class Home(NamedTuple):
    """Contents of a sandbox besides the system: the bot's folder, and its state file or state folder."""

    folder: Path
    writable: bool = False
    state: Path | None = None
    state_name: str = ""
    kept: str = ""  # a writable folder that outlives the processes of the bot: its path in the sandbox
    kept_size: int = 0  # bytes of all its files
    scratch: int = 0  # bytes of /tmp; 0: as many as a file may have
    warm: bool = False  # whether an interpreter stays in the sandbox, from which the bot is forked
    readable: tuple[str, ...] = ()  # further folders of the system, at their own paths; for a compiler
    trusted: bool = False  # whether its processes have the user of croupier: they are an organiser's own code
    relay: Path | None = None  # the Unix socket to the models that the bot may ask
    executable: str = ""  # what /proc/self/exe points to, the only entry of /proc; for a compiler that needs it


@cache
def program() -> str | None:
    """Return the path of bubblewrap, or None if it is not installed."""
    return shutil.which("bwrap")


@cache
def system() -> tuple[str, ...]:
    """Return the options that mount the read-only system folders and the devices.

    Of /etc, they mount only the files that programs need to start.
    """
    mounts = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM:
        path = Path(name)
        if path.is_symlink():
            mounts += ["--symlink", str(path.readlink()), name]
        elif path.is_dir():
            mounts += ["--ro-bind", name, name]
    for setting in (*SETTINGS, *map(str, sorted(Path("/etc").glob("java-*")))):
        mounts += ["--ro-bind-try", setting, setting]
    for device, ours in DEVICES.items():
        mounts += ["--dev-bind", f"/dev/{ours}", f"/dev/{device}"]
    return tuple(mounts)


def command(home: Home, scratch: int, keeper: Path, filter_fd: int) -> list[str]:
    """Return the command line that creates the sandbox, with `scratch` bytes of /tmp, and runs the keeper in it as PID 1.

    It mounts no /proc, no /sys and no shared memory: they reveal facts about the host, or outlive a process. Run it
    with an empty environment: bubblewrap's own environment stays readable as long as it lives, even with --clearenv.
    """
    mounts = ["--bind" if home.writable else "--ro-bind", str(home.folder), BOT]
    if home.state is not None:
        mounts += ["--bind", str(home.state), f"{BOT}/{home.state_name}"]
    if home.relay is not None:
        mounts += ["--ro-bind", str(home.relay), MODELS]
    if home.kept:
        mounts += ["--size", str(home.kept_size), "--tmpfs", home.kept]
    for folder in home.readable:
        mounts += ["--ro-bind-try", folder, folder]
    if home.executable:
        mounts += ["--dir", "/proc/self", "--symlink", home.executable, "/proc/self/exe"]
    return [
        program() or "bwrap",
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--hostname", "bot", "--new-session", "--as-pid-1"),
        *("--uid", f"{SANDBOX_UID}", "--gid", f"{SANDBOX_UID}", "--cap-drop", "ALL", "--cap-add", NUMBERING),
        *system(),
        *("--size", str(scratch), "--tmpfs", "/tmp"),
        *("--ro-bind", str(keeper), KEEPER, "--dir", EMPTY),
        *mounts,
        *("--chdir", BOT, "--remount-ro", "/"),
        *("--seccomp", str(filter_fd)),
        *("--", KEEPER),
    ]
