"""A faulty table in one file: every byte the bot was sent, what it wrote, and all that playing it elsewhere needs."""

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from host import __version__
from host.again.then import Case, Exchange, Player, Then
from host.bots.limits import CLOCKS, Limits
from host.bots.told import Evidence, Usage
from host.games import GAMES
from host.problems import Problem, Refused
from host.record import read_answer, spelled_answer
from protocols import PROTOCOLS
from protocols.words import View

SCHEMA = "croupier/bundle/1"
LARGEST = 256 << 20  # bytes, unpacked: a bundle may come from anybody
MAGIC = b"\x1f\x8b"


class Said(msgspec.Struct, array_like=True):
    """One question of a bundle: the bytes the bot was sent, the view they spell, the answer as it was read."""

    table: int
    number: int
    sent: str
    view: list[Any]
    answer: str


class Step(msgspec.Struct):
    """One exchange of a bundle; the tables that were over are told to a bot that numbers its tables."""

    over: list[int]
    asked: list[Said]


class Bundle(msgspec.Struct, rename={"format": "schema"}):
    """A bundle as it is written: JSON, gzipped."""

    format: str
    croupier: str
    game: str
    rules: dict[str, Any]
    fixture: str
    table: str
    wanted: tuple[int, int]
    bot: Player
    croupier_seed: int
    level: str
    evidence: Evidence | None
    usage: Usage | None
    before: list[Step]
    asked: list[Step]


def packed(case: Case) -> bytes:
    """Return a case as the bytes of a file; what is where on this machine stays here."""
    lines = PROTOCOLS[case.player.protocol].lines

    def steps(exchanges: Sequence[Exchange]) -> list[Step]:
        return [
            Step(
                list(exchange.over),
                [
                    Said(
                        *(then.table, then.number, lines((then.view,)).decode(), list(then.view)),
                        spelled_answer(then.answer),
                    )
                    for then in exchange.questions
                ],
            )
            for exchange in exchanges
        ]

    whole = Bundle(
        *(SCHEMA, __version__, case.game, case.rules._asdict(), case.fixture, case.table, case.wanted),
        *(case.player._replace(source=""), case.seed, case.level, case.evidence, case.usage),
        *(steps(case.before), steps(case.asked)),
    )
    return gzip.compress(msgspec.json.encode(whole), 6, mtime=0)


def is_bundle(path: Path) -> bool:
    """Return whether a file looks like a bundle."""
    try:
        with path.open("rb") as file:
            return file.read(2) == MAGIC
    except OSError:
        return False


def unpacked(path: Path) -> Case:
    """Return the case of a bundle. Raise Refused when the file is none."""
    try:
        with gzip.open(path) as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        return _case(msgspec.json.decode(text, type=Bundle))
    except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, TypeError, msgspec.MsgspecError) as broken:
        hint = "croupier export bundle TABLE -o FILE makes one"
        raise Refused([Problem("R014", str(path), f"is no bundle: {broken}", hint=hint)], 3) from broken
    except OSError as failed:
        raise Refused([Problem("R013", str(path), f"cannot be read: {failed.strerror}")], 2) from failed


def _case(told: Bundle) -> Case:
    if told.format != SCHEMA:
        raise ValueError(f"its schema is {told.format[:40]!r}, not {SCHEMA!r}")
    if told.game not in GAMES:
        raise ValueError(f"its game is {told.game[:40]!r}, and the games are {', '.join(GAMES)}")
    if told.bot.protocol not in PROTOCOLS:
        raise ValueError(f"its protocol is {told.bot.protocol[:40]!r}, and they are {', '.join(PROTOCOLS)}")
    if told.bot.limits.clock not in CLOCKS:
        raise ValueError(f"its clock is {told.bot.limits.clock[:40]!r}, and they are {', '.join(CLOCKS)}")
    game = GAMES[told.game]
    rules = type(next(iter(game.presets.values())))

    def exchanges(steps: Sequence[Step]) -> tuple[Exchange, ...]:
        return tuple(
            Exchange(
                tuple(step.over), tuple(Then(s.table, s.number, view(s), read_answer(s.answer)) for s in step.asked)
            )
            for step in steps
        )

    def view(said: Said) -> View:
        found: View = msgspec.convert(said.view, game.view)
        if lines((found,)) != said.sent.encode():
            raise ValueError(f"question {said.number} of its table {said.table} is not what its view says")
        return found

    lines = PROTOCOLS[told.bot.protocol].lines
    if not any(step.asked for step in told.asked):
        raise ValueError("it asks nothing")
    return Case(
        *(told.game, msgspec.convert(list(told.rules.values()), rules), told.fixture, told.table, told.wanted),
        *(told.bot._replace(limits=told.bot.limits.at_most(MOST)), told.croupier_seed, told.level),
        *(exchanges(told.before), exchanges(told.asked)),
        told.evidence,
        told.usage,
    )


MOST = Limits(
    move=3600, startup=3600, cpu=3600, memory=1 << 36, tasks=4096, output=64 << 10, state=1 << 30, files=1 << 30
)
"""What a bundle may grant, whoever has written it."""
