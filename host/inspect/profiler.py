"""Measures where the time of an answer goes: CPU, waiting for a core, or sleeping. Samples once a millisecond."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import trio

from host.bots.bot_process import BotProcess
from host.bots.monitor import unwrap_exception_group
from host.sandbox import Sandbox
from host.sandbox.process_tree import descendants

PERIOD = 0.001  # seconds between two samples
MOST_MOMENTS = 12
STATES = {"R": "runnable", "S": "sleeping", "D": "waiting for the disk", "T": "stopped", "Z": "ended", "t": "stopped"}
"""What a process is doing, by the letter in /proc/PID/stat."""


class Moment(NamedTuple):
    """Something that was seen, so many seconds after the question."""

    at: float
    words: str


class Profile(NamedTuple):
    """What was seen during one answer: seconds of processor, of waiting for one, and until when there was a look."""

    cpu: float = 0.0
    queued: float = 0.0
    until: float = 0.0
    elapsed: float = 0.0  # seconds from before the process was there to the end of the answer
    fresh: bool = True  # whether the process was started for it
    moments: tuple[Moment, ...] = ()


class TimeBreakdown(NamedTuple):
    """Where the seconds of an answer went; `unseen` is what a process that ended between two looks took with it."""

    computing: float
    queued: float
    asleep: float
    unseen: float

    @property
    def verdict(self) -> str:
        """What took most of the time, in a few words; empty when nothing stands out or it was too short to tell."""
        wall = sum(self)
        most = max(zip(self, VERDICTS, strict=True))
        return most[1] if wall > SHORTEST and most[0] > wall / 2 else ""


VERDICTS = ("computing", "waiting for a core: the machine was busy", "waiting, not computing", "")
SHORTEST = 0.001  # seconds of which it is worth saying where they went


class _Look(NamedTuple):
    cpu: int  # nanoseconds
    queued: int
    state: str
    where: str  # in which of the kernel's functions it waits


class Profiler:
    """Looks at everything in a sandbox while it answers."""

    def __init__(self, sandbox: Sandbox, process: BotProcess, table: int) -> None:
        self._sandbox, self._process, self._table = sandbox, process, table
        self._before = dict(self._looks())
        self._last = dict(self._before)
        self._said = process.stderr_tail(table)
        self._began = time.perf_counter()
        self._states: dict[int, str] = {}
        self._until = self._elapsed = 0.0
        self.moments: list[Moment] = []

    def look(self) -> None:
        """Take one look."""
        now = time.perf_counter() - self._began
        for pid, look in self._looks():
            self._last[pid], self._until = look, now
            words = STATES.get(look.state, look.state) + (f" in {look.where}" if look.where else "")
            if self._states.get(pid) != words:
                seen = f"process {pid} {words}" if pid in self._states else f"process {pid} seen, {words}"
                self._states[pid] = words
                self._note(now, f"{seen}; {look.cpu / 1e6:.1f} ms CPU, {look.queued / 1e6:.1f} ms waiting for a core")
        said = self._process.stderr_tail(self._table)
        if said != self._said:
            first = said.removeprefix(self._said).decode(errors="replace").strip().partition("\n")[0][:60]
            self._note(now, f"standard error: {first!r}")
            self._said = said

    def end(self) -> None:
        """Take the last look."""
        self._elapsed = time.perf_counter() - self._began
        self.look()

    def _note(self, at: float, words: str) -> None:
        if len(self.moments) < MOST_MOMENTS:
            self.moments.append(Moment(at, words))

    def seen(self) -> Profile:
        """Return what was seen; of a process that has gone, as of its last look."""
        pairs = [(self._before.get(pid, _Look(0, 0, "", "")), last) for pid, last in self._last.items()]
        cpu = sum(last.cpu - before.cpu for before, last in pairs) / 1e9
        queued = sum(last.queued - before.queued for before, last in pairs) / 1e9
        return Profile(cpu, queued, self._until, self._elapsed, not self._before, tuple(self.moments))

    def _looks(self) -> list[tuple[int, _Look]]:
        return [(process.pid, look) for process in descendants(self._sandbox.pid) if (look := _look(process))]


def shares(seen: Profile, wall: float, cpu: float) -> TimeBreakdown:
    """Return where an answer's seconds went; `cpu` is what its process is known to have computed in all."""
    computing = min(max(cpu, seen.cpu) if seen.fresh else seen.cpu, wall)
    queued = min(seen.queued, wall - computing)
    asleep = min(max(seen.until - seen.cpu - seen.queued, 0.0), wall - computing - queued)
    return TimeBreakdown(computing, queued, asleep, wall - computing - queued - asleep)


def _look(process: psutil.Process) -> _Look | None:
    """Return what a process and its threads have used so far; None where the kernel does not tell."""
    place = Path(f"/proc/{process.pid}")
    cpu = queued = 0
    try:
        for thread in (place / "task").iterdir():
            with suppress(OSError):  # it has just ended
                computed, waited, _slices = (thread / "schedstat").read_text().split()
                cpu, queued = cpu + int(computed), queued + int(waited)
        state = (place / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    where = ""
    with suppress(OSError):
        where = (place / "wchan").read_text().strip("0\n")
    return _Look(cpu, queued, state, where)


@asynccontextmanager
async def looking(sandbox: Sandbox, process: BotProcess, table: int) -> AsyncIterator[Profiler]:
    """Look for the length of the block, and once more at its end."""
    eyes = Profiler(sandbox, process, table)

    async def look() -> None:
        while True:
            eyes.look()
            await trio.sleep(PERIOD)

    with unwrap_exception_group():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            yield eyes
            eyes.end()
            nursery.cancel_scope.cancel()
