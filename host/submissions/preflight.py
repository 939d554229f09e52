"""Builds, starts and asks every bot before the first table, so that a bot that cannot play never becomes a result."""

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import trio

from host.base.errors import HostFailure, Problem, UserError
from host.base.safe_text import escape_control_chars
from host.bots.bot_spec import BuiltBot, Submission
from host.bots.deadline import HostStall
from host.bots.monitor import running_monitor, unwrap_exception_group
from host.bots.seat import Seat, open_seat
from host.bots.state_file import bot_sandbox
from host.bots.values import Batch, Question
from host.games.engine import Game
from host.sandbox.detect import no_sandbox_here, require_clock
from host.sandbox.launch import why_no_sandbox
from host.sandbox.levels import Level
from host.sandbox.limits import A_DAY, Limits
from host.submissions.build import build
from host.submissions.diagnosis import SYMPTOMS, code_of, diagnose, hint_of
from protocols import PROTOCOLS
from protocols.wire import Answer, Fault, FaultKind, View

Prepared = TypeVar("Prepared")
"""The result of a step of a bot's preparation."""

ENDED_FAULTS = frozenset({FaultKind.START, FaultKind.CRASH, FaultKind.EXIT})
COMPARISON_TIME_S = 2.0  # time for the cold answers that are compared with warm ones
ENDS_CODE, DIFFERS_CODE = "B035", "B039"
MAX_ATTEMPTS = 3  # at each step of a bot's preparation, if a keeper dies or the machine stalls
NEVER_STARTS_CODES = [code for code, symptom in SYMPTOMS.items() if symptom.at_start]


async def prepare_bots(
    submissions: Sequence[Submission],
    game: Game,
    granted: Limits,
    level: Level,
    told: Callable[[str, float], None] = lambda _name, _seconds: None,
    warn: Callable[[str], None] | None = None,
) -> list[BuiltBot]:
    """Build and start the bots, one per core at a time, and return them in order.

    `granted` are the tournament's limits; a bot may request less. Call `told` with each bot's name and the seconds it
    took. If `warn` is given, accept a bot that starts but exits without an answer, and call `warn` with a warning: in a
    practice game this is a result like any other. Raise UserError with the problems of all bots, or of their clock.
    """
    require_clock(granted.clock, level)
    bots: dict[int, BuiltBot] = {}
    refusals: dict[int, UserError] = {}
    cores = trio.CapacityLimiter(len(os.sched_getaffinity(0)))

    async def one(number: int, submission: Submission) -> None:
        async with cores:
            began = time.monotonic()
            try:
                bot = await repeated(submission, level, build, submission.with_keys(game=game.name), level)
                bots[number] = bot = bot._replace(limits=granted.at_most(submission.limits))
                if problem := await repeated(submission, level, startup_problem, bot._replace(warm=()), game, level):
                    if warn is None or problem.code != ENDS_CODE:
                        raise UserError([problem], 4)
                    warn(f"WARNING  {problem.where}: {problem.message}")
                if bot.warm and (problem := await repeated(submission, level, warm_mismatch, bot, game, level)):
                    if submission.spec.warm:
                        raise UserError([problem], 4)
                    bots[number] = bot._replace(warm=())  # the warm start is a default; bot.toml does not request it
                told(submission.name, time.monotonic() - began)
            except UserError as refused:
                refusals[number] = refused

    async with trio.open_nursery() as nursery:
        for number, submission in enumerate(submissions):
            nursery.start_soon(one, number, submission)
    if refusals:
        problems = [problem for _, refused in sorted(refusals.items()) for problem in refused.problems]
        raise UserError(problems, max(refused.exit_code for refused in refusals.values()))
    return [bots[number] for number in range(len(submissions))]


async def repeated(
    submission: Submission, level: Level, step: Callable[..., Awaitable[Prepared]], *arguments: object
) -> Prepared:
    """Return the result of a step of a bot's preparation; repeat the step if a sandbox fails or the machine stalls.

    Raise UserError if it fails MAX_ATTEMPTS times: exit code 4 if only the sandbox of this bot fails, 6 if the machine
    cannot create a sandbox without a bot either.
    """
    reasons = []
    for _attempt in range(MAX_ATTEMPTS):
        try:
            with unwrap_exception_group():
                return await step(*arguments)
        except HostFailure as failed:
            reasons.append(str(failed))
    if reason := await why_no_sandbox(level):
        raise UserError([no_sandbox_here(level, reason)], 6)
    message = f"its sandbox fails: {escape_control_chars(reasons[-1])}"
    evidence = escape_control_chars("\n".join(dict.fromkeys(reasons[:-1])))
    raise UserError([Problem("B017", submission.name, message, evidence, "croupier doctor")], 4)


def ended_early(answer: Answer) -> bool:
    """Return whether a bot ended instead of answering."""
    return isinstance(answer, Fault) and answer.kind in ENDED_FAULTS


async def _ask(seat: Seat, question: Question) -> Answer:
    """Return the answer to one question; a timeout if the machine was too busy to measure the time."""
    try:
        (answer,) = await seat.ask(Batch([question]))
    except HostStall:
        return Fault(FaultKind.TIMEOUT)
    return answer


async def warm_mismatch(bot: BuiltBot, game: Game, level: Level) -> Problem | None:
    """Compare a bot's answers after a warm start and after a cold start. Return the problem if they differ, else None.

    If the answers after two cold starts also differ, compare only whether each answer is a move or a fault.
    """
    unwarmed = bot._replace(warm=())
    async with running_monitor() as watcher:

        async def answers(bot: BuiltBot, views: Sequence[View], patience: float) -> list[Answer]:
            said: list[Answer] = []
            until = time.monotonic() + patience
            async with bot_sandbox(bot, level) as home, open_seat(bot, game, home.sandbox, 1, watcher) as seat:
                for number, view in enumerate(views, 1):
                    table = (
                        number if bot.spec.lifetime == "fixture" else min(number, 2)
                    )  # a bot that lives for one table starts twice
                    said.append(await _ask(seat, Question(table, number, view)))
                    if time.monotonic() > until:
                        break
            return said

        views = [*game.edges.values()]
        cold = await answers(unwarmed, views, COMPARISON_TIME_S)
        del views[len(cold) :]
        warm = await answers(bot, views, A_DAY)
        if cold != warm and cold != await answers(unwarmed, views, A_DAY) and [*map(type, cold)] == [*map(type, warm)]:
            return None
    for view, before, now in zip(views, cold, warm, strict=True):
        if before != now:
            asked = b" ".join(PROTOCOLS[bot.spec.protocol].ask(view)).decode().strip()
            told = f"asked: {asked}\ncold: {_describe(before)}\nwarm: {_describe(now)}"
            message = "answers differently when it is forked from a warm interpreter"
            return Problem(
                DIFFERS_CODE, bot.name, message, told, "remove `warm = true` from its bot.toml, or from croupier.toml"
            )
    return None


def _describe(answer: Answer) -> str:
    return escape_control_chars(
        f"{answer.kind} {answer.detail}"
        if isinstance(answer, Fault)
        else f"{answer.verb} {answer.n} {answer.text}".rstrip()
    )


async def startup_problem(bot: BuiltBot, game: Game, level: Level) -> Problem | None:
    """Return the reason why a bot cannot play: it cannot be started, or it exits without an answer to any question.

    A bot that is slow, or whose answers are illegal or unreadable, may play: the rules define what that costs.
    """
    answers: list[Answer] = []
    async with (
        running_monitor() as watcher,
        bot_sandbox(bot, level) as home,
        open_seat(bot, game, home.sandbox, 1, watcher) as seat,
    ):
        for number, view in enumerate(game.examples[1:3] or game.examples, 1):
            answers.append(await _ask(seat, Question(number, 1, view)))
            if not ended_early(answers[-1]):
                break
    if not ended_early(answers[-1]):
        return None
    piece = seat.evidence[0]
    stderr = escape_control_chars(piece.stderr.decode(errors="replace")).strip()
    said = f"asked: {escape_control_chars(piece.question.decode())}" + (f"\n{stderr}" if stderr else "")
    if code_of(piece) in NEVER_STARTS_CODES:
        return diagnose(bot, game, piece)
    if piece.kind == FaultKind.START:
        return Problem("B018", bot.name, f"cannot be started: {piece.detail}", f"command: {' '.join(bot.argv)[:200]}")
    message, hint = f"{piece.ended} without an answer to any question", hint_of(code_of(piece), bot, game, piece)
    return Problem(ENDS_CODE, bot.name, message, said, hint)
