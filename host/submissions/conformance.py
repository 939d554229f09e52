"""Asks a bot questions, to find out whether it starts, for `check`, and to compare warm starts with cold starts.

`check` asks the edge cases of the game, then questions at tables, up to MAX_QUESTIONS in total. It then asks a second
process the first REPEATED_QUESTIONS questions again. If a bot is silent, `check` also asks it by another protocol.
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
from host.bots.clock import HostStall
from host.bots.input_state import bytes_in_pipe
from host.bots.monitor import Monitor, running_monitor
from host.bots.one_shot import question_too_long
from host.bots.seat import Seat, open_seat
from host.bots.state_file import BotSandbox, bot_sandbox
from host.bots.stderr_log import QuestionPlace
from host.bots.values import Batch, Evidence, Question, Usage
from host.games.engine import Game, Table
from host.games.luck import Luck
from host.play.sources.own_rules import source_of
from host.play.sources.source import SourcePlace
from host.play.sources.steady import FixtureUndecided, SteadySource
from host.play.table_plans import TableSetup
from host.rules.catalogue import OwnGameFailed, failed_game, ref_of
from host.sandbox.launch import Sandbox
from host.sandbox.levels import Level
from host.sandbox.process_tree import descendant_numbers, read_proc
from host.submissions.diagnosis import (
    diagnose,
    diagnose_start,
    differs_when_warm,
    first_of_each,
    wrong_protocol,
)
from host.submissions.languages import LANGUAGES
from protocols import PROTOCOLS, argv
from protocols.wire import Answer, Fault, FaultKind, Move, View, read_text

MAX_QUESTIONS = 40
REPEATED_QUESTIONS = 20  # the first questions, asked again of a fresh process
MAX_FATAL_FAULTS = 5  # after this many fatal faults, ask no more questions
MAX_FIRST_TIMEOUTS = 2  # the same for time-outs of a bot that has never made a move: each costs its whole limit
COMPARISON_TIME_S = 2.0  # time for the cold answers that are compared with warm ones
CHECK_SEED = b"the tables of croupier check"
CHECK_SEED_OF_BOTS = 1  # the CROUPIER_SEED of every process that is checked
TOLERATED_FAULTS = frozenset({FaultKind.ILLEGAL, FaultKind.EXCEPTION})
"""Faults that `check` reports as notes: it accepts a bot with such faults.

The rules define the cost of an illegal move. After an exception that an adapter reports, the process keeps running.
"""

OTHER_PROTOCOL = {"argv": "lines", "lines": "argv"}
CHUNK_BYTES = 1 << 16
POLL_S = 0.002
MIN_GROWING_QUESTIONS = 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
SECOND_QUESTION, END_OF_INPUT = "it was sent a second question", "its input was closed"
SILENT_CODES = frozenset({"B031", "B034", "B035"})
"""The error codes of a bot that may be waiting for a question by another protocol."""


class AnswerSample(NamedTuple):
    """One question, the name of its edge case ("" at a table), the answer, and its wall-clock time in seconds."""

    edge: str
    question: Question
    answer: Answer
    wall: float


class Conformance:
    """Asks one seat and records every answer."""

    def __init__(self, seat: Seat, sandbox: Sandbox) -> None:
        self.seat, self._sandbox = seat, sandbox
        self.samples: list[AnswerSample] = []
        self._resident: list[int] = []  # bytes of memory in use after each answer
        self.stderr = b""  # the latest part of the bot's standard error

    async def ask(self, question: Question, edge: str = "") -> Answer:
        """Ask one question, record the sample, and return the answer.

        If the question before was of another table, report the end of that table to the bot.
        """
        last = self.samples[-1].question.table if self.samples else question.table
        before = self.seat.usage().wall
        (answer,) = await self.seat.ask(Batch([question], ended_tables=[last] if last != question.table else []))
        self.stderr = self.seat.stderr_tail(question.table) or self.stderr
        self.samples.append(AnswerSample(edge, question, answer, self.seat.usage().wall - before))
        self._resident.append(_resident_bytes(self._sandbox))
        return answer

    @property
    def growth(self) -> float:
        """Return the bytes by which the bot's memory grew per question.

        The first quarter of the questions does not count, because programs set up their data then. Return 0 if the
        memory did not grow steadily, if there were too few questions, or if the bot was started more than once.
        """
        later = self._resident[len(self._resident) // 4 :]
        quarters = [later[len(later) * part // 4] for part in range(4)] + later[-1:]
        if self.seat.usage().starts != 1 or len(later) < MIN_GROWING_QUESTIONS or quarters != sorted({*quarters}):
            return 0.0
        return (later[-1] - later[0]) / (len(later) - 1)

    async def ask_once(self, question: Question) -> Answer:
        """Ask one question. Return the answer, or a timeout fault if the machine was too busy to measure the time."""
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
        """Return the number of fatal faults by kind: those that are not in TOLERATED_FAULTS. They make `check` fail."""
        answers = [asked.answer for asked in self.samples]
        return Counter(
            answer.kind for answer in answers if isinstance(answer, Fault) and answer.kind not in TOLERATED_FAULTS
        )

    @property
    def stop_early(self) -> bool:
        """Whether the bot has too many fatal faults to continue."""
        silent = not self.has_moved and self.fatal[FaultKind.TIMEOUT] >= MAX_FIRST_TIMEOUTS
        return silent or self.fatal.total() >= MAX_FATAL_FAULTS

    async def _asked(self, game: Game, question: Question, edge: str = "") -> Answer:
        """Ask a question of a game. Raise OwnGameFailed if the question is too long for the bot's protocol."""
        if reason := question_too_long(self.seat.bot, question.view):
            raise OwnGameFailed(failed_game(game, f"failed at {edge or f'table check/{question.table}'}: {reason}"))
        return await self.ask(question, edge)

    async def first(self, game: Game) -> None:
        """Ask the first edge case of a game."""
        edge, view = next(iter(game.edges.items()))
        await self._asked(game, Question(1, 1, view), edge)

    async def edges(self, game: Game) -> None:
        """Ask the edge cases that have not been asked yet, until the bot has too many fatal faults."""
        for number, (edge, view) in enumerate(game.edges.items(), 1):
            if number > len(self.samples) and not self.stop_early:
                await self._asked(game, Question(number, 1, view), edge)

    async def source_tables(self, game: Game, rules: Any, source: SteadySource) -> None:
        """Play tables as `tables` does, for a game whose rules run in another process.

        If a referee fails, stop asking: no bot is to blame. Raise OwnGameFailed if an organiser's code fails.
        """
        seats = len(game.places(rules))
        bots = tuple(map(str, range(rules.seats)))
        try:
            for number in range(len(game.edges) + 1, 1000):
                table, count = source.table(TableSetup(bots, rules, str(number)), CHECK_SEED, bots), 0
                await source.advance([table], {})
                while requests := table.last.requests:
                    answers = []
                    for seat, view in requests:
                        if len(self.samples) >= MAX_QUESTIONS or self.stop_early:
                            return
                        asked = seat == number % seats
                        count += asked
                        answer = await self._asked(game, Question(number, count, view)) if asked else None
                        answers.append(answer or read_text(game.grammar, game.opening.answer_to(view)))
                    await source.advance([], {table.number: answers})
        except FixtureUndecided as undecided:
            if not ref_of(game).has_referee:
                why = undecided.why
                what = f"failed at table check/{why.table}: {why.reason}"
                raise OwnGameFailed(failed_game(game, what, why.where)) from undecided
        finally:
            await source.close()

    async def tables(self, game: Game, rules: Any) -> None:
        """Play tables until the bot has been asked MAX_QUESTIONS questions, or has too many fatal faults.

        At each table the bot takes the next seat. The simplest bot of the game (`Game.opening`) takes all other seats.
        """
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
                    table.answer(read_text(game.grammar, game.opening.answer_to(view)))


class ConformanceResult(NamedTuple):
    """Result of all questions to a bot: its answers, the answers of a second process, faults, usage, and problems."""

    samples: tuple[AnswerSample, ...] = ()
    repeated: tuple[AnswerSample, ...] = ()
    fatal: frozenset[FaultKind] = frozenset()
    usage: Usage | None = None
    stderr: bytes = b""
    logs: tuple[tuple[QuestionPlace, bytes], ...] = ()  # all that the bot wrote to standard error, by question
    problems: tuple[Problem, ...] = ()
    faults: tuple[Evidence, ...] = ()  # that the problems explain, in their order
    growth: float = 0.0  # bytes of memory a question
    retries: int = 0  # questions that were asked again after a refused answer

    def slowest(self, lives: bool) -> AnswerSample:
        """Return the slowest answer. For a persistent bot (`lives`), skip the first: it includes the process start."""
        return max(self.samples[lives:] or self.samples, key=lambda asked: asked.wall)


class TestBench(NamedTuple):
    """The sandbox, the game and the monitor for the questions to one bot."""

    bot: BuiltBot
    game: Game
    home: BotSandbox
    watcher: Monitor

    @asynccontextmanager
    async def seated(self) -> AsyncIterator[Conformance]:
        """Yield a Conformance for a fresh process of the bot, with its initial state and a fixed CROUPIER_SEED."""
        self.home.write_state()
        async with open_seat(self.bot, self.game, self.home.sandbox, CHECK_SEED_OF_BOTS, self.watcher) as seat:
            yield Conformance(seat, self.home.sandbox)

    async def run(self, rules: Any, patience: float = float("inf")) -> Conformance | None:
        """Ask a fresh process of the bot all questions. Return the Conformance that has recorded the answers.

        Return None if the first answer takes more than `patience` seconds.
        """
        async with self.seated() as exam:
            with trio.move_on_after(patience) as hurry:
                await exam.first(self.game)
            if hurry.cancelled_caught:
                return None
            await exam.edges(self.game)
            if (open_source := source_of(self.game)) is None:
                await exam.tables(self.game, rules)
            else:
                place = SourcePlace(self.home.sandbox.level, (), self.watcher)
                await exam.source_tables(self.game, rules, SteadySource(open_source, place))
        return exam

    async def repeat(self, before: Sequence[AnswerSample]) -> tuple[AnswerSample, ...]:
        """Ask a fresh process the same questions in the same order. Return its answers in this order."""
        async with self.seated() as exam:
            for asked in before:
                await exam.ask(asked.question)
        return tuple(exam.samples)

    async def problem(self, piece: Evidence, silent: bool) -> Problem:
        """Return the problem that explains the fault `piece`.

        If the bot is `silent` and may be waiting for a question by another protocol, ask it by that protocol first.
        """
        problem = diagnose(self.bot, self.game, piece, silent=silent)
        if silent and problem.code in SILENT_CODES and (other := await self.other_protocol()):
            return wrong_protocol(self.bot, self.game, piece, other)
        return problem

    async def silence(self) -> ConformanceResult | None:
        """Find out why a bot was silent for the time limit of a move. Return a result with the one problem, or None.

        Send the bot a question, another one, and then the end of its input. A bot that reads too much answers after the
        second question. After the end of the input, a bot that does not flush writes two answers, and a bot that waits
        for the end writes one. Return None if the bot computes, never answers, or gets a new process for each question.
        """
        bot, limit, protocol = self.bot, self.bot.limits.move, PROTOCOLS[self.bot.spec.protocol]
        if bot.spec.process_lifetime == "question":
            return None
        framing, first = protocol.framing(self.game.grammar.until), Question(1, 1, self.game.examples[0])
        question, both = protocol.framing().encode([first]), framing.encode([first, first])
        again = both.removeprefix(question)
        if bot.spec.table_ids:
            question, again = protocol.number(1, question), protocol.number(1, again)
        async with self._talk(()) as talk:
            if not await talk.write(question, limit / 2) or await talk.lines(1, limit / 4):
                return None
            if not await talk.write(again, limit / 4):
                return None
            after = SECOND_QUESTION
            if not await talk.lines(1, limit / 4):
                after = END_OF_INPUT
                talk.end_input()
            await talk.lines(2, limit / 2)
        *whole, rest = framing.read(talk.output)
        answers = len(whole) + (protocol.ends_with_output and bool(rest.strip()))
        if not answers:
            return None
        reads_on = after == SECOND_QUESTION or answers == 1 or LANGUAGES[bot.spec.language].output.is_line_buffered
        piece = Evidence(
            bot=bot.name,
            table=1,
            number=1,
            kind=FaultKind.TIMEOUT,
            detail=after,
            question=protocol.encode(first.view).rstrip(),
            raw=talk.first_line,
            stderr=b"",
            wall=limit,
            cpu=0.0,
            ended="",
        )
        problem = diagnose(bot, self.game, piece, "B040" if reads_on else "B020")
        return ConformanceResult(problems=(problem,), faults=(piece,))

    async def other_protocol(self) -> str:
        """Return another protocol by which a silent bot makes a move; "" if there is none.

        A bot that also makes the move without a question does not count.
        """
        other = OTHER_PROTOCOL.get(self.bot.spec.protocol, "")
        if not other:
            return ""
        words = argv.ask(self.game.examples[0])
        typed = PROTOCOLS["lines"].encode(self.game.examples[0])
        asked, unasked = ((words, typed), (words, b"")) if other == "lines" else ((words, b""), ((), b""))
        lines = [await self._first_line(*each) for each in (asked, unasked)]
        moves = [isinstance(PROTOCOLS[other].receive(self.game.grammar, line), Move) for line in lines]
        return other if moves == [True, False] else ""

    async def _first_line(self, words: Sequence[bytes], typed: bytes) -> bytes:
        """Start the bot with the arguments `words` and the input `typed`. Return its first line of output."""
        async with self._talk(words) as talk:
            await talk.write(typed, 0)
            talk.end_input()
            await talk.lines(1, self.bot.limits.move)
        return talk.first_line

    @asynccontextmanager
    async def _talk(self, words: Sequence[bytes]) -> AsyncIterator["Talk"]:
        """Start the bot with the arguments `words`; kill it at the end of the block."""
        bot, sandbox = self.bot, self.home.sandbox
        with ExitStack() as stack, self.watcher.watching(sandbox, bot.limits.memory) as watched:
            reads, types = _pipe(stack)
            listens, writes = _pipe(stack)
            _nobody, complains = _pipe(stack)
            watched.set_cpu_budget(bot.limits.cpu + bot.limits.startup)
            argv = [word.encode() for word in bot.argv]
            env = dict(bot.env) | {"CROUPIER_SEED": "1"}
            stdio = (reads.fileno(), writes.fileno(), complains.fileno())
            await sandbox.keeper.start([*argv, *words], env, bot.limits, stdio)
            writes.close()
            reads.close()
            yield Talk(types, listens)
            await sandbox.keeper.kill_all()


class Talk:
    """A process that receives its input in pieces."""

    def __init__(self, types: io.FileIO, listens: io.FileIO) -> None:
        self._types, self._listens = types, listens
        self.output = b""

    @property
    def first_line(self) -> bytes:
        """Return the first line of the process's output, without the line end."""
        return self.output.partition(b"\n")[0]

    async def write(self, typed: bytes, patience: float) -> bool:
        """Write a piece of input. Return whether the process reads it within `patience` seconds."""
        with suppress(BrokenPipeError):
            self._types.write(typed)
        until = time.perf_counter() + patience
        while (unread := bytes_in_pipe(self._types.fileno())) and time.perf_counter() < until:
            await trio.sleep(POLL_S)
        return not unread

    def end_input(self) -> None:
        """Close the input of the process."""
        self._types.close()

    async def lines(self, count: int, patience: float) -> int:
        """Wait up to `patience` seconds until the process has written `count` lines since its start.

        Stop earlier if its output ends or has CHUNK_BYTES. Return the number of lines that it has written.
        """
        with trio.move_on_after(patience):
            while self.output.count(b"\n") < count and len(self.output) < CHUNK_BYTES:
                await trio.lowlevel.wait_readable(self._listens.fileno())
                if not (chunk := self._listens.read(CHUNK_BYTES)):
                    break
                self.output += chunk
        return self.output.count(b"\n")


def _resident_bytes(sandbox: Sandbox) -> int:
    """Return the bytes of memory that the processes of a sandbox use now."""
    pages = 0
    for number in descendant_numbers(sandbox.pid):
        with suppress(OSError):  # it has just ended
            pages += int(read_proc(f"/proc/{number}/statm").split()[1])
    return pages * PAGE_BYTES


def _pipe(stack: ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """Return the two ends of a pipe. The stack closes them."""
    reads, writes = os.pipe()
    return stack.enter_context(io.FileIO(reads, "r")), stack.enter_context(io.FileIO(writes, "w"))


@asynccontextmanager
async def open_bench(bot: BuiltBot, game: Game, level: Level) -> AsyncIterator[TestBench]:
    """Yield a test bench with a new sandbox for a bot. Raise HostFailure if the sandbox cannot be created."""
    async with running_monitor(logs=True) as watcher, bot_sandbox(bot, level) as home:
        yield TestBench(bot, game, home, watcher)


async def run_conformance(bot: BuiltBot, game: Game, rules: Any, level: Level) -> ConformanceResult:
    """Ask a bot all questions of `check`, and return the result.

    Raise HostFailure if its sandbox fails or the machine is too busy.
    """
    async with open_bench(bot, game, level) as bench:
        exam = None
        if PROTOCOLS[bot.spec.protocol].persistent:  # Is the bot slow to start, or is its answer still in a buffer?
            exam = await bench.run(rules, patience=bot.limits.move)
            if exam is None and (silent := await bench.silence()):
                return silent
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
        retries=exam.seat.retries,
        stderr=exam.stderr,
        logs=tuple(exam.seat.stderr),
        problems=tuple(problems),
        faults=tuple(pieces),
        growth=exam.growth,
    )


ENDED_FAULTS = frozenset({FaultKind.START, FaultKind.CRASH, FaultKind.EXIT})


async def startup_problem(bot: BuiltBot, game: Game, level: Level) -> Problem | None:
    """Return the reason why a bot cannot play: it does not start, or it exits without an answer. None if it can play.

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
                table = number if bot.spec.process_lifetime == "fixture" else min(number, 2)
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
            return differs_when_warm(bot, bot.spec.ask(view), before, now)
    return None


async def under_load(exams: Sequence[tuple[BuiltBot, Game]], level: Level) -> list[AnswerSample | None]:
    """Ask all bots the edge cases of their games at the same time, while one busy process per core runs.

    Return the slowest answer of each bot, in the order of `exams`; None for a bot that gave no answer. The result is
    not a verdict: no tournament runs on such a busy machine.
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
