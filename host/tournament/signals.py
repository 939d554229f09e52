"""Stops a run in good order at ^C, SIGTERM or a deadline."""

import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio

from host.base.errors import UserError, cause_of


class Stop:
    """The cancel scope that stops a run in good order, and the reason for the stop."""

    def __init__(self) -> None:
        self.scope = trio.CancelScope()
        self.reason = "its time is up"

    def now(self, reason: str) -> None:
        """Stop the run for a reason."""
        self.reason = reason
        self.scope.cancel()


@asynccontextmanager
async def interruptible(say: Callable[[str], None]) -> AsyncIterator[Stop]:
    """Run a block that ^C, SIGTERM or a deadline can stop: finished fixtures are saved, unfinished ones are dropped.

    A UserError leaves the block as it was raised, without an exception group. Outside the main thread no signal arrives:
    there, the caller must cancel the block.
    """
    stop = Stop()
    refused: BaseException | None = None
    try:
        with stop.scope:
            async with trio.open_nursery() as nursery:
                if threading.current_thread() is threading.main_thread():
                    await nursery.start(signals, stop, say)
                yield stop
                nursery.cancel_scope.cancel()
    except* UserError as wrapped:
        refused = cause_of(wrapped)
    if refused is not None:
        raise refused


async def signals(stop: Stop, say: Callable[[str], None], task_status: Any = trio.TASK_STATUS_IGNORED) -> None:
    """Stop in good order at the first ^C or SIGTERM, immediately at the second. Both leave the journal intact."""
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as received:
        task_status.started()
        count = 0
        async for number in received:
            count += 1
            if count > 1:
                os._exit(130)
            name = "^C" if number == signal.SIGINT else signal.Signals(number).name
            say(f"{name}  dropping the unfinished fixtures; finished ones are saved")
            stop.now(name)
