"""Measure how the time of an answer is spent: CPU, waiting for a core, or sleeping. Sample once per millisecond."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import psutil
import trio

from host.bots.bot_process import BotProcess
from host.bots.monitor import unwrap_exception_group
from host.sandbox.launch import Sandbox
from host.sandbox.process_tree import descendants

SAMPLE_PERIOD_S = 0.001
MAX_MOMENTS = 12
SHORTEST_EXPLAINED_S = 0.001  # a shorter answer gets no verdict
STATES = {"R": "runnable", "S": "sleeping", "D": "waiting for the disk", "T": "stopped", "Z": "ended", "t": "stopped"}
"""States of a process in words, by the letter in /proc/PID/stat."""

VERDICTS = ("computing", "the machine was busy", "waiting, not computing", "")
"""Texts for the use that took most of the time, in the order of the fields of a TimeBreakdown."""


class Moment(NamedTuple):
    """An observation of the profiler, `at` seconds after the question."""

    at: float
    words: str


class TimeBreakdown(NamedTuple):
    """The seconds of an answer by use. `unseen` are the seconds after the last sample of a process that has ended."""

    computing: float
    queued: float
    asleep: float
    unseen: float

    @property
    def verdict(self) -> str:
        """Return what took more than half of the answer's time (see VERDICTS).

        Return "" if nothing did, or if the answer was too short to judge.
        """
        wall = sum(self)
        most, words = max(zip(self, VERDICTS, strict=True))
        return words if wall > SHORTEST_EXPLAINED_S and most > wall / 2 else ""


class Profile(NamedTuple):
    """Measurements of the profiler during one answer, in seconds."""

    cpu: float = 0.0
    queued: float = 0.0  # waiting for a core
    until: float = 0.0  # the last sample
    elapsed: float = 0.0  # from before the process started to the end of the answer
    fresh: bool = True  # whether the process was started for this answer
    moments: tuple[Moment, ...] = ()

    def breakdown(self, wall: float, cpu: float) -> TimeBreakdown:
        """Return how the `wall` seconds of the answer were spent.

        `cpu` is the CPU time of its process, as far as known.
        """
        computing = min(max(cpu, self.cpu) if self.fresh else self.cpu, wall)
        queued = min(self.queued, wall - computing)
        asleep = min(max(self.until - self.cpu - self.queued, 0.0), wall - computing - queued)
        unseen = wall - computing - queued - asleep
        return TimeBreakdown(computing=computing, queued=queued, asleep=asleep, unseen=unseen)


class _Sample(NamedTuple):
    """The usage of a process and its threads so far, in nanoseconds, and the state of the process."""

    cpu: int = 0
    queued: int = 0
    state: str = ""
    kernel_function: str = ""  # in which it waits


class Profiler:
    """Samples all processes of a sandbox while its bot answers."""

    def __init__(self, sandbox: Sandbox, process: BotProcess, table: int) -> None:
        self._sandbox, self._process, self._table = sandbox, process, table
        self._before = self._samples()
        self._last = dict(self._before)
        self._stderr = process.stderr_tail(table)
        self._began = time.perf_counter()
        self._doing: dict[int, str] = {}
        self._until = 0.0
        self._moments: list[Moment] = []

    def sample(self) -> None:
        """Take one sample."""
        now = time.perf_counter() - self._began
        for pid, sample in self._samples().items():
            self._last[pid], self._until = sample, now
            doing = STATES.get(sample.state, sample.state)
            doing += f" in {sample.kernel_function}" if sample.kernel_function else ""
            if self._doing.get(pid) != doing:
                what = f"process {pid} {doing}" if pid in self._doing else f"process {pid} seen, {doing}"
                self._doing[pid] = doing
                used = f"{sample.cpu / 1e6:.1f} ms CPU, {sample.queued / 1e6:.1f} ms waiting for a core"
                self._note(now, f"{what}; {used}")
        stderr = self._process.stderr_tail(self._table)
        if stderr != self._stderr:
            first = stderr.removeprefix(self._stderr).decode(errors="replace").strip().partition("\n")[0][:60]
            self._note(now, f"standard error: {first!r}")
            self._stderr = stderr

    def profile(self) -> Profile:
        """Take the last sample and return the profile. A process that has ended counts up to its own last sample."""
        elapsed = time.perf_counter() - self._began
        self.sample()
        pairs = [(self._before.get(pid, _Sample()), last) for pid, last in self._last.items()]
        return Profile(
            cpu=sum(last.cpu - before.cpu for before, last in pairs) / 1e9,
            queued=sum(last.queued - before.queued for before, last in pairs) / 1e9,
            until=self._until,
            elapsed=elapsed,
            fresh=not self._before,
            moments=tuple(self._moments),
        )

    def _note(self, at: float, words: str) -> None:
        if len(self._moments) < MAX_MOMENTS:
            self._moments.append(Moment(at, words))

    def _samples(self) -> dict[int, _Sample]:
        return {
            process.pid: sample
            for process in descendants(self._sandbox.pid)
            if (sample := _sample(process)) is not None
        }


def _sample(process: psutil.Process) -> _Sample | None:
    """Return a sample of one process; None if the kernel does not provide it."""
    proc = Path(f"/proc/{process.pid}")
    cpu = queued = 0
    try:
        for thread in (proc / "task").iterdir():
            with suppress(OSError):  # the thread has just ended
                computed, waited, _slices = (thread / "schedstat").read_text().split()
                cpu, queued = cpu + int(computed), queued + int(waited)
        state = (proc / "stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    kernel_function = ""
    with suppress(OSError):
        kernel_function = (proc / "wchan").read_text().strip("0\n")
    return _Sample(cpu=cpu, queued=queued, state=state, kernel_function=kernel_function)


@asynccontextmanager
async def profiling(sandbox: Sandbox, process: BotProcess, table: int) -> AsyncIterator[Profiler]:
    """Sample the processes of a sandbox for the length of the block."""
    profiler = Profiler(sandbox, process, table)

    async def keep_sampling() -> None:
        while True:
            profiler.sample()
            await trio.sleep(SAMPLE_PERIOD_S)

    with unwrap_exception_group():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(keep_sampling)
            yield profiler
            nursery.cancel_scope.cancel()
