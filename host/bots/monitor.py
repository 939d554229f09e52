"""Monitors all sandboxes, and kills those that exceed their memory or processor time."""

import os
import re
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from pathlib import Path

import trio

from host.bots.freezer import Freezer, FreezeState
from host.bots.stall_sampler import StallSampler
from host.bots.stderr_log import StderrReader
from host.sandbox.cgroup import Cgroup
from host.sandbox.launch import Sandbox
from host.sandbox.process_tree import ProcessTree, cpu_seconds, descendant_numbers, read_proc
from protocols.wire import FaultKind

PERIOD_S = 0.02  # seconds between two checks
LONGEST_PERIOD_S = 0.16  # likewise, of a sandbox that rests
SHORTEST_PERIOD_S = 0.002  # minimum seconds between two checks, for a bot that has little processor time left
FOREVER = float("inf")
MACHINE_CORES = os.cpu_count() or 1  # of the machine: no bot computes for more than this many times the wall clock time
# Answers faster than this many seconds are not checked: no limit can be exceeded, and a check would cost more.
INSTANT_S = 0.001
DESCRIPTOR_SLOTS = re.compile(rb"\nFDSize:\s+(\d+)")
RESIDENT = re.compile(rb"\n(?:RssAnon|RssShmem|VmSwap|VmPTE):\s+(\d+) kB")
OWN = re.compile(rb"\n(?:RssAnon|VmPTE):\s+(\d+) kB")
PAGE_TABLES = re.compile(rb"\nVmPTE:\s+(\d+) kB")
"""Rows of a process's status file. Pages of system files are not counted, because all processes share them. Page tables
are counted: they are not pages of the process, but can take more memory than its pages. None of these rows is the first one
of the file, so the patterns begin with "\\n": to search for "\\n" takes 5 µs, for "^" 24 µs."""
PROPORTIONAL = re.compile(rb"\n(?:Pss_Anon|Pss_Shmem|SwapPss):\s+(\d+) kB")
"""Rows of a process's smaps_rollup file. Linux before 5.3 does not have them."""
MAX_COUNT_CPU_S = 0.25  # seconds of processor time for a count; memory that takes longer to count is over the limit
REST_AFTER_COUNT = 3  # pause between counts, as a multiple of the time of the last count
SOCKET_BYTES = 416 << 10  # bytes of kernel memory that one end of a socket can hold: two messages of the largest size
ALWAYS_OPEN = 512  # number of open descriptors that is always allowed to a sandbox
MAX_NAMES = 10_000  # files in a sandbox's /tmp; each takes 1 KiB of kernel memory, and time to remove


class MonitoredSandbox:
    """A sandbox that is monitored: its processes, its limits, and the limit exceeded, if any."""

    def __init__(self, sandbox: Sandbox, memory: int, disk_is_full: Callable[[], bool], monitor: "Monitor") -> None:
        self.sandbox, self.memory, self._disk_is_full, self._monitor = sandbox, memory, disk_is_full, monitor
        self.turn = FreezeState(monitor.turns, sandbox.keeper, sandbox.group.computed if sandbox.group else None)
        self.samples = StallSampler(sandbox)
        self.limit_exceeded: FaultKind | None = None
        self.peak = 0
        self.needs_recheck = False  # whether its memory is over the limit, unless its processes share memory
        self._tree = ProcessTree(sandbox.pid)
        self._tmp: int | None = None  # a descriptor of its /tmp, which costs a third of looking the path up
        self._has_own_tmp = False
        self._counts = False  # whether shared memory is being counted, or was a moment ago
        self._life = 0  # number of processes started so far
        # Seconds of processor time allowed: for the open questions, and for the process since its start.
        self._allowed = self._in_all = FOREVER
        self.until_cpu_limit = FOREVER  # seconds until it may exceed its processor time, by the last check
        self.period = PERIOD_S  # seconds between two checks at most
        self._before: float | None = None  # processor time when that of the open questions was first measured

    def new_process(self) -> None:
        """Reset the exceeded limit: all processes are dead, and a new one is about to start."""
        self.limit_exceeded = None
        self._life += 1
        self.turn.forget()

    def set_cpu_budget(self, cpu: float, in_all: float = FOREVER) -> None:
        """Set the seconds of processor time that are allowed: `cpu` from now on, `in_all` since the start of the process."""
        self._allowed, self._in_all, self._before = cpu, in_all, None

    def mark_slow(self, asked: float) -> None:
        """Record that the answer to the question asked at the time `asked` is slow, so other tasks run while the bot computes."""
        self._end_rest()
        self.turn.mark_slow(asked)

    @contextmanager
    def waiting_for_model(self) -> Iterator[None]:
        """Record for the length of the block that the bot waits for a model, so its processes are not sampled.

        If the bot uses no processor time, its sandbox is also checked less often (see Monitor).
        """
        self.samples.waits_for_model = True
        try:
            yield
        finally:
            self.samples.sample()  # the time until now counts as the model's
            self.samples.waits_for_model = False
            self._end_rest()

    @property
    def seconds_to_check(self) -> float:
        """Return the seconds until the next check."""
        return min(max(self.until_cpu_limit, SHORTEST_PERIOD_S), self.period)

    def _end_rest(self) -> None:
        """If the sandbox rests (see Monitor), check it immediately, and then again every PERIOD_S seconds."""
        if self.period > PERIOD_S:
            self.period = PERIOD_S
            self._monitor.check_now()

    def computed(self) -> float:
        """Return the seconds of processor time that the open questions have cost since they were first measured."""
        return 0.0 if self._before is None else self._computed_so_far() - self._before

    def _computed_so_far(self) -> float:
        """Return the seconds of processor time of all processes in the sandbox."""
        return sum(map(cpu_seconds, descendant_numbers(self.sandbox.pid)))

    def total(self) -> float | None:
        """Return the seconds of processor time of the sandbox so far; None if it cannot be measured fast and precisely."""
        return None

    def cost(self, in_all: float) -> float:
        """Return the seconds of processor time that a dead process used for the open questions, as far as measured.

        `in_all` is the processor time of its whole life, in seconds.
        """
        return 0.0 if self._before is None else max(in_all - self._before, 0.0)

    def final_check(self, wall: float) -> FaultKind | None:
        """Remove the limits of processor time, since no question is open. Return the limit that the answers exceeded, or None.

        `wall` is the number of seconds that the answers took.
        """
        if wall > INSTANT_S and self.limit_exceeded is None:
            self.limit_exceeded = self._exceeded_within(wall)
        self._allowed = self._in_all = FOREVER
        self.turn.end()
        self.samples.end()
        return self.limit_exceeded

    def _exceeded_within(self, _wall: float) -> FaultKind | None:
        """Return the limit that answers have exceeded since the last check, if that costs little to find out."""
        return None

    def close(self) -> None:
        """End the monitoring."""
        self.turn.forget()
        self._tree.close()
        if self._tmp is not None:
            os.close(self._tmp)

    def look(self) -> None:
        """Check the sandbox once; kill everything in it if it exceeds a limit."""
        self.until_cpu_limit, self.needs_recheck = FOREVER, False
        if self.limit_exceeded is not None:
            return  # the process is dead, and the next one has not started
        self.samples.look()
        breach = self._too_much()
        if breach is None and self._names() > MAX_NAMES:
            breach = FaultKind.MEMORY
        if breach is None and self._disk_is_full():
            breach = FaultKind.FLOOD
        if breach is not None:
            self.exceed(breach)

    def _too_much(self) -> FaultKind | None:
        """Look at every process once. Return the limit that is exceeded, or None."""
        statuses = self._tree.statuses()
        memory = sum(_sum(RESIDENT, status) for status in statuses.values()) << 10
        self.needs_recheck = memory > self.memory
        if not self.needs_recheck:
            self.peak = max(self.peak, memory)
        elif any(_sum(OWN, status) << 10 > self.memory for status in statuses.values()):
            return FaultKind.MEMORY
        # There is room for this many open files in the tables of the processes: usually 64. To count them takes
        # 20 µs more.
        room = sum(_sum(DESCRIPTOR_SLOTS, status) for status in statuses.values())
        if room > ALWAYS_OPEN and sum(map(_open, statuses)) > max(ALWAYS_OPEN, self.memory // SOCKET_BYTES):
            return FaultKind.MEMORY
        return FaultKind.CPU if self._computes_too_long(statuses) else None

    async def count(self) -> None:
        """Count the memory again, shared memory only once. Kill everything if it exceeds the limit.

        This runs in a thread: a bot can make it slow, and other tasks must not wait.
        """
        if self._counts:
            return
        self._counts, life, began = True, self._life, time.perf_counter()
        memory = await trio.to_thread.run_sync(_shared, descendant_numbers(self.sandbox.pid))
        if life == self._life and self.limit_exceeded is None:
            if memory > self.memory:
                self.exceed(FaultKind.MEMORY)
            else:
                self.peak = max(self.peak, int(memory))
        await trio.sleep(REST_AFTER_COUNT * (time.perf_counter() - began))
        self._counts = False

    def exceed(self, breach: FaultKind) -> None:
        """Record the exceeded limit, and kill everything."""
        self.limit_exceeded = breach
        self.sandbox.keeper.kill_now()

    def _names(self) -> int:
        """Return the number of files in the sandbox's own /tmp; 0 if it has none."""
        try:
            if self._tmp is None:
                self._tmp = os.open(f"/proc/{self.sandbox.pid}/root/tmp", os.O_PATH | os.O_CLOEXEC)
                self._has_own_tmp = os.fstat(self._tmp).st_dev != _own_tmp()
            counted = os.statvfs(self._tmp) if self._has_own_tmp else None
        except OSError:
            return 0
        return counted.f_files - counted.f_ffree if counted is not None else 0

    def _computes_too_long(self, processes: Iterable[int]) -> bool:
        """Return whether more processor time was used than allowed for the open questions, or since the process started.

        The time of the open questions is measured from the first check, in steps of 10 ms.
        """
        if self._allowed == FOREVER:
            return False
        computed = sum(map(cpu_seconds, processes))
        if self._before is None:
            self._before = computed
        return computed - self._before > self._allowed or computed > self._in_all


class CgroupMonitored(MonitoredSandbox):
    """A monitored sandbox with a control group: the kernel counts its usage and enforces its memory limit."""

    def __init__(
        self, group: Cgroup, sandbox: Sandbox, memory: int, disk_is_full: Callable[[], bool], monitor: "Monitor"
    ) -> None:
        super().__init__(sandbox, memory, disk_is_full, monitor)
        self._group = group
        self._killed, self._born = group.killed(), group.computed()
        self._cores = sandbox.cores
        self._charged = 0  # memory with the file cache when `peak` was last computed
        self._computed_before = 0.0  # processor time at the last check

    def new_process(self) -> None:
        """Reset the exceeded limit: all processes are dead, and a new one is about to start."""
        super().new_process()
        self._killed, self._born = self._group.killed(), self._group.computed()

    def mark_slow(self, asked: float) -> None:
        """Record that an answer is slow, and measure the processor time of the open questions from now on.

        To measure it for fast answers, too, would cost each of them a microsecond.
        """
        if self._before is None:
            self._before = self._group.computed()
        super().mark_slow(asked)

    def _computed_so_far(self) -> float:
        return self._group.computed()

    def total(self) -> float:
        """Return the seconds of processor time of the sandbox so far. A call costs a microsecond."""
        return self._group.computed()

    def cost(self, _in_all: float) -> float:
        """Return the seconds of processor time that the open questions have cost since `mark_slow`."""
        return self.computed()

    def _exceeded_within(self, wall: float) -> FaultKind | None:
        may_exceed_cpu = wall * MACHINE_CORES > self._allowed or self._in_all < FOREVER
        return self._passed() if may_exceed_cpu else self._out_of_memory()

    def look(self) -> None:
        """Check the sandbox, as MonitoredSandbox does. Check it less and less often while it uses no processor time."""
        try:
            computed = self._group.computed()
        except OSError:  # somebody else has removed the group
            return super().look()
        rests = computed == self._computed_before and not self.samples.are_due and self._disk_is_full is bool
        self._computed_before = computed
        if rests:  # its memory and its files are as they were at the last check
            self.samples.look()
        else:
            super().look()
        self.period = min(2 * self.period, LONGEST_PERIOD_S) if rests else PERIOD_S

    def _too_much(self) -> FaultKind | None:
        charged = self._group.charged()
        if charged > self.peak and charged != self._charged:  # else there cannot be a new peak
            self._charged, self.peak = charged, max(self.peak, self._group.used())
        return self._passed()

    def _out_of_memory(self) -> FaultKind | None:
        return FaultKind.MEMORY if self._group.killed() > self._killed else None

    def _passed(self) -> FaultKind | None:
        if (breach := self._out_of_memory()) is not None:
            return breach
        if self._before is None:
            return None
        computed = self._group.computed()
        remaining = min(self._allowed - (computed - self._before), self._in_all - (computed - self._born))
        self.until_cpu_limit = remaining / self._cores
        return FaultKind.CPU if remaining < 0 else None


@cache
def _own_tmp() -> int:
    return Path("/tmp").stat().st_dev


def _bytes_in(pid: int, file: str, rows: re.Pattern[bytes]) -> int:
    """Return the sum, in bytes, of the sizes that `rows` matches in a file of /proc/PID; 0 if it cannot be read."""
    with suppress(OSError):
        return _sum(rows, read_proc(f"/proc/{pid}/{file}")) << 10
    return 0


def _sum(rows: re.Pattern[bytes], text: bytes) -> int:
    """Return the sum of the numbers that `rows` finds in the text of a file about a process. Sizes in it are in KiB."""
    return sum(map(int, rows.findall(text)))


def _shared(pids: Sequence[int]) -> float:
    """Return the bytes of memory of all processes, shared memory counted once; infinity if counting takes too long."""
    began, memory = time.thread_time(), 0
    for pid in pids:
        # All pages of a process whose smaps_rollup cannot be read count as its own.
        shares = _bytes_in(pid, "smaps_rollup", PROPORTIONAL)
        memory += shares + _bytes_in(pid, "status", PAGE_TABLES) if shares else _bytes_in(pid, "status", RESIDENT)
        if time.thread_time() - began > MAX_COUNT_CPU_S:
            return FOREVER
    return memory


def held_bytes(sandbox: Sandbox) -> float:
    """Return the bytes of memory of all processes of a sandbox except its keeper; infinity if counting takes too long."""
    return _shared(descendant_numbers(sandbox.pid))


def _open(pid: int) -> int:
    """Return how many descriptors a process has; 0 on kernels before 6.2, which do not report this number."""
    with suppress(OSError):
        return os.stat(f"/proc/{pid}/fd").st_size  # noqa: PTH116
    return 0


@contextmanager
def unwrap_exception_group() -> Iterator[None]:
    """Raise an exception without the groups that nurseries wrap around it: callers do not expect a group."""
    try:
        yield
    except BaseExceptionGroup as group:
        inner: BaseException = group
        while isinstance(inner, BaseExceptionGroup) and len(inner.exceptions) == 1:
            inner = inner.exceptions[0]
        raise inner from inner.__cause__


class Monitor:
    """Checks every monitored sandbox every 20 ms. Freezes bots that have no question, unless `pondering`.

    A sandbox rests if it has a control group and no limit of files on disk, none of its processes computes, and the bot
    either owes no slow answer or waits for a model. Such a sandbox is checked after 40 ms, 80 ms, then every 160 ms: the
    kernel enforces its limit of memory, and processor time is checked as soon as it can exceed its limit.

    With `logs`, the whole standard error of bots is stored, by question. Otherwise only its end is stored, by table.
    """

    def __init__(self, *, pondering: bool = False, logs: bool = False) -> None:
        self.pondering, self.logs = pondering, logs
        self.due = FOREVER  # time of the next check; a task that seldom lets others run must do so then
        self._watched: set[MonitoredSandbox] = set()
        self.stderr_reader = StderrReader()
        self.turns = Freezer()
        self._sleep = trio.CancelScope()  # until the next check

    def check_now(self) -> None:
        """Make the task of `run` check every sandbox as soon as possible."""
        self._sleep.cancel()

    @contextmanager
    def watching(
        self, sandbox: Sandbox, memory: int, disk_is_full: Callable[[], bool] = bool
    ) -> Iterator[MonitoredSandbox]:
        """Monitor a sandbox for the length of the block. `disk_is_full` returns whether the files of the bot exceed its limit."""
        watched = (
            MonitoredSandbox(sandbox, memory, disk_is_full, self)
            if sandbox.group is None
            else CgroupMonitored(sandbox.group, sandbox, memory, disk_is_full, self)
        )
        self._watched.add(watched)
        try:
            yield watched
        finally:
            watched.close()
            self._watched.discard(watched)

    async def run(self) -> None:
        """Monitor until cancelled, and read what bots write to standard error."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.stderr_reader.run)
            if not self.pondering:
                nursery.start_soon(self.turns.run)
            while True:
                seconds = min((watched.seconds_to_check for watched in self._watched), default=PERIOD_S)
                self.due = time.perf_counter() + seconds
                for watched in self._watched:
                    watched.samples.period = seconds
                with trio.move_on_after(seconds) as self._sleep:
                    await trio.sleep_forever()
                for watched in tuple(self._watched):
                    watched.look()
                    if watched.needs_recheck:
                        nursery.start_soon(watched.count)


@asynccontextmanager
async def running_monitor(*, logs: bool = False) -> AsyncIterator[Monitor]:
    """Run a monitor for the length of the block."""
    with unwrap_exception_group():
        async with trio.open_nursery() as nursery:
            monitor = Monitor(logs=logs)
            nursery.start_soon(monitor.run)
            yield monitor
            nursery.cancel_scope.cancel()
