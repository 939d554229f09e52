"""Assigns a user to each sandbox. The kernel counts tasks, and limits other resources, per user."""

import contextlib
import os
import socket
from collections.abc import Iterator

from host.base.paths import SANDBOX_UID, sandbox_user

MAX_USERS = 1000  # sandboxes on one machine


@contextlib.contextmanager
def borrow_uid() -> Iterator[tuple[int, int]]:
    """Yield a uid and gid for a sandbox: for root, a pair that no other sandbox uses; else those of the current user.

    Raise OSError if all MAX_USERS are in use. An abstract socket with the uid in its name reserves the uid. Such a name
    is not a file, and the kernel removes it when this process ends.
    """
    if os.geteuid() != 0:
        yield sandbox_user()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        for uid in range(SANDBOX_UID + 1, SANDBOX_UID + 1 + MAX_USERS):
            with contextlib.suppress(OSError):
                lock.bind(f"\0croupier-user-{uid}")
                break
        else:
            raise OSError(f"all {MAX_USERS} users for sandboxes are taken")
        yield uid, uid
