"""Finds, measures and kills the processes of a sandbox: the descendants of its first process."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

import psutil

ALONE = 3
"""The number of links of the folder `task` of a process with one thread: `.`, `..` and that thread."""

KEPT_PROCESSES = 4  # of a sandbox, whose files stay open; a bot with more processes costs more to look at
READ_ONLY = os.O_RDONLY | os.O_CLOEXEC
LIST, STATUS = 4000, 8192
"""Bytes. A list of children that is shorter than LIST has been read to its end, because the kernel returns up to a
page. The same is true of the status of a process that is shorter than STATUS."""


class Files(NamedTuple):
    """Descriptors of files in /proc of one process: its threads, the children of its first thread, its status."""

    task: int
    children: int
    status: int


class ProcessTree:
    """The descendants of a process, for a caller that reads their status often.

    The files of the first KEPT_PROCESSES processes stay open. At L3, a call of `statuses` for one of two C bots that
    think 2 ms costs the host 110 µs. It would cost 170 µs if the files were opened each time.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self._open: dict[int, Files] = {}  # by process

    def statuses(self) -> Mapping[int, bytes]:
        """Return the content of the file `status` of each living descendant, by process number."""
        found, statuses = [self._first], dict[int, bytes]()
        for pid in found:
            kept = self._open.get(pid) or self._keep(pid)
            if pid != self._first:
                status = _status(pid, kept)
                if status is None and kept is not None:  # another process may have its number
                    self._forget(pid)
                    kept, status = None, _status(pid, None)
                if status is None:
                    continue
                statuses[pid] = status
            found += _children(pid, kept)
        for pid in [pid for pid in self._open if pid not in statuses and pid != self._first]:
            self._forget(pid)
        return statuses

    def _keep(self, pid: int) -> Files | None:
        """Open the files of a process, and return them. Return None if it has ended.

        Also return None if KEPT_PROCESSES processes have open files already.
        """
        opened = list[int]()
        if len(self._open) < KEPT_PROCESSES:
            try:
                for file in ("task", f"task/{pid}/children", "status"):
                    opened.append(os.open(f"/proc/{pid}/{file}", READ_ONLY))
                self._open[pid] = Files(*opened)
            except OSError:  # it has ended
                for each in opened:
                    os.close(each)
        return self._open.get(pid)

    def _forget(self, pid: int) -> None:
        for each in self._open.pop(pid):
            os.close(each)

    def close(self) -> None:
        """Close all files."""
        for pid in tuple(self._open):
            self._forget(pid)


def _status(pid: int, kept: Files | None) -> bytes | None:
    """Return the content of the file `status` of a process, from its open file if possible; None if it has ended."""
    with suppress(OSError):
        if kept is not None and len(text := os.pread(kept.status, STATUS, 0)) < STATUS:
            return text
        return read_proc(f"/proc/{pid}/status")
    return None


def _children(pid: int, kept: Files | None = None) -> list[int]:
    """Return the process numbers of the children of all threads of a process; [] if it has ended."""
    children = list[int]()
    with suppress(OSError):
        if kept is not None and os.fstat(kept.task).st_nlink <= ALONE:
            text = os.pread(kept.children, LIST + 96, 0)
            if len(text) < LIST:
                return list(map(int, text.split()))
        for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a look must cost microseconds
            children += map(int, read_proc(f"/proc/{pid}/task/{thread}/children").split())
    return children


def read_proc(file: str) -> bytes:
    """Return the content of a file in /proc. Raise OSError if the process has ended. pathlib takes 20 µs longer."""
    descriptor = os.open(file, READ_ONLY)
    try:
        content = os.read(descriptor, 1 << 16)
        while more := os.read(descriptor, 1 << 16):
            content += more
        return content
    finally:
        os.close(descriptor)


def descendants(first: int) -> Iterator[psutil.Process]:
    """Yield all descendants of a process that are still alive, in the order of `descendant_numbers`."""
    for pid in descendant_numbers(first):
        with suppress(psutil.Error):
            yield psutil.Process(pid)


def descendant_numbers(first: int) -> list[int]:
    """Return the process numbers of all descendants of a process.

    For the keeper of a sandbox none is missed, because the kernel makes orphans its children.

    psutil's own recursive search reads every process of the machine, which takes 2 ms.
    """
    found = [first]
    for pid in found:
        found += _children(pid)
    return found[1:]


def cpu_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its ended children, in steps of 10 ms; 0.0 if it has ended."""
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)
    return 0.0


def wait_for_exit(process: "subprocess.Popen[bytes]", patience: float) -> bool:
    """Wait for a process to end, at most `patience` seconds. Return whether it ended; if not, kill it and its descendants."""
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        for each in list(descendants(process.pid)):
            with suppress(psutil.Error):
                each.kill()
        process.kill()
        process.wait()
        return False
    return True
