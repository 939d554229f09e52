"""A cluster for tests: a real Dask scheduler and real workers, whose processes can be killed like machines."""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import psutil
from command import environment
from helpers import own_port

LOOPBACK = "127.0.0.1"


class Machines:
    """The processes of a cluster; workers are identified by name."""

    def __init__(self, folder: Path, tls: Mapping[str, str]) -> None:
        self.port = own_port()
        self._protocol, self._tls = "tls" if tls else "tcp", tls
        self.address = f"{self._protocol}://{LOOPBACK}:{self.port}"
        self.workers: dict[str, subprocess.Popen[bytes]] = {}
        self.folder = folder

    def _start(
        self, program: str, log: str, *words: str, env: dict[str, str] | None = None, within: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as told:
            return subprocess.Popen(
                [*within, sys.executable, "-P", "-m", f"distributed.cli.{program}", *words, "--no-dashboard"],
                stdout=told,
                stderr=told,
                env=(environment() if env is None else env) | self._tls,
            )

    def start_scheduler(self, env: dict[str, str] | None = None) -> None:
        """Start the scheduler, always at the same port."""
        words = ["--host", LOOPBACK, "--port", str(self.port), "--protocol", self._protocol]
        self.scheduler = self._start("dask_scheduler", "scheduler", *words, env=env)

    def start(
        self, name: str, env: dict[str, str] | None = None, lacking: str = "", hiding: Path | None = None
    ) -> None:
        """Start a worker without a nanny, optionally on a machine that lacks a program or the content of a folder."""
        words = ["--name", name, "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]
        words += ["--local-directory", str(self.folder), "--death-timeout", "60"]
        self.workers[name] = self._start(
            "dask_worker", name, self.address, *words, env=env, within=without(lacking, hiding)
        )

    def kill(self, name: str) -> None:
        """Kill a worker, like a machine that fails."""
        worker = self.workers.pop(name)
        worker.kill()
        worker.wait()

    def stop(self, name: str) -> None:
        """Terminate a worker in an orderly way."""
        worker = self.workers.pop(name)
        worker.terminate()
        worker.wait(120)

    def kill_scheduler(self) -> None:
        """Kill the scheduler."""
        self.scheduler.kill()
        self.scheduler.wait()

    def players(self, name: str) -> list[int]:
        """Return the processes of a worker that play fixtures, and the keepers of their bots."""
        return [each.pid for each in psutil.Process(self.workers[name].pid).children(recursive=True)]

    def close(self) -> None:
        """Terminate all processes."""
        for processes in ([*self.workers.values()], [self.scheduler]):
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait(120)


def without(program: str, folder: Path | None) -> Sequence[str]:
    """Return a command prefix that hides a program or the content of a folder from a process."""
    found = shutil.which(program) if program else None
    hidden = ["--ro-bind", "/dev/null", found] if found else []
    hidden += ["--tmpfs", str(folder)] if folder else []
    return ["bwrap", "--dev-bind", "/", "/", *hidden, "--die-with-parent", "--"] if hidden else []


def certificates(folder: Path) -> dict[str, str]:
    """Create an authority and a certificate as in docs/running.md; return Dask's settings for its owners."""

    def openssl(*words: str) -> None:
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"] if words[0] == "req" else []
        subprocess.run(["openssl", *words, *new], cwd=folder, capture_output=True, check=True)

    folder.mkdir()
    openssl("req", "-x509", "-days", "2", "-subj", "/CN=cup", "-keyout", "ca-key.pem", "-out", "ca.pem")
    openssl("req", "-subj", "/CN=machine", "-keyout", "key.pem", "-out", "request.pem")
    signing = ["-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial"]
    openssl("x509", "-req", "-days", "2", "-in", "request.pem", *signing, "-out", "cert.pem")
    settings = {"CA_FILE": "ca.pem"}
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        settings |= {f"{who}__CERT": "cert.pem", f"{who}__KEY": "key.pem"}
    return {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(folder / file) for name, file in settings.items()}


@contextmanager
def machines(
    *names: str, tls: Mapping[str, str] = MappingProxyType({}), scheduler: dict[str, str] | None = None
) -> Iterator[Machines]:
    """Run a cluster of workers with these names. `tls` are Dask's settings, `scheduler` is its environment."""
    with tempfile.TemporaryDirectory(prefix="croupier-machines-") as folder:
        Path(folder).chmod(0o755)  # it may contain a machine's cache, which the bots' users must be able to enter
        cluster = Machines(Path(folder), tls)
        cluster.start_scheduler(scheduler)
        try:
            for name in names:
                cluster.start(name)
            yield cluster
        finally:
            cluster.close()


def until(true: object, seconds: float = 120.0) -> None:
    """Wait until a function returns something true; fail after a timeout."""
    assert callable(true)
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)
