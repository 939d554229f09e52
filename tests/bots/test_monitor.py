"""The monitor checks a sandbox that does nothing less often."""

import errno
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from helpers import AMPLE, CACHE, levels, run
from trio.testing import wait_all_tasks_blocked

from host.bots.calling_clock import CallingClock
from host.bots.clock import ModelUnreachable
from host.bots.conversation import AskedProcess
from host.bots.monitor import LONGEST_PERIOD_S, PERIOD_S, CgroupMonitored, Monitor, MonitoredSandbox, running_monitor
from host.bots.stderr_log import StderrLog
from host.bots.values import Question
from host.games import GAMES
from host.sandbox.bubblewrap import Home
from host.sandbox.launch import sandboxed
from host.sandbox.levels import Level

PATIENCE = 60.0  # seconds


@asynccontextmanager
async def monitored_at(at: Level) -> AsyncIterator[tuple[Monitor, MonitoredSandbox]]:
    """Monitor a sandbox without a bot."""
    async with running_monitor() as monitor, sandboxed(at, Home(CACHE), AMPLE) as sandbox:
        with monitor.watching(sandbox, AMPLE.memory) as monitored:
            yield monitor, monitored


async def rest(monitored: MonitoredSandbox) -> None:
    """Wait until a sandbox is checked as seldom as possible."""
    with trio.fail_after(PATIENCE):
        while monitored.seconds_to_check < LONGEST_PERIOD_S:
            await trio.sleep(PERIOD_S)


async def checked_often(monitor: Monitor, monitored: MonitoredSandbox) -> None:
    """Check that the monitor has a look now, and looks every PERIOD_S."""
    await wait_all_tasks_blocked()
    assert monitor.due <= time.perf_counter() + PERIOD_S
    for _ in range(5):
        await trio.sleep(PERIOD_S)
        assert monitored.seconds_to_check <= PERIOD_S


@pytest.mark.skipif(Level.L4 not in levels(), reason="no control groups")
def test_a_sandbox_that_does_nothing_is_checked_seldom_until_its_bot_is_slow_to_answer() -> None:
    async def look() -> None:
        async with monitored_at(Level.L4) as (monitor, monitored):
            await rest(monitored)
            monitored.mark_slow(time.perf_counter())
            monitored.samples.begin()
            await checked_often(monitor, monitored)
            with monitored.waiting_for_model():
                await rest(monitored)
            await checked_often(monitor, monitored)

    run(look)


@pytest.mark.skipif(Level.L3 not in levels(), reason="no user namespaces")
def test_a_sandbox_without_a_control_group_is_always_checked_every_20_ms() -> None:
    async def look() -> None:
        async with monitored_at(Level.L3) as (monitor, monitored):
            await checked_often(monitor, monitored)

    run(look)


def test_a_build_that_rests_is_checked_as_often_as_ever() -> None:
    async def look() -> None:
        async with running_monitor() as monitor, sandboxed(levels()[-1], Home(CACHE), AMPLE) as sandbox:
            with monitor.watching(sandbox, AMPLE.memory, lambda: False) as monitored:
                await checked_often(monitor, monitored)

    run(look)


@pytest.mark.skipif(Level.L4 not in levels(), reason="no control groups")
def test_a_control_group_that_cannot_be_read_ends_no_monitor() -> None:
    async def look() -> None:
        async with monitored_at(Level.L4) as (_, monitored):
            assert isinstance(monitored, CgroupMonitored)

            def removed() -> float:
                raise OSError(errno.ENODEV, "No such device")

            monitored._group.computed = removed  # type: ignore[method-assign]
            monitored.look()
            assert monitored.limit_exceeded is None

    run(look)


@pytest.mark.skipif(Level.L4 not in levels(), reason="no control groups")
def test_a_sample_is_late_by_what_the_monitor_really_slept() -> None:
    async def look() -> None:
        async with monitored_at(Level.L4) as (monitor, resting), sandboxed(Level.L4, Home(CACHE), AMPLE) as sandbox:
            with resting.waiting_for_model():
                await rest(resting)
                with monitor.watching(sandbox, AMPLE.memory, lambda: False):  # is checked often, and so are all others
                    with trio.fail_after(PATIENCE):
                        while resting.samples.period > PERIOD_S:
                            await trio.sleep(PERIOD_S)
                    assert resting.seconds_to_check == LONGEST_PERIOD_S

    run(look)


def test_a_model_that_fails_while_a_piece_of_an_answer_arrives_ends_the_wait() -> None:
    async def wait() -> None:
        async with running_monitor() as monitor, sandboxed(levels()[-1], Home(CACHE), AMPLE) as sandbox:
            with monitor.watching(sandbox, AMPLE.memory) as monitored:
                clock = CallingClock(AMPLE, monitored)
                process = AskedProcess(monitored, clock, StderrLog())
                try:
                    await process.start(
                        [b"/bin/sh", b"-c", b"read line; printf piece; sleep 1000"], dict(os.environ), AMPLE
                    )
                    clock.begin([Question(1, 1, GAMES["pazaak"].examples[0])], time.perf_counter())
                    process.ask(b"a question\n")
                    clock.stand_still(time.perf_counter())
                    with trio.fail_after(PATIENCE):
                        while not process.has_output():
                            await trio.lowlevel.checkpoint()
                        clock.give_up("it does not answer")
                        assert await process.next_output() == b"piece"
                        with pytest.raises(ModelUnreachable):
                            await process.next_output()
                finally:
                    await process.kill(0.0)
                    process.close()

    run(wait)
