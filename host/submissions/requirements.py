"""Downloads the packages that a Python bot requires, as wheels, without running any code of them.

A wheel can depend on a source package, which pip would build on the host, so pip may not start any program here.
A copy of croupier's own pip unpacks the wheels inside the build sandbox, which has no network.
"""

import errno
import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import trio

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.bots.bot_spec import Submission
from host.sandbox.limits import MIB
from host.submissions.file_tree import DOWNLOADING, WHEEL_LIMITS, TreeLimits, enlarged, exceeds
from host.submissions.languages import Step, need, python, version_of

PIP_ALONE = Path(__file__).with_name("pip_alone.py")
FOLDER, WHEELS = "packages", "wheels"
DOWNLOAD_TIMEOUT_S = 300.0
SIZE_CHECK_INTERVAL_S = 0.1
PIP_LINES_SHOWN = 6
TOO_MUCH_HINT = (
    "the organiser can install it on the machine (apt install python3-NAME), where bots find it without `requires`, "
    "or raise [limits] submission: twice as large takes twice as many wheels"
)


class WheelTarget(NamedTuple):
    """The Python version and the machine that the wheels must suit."""

    python: str  # "3.11"
    machine: str  # "x86_64"


def target_of(submission: Submission) -> WheelTarget:
    """Return the wheel target of a bot on this machine."""
    return WheelTarget(".".join(map(str, version_of(python(submission))[:2])), os.uname().machine)


def _pip() -> Path:
    """Return the folder of croupier's own pip. Raise UserError (exit code 6) if it is not installed."""
    found = importlib.util.find_spec("pip")
    if found is None or found.origin is None:
        hint = "install croupier with pip in a virtual environment"
        raise UserError([Problem("S005", "requires", "needs pip, which croupier's Python does not have", hint=hint)], 6)
    return Path(found.origin).parent


async def download(submission: Submission, suits: WheelTarget) -> Path:
    """Return the folder of the wheels that a bot requires. Download them once for each list of requirements.

    Raise UserError: exit code 4 if the index has no suitable wheels or they are too large, 6 if the download takes too long.
    """
    what = json.dumps([sorted(submission.spec.requires), *suits])
    store = paths.cache_dir() / WHEELS
    store.mkdir(exist_ok=True)
    kept = store / hashlib.sha256(what.encode()).hexdigest()[:32]
    if kept.exists():
        return kept
    making = Path(tempfile.mkdtemp(dir=store, prefix="making-"))
    try:
        wheels = making / WHEELS
        wheels.mkdir()
        await _download(submission, suits.python, wheels, making)
        wheels.chmod(0o755)
        wheels.rename(kept)
    except OSError:
        if not kept.exists():  # else another process has downloaded the same wheels
            raise
    finally:
        paths.remove_tree(making)
    return kept


async def _download(submission: Submission, version: str, wheels: Path, making: Path) -> None:
    """Download into `wheels`. pip writes its temporary files into `making`, the folder that contains `wheels`."""
    most = enlarged(WHEEL_LIMITS, submission.limits.submission)
    command = [sys.executable, "-P", str(PIP_ALONE), str(most.file_bytes), str(_pip())]
    command += ["download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}", f"--dest={wheels}"]
    command += submission.spec.requires
    done: CompletedProcess[bytes] | None = None
    with trio.move_on_after(DOWNLOAD_TIMEOUT_S) as patience:
        async with trio.open_nursery() as nursery:
            limits = enlarged(DOWNLOADING, submission.limits.submission)
            nursery.start_soon(_cancel_if_too_large, making, limits, nursery.cancel_scope)
            env = os.environ | {"TMPDIR": str(making)}
            done = await trio.run_process(command, check=False, capture_stdout=True, capture_stderr=True, env=env)
            nursery.cancel_scope.cancel()
    if patience.cancelled_caught:
        raise _refused(
            submission, f"was not downloaded within {DOWNLOAD_TIMEOUT_S:.0f} s", "check the network, then try again", 6
        )
    if done is None or exceeds(wheels, most) or os.strerror(errno.EFBIG).encode() in done.stderr:
        hint = f"at most {most.total_bytes // MIB} MiB of wheels; {TOO_MUCH_HINT}"
        raise _refused(submission, "downloads too much", hint, 4)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        output = "\n".join(one_line(line)[:300] for line in words[-PIP_LINES_SHOWN:])
        hint = f"names and versions that the index has as wheels for Python {version}"
        raise _refused(submission, f"cannot be downloaded:\n{output}", hint, 4)


async def _cancel_if_too_large(making: Path, limits: TreeLimits, scope: trio.CancelScope) -> None:
    """Cancel a scope as soon as a download exceeds its limits."""
    while not exceeds(making, limits):
        await trio.sleep(SIZE_CHECK_INTERVAL_S)
    scope.cancel()


def _refused(submission: Submission, why: str, hint: str, code: int) -> UserError:
    message = f"requires = {json.dumps(list(submission.spec.requires))} {why}"
    return UserError([Problem("B009", submission.manifest or submission.name, message, hint=hint)], code)


def stage(wheels: Path, staged: Path) -> None:
    """Copy the wheels and pip next to the bot's own files, for its build.

    Raise UserError (exit code 4) if the bot's own files have the name FOLDER or WHEELS.
    """
    for name in (FOLDER, WHEELS):
        if (staged / name).exists():
            hint = "rename it: croupier installs the required packages there"
            raise UserError(
                [Problem("B019", name, "is a folder of the bot itself, but it also has `requires`", hint=hint)], 4
            )
    shutil.copytree(wheels, staged / WHEELS)
    shutil.copytree(_pip(), staged / WHEELS / "pip", ignore=shutil.ignore_patterns("__pycache__", "*.exe"))


def unpacking(submission: Submission) -> list[Step]:
    """Return the build step that unpacks the wheels inside the sandbox."""
    options = "--quiet --no-index --no-deps --no-compile --no-cache-dir --disable-pip-version-check"
    install = f"{need(python(submission))} -B {WHEELS}/pip install {options} --target {FOLDER} {WHEELS}/*.whl"
    return [Step(("/bin/sh", "-c", f"{install} && rm -r {WHEELS}"))]


def environment(submission: Submission) -> dict[str, str]:
    """Return the environment variables with which Python finds the unpacked packages."""
    return {"PYTHONPATH": FOLDER} if submission.spec.requires else {}
