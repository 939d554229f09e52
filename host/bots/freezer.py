"""Off turn means off: a bot that has no question is stopped while another takes time over its own."""

import ctypes
import os
import struct
import time
from collections.abc import Callable

import trio

from host.sandbox.keeper import Keeper

OFF_TURN = 0.0005  # seconds without a question after which a bot is stopped until the next
MONOTONIC, FLAGS = 1, os.O_NONBLOCK | os.O_CLOEXEC  # of timerfd_create(2)
TIMER = struct.Struct("4q")
"""An itimerspec: the interval, and the time until it is over, in seconds and nanoseconds each."""

_libc = ctypes.CDLL(None, use_errno=True)


class Freezer:
    """The turns of all bots here. A fast exchange is left alone: nobody is stopped while no answer is slow in coming."""

    def __init__(self) -> None:
        self.idle: set[FreezeState] = set()  # of those who live, run and have no question
        self.slow = 0  # answers that are slow in coming
        self._timer = -1  # trio sleeps for whole milliseconds, a timer of the kernel's for microseconds
        self._armed = False

    async def run(self) -> None:
        """Stop whom it may concern, until cancelled."""
        self._timer = _libc.timerfd_create(MONOTONIC, FLAGS)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        try:
            self.wake_soon()
            while True:
                await trio.lowlevel.wait_readable(self._timer)
                os.read(self._timer, 8)
                self._armed = False
                if self.slow:
                    now = time.perf_counter()
                    for turn in [turn for turn in self.idle if now - turn.since >= OFF_TURN]:
                        turn.stop()
                    self.wake_soon()
        finally:
            os.close(self._timer)
            self._timer = -1

    def wake_soon(self) -> None:
        """Have a timer wake us when the next bot is to be stopped. An answer that comes soon after all costs no more."""
        if self._armed or self._timer < 0 or not (self.idle and self.slow):
            return
        for turn in self.idle:
            turn.count()
        left = min(turn.since for turn in self.idle) + OFF_TURN - time.perf_counter()
        _libc.timerfd_settime(self._timer, 0, TIMER.pack(0, 0, 0, max(int(left * 1e9), 1)), None)
        self._armed = True


class FreezeState:
    """One bot's turn: it begins with a question and ends with the answer."""

    def __init__(self, turns: Freezer, keeper: Keeper, computed: Callable[[], float] | None = None) -> None:
        self._turns, self._keeper, self._computed = turns, keeper, computed
        self.since = 0.0  # when it has had no question
        self._stopped = self._slow = False
        self._before: float | None = None  # what had been computed when that was noticed
        self.pauses, self.cpu_off_turn = 0, 0.0  # how often it was stopped, and what it computed before that each time

    def thaw(self) -> None:
        """Let the bot go on: it has a question, or is to end in good order."""
        self._turns.idle.discard(self)
        if self._stopped:
            self._stopped = False
            if self._computed is not None and self._before is not None:
                self.cpu_off_turn += self._computed() - self._before
            self._keeper.resume()

    def mark_slow(self) -> None:
        """Note that the answer takes its time: others who have no question may have to be stopped meanwhile."""
        if not self._slow:
            self._slow = True
            self._turns.slow += 1
            self._turns.wake_soon()

    def end(self) -> None:
        """Note that no answer is waited for."""
        if self._slow:
            self._slow = False
            self._turns.slow -= 1

    def mark_idle(self) -> None:
        """Note that the bot lives on and has no question."""
        self.since, self._before = time.perf_counter(), None
        self._turns.idle.add(self)
        if self._turns.slow:
            self._turns.wake_soon()

    def forget(self) -> None:
        """Note that the bot is dead."""
        self.end()
        self._turns.idle.discard(self)
        self._stopped = False

    def count(self) -> None:
        """Count from now on what the bot computes without a question, where that can be told."""
        if self._before is None and self._computed is not None:
            self._before = self._computed()

    def stop(self) -> None:
        """Stop the bot."""
        self._turns.idle.discard(self)
        self._stopped = True
        self.pauses += 1
        self._keeper.pause()
