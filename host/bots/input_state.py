"""Determines what a late bot does with its input: it has not read the question yet, or it waits for more input."""

import fcntl
import os
import struct
import termios
from pathlib import Path

from host.bots.values import InputState
from host.sandbox.process_tree import descendant_numbers

READ_CALLS = {"x86_64": "0", "aarch64": "63"}
"""The number of the system call read(2), as /proc/PID/syscall shows it."""


def bytes_in_pipe(descriptor: int) -> int:
    """Return the number of bytes in a pipe, from either of its ends."""
    (count,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))
    return int(count)


def input_state(pipe: int, unsent: int, due: int, keeper: int) -> InputState:
    """Return what a bot does with its input, as far as the kernel shows it.

    `pipe` is the host's end of the input. `due` is the number of bytes of the open questions, of which `unsent` did not fit
    into the pipe. The bot is a descendant of the process `keeper`. The kernel may hide from this user in which system call a
    process waits: then the result is UNKNOWN.
    """
    unread = bytes_in_pipe(pipe) + unsent
    if unread:
        return InputState.UNREAD if unread >= due else InputState.UNKNOWN
    inode = os.fstat(pipe).st_ino
    waits = any(_waits_for(inode, Path(f"/proc/{number}")) for number in descendant_numbers(keeper))
    return InputState.WAITING if waits else InputState.UNKNOWN


def _waits_for(inode: int, process: Path) -> bool:
    """Return whether a thread of a process waits in read(2) for this pipe, which is its standard input."""
    waiting = f"{READ_CALLS.get(os.uname().machine)} 0x0 "
    try:
        if (process / "fd" / "0").stat().st_ino != inode:
            return False
        return any((thread / "syscall").read_text().startswith(waiting) for thread in (process / "task").iterdir())
    except OSError:
        return False
