"""Counts failures of the host in one fixture, and decides when the next one counts as the fault of a bot. Pure."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from host.base.errors import HostFailure
from host.bots.clock import HostStall, ModelUnreachable
from host.sandbox.launch import Sandbox

MAX_HOST_FAILURES = 3
"""Number of host failures (a keeper died, or the machine stalled) that a fixture may have under one bot. The last one counts
as the bot's own crash or time-out, so that no bot can stop a tournament. Unreachable models are counted separately: the last
one leaves the fixture undecided."""


class HostFailures:
    """The failures of the host in one fixture. After each failure, a bot was started again and asked its open questions."""

    def __init__(self) -> None:
        self._by_bot: Counter[str] = Counter()  # the bot that was being asked or prepared
        self._without_model: Counter[str] = Counter()  # the bot that asked a model which did not answer
        self.stalls: list[str] = []  # of the machine, and models that did not answer, as text for people
        self.deaths: list[str] = []  # deaths of keepers, with their reasons
        self.unrecorded: list[str] = []  # why exchanges with models are not recorded: they count as no failure

    @property
    def total(self) -> int:
        """Return the number of failures."""
        return self._by_bot.total() + self._without_model.total()

    def are_charged_to(self, bot: str) -> bool:
        """Return whether the next failure of the host under a bot counts as a fault of this bot."""
        return self._by_bot[bot] >= MAX_HOST_FAILURES - 1

    def is_last(self, failure: HostFailure) -> bool:
        """Return whether the fixture may have no later failure of the same kind under the bot `failure.bot`.

        `failure` is not counted yet.
        """
        return self._counter(failure)[failure.bot] >= MAX_HOST_FAILURES - 1

    def count(self, failure: HostFailure) -> None:
        """Count a failure that no bot is charged for."""
        self._counter(failure)[failure.bot] += 1
        where = f" at table {failure.table}" if failure.table else ""
        reasons = self.stalls if isinstance(failure, HostStall) else self.deaths
        reasons.append(f"{failure.bot}{where}: {failure}")

    def _counter(self, failure: HostFailure) -> Counter[str]:
        return self._without_model if isinstance(failure, ModelUnreachable) else self._by_bot


class Recovery(NamedTuple):
    """What a seat needs to go on after a failure of the host: the failures so far, and a source of new sandboxes."""

    failures: HostFailures
    new_sandbox: Callable[[], Awaitable[Sandbox | HostFailure]]
    """Replaces the sandbox of the bot's process. Returns the failure if no sandbox can be created for this bot."""
