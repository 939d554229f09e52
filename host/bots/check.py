"""Is a bot accepted, and if not, why not: built, started, asked the edges of the rules, and asked again."""

import time
from collections import Counter
from itertools import cycle, islice
from typing import Any, NamedTuple

import trio

from host.bots.build import build, harmless
from host.bots.limits import Limits
from host.bots.sandboxes import Home, KeeperDied, sandboxed
from host.bots.seat import seated
from host.bots.spec import Spec
from host.bots.told import Question
from host.bots.watch import Watcher
from host.games.engine import Game
from host.problems import Problem, Refused
from protocols.words import Answer, Fault, FaultKind

QUESTIONS = 40
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
            from pathlib import Path

            async with sandboxed(level, Home(Path(bot.folder)), bot.limits) as sandbox:
                first: list[Answer] = []
                async with seated(bot, game, sandbox, 1, watcher) as seat:
                    for question in questions:
                        first += await seat.decide([question])
                async with seated(bot, game, sandbox, 1, watcher) as again:
                    second: list[Answer] = []
                    for question in questions[: len(game.examples)]:
                        second += await again.decide([question])
            nursery.cancel_scope.cancel()
    except (KeeperDied, ExceptionGroup) as failed:
        return report(False, Problem("B017", spec.name, f"no sandbox can be made for it: {harmless(str(failed))}"))

    usage = seat.usage()
    rules: Any = next(iter(game.presets.values()))
    illegal = [
        (question, answer)
        for question, answer in zip(questions, first, strict=True)
        if not isinstance(answer, Fault) and not game.allows(rules, question.view, answer)
    ]
    faults = Counter(answer.kind for answer in first if isinstance(answer, Fault))
    moves = Counter(answer.verb for answer in first if not isinstance(answer, Fault))
    grave = {kind: count for kind, count in faults.items() if kind not in TOLERATED}
    said = "  ".join(f"{verb} {count}" for verb, count in moves.most_common())
    lines.append(Line("✗" if grave else "✓", f"{QUESTIONS} questions", f"{moves.total()} answers: {said}"))
    for kind, count in faults.items():
        lines.append(Line("✗" if kind in grave else "!", str(kind), f"{count} of {QUESTIONS}"))
    if illegal:
        shown = b" ".join(seat.asked(illegal[0][0].view)).decode()
        lines.append(
            Line(
                "!", "illegal", f"{len(illegal)} of {QUESTIONS} moves are not allowed, e.g. {illegal[0][1]} to {shown}"
            )
        )
    same = sum(one == two for one, two in zip(first, second, strict=False))
    if not grave:
        mark = "✓" if same == len(second) else "!"
        lines.append(Line(mark, "repeatable", f"{same} of {len(second)} the same twice"))
    slowest = f"slowest {usage.slowest * 1000:.1f} ms of {bot.limits.move * 1000:.0f} ms"
    lines.append(
        Line("✓", "limits", f"{slowest} · {usage.memory / (1 << 20):.1f} MiB of {bot.limits.memory >> 20} MiB")
    )
    lines.append(Line("✓" if level != "none" else "!", "sandbox", f"level {level}"))
    problems = [
        Problem(
            CODES.get(piece.kind, "B030"),
            spec.name,
            f"{piece.kind} after {piece.wall * 1000:.1f} ms: {piece.ended or 'the process lives'}",
            f"asked: {harmless(piece.question.decode(errors='replace'))}\n"
            f"wrote: {harmless(piece.raw.decode(errors='replace'))[:200]!r}"
            + "".join(
                f"\nstderr: {line[:200]}" for line in harmless(piece.stderr.decode(errors="replace")).splitlines()[-5:]
            ),
            HINTS.get(piece.kind, f"expected one of  {game.grammar.expected}"),
        )
        for kind in grave
        for piece in [next(piece for piece in seat.evidence if piece.kind == kind)]
    ]
    return report(not grave, *problems)


CODES = {
    "timeout": "B031", "cpu": "B032", "memory": "B033", "crash": "B034", "exit": "B035", "flood": "B038",
    "extra": "B022", "unreadable": "B023", "early": "B024", "start": "B018",
}  # fmt: skip
HINTS = {
    "timeout": "does it flush?  C: fflush(stdout) · Java: out.flush() · Python: print(…, flush=True) · Lisp: (finish-output)",
    "cpu": "it computes too long for one move",
    "memory": "it needs more memory than it may have",
    "early": "it must not speak before it is asked",
    "extra": "one line an answer; debug text belongs to stderr",
}
