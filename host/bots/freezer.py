"""Freezes a bot while another bot is thinking, so that it cannot compute on the other's time."""

import ctypes
import os
import struct
import time
from collections.abc import Callable

import trio

from host.sandbox.keeper import Keeper

OFF_TURN = 0.001  # seconds without a question after which a bot that computes is stopped
LONG_OFF_TURN = 0.005  # seconds after which a bot is stopped even if it does not compute, as far as measured
PONDERING = 0.0001  # seconds of processor time without a question; a bot that uses more is stopped after OFF_TURN
MONOTONIC, FLAGS = 1, os.O_NONBLOCK | os.O_CLOEXEC  # of timerfd_create(2)
TIMER = struct.Struct("4q")
"""An itimerspec: the interval and the time until the timer expires, both in seconds and nanoseconds."""

_libc = ctypes.CDLL(None, use_errno=True)


class Freezer:
    """Stops idle bots of this worker. While no answer is slow, nothing is stopped, so fast exchanges cost nothing.

    To stop and resume a bot costs 200 µs, to measure that it does not compute costs 2. So a bot that has not computed
    on the time of others, as far as that can be measured, is stopped only if another bot thinks for long.
    """

    def __init__(self) -> None:
        self.idle: set[FreezeState] = set()  # the bots that are alive, not stopped, and have no question
        self.slow = 0  # number of slow answers that are due
        self._timer = -1  # a timerfd, precise to microseconds; trio sleeps for whole milliseconds
        self._armed = False

    async def run(self) -> None:
        """Stop idle bots while an answer is slow, until cancelled. Raise OSError if the kernel has no timers."""
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
                    self.look()
                    self.wake_soon()
        finally:
            os.close(self._timer)
            self._timer = -1

    def look(self) -> None:
        """Stop the idle bots that must be stopped by now, because an answer is slow."""
        if self._timer < 0:
            return  # pondering is allowed
        now = time.perf_counter()
        for turn in [turn for turn in self.idle if now - turn.since >= OFF_TURN]:
            if turn.must_stop(now - turn.since):
                turn.stop()

    def wake_soon(self) -> None:
        """Set the timer to the moment of the next `look`. An earlier answer costs no more than this."""
        if self._armed or self._timer < 0 or not (self.idle and self.slow):
            return
        for turn in self.idle:
            turn.count()
        left = min(turn.since for turn in self.idle) + OFF_TURN - time.perf_counter()
        nanoseconds = int((left if left > 0 else OFF_TURN) * 1e9)
        _libc.timerfd_settime(self._timer, 0, TIMER.pack(0, 0, 0, nanoseconds), None)
        self._armed = True


class FreezeState:
    """The turn of one bot. It begins with a question and ends with the answer."""

    def __init__(self, turns: Freezer, keeper: Keeper, computed: Callable[[], float] | None = None) -> None:
        self._turns, self._keeper, self._computed = turns, keeper, computed
        self.since = 0.0  # time since which the bot has had no question
        self.is_stopped = False
        self._slow = False
        self._ponders = False  # whether it has computed without a question
        self.used_before: float | None = None  # processor time when it was noticed that it had no question
        # The number of stops, and the seconds of processor time that the bot used off turn before them.
        self.pauses, self.cpu_off_turn = 0, 0.0

    def thaw(self) -> None:
        """Resume the bot: it has a question, or must exit normally."""
        self._turns.idle.discard(self)
        if self.is_stopped:
            self.is_stopped = False
            self.cpu_off_turn += self._used()  # and that of the keeper, which has stopped it
            self._keeper.resume()
        elif self.used_before is not None and self._used() > PONDERING:
            self._ponders = True
        self.used_before = None

    def mark_slow(self) -> None:
        """Record that the answer is slow. Other bots that have no question may have to be stopped meanwhile."""
        if not self._slow:
            self._slow = True
            self._turns.slow += 1
            self._turns.wake_soon()

    def end(self) -> None:
        """Record that no answer is due."""
        if self._slow:
            self._slow = False
            self._turns.slow -= 1

    def mark_idle(self) -> None:
        """Record that the bot is alive and has no question."""
        self.since = time.perf_counter()
        self._turns.idle.add(self)
        if self._turns.slow:
            self._turns.wake_soon()

    def forget(self) -> None:
        """Record that the bot is dead."""
        self.end()
        self._turns.idle.discard(self)
        self.is_stopped = False

    def must_stop(self, idle: float) -> bool:
        """Return whether the bot must be stopped, after `idle` seconds without a question."""
        self.count()
        if self._used() > PONDERING:
            self._ponders = True
        return self._computed is None or self._ponders or idle >= LONG_OFF_TURN

    def _used(self) -> float:
        """Return the seconds of processor time that the bot has used without a question, as far as measured."""
        if self._computed is None or self.used_before is None:
            return 0.0
        return self._computed() - self.used_before

    def look_at_others(self) -> None:
        """Stop the other bots that must be stopped by now. Call this once a millisecond while the answer is slow."""
        self._turns.look()

    def count(self) -> None:
        """Measure from now on what the bot computes without a question, if that can be measured."""
        if self.used_before is None and self._computed is not None:
            self.used_before = self._computed()

    def stop(self) -> None:
        """Stop the bot."""
        self._turns.idle.discard(self)
        self.is_stopped = True
        self.pauses += 1
        self._keeper.pause()
