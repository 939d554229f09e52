"""Friendly games: some bots, some tables, no tournament; journalled like everything else."""

import hashlib
import re
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host import __version__, places
from host.bots.limits import Limits
from host.bots.ready import ready
from host.bots.spec import Spec
from host.games.engine import Game
from host.journal import writing
from host.outsiders import origin
from host.record import Fixture, Record, Setup
from host.tournament.folder import commitment
from host.tournament.office import Watch
from host.tournament.run import Executor, known, run_stage
from host.tournament.stages import Field


class Friendly(NamedTuple):
    """What came of it."""

    seed: bytes
    records: list[Record]
    bots: dict[str, dict[str, Any]]


class Stage(NamedTuple):
    """The one stage of a friendly game."""

    tables: int
    kind: str = "independent"
    name: str = "play"


def seed_from(said: str | None) -> bytes:
    """Return the 128 bits that 32 hexadecimal digits or any other text mean; random ones when nothing is said.

    Whatever was said, the digits of the seed say the same again.
    """
    if said is None:
        return secrets.token_bytes(16)
    if re.fullmatch("[0-9a-fA-F]{32}", said):
        return bytes.fromhex(said)
    return hashlib.sha256(said.encode()).digest()[:16]


async def played(
    game: Game,
    rules: Any,
    specs: Sequence[Spec],
    tables: int,
    said: str | None,
    level: str,
    limits: Limits,
    place: Path,
    executor: Executor,
    workers: int,
    watch: Watch,
) -> Friendly:
    """Play so many tables between the bots, who change seats from table to table; the journal is made anew."""
    bots = await ready(specs, game, limits, level, warn=watch.say)
    seed = seed_from(said)

    def forget() -> None:
        for path in place.parent.glob(place.name + "*"):
            path.unlink()

    with writing(place, fresh=forget) as journal:
        facts = {"game": game.name, "name": "friendly", "level": level, "state": "finished"}
        facts |= {"version": __version__, "machine": places.machine(), "began": str(time.time())}
        journal.note(facts | {"seed": seed.hex(), "seed_sha256": commitment(seed), "stages": "[]"})
        for bot, spec in zip(bots, specs, strict=True):
            lone = len(spec.files) == 1 and not spec.manifest
            source = spec.folder / spec.files[0] if lone else spec.folder
            journal.enter(bot.name, bot.sha256, bot.language, known(bot) | {"source": str(source.resolve())})
        setup = Setup(game.name, rules, tuple(bots), seed, level, origin=origin(game.name))
        blank = Fixture(game.name, rules, "", "", (), 0)
        async with executor(setup, watch.say, workers) as hands:
            field = Field([bot.name for bot in bots], seed)
            await run_stage(Stage(tables), blank, field, journal, hands, watch.progress)
        records = [whole[0] for path in journal.paths() if (whole := journal.whole(path))]
        return Friendly(seed, records, journal.bots())
