"""A cluster for tests: a real Dask scheduler and real workers, each a process that can be killed like a machine."""

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil
from command import environment

LOOPBACK = "127.0.0.1"


class Machines:
    """The processes of a cluster; a worker is known by its name."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server((LOOPBACK, 0)) as free:
            self.port = free.getsockname()[1]
        self.address = f"tcp://{LOOPBACK}:{self.port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self._folder = folder
        self.start_scheduler()

    def _start(
        self, program: str, log: str, *words: str, env: Mapping[str, str] | None = None, within: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with (self._folder / log).open("ab") as told:
            return subprocess.Popen(
                [*within, sys.executable, "-P", "-m", f"distributed.cli.{program}", *words, "--no-dashboard"],
                stdout=told,
                stderr=told,
                env=environment() if env is None else env,
            )

    def start_scheduler(self) -> None:
        """Start the scheduler, where it was if it has been before."""
        self.scheduler = self._start("dask_scheduler", "scheduler", "--host", LOOPBACK, "--port", str(self.port))

    def start(self, name: str, env: Mapping[str, str] | None = None, lacking: str = "") -> None:
        """Start a worker, on a machine that may lack a program; without the nanny that would start another in its place."""
        words = ["--name", name, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        words += ["--local-directory", str(self._folder), "--death-timeout", "60"]
        self.workers[name] = self._start("dask_worker", name, self.address, *words, env=env, within=without(lacking))

    def kill(self, name: str) -> None:
        """Kill a worker as a failing machine would."""
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def stop(self, name: str) -> None:
        """End a worker in good order."""
        worker = self.workers.pop(name)
        worker.terminate()
        worker.wait(120)

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        self.scheduler.kill()
        self.scheduler.wait()

    def players(self, name: str) -> list[int]:
        """Return the processes that a worker keeps at play, and their bots' keepers."""
        return [each.pid for each in psutil.Process(self.workers[name].pid).children(recursive=True)]

    def close(self) -> None:
        """End everything."""
        for processes in ([*self.workers.values()], [self.scheduler]):
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(120)


def without(program: str) -> Sequence[str]:
    """Return what starts a process on a machine like this one, but without a program."""
    found = shutil.which(program) if program else None
    return (
        ["bwrap", "--dev-bind", "/", "/", "--ro-bind", "/dev/null", found, "--die-with-parent", "--"] if found else []
    )


@contextmanager
def machines(*names: str) -> Iterator[Machines]:
    """Have a cluster of workers with these names."""
    with tempfile.TemporaryDirectory(prefix="croupier-machines-") as folder:
        cluster = Machines(Path(folder))
        try:
            for name in names:
                cluster.start(name)
            yield cluster
        finally:
            cluster.close()


def until(true: object, seconds: float = 120.0) -> None:
    """Wait until something is true; fail when that takes longer than anything here may."""
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
