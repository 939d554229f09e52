"""What a Python bot requires from the package index: wheels, downloaded by the host, which runs nothing of theirs.

Nor does pip there: a wheel may depend on a source at some address, which it would build, so it may start no program.
They are unpacked inside the build's sandbox, without network, by a copy of croupier's own pip.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from subprocess import CompletedProcess
from typing import NamedTuple

import trio

from host.base import paths
from host.base.errors import Problem, UserError
from host.base.safe_text import one_line
from host.submissions.bot_spec import Submission
from host.submissions.languages import Step, need, python, version_of

ALONE = Path(__file__).with_name("pip_alone.py")
FOLDER, WHEELS = "packages", "wheels"
PATIENCE = 300.0  # seconds for a download
LARGEST = 128 << 20  # bytes of all wheels together
OFTEN = 0.1  # seconds between two looks at how much has come
WORDS = 6  # lines of pip's that are shown


class WheelTarget(NamedTuple):
    """Which wheels suit a bot: those of the Python that runs it, on its machine."""

    python: str  # "3.11"
    machine: str  # "x86_64"


def target_of(submission: Submission) -> WheelTarget:
    """Return which wheels suit a bot here. Raise Refused (exit code 6) when there is no such Python."""
    return WheelTarget(".".join(map(str, version_of(python(submission))[:2])), os.uname().machine)


def _pip() -> Path:
    """Return where croupier's own pip lies. Raise Refused (exit code 6) when there is none."""
    found = importlib.util.find_spec("pip")
    if found is None or found.origin is None:
        hint = "install croupier with pip in a virtual environment"
        raise UserError([Problem("S005", "requires", "needs pip, and croupier's Python has none", hint=hint)], 6)
    return Path(found.origin).parent


async def download(submission: Submission, suits: WheelTarget) -> Path:
    """Return the folder of the wheels that a bot requires, downloaded once for each list of requirements.

    Raise Refused (exit code 4) when the index has none that suit, 6 when it cannot be asked.
    """
    what = json.dumps([sorted(submission.spec.requires), *suits])
    store = paths.cache() / WHEELS
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
        if not kept.exists():  # else another process has downloaded the same
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return kept


async def _download(submission: Submission, version: str, wheels: Path, making: Path) -> None:
    """Download into a folder, all else that pip needs room for into the one around it."""
    command = [sys.executable, "-P", str(ALONE), str(_pip())]
    command += ["download", "--quiet", "--no-input", "--disable-pip-version-check", "--no-cache-dir"]
    command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={version}", f"--dest={wheels}"]
    command += submission.spec.requires
    done: CompletedProcess[bytes] | None = None
    with trio.move_on_after(PATIENCE) as patience:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_stop_beyond, 2 * LARGEST, making, nursery.cancel_scope)  # pip moves files by copying
            env = os.environ | {"TMPDIR": str(making)}
            done = await trio.run_process(command, check=False, capture_stdout=True, capture_stderr=True, env=env)
            nursery.cancel_scope.cancel()
    if patience.cancelled_caught:
        raise _refused(
            submission, f"was not downloaded within {PATIENCE:.0f} s", "see to the network, then try again", 6
        )
    if done is None or _bytes(wheels) > LARGEST:
        raise _refused(submission, "brings too much", f"at most {LARGEST >> 20} MiB of wheels", 4)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip().splitlines()
        told = "\n".join(one_line(line)[:300] for line in words[-WORDS:])
        hint = f"names and versions that the index has as wheels for Python {version}"
        raise _refused(submission, f"cannot be downloaded:\n{told}", hint, 4)


async def _stop_beyond(most: int, folder: Path, scope: trio.CancelScope) -> None:
    """Cancel what fills a folder with more bytes than these."""
    while _bytes(folder) <= most:
        await trio.sleep(OFTEN)
    scope.cancel()


def _bytes(folder: Path) -> int:
    total = 0
    for _place, _folders, names, at in os.fwalk(folder):
        for name in names:
            with suppress(OSError):  # it has just been moved
                total += os.stat(name, dir_fd=at, follow_symlinks=False).st_blocks * 512
    return total


def _refused(submission: Submission, why: str, hint: str, code: int) -> UserError:
    message = f"requires = {json.dumps(list(submission.spec.requires))} {why}"
    return UserError([Problem("B009", submission.manifest or submission.name, message, hint=hint)], code)


def stage(wheels: Path, staged: Path) -> None:
    """Lay the wheels beside the bot's own files, for its build; raise Refused rather than mix them with the bot's."""
    for name in (FOLDER, WHEELS):
        if (staged / name).exists():
            hint = "call it otherwise: what it requires goes there"
            raise UserError([Problem("B019", name, "is a folder of the bot's own, beside `requires`", hint=hint)], 4)
    shutil.copytree(wheels, staged / WHEELS)
    shutil.copytree(_pip(), staged / WHEELS / "pip", ignore=shutil.ignore_patterns("__pycache__", "*.exe"))


def unpacking(submission: Submission) -> list[Step]:
    """Return the step that unpacks the wheels, inside the sandbox."""
    if not submission.spec.requires:
        return []
    options = "--quiet --no-index --no-deps --no-compile --no-cache-dir --disable-pip-version-check"
    install = f"{need(python(submission))} -B {WHEELS}/pip install {options} --target {FOLDER} {WHEELS}/*.whl"
    return [Step(("/bin/sh", "-c", f"{install} && rm -r {WHEELS}"))]


def environment(submission: Submission) -> dict[str, str]:
    """Return how Python finds what was unpacked."""
    return {"PYTHONPATH": FOLDER} if submission.spec.requires else {}
