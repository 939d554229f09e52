"""Runs a pip, named first, that may start no program and takes nothing from an address that a wheel names.

What a wheel depends on may be a source, whose build would run here, or lie anywhere that this machine can reach.
"""

import resource
import runpy
import sys
from importlib import import_module
from typing import Any

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
LARGEST = 128 << 20  # bytes of one file
MEMORY = 2 << 30  # bytes; what describes a wheel is unpacked by its own word for its size


def refuse(event: str, _arguments: object) -> None:
    """Refuse to start a program; the hook of an audit cannot be taken away again."""
    if event in STARTS:
        raise PermissionError(1, "only wheels are taken: nothing is built here")


def take_names_only() -> None:
    """Have pip refuse whatever is required by an address rather than by a name that its index knows."""
    requirements = import_module("pip._vendor.packaging.requirements")
    read = requirements.Requirement.__init__

    def read_name(self: Any, text: str) -> None:
        read(self, text)
        if self.url:
            raise requirements.InvalidRequirement(f"only names are taken, no addresses: {text}")

    requirements.Requirement.__init__ = read_name


if __name__ == "__main__":
    take_names_only()
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(refuse)
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
