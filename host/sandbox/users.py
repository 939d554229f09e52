"""An ordinary user for each sandbox: the kernel counts tasks, and bounds much else, by user."""

import contextlib
import os
import socket
from collections.abc import Iterator

from host.base.paths import SANDBOX_UID, sandbox_user

MOST = 1000  # sandboxes on one machine


@contextlib.contextmanager
def borrow_uid() -> Iterator[tuple[int, int]]:
    """Lend a uid and gid that no other sandbox of this machine has; who is not root has but one's own.

    Raise OSError when all are taken. An abstract socket's name is the lock: it is nobody's file, and ends with us.
    """
    if os.geteuid() != 0:
        yield sandbox_user()
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as lock:
        for uid in range(SANDBOX_UID + 1, SANDBOX_UID + 1 + MOST):
            with contextlib.suppress(OSError):
                lock.bind(f"\0croupier-user-{uid}")
                break
        else:
            raise OSError(f"all {MOST} users for sandboxes are taken")
        yield uid, uid
