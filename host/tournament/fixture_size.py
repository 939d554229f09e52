"""Chooses the minimum number of tables in a pair's fixture, so that starting the bots takes a small part of it. Pure.

The choice depends on the game and the entered bots, never on measurements or workers. So all machines choose the same.
"""

from collections.abc import Iterable
from math import ceil

from host.bots.bot_spec import BuiltBot
from host.games.engine import Game
from host.stages.kind import MAX_BLOCK_TABLES
from host.submissions.languages import ANY, LANGUAGES
from protocols import PROTOCOLS

START_SHARE = 0.05
"""The maximum share of a fixture's time for starting the bots, if the bots compute as little as croupier does."""

DECISION_MS, PARALLEL_DECISION_MS = 0.025, 0.005
"""Processor time of a decision by a bot that computes little: at one table at a time, and at many at the same time."""

MANY_TABLES = 8  # with `parallel_tables` of at least this, a decision takes PARALLEL_DECISION_MS


def fewest_tables(game: Game, bots: Iterable[BuiltBot], seats: int) -> int:
    """Return the minimum number of tables in a fixture of any `seats` of the bots: the slowest to start decide it.

    Ignore bots that start for each question.
    """
    lasting = [bot for bot in bots if PROTOCOLS[bot.spec.protocol].persistent]
    starts = sorted(LANGUAGES.get(bot.spec.language, ANY).empty.start_ms for bot in lasting)[-seats:]
    parallel = all(bot.spec.parallel_tables >= MANY_TABLES for bot in lasting)
    table_ms = game.decisions * (PARALLEL_DECISION_MS if parallel else DECISION_MS)
    return min(max(1, ceil(sum(starts) / START_SHARE / table_ms)), MAX_BLOCK_TABLES)
