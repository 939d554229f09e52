"""Plays practice tables between a bot and one opponent, in every seat.

They do not count, and no journal records them.
"""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import trio

from host.bots.bot_spec import BuiltBot, Submission
from host.bots.values import Evidence
from host.games.engine import Game
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture, Record
from host.play.table_plans import table_setups
from host.rating.statistics import wilson
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.season.entries.values import PracticeResult
from host.season.intake.requests import EntryTerms
from host.stages.adhoc import Adhoc
from host.stages.kind import PairStageConfig, block_size, blocks, meeting_path, with_plan
from host.tournament.fixture_size import fewest_tables
from host.tournament.stage_runner import Executor

MAX_SECONDS = 60.0
"""The time of practice against all opponents. A slow bot gets fewer tables: those that are finished in this time."""


class IntakeTerms(NamedTuple):
    """The terms of the intake: game and limits for the examination of submissions, and the settings of practice."""

    entry: EntryTerms
    game: Game
    rules: Any
    limits: Limits
    level: Level
    references: tuple[Submission, ...]
    practice_tables: int  # against each reference
    executor: Executor
    workers: int = 0


class Practised(NamedTuple):
    """The result of practice against one opponent, and the evidence of the bot's faults and slowest answers."""

    result: PracticeResult
    evidence: tuple[Evidence, ...]
    opponent_faults: int  # of all copies of the opponent
    benched: bool  # whether the bot was benched
    cpu_seconds: float  # of all bots and of croupier
    pace: float = 0.0  # the bot's share of the worker time of a table, in seconds, by the time of its answers
    ended: bool = False  # whether the time was over before all tables were finished


async def practise(terms: IntakeTerms, bot: BuiltBot, opponent: BuiltBot, tables: int, seconds: float) -> Practised:
    """Play tables between a bot and an opponent. In a game for more than two, several copies of the opponent play.

    Only tables that are finished within `seconds` are in the result. Cancelling ends all processes. Several tables may
    be played at the same time, so that the workers use every core.
    """
    copies = [opponent.with_keys(name=f"{opponent.name}#{number}") for number in range(2, terms.game.seats[0])]
    bots, seed = (bot, opponent, *copies), secrets.token_bytes(16)
    fixtures = _fixtures(terms, bots, tables)
    setup = WorkerSetup(terms.game, terms.rules, bots, seed, terms.level, placement="free")
    records: list[tuple[Fixture, Record]] = []
    with trio.move_on_after(seconds) as patience:
        async with terms.executor(setup, _ignore, terms.workers) as pool:
            due = {fixture.path: fixture for fixture in fixtures}
            for fixture in fixtures:
                await pool.submit(Job(fixture))
                while pool.has_result:
                    _take(records, due, await pool.next_result())
            while due:
                _take(records, due, await pool.next_result())
    return _summary(terms, bot.name, opponent.name, seed, records)._replace(ended=patience.cancelled_caught)


def _take(records: list[tuple[Fixture, Record]], due: dict[str, Fixture], record: Record) -> None:
    records.append((due.pop(record.path), record))


def _ignore(_lost: str) -> None:
    """Do nothing if a worker is lost, because its fixture is played again."""


def _fixtures(terms: IntakeTerms, bots: Sequence[BuiltBot], tables: int) -> list[Fixture]:
    """Return the fixtures of practice. Every bot has every seat equally often."""
    tables += -tables % len(bots)
    stage: PairStageConfig = Adhoc(name="practice", tables=tables, mirror=terms.game.chance.shared(terms.rules))
    stage = stage.with_fixture_tables(fewest_tables(terms.game, bots, len(bots)))
    names, size = tuple(bot.name for bot in bots), len(bots)
    whole = with_plan(stage, Fixture(terms.game.name, terms.rules, "", meeting_path(stage, names), names, size))
    rest = whole._replace(first=size + 1, tables=tables - size)
    # The first fixture is small, so that a slow bot has a result, too.
    return [*blocks(whole), *blocks(rest, block_size(stage, tables, 1, least=size))]


def _summary(
    terms: IntakeTerms, bot: str, opponent: str, seed: bytes, records: Sequence[tuple[Fixture, Record]]
) -> Practised:
    won, tables, faults, opponent_faults = 0.0, 0, 0, 0
    for fixture, record in records:
        for setup, scores in zip(table_setups(fixture, seed, record.scores), record.scores, strict=True):
            won += share_won(terms.game, scores, setup.bots.index(bot))
            tables += 1
        for player, kinds in record.faults.items():
            faults += sum(kinds.values()) if player == bot else 0
            opponent_faults += sum(kinds.values()) if player != bot else 0
    low, high = wilson(won, tables)
    return Practised(
        PracticeResult(opponent, tables, won, faults, low, high),
        tuple(piece for _, record in records for piece in record.evidence if piece.bot == bot),
        opponent_faults,
        any(bot in record.benched for _, record in records),
        sum(record.overhead + sum(usage.cpu for usage in record.usage.values()) for _, record in records),
        # The least of all fixtures: it depends least on the start of the bot, which takes time, too.
        min(
            (record.seconds * _share(record, bot) / fixture.tables for fixture, record in records), default=MAX_SECONDS
        ),
    )


def _share(record: Record, bot: str) -> float:
    """Return the bot's share (0 to 1) of the time of all answers in a record."""
    total = sum(usage.wall for usage in record.usage.values())
    return record.usage[bot].wall / total if total and bot in record.usage else 0.5


def share_won(game: Game, scores: Sequence[int], place: int) -> float:
    """Return the share of a table that the bot at the seat `place` has won: 1, 0, or a part if several bots are first.

    In a draw of two bots each has 0.5.
    """
    first = game.winners(tuple(scores)) if game.winners else ()
    best = [*first] or [seat for seat, score in enumerate(scores) if score == max(scores)]
    if game.winners and not first:
        best = [*range(len(scores))]
    return 1 / len(best) if place in best else 0.0
