"""A process that answers questions, of a bot or a referee: its three pipes, its state, and the wait for its output.

How it works. A question is one write. Most answers arrive within a millisecond: the caller polls for them, and nothing
else happens. If no answer arrives, the process is slow: other tasks run, the clock measures, and other bots are frozen.
Other modules decide what the output means (batch_state.py, protocols/referee.py), and which fault the end of a process is
(blame.py).

    state     the process …                           then
    NEW       has not been started                    start → IDLE
    IDLE      has no question, and waits or sleeps    ask → ASKED
    ASKED     has questions, and may answer at once   next_output → SLOW · settle → IDLE
    SLOW      takes so long that other tasks run      settle → IDLE
    CLOSED    has no pipes any more                   from every state by close

`exchange` asks and reads in one step, and the state stays IDLE. If it does not return an answer, the caller then calls
`expect_answer`.
"""

import fcntl
import os
import select
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum

import trio

from host.bots.clock import AnswerStatus, Clock
from host.bots.input_state import input_state
from host.bots.monitor import MonitoredSandbox, unwrap_exception_group
from host.bots.stderr_log import CHUNK, StderrLog, StderrPipe
from host.bots.values import InputState
from host.sandbox.keeper import Ended
from host.sandbox.limits import Limits

QUICK_ANSWER_MS = 1
"""Milliseconds to wait for an answer before it is slow: to wake a task of trio, and to prepare the clock, costs 100 µs.
poll(2) counts in milliseconds."""

MAX_SELECTABLE = 1024  # select(2) works only for descriptors below this number
SPIN_S = 0.00005
"""Seconds to poll for a single answer without sleeping: waking an idle core takes longer than most answers."""

POLLS_WITHOUT_SPIN, POLLS_ON_ONE_CORE = 100, 100_000
"""Number of polls until the next attempt to poll without sleeping, if the last attempt has failed: with several cores, and
if host and bot share one core."""

ORDERLY_EXIT_S = 0.05  # seconds from closing the input of a process until it is killed


class SpinPolicy:
    """Decides whether to poll for a single answer without sleeping.

    If host and bot share one core, this never saves time, so it is tried very seldom.
    """

    def __init__(self) -> None:
        self.polls_left = 0  # polls until the next attempt; a caller that does not use `seconds` counts them down

    def seconds(self) -> float:
        """Return the seconds to poll without sleeping: SPIN_S if an attempt is due, otherwise 0.

        Each call that returns 0 counts as one of the polls until the next attempt.
        """
        if not self.polls_left:
            return SPIN_S
        self.polls_left -= 1
        return 0.0

    def failed(self) -> None:
        """Record that no answer came while polling without sleeping."""
        self.polls_left = POLLS_WITHOUT_SPIN if len(os.sched_getaffinity(0)) > 1 else POLLS_ON_ONE_CORE


SPIN = SpinPolicy()
"""The policy of this worker: all its bots have the same cores."""


class ProcessState(StrEnum):
    """States of a process. The head of this module describes them."""

    NEW = "new"
    IDLE = "idle"
    ASKED = "asked"
    SLOW = "slow"
    CLOSED = "closed"


class Event(StrEnum):
    """Events that change the state of a process."""

    START = "start"
    ASK = "ask"
    SILENCE = "silence"
    SETTLE = "settle"
    CLOSE = "close"


TRANSITIONS: Mapping[tuple[ProcessState, Event], ProcessState] = {
    (ProcessState.NEW, Event.START): ProcessState.IDLE,
    (ProcessState.IDLE, Event.ASK): ProcessState.ASKED,
    (ProcessState.ASKED, Event.SILENCE): ProcessState.SLOW,
    (ProcessState.SLOW, Event.SILENCE): ProcessState.SLOW,  # one of several answers is there, and the next one is not
    (ProcessState.ASKED, Event.SETTLE): ProcessState.IDLE,
    (ProcessState.SLOW, Event.SETTLE): ProcessState.IDLE,
    **{(state, Event.CLOSE): ProcessState.CLOSED for state in ProcessState},
}
"""The next state for each state and event. An event that is missing for a state is an error of croupier."""


class AskedProcess:
    """One process that answers questions, as the host sees it. The host's ends of its pipes never block."""

    def __init__(
        self,
        monitored: MonitoredSandbox,
        clock: Clock,
        log: StderrLog,
        *,
        one_question: bool = False,
        may_ask_again: bool = False,
    ) -> None:
        """Create the pipes of a process that has not started.

        If it lives for `one_question`, its input is closed when the question has been written. `may_ask_again` is whether
        `ask_again` may be called.
        """
        reads, self._input = os.pipe()
        self.output, writes = os.pipe()
        stderr, complains = os.pipe()
        for own in (self._input, self.output, stderr):
            os.set_blocking(own, False)
        self._inherited: Sequence[int] = (reads, writes, complains)  # the process's ends of the pipes
        self.state = ProcessState.NEW
        self.stderr = StderrPipe(log, stderr)
        self.unsent = b""  # what did not fit into the pipe yet
        self._monitored, self._clock, self._one_question = monitored, clock, one_question
        self._may_ask_again = may_ask_again
        self._helpers: trio.Nursery | None = None  # of `while_writing`
        self._is_writing = False  # whether a task in it writes: two tasks cannot wait for one pipe
        self._poll = select.poll()
        self._poll.register(self.output, select.POLLIN)
        self.poll = self._poll.poll
        """Waits at most the given milliseconds for output. The list returned is not empty if there is output, or its end."""

    def _step(self, event: Event) -> None:
        self.state = TRANSITIONS[self.state, event]

    @property
    def is_open(self) -> bool:
        """Return whether the process can be asked, or told to exit."""
        return self.state is not ProcessState.CLOSED

    def enlarge_pipes(self, size: int) -> None:
        """Set the size of the input and the output pipe in bytes, if the user's limit for the memory of pipes allows it."""
        for pipe in (self._input, self.output):
            with suppress(OSError):
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)

    async def start(self, argv: Sequence[bytes], env: Mapping[str, str], limits: Limits) -> int:
        """Start the process. Return 0, or the errno of the failure."""
        self._monitored.new_process()
        inherited, self._inherited = self._inherited, ()
        reads, writes, complains = inherited
        try:
            started = await self._monitored.sandbox.keeper.start(argv, env, limits, (reads, writes, complains))
        finally:
            for descriptor in inherited:
                os.close(descriptor)
        self._step(Event.START)
        return started.error

    # Asking.

    def ask(self, data: bytes) -> None:
        """Write questions, as many bytes as fit into the pipe. The caller has started the clock."""
        self.expect_answer()
        self._write(data)

    def ask_again(self, data: bytes) -> None:
        """Write the open question again. The clock goes on."""
        self._write(self.unsent + data)
        self._start_writing()

    def expect_answer(self) -> None:
        """Record that the process has a question, and resume the process if it is frozen."""
        self._step(Event.ASK)
        self._monitored.turn.resume()

    def exchange(self, line: bytes) -> bytes | None:
        """Write one question; return the output that comes within QUICK_ANSWER_MS, or None. The state does not change.

        If only a part of the question fits into the pipe, return None.
        """
        try:
            written = os.write(self._input, line)
        except OSError:
            written = 0
        if written < len(line):
            self._write(line[written:])
            return None
        if SPIN.polls_left:
            SPIN.polls_left -= 1
        elif self._spin():
            return os.read(self.output, CHUNK)
        return os.read(self.output, CHUNK) if self.poll(QUICK_ANSWER_MS) else None

    def _spin(self) -> bool:
        """Poll without sleeping. Return whether there is output to read, or its end."""
        until = time.perf_counter() + SPIN_S
        while time.perf_counter() < until:
            if self.poll(0):
                return True
        SPIN.failed()
        return False

    def _write(self, data: bytes) -> None:
        try:
            self.unsent = data[os.write(self._input, data) :]
        except BlockingIOError:
            self.unsent = data
        except BrokenPipeError:
            self.unsent = b""  # a process that closed its input is judged by its output
        if self._one_question and not self.unsent:
            self.close_input()

    def _start_writing(self) -> None:
        if self.unsent and not self._is_writing and self._helpers is not None:
            self._is_writing = True
            self._helpers.start_soon(self._write_on)

    async def _write_on(self) -> None:
        try:
            while self.unsent:
                await trio.lowlevel.wait_writable(self._input)
                if self.unsent:  # otherwise `ask_again` has written it
                    self._write(self.unsent)
        finally:
            self._is_writing = False

    async def while_writing(self, reading: Callable[[], Awaitable[None]]) -> None:
        """Run `reading`, and meanwhile write the bytes that did not fit into the pipe. Raise what `reading` raises."""
        if not (self.unsent or self._may_ask_again):
            return await reading()
        with unwrap_exception_group():
            async with trio.open_nursery() as self._helpers:
                try:
                    self._start_writing()
                    await reading()
                    self._helpers.cancel_scope.cancel()
                finally:
                    self._helpers = None  # no task can be started in it any more

    # Reading.

    def has_output(self) -> bool:
        """Return whether there is output to read, or its end."""
        return bool(self.poll(0))

    def read(self) -> bytes | None:
        """Return the available output; b"" at its end, None if there is none."""
        try:
            return os.read(self.output, CHUNK)
        except BlockingIOError:
            return None

    async def next_output(self) -> bytes | None:
        """Wait for output of a process that is slow. Return it; b"" at its end, None if the process is late.

        Raise HostStall if the machine delayed the process.
        """
        self._step(Event.SILENCE)
        self._monitored.mark_slow(self._clock.asked)
        while True:
            with trio.move_on_after(self._clock.seconds_to_look()) as self._clock.wait:
                await trio.lowlevel.wait_readable(self.output)
            look = self._clock.look(self.has_output) if self._clock.wait.cancelled_caught else AnswerStatus.READ
            if look is AnswerStatus.LATE:
                return None
            if look is AnswerStatus.READ and (data := self.read()) is not None:
                return data

    def settle(self) -> None:
        """Record that no question is open, so the process may be frozen."""
        self._step(Event.SETTLE)
        self._monitored.turn.mark_idle()

    def input_state(self, due: int) -> InputState:
        """Return what a late process does with its input; `due` is the number of bytes of the open questions."""
        if self._input < 0:
            return InputState.UNKNOWN
        return input_state(self._input, len(self.unsent), due, self._monitored.sandbox.pid)

    # The end.

    async def kill(self, patience: float) -> Ended:
        """Kill the process and all its descendants; return how it ended. Give it `patience` seconds to exit by itself first."""
        self._monitored.turn.resume()  # a dead process must not be frozen as an idle one
        return await self._monitored.sandbox.keeper.kill_all(patience)

    def close_input(self) -> None:
        """Close the process's input, which tells it to exit."""
        if self._input >= 0:
            os.close(self._input)
            self._input = -1

    def close(self) -> None:
        """Close the pipes of the process. Read the rest of its standard error first."""
        if self.is_open:
            self._step(Event.CLOSE)
            self._clock.forget()
            self.close_input()
            for descriptor in (self.output, *self._inherited):
                os.close(descriptor)
            self.stderr.close()
