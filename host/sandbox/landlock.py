"""For containers that give no namespaces: files, network and signals fenced in by Landlock, the rest by the filter.

Weaker than namespaces, and said so. Other processes, and the names and sizes of the system's files, can be told by asking
for them; unless croupier is root, tasks are counted together with all others of its own user; a bot's /tmp is empty and
stays so, for nothing would bound it.
"""

import contextlib
import ctypes
import os
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from host.base import paths
from host.sandbox.bubblewrap import DEVICES, SETTINGS, SYSTEM, Home

WANTED = 6
"""Of Landlock's ABI: the first that keeps signals and abstract sockets inside."""

OTHERS = 16  # sandboxes that may be full of tasks at the same time

CREATE_RULESET, ADD_RULE = 444, 445  # the same numbers on every machine
ASK_VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
EVERYTHING = (1 << 16) - 1
SPECIAL = 1 << 6 | 1 << 9 | 1 << 10 | 1 << 11  # the making of devices, sockets and FIFOs
LOOK = EXECUTE | READ_FILE | READ_DIR
TCP, SIGNALS_AND_ABSTRACT_SOCKETS = 0b11, 0b11

WAYS_OUT = ("socket", "setsid", "setpgid", "chown", "lchown", "fchownat")
"""System calls that namespaces make harmless and Landlock does not: also those that need but a file's name and owner."""

AT_PLAY = ("chmod", "fchmodat", 452, "setxattr", "lsetxattr", "removexattr", "lremovexattr")
"""More of them, which builds need (452 is fchmodat2): there they can reach what else the sandboxes' user owns."""

BY_DESCRIPTOR = ("fchmod", "fchown")
"""No bot needs them: two that are built alike share their files, and a mode can be set of what may only be read."""


class Room(NamedTuple):
    """What one sandbox is given: the ruleset, whose descriptor is the taker's to close, a folder to start in, a /tmp."""

    ruleset: int
    folder: Path
    tmp: Path


def task_limit(tasks: int) -> int:
    """Return a limit for all tasks of a sandbox's user; one who has others could start none under that of one bot."""
    if os.geteuid() == 0:
        return tasks + 1  # the keeper
    uid, running = str(os.geteuid()), 0
    for status in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):
            told = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            if told["Uid"].split()[0] == uid:
                running += int(told["Threads"])
    return running + OTHERS * tasks


def forbidden(home: Home) -> tuple[str | int, ...]:
    """Return what the filter must forbid here as well. Builds may set modes where their user owns nothing but builds."""
    if home.writable:
        return WAYS_OUT if os.geteuid() == 0 else (*WAYS_OUT, *AT_PLAY)
    return (*WAYS_OUT, *AT_PLAY, *BY_DESCRIPTOR)


@cache
def version() -> int:
    """Return the version of Landlock's ABI; 0 where the kernel has none, or has it turned off."""
    return max(int(_libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(ASK_VERSION))), 0)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


@contextlib.contextmanager
def make_ruleset(home: Home, user: tuple[int, int]) -> Iterator[Room]:
    """Make one sandbox's room for the length of the block; raise OSError when the kernel refuses."""
    store = paths.cache_dir() / "rooms"
    store.mkdir(exist_ok=True)
    own = Path(tempfile.mkdtemp(dir=store))
    try:
        own.chmod(0o755)
        tmp = own / "tmp"
        tmp.mkdir(mode=0o700)
        os.chown(tmp, *user)
        rules = [(path, LOOK) for path in map(Path, ("/usr", *SYSTEM, *SETTINGS)) if path.exists()]
        rules += [(path, LOOK) for path in Path("/etc").glob("java-*")]
        rules += [(Path("/dev", name), READ_FILE | WRITE_FILE) for name in DEVICES]
        rules += [(path, EVERYTHING & ~SPECIAL if home.writable else LOOK) for path in (home.folder, tmp)]
        folder = home.folder
        if home.state is not None:
            folder = _with_state(home, home.state, own)
            rules += [(folder, LOOK), (home.state, READ_FILE | WRITE_FILE | TRUNCATE)]
        yield Room(_ruleset(rules), folder, tmp)
    finally:
        subprocess.run(["/bin/chmod", "-Rf", "u+rwX", "--", own], check=False)  # a guest may have closed some
        subprocess.run(["/bin/rm", "-rf", "--", own], check=False)  # a guest digs deeper than Python can follow


def _with_state(home: Home, state: Path, own: Path) -> Path:
    """Return a folder that shows the bot's files and its state file among them: there is no mounting it here."""
    shown = own / "bot"
    shown.mkdir()
    for path in home.folder.iterdir():
        (shown / path.name).symlink_to(state if path.name == home.state_name else path)
    return shown


def _ruleset(rules: list[tuple[Path, int]]) -> int:
    """Return the descriptor of a ruleset: what is not allowed by a rule is forbidden."""
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
