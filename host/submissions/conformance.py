"""Asks a bot questions: whether it starts, those of `check`, and whether a warm start changes its answers.

The questions of `check` are edge cases, some tables, and the first questions again. A silent bot is asked by another
protocol.
"""

import io
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

import trio

from host.base.errors import HostFailure, Problem
from host.bots.bot_spec import BuiltBot
from host.bots.deadline import HostStall
from host.bots.monitor import Monitor, running_monitor
from host.bots.seat import Seat, open_seat
from host.bots.state_file import BotSandbox, bot_sandbox
from host.bots.values import Batch, Evidence, Question, Usage
from host.games.engine import Game, Table
from host.games.luck import Luck
from host.sandbox.levels import Level
from host.submissions.diagnosis import (
    diagnose,
    diagnose_start,
    differs_when_warm,
    first_of_each,
    wrong_protocol,
)
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, Move, View, read_move

MAX_QUESTIONS = 40
REPEATED_QUESTIONS = 20  # the first questions, asked again of a fresh process
MAX_FATAL_FAULTS = 5  # after this many fatal faults, ask no more questions
COMPARISON_TIME_S = 2.0  # time for the cold answers that are compared with warm ones
CHECK_SEED = b"the tables of croupier check"
TOLERATED_FAULTS = frozenset({FaultKind.ILLEGAL, FaultKind.EXCEPTION})
"""Faults that are notes: a bot with such faults is accepted.

The rules define the cost of an illegal move. After an exception that an adapter reports, the process keeps running.
"""

ENDED_FAULTS = frozenset({FaultKind.START, FaultKind.CRASH, FaultKind.EXIT})
OTHER_PROTOCOL = {"argv": "lines", "lines": "argv"}
CHUNK_BYTES = 1 << 16
SILENT_CODES = frozenset({"B031", "B034", "B035"})
"""The codes of a bot that may be waiting for a question by another protocol."""


class AnswerSample(NamedTuple):
    """One question, the name of its edge case ("" at a table), the answer, and its wall-clock time in seconds."""

    edge: str
    question: Question
    answer: Answer
    wall: float


class Conformance:
    """Asks one seat and records every answer."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.samples: list[AnswerSample] = []
        self.stderr = b""  # the latest part of the bot's standard error

    async def ask(self, question: Question, edge: str = "") -> Answer:
        """Ask one question and return the answer. A question of another table ends the previous table."""
        last = self.samples[-1].question.table if self.samples else question.table
        before = self.seat.usage().wall
        (answer,) = await self.seat.ask(Batch([question], ended_tables=[last] if last != question.table else []))
        self.stderr = self.seat.stderr_tail(question.table) or self.stderr
        self.samples.append(AnswerSample(edge, question, answer, self.seat.usage().wall - before))
        return answer

    async def ask_once(self, question: Question) -> Answer:
        """Ask one question and return the answer; a timeout if the machine was too busy to measure the time."""
        try:
            return await self.ask(question)
        except HostStall:
            return Fault(FaultKind.TIMEOUT)

    @property
    def has_moved(self) -> bool:
        """Whether the bot has made a move."""
        return any(isinstance(asked.answer, Move) for asked in self.samples)

    @property
    def fatal(self) -> Counter[FaultKind]:
        """The number of faults of each kind for which a bot is not accepted."""
        answers = [asked.answer for asked in self.samples]
        return Counter(
            answer.kind for answer in answers if isinstance(answer, Fault) and answer.kind not in TOLERATED_FAULTS
        )

    @property
    def stop_early(self) -> bool:
        """Whether the bot has too many fatal faults to continue."""
        return self.fatal.total() >= MAX_FATAL_FAULTS

    async def first(self, game: Game) -> None:
        """Ask the first question."""
        edge, view = next(iter(game.edges.items()))
        await self.ask(Question(1, 1, view), edge)

    async def edges(self, game: Game) -> None:
        """Ask the edge cases that have not been asked yet."""
        for number, (edge, view) in enumerate(game.edges.items(), 1):
            if number > len(self.samples) and not self.stop_early:
                await self.ask(Question(number, 1, view), edge)

    async def tables(self, game: Game, rules: Any) -> None:
        """Play tables against the game's opening, up to MAX_QUESTIONS questions. The bot takes each seat in turn."""
        seats = len(game.places(rules))
        for number in range(len(game.edges) + 1, 1000):
            table, count = Table(game, rules, Luck(CHECK_SEED, str(number))), 0
            while table.request:
                if len(self.samples) >= MAX_QUESTIONS or self.stop_early:
                    return
                seat, view = table.request
                if seat == number % seats:
                    count += 1
                    table.answer(await self.ask(Question(number, count, view)))
                else:
                    table.answer(read_move(game.grammar, game.opening.answer_to(view).encode()))


class ConformanceResult(NamedTuple):
    """Result of all questions: the samples, the repeated samples, the fatal faults, usage, and problems."""

    samples: tuple[AnswerSample, ...] = ()
    repeated: tuple[AnswerSample, ...] = ()
    fatal: frozenset[FaultKind] = frozenset()
    usage: Usage | None = None
    stderr: bytes = b""
    problems: tuple[Problem, ...] = ()

    def slowest(self, lives: bool) -> AnswerSample:
        """Return the slowest answer. For a persistent bot, skip the first: it includes the start of the process."""
        return max(self.samples[lives:] or self.samples, key=lambda asked: asked.wall)


class FirstLine(NamedTuple):
    """The first line of output, whether the line is complete, and the seconds since the start of the process."""

    line: bytes
    whole: bool
    after: float


class TestBench(NamedTuple):
    """The sandbox, the game and the monitor for the questions to one bot."""

    bot: BuiltBot
    game: Game
    home: BotSandbox
    watcher: Monitor

    @asynccontextmanager
    async def seated(self) -> AsyncIterator[Conformance]:
        """Seat a fresh process of the bot, with an empty state file and always the same CROUPIER_SEED."""
        self.home.write_state()
        async with open_seat(self.bot, self.game, self.home.sandbox, 1, self.watcher) as seat:
            yield Conformance(seat)

    async def run(self, rules: Any, patience: float = float("inf")) -> Conformance | None:
        """Ask the bot all questions. Return None if its first answer takes more than `patience` seconds."""
        async with self.seated() as exam:
            with trio.move_on_after(patience) as hurry:
                await exam.first(self.game)
            if hurry.cancelled_caught:
                return None
            await exam.edges(self.game)
            await exam.tables(self.game, rules)
        return exam

    async def repeat(self, before: Sequence[AnswerSample]) -> tuple[AnswerSample, ...]:
        """Ask a fresh process the same questions in the same order."""
        async with self.seated() as exam:
            for asked in before:
                await exam.ask(asked.question)
        return tuple(exam.samples)

    async def problem(self, piece: Evidence, silent: bool) -> Problem:
        """Return the problem that explains a fault. First ask a silent bot by another protocol."""
        problem = diagnose(self.bot, self.game, piece)
        if silent and problem.code in SILENT_CODES and (other := await self.other_protocol()):
            return wrong_protocol(self.bot, self.game, piece, other)
        return problem

    async def missing_flush(self) -> Problem | None:
        """Close the input of a bot that has been silent for the time limit of a move. Return its problem if it answers then.

        If it answers within half of that time, it was not computing.
        """
        bot, protocol = self.bot, PROTOCOLS[self.bot.spec.protocol]
        (question,) = protocol.ask(self.game.examples[0])
        heard = await self._first_line((), protocol.number(1, question) if bot.spec.table_ids else question)
        if not heard.whole or heard.after >= bot.limits.move / 2:
            return None
        wall = bot.limits.move
        piece = Evidence(bot.name, 1, 1, FaultKind.TIMEOUT, "", question.rstrip(), heard.line, b"", wall, 0.0, "")
        return diagnose(bot, self.game, piece, "B020")

    async def other_protocol(self) -> str:
        """Return another protocol by which a silent bot makes a move; "" if there is none.

        A bot that also makes the move without a question does not count.
        """
        other = OTHER_PROTOCOL.get(self.bot.spec.protocol, "")
        if not other:
            return ""
        words = PROTOCOLS["argv"].ask(self.game.examples[0])
        typed = PROTOCOLS["lines"].ask(self.game.examples[0])[0]
        asked, unasked = ((words, typed), (words, b"")) if other == "lines" else ((words, b""), ((), b""))
        results = [await self._first_line(*each) for each in (asked, unasked)]
        moves = [isinstance(PROTOCOLS[other].receive(self.game.grammar, heard.line), Move) for heard in results]
        return other if moves == [True, False] else ""

    async def _first_line(self, words: Sequence[bytes], typed: bytes) -> FirstLine:
        """Start the bot with these arguments and this input, and return its first line of output."""
        bot, sandbox = self.bot, self.home.sandbox
        began, output = time.perf_counter(), b""
        with ExitStack() as stack, self.watcher.watching(sandbox, bot.limits.memory) as watched:
            reads, types = _pipe(stack)
            listens, writes = _pipe(stack)
            _nobody, complains = _pipe(stack)
            watched.set_cpu_budget(bot.limits.cpu + bot.limits.startup)
            types.write(typed)
            types.close()
            argv = [word.encode() for word in bot.argv]
            env = dict(bot.env) | {"CROUPIER_SEED": "1"}
            stdio = (reads.fileno(), writes.fileno(), complains.fileno())
            await sandbox.keeper.start([*argv, *words], env, bot.limits, stdio)
            writes.close()
            with trio.move_on_after(bot.limits.move):
                while b"\n" not in output and len(output) < CHUNK_BYTES:
                    await trio.lowlevel.wait_readable(listens.fileno())
                    if not (chunk := listens.read(CHUNK_BYTES)):
                        break
                    output += chunk
            after = time.perf_counter() - began
            await sandbox.keeper.kill_all()
        line, end, _ = output.partition(b"\n")
        return FirstLine(line, bool(end), after)


def _pipe(stack: ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """Return the two ends of a pipe. The stack closes them."""
    reads, writes = os.pipe()
    return stack.enter_context(io.FileIO(reads, "r")), stack.enter_context(io.FileIO(writes, "w"))


@asynccontextmanager
async def open_bench(bot: BuiltBot, game: Game, level: Level) -> AsyncIterator[TestBench]:
    """Create a sandbox for a bot. Raise HostFailure if it cannot be created."""
    async with running_monitor() as watcher, bot_sandbox(bot, level) as home:
        yield TestBench(bot, game, home, watcher)


async def run_conformance(bot: BuiltBot, game: Game, rules: Any, level: Level) -> ConformanceResult:
    """Ask a bot all questions. Raise HostFailure if its sandbox fails or the machine is too busy."""
    async with open_bench(bot, game, level) as bench:
        exam = None
        if PROTOCOLS[bot.spec.protocol].persistent:  # Is the bot slow to start, or is its answer still in a buffer?
            exam = await bench.run(rules, patience=bot.limits.move)
            if exam is None and (problem := await bench.missing_flush()):
                return ConformanceResult(problems=(problem,))
        exam = exam or await bench.run(rules)
        assert exam is not None  # without `patience`, `run` waits for the first answer
        again = await bench.repeat(exam.samples[:REPEATED_QUESTIONS]) if not exam.fatal else ()
        pieces = first_of_each(exam.seat.evidence, exam.fatal)
        problems = [await bench.problem(piece, not exam.has_moved) for piece in pieces]
    return ConformanceResult(
        samples=tuple(exam.samples),
        repeated=again,
        fatal=frozenset(exam.fatal),
        usage=exam.seat.usage(),
        stderr=exam.stderr,
        problems=tuple(problems),
    )


async def startup_problem(bot: BuiltBot, game: Game, level: Level) -> Problem | None:
    """Return the reason why a bot cannot play: it cannot be started, or it exits without an answer to any question.

    A bot that is slow, or whose answers are illegal or unreadable, may play: the rules define what that costs.
    """
    async with open_bench(bot, game, level) as bench, bench.seated() as exam:
        for number, view in enumerate(game.examples[1:3] or game.examples, 1):
            answer = await exam.ask_once(Question(number, 1, view))
            if not (isinstance(answer, Fault) and answer.kind in ENDED_FAULTS):
                return None
    return diagnose_start(bot, game, exam.seat.evidence[0])


async def warm_mismatch(bot: BuiltBot, game: Game, level: Level) -> Problem | None:
    """Compare a bot's answers after a warm start and after a cold start. Return the problem if they differ, else None.

    If the answers after two cold starts also differ, compare only whether each answer is a move or a fault.
    """

    async def answers(bot: BuiltBot, views: Sequence[View], patience: float = float("inf")) -> list[Answer]:
        received: list[Answer] = []
        until = time.monotonic() + patience
        async with open_bench(bot, game, level) as bench, bench.seated() as exam:
            for number, view in enumerate(views, 1):
                # A bot that lives for one table starts twice.
                table = number if bot.spec.lifetime == "fixture" else min(number, 2)
                received.append(await exam.ask_once(Question(table, number, view)))
                if time.monotonic() > until:
                    break
        return received

    unwarmed, views = bot._replace(warm=()), [*game.edges.values()]
    cold = await answers(unwarmed, views, COMPARISON_TIME_S)
    del views[len(cold) :]
    warm = await answers(bot, views)
    if cold != warm and cold != await answers(unwarmed, views) and [*map(type, cold)] == [*map(type, warm)]:
        return None
    for view, before, now in zip(views, cold, warm, strict=True):
        if before != now:
            return differs_when_warm(bot, PROTOCOLS[bot.spec.protocol].ask(view), before, now)
    return None


async def under_load(exams: Sequence[tuple[BuiltBot, Game]], level: Level) -> list[AnswerSample | None]:
    """Ask all bots at the same time, next to one busy process per core. Return the slowest answer of each bot.

    None means that there was no answer. The result is not a verdict: no tournament runs on such a busy machine.
    """
    slowest: dict[int, AnswerSample] = {}

    async def one(number: int, bot: BuiltBot, game: Game, watcher: Monitor) -> None:
        async with bot_sandbox(bot, level) as home, TestBench(bot, game, home, watcher).seated() as exam:
            with suppress(HostFailure):
                await exam.edges(game)
                slowest[number] = ConformanceResult(tuple(exam.samples)).slowest(
                    PROTOCOLS[bot.spec.protocol].persistent
                )

    async with running_monitor() as watcher, trio.open_nursery() as busy:
        for _ in os.sched_getaffinity(0):
            busy.start_soon(partial(trio.run_process, ["/bin/sh", "-c", "while :; do :; done"], check=False))
        async with trio.open_nursery() as nursery:
            for number, (bot, game) in enumerate(exams):
                nursery.start_soon(one, number, bot, game, watcher)
        busy.cancel_scope.cancel()
    return [slowest.get(number) for number in range(len(exams))]
