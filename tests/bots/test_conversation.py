"""The states of a process that is asked, a bot's or a referee's."""

import os
import time
from pathlib import Path

import pytest
import trio
from helpers import AMPLE, CACHE, level

from host.bots.clock import Clock
from host.bots.conversation import TRANSITIONS, AskedProcess, Event, ProcessState
from host.bots.monitor import running_monitor
from host.bots.stderr_log import StderrLog
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed

ECHOES = [b"/bin/sh", b"-c", b'while read line; do [ "$line" = slow ] && sleep 0.1; echo "$line"; done']


def test_every_state_is_reached_and_every_process_can_be_closed() -> None:
    assert {*TRANSITIONS.values()} | {ProcessState.NEW} == {*ProcessState}
    assert all(TRANSITIONS[state, Event.CLOSE] is ProcessState.CLOSED for state in ProcessState)
    assert {event for _, event in TRANSITIONS} == {*Event}


def test_a_process_is_asked_again_only_when_it_owes_nothing() -> None:
    async def ask() -> list[ProcessState]:
        async with running_monitor() as monitor, sandboxed(level(), Home(CACHE), AMPLE) as sandbox:
            with monitor.watching(sandbox, AMPLE.memory) as monitored:
                clock = Clock(AMPLE, monitored)
                process = AskedProcess(monitored, clock, StderrLog())
                states = [process.state]
                try:
                    assert await process.start(ECHOES, dict(os.environ), AMPLE) == 0
                    states.append(process.state)
                    clock.start(time.perf_counter(), AMPLE.move)
                    process.ask(b"slow\n")
                    states.append(process.state)
                    with pytest.raises(KeyError):
                        process.ask(b"again\n")
                    assert await process.next_output() == b"slow\n"
                    states.append(process.state)
                    monitored.final_check(0.0)
                    process.settle()
                    assert process.exchange(b"quick\n") in (b"quick\n", None)
                    states.append(process.state)
                finally:
                    await process.kill(0.0)
                    process.close()
                return [*states, process.state]

    before = len([*Path("/proc/self/fd").iterdir()])
    assert trio.run(ask) == [
        ProcessState.NEW,
        ProcessState.IDLE,
        ProcessState.ASKED,
        ProcessState.SLOW,
        ProcessState.IDLE,
        ProcessState.CLOSED,
    ]
    assert len([*Path("/proc/self/fd").iterdir()]) == before
