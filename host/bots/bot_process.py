"""Defines the interface between a seat and its bot's process, and the context of every such process."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock
from host.bots.monitor import MonitoredSandbox
from host.bots.stderr_log import StderrLog, StderrReader
from host.bots.values import Batch, BatchResult, HasQuestion, ProcessTotals, QuickAnswer
from host.sandbox.launch import Sandbox
from protocols.wire import Grammar, Move, View

Allows = Callable[[View, Move], bool]
"""Returns whether the rules allow a move, as far as that is known before the move is played."""


def any_move(_view: View, _move: Move) -> bool:
    """Return True, so no move is refused."""
    return True


class BotContext(NamedTuple):
    """The context in which the processes of a bot are started and measured."""

    bot: BuiltBot
    grammar: Grammar
    argv: Sequence[bytes]
    env: Mapping[str, str]
    monitored: MonitoredSandbox
    clock: Clock
    stderr_reader: StderrReader
    stderr_log: StderrLog
    used: ProcessTotals = ProcessTotals()  # by its earlier sandboxes in this fixture
    allows: Allows = any_move  # a bot with retries is asked again after any other move

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables of a process that is started now.

        If the bot has a time bank, CROUPIER_BANK has the seconds that are left in it.
        """
        if (bank := self.clock.bank) is None:
            return self.env
        return {**self.env, "CROUPIER_BANK": f"{bank.milliseconds / 1000:.3f}"}

    @property
    def sandbox(self) -> Sandbox:
        """Return the sandbox of the processes."""
        return self.monitored.sandbox


class PolledProcess(Protocol):
    """A process to which a batch has been written. Its answers can be read as soon as they arrive."""

    @property
    def output(self) -> int:
        """Return the descriptor to read from."""
        ...

    @property
    def is_answered(self) -> bool:
        """Return whether all questions of the batch are answered without a fault."""
        ...

    def read_available(self, now: float) -> bool:
        """Read the output available at the time `now`. Return whether this ends the batch, by its last answer or by a fault."""
        ...


class BotProcess(Protocol):
    """The interface through which a seat asks its bot: one process for many questions, or one process per question."""

    stderr_log: StderrLog
    is_timed: bool
    """Whether the processor time of each answer at the first tables must be measured."""

    @property
    def quick(self) -> Callable[[HasQuestion], QuickAnswer | None] | None:
        """Return a function that asks one question quickly; None if the process is not alive, idle and suited for that.

        The function returns the answer if it arrives immediately. If the function returns None, call `finish`.
        """
        ...

    @property
    def totals(self) -> ProcessTotals:
        """Return the usage of all processes so far."""
        ...

    def send(self, batch: Batch) -> PolledProcess | None:
        """Take the next batch. Return the process if the questions have been written to it.

        Otherwise return None: the caller awaits `finish`, which starts, writes and reads what is still missing.
        """
        ...

    async def finish(self) -> BatchResult:
        """Return the results of the batch, up to the first fault that ended a process."""
        ...

    def answered(self) -> BatchResult:
        """Return the results of the batch that are known so far. Call this after `finish` has raised an exception."""
        ...

    def stderr_tail(self, table: int) -> bytes:
        """Return the start and the end of the standard error of the process.

        If each question has its own process, return those of the last question at the table.
        """
        ...

    async def shut_down(self, patience: float) -> None:
        """End the process. Give it `patience` seconds to exit by itself first."""
        ...
