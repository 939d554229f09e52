"""Defines how another process runs a module of croupier: interpreter, environment, and less garbage collection."""

import gc
import os
import sys
from pathlib import Path


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return the environment variables with which Python finds croupier even if it is not installed."""
    root = str(Path(__file__).parents[2])
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


def reduce_gc() -> None:
    """Run the garbage collector less often: fixtures create no cycles, and scanning their tables costs 3 % of play time."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)
