"""Where croupier works: on which machine, as whom, and where it keeps what it can make again (the keeper, built bots)."""

import os
import platform
from pathlib import Path

SAMPLE_PREFIX = "sample:"
"""Starts the name of a sample bot wherever a path of a bot may stand."""

SANDBOX_UID = 61_750
"""The ordinary uid that croupier, when it is root, starts what is foreign as: it is nobody's, so it owns nothing.

Each sandbox has one of those that follow (sandboxes/users.py)."""


def describe_machine() -> str:
    """Return what this machine is: its system, cores and memory, and the Python that croupier runs on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    cores = len(os.sched_getaffinity(0))
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"{system}, {cores} core{'s' if cores > 1 else ''}, {memory:.0f} GiB, Python {platform.python_version()}"


def sandbox_user() -> tuple[int, int]:
    """Return the uid and gid for what is foreign: one's own, or an ordinary one for root."""
    return (SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def cache_dir() -> Path:
    """Return the cache folder, made if need be: CROUPIER_CACHE, else the system's or the user's own."""
    if chosen := os.environ.get("CROUPIER_CACHE"):
        folder = Path(chosen)
    elif os.geteuid() == 0:
        folder = Path("/var/cache/croupier")
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "croupier"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
