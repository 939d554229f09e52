"""Asks a silent bot in other ways to find out why it does not answer."""

import io
import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NamedTuple

import trio

from host.bots.bot_spec import BuiltBot
from host.bots.monitor import Monitor
from host.games.engine import Game
from host.sandbox.launch import Sandbox
from protocols import PROTOCOLS
from protocols.wire import Move, View

OTHER_PROTOCOL = {"argv": "lines", "lines": "argv"}
CHUNK_BYTES = 1 << 16


class ProbeResult(NamedTuple):
    """The first line of output, whether the line is complete, and the seconds since the start of the process."""

    line: bytes
    whole: bool
    after: float


async def answer_after_end_of_input(
    bot: BuiltBot, sandbox: Sandbox, watcher: Monitor, view: View
) -> ProbeResult | None:
    """Return the answer of a bot after its input is closed; None if closing makes no difference.

    The bot has been silent for the time limit of a move. If it now answers within half of that time, it was not computing.
    """
    (question,) = PROTOCOLS[bot.spec.protocol].ask(view)
    if bot.spec.table_ids:
        question = PROTOCOLS[bot.spec.protocol].number(1, question)
    heard = await _first_line(bot, sandbox, watcher, (), question)
    return heard if heard.whole and heard.after < bot.limits.move / 2 else None


async def detect_protocol(bot: BuiltBot, game: Game, sandbox: Sandbox, watcher: Monitor, view: View) -> str:
    """Return another protocol by which a silent bot makes a move; "" if there is none.

    A bot that also makes the move without a question does not count.
    """
    other = OTHER_PROTOCOL.get(bot.spec.protocol, "")
    if not other:
        return ""
    words = PROTOCOLS["argv"].ask(view)
    typed = PROTOCOLS["lines"].ask(view)[0]
    asked, unasked = ((words, typed), (words, b"")) if other == "lines" else ((words, b""), ((), b""))
    results = [await _first_line(bot, sandbox, watcher, *each) for each in (asked, unasked)]
    moves = [isinstance(PROTOCOLS[other].receive(game.grammar, heard.line), Move) for heard in results]
    return other if moves == [True, False] else ""


async def _first_line(
    bot: BuiltBot, sandbox: Sandbox, watcher: Monitor, words: Sequence[bytes], typed: bytes
) -> ProbeResult:
    """Start a bot with these arguments and this input, and return its first line of output."""
    began, output = time.perf_counter(), b""
    with ExitStack() as stack, watcher.watching(sandbox, bot.limits.memory) as watched:
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
                if not (heard := listens.read(CHUNK_BYTES)):
                    break
                output += heard
        after = time.perf_counter() - began
        await sandbox.keeper.kill_all()
    line, end, _ = output.partition(b"\n")
    return ProbeResult(line, bool(end), after)


def _pipe(stack: ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """Return the two ends of a pipe. The stack closes them."""
    reads, writes = os.pipe()
    return stack.enter_context(io.FileIO(reads, "r")), stack.enter_context(io.FileIO(writes, "w"))
