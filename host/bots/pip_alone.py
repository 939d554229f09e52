"""Runs a pip, named first, that may start no program: what a wheel depends on may be a source, whose build would run here."""

import resource
import runpy
import sys

STARTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen"}
LARGEST = 128 << 20  # bytes of one file
MEMORY = 2 << 30  # bytes; what describes a wheel is unpacked by its own word for its size


def refuse(event: str, _arguments: object) -> None:
    """Refuse to start a program; the hook of an audit cannot be taken away again."""
    if event in STARTS:
        raise PermissionError(1, "only wheels are taken: nothing is built here")


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(refuse)
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
