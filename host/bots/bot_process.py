"""What a seat needs of the process behind it, and what any such process needs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import trio

from host.bots.deadline import DeadlinePolicy
from host.bots.monitor import MonitoredSandbox
from host.bots.stderr_log import StderrLog
from host.bots.values import Batch, BatchResult, ProcessTotals
from host.sandbox.launch import Sandbox
from host.submissions.bot_spec import BuiltBot
from protocols.wire import Grammar


class BotContext(NamedTuple):
    """What the processes of a bot are started and measured with."""

    bot: BuiltBot
    grammar: Grammar
    argv: Sequence[bytes]
    env: Mapping[str, str]
    monitored: MonitoredSandbox
    policy: DeadlinePolicy
    nursery: trio.Nursery

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that they live in."""
        return self.monitored.sandbox


class PolledProcess(Protocol):
    """A process that a batch has been written to, and whose answers may be read as soon as they come."""

    @property
    def output(self) -> int:
        """The descriptor to read from."""
        ...

    @property
    def is_answered(self) -> bool:
        """Whether all of the batch is answered, without a fault."""
        ...

    def read_available(self, now: float) -> bool:
        """Read what has come by now; return whether that ends the batch."""
        ...


class BotProcess(Protocol):
    """How a seat asks its bot: by one process for all questions, or by one for each."""

    stderr_log: StderrLog

    @property
    def totals(self) -> ProcessTotals:
        """What all processes have used so far."""
        ...

    def send(self, batch: Batch) -> PolledProcess | None:
        """Take the next batch. Return a process that has it already; None if `finish` must start or prepare one."""
        ...

    async def finish(self) -> BatchResult:
        """Return what the batch brought, up to the first fault that ended a process."""
        ...

    def stderr_tail(self, table: int) -> bytes:
        """Return the end of standard error: of the process, or where each question has its own, of that table's last."""
        ...

    async def shut_down(self, patience: float) -> None:
        """End the process; it has so many seconds to exit by itself."""
        ...
