"""Is a bot accepted, and if not, why not: built, started, asked the edges of the rules, and asked again."""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import trio

from host.bots.build import build, harmless
from host.bots.limits import Limits
from host.bots.sandboxes import Home, KeeperDied, sandboxed
from host.bots.seat import Seat, seated
from host.bots.spec import Spec
from host.bots.told import Evidence, Question
from host.bots.watch import Watcher
from host.games.engine import Game
from host.problems import Problem, Refused
from protocols.words import Answer, Fault, FaultKind, spell_all

QUESTIONS = 40
GIVEN_UP_AFTER = 5  # faults for which it is not accepted
TOLERATED = frozenset({FaultKind.ILLEGAL, FaultKind.EXCEPTION})
"""What is a note and no refusal: the rules say what an illegal move costs, an adapter's exception leaves its process."""


class Line(NamedTuple):
    """One line of a report: passed (✓), worth a note (!) or failed (✗)."""

    mark: str
    what: str
    words: str


class Report(NamedTuple):
    """What was found out about one bot."""

    bot: str
    about: str
    accepted: bool
    seconds: float
    lines: tuple[Line, ...]
    problems: tuple[Problem, ...] = ()

    def text(self) -> str:
        """Return the report for people."""
        shown = [f"{harmless(self.bot)} · {self.about}"]
        shown += [f"  {line.mark} {line.what:<15} {line.words}" for line in self.lines]
        shown += [str(problem) for problem in self.problems]
        notes = sum(line.mark == "!" for line in self.lines)
        words = "ready to play" if self.accepted else "not accepted"
        noted = f" · {notes} note{'s' if notes > 1 else ''}" if notes else ""
        return "\n".join([*shown, f"{words}{noted} · {self.seconds:.1f} s"])


async def checked(spec: Spec, game: Game, level: str, limits: Limits | None = None) -> Report:
    """Return what a bot makes of the edges of the rules; never raise for what a bot does."""
    began = time.monotonic()
    lines: list[Line] = []
    about = f"{spec.language} · {spec.protocol or game.protocol} · {game.name}"

    def report(accepted: bool, *problems: Problem) -> Report:
        return Report(spec.name, about, accepted, time.monotonic() - began, tuple(lines), problems)

    try:
        bot = await build(spec._replace(game=game.name), level)
    except Refused as refused:
        lines.append(Line("✗", "builds", "no"))
        return report(False, *refused.problems)
    lines.append(Line("✓", "builds", f"{time.monotonic() - began:.2f} s"))
    bot = bot._replace(limits=(limits or Limits()).at_most(spec.limits))
    questions = [Question(number, 1, view) for number, view in enumerate(islice(cycle(game.examples), QUESTIONS), 1)]
    watcher = Watcher()
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watcher.run)
            async with sandboxed(level, Home(Path(bot.folder)), bot.limits) as sandbox:
                async with seated(bot, game, sandbox, 1, watcher) as seat:
                    first = await _asked(seat, questions)
                async with seated(bot, game, sandbox, 1, watcher) as again:
                    second = [] if _grave(first) else await _asked(again, questions[: len(game.examples)])
            nursery.cancel_scope.cancel()
    except (KeeperDied, ExceptionGroup) as failed:
        return report(False, Problem("B017", spec.name, f"no sandbox can be made for it: {harmless(str(failed))}"))

    usage = seat.usage()
    rules: Any = next(iter(game.presets.values()))
    illegal = [
        (question, answer)
        for question, answer in zip(questions, first, strict=False)
        if not isinstance(answer, Fault) and not game.allows(rules, question.view, answer)
    ]
    faults = Counter(answer.kind for answer in first if isinstance(answer, Fault))
    moves = Counter(answer.verb for answer in first if not isinstance(answer, Fault))
    grave = _grave(first)
    said = "  ".join(f"{verb} {count}" for verb, count in moves.most_common())
    lines.append(Line("✗" if grave else "✓", f"{len(first)} questions", f"{moves.total()} answers: {said}"))
    for kind, count in faults.items():
        lines.append(Line("✗" if kind in grave else "!", str(kind), f"{count} of {len(first)}"))
    if illegal:
        question, move = illegal[0]
        code = "B028" if move.verb == "PLAY" else "B026"
        said = f"{move.verb} {move.n}" if move.n else move.verb
        shown = f"{said} to {spell_all((question.view,)).decode().strip()}"
        lines.append(Line("!", "illegal", f"{len(illegal)} of {len(first)} moves, e.g. {shown}    note {code}"))
    same = sum(one == two for one, two in zip(first, second, strict=False))
    if not grave:
        mark = "✓" if same == len(second) else "!"
        lines.append(Line(mark, "repeatable", f"{same} of {len(second)} the same twice"))
    slowest = f"slowest {usage.slowest * 1000:.1f} ms of {bot.limits.move * 1000:.0f} ms"
    lines.append(
        Line("✓", "limits", f"{slowest} · {usage.memory / (1 << 20):.1f} MiB of {bot.limits.memory >> 20} MiB")
    )
    lines.append(Line("✓" if level != "none" else "!", "sandbox", f"level {level}"))
    return report(not grave, *(problem_of(spec.name, game, piece) for piece in first_of_each(seat.evidence, grave)))


async def _asked(seat: Seat, questions: Sequence[Question]) -> list[Answer]:
    """Return the answers to questions, one after another; no more are asked of a bot that fails again and again."""
    answers: list[Answer] = []
    for question in questions:
        answers += await seat.decide([question])
        if _grave(answers).total() >= GIVEN_UP_AFTER:
            break
    return answers


def _grave(answers: Sequence[Answer]) -> Counter[FaultKind]:
    """Return the faults for which a bot is not accepted, counted."""
    return Counter(answer.kind for answer in answers if isinstance(answer, Fault) and answer.kind not in TOLERATED)


def first_of_each(evidence: Sequence[Evidence], kinds: Iterable[str]) -> list[Evidence]:
    """Return the first piece of evidence of each kind of fault that has left any."""
    pieces = {piece.kind: piece for piece in reversed(evidence)}
    return [pieces[kind] for kind in kinds if kind in pieces]


def problem_of(name: str, game: Game, piece: Evidence) -> Problem:
    """Return what a fault is, with the question, the answer and the last words of standard error."""
    stderr = harmless(piece.stderr.decode(errors="replace"))
    shown = [
        f"asked: {harmless(piece.question.decode(errors='replace'))}",
        f"wrote: {harmless(piece.raw.decode(errors='replace'))[:200]!r}",
        *(f"stderr: {line[:200]}" for line in stderr.splitlines()[-5:]),
    ]
    code = CODES.get(piece.kind, "B030")
    if piece.kind == FaultKind.TIMEOUT and piece.raw and not piece.raw.endswith(b"\n"):
        code = "B025"
    elif piece.kind in (FaultKind.EXIT, FaultKind.CRASH) and re.search("debugger", stderr, re.IGNORECASE):
        code = "B036"
    message = f"{piece.kind} after {piece.wall * 1000:.1f} ms: {piece.ended or 'the process lives'}"
    hint = HINTS.get(code, f"expected  {game.grammar.expected}")
    return Problem(code, name, message, "\n".join(shown), hint)


CODES = {
    "timeout": "B031", "cpu": "B032", "memory": "B033", "crash": "B034", "exit": "B035", "flood": "B038",
    "extra": "B022", "unreadable": "B023", "early": "B024", "start": "B018",
}  # fmt: skip
FLUSHES = "C: fflush(stdout) · Java: out.flush() · Python: print(…, flush=True) · Lisp: (finish-output)"
HINTS = {
    "B018": "does it need a file or a library that is not in its folder?",
    "B022": "one line an answer; debug text belongs to stderr",
    "B024": "it must not speak before it is asked",
    "B025": "the answer ends with a line end, and is flushed",
    "B031": f"does it flush?  {FLUSHES}",
    "B032": "it computes too long for one move",
    "B033": "it needs more memory than it may have",
    "B034": "croupier errors shows the rest; build with -g and run the question by hand",
    "B035": "a bot answers before it exits; one that lives on reads until its input ends",
    "B036": "sbcl --script, or --disable-debugger (the preset does it)",
    "B038": "an answer is one short line; remarks belong to stderr",
}
