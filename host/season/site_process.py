"""Runs the site of a season as a child process, and starts it again whenever it ends."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import trio

PR_SET_PDEATHSIG = 1
EXIT_TIMEOUT_S = 5.0
POLL_S = 0.2
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
STEADY_S = 60.0
"""A site that has run for this long is started again at once."""

_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_parent() -> None:
    """Let the kernel end the site when the season process ends, however that ends."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def start_site(folder: Path, bind: str) -> subprocess.Popen[bytes]:
    """Start the site. ^C does not reach it: the season process ends it."""
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "host", "-C", str(folder), "season", "site", "--bind", bind],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=_end_with_parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )


async def run_site(folder: Path, bind: str, tell: Callable[[str], None]) -> None:
    """Run the site until this is cancelled. After a site that ended at once it waits longer before the next one."""
    pause = SHORTEST_PAUSE_S
    while True:
        process, began = start_site(folder, bind), time.monotonic()
        try:
            while process.poll() is None:
                await trio.sleep(POLL_S)
        finally:
            await _end(process)
        pause = SHORTEST_PAUSE_S if time.monotonic() - began > STEADY_S else min(2 * pause, LONGEST_PAUSE_S)
        tell(f"has ended with {process.returncode}, and is started again")
        await trio.sleep(pause)


async def _end(process: subprocess.Popen[bytes]) -> None:
    """End a site: in good order, or by force if that takes too long."""
    with trio.CancelScope(shield=True):
        if process.poll() is None:
            process.terminate()
        with trio.move_on_after(EXIT_TIMEOUT_S):
            while process.poll() is None:
                await trio.sleep(0.02)
        if process.poll() is None:
            process.kill()
        process.wait()
