"""Compiles the keeper from its C source, on first use or for a wheel.

Imports the standard library only: the build hook of the wheel (hatch_build.py) runs this file before croupier is installed.
"""

import hashlib
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("keeper.c")
SHIPPED_FOLDER = SOURCE.parent / "built"
"""The folder of the compiled keeper in a wheel."""

STATIC = ("-static",)
DYNAMIC = ()
MAX_MESSAGE_CHARS = 2000  # of the compiler's output


class BuildError(Exception):
    """Raised when the keeper cannot be compiled, with the reason and the compiler's output."""

    def __init__(self, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.reason, self.output = reason, output


def file_name() -> str:
    """Return the name of the compiled keeper: a hash of its source."""
    return hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:24]


def compile_keeper(target: Path, *linkings: tuple[str, ...], compiler: str = "") -> None:
    """Compile the keeper into the file `target`, with the first of the `linkings` (compiler options) that works.

    Raise BuildError if there is no C compiler, or if no linking works.
    """
    compiler = compiler or shutil.which("cc") or shutil.which("gcc") or ""
    if not compiler:
        raise BuildError("no C compiler, which croupier needs to compile its keeper")
    for linking in linkings:
        command = [compiler, "-O2", "-std=gnu17", *linking, "-o", str(target), str(SOURCE)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            target.chmod(0o755)
            return
    raise BuildError("the keeper does not compile", done.stderr[-MAX_MESSAGE_CHARS:])
