"""`croupier doctor --attack`: a few rogues of the gallery, really played here beside an honest bot, and what becomes of them."""

import contextlib
import re
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import UserError
from host.bots.monitor import running_monitor
from host.games import GAMES
from host.play.bot_pool import BotPool
from host.play.records import Fixture, Job, Record, WorkerSetup, unpack
from host.sandbox.detect import randomizes_pids
from host.sandbox.levels import Level
from host.sandbox.limits import Limits, seconds, size
from host.submissions import sample_bots
from host.submissions.bot_spec import BuiltBot
from host.submissions.build import build
from host.submissions.discovery import load_submission
from protocols.wire import Move

AMPLE = Limits(move=10, startup=10, cpu=10)
"""Limits that no rogue is meant to reach but the one that it is held to, however loaded the machine is."""

BROKEN_OUT = Move("B", 666)
HONEST = "lim17"


class Rogue(NamedTuple):
    """A line of the gallery."""

    name: str
    file: Path
    verdict: tuple[str, ...]
    also: tuple[str, ...]
    limits: Limits
    game: str
    protocol: str
    numbers: bool
    parallel_tables: int
    tables: int
    beside: str
    twice: bool
    long: bool
    short: bool
    needs_numbers: bool

    def spec_changes(self) -> dict[str, Any]:
        """Return what the gallery says about a bot that has no manifest to say it."""
        return {"name": self.name} | ({"protocol": self.protocol} if self.protocol else {})

    @property
    def tries(self) -> str:
        """What it tries, as its source says it."""
        sources = [self.file] if self.file.is_file() else sorted(self.file.iterdir())
        head = next(text for text in (source.read_text()[:600] for source in sources) if "Verdict:" in text)
        told = re.sub(r"^#!.*\n", "", head).partition("Verdict:")[0]
        return re.sub(r"\s*(\n \*|\n//|\n#|\n|^/\*|^//|^#)\s*", " ", told).strip().partition(". ")[0].rstrip(".")


def folder() -> Path:
    """Return where the rogues are."""
    return sample_bots.folder() / "rogues"


def gallery(level: Level) -> dict[str, Rogue]:
    """Return all rogues by name, with their verdicts at a level."""
    told = tomllib.loads((folder() / "gallery.toml").read_text())
    return {name: _rogue(name, told[name], level) for name in told}


def _rogue(name: str, told: dict[str, Any], level: Level) -> Rogue:
    verdict = told.get(level, told["verdict"])
    limits: dict[str, Any] = {
        key: (size if "iB" in value else seconds)(value) for key, value in told.get("limits", {}).items()
    }
    return Rogue(
        name,
        folder() / told["file"],
        (verdict,) if isinstance(verdict, str) else tuple(verdict),
        tuple(told.get("also", ())),
        AMPLE._replace(**limits),
        told.get("game", sample_bots.ATTACKED_GAME),
        told.get("protocol", ""),
        told.get("numbers", False),
        told.get("parallel_tables", 1),
        told.get("tables", 2),
        told.get("beside", "quick"),
        told.get("twice", False),
        told.get("long", False),
        told.get("short", False),
        told.get("needs_numbers", False),
    )


class Verdict(NamedTuple):
    """What became of one rogue: as it should (✓), not tried here (!), or not (✗)."""

    mark: str
    rogue: str
    tries: str
    got: str
    seconds: float


async def attacked(level: Level, rogues: Sequence[Rogue]) -> list[Verdict]:
    """Return what becomes of rogues at a level, one after the other."""
    source = sample_bots.sample(HONEST, sample_bots.ATTACKED_GAME)
    honest = (await build(load_submission(source).with_keys(game=sample_bots.ATTACKED_GAME), level))._replace(
        limits=AMPLE
    )
    return [await _one(rogue, honest, level) for rogue in rogues]


async def _one(rogue: Rogue, honest: BuiltBot, level: Level) -> Verdict:
    began = time.monotonic()

    def so(mark: str, got: str) -> Verdict:
        return Verdict(mark, rogue.name, rogue.tries, got, time.monotonic() - began)

    if rogue.needs_numbers and not randomizes_pids(level):
        return so("!", "not tried: process numbers are counted on here (croupier doctor)")
    try:
        submission = load_submission(rogue.file).with_keys(game=rogue.game, **rogue.spec_changes())
        bot = await build(submission, level, force="refused" in rogue.verdict)
    except UserError as refused:
        if refused.exit_code == 6:
            return so("!", f"not tried: {refused.problems[0].message}")
        return so("✓" if "refused" in rogue.verdict else "✗", "refused when it is built")
    record = await _played(bot._replace(limits=rogue.limits), honest, rogue.tables, level)
    faults = set(record.faults.get(rogue.name, {}))
    if any(BROKEN_OUT in table for table in unpack(record.answers)):
        return so("✗", "has broken out")
    if record.faults.get(honest.name) or record.replayed:
        return so("✗", "has disturbed the honest bot")
    well = faults <= {*rogue.verdict, *rogue.also} if faults else "harmless" in rogue.verdict
    return so("✓" if well else "✗", ", ".join(sorted(faults)) or "harmless")


async def _played(bot: BuiltBot, honest: BuiltBot, tables: int, level: Level) -> Record:
    game = sample_bots.ATTACKED_GAME
    rules = next(iter(GAMES[game].presets.values()))._replace(hands=1)
    setup = WorkerSetup(game=game, rules=rules, bots=(bot, honest), seed=b"an attack", level=level)
    async with running_monitor() as watcher, contextlib.AsyncExitStack() as stack:
        pool = BotPool(setup, stack, watcher)
        return await pool.play(
            Job(
                Fixture(
                    game=game,
                    rules=rules,
                    plan="independent",
                    path="attack/1",
                    bots=(bot.name, honest.name),
                    tables=tables,
                )
            )
        )
