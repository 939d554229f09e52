"""Isolates bots in containers without namespaces. Landlock restricts files, network and signals; seccomp does the rest.

This is weaker than namespaces. A bot can test which other processes exist, and which names and sizes system files have.
Unless croupier is root, the limit of tasks counts all tasks of its user. A bot's /tmp must stay empty, because nothing
would limit its size.
"""

import contextlib
import ctypes
import os
import struct
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from host.base import paths
from host.sandbox.bubblewrap import DEVICES, SETTINGS, SYSTEM, Home

WANTED = 6
"""The first version of Landlock's ABI that confines signals and abstract sockets."""

OTHERS = 16  # sandboxes that may reach their limit of tasks at the same time

SYSTEM_CALLS = CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
"""Denied to bots: the rules of a ruleset are kernel memory that only a control group counts."""
ASK_VERSION, PATH_BENEATH, PR_SET_NO_NEW_PRIVS = 1, 1, 38
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
EVERYTHING = (1 << 16) - 1
MAKE_NODES = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11  # creating devices, sockets and FIFOs
READABLE = EXECUTE | READ_FILE | READ_DIR
TCP, SIGNALS_AND_ABSTRACT_SOCKETS = 0b11, 0b11

INIT_FILES = ("/etc/sbclrc",)
"""Files that runtimes read at their start if they exist. A runtime gives up on a file that exists but is forbidden."""

WAYS_OUT = ("setsid", "setpgid", "chown", "lchown", "fchownat")
"""System calls that are harmless in namespaces, but not under Landlock. Some need no right to open the file."""

AT_PLAY = ("chmod", "fchmodat", 452, "setxattr", "lsetxattr", "removexattr", "lremovexattr")
"""More such calls, which builds need (452 is fchmodat2). With them, a bot could change other files of its user."""

BY_DESCRIPTOR = ("fchmod", "fchown")
"""Calls that no bot needs. Equal bots share their files, and a read-only descriptor is enough to change a mode."""


class Room(NamedTuple):
    """Resources of one sandbox: a ruleset, whose descriptor the caller closes, a folder to start in, and a /tmp."""

    ruleset: int
    folder: Path
    tmp: Path


def task_limit(tasks: int) -> int:
    """Return the limit that the kernel needs for all tasks of a sandbox's user. `tasks` is the limit of the sandbox.

    Without root the sandbox shares the user of croupier. Then the limit includes the tasks that already run, and the
    tasks of OTHERS sandboxes.
    """
    if os.geteuid() == 0:
        return tasks + 1  # for the keeper
    uid, running = str(os.geteuid()), 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            status_fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if status_fields["Uid"].split()[0] == uid:
                running += int(status_fields["Threads"])
    return running + OTHERS * tasks


def forbidden(home: Home) -> tuple[str | int, ...]:
    """Return the system calls to forbid at this level in addition to those that the filter forbids at every level.

    A build may change modes if croupier is root: then the user of the build owns nothing except builds.
    """
    if home.writable:
        return WAYS_OUT if os.geteuid() == 0 else (*WAYS_OUT, *AT_PLAY)
    return (*WAYS_OUT, *AT_PLAY, *BY_DESCRIPTOR)


@cache
def version() -> int:
    """Return the version of Landlock's ABI; 0 if the kernel does not have it, or it is disabled."""
    return max(int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))), 0)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def make_ruleset(home: Home, user: tuple[int, int]) -> Iterator[Room]:
    """Yield the resources of one sandbox; remove its folders at the end of the block.

    `user` is the uid and the gid of the sandbox's processes. Raise OSError if the kernel refuses.
    """
    store = paths.cache_dir() / "rooms"
    store.mkdir(exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=store))
    try:
        own.chmod(0o755)
        tmp = own / "tmp"
        tmp.mkdir(mode=0o700)
        os.chown(tmp, *user)
        rules = [(path, READABLE) for path in map(Path, ("/usr", *SYSTEM, *SETTINGS, *home.readable)) if path.exists()]
        rules += [(path, READABLE) for path in Path("/etc").glob("java-*")]
        rules += [(path, READ_FILE) for path in map(Path, INIT_FILES) if path.exists()]
        # A device that is opened only for reading cannot become shared memory (bubblewrap.py).
        rules += [
            (Path("/dev", name), READ_FILE | (WRITE_FILE if name == ours else 0)) for name, ours in DEVICES.items()
        ]
        rules += [(path, EVERYTHING & ~MAKE_NODES if home.writable else READABLE) for path in (home.folder, tmp)]
        folder = home.folder
        if home.state is not None:
            folder = _with_state(home, home.state, own)
            rules += [(folder, READABLE), (home.state, READ_FILE | WRITE_FILE | TRUNCATE)]
        yield Room(_ruleset(rules), folder, tmp)
    finally:
        paths.remove_tree(own)


def confine(writable: Path, *readable: Path) -> bool:
    """Restrict this process and its children to one writable folder, and to readable ones.

    Programs of the system, Python and croupier itself stay readable. From now on the processes can neither listen nor
    connect by TCP, cannot connect to abstract sockets of other processes, and can signal only themselves and their
    children. Landlock restricts neither UDP nor sockets with a path.

    Return False if the kernel's Landlock is older than WANTED. Raise OSError if the kernel refuses.
    """
    if version() < WANTED:
        return False
    own = Path(__file__).parents[1]
    python = map(Path, (sys.prefix, sys.base_prefix, *sysconfig.get_paths().values()))
    programs = (*map(Path, ("/usr", *SYSTEM, *SETTINGS)), *python, own, own.with_name("protocols"))
    rules = [(path, READABLE) for path in (*programs, *readable) if path.exists()]
    ruleset = _ruleset([*rules, (writable, EVERYTHING & ~MAKE_NODES)])
    try:
        _libc().prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _called(RESTRICT_SELF, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return True


def _with_state(home: Home, state: Path, own: Path) -> Path:
    """Return a folder with links to the bot's files and to its state file. At this level nothing can be mounted."""
    shown = own / "bot"
    shown.mkdir()
    for path in home.folder.iterdir():
        (shown / path.name).symlink_to(state if path.name == home.state_name else path)
    return shown


def _ruleset(rules: list[tuple[Path, int]]) -> int:
    """Return the descriptor of a ruleset. A rule is a path and the rights below it; all else is forbidden."""
    attributes = struct.pack("=3Q", EVERYTHING, TCP, SIGNALS_AND_ABSTRACT_SOCKETS)
    ruleset = _called(CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint32(0))
    try:
        for path, rights in rules:
            beneath = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if not path.is_dir():
                    rights &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE
                rule = struct.pack("=Qi", rights, beneath)
                _called(ADD_RULE, ctypes.c_int(ruleset), ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))
            finally:
                os.close(beneath)
    except OSError:
        os.close(ruleset)
        raise
    return ruleset


def _called(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "Landlock")
    return result
