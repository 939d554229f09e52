"""Examines bots before the first table, so that a bot that cannot play never gets a result."""

import os
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import trio

from host.base.errors import HostFailure, Problem, UserError
from host.bots.bot_spec import BuiltBot, Submission
from host.bots.clock import HostStall, ModelUnreachable
from host.bots.monitor import unwrap_exception_group
from host.games.engine import Game
from host.rules.catalogue import ref_of
from host.sandbox.detect import no_sandbox_here
from host.sandbox.launch import why_no_sandbox
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.submissions.build import build
from host.submissions.conformance import ConformanceResult, run_conformance, startup_problem, warm_mismatch
from host.submissions.diagnosis import ENDS_CODE, sandbox_failure
from host.submissions.empty_start import empty_start

Prepared = TypeVar("Prepared")
"""The result of a step of a bot's preparation."""

MAX_ATTEMPTS = 3  # at each step of a bot's preparation, if a keeper dies or the machine stalls


class Findings(NamedTuple):
    """The findings about one bot. It can play if `refusals` is empty. `check` also requires that it answers well."""

    submission: Submission
    bot: BuiltBot | None  # as it plays; None if it does not build
    build_seconds: float
    seconds: float  # of the whole examination
    answers: ConformanceResult | None  # to the questions of `check`; None if they were not asked
    refusals: tuple[Problem, ...]  # why it cannot play
    exit_code: int  # of the refusals
    mismatch: Problem | None  # the difference that a warm start makes

    def playable(self) -> BuiltBot:
        """Return the bot. Raise UserError if it cannot play."""
        if self.refusals or self.bot is None:
            raise UserError([*self.refusals], self.exit_code)
        return self.bot


async def examine(
    submission: Submission,
    game: Game,
    granted: Limits,
    level: Level,
    rules: Any = None,
    built: Callable[[], None] = lambda: None,
) -> Findings:
    """Build a bot, start it, and return the findings. Call `built` after the build.

    If rules are given, also ask it the questions of `check`, at tables with these rules.

    The bot cannot make this function raise. Raise UserError if the referee of the game does not build.
    """
    began = time.monotonic()
    submission = submission.for_game(game)
    if rules is not None:
        game = await _with_referee(game, level)
    bot = answers = mismatch = None
    refusals: list[Problem] = []
    exit_code, build_seconds = 4, 0.0
    try:
        bot = await repeated(submission, level, build, submission, level)
        bot = bot._replace(limits=granted.at_most(submission.limits))
        build_seconds = time.monotonic() - began
        built()
        if rules is not None:
            answers = await repeated(submission, level, run_conformance, bot, game, rules, level)
        faulty = answers is not None and bool(answers.problems)
        if answers is None or faulty:
            problem = await repeated(submission, level, startup_problem, bot._replace(warm=()), game, level)
            refusals += [problem] if problem else []
        if not refusals:
            bot = bot._replace(empty_start=await empty_start(bot, level))
        if bot.warm and not faulty and not refusals:
            mismatch = await repeated(submission, level, warm_mismatch, bot, game, level)
    except UserError as refused:
        refusals, exit_code = refused.problems, refused.exit_code
    if mismatch and submission.spec.warm:
        refusals.append(mismatch)
    elif mismatch and bot:
        bot = bot._replace(warm=())  # the warm start is a default; bot.toml does not request it
    seconds = time.monotonic() - began
    return Findings(submission, bot, build_seconds, seconds, answers, tuple(refusals), exit_code, mismatch)


async def _with_referee(game: Game, level: Level) -> Game:
    """Return a game with its referee built; a game without a referee is returned unchanged."""
    if not ref_of(game).has_referee:
        return game
    from host.submissions.referees import prepare_referee  # only these games need it

    return await prepare_referee(game, level)


class Ready(NamedTuple):
    """Bots that are ready to play, in the order of their submissions, and their game, with its referee built."""

    game: Game
    bots: Sequence[BuiltBot]


async def prepare_bots(
    submissions: Sequence[Submission],
    game: Game,
    granted: Limits,
    level: Level,
    prepared: Callable[[str, float], None] = lambda _name, _seconds: None,
    warn: Callable[[str], None] | None = None,
) -> Ready:
    """Build and start the bots, as many at the same time as there are cores. Return them with their game.

    First build the game's referee, if it has one.

    `granted` are the tournament's limits; a bot may request less. Call `prepared` with each bot's name and the seconds it
    took. If `warn` is given, accept a bot that starts but exits without an answer, and call `warn` with a warning: in a
    practice game this is a normal result. Raise UserError with the problems of all bots.
    """
    game = await _with_referee(game, level)
    findings: dict[int, Findings] = {}
    cores = trio.CapacityLimiter(len(os.sched_getaffinity(0)))

    async def one(number: int, submission: Submission) -> None:
        async with cores:
            found = await examine(submission, game, granted, level)
            if warn is not None and [problem.code for problem in found.refusals] == [ENDS_CODE]:
                (problem,) = found.refusals
                warn(f"WARNING  {problem.where}: {problem.message}")
                found = found._replace(refusals=())
            if not found.refusals:
                prepared(submission.name, found.seconds)
            findings[number] = found

    async with trio.open_nursery() as nursery:
        for number, submission in enumerate(submissions):
            nursery.start_soon(one, number, submission)
    ordered = [findings[number] for number in range(len(submissions))]
    if problems := [problem for found in ordered for problem in found.refusals]:
        raise UserError(problems, max(found.exit_code for found in ordered if found.refusals))
    return Ready(game, [found.playable() for found in ordered])


async def repeated(
    submission: Submission, level: Level, step: Callable[..., Awaitable[Prepared]], *arguments: object
) -> Prepared:
    """Return the result of a step of a bot's preparation; repeat the step if a sandbox fails or the machine stalls.

    Raise UserError if it fails MAX_ATTEMPTS times: exit code 4 if only the sandbox of this bot fails, 6 if the machine
    stalls, or cannot create a sandbox without a bot either. Do not repeat it if a language model cannot be reached:
    raise UserError (exit code 6) immediately.
    """
    reasons, exit_code = [], 4
    for _attempt in range(MAX_ATTEMPTS):
        try:
            with unwrap_exception_group():
                return await step(*arguments)
        except ModelUnreachable as silent:
            hint = "croupier did not charge the bot: try again, or correct [models] in croupier.toml"
            raise UserError([Problem("S020", submission.name, str(silent), hint=hint)], 6) from silent
        except HostFailure as failed:
            reasons.append(str(failed))
            exit_code = 6 if isinstance(failed, HostStall) else 4
    if reason := await why_no_sandbox(level):
        raise UserError([no_sandbox_here(level, reason)], 6)
    raise UserError([sandbox_failure(submission.name, reasons)], exit_code)
