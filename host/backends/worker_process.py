"""Starts the processes of workers."""

import subprocess

from host.base.python_module import module_command, module_environment


def start_worker() -> subprocess.Popen[bytes]:
    """Start a worker."""
    return start_module("host.play.worker")


def start_module(module: str) -> subprocess.Popen[bytes]:
    """Start a Python module in its own session. ^C does not reach it; it ends when its standard input is closed."""
    return subprocess.Popen(
        module_command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env=module_environment(),
    )
