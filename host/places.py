"""Where croupier keeps what it can make again: the keeper's binary and the bots it has built."""

import os
from pathlib import Path

SANDBOX_UID = 61_750
"""The ordinary uid that croupier, when it is root, starts what is foreign as: it is nobody's, so it owns nothing.

Each sandbox has one of those that follow (sandboxes/users.py)."""


def sandbox_user() -> tuple[int, int]:
    """Return the uid and gid for what is foreign: one's own, or an ordinary one for root."""
    return (SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def cache() -> Path:
    """Return the cache folder, made if need be: CROUPIER_CACHE, else the system's or the user's own."""
    if chosen := os.environ.get("CROUPIER_CACHE"):
        folder = Path(chosen)
    elif os.geteuid() == 0:
        folder = Path("/var/cache/croupier")
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "croupier"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
