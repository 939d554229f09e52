"""Samples the states of the processes of a slow bot, to find stalls of the machine that no counter of a process shows."""

import os
import re
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from host.base.counts import Seconds
from host.sandbox.cgroup import groups_of

if TYPE_CHECKING:  # every command that reads a journal imports this module; the launcher imports trio, which takes long
    from host.sandbox.launch import Sandbox

SAMPLED_AFTER_S = 0.04
"""Seconds after which a slow answer is sampled. Most answers arrive earlier, and a sample costs 50 to 500 µs."""

PERIOD_S = 0.02  # seconds between two samples
LATE_S = 0.05  # a sample that is this many seconds late shows that croupier itself was stopped or delayed
THROTTLED = re.compile(rb"^throttled_(time|usec) (\d+)", re.MULTILINE)  # of a group's cpu.stat, in version 1 and 2
FROZEN = (("cgroup.events", "frozen 1"), ("freezer.state", "FROZEN"))  # files of version 2 and 1, and text in them
KEEPER_DUE = "keeper due"  # the keeper is ready to run, and no process of the bot is
UNITS = {b"time": 1e9, b"usec": 1e6}  # per second


class Stalls(NamedTuple):
    """Seconds of one answer in which the machine kept a bot from running, apart from its waits for a processor."""

    blocked: Seconds = 0.0  # a thread waited for a disk or for memory, and none ran
    stopped: Seconds = 0.0  # stopped or frozen from outside together with its keeper, or its keeper did not run
    paused: Seconds = 0.0  # croupier itself did not run
    throttled: Seconds = 0.0  # a control group had used up its quota of processor time

    @property
    def total(self) -> float:
        """Return the seconds of all kinds of stalls together."""
        return sum(self)


class StallSampler:
    """Attributes the time of one slow answer to stalls of the machine, by samples. A fast answer is never sampled."""

    def __init__(self, sandbox: "Sandbox") -> None:
        self.sandbox = sandbox
        self.stalls = Stalls()
        self._last: float | None = None  # time of the last sample, or of the question; None: no answer is slow
        self._is_first = True
        self.period = PERIOD_S  # seconds that the monitor sleeps before it takes the next sample; the monitor sets this
        self.waits_for_model = False  # if True, only a pause of croupier is a stall, and the processes are not sampled
        self._keeper_was_due = False  # whether the keeper was ready to run at the last sample
        self._files: Sequence[Path] | None = None  # cpu.stat of the control groups that the sandbox is in, once needed
        self._throttled_before = 0.0

    def begin(self) -> None:
        """Record that an answer may become slow; drop the stalls of earlier answers."""
        self._last, self._is_first, self.stalls = time.perf_counter(), True, Stalls()
        self._keeper_was_due, self._files = False, None

    def end(self) -> None:
        """Record that no answer is due. `stalls` keeps its value until the next answer is slow."""
        self._last = None

    @property
    def are_due(self) -> bool:
        """Return whether the processes must be sampled every PERIOD_S: an answer is slow, and the bot waits for no model."""
        return self._last is not None and not self.waits_for_model

    def look(self) -> None:
        """Take a sample if an answer has been slow for long enough. Call this every PERIOD_S."""
        if self._last is not None and time.perf_counter() - self._last >= self._planned_s - PERIOD_S / 2:
            self.sample()

    @property
    def _planned_s(self) -> float:
        return SAMPLED_AFTER_S if self._is_first else PERIOD_S

    def sample(self) -> None:
        """Attribute the time since the last sample to the current state of the bot's processes."""
        now = time.perf_counter()
        if self._last is None or now - self._last < PERIOD_S / 4:
            return
        passed, expected = now - self._last, max(self._planned_s, self.period) + PERIOD_S
        self._last, self._is_first = now, False
        stalls = self.stalls
        if passed > expected + LATE_S:
            stalls = stalls._replace(paused=stalls.paused + passed - expected)
        elif not self.waits_for_model:
            kind = self._kind(self._groups())
            stalls = stalls._replace(**{kind: getattr(stalls, kind) + passed} if kind else {})
        if not self.waits_for_model:
            stalls = stalls._replace(throttled=_throttled(self._groups()) - self._throttled_before)
        self.stalls = stalls

    def _groups(self) -> Sequence[Path]:
        """Return the file cpu.stat of each control group that the sandbox is in. To find these groups costs 400 µs."""
        if self._files is None:
            self._files = [folder / "cpu.stat" for folder in groups_of(self.sandbox.pid)]
            self._throttled_before = _throttled(self._files)
        return self._files

    def _kind(self, files: Sequence[Path]) -> str:
        """Return the name of the field of Stalls for the sandbox's current state; "" if the machine does not stall it.

        A keeper that has just reported a slow answer is also ready to run. So a keeper counts as stalled only if two
        samples in a row find it ready to run.
        """
        kind, was_due = _kind(self.sandbox.pid, _is_frozen(files)), self._keeper_was_due
        self._keeper_was_due = kind == KEEPER_DUE
        if kind == KEEPER_DUE:
            return "stopped" if was_due else ""
        return kind


def _throttled(files: Sequence[Path]) -> float:
    """Return the seconds for which the kernel has throttled a control group so far: the maximum over these cpu.stat files."""
    seconds = 0.0
    for file in files:
        with suppress(OSError):
            for unit, count in THROTTLED.findall(file.read_bytes()):
                seconds = max(seconds, int(count) / UNITS[unit])
    return seconds


def _is_frozen(files: Sequence[Path]) -> bool:
    """Return whether a control group is frozen.

    Its processes then look as if they sleep, or in version 1 as if they wait for a disk.
    """
    for file in files:
        for name, word in FROZEN:
            with suppress(OSError):
                if word in file.with_name(name).read_text():
                    return True
    return False


def _kind(keeper: int, frozen: bool) -> str:
    """Return the name of the field of Stalls for a sandbox's current state, KEEPER_DUE, or "" if it is not stalled.

    A bot can stop itself, but nothing in a sandbox can stop its keeper. A process that waits for a child made by vfork
    looks like one that waits for a disk, so a wait of a process that has children does not count. The system call filter
    forbids vfork where the child would not be listed. A keeper is also in that state until the bot's program is loaded.
    """
    states, own = _bot_states(keeper), _state(f"/proc/{keeper}/stat")
    if frozen or own == "T":
        return "stopped"
    if "R" in states:
        return ""
    if "D" in states or own == "D":
        return "blocked"
    return KEEPER_DUE if own == "R" else ""


def _bot_states(keeper: int) -> set[str]:
    """Return the states of all threads of all processes that descend from a keeper."""
    found, states = [keeper], set[str]()
    for pid in found:
        children, own = list[int](), set[str]()
        with suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a sample must cost microseconds
                children += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
                own.add(_state(f"/proc/{pid}/task/{thread}/stat"))
        found += children
        if pid != keeper:
            states |= own - {"D"} if children else own
    return states


def _state(file: str) -> str:
    """Return the state of a process or a thread as one letter; "gone" if it has ended."""
    with suppress(OSError, IndexError):
        return Path(file).read_text().rpartition(")")[2].split()[0]
    return "gone"
