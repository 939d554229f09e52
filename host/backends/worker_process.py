"""Starts the processes of workers."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from host.play.answer_log import read_stop


class WorkerProcess(NamedTuple):
    """A worker process, and the descriptor of its log of answers (host/play/answer_log.py)."""

    process: subprocess.Popen[bytes]
    log: int

    def ended(self) -> bytes:
        """Return what PlayJob (local.py) returns for a worker whose output has ended."""
        self.process.kill()  # it may have closed its output alone
        return read_stop(self.log, self.process.wait())


def start_worker() -> WorkerProcess:
    """Start a worker."""
    log = new_log()
    return WorkerProcess(start_module("host.play.worker", log), log)


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
