"""Measure warm starts: decisions of the same Python bots, forked from a ready interpreter and started cold.

    python benchmarks/warm.py [--rounds 50]

All contenders take turns in many short rounds, because machines are shared. The lower bound is a bare posix_spawn of the
cold command. Prints wall-clock time, and the CPU time of the bot's control group, which is more reliable on a busy machine.
"""

import argparse
import contextlib
import os
import tempfile
from pathlib import Path

import trio
from argv import GAME, LIMITS, Work, at_best, measured, spawned
from rounds import shown, table

from host.bots.bot_spec import BotSpec, BuiltBot, Submission
from host.bots.monitor import running_monitor
from host.bots.seat import Seat, open_seat
from host.bots.values import Batch, Question
from host.sandbox.bubblewrap import Home
from host.sandbox.detect import require_level
from host.sandbox.launch import sandboxed
from host.sandbox.levels import DEFAULT_LEVEL
from host.submissions.build import build

PROMISED = 6  # times as fast as cold
BOTS = {
    "small": 'import sys\n\nprint("H" if int(sys.argv[1]) < 17 else "S")\n',
    "with modules": (
        "import collections, itertools, json, math, random, re, statistics, sys\n\n"
        'print("H" if int(sys.argv[1]) < 17 else "S")\n'
    ),
}
A_ROUND = 3  # decisions


async def bot_of(text: str) -> BuiltBot:
    """Build a bot that can be started both ways."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "bot.py").write_text(text)
        submission = Submission(
            BotSpec(name="bot", language="python", game="cardshark", entry="bot.py", warm=True),
            Path(folder),
            ("bot.py",),
        )
        return (await build(submission, require_level(DEFAULT_LEVEL)))._replace(limits=LIMITS)


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=50)
    rounds = parser.parse_args().rounds
    print(f"level {require_level(DEFAULT_LEVEL)} · load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for kind, text in BOTS.items():
        bot = await bot_of(text)
        seats: dict[str, Seat] = {}
        async with contextlib.AsyncExitStack() as stack:
            watcher = await stack.enter_async_context(running_monitor())
            for start, command in (("cold", ()), ("warm", bot.warm)):
                sandbox = await stack.enter_async_context(
                    sandboxed(require_level(DEFAULT_LEVEL), Home(Path(bot.folder), warm=bool(command)), LIMITS)
                )
                if command and not sandbox.warms:
                    raise SystemExit("a warm start needs Landlock (ABI 6) here")
                block = open_seat(bot._replace(warm=command), GAME, sandbox, 1, watcher)
                seats[start] = await stack.enter_async_context(block)
                await decided(seats[start])  # the interpreter's own start is not included
            before = {start: seat.usage().cpu for start, seat in seats.items()}
            works = {"bare spawn": spawned(bot, A_ROUND)}
            results = await measured(works | {start: asked(seat) for start, seat in seats.items()}, rounds)
            spent = {start: (seat.usage().cpu - before[start]) / (rounds * A_ROUND) for start, seat in seats.items()}
        print(f"\nA decision of a bot in Python, {kind} (promised: warm {PROMISED} times as quick as cold)")
        print(shown(results))
        print(at_best(results))
        _, cold, warm = results
        rows = [
            ("median", f"{cold.median / warm.median:.1f}"),
            ("at best", f"{min(cold.seconds) / min(warm.seconds):.1f}"),
            ("computing", f"{spent['cold'] / spent['warm']:.1f}"),
        ]
        print(table(("cold over warm", "times"), rows))


async def decided(seat: Seat) -> None:
    """Ask one question."""
    await seat.ask(Batch([Question(1, 1, GAME.examples[0])]))
    assert not seat.faults, seat.evidence


def asked(seat: Seat) -> Work:
    """Return a function that asks for one round of decisions."""

    async def work() -> int:
        for _ in range(A_ROUND):
            await decided(seat)
        return A_ROUND

    return work


if __name__ == "__main__":
    trio.run(main)
