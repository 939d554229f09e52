"""Is a bot accepted, and if not, why not: built, started, asked the edges of the rules and some tables, and asked again."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import trio

from host.bots.adapters import adapted
from host.bots.build import Bot, build, harmless, shown_step, steps_of
from host.bots.housed import Housed, housed
from host.bots.languages import cold_because
from host.bots.limits import MIB, Limits
from host.bots.probe import speaks, unflushed
from host.bots.ready import differs
from host.bots.sandboxes import KeeperDied
from host.bots.seat import Seat, seated
from host.bots.spec import Spec
from host.bots.told import Evidence, Question, Usage
from host.bots.verdict import HINTS, REFUSED, first_of_each, milliseconds, problem_of
from host.bots.watch import Watcher, a_watcher
from host.games.engine import Game, Table
from host.games.luck import Luck
from host.problems import Problem, Refused
from protocols import PROTOCOLS
from protocols.words import Answer, Fault, FaultKind, Move, read_move

QUESTIONS = 40
REPEATED = 20  # of them, asked once more of a fresh process
GIVEN_UP_AFTER = 5  # faults for which it is not accepted
NEAR = 0.5  # of a limit: a slower or busier machine may then be too much
WIDTH = 76  # of what a line says
ATTEMPTS = 3  # when the machine was stalled, or a sandbox died
SILENT = frozenset({"B031", "B034", "B035"})
"""The codes of a bot that may be waiting to be asked another way."""

SEED = b"the tables of croupier check"
TOLERATED = frozenset({FaultKind.ILLEGAL, FaultKind.EXCEPTION})
"""What is a note and no refusal: the rules say what an illegal move costs, an adapter's exception leaves its process."""


class Line(NamedTuple):
    """One line of a report: passed (✓), worth a note (!) or failed (✗); `cure` says what to do about it."""

    mark: str
    what: str
    words: str
    cure: str = ""

    def __str__(self) -> str:
        text = f"  {self.mark} {self.what:<15} {self.words}"
        return f"{text}\n{'':20}{self.cure}" if self.cure else text


class Report(NamedTuple):
    """What was found out about one bot."""

    bot: str
    about: str
    place: str
    accepted: bool
    seconds: float
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...] = ()

    def facts(self) -> dict[str, Any]:
        """Return the report for programs."""
        lines, problems = [line._asdict() for line in self.lines], [problem._asdict() for problem in self.problems]
        return self._asdict() | {"lines": lines, "problems": problems}

    def text(self) -> str:
        """Return the report for people."""
        head = f"{harmless(self.bot)} · {self.about}"
        shown = [f"{head:<70} {harmless(self.place)}".rstrip(), *map(str, self.lines), *map(str, self.problems)]
        notes = sum(line.mark == "!" for line in self.lines)
        words = "ready to play" if self.accepted else "not accepted"
        noted = f" · {notes} note{'s' if notes > 1 else ''}" if notes else ""
        return "\n".join([*shown, f"{words}{noted} · {self.seconds:.1f} s"])


class Asked(NamedTuple):
    """One question of an exam, what is odd about it, and what came of it."""

    edge: str
    question: Question
    answer: Answer
    wall: float


class Exam:
    """Asks one seat, and takes note of everything."""

    def __init__(self, seat: Seat) -> None:
        self.seat = seat
        self.asked: list[Asked] = []
        self.stderr = b""  # the last that it has written there

    async def ask(self, question: Question, edge: str = "") -> Answer:
        """Return the answer to one question; a table before it is over."""
        if self.asked and self.asked[-1].question.table != question.table:
            await self.seat.over(self.asked[-1].question.table)
        before = self.seat.usage().wall
        (answer,) = await self.seat.decide([question])
        self.stderr = self.seat.overheard(question.table) or self.stderr
        self.asked.append(Asked(edge, question, answer, self.seat.usage().wall - before))
        return answer

    @property
    def moves(self) -> bool:
        """Whether it has made any move."""
        return any(isinstance(asked.answer, Move) for asked in self.asked)

    @property
    def grave(self) -> Counter[FaultKind]:
        """The faults for which a bot is not accepted, counted."""
        answers = [asked.answer for asked in self.asked]
        return Counter(answer.kind for answer in answers if isinstance(answer, Fault) and answer.kind not in TOLERATED)

    @property
    def hopeless(self) -> bool:
        """Whether it is not worth asking on."""
        return self.grave.total() >= GIVEN_UP_AFTER

    async def first(self, game: Game) -> None:
        """Ask the first question."""
        edge, view = next(iter(game.edges.items()))
        await self.ask(Question(1, 1, view), edge)

    async def edges(self, game: Game) -> None:
        """Ask what is left of the edges of the rules."""
        for number, (edge, view) in enumerate(game.edges.items(), 1):
            if number > len(self.asked) and not self.hopeless:
                await self.ask(Question(number, 1, view), edge)

    async def tables(self, game: Game, rules: Any) -> None:
        """Play tables against the game's opening, until forty questions have been asked; the seats go round."""
        for number in range(len(game.edges) + 1, 1000):
            table, count = Table(game, rules, Luck(SEED, str(number))), 0
            while table.request:
                if len(self.asked) >= QUESTIONS or self.hopeless:
                    return
                seat, view = table.request
                if seat == number % rules.seats:
                    count += 1
                    table.answer(await self.ask(Question(number, count, view)))
                else:
                    table.answer(read_move(game.grammar, game.opening.says(view).encode()))


class Course(NamedTuple):
    """What an exam has brought: the answers, those of the second time, the price, and what was seen of faults."""

    asked: tuple[Asked, ...]
    again: tuple[Asked, ...]
    grave: Counter[FaultKind]
    usage: Usage | None
    stderr: bytes
    problems: tuple[Problem, ...]

    def slowest(self, lives: bool) -> float:
        """Return the seconds of the slowest answer, the one that had a start in it left out."""
        return max((asked.wall for asked in self.asked[lives:]), default=0.0)


async def checked(
    spec: Spec, game: Game, level: str, granted: Limits, rules: Any = None, place: str = ""
) -> tuple[Report, Bot | None]:
    """Return what a bot makes of the edges of the rules, and the bot if it builds; never raise for what a bot does."""
    began = time.monotonic()
    lines: list[Line] = []
    about = f"{spec.language} · {spec.protocol or game.protocol} · {game.name}"

    bot: Bot | None = None

    def report(*problems: Problem) -> tuple[Report, Bot | None]:
        seconds = time.monotonic() - began
        return Report(spec.name, about, place, not problems, seconds, tuple(lines), problems), bot

    spec = spec._replace(game=game.name)
    try:
        bot = await build(spec, level)
        steps = steps_of(adapted(spec))
    except Refused as refused:
        lines.append(Line("✗", "builds", "no"))
        return report(*refused.problems)
    command = shown_step(steps[0])[:50] if steps else "nothing to build"
    lines.append(Line("✓", "builds", f"{command:<54} {time.monotonic() - began:.2f} s"))
    bot = bot._replace(limits=granted.at_most(spec.limits))
    rules = rules or next(iter(game.presets.values()))
    for attempt in range(1, ATTEMPTS + 1):
        try:
            async with a_watcher() as watcher, housed(bot, level) as home:
                course = await examined(bot, game, rules, home, watcher)
            break
        except KeeperDied as died:
            if attempt == ATTEMPTS:
                return report(Problem("B017", spec.name, f"no sandbox holds it: {harmless(str(died))}"))
    lines += told(bot, game, rules, course, level)
    if not spec.warm or course.problems:
        return report(*course.problems)
    if not bot.warm:
        lines.append(Line("!", "warm", f"starts cold: {cold_because(spec)}"))
        return report()
    otherwise = await differs(bot, game, level)
    lines.append(
        Line("✗", "warm", "answers otherwise than cold") if otherwise else Line("✓", "warm", "answers as it does cold")
    )
    return report(*([otherwise] if otherwise else []))


async def examined(bot: Bot, game: Game, rules: Any, home: Housed, watcher: Watcher) -> Course:
    """Put a bot through its exam, and through the beginning of it once more."""
    first = game.examples[0]
    if PROTOCOLS[bot.protocol].lives:
        exam = await _exam(bot, game, rules, home, watcher, bot.limits.move)
        if exam is None and (heard := await unflushed(bot, home.sandbox, watcher, first)):
            asked = PROTOCOLS[bot.protocol].ask(first)[0].rstrip()
            piece = Evidence(
                *(bot.name, 1, 1, FaultKind.TIMEOUT, "", asked, heard.line, b"", bot.limits.move, 0.0, ""),
            )
            return Course((), (), Counter({FaultKind.TIMEOUT: 1}), None, b"", (problem_of(bot, game, piece, "B020"),))
    else:
        exam = None
    exam = exam or await _exam(bot, game, rules, home, watcher)
    assert exam is not None  # patience without end
    if exam.seat.lost:
        raise KeeperDied(exam.seat.stall or "it ended while the bot was asked")
    again = await _again(bot, game, exam.asked[:REPEATED], home, watcher) if not exam.grave else ()
    problems = []
    for piece in first_of_each(exam.seat.evidence, exam.grave):
        problem = problem_of(bot, game, piece)
        if (
            problem.code in SILENT
            and not exam.moves
            and (other := await speaks(bot, game, home.sandbox, watcher, first))
        ):
            problem = problem_of(bot, game, piece, "B021" if other == "lines" else "")
            problem = problem._replace(hint=f'protocol = "{other}" in bot.toml: asked that way, it makes a move')
        problems.append(problem)
    return Course(tuple(exam.asked), again, exam.grave, exam.seat.usage(), exam.stderr, tuple(problems))


async def _exam(
    bot: Bot, game: Game, rules: Any, home: Housed, watcher: Watcher, patience: float = float("inf")
) -> Exam | None:
    """Seat a bot and ask it everything; None when its first answer takes longer than so many seconds."""
    home.keep()
    async with seated(bot, game, home.sandbox, 1, watcher) as seat:
        exam = Exam(seat)
        with trio.move_on_after(patience) as hurry:
            await exam.first(game)
        if hurry.cancelled_caught:
            return None
        await exam.edges(game)
        await exam.tables(game, rules)
    return exam


async def _again(bot: Bot, game: Game, before: Sequence[Asked], home: Housed, watcher: Watcher) -> tuple[Asked, ...]:
    """Ask a fresh process of the same CROUPIER_SEED the same questions in the same order."""
    home.keep()
    async with seated(bot, game, home.sandbox, 1, watcher) as seat:
        exam = Exam(seat)
        for asked in before:
            await exam.ask(asked.question)
    return tuple(exam.asked)


# All at once.


async def under_load(exams: Sequence[tuple[Game, Bot]], level: str) -> list[Line]:
    """Return how slow bots are that all think at the same time, beside as many busy processes as there are cores.

    What comes of it is no verdict: on a machine so busy nobody would hold a cup.
    """
    slowest: dict[str, Asked] = {}

    async def one(game: Game, bot: Bot, watcher: Watcher) -> None:
        async with (
            housed(bot, level) as home,
            seated(bot, game, home.sandbox, 1, watcher) as seat,
        ):
            exam = Exam(seat)
            await exam.edges(game)
            lives = PROTOCOLS[bot.protocol].lives
            slowest[bot.name] = max(exam.asked[lives:] or exam.asked, key=lambda asked: asked.wall)

    async with a_watcher() as watcher, trio.open_nursery() as busy:
        for _ in os.sched_getaffinity(0):
            busy.start_soon(partial(trio.run_process, ["/bin/sh", "-c", "while :; do :; done"], check=False))
        async with trio.open_nursery() as nursery:
            for game, bot in exams:
                nursery.start_soon(one, game, bot, watcher)
        busy.cancel_scope.cancel()
    return [_loaded(bot, slowest[bot.name]) for _, bot in exams]


def _loaded(bot: Bot, asked: Asked) -> Line:
    words = f"slowest {milliseconds(asked.wall)} of {bot.limits.move:g} s"
    if asked.wall < NEAR * bot.limits.move and not isinstance(asked.answer, Fault):
        return Line("✓", bot.name, words)
    return Line("!", bot.name, words, "near its limit: let it think for less, or a busy machine may be too slow for it")


# What the report says.


def told(bot: Bot, game: Game, rules: Any, course: Course, level: str) -> Iterator[Line]:
    """Yield the lines of a report."""
    lives = PROTOCOLS[bot.protocol].lives
    if not course.asked or course.usage is None:
        yield Line("✗", "starts", "and is silent")
        return
    start = course.asked[0].wall if lives else median(asked.wall for asked in course.asked)
    started = not course.grave.keys() & {FaultKind.START}
    yield Line("✓" if started else "✗", "starts", milliseconds(start) + ("" if lives else ", for every question anew"))
    yield from _answers(course)
    yield from _edges(game, course)
    yield from _illegal(game, rules, course)
    if course.again:
        yield _repeatable(course)
    yield from _limits(bot, course.slowest(lives), course.usage.memory)
    complaint = REFUSED.search(harmless(course.stderr.decode(errors="replace")))
    if complaint:
        yield Line("!", "sandbox", f"level {level}; it complains: {complaint[0]}    note B037", HINTS["B037"])
    else:
        yield Line("✓" if level != "none" else "!", "sandbox", f"level {level}; it complains of nothing refused")


def _answers(course: Course) -> Iterator[Line]:
    moves = Counter(asked.answer.verb for asked in course.asked if isinstance(asked.answer, Move))
    many = "  ".join(f"{verb} {count}" for verb, count in moves.most_common())
    mark = "✗" if course.grave else "✓"
    yield Line(mark, f"{len(course.asked)} questions", f"{moves.total()} answers: {many}" if moves else "no answer")
    faults = Counter(asked.answer.kind for asked in course.asked if isinstance(asked.answer, Fault))
    for kind, count in faults.items():
        first = next(asked for asked in course.asked if isinstance(asked.answer, Fault) and asked.answer.kind == kind)
        at = f", first at: {first.edge}" if first.edge else ""
        cure = "" if kind in course.grave else "the rules say what it costs"
        yield Line("✗" if kind in course.grave else "!", str(kind), f"{count} of {len(course.asked)}{at}", cure)


def _edges(game: Game, course: Course) -> Iterator[Line]:
    passed = [asked.edge for asked in course.asked if asked.edge and isinstance(asked.answer, Move)]
    mark = "✓" if len(passed) == len(game.edges) else "✗" if course.grave else "!"
    words = f"{len(passed)} of {len(game.edges)}: "
    while passed and len(words) + len(passed[0]) < WIDTH:
        words += passed.pop(0) + " · "
    yield Line(mark, "edge cases", words.rstrip(" :·") + (" …" if passed else ""))


def _illegal(game: Game, rules: Any, course: Course) -> Iterator[Line]:
    illegal = [
        asked
        for asked in course.asked
        if isinstance(asked.answer, Move) and not game.allows(rules, asked.question.view, asked.answer)
    ]
    if illegal and isinstance(move := illegal[0].answer, Move):
        said = f"{move.verb} {move.n}" if move.n else move.verb
        question = PROTOCOLS["lines"].ask(illegal[0].question.view)[0].decode().strip()
        code = "B028" if move.verb == "PLAY" else "B026"
        words = f"{len(illegal)} of {len(course.asked)} moves, e.g. {said} to  {question}    note {code}"
        yield Line("!", "illegal", words, "the rules say what it costs: croupier explain " + code)


def _repeatable(course: Course) -> Line:
    pairs = list(zip(course.asked, course.again, strict=False))
    differ = [first for first, second in pairs if first.answer != second.answer]
    words = f"{len(pairs) - len(differ)} of {len(pairs)} the same twice"
    if not differ:
        return Line("✓", "repeatable", words)
    cure = "draw from CROUPIER_SEED, and from no clock or other chance: then its games can be played again"
    return Line("!", "repeatable", words, cure)


def _limits(bot: Bot, slowest: float, memory: int) -> Iterator[Line]:
    limits = bot.limits
    near = []
    if slowest > NEAR * limits.move:
        near.append("a slower or busier machine may be too slow for it: croupier check --all tries one under load")
    if memory > NEAR * limits.memory:
        near.append("heap in bot.toml bounds Java and SBCL; other programs must hold less")
    words = f"slowest {milliseconds(slowest)} of {limits.move:g} s"
    yield Line(
        *("!" if near else "✓", "limits"),
        f"{words} · {memory / MIB:.1f} MiB of {limits.memory // MIB} MiB",
        f"\n{'':20}".join(near),
    )
