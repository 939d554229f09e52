"""A bot at the tables of one fixture: it is shown views and answers within its limits; nothing it does is fatal."""

import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Protocol as Shape

import trio

from host.bots.deadline import DeadlinePolicy, HostStall
from host.bots.monitor import Monitor, unwrap_exception_group
from host.bots.one_shot import OneShot, ProcessTotals
from host.bots.persistent import ORDERLY, PersistentProcess
from host.bots.stderr_log import StderrLog
from host.bots.values import BENCHING, EVIDENCE, TIMED_TABLES, Batch, Evidence, HasQuestion, Outcome, Timing, Usage
from host.games.engine import Game
from host.sandbox import KeeperDied, KeeperOutOfMemory, Sandbox
from host.submissions.bot_spec import Bot
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind

BENCHED_AFTER = 20  # clock, crash or start faults in one fixture
TIMED = 1000  # decisions of a bot whose times are kept, at most
KEPT = 5  # pieces of evidence a bot and kind of fault, in one fixture
WALLS = 26  # buckets of answer times: 2^25 µs is more than half a minute


class BotProcess(Shape):
    """How a seat reaches its bot: by a process a question, or by one that lives on."""

    env: dict[str, str]
    spent: ProcessTotals
    heard: StderrLog
    muddled: bool

    def show(self, questions: Sequence[HasQuestion]) -> bool:
        """Show a wave to a process that is ready for it; return whether answers may be heard before `exchange`."""
        ...

    async def exchange(self, questions: Sequence[HasQuestion]) -> Batch:
        """Ask a wave, unless it is shown already; return what came back, up to the first fault that ends a process."""
        ...

    def overheard(self, table: int) -> bytes:
        """Return the end of standard error: of the process, or where each question has its own, of that table's last."""
        ...

    async def over(self, table: int) -> None:
        """Take note that a table is over."""
        ...

    async def rest(self, patience: float = ORDERLY) -> None:
        """End in good order, if there is patience for it."""
        ...


class Seat:
    """What a match asks; it counts faults, keeps the evidence, and benches a hopeless bot."""

    def __init__(self, bot: Bot, talker: BotProcess, *, benched: bool = False, charged: bool = False) -> None:
        self.bot, self.benched = bot, benched
        self.host_failed = False  # whether our own part under it has failed
        self.stall = ""  # what the machine has kept it from answering, when that is why
        self.has_no_sandbox = False  # whether its sandbox has died of the bot
        self._charged = charged
        self._lines = PROTOCOLS[bot.protocol].lines
        self._talker = talker
        self._grave = 0  # faults that count towards benching
        self.faults: Counter[str] = Counter()
        self.evidence: list[Evidence] = []
        self.times: list[Timing] = []
        self._slowest: Evidence | None = None
        self._questions = 0
        self._wall = 0.0
        self._walls = [0] * WALLS

    @property
    def heard(self) -> list[tuple[int, bytes]]:
        """The end of what it has said on standard error, by table."""
        return self._talker.heard.tails

    @property
    def muddled(self) -> bool:
        """Whether it was asked for many tables at once and wrote more lines than that: whose answer was whose?"""
        return self._talker.muddled

    def show(self, questions: Sequence[HasQuestion]) -> PersistentProcess | None:
        """Show questions to a process that is ready for them; return what may be heard then, before `decide`."""
        if not self.benched and self._talker.show(questions) and isinstance(self._talker, PersistentProcess):
            return self._talker
        return None

    def overheard(self, table: int) -> bytes:
        """Return the end of standard error: of the process, or where each question has its own, of that table's last."""
        return self._talker.overheard(table)

    async def ask(self, questions: Sequence[HasQuestion]) -> list[Answer]:
        """Return an answer to every question, in order; when our own part fails, `lost` is set: they mean nothing."""
        answers: list[Answer] = []
        while len(answers) < len(questions):
            if self.benched:
                left = len(questions) - len(answers)
                self.faults[FaultKind.BENCHED] += left
                return answers + [Fault(FaultKind.BENCHED)] * left
            open_questions = questions[len(answers) :] if answers else questions
            try:
                wave = await self._talker.exchange(open_questions)
            except HostStall as stalled:
                self.host_failed = True
                self.stall = f"{self.bot.name} at table {open_questions[0].table}: {stalled}"
                return answers + [Fault(FaultKind.TIMEOUT)] * (len(questions) - len(answers))
            except KeeperDied as died:
                outgrown = isinstance(died, KeeperOutOfMemory)
                if not (self._charged or outgrown):
                    self.host_failed = True
                    return answers + [Fault(FaultKind.CRASH)] * (len(questions) - len(answers))
                # Its keeper has died of it, or too often to be our fault; there is no sandbox left to go on in.
                self.benched = self.has_no_sandbox = True
                failed = Outcome(Fault(FaultKind.MEMORY if outgrown else FaultKind.CRASH), ended=str(died))
                wave = Batch([], [], [], [], failed)
            self._record_batch(open_questions, wave)
            answers += wave.answers
            if wave.failed is not None:
                self._note(open_questions[len(wave.answers)], wave.failed)
                answers.append(wave.failed.answer)
        return answers

    async def over(self, table: int) -> None:
        """Take note that a table is over."""
        if not self.benched:
            await self._talker.over(table)

    def illegal(self, question: HasQuestion, answer: Answer) -> None:
        """Count a well-formed move that the rules do not allow: the game alone can tell."""
        self._keep(question, Outcome(answer, raw=str(answer).encode()), FaultKind.ILLEGAL, "")

    def usage(self) -> Usage:
        """Return what the fixture has cost so far."""
        spent = self._talker.spent
        slowest = self._slowest.wall if self._slowest else 0.0
        used = (spent.cpu, spent.memory, spent.starts, tuple(self._walls), spent.waited, spent.pauses, spent.pondered)
        return Usage(self._questions, self._wall, slowest, *used)

    def all_evidence(self) -> list[Evidence]:
        """Return the evidence kept, the slowest decision last."""
        return [*self.evidence, *([self._slowest] if self._slowest else [])]

    def _record_batch(self, questions: Sequence[HasQuestion], wave: Batch) -> None:
        """Take note of answers; what is said of one in a hundred thousand is looked at only then."""
        walls, count = wave.walls, len(wave.answers)
        waits = [wall for wall in walls if wall]  # all others came together with the answer before
        self._questions += count
        self._walls[0] += count - len(waits)
        if waits:
            self._wall += sum(waits)
            for wall in waits:
                self._walls[min(int(wall * 1e6).bit_length(), WALLS - 1)] += 1
            slowest = max(waits)
            if self._slowest is None or slowest > self._slowest.wall:
                nth = walls.index(slowest)
                told = Outcome(wave.answers[nth], wave.raws[nth], slowest, wave.cpus[nth] if wave.cpus else 0.0)
                self._slowest = self._shown(questions[nth], told, "slowest", "")
        if count and questions[0].table <= TIMED_TABLES:  # open tables come in their order
            for nth, question in enumerate(questions[:count]):
                if question.table > TIMED_TABLES:
                    break
                self._time(question, walls[nth], wave.cpus[nth] if wave.cpus else 0.0)
        if Fault in map(type, wave.answers):
            for question, answer, raw, wall in zip(questions, wave.answers, wave.raws, walls, strict=False):
                if isinstance(answer, Fault):
                    self._count_fault(question, Outcome(answer, raw, wall), answer)

    def _time(self, question: HasQuestion, wall: float, cpu: float) -> None:
        if len(self.times) < TIMED:
            self.times.append(Timing(question.table, question.number, round(wall * 1e6), round(cpu * 1e6)))

    def _note(self, question: HasQuestion, told: Outcome) -> None:
        if question.table <= TIMED_TABLES:
            self._time(question, told.wall, told.cpu)
        self._questions += 1
        self._wall += told.wall
        self._walls[min(int(told.wall * 1e6).bit_length(), WALLS - 1)] += 1
        if self._slowest is None or told.wall > self._slowest.wall:
            self._slowest = self._shown(question, told, "slowest", "")
        answer = told.answer
        if isinstance(answer, Fault):
            self._count_fault(question, told, answer)

    def _count_fault(self, question: HasQuestion, told: Outcome, fault: Fault) -> None:
        """Count a fault, and bench who has too many. Of those an adapter reports only a time-out counts towards that."""
        self._keep(question, told, fault.kind, fault.detail)
        if fault.kind in BENCHING:
            self._grave += 1
            self.benched |= self._grave >= BENCHED_AFTER

    def _keep(self, question: HasQuestion, told: Outcome, kind: FaultKind, detail: str) -> None:
        self.faults[kind] += 1
        if self.faults[kind] <= KEPT:
            self.evidence.append(self._shown(question, told, kind, detail))

    def _shown(self, question: HasQuestion, told: Outcome, kind: str, detail: str) -> Evidence:
        asked = self._lines((question.view,)).rstrip(b"\n")
        stderr = told.stderr or self._talker.overheard(question.table)
        return Evidence(
            *(self.bot.name, question.table, question.number, str(kind), detail, asked),
            *(told.raw[:EVIDENCE], stderr[-EVIDENCE:], told.wall, told.cpu, told.ended),
            waited=told.waited,
            overhead=told.overhead,
        )


@contextlib.asynccontextmanager
async def open_seat(
    bot: Bot, game: Game, sandbox: Sandbox | None, seed: int, watcher: Monitor, *, charged: bool = False
) -> AsyncIterator[Seat]:
    """Seat a bot for one fixture in its sandbox; leaving the block ends it and all it has started.

    `seed` is its CROUPIER_SEED; without a sandbox it sits on the bench. A charged bot's keeper has died before: next
    time it is the bot's crash.
    """
    if sandbox is None:
        yield Seat(bot, _BenchedProcess(), benched=True)
        return
    async with open_process(bot, game, sandbox, seed, watcher, charged=charged) as talker:
        yield Seat(bot, talker, charged=charged)


@contextlib.asynccontextmanager
async def open_process(
    bot: Bot, game: Game, sandbox: Sandbox, seed: int, watcher: Monitor, *, charged: bool = False
) -> AsyncIterator[BotProcess]:
    """Talk with a bot in its sandbox, nobody counting its faults; leaving the block ends it and all it has started.

    A charged bot has no excuse: when the machine is busy, it is late all the same.
    """
    protocol, limits = PROTOCOLS[bot.protocol], bot.limits
    sandbox.keeper.warm = bot.kept if sandbox.warms else 0
    with unwrap_exception_group():
        async with trio.open_nursery() as nursery:
            with watcher.watching(sandbox, limits.memory) as watched:
                talker: BotProcess
                clock = DeadlinePolicy(limits, sandbox, charged=charged)
                if protocol.lives:
                    talker = PersistentProcess(bot, protocol, game.grammar, limits, sandbox, watched, clock, nursery)
                else:
                    talker = OneShot(bot, protocol, game.grammar, limits, sandbox, watched, clock)
                talker.env["CROUPIER_SEED"] = str(seed)
                patience = 0.0
                try:
                    yield talker
                    patience = ORDERLY
                finally:
                    with trio.CancelScope(shield=True), contextlib.suppress(KeeperDied):
                        await talker.rest(patience)
            nursery.cancel_scope.cancel()


class _BenchedProcess:
    """Who sits on the bench: nothing reaches it."""

    def __init__(self) -> None:
        self.env: dict[str, str] = {}
        self.spent, self.heard = ProcessTotals(), StderrLog()
        self.muddled = False

    def show(self, _questions: Sequence[HasQuestion]) -> bool:
        """Show nothing."""
        return False

    async def exchange(self, questions: Sequence[HasQuestion]) -> Batch:
        """Answer with the bench."""
        return Batch([], [], [], [], Outcome(Fault(FaultKind.BENCHED)))

    def overheard(self, _table: int) -> bytes:
        """Return nothing: nobody speaks."""
        return b""

    async def over(self, table: int) -> None:
        """Take no note."""

    async def rest(self, _patience: float = 0.0) -> None:
        """Rest."""
