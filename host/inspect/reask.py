"""Ask a bot recorded questions again: without other bots, in a sandbox of its own, with a time line of each answer."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import trio

from host.base.errors import UserError
from host.bots.allowance import time_bank
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock
from host.bots.monitor import Monitor, running_monitor
from host.bots.seat import open_process
from host.bots.values import Batch, BatchResult, Outcome
from host.inspect.profiler import Profile, TimeBreakdown, profiling
from host.inspect.recorded import Decision
from host.inspect.repro import Repro
from host.play.bot_pool import BotPool
from host.play.jobs import WorkerSetup
from host.rules.catalogue import allows_at_once
from host.sandbox.keeper import KeeperDied, KeeperOutOfMemory
from host.sandbox.levels import Level
from host.submissions.diagnosis import sandbox_failure
from protocols.wire import Fault, FaultKind

if TYPE_CHECKING:  # only bots that ask models need it
    from host.relay.recording import Replay


class Reply(NamedTuple):
    """A recorded decision, and the bot's answer to the same question now."""

    then: Decision
    now: Outcome
    profile: Profile

    @property
    def same(self) -> bool:
        """Whether the answer equals the recorded answer."""
        return self.now.answer == self.then.answer

    @property
    def time_breakdown(self) -> TimeBreakdown:
        """Return how the time of the answer was spent."""
        return self.profile.breakdown(self.now.wall, self.now.cpu)


async def reask(bot: BuiltBot, repro: Repro, level: Level, models: "Replay | None" = None) -> list[Reply]:
    """Ask a bot the questions of a repro in a new process. Return its replies to `repro.asked`, in order.

    A bot that asks models gets the recorded answers of `models`. Raise UserError (exit code 6) if the bot's sandbox
    fails.
    """
    async with running_monitor() as monitor, AsyncExitStack() as stack:
        setup = WorkerSetup(game=repro.game, rules=repro.rules, bots=(bot,), seed=b"", level=level)
        clock: Callable[..., Clock] = partial(Clock, charged=True)
        if models is not None:
            from host.bots.calling_clock import CallingClock  # only these bots need it

            clock = partial(CallingClock, charged=True, exchanges=models)
        return await _replies(bot, repro, BotPool(setup, stack, monitor), monitor, clock)


async def _replies(
    bot: BuiltBot, repro: Repro, pool: BotPool, monitor: Monitor, new_clock: Callable[..., Clock]
) -> list[Reply]:
    replies: list[Reply] = []
    try:
        sandbox = await pool.sandbox(bot, (repro.state or b"")[: bot.limits.state])
        decisions = (*repro.before, *repro.asked)
        banks = {(each.table, each.number): each.bank for each in decisions if each.bank is not None}
        bank = time_bank(bot.limits, banks)
        clock = partial(new_clock, bank=bank)
        allows = allows_at_once(repro.game, repro.rules)
        async with open_process(
            bot, repro.game, sandbox, repro.croupier_seed, monitor, new_clock=clock, allows=allows
        ) as process:
            table = 0
            for nth, decision in enumerate(decisions):
                batch = Batch([decision], ended_tables=[table] if table and decision.table != table else [])
                table = decision.table
                if nth < len(repro.before):
                    process.send(batch)
                    await process.finish()
                else:
                    async with profiling(sandbox, process, table) as profiler:
                        process.send(batch)
                        result = await process.finish()
                        profile = profiler.profile()
                    replies.append(Reply(decision, _outcome(result, process.stderr_tail(table)), profile))
    except KeeperDied as died:
        raise UserError([sandbox_failure(bot.name, [str(died)])], 6) from died
    except KeeperOutOfMemory as died:  # at a question: the end of the block above raises neither
        outcome = Outcome(Fault(FaultKind.MEMORY), ended=str(died))
        replies.append(Reply(repro.asked[len(replies)], outcome, Profile()))
        await pool.replace(bot.name)
    return replies


def _outcome(result: BatchResult, stderr: bytes) -> Outcome:
    """Return the outcome of a batch of one question."""
    return result.failed or Outcome(
        answer=result.answers[0],
        raw=result.raws[0],
        wall=result.walls[0],
        cpu=result.cpus[0] if result.cpus else 0.0,
        stderr=stderr,
    )


def differences(one: Sequence[Reply], other: Sequence[Reply]) -> list[tuple[Reply, Reply]]:
    """Return the pairs of replies in which two bots answer the same question differently.

    A bot is asked no further question after its keeper has run out of memory. Questions that only one bot was asked are
    left out.
    """
    return [(mine, theirs) for mine, theirs in zip(one, other, strict=False) if mine.now.answer != theirs.now.answer]


def asked_by_both(bots: Sequence[BuiltBot], repro: Repro, level: Level) -> tuple[list[Reply], list[Reply]]:
    """Return the replies of two bots to the same questions: first those of the first bot, then those of the second."""
    one, other = (trio.run(reask, bot, repro, level) for bot in bots)
    return one, other
