"""Checks a bot: builds it, starts it, asks it questions, and reports each finding with a suggested fix."""

from collections import Counter
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

import msgspec

from host.base.errors import Problem
from host.base.format import counted, duration
from host.base.safe_text import escape_control_chars
from host.base.toml_file import to_toml
from host.bots.bot_spec import BuiltBot, Submission, format_limit
from host.games.engine import Game
from host.sandbox.levels import Level
from host.sandbox.limits import MIB, Limits
from host.submissions.adapters import ADAPTERS, adapted, own_name
from host.submissions.build import build_log, format_step, protocol_of, reason_not_warm, steps_of
from host.submissions.conformance import AnswerSample, ConformanceResult
from host.submissions.diagnosis import ACCESS_DENIED, hint_of_denied_access
from host.submissions.examine import Findings, examine
from host.submissions.finding import Finding
from host.submissions.headline import Output
from protocols import PROTOCOLS
from protocols.wire import Fault, FaultKind, Move

WARNING_SHARE = 0.5  # of a limit; above it, the bot may exceed the limit on a slower or busier machine
MANY_QUESTIONS = 1000  # a bot that would reach its memory limit earlier gets a note
MAX_LINE_CHARS = 76  # of the text of a line
FAILS_BUT_PLAYS = "fails the check, but builds and starts: croupier add adds it, and the rules say what its faults cost"


class Report(NamedTuple):
    """The findings of `check` about one bot."""

    bot: str
    about: str
    place: str
    seconds: float
    lines: tuple[Finding, ...]
    problems: tuple[Problem, ...] = ()
    stderr: str = ""  # the error on the bot's standard error, or its last line
    playable: bool = False  # whether it builds and starts: then `croupier add` adds it, also if it is not accepted

    @property
    def accepted(self) -> bool:
        """Whether the bot passes the check."""
        return not self.problems

    def json(self) -> dict[str, Any]:
        """Return the report as JSON values, by key."""
        lines = [msgspec.structs.asdict(line) for line in self.lines]
        problems = [problem._asdict() for problem in self.problems]
        return self._asdict() | {"accepted": self.accepted, "lines": lines, "problems": problems}

    def text(self) -> Iterator[str]:
        """Yield the report as lines."""
        # A refused name may contain any character.
        head = escape_control_chars(f"{self.bot} · {self.about}").replace("\n", r"\n")
        yield f"{head:<70} {escape_control_chars(self.place)}".rstrip()
        yield from map(str, self.lines)
        yield from map(str, self.problems)
        notes = sum(line.mark == "!" for line in self.lines)
        words = "ready to play" if self.accepted else FAILS_BUT_PLAYS if self.playable else "not accepted"
        noted = f" · {counted(notes, 'note')}" if notes else ""
        yield f"{words}{noted} · {self.seconds:.1f} s"

    def remarks(self) -> list[str]:
        """Return the short form of the report: one text for each remark.

        First come the line about the questions and all notes and failed lines, in the order of the report. Then come
        the problems, and the standard error.
        """
        shown = [line for line in self.lines if line.mark != "✓" or line.what.endswith("questions")]
        codes = [f"✗ {problem.code}: {problem.message}" for problem in self.problems]
        debug = [f"! standard error: {self.stderr}"] if self.stderr else []
        return [escape_control_chars(" ".join(text.split())) for text in (*map(_in_short, shown), *codes, *debug)]


def _in_short(line: Finding) -> str:
    return f"{line.mark} {line.what}: {line.words}"


async def check_bot(
    submission: Submission,
    game: Game,
    level: Level,
    granted: Limits,
    rules: Any = None,
    place: str = "",
    built: Callable[[], None] = lambda: None,
) -> tuple[Report, Findings]:
    """Check a bot. Return the report and the findings from which it is made. The bot cannot make this function raise.

    Call `built` between the build and the questions. Raise UserError if the referee of the game does not build.
    """
    rules = rules or game.default_rules
    found = await examine(submission, game, granted, level, rules, built)
    return report_on(found, game, level, rules, place), found


def report_on(found: Findings, game: Game, level: Level, rules: Any, place: str = "") -> Report:
    """Return the report about the findings of an examination."""
    submission, answers = found.submission, found.answers
    adapter = ADAPTERS.get(submission.spec.adapter)
    protocol = adapter.protocol if adapter else protocol_of(submission)
    about = f"{submission.spec.language} · {protocol} · {game.name}" + (f" · adapter {adapter.name}" if adapter else "")
    problems = answers.problems if answers and answers.problems else found.refusals
    return Report(
        bot=submission.name,
        about=about,
        place=place,
        seconds=found.seconds,
        lines=tuple(report_lines(found, game, rules, level)),
        problems=problems,
        stderr=Output(answers.stderr).headline_or_last_line if answers else "",
        playable=found.bot is not None and not found.refusals,
    )


def load_line(bot: BuiltBot, asked: AnswerSample | None) -> Finding:
    """Return the line about `asked`, a bot's slowest answer on a busy machine; None means that there was no answer."""
    cure = "near its limit: compute less per move, or it may time out on a busy machine"
    if asked is None or isinstance(asked.answer, Fault):
        return Finding("!", bot.name, "no answer in time", cure)
    words, is_near = _slowest(bot.limits, asked.wall)
    return Finding("!", bot.name, words, cure) if is_near else Finding("✓", bot.name, words)


def _slowest(limits: Limits, wall: float) -> tuple[str, bool]:
    """Return a text about a bot's slowest answer, and whether its time is near the limit.

    `wall` is the time of the answer in seconds. It is near the limit above WARNING_SHARE of the time that the bot has.
    """
    words = f"slowest {duration(wall)} of {limits.per_move:g} s"
    if limits.bank.seconds:
        words += f" and its bank, {format_limit(limits.bank)}"
    return words, wall > WARNING_SHARE * (limits.per_move + limits.bank.seconds)


# The lines of a report.


def report_lines(found: Findings, game: Game, rules: Any, level: Level) -> Iterator[Finding]:
    """Yield the lines of the report about a bot, in order."""
    submission, bot = found.submission, found.bot
    if bot is None:
        yield Finding("✗", "builds", "no")
        return
    steps = steps_of(adapted(submission))
    command = format_step(steps[0])[:50] if steps else "nothing to build"
    yield Finding("✓", "builds", f"{command:<54} {found.build_seconds:.2f} s")
    if undefined := _undefined_function(bot):
        yield Finding("!", "compiler", undefined, "the bot will fail where it calls that function")
    if (own := own_name(submission)) and own != submission.name:
        yield Finding("!", "own name", f"it calls itself {own}", f"name = {to_toml(own)} in bot.toml shows that")
    if found.answers is not None:
        yield from _question_lines(bot, game, rules, found.answers, level)
    if not adapted(submission).spec.warm or found.answers is None or found.answers.problems:
        return
    if found.mismatch and submission.spec.warm:
        yield Finding("✗", "warm", "answers differ from a cold start")
    elif found.mismatch:
        yield Finding("!", "warm", "answers differ from a cold start, so it starts cold", found.mismatch.evidence)
    elif not bot.warm:
        yield Finding("!", "warm", f"starts cold: {reason_not_warm(submission)}")
    elif not found.refusals:
        yield Finding("✓", "warm", "same answers as after a cold start")


def _undefined_function(bot: BuiltBot) -> str:
    """Return the compiler's warning about an undefined function, from the build log; "" if there is none."""
    try:
        return Output(build_log(bot.sha256).read_bytes()).undefined_function
    except OSError:
        return ""


def _question_lines(
    bot: BuiltBot, game: Game, rules: Any, course: ConformanceResult, level: Level
) -> Iterator[Finding]:
    """Yield the lines about the questions of `check`."""
    lives = PROTOCOLS[bot.spec.protocol].persistent
    if not course.samples or course.usage is None:
        yield Finding("✗", "starts", "no answer")
        return
    start = course.samples[0].wall if lives else median(asked.wall for asked in course.samples)
    started = FaultKind.START not in course.fatal
    yield Finding("✓" if started else "✗", "starts", duration(start) + ("" if lives else ", once per question"))
    alone = {"bank": "a time bank" if bot.limits.bank.seconds else "", "retries": "retries" if bot.retries else ""}
    for key, what in alone.items():
        if what and bot.spec.parallel_tables > 1:
            no_effect = f"parallel_tables = {bot.spec.parallel_tables} has no effect"
            yield Finding("!", key, f"one table at a time: it has {what}, so {no_effect}")
    if course.retries:
        words = f"{counted(course.retries, 'answer')} could not be read; croupier asked again each time"
        yield Finding("!", "retries", words, "the reason is the member `refused` of the question")
    if bot.limits.retries and not bot.retries:
        yield Finding("!", "retries", f"none: over {bot.spec.protocol} croupier cannot say why it refuses an answer")
    yield from _answers(course)
    yield from _edges(game, course)
    yield from _illegal(game, rules, course)
    if course.repeated:
        yield _repeatable(course)
    yield _limits(bot, course.slowest(lives).wall, course.usage.memory)
    if course.growth * MANY_QUESTIONS > bot.limits.memory:
        left = max(bot.limits.memory - course.usage.memory, 0) / course.growth
        words = f"grows by {course.growth / MIB:.1f} MiB a question: at its limit after about {left:.0f} more"
        yield Finding("!", "memory", words, "free what only one question needs: a process answers many questions")
    complaint = ACCESS_DENIED.search(escape_control_chars(course.stderr.decode(errors="replace")))
    if complaint:
        yield Finding(
            "!",
            "sandbox",
            f"level {level.label}; the bot reports: {complaint[0]}    note B037",
            hint_of_denied_access(bot, course.stderr),
        )
    elif not level.traits.isolates:
        yield Finding(
            "!", "sandbox", "none: the bot was not restricted", "check it without --unsafe to test it as it will play"
        )
    else:
        yield Finding("✓", "sandbox", f"level {level.label}; no denied operations")


def _answers(course: ConformanceResult) -> Iterator[Finding]:
    moves = Counter(asked.answer.verb for asked in course.samples if isinstance(asked.answer, Move))
    many = "  ".join(f"{verb} {count}" for verb, count in moves.most_common())
    mark = "✗" if course.fatal else "✓"
    yield Finding(
        mark, f"{len(course.samples)} questions", f"{moves.total()} answers: {many}" if moves else "no answer"
    )
    faults = Counter(asked.answer.kind for asked in course.samples if isinstance(asked.answer, Fault))
    for kind, count in faults.items():
        first = next(asked for asked in course.samples if isinstance(asked.answer, Fault) and asked.answer.kind == kind)
        at = f", first at: {first.edge}" if first.edge else ""
        cure = "" if kind in course.fatal else "the rules define the penalty"
        yield Finding("✗" if kind in course.fatal else "!", str(kind), f"{count} of {len(course.samples)}{at}", cure)


def _edges(game: Game, course: ConformanceResult) -> Iterator[Finding]:
    passed = [asked.edge for asked in course.samples if asked.edge and isinstance(asked.answer, Move)]
    mark = "✓" if len(passed) == len(game.edges) else "✗" if course.fatal else "!"
    words = f"{len(passed)} of {len(game.edges)}: "
    while passed and len(words) + len(passed[0]) < MAX_LINE_CHARS:
        words += passed.pop(0) + " · "
    yield Finding(mark, "edge cases", words.rstrip(" :·") + (" …" if passed else ""))


def _illegal(game: Game, rules: Any, course: ConformanceResult) -> Iterator[Finding]:
    illegal = [
        asked
        for asked in course.samples
        if isinstance(asked.answer, Move) and not game.allows(rules, asked.question.view, asked.answer)
    ]
    if illegal and isinstance(move := illegal[0].answer, Move):
        question = PROTOCOLS["lines"].encode(illegal[0].question.view).decode().strip()
        code = game.illegal_codes.get(move.verb, "B026")
        words = f"{len(illegal)} of {len(course.samples)} moves; the rules define the penalty    note {code}"
        yield Finding("!", "illegal", words, f"{move} to  {question}")


def _repeatable(course: ConformanceResult) -> Finding:
    pairs = list(zip(course.samples, course.repeated, strict=False))
    differ = [first for first, second in pairs if first.answer != second.answer]
    words = f"{len(pairs) - len(differ)} of {len(pairs)} answers equal in a second run"
    if not differ:
        return Finding("✓", "repeatable", words)
    cure = "take randomness only from CROUPIER_SEED, not from the clock: then its games can be repeated"
    return Finding("!", "repeatable", words, cure)


def _limits(bot: BuiltBot, slowest: float, memory: int) -> Finding:
    limits = bot.limits
    near = []
    words, is_near = _slowest(limits, slowest)
    if is_near:
        near.append("it may time out on a slower or busier machine: croupier check --all tests it under load")
    if memory > WARNING_SHARE * limits.memory:
        near.append("heap in bot.toml limits Java and SBCL; other programs must use less memory")
    words += f" · {memory / MIB:.1f} MiB of {format_limit(limits.memory)}"
    return Finding("!" if near else "✓", "limits", words, " · ".join(near))
