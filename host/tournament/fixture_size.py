"""Chooses the fewest tables of a fixture of a pair, so that starting the bots takes a small part of it. Pure.

The choice depends on the game and on what was entered, never on measurements or workers: all machines choose the same.
"""

from collections.abc import Iterable
from math import ceil

from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.stages.kind import MAX_BLOCK_TABLES
from host.submissions.languages import ANY, LANGUAGES
from protocols import PROTOCOLS

START_SHARE = 0.05
"""The part of a fixture that starts may take, if the bots compute as little as croupier does."""

DECISION_MS, PARALLEL_DECISION_MS = 0.025, 0.005
"""Processor time of a decision by a bot that computes little: at one table at a time, and at many in parallel."""

MANY_TABLES = 8  # `parallel_tables` from which on a decision costs that little


def fewest_tables(game: Game, bots: Iterable[BuiltBot], seats: int) -> int:
    """Return the fewest tables of a fixture between any of the bots. A bot that starts for each question does not count."""
    lasting = [bot for bot in bots if PROTOCOLS[bot.spec.protocol].persistent]
    starts = sorted(LANGUAGES.get(bot.spec.language, ANY).empty.start_ms for bot in lasting)[-seats:]
    parallel = all(bot.spec.parallel_tables >= MANY_TABLES for bot in lasting)
    table_ms = game.decisions * (PARALLEL_DECISION_MS if parallel else DECISION_MS)
    return min(max(1, ceil(sum(starts) / START_SHARE / table_ms)), MAX_BLOCK_TABLES)
