"""Starts the processes of workers. It imports little, so that the first worker can start before its parent has imported more."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from host.backends.load import OtherLoad, choose_placement

if TYPE_CHECKING:
    from host.backends.placement import Placement, PlacementRequest

WORKER, FIRST_WORKER = "host.play.worker", "host.backends.first_worker"


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
    """The first worker of a command, which tests the machine and imports its modules while the command imports its own.

    Since then the load of other programs is measured.
    """

    def __init__(self, *, ahead: bool = True, tests_machine: bool = True) -> None:
        """Start the worker now, or, if not `ahead`, when it is taken. It `tests_machine` before it imports the rest."""
        self._load = OtherLoad()
        self._idle = [start_worker(FIRST_WORKER if tests_machine else WORKER)] if ahead else []
        self._has_shared = not (ahead and tests_machine)

    def share_capabilities(self) -> None:
        """Let `detect` return what the worker has found out about the machine. If it has failed, `detect` tests by itself."""
        if self._has_shared:
            return
        self._has_shared = True
        from host.sandbox.detect import use_capabilities

        output = self._idle[0].process.stdout
        if output is not None and (line := output.readline()).endswith(b"]\n"):  # else the worker has failed
            use_capabilities(line)

    async def placement(self, request: "PlacementRequest") -> "Placement":
        """Return the placement of the workers on this machine."""
        return await choose_placement(request, self._load, [worker.process.pid for worker in self._idle])

    def take(self) -> WorkerProcess:
        """Return the first worker at the first call, and then a new one at each call."""
        if self._idle and self._idle[0].process.poll() is None:
            self.share_capabilities()
            return self._idle.pop()
        return start_worker()

    def close(self) -> None:
        """End the first worker if it has not been used."""
        for worker in self._idle:
            with worker.process as process:  # closes its pipes and waits for it
                process.kill()
            os.close(worker.log)
        self._idle = []


def start_worker(module: str = WORKER) -> WorkerProcess:
    """Start a worker."""
    log = new_log()
    return WorkerProcess(start_module(module, log), log)


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
