"""The monitor checks a sandbox that does nothing less often."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio
from helpers import AMPLE, CACHE, levels, run
from trio.testing import wait_all_tasks_blocked

from host.bots.monitor import LONGEST_PERIOD, PERIOD, Monitor, MonitoredSandbox, running_monitor
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
        while monitored.pause < LONGEST_PERIOD:
            await trio.sleep(PERIOD)


async def checked_often(monitor: Monitor, monitored: MonitoredSandbox) -> None:
    """Check that the monitor has a look now, and looks every PERIOD."""
    await wait_all_tasks_blocked()
    assert monitor.due <= time.perf_counter() + PERIOD
    for _ in range(5):
        await trio.sleep(PERIOD)
        assert monitored.pause <= PERIOD


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
