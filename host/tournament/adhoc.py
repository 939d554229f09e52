"""Plays some tables between some bots outside a tournament, with a journal of their own."""

import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host import __version__
from host.base import paths
from host.bots.bot_spec import BuiltBot, Submission
from host.games.engine import Game
from host.play.custom_games import origin
from host.play.jobs import WorkerSetup
from host.play.records import Fixture, Record
from host.results.descriptions import bot_metadata
from host.results.journal import Journal, writing
from host.results.tournament_dir import commitment, read_seed
from host.sandbox.levels import Level
from host.sandbox.limits import Limits
from host.stages import registry_of_game, stages_to_json
from host.stages.adhoc import Adhoc
from host.stages.kind import Field
from host.submissions.examine import prepare_bots
from host.tournament.runner import Observer
from host.tournament.stage_runner import Executor, WorkerPool, run_stage


class Friendly(NamedTuple):
    """The results of a game outside a tournament."""

    seed: bytes
    records: list[Record]
    bots: dict[str, dict[str, Any]]


def seed_from(said: str | None) -> bytes:
    """Return the seed that a text means; 128 random bits for None."""
    return secrets.token_bytes(16) if said is None else read_seed(said)


class AdhocRules(NamedTuple):
    """The game, rules, bots, seed, level and limits of a game outside a tournament."""

    game: Game
    rules: Any
    submissions: Sequence[Submission]
    said: str | None  # the text that gives the seed; None: random
    level: Level
    limits: Limits


class AdhocSession(NamedTuple):
    """A game outside a tournament while it is played: its bots, seed, journal and workers, and a fixture to fill in."""

    bots: list[BuiltBot]
    seed: bytes
    journal: Journal
    hands: WorkerPool
    blank: Fixture


@contextlib.asynccontextmanager
async def adhoc_session(
    terms: AdhocRules, place: Path, executor: Executor, workers: int, watch: Observer
) -> AsyncIterator[AdhocSession]:
    """Build the bots, create a new journal and start the workers for the length of the block."""
    game, submissions = terms.game, terms.submissions
    bots = await prepare_bots(submissions, game, terms.limits, terms.level, warn=watch.say)
    seed = seed_from(terms.said)

    def forget() -> None:
        for path in place.parent.glob(place.name + "*"):
            path.unlink()

    with writing(place, registry_of_game(game.name), fresh=forget) as journal:
        facts = {"game": game.name, "name": "friendly", "level": terms.level, "state": "finished"}
        facts |= {"version": __version__, "machine": paths.describe_machine(), "began": str(time.time())}
        journal.set_metadata(facts | {"seed": seed.hex(), "seed_sha256": commitment(seed), "stages": "[]"})
        for bot, submission in zip(bots, submissions, strict=True):
            lone = len(submission.files) == 1 and not submission.manifest
            source = submission.folder / submission.files[0] if lone else submission.folder
            journal.add_bot(
                bot.name, bot.sha256, bot.spec.language, bot_metadata(bot) | {"source": str(source.resolve())}
            )
        setup = WorkerSetup(game.name, terms.rules, tuple(bots), seed, terms.level, origin=origin(game.name))
        async with executor(setup, watch.say, workers) as hands:
            journal.set_metadata({"workers": hands.words})
            yield AdhocSession(bots, seed, journal, hands, Fixture(game.name, terms.rules, "", "", (), 0))


async def played(
    terms: AdhocRules, stage: Adhoc, place: Path, executor: Executor, workers: int, watch: Observer
) -> Friendly:
    """Play the stage's tables between the bots, which change seats from table to table."""
    async with adhoc_session(terms, place, executor, workers, watch) as friends:
        journal, field = friends.journal, Field([bot.name for bot in friends.bots], friends.seed)
        journal.set_metadata({"stages": stages_to_json(stage)})
        await run_stage(stage, friends.blank, field, journal, friends.hands, watch.progress)
        records = [whole[0] for path in journal.paths() if (whole := journal.full_record(path))]
        return Friendly(friends.seed, records, journal.bots())
