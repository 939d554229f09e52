"""Start workers by fork: a process per test process imports what workers need, once, and forks for each worker.

A worker imports for longer than most tests let it play. What it does then is what any worker does. Tests that start croupier
as a process of its own, and those with Dask or with kept workers, start workers as users do.
"""

import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.backends import local
from host.backends.worker_process import start_worker
from host.base.python_module import module_environment

MAX_REQUEST = 100_000


class Forked:
    """A worker, with what `host.backends.local.connected` uses of `subprocess.Popen`."""

    def __init__(self, pid: int, pidfd: int, stdin: int, stdout: int) -> None:
        self.pid, self._pidfd = pid, pidfd
        self.stdin, self.stdout = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb")
        self._ended = False

    def _look(self, timeout: float | None) -> int | None:
        if not self._ended and select.select([self._pidfd], [], [], timeout)[0]:
            os.close(self._pidfd)
            self._ended = True
        return 0 if self._ended else None

    def poll(self) -> int | None:
        """Return 0 if the worker has ended, whatever its exit code was."""
        return self._look(0)

    def wait(self) -> int | None:
        """Wait for the end of the worker."""
        return self._look(None)

    def kill(self) -> None:
        """Kill the worker."""
        if self.poll() is None:
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)


class _Place(NamedTuple):
    """What a worker would inherit from the process that starts it."""

    environment: dict[str, str]
    folder: str


def _start_origin() -> socket.socket:
    """Start the process that forks; return the connection to it. It ends when the connection is closed.

    It is no child of this process, because tests count those.
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-P", __file__, str(its.fileno())]
    with its:
        subprocess.run(command, cwd="/", env=module_environment(), pass_fds=[its.fileno()], check=True)
    return ours


@contextmanager
def workers_by_fork() -> Iterator[None]:
    """Start workers by fork in this block."""
    with _start_origin() as origin:
        python_path = module_environment()["PYTHONPATH"]

        def start() -> Any:
            environment = module_environment()
            if environment["PYTHONPATH"] != python_path:
                return start_worker()
            read_in, write_in = os.pipe()
            read_out, write_out = os.pipe()
            place = msgspec.json.encode(_Place(environment, str(Path.cwd())))
            socket.send_fds(origin, [place], [read_in, write_out, 2])
            answer, (pidfd,), _, _ = socket.recv_fds(origin, 100, 1)
            os.close(read_in)
            os.close(write_out)
            return Forked(int(answer), pidfd, write_in, read_out)

        local.start_worker = start
        yield
        local.start_worker = start_worker


def _serve(requests: socket.socket) -> None:
    """Fork for each request, until the other end is closed. Only the new worker returns from here."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel removes the workers that have ended
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        request, files, _, _ = socket.recv_fds(requests, MAX_REQUEST, 3)
        if not request:
            raise SystemExit
        if (pid := os.fork()) == 0:
            requests.close()
            os.setsid()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for number, file in enumerate(files):
                os.dup2(file, number)
                os.close(file)
            place = msgspec.json.decode(request, type=_Place)
            os.environ.clear()
            os.environ.update(place.environment)
            os.chdir(place.folder)
            return
        for file in files:
            os.close(file)
        pidfd = os.pidfd_open(pid)
        socket.send_fds(requests, [str(pid).encode()], [pidfd])
        os.close(pidfd)


if __name__ == "__main__":
    if os.fork():
        os._exit(0)
    import host.games.cardshark
    import host.games.holdem
    import host.games.pazaak  # noqa: F401 - forked workers have them, too
    from host.play.worker import main

    _serve(socket.socket(fileno=int(sys.argv[1])))
    main()
