"""Lets Python functions sit at tables: in this process, beside bots in their sandboxes."""

import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import trio

from host.base.errors import Problem, UserError
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.function_process import AnswerAll
from host.bots.monitor import Monitor
from host.bots.values import HasQuestion, Question
from host.games.engine import Game
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.match import MAX_PARALLEL_TABLES
from host.play.records import Record
from host.submissions.check import Report
from host.submissions.finding import Finding
from protocols.wire import Fault, Move, read_text

Player = Callable[[Any], str]
"""A bot as a Python function: it is shown the view of its seat, and returns its answer as text, for example `"PLAY 3"`."""

LANGUAGE = "function"


def function_bots(players: Sequence[Player], taken: Collection[str]) -> list[tuple[BuiltBot, Player]]:
    """Return functions as bots. A name that is taken, by a bot or an earlier function, gets a number: `mine`, `mine#2`."""
    names: list[str] = []
    for player in players:
        plain = getattr(player, "__name__", type(player).__name__)
        plain = plain if plain.isidentifier() else LANGUAGE  # that of a lambda is not
        numbered = (plain if number == 1 else f"{plain}#{number}" for number in count(1))
        names.append(next(name for name in numbered if name not in taken and name not in names))
    spec = BotSpec(language=LANGUAGE, protocol="lines", parallel_tables=MAX_PARALLEL_TABLES)
    return [
        (BuiltBot(replace(spec, name=name), argv=(), folder="", sha256=""), player)
        for name, player in zip(names, players, strict=True)
    ]


def answer_all(name: str, player: Player, game: Game) -> AnswerAll:
    """Return what asks a function for its moves. An answer that is no answer of the game raises UserError."""

    async def answers(questions: Sequence[HasQuestion]) -> list[Move]:
        return [_move(name, player, question, game) for question in questions]

    return answers


def _move(name: str, player: Player, question: HasQuestion, game: Game) -> Move:
    text = player(question.view)
    answer = read_text(game.grammar, text) if isinstance(text, str) else None
    if answer is None or isinstance(answer, Fault):
        message = f"{text!r} is not an answer of {game.name} (question {question.number} at table {question.table})"
        raise UserError([Problem("U001", name, message, hint=f"return {game.grammar.expected} as a text")], 2)
    return answer


def check_function(player: Player, game: Game, began: float) -> Report:
    """Return the report about a function: whether it answers the edge cases of a game with legal moves."""
    ((bot, _),) = function_bots([player], ())
    rules, problems, illegal = next(iter(game.presets.values())), list[Problem](), list[str]()
    for number, (edge, view) in enumerate(game.edges.items(), 1):
        try:
            move = _move(bot.name, player, Question(1, number, view), game)
        except UserError as refused:
            problems += [problem._replace(message=f"{edge}: {problem.message}") for problem in refused.problems]
        else:
            illegal += [] if game.allows(rules, view, move) else [edge]
    lines = [Finding("!", "rules", f"an illegal move at {edge}") for edge in illegal]
    asked = Finding(
        "✗" if problems else "✓", f"{len(game.edges)} questions", f"{len(game.edges) - len(problems)} answered"
    )
    return Report(
        bot=bot.name,
        about=f"{LANGUAGE} · {game.name}",
        place="this process",
        accepted=not problems,
        seconds=time.monotonic() - began,
        lines=(asked, *lines),
        problems=tuple(problems),
        playable=not problems,
    )


class InProcessPool:
    """Plays fixtures one after the other in this process."""

    description, count = "this process", 1

    def __init__(self, pool: BotPool) -> None:
        self._pool, self._records = pool, deque[Record]()

    async def submit(self, job: Job) -> None:
        """Play a fixture."""
        self._records.append(await self._pool.play(job))

    @property
    def has_result(self) -> bool:
        """Whether a fixture has ended, so that `next_result` returns at once."""
        return bool(self._records)

    async def next_result(self) -> Record:
        """Return the record of the fixture that has ended first."""
        return self._records.popleft()


@contextlib.asynccontextmanager
async def _in_this_process(
    functions: Mapping[str, AnswerAll], setup: WorkerSetup, _on_lost: Callable[[str], None], _workers: int
) -> AsyncIterator[InProcessPool]:
    async with trio.open_nursery() as nursery, contextlib.AsyncExitStack() as stack:
        monitor = Monitor(pondering=setup.pondering, logs=setup.logs)
        nursery.start_soon(monitor.run)
        yield InProcessPool(BotPool(setup, stack, monitor, functions=functions))
        await stack.aclose()
        nursery.cancel_scope.cancel()


def executor_of(functions: Sequence[tuple[BuiltBot, Player]], game: Game, usual: Any) -> Any:
    """Return the executor that asks these functions, and plays the other bots in sandboxes of this process.

    Without functions, return the usual one.
    """
    answers = {bot.name: answer_all(bot.name, player, game) for bot, player in functions}
    return partial(_in_this_process, answers) if answers else usual
