"""Runs a pip that cannot start programs, does not download from direct URLs, and writes no large file.

Arguments: the largest size of a file in bytes, the folder of pip, and the arguments of pip.

A wheel can depend on a source package, which pip would build on this machine, or on a URL that only this machine can reach.
"""

# `pip download --only-binary :all:` is not enough. If a wheel depends on a direct URL, pip fetches the URL and even builds
# the package, before croupier could check a list of resolved packages. The class that reads requirements is changed in
# pip's own copy of `packaging`, because pip uses no other copy.

import resource
import runpy
import sys
from importlib import import_module
from typing import Any

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
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
    max_file_bytes = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (max_file_bytes, max_file_bytes))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    sys.addaudithook(refuse)
    del sys.argv[:2]
    runpy.run_path(sys.argv[0], run_name="__main__")
