"""Lets Python functions sit at tables: in this process, beside bots in their sandboxes."""

import asyncio
import contextlib
import inspect
import math
import reprlib
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import trio

from croupier.session import session
from host.base.errors import Problem
from host.bots.bot_spec import BotSpec, BuiltBot
from host.bots.function_process import AnswerAll, Returned
from host.bots.monitor import Monitor
from host.bots.values import RAW_BYTES, HasQuestion, Question
from host.games.engine import Game
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.match import MAX_PARALLEL_TABLES
from host.play.records import Record
from host.submissions.check import Report
from host.submissions.finding import Finding
from protocols.wire import Fault, FaultKind, read_move

Player = Callable[[Any], str | Awaitable[str]]
"""A bot as a Python function: it gets the view of its seat, and returns its answer as text, for example `"PLAY 3"`."""

LANGUAGE = "function"
SHOWN = reprlib.Repr()  # spells a value that a function returns, even if the `repr` of the value fails
SHOWN.maxstring = SHOWN.maxother = 200
FIXTURES_AT_ONCE = 16
"""Fixtures that are played at the same time if an async function plays. Each has one table, or those that share a deal."""


def function_bots(players: Sequence[Player], taken: Collection[str]) -> list[tuple[BuiltBot, Player]]:
    """Return each function with the bot that it plays, in the order of `players`.

    The bot has the name of the function. A name that another bot or an earlier function has gets a number: `mine`,
    `mine#2`.
    """
    names: list[str] = []
    for player in players:
        plain = getattr(player, "__name__", type(player).__name__)
        plain = plain if plain.isidentifier() else LANGUAGE  # that of a lambda is not
        numbered = (plain if number == 1 else f"{plain}#{number}" for number in count(1))
        names.append(next(name for name in numbered if name not in taken and name not in names))
    found = list[tuple[BuiltBot, Player]]()
    for name, player in zip(names, players, strict=True):
        tables = 1 if is_async(player) else MAX_PARALLEL_TABLES
        spec = BotSpec(language=LANGUAGE, protocol="lines", name=name, parallel_tables=tables)
        found.append((BuiltBot(spec, argv=(), folder="", sha256=""), player))
    return found


def is_async(player: Player) -> bool:
    """Return whether a function is declared `async`, or is an object whose `__call__` is."""
    return inspect.iscoroutinefunction(player) or inspect.iscoroutinefunction(getattr(player, "__call__", None))  # noqa: B004


def answer_all(name: str, player: Player, game: Game) -> AnswerAll:
    """Return a function that asks a player some questions and returns its answers, in order.

    It prints the reason for the first fault of the player to standard error, and no other.
    """
    has_printed = False

    async def answers(questions: Sequence[HasQuestion]) -> list[Returned]:
        nonlocal has_printed
        all_returned = await _ask(player, questions, game)
        for question, returned in zip(questions, all_returned, strict=True):
            if returned.stderr and not has_printed:
                has_printed = True
                where = f"{name}, question {question.number} at table {question.table}"
                print(
                    f"{where} (croupier prints no other fault of it):\n{returned.stderr.decode(errors='replace')}",
                    file=sys.stderr,
                )
        return all_returned

    return answers


async def _ask(player: Player, questions: Sequence[HasQuestion], game: Game) -> list[Returned]:
    """Ask a player some questions, and return its answers in order. An async function is asked all at the same time."""
    if is_async(player):
        awaited = session().in_event_loop(_all_awaited([_awaited(player, question.view) for question in questions]))
        return [_read(value, game) for value in await awaited]
    return [_read(_called(player, question.view), game) for question in questions]


def _called(player: Player, view: Any) -> object:
    """Call a function. Return its result, or the exception that it raises."""
    try:
        return player(view)
    except Exception as raised:  # whatever it is, it is the function's fault
        return raised


async def _awaited(player: Any, view: Any) -> object:
    """Await an async function. Return its result, or the exception that it raises."""
    try:
        return await player(view)
    except (Exception, SystemExit, KeyboardInterrupt) as raised:  # the last two would end the event loop
        return raised


async def _all_awaited(work: Sequence[Awaitable[object]]) -> list[object]:
    """Await all at the same time. Return their results in order, with a CancelledError for one that cancels itself."""
    return await asyncio.gather(*work, return_exceptions=True)


def _read(value: object, game: Game) -> Returned:
    """Return the answer in the result of a function. If the result is an exception that it raised, the answer is a fault.

    Raise SystemExit or KeyboardInterrupt if the result is one of these.
    """
    if isinstance(value, SystemExit | KeyboardInterrupt):
        raise value
    if isinstance(value, BaseException):
        raw, trace = f"! {type(value).__name__}".encode(errors="replace"), "".join(traceback.format_exception(value))
        return Returned(read_move(game.grammar, raw), raw, trace.encode(errors="replace")[-RAW_BYTES:])
    shown = SHOWN.repr(value)
    raw = (value if isinstance(value, str) else shown).encode(errors="replace")
    answer = read_move(game.grammar, raw) if isinstance(value, str) else Fault(FaultKind.UNREADABLE)
    if not isinstance(answer, Fault):
        return Returned(answer, raw)
    why = f"{shown} is not an answer of {game.name}: return {game.grammar.expected} as a text"
    return Returned(answer, raw[:RAW_BYTES], why.encode(errors="replace"))


async def check_function(player: Player, game: Game, began: float) -> Report:
    """Return the report about a function that was asked the edge cases of a game.

    A fault is a problem, and an illegal move a note. `began` is the moment from which the seconds count.
    """
    ((bot, _),) = function_bots([player], ())
    rules, problems, illegal = game.default_rules, list[Problem](), list[str]()
    for number, (edge, view) in enumerate(game.edges.items(), 1):
        (returned,) = await _ask(player, [Question(1, number, view)], game)
        if isinstance(returned.answer, Fault):
            why = returned.stderr.decode(errors="replace").splitlines()[-1]
            problems.append(Problem("U001", bot.name, f"{edge}: {why}"))
        else:
            illegal += [] if game.allows(rules, view, returned.answer) else [edge]
    lines = [Finding("!", "rules", f"an illegal move at {edge}") for edge in illegal]
    asked = Finding(
        "✗" if problems else "✓", f"{len(game.edges)} questions", f"{len(game.edges) - len(problems)} answered"
    )
    return Report(
        bot=bot.name,
        about=f"{LANGUAGE} · {game.name}",
        place="this process",
        seconds=time.monotonic() - began,
        lines=(asked, *lines),
        problems=tuple(problems),
        playable=not problems,
    )


class InProcessPool:
    """Plays fixtures in this process: `count` at the same time, each with separate sandboxes."""

    description = "this process"

    def __init__(self, count: int) -> None:
        self.count = count
        self.jobs, self._waiting = trio.open_memory_channel[Job](0)
        self._played, self._records = trio.open_memory_channel[Record](math.inf)

    async def submit(self, job: Job) -> None:
        """Wait until a task is free, and hand the fixture to it."""
        await self.jobs.send(job)

    async def work(self, setup: WorkerSetup, monitor: Monitor, functions: Mapping[str, AnswerAll]) -> None:
        """Play fixtures, one after the other, until `jobs` is closed."""
        async with contextlib.AsyncExitStack() as stack:
            pool = BotPool(setup, stack, monitor, functions=functions)
            async for job in self._waiting:
                self._played.send_nowait(await pool.play(job))

    @property
    def has_result(self) -> bool:
        """Whether a fixture has ended, so that `next_result` returns immediately."""
        return self._records.statistics().current_buffer_used > 0

    async def next_result(self) -> Record:
        """Wait until a fixture has ended, and return its record."""
        return await self._records.receive()


@contextlib.asynccontextmanager
async def _in_this_process(
    functions: Mapping[str, AnswerAll], count: int, setup: WorkerSetup, _on_lost: Callable[[str], None], _workers: int
) -> AsyncIterator[InProcessPool]:
    async with trio.open_nursery() as monitoring:
        monitor, pool = Monitor(), InProcessPool(count)
        monitoring.start_soon(monitor.run)
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(pool.work, setup, monitor, functions)
            with pool.jobs:
                yield pool
        monitoring.cancel_scope.cancel()


def executor_of(
    functions: Sequence[tuple[BuiltBot, Player]], game: Game, usual: Any, workers: int | None = None
) -> Any:
    """Return an executor that asks these functions, and plays the other bots in sandboxes of this process.

    If one of the functions is async, it plays `workers` fixtures at the same time. Without functions, return `usual`.
    """
    answers = {bot.name: answer_all(bot.name, player, game) for bot, player in functions}
    count = (workers or FIXTURES_AT_ONCE) if any(is_async(player) for _, player in functions) else 1
    return partial(_in_this_process, answers, count) if answers else usual
