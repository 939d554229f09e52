"""Runs a pip (the first argument) that cannot start programs and does not download from direct URLs.

A wheel can depend on a source package, which pip would build on this machine, or on a URL that only this machine can reach.
"""

# `pip download --only-binary :all:` is not enough. If a wheel depends on a direct URL, pip fetches the URL and even builds
# the package, before croupier could check a list of resolved packages.

import resource
import runpy
import sys
from importlib import import_module
from typing import Any

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
MAX_FILE_BYTES = 128 << 20
MAX_MEMORY_BYTES = 2 << 30  # pip trusts the size in the metadata of a wheel


def refuse(event: str, _arguments: object) -> None:
    """Raise PermissionError when pip starts a program. An audit hook cannot be removed."""
    if event in STARTS:
        raise PermissionError(1, "only wheels are accepted: packages are not built")


def take_names_only() -> None:
    """Make pip refuse every requirement at a direct URL."""
    requirements = import_module("pip._vendor.packaging.requirements")
    read = requirements.Requirement.__init__

    def read_name(self: Any, text: str) -> None:
        read(self, text)
        if self.url:
            raise requirements.InvalidRequirement(f"only package names are accepted, no addresses: {text}")

    requirements.Requirement.__init__ = read_name


if __name__ == "__main__":
    take_names_only()
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE_BYTES, MAX_FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    sys.addaudithook(refuse)
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
