"""`croupier doctor --attack`: plays rogues, each with an honest bot, and checks their verdicts.

A rogue is a bot that attacks the host.
"""

import contextlib
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from host.base.errors import UserError
from host.bots.bot_spec import BuiltBot, Submission
from host.bots.monitor import running_monitor
from host.games import GAMES
from host.play.bot_pool import BotPool
from host.play.jobs import Job, WorkerSetup
from host.play.records import Fixture, Record, unpack
from host.sandbox.detect import randomizes_pids
from host.sandbox.levels import Level
from host.sandbox.limits import Limits, ModelAccess, seconds, size
from host.submissions import sample_bots
from host.submissions.build import build
from host.submissions.discovery import load_submission
from host.submissions.intake import Intake
from protocols.wire import Move

AMPLE = Limits(move=10, startup=10, cpu=10)
"""Limits that no rogue reaches, even on a loaded machine, unless its row of the gallery has lower ones."""

HOST_CPU_S = 5.0
"""Processor time that croupier itself may use to read and build one rogue. An honest bot takes less than a tenth of it."""

BROKEN_OUT = Move("B", 666)
NO_BUDGET = ModelAccess(
    name="small",
    address="http://127.0.0.1:1",
    model="small",
    key_env="",
    key_file="",
    requests=0,
    tokens=0,
    answer=1,
    patience=1.0,
    counts_time=True,
)
"""A model whose budget is used up from the start, so no request ever leaves this machine."""


class Rogue(msgspec.Struct, frozen=True):
    """A rogue: a bot that attacks the host, with its expected verdicts at one level.

    Its fields are keys of gallery.toml.
    """

    name: str
    file: Path
    verdict: tuple[str, ...]
    also: tuple[str, ...] = ()
    limits: Limits = AMPLE
    game: str = sample_bots.ATTACKED_GAME
    protocol: str = ""
    numbers: bool = False
    parallel_tables: int = 1
    tables: int = 2
    twice: bool = False
    long: bool = False
    short: bool = False
    needs_numbers: bool = False
    made: bool = False

    def spec_changes(self) -> dict[str, Any]:
        """Return the keys of bot.toml that the gallery sets for this rogue."""
        return {"name": self.name} | ({"protocol": self.protocol} if self.protocol else {})

    @contextlib.contextmanager
    def submitted(self) -> Iterator[Submission]:
        """Load the rogue for the length of the block.

        If its files must be generated first (`made`), load it through the intake, as `croupier add` does. Raise
        UserError if it is refused.
        """
        changes = {"game": self.game} | self.spec_changes()
        if not self.made:
            yield load_submission(self.file, Limits(models=self.limits.models)).with_keys(**changes)
            return
        with tempfile.TemporaryDirectory() as place, Intake() as intake:
            subprocess.run([sys.executable, self.file / "make.py", place], check=True)
            (made,) = Path(place).iterdir()
            yield intake.load(made, self.limits, GAMES[self.game]).with_keys(**changes)

    def seated(self, bot: BuiltBot) -> list[BuiltBot]:
        """Return the bots of this rogue at its table: the built rogue, and its twin if it also plays against itself."""
        bot = bot._replace(limits=self.limits).with_keys(table_ids=self.numbers, parallel_tables=self.parallel_tables)
        return [bot, bot.with_keys(name="twin")] if self.twice else [bot]

    @property
    def tries(self) -> str:
        """Return what the rogue tries to do: the first sentence of its source."""
        sources = [self.file] if self.file.is_file() else sorted(self.file.iterdir())
        head = next(text for text in (source.read_text()[:600] for source in sources) if "Verdict:" in text)
        comment = re.sub(r"^#!.*\n", "", head).partition("Verdict:")[0]
        return re.sub(r"\s*(\n \*|\n//|\n#|\n|^/\*|^//|^#)\s*", " ", comment).strip().partition(". ")[0].rstrip(".")


def folder() -> Path:
    """Return the folder of the rogues."""
    return sample_bots.folder() / "rogues"


def gallery(level: Level) -> dict[str, Rogue]:
    """Return all rogues by name, with their expected verdicts at a level."""
    rows = tomllib.loads((folder() / "gallery.toml").read_text())
    return {name: _rogue(name, row, level) for name, row in rows.items()}


def _rogue(name: str, row: Mapping[str, Any], level: Level) -> Rogue:
    verdict = row.get(level, row["verdict"])
    limits: dict[str, Any] = {
        key: (size if "iB" in value else seconds)(value) for key, value in row.get("limits", {}).items()
    }
    about = {key: value for key, value in row.items() if key not in {*Level, "models"}}
    limits["models"] = (NO_BUDGET,) if row.get("models") else ()
    about |= {"verdict": (verdict,) if isinstance(verdict, str) else tuple(verdict), "also": tuple(row.get("also", ()))}
    return Rogue(**about | {"name": name, "file": folder() / row["file"], "limits": AMPLE._replace(**limits)})


class RogueOutcome(NamedTuple):
    """The outcome of one rogue: as expected (✓), not played here (!), or not as expected (✗)."""

    mark: str
    rogue: str
    tries: str
    got: str
    seconds: float


async def attacked(level: Level, rogues: Sequence[Rogue]) -> list[RogueOutcome]:
    """Play each rogue in a sandbox of a level, one after the other. Return the outcomes, in the order of `rogues`."""
    honest = {game: await _honest(game, level) for game in {rogue.game for rogue in rogues}}
    return [await _one(rogue, honest[rogue.game], level) for rogue in rogues]


async def _honest(game: str, level: Level) -> list[BuiltBot]:
    """Return at least one honest bot, and as many as a table of the game needs besides a rogue."""
    submission = load_submission(sample_bots.sample(sample_bots.HONEST[game], game)).with_keys(game=game)
    bot = (await build(submission, level))._replace(limits=AMPLE)
    return [bot.with_keys(name=f"honest{number}") for number in range(1, max(GAMES[game].seats[0], 2))]


async def _one(rogue: Rogue, honest: Sequence[BuiltBot], level: Level) -> RogueOutcome:
    started = time.monotonic()

    def verdict(mark: str, got: str) -> RogueOutcome:
        return RogueOutcome(mark, rogue.name, rogue.tries, got, time.monotonic() - started)

    if rogue.needs_numbers and not randomizes_pids(level):
        return verdict("!", "not played: PIDs are sequential here (croupier doctor)")
    computed = time.process_time()
    try:
        with rogue.submitted() as submission:
            bot = await build(submission, level, force="refused" in rogue.verdict)
    except UserError as refused:
        if refused.exit_code == 6:
            return verdict("!", f"not played: {refused.problems[0].message}")
        return verdict("✓" if "refused" in rogue.verdict else "✗", "refused")
    if time.process_time() - computed > HOST_CPU_S:
        return verdict("✗", "slowed croupier down")
    record = await _played(rogue, [*rogue.seated(bot), *honest], level)
    faults = set(record.faults.get(rogue.name, {}))
    if any(BROKEN_OUT in table for table in unpack(record.answers)):
        return verdict("✗", "broke out")
    if any(bot.name in record.faults for bot in honest) or record.failures:  # a stall costs no honest bot anything
        return verdict("✗", "disturbed an honest bot")
    expected = faults <= {*rogue.verdict, *rogue.also} if faults else "harmless" in rogue.verdict
    return verdict("✓" if expected else "✗", ", ".join(sorted(faults)) or "harmless")


async def _played(rogue: Rogue, bots: Sequence[BuiltBot], level: Level) -> Record:
    game = GAMES[rogue.game]
    rules = game.default_rules._replace(**sample_bots.SHORT_RULES[rogue.game])
    setup = WorkerSetup(game=game, rules=rules, bots=tuple(bots), seed=b"an attack", level=level)
    async with running_monitor() as watcher, contextlib.AsyncExitStack() as stack:
        pool = BotPool(setup, stack, watcher)
        return await pool.play(
            Job(
                Fixture(
                    game=game.name,
                    rules=rules,
                    plan="independent",
                    path="attack/1",
                    bots=tuple(bot.name for bot in bots),
                    tables=rogue.tables,
                )
            )
        )
