"""`python -m host.play.worker`: fixtures in, records out, one JSON line each; the one way bots are played.

The first line is the setup. The end of standard input is the end of everything: whoever gave the work has gone.
"""

import contextlib
import gc
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
import trio

from host.bots.monitor import Monitor
from host.bots.seat import Seat, open_seat
from host.bots.state_file import BotSandbox, bot_sandbox
from host.games import GAMES
from host.games.engine import Game
from host.games.luck import derive
from host.play.match import MAX_PARALLEL_TABLES, AmbiguousAnswers, HostFailure, PlayedTable, play
from host.play.records import Fixture, Job, Record, Result, WorkerSetup, decode_job, decode_setup, encode, pack
from host.play.table_plans import PLANS
from host.sandbox import KeeperDied, Sandbox
from host.submissions.bot_spec import Bot

MAX_HOST_FAILURES = 3
"""Times a keeper may die, or the machine stall, under one bot of a fixture; the last of them is its bot's own crash or
time-out, so that no bot can stop a cup."""


def rules_of(game: str) -> type[Any]:
    """Return the type of a game's rules."""
    return type(next(iter(GAMES[game].presets.values())))


def bot_seed(seed: bytes, bot: str, path: str) -> int:
    """Return a bot's CROUPIER_SEED for a fixture: 63 bits, from the cup's seed but a domain of its own."""
    return int.from_bytes(derive(seed, f"bot seed: {bot} {path}")[:8]) >> 1


class BotPool:
    """The sandboxes of one worker: one a bot, made when it first plays, kept from fixture to fixture."""

    def __init__(self, setup: WorkerSetup, stack: contextlib.AsyncExitStack, watcher: Monitor) -> None:
        self.setup, self.game = setup, GAMES[setup.game]
        self._bots = {bot.name: bot for bot in setup.bots}
        self._stack, self._watcher = stack, watcher
        self._made: dict[str, tuple[BotSandbox, contextlib.AsyncExitStack]] = {}

    async def sandbox(self, bot: Bot, kept: bytes = b"") -> Sandbox:
        """Return the bot's sandbox; its state file holds what is kept."""
        if bot.name not in self._made:
            own = await self._stack.enter_async_context(contextlib.AsyncExitStack())
            self._made[bot.name] = await own.enter_async_context(bot_sandbox(bot, self.setup.level)), own
        made, _own = self._made[bot.name]
        made.write_state(kept)
        return made.sandbox

    def read_state(self, name: str, before: bytes) -> bytes:
        """Return what a bot's state file holds; what it held before where its sandbox is lost."""
        made = self._made.get(name)
        return made[0].read_state(self._bots[name].limits.state) if made is not None else before

    async def replace(self, name: str) -> None:
        """Give up a sandbox whose keeper has died; the next fixture gets a new one."""
        made = self._made.pop(name, None)
        if made is not None:
            await made[1].aclose()

    @contextlib.asynccontextmanager
    async def seats(self, job: Job, charged: set[str], alone: set[str]) -> AsyncIterator[dict[str, Seat]]:
        """Seat the bots of a fixture."""
        async with contextlib.AsyncExitStack() as stack:
            seats = {}
            for name in job.fixture.bots:
                bot = self._bots[name]
                if name in alone:
                    bot = bot._replace(parallel_tables=1)
                sandbox = (
                    None if name in job.benched else await self._sandbox_or_lost(bot, dict(job.states).get(name, b""))
                )
                seed = bot_seed(self.setup.seed, name, job.fixture.path)
                block = open_seat(bot, self.game, sandbox, seed, self._watcher, charged=name in charged)
                seats[name] = await stack.enter_async_context(block)
            yield seats

    async def _sandbox_or_lost(self, bot: Bot, kept: bytes) -> Sandbox:
        try:
            return await self.sandbox(bot, kept)
        except KeeperDied as died:
            raise HostFailure(bot.name) from died

    async def play(self, job: Job) -> Record:
        """Play one fixture; play it again when a keeper dies or the machine stalls: that is not its bot's fault at first.

        It is also played again, one table at a time, when a bot has muddled its answers to many: what comes of it
        must not depend on how many were open.
        """
        failures: Counter[str] = Counter()
        alone: set[str] = set()
        stalls: list[str] = []
        started, computed = time.monotonic(), time.process_time()
        while True:
            seats: dict[str, Seat] = {}
            charged = {name for name, times in failures.items() if times >= MAX_HOST_FAILURES - 1}
            try:
                async with self.seats(job, charged, alone) as seats:
                    plan = PLANS[job.fixture.plan](job.fixture, self.setup.seed)
                    most = self.setup.parallel_tables or MAX_PARALLEL_TABLES
                    played = await play(self.game, plan, seats, self.setup.seed, most)
                if muddled := {name for name, seat in seats.items() if seat.muddled}:
                    raise AmbiguousAnswers(min(muddled))
            except AmbiguousAnswers as muddle:
                alone.add(muddle.bot)
                continue
            except HostFailure as lost:
                failures[lost.bot] += 1
                if lost.bot in seats and seats[lost.bot].stall:
                    stalls.append(seats[lost.bot].stall)
                if failures[lost.bot] > MAX_HOST_FAILURES:
                    raise  # a sandbox that cannot even be made is the machine's failure
                await self.replace(lost.bot)
                continue
            states = tuple((name, self.read_state(name, before)) for name, before in job.states)
            for name in charged | {name for name, seat in seats.items() if seat.has_no_sandbox}:
                await self.replace(name)
            record = recorded(job.fixture, played, seats)
            return record._replace(
                replayed=failures.total(),
                seconds=time.monotonic() - started,
                stalls=tuple(stalls),
                states=states,
                overhead=time.process_time() - computed,
            )


def results_of(game: Game, played: Iterable[PlayedTable]) -> dict[str, Result]:
    """Return what each bot has made of some tables."""
    winners = game.winners
    results: dict[str, Result] = {}
    deals: dict[str, Counter[str]] = {}
    for table in played:
        won = winners(table.scores) if winners else ()
        for seat, bot in enumerate(table.sitting.bots):
            score, wins = table.scores[seat], int(seat in won)
            if wins and table.sitting.luck:
                deals.setdefault(bot, Counter())[table.sitting.luck] += 1
            before = results.get(bot)
            if before is None:
                results[bot] = Result(1, wins, score, score, score, score)
            else:
                tables, earlier, total, low, high, *_ = before
                results[bot] = Result(
                    *(tables + 1, earlier + wins, total + score, min(low, score), max(high, score), score)
                )
    for bot, counts in deals.items():
        results[bot] = results[bot]._replace(squares=sum(count * count for count in counts.values()))
    return results


def recorded(fixture: Fixture, played: Sequence[PlayedTable], seats: dict[str, Seat]) -> Record:
    """Return the record of a fixture from its tables and seats."""
    return Record(
        fixture.path,
        results_of(GAMES[fixture.game], played),
        {name: {str(kind): n for kind, n in seat.faults.items()} for name, seat in seats.items() if seat.faults},
        {name: seat.usage() for name, seat in seats.items()},
        tuple(piece for seat in seats.values() for piece in seat.all_evidence()),
        tuple(table.scores for table in played),
        pack(table.answers for table in played),
        tuple(name for name, seat in seats.items() if seat.benched),
        times=tuple(sorted(time for seat in seats.values() for time in seat.times)),
        said=tuple(
            (name, tuple((played[table - 1].sitting.path, said) for table, said in seat.heard))
            for name, seat in seats.items()
            if seat.heard
        ),
    )


async def lines(descriptor: int) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a stream."""
    rest = b""
    async with trio.lowlevel.FdStream(descriptor) as stream:
        async for chunk in stream:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line


async def serve() -> None:
    """Play fixtures until standard input ends."""
    jobs, waiting = trio.open_memory_channel[bytes](0)
    async with trio.open_nursery() as nursery, contextlib.AsyncExitStack() as stack:

        async def read() -> None:
            async with contextlib.aclosing(lines(os.dup(0))) as heard:
                async for line in heard:
                    await jobs.send(line)
            nursery.cancel_scope.cancel()

        nursery.start_soon(read)
        setup = decode_setup(await waiting.receive(), rules_of)
        watcher = Monitor(pondering=setup.pondering)
        nursery.start_soon(watcher.run)
        house = BotPool(setup, stack, watcher)
        while True:
            job = decode_job(await waiting.receive(), rules_of)
            send(encode(await house.play(job)))


def send(line: bytes) -> None:
    """Write one whole line to standard output."""
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def reduce_gc() -> None:
    """Look for cyclic garbage less often: a fixture leaves none, and to look through its tables takes a thirtieth of it."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def main() -> None:
    """Run a worker; what it cannot cope with is told to whoever gave the work, as one last line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reduce_gc()
    try:
        trio.run(serve)
    except BaseException as failed:
        why = failed
        while isinstance(why, BaseExceptionGroup):
            why = why.exceptions[0]
        told = "".join(traceback.format_exception(failed))[-8000:]
        send(msgspec.json.encode({"failed": f"{told}\n{type(why).__name__}: {why}"}))
        raise SystemExit(70) from failed


if __name__ == "__main__":
    main()
