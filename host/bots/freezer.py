"""Freezes a bot while another bot is thinking, so that it cannot compute on the other's time."""

import ctypes
import math
import os
import struct
import time
from collections.abc import Callable

import trio

from host.sandbox.keeper import Keeper

OFF_TURN_S = 0.001  # seconds of another bot's answer until a bot is paused if it has computed without a question
LONG_OFF_TURN_S = 0.005  # seconds until it is paused even if it has not, as far as measured
LOOKS_S = (OFF_TURN_S, LONG_OFF_TURN_S)
PONDERING_S = 0.0001  # seconds of processor time without a question; a bot that uses more computes without a question
MONOTONIC, FLAGS = 1, os.O_NONBLOCK | os.O_CLOEXEC  # of timerfd_create(2)
TIMER = struct.Struct("4q")
"""An itimerspec: the interval and the time until the timer expires, both in seconds and nanoseconds."""

_libc = ctypes.CDLL(None, use_errno=True)


class Freezer:
    """Pauses idle bots of this worker. While no answer is slow, nothing is paused, so fast exchanges cost nothing.

    To pause and resume a bot costs 200 µs. To measure that it does not compute costs 2 µs. So a bot that has not computed
    without a question, as far as that can be measured, is paused only if another bot thinks for a long time. To wake up
    while a bot thinks costs more than 20 µs, so there are only two looks during an answer. The first look begins to measure
    an idle bot, the second one pauses it. If the bot gets its next question between the two looks, `resume` finds out whether
    it has computed.
    """

    def __init__(self) -> None:
        self.idle: set[FreezeState] = set()  # the bots that are alive, not paused, and have no question
        self.slow = 0  # number of slow answers that are due while other tasks run
        self.slow_since = 0.0  # time at which the first of their questions was asked
        self._timer = -1  # a timerfd, precise to microseconds; trio sleeps for whole milliseconds
        self._armed_for = math.inf  # the time at which the timer expires

    async def run(self) -> None:
        """Pause idle bots while an answer is slow, until cancelled. Raise OSError if the kernel has no timers."""
        self._timer = _libc.timerfd_create(MONOTONIC, FLAGS)
        if self._timer < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        try:
            self.wake_soon()
            while True:
                await trio.lowlevel.wait_readable(self._timer)
                os.read(self._timer, 8)
                self._armed_for = math.inf
                if self.slow:
                    self.wake_soon()
        finally:
            os.close(self._timer)
            self._timer = -1

    def look(self) -> None:
        """Pause the idle bots that must be paused now, because an answer is slow."""
        now = time.perf_counter()
        for turn in tuple(self.idle):
            if (passed := now - max(turn.since, self.slow_since)) >= OFF_TURN_S and turn.must_pause(passed):
                turn.pause()

    def wake_soon(self) -> None:
        """If an answer is slow, look at the idle bots, and set the timer to the moment of the next look.

        Also begin to measure the processor time of the idle bots that were not paused.
        """
        if self._timer < 0 or not (self.idle and self.slow):
            return
        self.look()
        for turn in self.idle:
            turn.count()
        now = time.perf_counter()
        remaining = self.until_look(now)
        if now + remaining < self._armed_for:
            self._armed_for = now + remaining
            _libc.timerfd_settime(self._timer, 0, TIMER.pack(0, 0, 0, int(remaining * 1e9) + 1000), None)

    def until_look(self, now: float) -> float:
        """Return the seconds from `now` to the next look at a bot while an answer is slow."""
        until = math.inf
        for turn in self.idle:
            passed = now - max(turn.since, self.slow_since)
            until = min(until, next((after - passed for after in LOOKS_S if after > passed), OFF_TURN_S))
        return until


class FreezeState:
    """The turn of one bot: it begins with a question and ends with the answer. Without a turn, the bot may be paused."""

    def __init__(self, turns: Freezer, keeper: Keeper, computed: Callable[[], float] | None = None) -> None:
        self._turns, self._keeper, self._computed = turns, keeper, computed
        self.since = 0.0  # time since which the bot has had no question
        self.is_paused = False
        self._slow = False
        self._ponders = False  # whether it has computed without a question
        self.used_before: float | None = None  # processor time when it was noticed that it had no question
        # The number of pauses, and the seconds of processor time that the bot used without a question before them.
        self.pauses, self.cpu_off_turn = 0, 0.0

    @property
    def must_resume(self) -> bool:
        """Return whether `resume` must be called before the next question: the bot is paused, or is being measured."""
        return self.is_paused or self.used_before is not None

    def resume(self) -> None:
        """Resume the bot if it is paused, because it has a question or must exit normally.

        If it is not paused but was measured, find out whether it has computed without a question.
        """
        self._turns.idle.discard(self)
        if self.is_paused:
            self.is_paused = False
            self.cpu_off_turn += self._used()  # includes the time of the keeper, which has paused the bot
            self._keeper.resume()
        elif self.used_before is not None and self._used() > PONDERING_S:
            self._ponders = True
        self.used_before = None

    def mark_slow(self, asked: float) -> None:
        """Record that the answer to a question asked at the time `asked` is slow. Other bots may have to be paused."""
        if not self._slow:
            self._slow = True
            if not self._turns.slow:
                self._turns.slow_since = asked
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
        self.is_paused = False

    def must_pause(self, passed: float) -> bool:
        """Return whether the bot must be paused while another bot is thinking.

        For `passed` seconds, this bot has had no question and the other bot has had one. Pause this bot if it has computed
        without a question, if `passed` is at least LONG_OFF_TURN_S, or if its processor time cannot be measured.
        """
        if self.used_before is None:
            self.count()
        elif self._used() > PONDERING_S:
            self._ponders = True
        return self._computed is None or self._ponders or passed >= LONG_OFF_TURN_S

    def _used(self) -> float:
        """Return the seconds of processor time that the bot has used without a question, as far as measured."""
        if self._computed is None or self.used_before is None:
            return 0.0
        return self._computed() - self.used_before

    def count(self) -> None:
        """Measure from now on the processor time that the bot uses without a question, if it can be measured."""
        if self.used_before is None and self._computed is not None:
            self.used_before = self._computed()

    def pause(self) -> None:
        """Pause the bot."""
        self._turns.idle.discard(self)
        self.is_paused = True
        self.pauses += 1
        self._keeper.pause()
