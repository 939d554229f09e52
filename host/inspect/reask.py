"""What a bot answers now to what it was asked then: it alone, in a sandbox of its own, every answer with its time line."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

import trio

from host.base.errors import Problem, UserError
from host.base.safe_text import escape_control_chars
from host.bots.monitor import running_monitor
from host.bots.seat import BotProcess, open_process
from host.bots.values import Outcome
from host.games import GAMES
from host.inspect.profiler import Profile, TimeBreakdown, looking, shares
from host.inspect.recorded import Exchange, RecordedDecision, Repro
from host.play.match import max_open_tables
from host.play.records import WorkerSetup
from host.play.worker import BotPool
from host.sandbox import KeeperDied, KeeperOutOfMemory, Sandbox
from host.sandbox.limits import GIB, KIB, Limits
from host.submissions.bot_spec import Bot
from protocols.wire import Fault, FaultKind

NO_LIMITS = Limits(move=60, startup=60, cpu=60, memory=8 * GIB, tasks=1024, output=64 * KIB)
"""What a bot is granted that is asked without limits: patience has an end, too."""


class Reply(NamedTuple):
    """A question of then, and what came of it now."""

    then: RecordedDecision
    told: Outcome
    seen: Profile

    @property
    def same(self) -> bool:
        """Whether the answer is that of then."""
        return self.told.answer == self.then.answer

    @property
    def shares(self) -> TimeBreakdown:
        """Where its time went."""
        return shares(self.seen, self.told.wall, self.told.cpu)


async def reask(bot: Bot, case: Repro, level: str, times: int = 1) -> list[list[Reply]]:
    """Return what a bot makes of a case, each time from a fresh start. Raise Refused when it has no sandbox."""
    rounds = []
    async with running_monitor() as watcher, AsyncExitStack() as stack:
        house = BotPool(WorkerSetup(case.game, case.rules, (bot,), b"", level), stack, watcher)
        for _ in range(times):
            replies: list[Reply] = []
            try:
                sandbox = await house.sandbox(bot, (case.state or b"")[: bot.limits.state])
                async with open_process(bot, GAMES[case.game], sandbox, case.seed, watcher, charged=True) as talker:
                    await _gone_through(Asker(talker, sandbox, max_open_tables(bot)), case, replies)
            except KeeperDied as died:
                last = replies.pop() if replies else None
                if last is None or not isinstance(died, KeeperOutOfMemory):
                    told = f"its sandbox has failed: {escape_control_chars(str(died))}"
                    raise UserError([Problem("B017", bot.name, told)], 6) from died
                replies.append(last._replace(told=Outcome(Fault(FaultKind.MEMORY), ended=str(died))))
                await house.replace(bot.name)
            rounds.append([reply for reply in replies if _is_meant(case, reply.then)])
    return rounds


def _is_meant(case: Repro, then: RecordedDecision) -> bool:
    table, number = case.wanted
    return table in (0, then.table) and number in (0, then.number)


class Asker(NamedTuple):
    """Who is asked, where, and how many questions it bears at once."""

    talker: BotProcess
    sandbox: Sandbox
    most: int


async def _gone_through(asker: Asker, case: Repro, replies: list[Reply]) -> None:
    """Go through a case; a question that has been answered already is not asked twice."""
    for exchange in case.before:
        await _asked(asker, exchange, replies, look=False)
    answered = {(reply.then.table, reply.then.number) for reply in replies}
    replies.clear()
    for exchange in case.asked:
        left = [then for then in exchange.questions if (then.table, then.number) not in answered]
        await _asked(asker, exchange._replace(questions=tuple(left)), replies, look=True)


async def _asked(asker: Asker, exchange: Exchange, replies: list[Reply], *, look: bool) -> None:
    """Ask what one exchange asks, until all of it is answered."""
    talker = asker.talker
    for table in exchange.over:
        await talker.over(table)
    left: Sequence[RecordedDecision] = exchange.questions
    while left:
        now = left[: asker.most]
        replies.append(Reply(now[0], Outcome(Fault(FaultKind.START)), Profile()))  # it may be killed with its keeper
        if look:
            async with looking(asker.sandbox, talker, now[0].table) as eyes:
                wave = await talker.exchange(now)
            seen = eyes.seen()
        else:
            wave, seen = await talker.exchange(now), Profile()
        replies.pop()
        cpus = wave.cpus or [0.0] * len(wave.answers)
        for then, answer, raw, wall, cpu in zip(now, wave.answers, wave.raws, wave.walls, cpus, strict=False):
            stderr = talker.overheard(then.table) if look else b""
            replies.append(Reply(then, Outcome(answer, raw, wall, cpu, stderr=stderr), seen))
        if wave.failed is not None:
            replies.append(Reply(now[len(wave.answers)], wave.failed, seen))
        left = left[len(wave.answers) + (wave.failed is not None) :]


def differences(one: Sequence[Reply], other: Sequence[Reply]) -> list[tuple[Reply, Reply]]:
    """Return where two bots answer the same questions differently."""
    return [(mine, theirs) for mine, theirs in zip(one, other, strict=True) if mine.told.answer != theirs.told.answer]


def asked_by_both(bots: Sequence[Bot], cases: Sequence[Repro], level: str) -> tuple[list[Reply], list[Reply]]:
    """Return what two bots make of the same cases."""

    async def work() -> tuple[list[Reply], list[Reply]]:
        one, other = [[reply for case in cases for reply in (await reask(bot, case, level))[0]] for bot in bots]
        return one, other

    return trio.run(work)
