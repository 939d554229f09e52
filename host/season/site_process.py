"""Runs the site of a season as a child process, and starts it again whenever it ends."""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trio

from host.base.errors import UserError

PR_SET_PDEATHSIG = 1
EXIT_TIMEOUT_S = 5.0
POLL_S = 0.2
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 30.0
STEADY_S = 60.0
"""A site that ran for at least this time, in seconds, is started again after the shortest pause."""

_libc = ctypes.CDLL(None, use_errno=True)


def _end_with_parent() -> None:
    """Let the kernel end the site when the season process ends for any reason."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


async def wait_for_address(bind: str) -> None:
    """Wait until a site can listen at an address. The site of a killed season process ends within a moment.

    Raise UserError (exit code 2) if the address is wrong, or if another program still listens there after
    EXIT_TIMEOUT_S.
    """
    from host.web.server import open_listener  # a season without a site does not need the extra `web`

    end = trio.current_time() + EXIT_TIMEOUT_S
    while True:
        try:
            open_listener(bind).close()
            return
        except UserError:
            if trio.current_time() >= end:
                raise
        await trio.sleep(POLL_S)


def start_site(folder: Path, bind: str) -> subprocess.Popen[bytes]:
    """Start the site and return its process. ^C does not reach it: the season process ends it."""
    root = str(Path(__file__).parents[2])
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "host", "-C", str(folder), "--json", "season", "site", "--bind", bind],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=_end_with_parent,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))},
    )


async def run_site(folder: Path, bind: str, tell: Callable[[str], None], listens: Callable[[str], None]) -> None:
    """Run the site until this task is cancelled. Start it again whenever it ends.

    `listens` gets the URL of the site as soon as the site listens. `tell` gets a sentence whenever the site has ended.
    If the site has not run for STEADY_S, the pause before the next start doubles, up to LONGEST_PAUSE_S.
    """
    pause = SHORTEST_PAUSE_S
    while True:
        process, began, said = start_site(folder, bind), time.monotonic(), dict[str, Any]()
        try:
            said = await _first_line(process)
            if "url" in said:
                listens(said["url"])
            while process.poll() is None:
                await trio.sleep(POLL_S)
        finally:
            await _end(process)
        pause = SHORTEST_PAUSE_S if time.monotonic() - began > STEADY_S else min(2 * pause, LONGEST_PAUSE_S)
        why = f" ({said['message']})" if "message" in said else ""
        tell(f"has ended with {process.returncode}{why}, and is started again")
        await trio.sleep(pause)


async def _first_line(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """Return the JSON object in the first line that a site prints; {} if the line has none.

    The object has the URL of the site, or the reason why the site does not listen.
    """
    assert process.stdout is not None
    line = await trio.to_thread.run_sync(process.stdout.readline, abandon_on_cancel=True)
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


async def _end(process: subprocess.Popen[bytes]) -> None:
    """End a site with SIGTERM, or with SIGKILL if it still runs after EXIT_TIMEOUT_S."""
    with trio.CancelScope(shield=True):
        if process.poll() is None:
            process.terminate()
        with trio.move_on_after(EXIT_TIMEOUT_S):
            while process.poll() is None:
                await trio.sleep(0.02)
        if process.poll() is None:
            process.kill()
        process.wait()
