"""Keeps the sandboxes of one worker, and plays fixtures in them."""

import contextlib
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

from host.base.errors import AmbiguousAnswers, HostFailure
from host.bots.deadline import HostStall
from host.bots.monitor import Monitor
from host.bots.seat import Seat, open_seat
from host.bots.state_file import BotSandbox, bot_sandbox
from host.games import GAMES
from host.games.luck import derive
from host.play.match import MAX_PARALLEL_TABLES, PlayedTable, play
from host.play.records import Job, Record, WorkerSetup
from host.play.results import recorded
from host.play.table_plans import PLANS
from host.sandbox.launch import Sandbox
from host.submissions.bot_spec import BuiltBot

MAX_HOST_FAILURES = 3
"""Number of host failures (a keeper died, or the machine stalled) under one bot of a fixture after which the last one
counts as the bot's own crash or time-out, so that no bot can stop a tournament."""


def bot_seed(seed: bytes, bot: str, path: str) -> int:
    """Return a bot's CROUPIER_SEED for a fixture: 63 bits, derived from the tournament's seed with a prefix of its own."""
    return int.from_bytes(derive(seed, f"bot seed: {bot} {path}")[:8]) >> 1


class Finished(NamedTuple):
    """A fixture that has been played to the end: its tables and its seats, with their counters."""

    played: list[PlayedTable]
    seats: Mapping[str, Seat]


class Attempts:
    """Results of earlier attempts at a fixture, by bot."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()  # number of host failures, by the bot that was being asked or prepared
        self.stalls: list[str] = []  # stalls of the machine, as text for people
        self.sequential: set[str] = set()  # bots that must be asked one table at a time

    @property
    def blamed(self) -> set[str]:
        """Return the bots with so many host failures that the next one counts as their own fault."""
        return {bot for bot, times in self.failures.items() if times >= MAX_HOST_FAILURES - 1}

    def count(self, failure: HostFailure) -> None:
        """Count a failure. Raise it if there were more than MAX_HOST_FAILURES: this machine cannot create a sandbox."""
        self.failures[failure.bot] += 1
        if isinstance(failure, HostStall):
            self.stalls.append(f"{failure.bot} at table {failure.table}: {failure}")
        if self.failures[failure.bot] > MAX_HOST_FAILURES:
            raise failure


class BotPool:
    """The sandboxes of one worker: one for each bot, created when the bot first plays, reused for later fixtures."""

    def __init__(self, setup: WorkerSetup, stack: contextlib.AsyncExitStack, watcher: Monitor) -> None:
        self.setup, self.game = setup, GAMES[setup.game]
        self._bots = {bot.name: bot for bot in setup.bots}
        self._stack, self._watcher = stack, watcher
        self._made: dict[str, tuple[BotSandbox, contextlib.AsyncExitStack]] = {}

    async def sandbox(self, bot: BuiltBot, state: bytes = b"") -> Sandbox:
        """Return the bot's sandbox, and write its state file. Raise HostFailure if no sandbox can be created."""
        if bot.name not in self._made:
            own = await self._stack.enter_async_context(contextlib.AsyncExitStack())
            self._made[bot.name] = await own.enter_async_context(bot_sandbox(bot, self.setup.level)), own
        made, _own = self._made[bot.name]
        made.write_state(state)
        return made.sandbox

    def read_state(self, name: str, before: bytes) -> bytes:
        """Return the content of a bot's state file. If its sandbox is lost, return the content before the fixture."""
        made = self._made.get(name)
        return made[0].read_state(self._bots[name].limits.state) if made is not None else before

    async def replace(self, name: str) -> None:
        """Remove a bot's sandbox, for example because its keeper has died. The next fixture gets a new one."""
        made = self._made.pop(name, None)
        if made is not None:
            await made[1].aclose()

    @contextlib.asynccontextmanager
    async def seats(self, job: Job, attempts: Attempts) -> AsyncIterator[dict[str, Seat]]:
        """Seat the bots of a fixture, for the length of the block."""
        async with contextlib.AsyncExitStack() as stack:
            seats = {}
            for name in job.fixture.bots:
                bot = self._bots[name]
                if name in attempts.sequential:
                    bot = bot.with_keys(parallel_tables=1)
                sandbox = None if name in job.benched else await self._sandbox_of(bot, dict(job.states).get(name, b""))
                seed = bot_seed(self.setup.seed, name, job.fixture.path)
                block = open_seat(bot, self.game, sandbox, seed, self._watcher, blamed=name in attempts.blamed)
                seats[name] = await stack.enter_async_context(block)
            yield seats

    async def _sandbox_of(self, bot: BuiltBot, state: bytes) -> Sandbox:
        try:
            return await self.sandbox(bot, state)
        except HostFailure as failure:
            failure.bot = bot.name
            raise

    async def play(self, job: Job) -> Record:
        """Play one fixture. Play it again if croupier or the machine fails, or if a bot's answers are ambiguous.

        With ambiguous answers, play it again one table at a time: results must not depend on the number of open tables.
        Raise HostFailure if too many attempts have failed.
        """
        attempts = Attempts()
        started, computed = time.monotonic(), time.process_time()
        while True:
            match await self._attempt(job, attempts):
                case AmbiguousAnswers(bot=bot):
                    attempts.sequential.add(bot)
                case HostFailure() as failure:
                    attempts.count(failure)
                    await self.replace(failure.bot)
                case Finished(played=played, seats=seats):
                    break
        states = tuple((name, self.read_state(name, before)) for name, before in job.states)
        for name in attempts.blamed | {name for name, seat in seats.items() if seat.has_lost_sandbox}:
            await self.replace(name)
        return recorded(job.fixture, played, seats)._replace(
            replayed=attempts.failures.total(),
            seconds=time.monotonic() - started,
            stalls=tuple(attempts.stalls),
            states=states,
            overhead=time.process_time() - computed,
        )

    async def _attempt(self, job: Job, attempts: Attempts) -> Finished | HostFailure | AmbiguousAnswers:
        """Play a fixture once; return its tables, or the failure."""
        try:
            async with self.seats(job, attempts) as seats:
                plan = PLANS[job.fixture.plan](job.fixture, self.setup.seed)
                most = self.setup.parallel_tables or MAX_PARALLEL_TABLES
                played = await play(self.game, plan, seats, self.setup.seed, most)
            return Finished(played, seats)
        except (HostFailure, AmbiguousAnswers) as failed:
            return failed
