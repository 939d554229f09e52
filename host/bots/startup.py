"""Starts a bot to see whether it can play, and remembers on this machine which bots have started.

A bot that has started here before is started again only when a worker first needs it.
"""

import hashlib
from pathlib import Path

from host.base import paths
from host.base.errors import HostFailure
from host.bots.bot_spec import BuiltBot
from host.bots.clock import HostStall
from host.bots.monitor import Monitor
from host.bots.seat import open_seat
from host.bots.state_file import BotSandbox
from host.bots.values import Batch, Evidence, Question
from host.games.engine import Game
from host.sandbox.levels import Level
from protocols.wire import Fault, FaultKind

ENDED_FAULTS = frozenset({FaultKind.START, FaultKind.CRASH, FaultKind.EXIT})
WARM, COLD = "warm", "cold"  # the content of a marker: how the bot plays, and its `empty_start`


class StartFailure(HostFailure):
    """Raised when a bot that has started on this machine before does not start in a run."""


async def startup_fault(bot: BuiltBot, game: Game, home: BotSandbox, monitor: Monitor) -> Evidence | None:
    """Start a bot. Return its first fault if it exits without an answer to any question, or cannot be started."""
    home.write_state()
    async with open_seat(bot, game, home.sandbox, 1, monitor) as seat:
        for number, view in enumerate(game.examples[1:3] or game.examples, 1):
            ended = [number - 1] if number > 1 else []
            try:
                (answer,) = await seat.ask(Batch([Question(number, 1, view)], ended_tables=ended))
            except HostStall:  # the machine was too busy to measure its time
                return None
            if not (isinstance(answer, Fault) and answer.kind in ENDED_FAULTS):
                return None
        return seat.evidence[0]


def recall_start(bot: BuiltBot, game: Game, level: Level) -> BuiltBot | None:
    """Return a built bot as it plays, if it has started on this machine at this level with the same limits; else None."""
    try:
        start, empty = _marker(bot, game, level).read_text().split()
        empty_start = float(empty)
    except (OSError, ValueError):
        return None
    return bot._replace(warm=bot.warm if start == WARM else (), started_before=True, empty_start=empty_start)


def remember_start(bot: BuiltBot, game: Game, level: Level) -> None:
    """Remember that a bot has started."""
    marker = _marker(bot, game, level)
    marker.parent.mkdir(exist_ok=True)
    marker.write_text(f"{WARM if bot.warm else COLD} {bot.empty_start:.6f}")


def forget_start(bot: BuiltBot, game: Game, level: Level) -> None:
    """Forget that a bot has started, so that the next run starts it before the first table."""
    _marker(bot, game, level).unlink(missing_ok=True)


def _marker(bot: BuiltBot, game: Game, level: Level) -> Path:
    """Return the file that exists if a bot has started. A warm start is a result of the examination, so it has no part."""
    what = (bot.sha256, bot.folder, bot.argv, bot.env, bot.limits, game.name, str(level), paths.describe_machine())
    return paths.cache_dir() / "started" / hashlib.sha256(repr(what).encode()).hexdigest()[:32]
