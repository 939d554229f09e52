"""Plays tables between bots outside a tournament, with a separate journal."""

import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from host import __version__
from host.base import paths
from host.bots.bot_spec import BuiltBot, Submission
from host.games.engine import Game
from host.journal.reader import Journal
from host.journal.state import RecordedBot, RunState, RunStatus
from host.journal.tournament_dir import commitment, read_seed
from host.journal.writer import JournalWriter, writing
from host.play.jobs import WorkerSetup
from host.play.records import Fixture, Record
from host.results.bot_logs import TableLogs
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.stages import registry_of_game
from host.stages.kind import BLANK, Field, PairStageConfig, with_plan
from host.submissions.examine import prepare_bots
from host.tournament.fixture_size import fewest_tables
from host.tournament.running import Observer
from host.tournament.stage_runner import CheckedPool, Executor, Run, WorkerPool, require_decided, run_stage


class AdhocMatch(NamedTuple):
    """The results of a game outside a tournament."""

    seed: bytes
    state: RunState
    records: list[Record]
    bots: dict[str, RecordedBot]


def seed_from(text: str | None) -> bytes:
    """Convert the text of a seed into its bytes. For None, return 128 random bits."""
    return secrets.token_bytes(16) if text is None else read_seed(text)


class AdhocSettings(NamedTuple):
    """Settings of a game outside a tournament: its rules, its bots, its tables, the level and the limits."""

    game: Game
    rules: Any
    stage: PairStageConfig  # Adhoc, or RoundRobin if there are more bots than seats
    submissions: Sequence[Submission]
    seed_text: str | None  # None: random
    level: Level
    limits: Limits
    logs: Path | None = None  # the folder of `--logs`
    functions: Mapping[int, BuiltBot] = MappingProxyType({})
    """Bots that are functions of this process, by their index among all bots. The executor calls them."""


class AdhocSession(NamedTuple):
    """A game outside a tournament while it is played. `blank` is a fixture with its game and rules, without bots."""

    bots: list[BuiltBot]
    seed: bytes
    journal: JournalWriter
    pool: WorkerPool
    blank: Fixture
    stage: PairStageConfig


@contextlib.asynccontextmanager
async def adhoc_session(
    settings: AdhocSettings, place: Path, executor: Executor, workers: int, watch: Observer
) -> AsyncIterator[AdhocSession]:
    """Build the bots, create a new journal, run the workers until the block ends, and yield the session."""
    submissions = settings.submissions
    game, built = await prepare_bots(submissions, settings.game, settings.limits, settings.level, warn=watch.say)
    bots = [*built]
    for index, function in sorted(settings.functions.items()):
        bots.insert(index, function)
    seed = seed_from(settings.seed_text)

    def forget() -> None:
        for path in place.parent.glob(place.name + "*"):
            path.unlink()

    with writing(place, registry_of_game(game), fresh=forget) as journal:
        state = RunState(
            game=game.name,
            name="friendly",
            level=settings.level,
            status=RunStatus.FINISHED,
            version=__version__,
            machine=paths.describe_machine(),
            began=time.time(),
            seed=seed,
            seed_sha256=commitment(seed),
        )
        stage = settings.stage.with_fixture_tables(fewest_tables(game, bots, min(len(bots), game.seats[1])))
        journal.set_state(state.with_stages(stage))
        sources = {submission.name: _source_of(submission) for submission in submissions}
        for bot in bots:
            journal.add_bot(RecordedBot.of(bot, sources.get(bot.name, "")))
        setup = WorkerSetup(game, settings.rules, tuple(bots), seed, settings.level)
        if settings.logs:
            # One table at a time: with several open questions, nobody would know to which of them a text belongs.
            setup = setup._replace(logs=True, parallel_tables=1)
        async with executor(setup, watch.say, workers) as pool:
            pool = CheckedPool(pool, partial(require_decided, game))
            if settings.logs:
                pool = CheckedPool(pool, partial(_write_logs, TableLogs(settings.logs, watch.say)))
            journal.set_state(replace(journal.state(), workers=pool.description))
            blank = with_plan(stage, BLANK._replace(game=game.name, rules=settings.rules))
            yield AdhocSession(bots, seed, journal, pool, blank, stage)


def _write_logs(logs: TableLogs, record: Record) -> None:
    """Log the texts that the bots of a fixture wrote to standard error."""
    for bot, pieces in record.said:
        logs.heard(bot, pieces)


def _source_of(submission: Submission) -> str:
    """Return the path of a bot: its only file, or its folder."""
    is_file = len(submission.files) == 1 and not submission.manifest
    return str((submission.folder / submission.files[0] if is_file else submission.folder).resolve())


async def played(settings: AdhocSettings, place: Path, executor: Executor, workers: int, watch: Observer) -> AdhocMatch:
    """Play all tables of `settings.stage`, and return the results. The bots change seats from table to table."""
    async with adhoc_session(settings, place, executor, workers, watch) as session:
        # With a function that plays one table at a time, each table is a fixture: several are played at once, and stored.
        block = int(any(bot.spec.parallel_tables == 1 for bot in settings.functions.values()))
        journal, field = session.journal, Field([bot.name for bot in session.bots], session.seed, block=block)
        await run_stage(session.stage, field, Run(session.blank, journal, session.pool, watch.progress))
        return match_in(journal)


def match_in(journal: Journal) -> AdhocMatch:
    """Return the results in the journal of a game outside a tournament, whether or not all its tables have been played."""
    state = journal.state()
    return AdhocMatch(state.seed or b"", state, [*map(journal.full_record, journal.paths())], journal.bots())
