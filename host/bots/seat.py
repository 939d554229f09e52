"""Seats a bot at the tables of one fixture: asks it batches of questions, and turns all its failures into faults."""

import contextlib
import select
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import trio

from host.base.errors import HostFailure, UserError
from host.bots.allowance import StartupAllowance, TimeBank, time_bank
from host.bots.bot_process import Allows, BotContext, BotProcess, PolledProcess, any_move
from host.bots.bot_spec import BuiltBot
from host.bots.clock import Clock, HostStall, ModelUnreachable
from host.bots.conversation import ORDERLY_EXIT_S, QUICK_ANSWER_MS, SPIN
from host.bots.function_process import FunctionProcess, Returned
from host.bots.host_failures import Recovery
from host.bots.monitor import Monitor, MonitoredSandbox
from host.bots.notes import Notes
from host.bots.one_shot import OneShot
from host.bots.persistent import PersistentProcess
from host.bots.stderr_log import QuestionPlace, StderrLog
from host.bots.values import (
    BENCHING,
    RAW_BYTES,
    TIMED_TABLES,
    WALLS,
    BankTime,
    Batch,
    BatchResult,
    Evidence,
    HasQuestion,
    ModelCost,
    Outcome,
    ProcessTotals,
    QuickAnswer,
    Timing,
    Usage,
)
from host.games.engine import Game, new_tuple
from host.sandbox.keeper import KeeperDied, KeeperOutOfMemory
from host.sandbox.launch import Sandbox
from host.sandbox.limits import Limits
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind

if TYPE_CHECKING:  # only bots that ask models need the relay, and storing_seat imports this module
    from host.bots.storing_seat import SeatStore
    from host.relay.budget import ModelBudget
    from host.relay.relay import Exchanges

BENCHED_AFTER = 20  # faults of the kinds in BENCHING in one fixture
TIMED = 1000  # maximum number of decisions whose times are stored
MAX_PIECES = 5  # pieces of evidence stored for each bot, kind of fault and fixture
POLL_FIRST_S = 0.0002  # time to poll before yielding to trio; waking a task costs a quarter of this


Restart = Callable[[HostFailure], Awaitable[BotProcess | None]]
"""Prepares a new process after a failure of the host. Returns None if the failure counts as a fault of the bot. Raises the
failure if the bot cannot be restarted."""


class Seat:
    """A bot at the tables of one fixture. It counts faults, stores evidence, and benches the bot after too many faults.

    After a failure of the host, the bot gets a new process in a new sandbox. The seat asks this process only the questions
    that have no answer yet, so a bot that causes such a failure cannot take back an answer.
    """

    def __init__(
        self,
        bot: BuiltBot,
        process: BotProcess,
        restart: Restart,
        bank: TimeBank | None,
        budget: "ModelBudget | None" = None,
    ) -> None:
        """`budget` counts what a bot uses of its models; None if the bot asks none. `bank` is None if the bot has none."""
        self.bot, self.benched, self._budget = bot, False, budget
        self.has_lost_sandbox = False  # whether the bot is to blame that it has no sandbox any more
        self._process, self._restart, self._bank = process, restart, bank
        self._encode, self.notes = PROTOCOLS[bot.spec.protocol].encode, Notes(PROTOCOLS[bot.spec.protocol])
        self._questions: Sequence[HasQuestion] = ()
        self.faults: Counter[str] = Counter()
        self.evidence: list[Evidence] = []
        self._times: list[tuple[int, int, float, float]] = []  # table, number, wall and cpu in seconds; see `times`
        self._given: Sequence[tuple[Sequence[HasQuestion], BatchResult]] = ()  # the last batch in pieces
        self._slowest: Evidence | None = None
        self._slowest_wall = -1.0
        self._quick: QuickAnswer | None = None  # the last answer that arrived immediately in `ask_one`
        self._quick_walls: list[float] = []  # seconds of such answers that have not been counted yet
        self._wall = 0.0
        self._walls = [0] * WALLS

    @property
    def bank_times(self) -> Sequence[BankTime]:
        """Return the time left in the bot's time bank at each question; () if it has no bank."""
        return self._bank.times if self._bank is not None else ()

    @property
    def times(self) -> list[Timing]:
        """Return the times of the first decisions, in microseconds. To convert them together is four times as fast."""
        return [
            new_tuple(Timing, (table, number, int(wall * 1e6 + 0.5), int(cpu * 1e6 + 0.5)))
            for table, number, wall, cpu in self._times
        ]

    @property
    def stderr(self) -> list[tuple[QuestionPlace, bytes]]:
        """Return the stored pieces of the bot's standard error, the earliest first, each with its place (`StderrLog.tails`)."""
        return self._process.stderr_log.tails

    def stderr_tail(self, table: int) -> bytes:
        """Return the start and the end of the standard error of the process.

        If each question has its own process, return those of the last question at the table.
        """
        return self._process.stderr_tail(table)

    async def ask(self, batch: Batch) -> list[Answer]:
        """Return an answer to each question of a batch, in order. Raise HostFailure as `ask_all` does."""
        return (await ask_all({self: batch}))[self]

    async def ask_one(self, question: HasQuestion) -> Answer:
        """Return the answer to one question. Raise HostFailure as `ask_all` does."""
        process = self._process
        if (exchange := process.quick) is None or self.benched:
            return (await self.ask(Batch((question,))))[0]
        quick = exchange(question)
        if quick is None:
            self._questions = (question,)
            return (await self._finish())[0]
        move, raw, wall, cpu = self._quick = quick
        self._given = ()
        self._quick_walls.append(wall)
        if wall > self._slowest_wall:
            self._set_slowest(question, Outcome(move, raw.removesuffix(b"\n"), wall, cpu))
        if process.is_timed:
            self._time(question, wall, cpu)
        return move

    def _send(self, batch: Batch) -> PolledProcess | None:
        """Start a batch (see `ask_all`). Return the process if the questions have been written to it, otherwise None."""
        for question, move in batch.illegal:
            self._store_evidence(question, self._outcome_at(question.table, move), FaultKind.ILLEGAL, "")
        self._questions = batch.questions
        return None if self.benched else self._begin(batch)

    def _begin(self, batch: Batch) -> PolledProcess | None:
        """Pass a batch to the process. Return the process if the questions have been written to it, otherwise None."""
        return self._process.send(batch)

    async def _finish(self) -> list[Answer]:
        """Return the answers to the batch that was sent, in order.

        After a fault that ends a process, or a failure of the host, ask a new process the questions that have no answer
        yet. Raise HostFailure if this seat cannot have a new process.
        """
        questions = self._questions
        answers: list[Answer] = []
        given = list[tuple[Sequence[HasQuestion], BatchResult]]()
        self._given = given
        while len(answers) < len(questions):
            remaining = questions[len(answers) :] if answers else questions
            if self.benched:
                self.faults[FaultKind.BENCHED] += len(remaining)
                return answers + [Fault(FaultKind.BENCHED)] * len(remaining)
            result = await self._next_result(remaining, is_begun=not given)
            given.append((remaining, result))
            self._record(remaining, result)
            answers += result.answers
            if result.failed is not None:
                self._record_outcome(remaining[len(result.answers)], result.failed)
                answers.append(result.failed.answer)
        return answers

    async def _next_result(self, questions: Sequence[HasQuestion], *, is_begun: bool) -> BatchResult:
        """Return the results of open questions up to a fault that ends a process, or a failure of the host.

        `is_begun` is whether the batch has been passed to the process.
        """
        if not is_begun:
            self._process.send(Batch(questions))
        try:
            return await self._process.finish()
        except (HostFailure, KeeperOutOfMemory) as failure:
            return await self._after(failure, questions)

    async def _after(self, failure: HostFailure | KeeperOutOfMemory, questions: Sequence[HasQuestion]) -> BatchResult:
        """Return the results before a failure. If the bot is charged for the failure, add a fault, else restart the bot."""
        result, kind = self._process.answered(), FaultKind.MEMORY
        if isinstance(failure, HostFailure):
            failure.bot, failure.table = self.bot.name, questions[len(result.answers)].table
            process = await self._restart(failure)
            if process is not None:
                self._process = process
                return result
            kind = FaultKind.TIMEOUT if isinstance(failure, HostStall) else FaultKind.CRASH
        self.benched = self.has_lost_sandbox = True
        return result._replace(failed=Outcome(Fault(kind), ended=str(failure)))

    def _outcome_at(self, table: int, move: Answer) -> Outcome:
        """Return the outcome of the last question at a table. `move` is its answer, which has turned out to be illegal."""
        if not self._given and self._quick is not None:
            _, raw, wall, cpu = self._quick
            return Outcome(move, raw.removesuffix(b"\n"), wall, cpu)
        for questions, (answers, raws, walls, cpus, _) in self._given:
            for index, question in enumerate(questions[: len(answers)]):
                if question.table == table:
                    return Outcome(move, raws[index], walls[index], cpus[index] if cpus else 0.0)
        return Outcome(move)

    def usage(self) -> Usage:
        """Return the bot's usage in the fixture so far."""
        quick, self._quick_walls = self._quick_walls, []
        self._count_walls(quick)
        totals = self._process.totals
        return Usage(
            questions=sum(self._walls),
            wall=self._wall,
            slowest=self._slowest.wall if self._slowest else 0.0,
            cpu=totals.cpu,
            memory=totals.memory,
            starts=totals.starts,
            walls=tuple(self._walls),
            waited=totals.waited,
            pauses=totals.pauses,
            pondered=totals.pondered,
        )

    @property
    def retries(self) -> int:
        """Return how many questions were asked again in the fixture after a refused answer."""
        return self._process.totals.retries

    def model_costs(self) -> dict[str, ModelCost]:
        """Return the bot's usage of each model in the fixture so far, by name. Models that it has not used are left out."""
        used = self._budget.uses if self._budget is not None else {}
        return {
            model.name: ModelCost(*used[model.name], money=model.cost(used[model.name]))
            for model in self.bot.limits.models
            if any(used.get(model.name, ()))
        }

    def all_evidence(self) -> list[Evidence]:
        """Return the stored evidence, with the slowest decision last."""
        return [*self.evidence, *([self._slowest] if self._slowest else [])]

    def _record(self, questions: Sequence[HasQuestion], result: BatchResult) -> None:
        """Count the answers of a batch, and store their times and evidence.

        A batch may have a hundred answers, of which few are faults or the slowest one, so this works on whole lists.
        """
        walls, count = result.walls, len(result.answers)
        waits = [wall for wall in walls if wall]  # all others arrived together with the answer before
        self._walls[0] += count - len(waits)
        if waits:
            self._count_walls(waits)
            slowest = max(waits)
            if slowest > self._slowest_wall:
                index = walls.index(slowest)
                outcome = Outcome(
                    result.answers[index], result.raws[index], slowest, result.cpus[index] if result.cpus else 0.0
                )
                self._set_slowest(questions[index], outcome)
        if count and questions[0].table <= TIMED_TABLES:  # questions are sorted by table
            for index, question in enumerate(questions[:count]):
                if question.table > TIMED_TABLES:
                    break
                self._time(question, walls[index], result.cpus[index] if result.cpus else 0.0)
        self.notes.add(questions, result)
        if Fault in map(type, result.answers):
            for question, answer, raw, wall in zip(questions, result.answers, result.raws, walls, strict=False):
                if isinstance(answer, Fault):
                    self._count_fault(question, Outcome(answer, raw, wall), answer)

    def _count_walls(self, walls: Sequence[float]) -> None:
        """Count answers by the seconds that they took."""
        self._wall += sum(walls)
        for bits in map(int.bit_length, [int(wall * 1e6) for wall in walls]):  # half the time of `min` for each answer
            self._walls[bits if bits < WALLS else WALLS - 1] += 1

    def _set_slowest(self, question: HasQuestion, outcome: Outcome) -> None:
        self._slowest, self._slowest_wall = self._evidence(question, outcome, "slowest", ""), outcome.wall

    def _time(self, question: HasQuestion, wall: float, cpu: float) -> None:
        if len(self._times) < TIMED:
            self._times.append((question.table, question.number, wall, cpu))
        else:
            self._process.is_timed = False

    def _record_outcome(self, question: HasQuestion, outcome: Outcome) -> None:
        if question.table <= TIMED_TABLES:
            self._time(question, outcome.wall, outcome.cpu)
        self._count_walls([outcome.wall])
        if outcome.wall > self._slowest_wall:
            self._set_slowest(question, outcome)
        answer = outcome.answer
        if isinstance(answer, Fault):
            self._count_fault(question, outcome, answer)

    def _count_fault(self, question: HasQuestion, outcome: Outcome, fault: Fault) -> None:
        """Count a fault, and bench a bot that has too many.

        Of the faults that an adapter reports, only a time-out counts for benching.
        """
        self._store_evidence(question, outcome, fault.kind, fault.detail)
        if fault.kind in BENCHING:
            self.benched |= sum(self.faults[kind] for kind in BENCHING) >= BENCHED_AFTER

    def _store_evidence(self, question: HasQuestion, outcome: Outcome, kind: FaultKind, detail: str) -> None:
        self.faults[kind] += 1
        if self.faults[kind] <= MAX_PIECES:
            self.evidence.append(self._evidence(question, outcome, kind, detail))

    def _evidence(self, question: HasQuestion, outcome: Outcome, kind: str, detail: str) -> Evidence:
        asked = self._encode(question.view).rstrip(b"\n")
        stderr = outcome.stderr or self.stderr_tail(question.table)
        return Evidence(
            bot=self.bot.name,
            table=question.table,
            number=question.number,
            kind=str(kind),
            detail=detail,
            question=asked,
            raw=outcome.raw[:RAW_BYTES],
            stderr=stderr,
            wall=outcome.wall,
            cpu=outcome.cpu,
            ended=outcome.ended,
            waited=outcome.waited,
            overhead=outcome.overhead,
            stalls=outcome.stalls,
            input=outcome.input,
            bank=None if self._bank is None else self._bank.at(question.table, question.number),
        )


async def ask_all(batches: Mapping[Seat, Batch]) -> dict[Seat, list[Answer]]:
    """Ask every seat its batch, all at the same time. Return the answers by seat, in the order of the questions.

    First write all batches, then poll all processes, then finish each seat. Raise HostFailure if croupier or the machine has
    failed and a seat cannot restart its bot. Raise UserError (exit code 6) if this machine cannot create a sandbox any more.
    """
    answers: dict[Seat, list[Answer]] = {}
    polled: dict[Seat, PolledProcess] = {}
    late = []
    for seat, batch in batches.items():
        process = seat._send(batch)
        if process is None:
            late.append(seat)
        else:
            polled[seat] = process
    if polled:
        _poll(polled.values())
    for seat, process in polled.items():
        if process.is_answered:
            answers[seat] = await seat._finish()
        else:
            late.append(seat)
    if len(late) == 1:
        answers[late[0]] = await late[0]._finish()
    elif late:
        await _finish_together(late, answers)
    return answers


async def _finish_together(seats: Sequence[Seat], answers: dict[Seat, list[Answer]]) -> None:
    """Wait for the answers of several seats, and add them to `answers`. If several fail, raise the failure of the first one."""
    failures: dict[Seat, HostFailure | UserError] = {}

    async def finish(seat: Seat) -> None:
        try:
            answers[seat] = await seat._finish()
        except (HostFailure, UserError) as failure:
            failures[seat] = failure

    async with trio.open_nursery() as nursery:
        for seat in seats:
            nursery.start_soon(finish, seat)
    for seat in seats:
        if seat in failures:
            raise failures[seat]


def _poll(processes: Collection[PolledProcess]) -> None:
    """Read the answers of one process that arrive within QUICK_ANSWER_MS, or of several processes within POLL_FIRST_S.

    `finish` waits for the other answers.
    """
    waiting = {process.output: process for process in processes}
    now = time.perf_counter()
    if len(waiting) == 1:
        until, spun = now + QUICK_ANSWER_MS / 1000, now + SPIN.seconds()
    else:
        until, spun = now + POLL_FIRST_S, now
    while waiting and now < until:
        spins = now < spun
        for output in select.select(waiting, (), (), 0 if spins else until - now)[0]:
            if waiting[output].read_available(time.perf_counter()):
                del waiting[output]
        now = time.perf_counter()
        if spins and waiting and now >= spun:
            SPIN.failed()


class _Earlier(Protocol):
    """The standard error and the usage of all earlier processes of a bot in a fixture. The next process adds to them."""

    @property
    def stderr_log(self) -> StderrLog: ...
    @property
    def totals(self) -> ProcessTotals: ...


class _Stored(NamedTuple):
    """The standard error and the usage of a bot at the start of a fixture. A continued fixture starts with stored usage."""

    stderr_log: StderrLog
    totals: ProcessTotals = ProcessTotals()


def _lost_process(failure: HostFailure, previous: _Earlier) -> BotProcess:
    """Return a process for a bot without a sandbox. `finish` raises the failure, which the seat counts as a crash."""

    async def fail(_questions: Sequence[HasQuestion]) -> Sequence[Returned]:
        raise failure

    process = FunctionProcess(fail)
    process.stderr_log, process.totals = previous.stderr_log, previous.totals
    return process


@contextlib.asynccontextmanager
async def open_seat(
    bot: BuiltBot,
    game: Game,
    sandbox: Sandbox | HostFailure,
    seed: int,
    monitor: Monitor,
    *,
    recovery: Recovery | None = None,
    store: "SeatStore | None" = None,
    exchanges: "Exchanges | None" = None,
    allows: Allows = any_move,
) -> AsyncIterator[Seat]:
    """Seat a bot for one fixture in its sandbox; leaving the block kills all its processes.

    `seed` is the bot's CROUPIER_SEED. If `sandbox` is a failure, the bot crashes at its first question. Without `recovery`,
    the seat raises failures of the host. With `store`, the seat stores the answers, and begins with those that are stored
    already. `exchanges` records the exchanges of the bot with its models, or answers the bot from a recording. If a bot has
    retries and `allows` refuses a move, the bot is asked again.
    """
    bank = time_bank(bot.limits)
    allowance = StartupAllowance(bot.limits.startup, bot.limits.per_move, bot.empty_start)
    new_clock: Callable[..., Clock] = Clock
    new_seat: Callable[..., Seat] = Seat
    last, budget = store.last if store else None, None
    if bot.limits.models:
        from host.bots.calling_clock import CallingClock  # only these bots need it
        from host.relay.budget import ModelBudget

        budget = (last and last.budget) or ModelBudget()
        new_clock = partial(CallingClock, budget=budget, exchanges=exchanges)
    if store:
        from host.bots.storing_seat import StoringSeat  # only bots at a table with these need it

        new_seat = partial(StoringSeat, store=store, grammar=game.grammar)
    async with contextlib.AsyncExitStack() as stack:

        async def process_in(sandbox: Sandbox | HostFailure, previous: _Earlier) -> BotProcess:
            if isinstance(sandbox, HostFailure):
                return _lost_process(sandbox, previous)
            charged = recovery is not None and recovery.failures.are_charged_to(bot.name)
            clock = partial(new_clock, charged=charged, bank=bank, allowance=allowance)
            block = open_process(bot, game, sandbox, seed, monitor, new_clock=clock, previous=previous, allows=allows)
            return await stack.enter_async_context(block)

        used = ProcessTotals(*last.totals) if last else ProcessTotals()
        process = await process_in(sandbox, _Stored(StderrLog(complete=monitor.logs), used))

        async def restart(failure: HostFailure) -> BotProcess | None:
            nonlocal process
            if recovery is None:
                raise failure
            if recovery.failures.is_last(failure):
                if isinstance(failure, ModelUnreachable):
                    raise failure
                return None
            recovery.failures.count(failure)
            await stack.aclose()
            allowance.begin_again()
            process = await process_in(await recovery.new_sandbox(), process)
            return process

        yield new_seat(bot, process, restart, bank, budget)


def process_of(context: BotContext) -> PersistentProcess | OneShot:
    """Return an object that asks a bot in the way that the bot's protocol and limits require. It starts no process yet."""
    if context.bot.retries:
        from host.bots.retried import RetriedProcess  # only these bots need it

        return RetriedProcess(context)
    return PersistentProcess(context) if PROTOCOLS[context.bot.spec.protocol].persistent else OneShot(context)


@contextlib.asynccontextmanager
async def open_process(
    bot: BuiltBot,
    game: Game,
    sandbox: Sandbox,
    seed: int,
    monitor: Monitor,
    *,
    new_clock: Callable[[Limits, MonitoredSandbox], Clock] = Clock,
    previous: _Earlier | None = None,
    allows: Allows = any_move,
) -> AsyncIterator[BotProcess]:
    """Open the process of a bot in its sandbox, without counting faults; leaving the block kills all its processes.

    `previous` is the bot's last process in the same fixture, which must have ended. The new process continues its usage and
    its standard error.
    """
    previous = previous or _Stored(StderrLog(complete=monitor.logs))
    sandbox.keeper.warm = len(bot.warm) if sandbox.warms else 0
    with monitor.watching(sandbox, bot.limits.memory) as monitored, contextlib.ExitStack() as calls:
        clock = new_clock(bot.limits, monitored)
        if sandbox.serve is not None:
            calls.enter_context(sandbox.serve(clock))
        context = BotContext(
            bot=bot,
            grammar=game.grammar._replace(longest=bot.longest_answer),
            argv=bot.command(sandbox.keeper.warm),
            env=dict(bot.env) | {"CROUPIER_SEED": str(seed)} | dict(sandbox.variables),
            monitored=monitored,
            clock=clock,
            stderr_reader=monitor.stderr_reader,
            stderr_log=previous.stderr_log,
            used=previous.totals,
            allows=allows,
        )
        process = process_of(context)
        patience = 0.0
        try:
            yield process
            patience = ORDERLY_EXIT_S
        finally:
            with trio.CancelScope(shield=True), contextlib.suppress(KeeperDied, KeeperOutOfMemory):
                await process.shut_down(patience)
