"""Returns facts about where croupier runs (machine, user, cache folder), and handles paths and names of files."""

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from host.base.format import counted
from host.base.safe_text import one_line

MAX_FILE_NAME_CHARS = 200  # characters in a file name
SAMPLE_PREFIX = "sample:"  # before the name of a sample bot, where the path of a bot is expected

# If croupier runs as root, it starts untrusted programs with this uid. No account has this uid, so it owns no files.
# Each sandbox has one of the uids after it (host/sandbox/users.py).
SANDBOX_UID = 61_750


def describe_machine() -> str:
    """Return a line about this machine: its system, cores and memory, and the Python that runs croupier."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    cores = len(os.sched_getaffinity(0))
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"{system}, {counted(cores, 'core')}, {memory:.0f} GiB, Python {platform.python_version()}"


def sandbox_user() -> tuple[int, int]:
    """Return the uid and gid for untrusted programs: those of the current user, or SANDBOX_UID if the user is root."""
    return (SANDBOX_UID, SANDBOX_UID) if os.geteuid() == 0 else (os.geteuid(), os.getegid())


def absolute(path: Path | str) -> Path:
    """Return an absolute path without `..`, so that different names of a file become equal. Do not follow links."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow links


def shipped(name: str) -> Path:
    """Return a folder that ships with croupier, for example `docs`, in the installed package or in the clone."""
    host = Path(__file__).parents[1]
    installed = host / "data" / name
    return installed if installed.is_dir() else host.parent / name


def display_path(path: Path) -> str:
    """Return a path for a message: relative to the current folder if the path is inside that folder."""
    whole, current = absolute(path), Path.cwd()
    return one_line(str(whole.relative_to(current) if whole.is_relative_to(current) else path))


def file_name(bot: str) -> str:
    """Return a file name for a bot: without a slash, never hidden, and different for different bots."""
    safe = quote(bot, safe=" +@,=()")
    safe = f"%2E{safe[1:]}" if safe.startswith(".") else safe
    if len(safe) <= MAX_FILE_NAME_CHARS:
        return safe
    return f"{safe[: MAX_FILE_NAME_CHARS - 17]}-{hashlib.sha256(bot.encode()).hexdigest()[:16]}"


def remove_tree(folder: Path) -> None:
    """Remove a folder and everything inside it, even folders without permissions, at any depth. Do not follow links.

    It uses the programs chmod and rm, because an untrusted author can nest folders deeper than Python can recurse.
    """
    subprocess.run(["/bin/chmod", "-Rf", "u+rwX", "--", folder], check=False)
    subprocess.run(["/bin/rm", "-rf", "--", folder], check=False)


def size_of(path: Path) -> int:
    """Return the size in bytes of a file, or of all files in a folder. Files that vanish during the call do not count."""
    total = 0
    for place, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - a Path for each file takes longer
    with suppress(OSError):
        total += 0 if path.is_dir() else path.lstat().st_size
    return total


def cache_dir() -> Path:
    """Return the cache folder; create it if it does not exist.

    This is the folder named by the variable CROUPIER_CACHE if it is set; otherwise the cache folder of the system (if
    croupier runs as root) or of the user.
    """
    if from_environment := os.environ.get("CROUPIER_CACHE"):
        folder = Path(from_environment)
    elif os.geteuid() == 0:
        folder = Path("/var/cache/croupier")
    else:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "croupier"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
