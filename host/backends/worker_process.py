"""Starts the processes of workers. It imports little, so that the first worker can start before its parent has imported more."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

WORKER = "host.play.worker"


class WorkerProcess(NamedTuple):
    """A worker process, and the descriptor of its log of answers (host/play/answer_log.py)."""

    process: subprocess.Popen[bytes]
    log: int

    def ended(self) -> bytes:
        """Return what PlayJob (local.py) returns for a worker whose output has ended."""
        from host.play.answer_log import read_stop

        self.process.kill()  # it may have closed its output alone
        return read_stop(self.log, self.process.wait())


class FirstWorker:
    """The first worker of a command, which imports its modules while the command imports its own and prepares bots."""

    def __init__(self, *, ahead: bool = True) -> None:
        """Start it; if not `ahead`, only when it is taken."""
        self.idle = [start_worker()] if ahead else []

    def take(self) -> WorkerProcess:
        """Return the first worker at the first call, and then a new one at each call."""
        if self.idle and self.idle[0].process.poll() is None:
            return self.idle.pop()
        return start_worker()

    def close(self) -> None:
        """End the first worker if it has not been used."""
        for worker in self.idle:
            with worker.process as process:  # closes its pipes and waits for it
                process.kill()
            os.close(worker.log)
        self.idle = []


def start_worker() -> WorkerProcess:
    """Start a worker."""
    log = new_log()
    return WorkerProcess(start_module(WORKER, log), log)


def new_log() -> int:
    """Return the descriptor of an empty log of answers, for a process that inherits it."""
    return os.memfd_create("croupier-answers")


def start_module(module: str, *inherited: int) -> subprocess.Popen[bytes]:
    """Start a Python module in its own session. ^C does not reach it; it ends when its standard input is closed.

    Its arguments are the descriptors that it inherits.
    """
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, *map(str, inherited)],
        pass_fds=inherited,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )
