"""A faulty table in one file: every byte the bot was sent, what it wrote, and all that playing it elsewhere needs."""

import base64
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from host import __version__
from host.base.errors import Problem, UserError
from host.bots.values import Evidence, Usage
from host.games import GAMES
from host.inspect.recorded import Exchange, Player, RecordedDecision, Repro
from host.play.records import read_answer, spelled_answer
from host.sandbox.limits import CLOCKS, Limits
from protocols import PROTOCOLS
from protocols.wire import View

SCHEMA = "croupier/bundle/1"
LARGEST = 256 << 20  # bytes, unpacked: a bundle may come from anybody
T = TypeVar("T")


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
    bot: dict[str, Any]
    croupier_seed: int
    level: str
    evidence: dict[str, Any] | None
    usage: dict[str, Any] | None
    before: list[Step]
    asked: list[Step]
    state: str | None = None  # of the lasting file, in base64


def packed(case: Repro) -> bytes:
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
        *(_by_name(case.player._replace(source="")), case.seed, case.level),
        *(_by_name(case.evidence), _by_name(case.usage)),
        *(steps(case.before), steps(case.asked)),
        None if case.state is None else base64.b64encode(case.state).decode(),
    )
    return gzip.compress(msgspec.json.encode(whole), 6, mtime=0)


def _by_name(values: Any) -> Any:
    """Return a NamedTuple's values by name, those in it too; anything else as it is."""
    if hasattr(values, "_asdict"):
        return {name: _by_name(value) for name, value in values._asdict().items()}
    return values


def _from_names(kind: type[T], told: Mapping[str, Any]) -> T:
    """Return a NamedTuple from what a bundle says by name; what it does not know is as the tuple has it."""
    usual = kind._field_defaults  # type: ignore[attr-defined]  # every kind here is a NamedTuple
    return msgspec.convert([told[name] if name in told else usual[name] for name in kind._fields], kind)  # type: ignore[attr-defined]


def unpacked(path: Path) -> Repro:
    """Return the case of a bundle. Raise Refused when the file is none."""
    try:
        with gzip.open(path) as file:
            text = file.read(LARGEST + 1)
        if len(text) > LARGEST:
            raise ValueError(f"it has more than {LARGEST >> 20} MiB")
        return _case(msgspec.json.decode(text, type=Bundle))
    except (gzip.BadGzipFile, EOFError, zlib.error, LookupError, ValueError, TypeError, msgspec.MsgspecError) as broken:
        hint = "croupier export bundle TABLE -o FILE makes one"
        raise UserError([Problem("R014", str(path), f"is no bundle: {broken}", hint=hint)], 3) from broken
    except OSError as failed:
        raise UserError([Problem("R013", str(path), f"cannot be read: {failed.strerror}")], 2) from failed


def _case(told: Bundle) -> Repro:
    if told.format != SCHEMA:
        raise ValueError(f"its schema is {told.format[:40]!r}, not {SCHEMA!r}")
    if told.game not in GAMES:
        raise ValueError(f"its game is {told.game[:40]!r}, and the games are {', '.join(GAMES)}")
    limits = _from_names(Limits, told.bot["limits"])
    player = _from_names(Player, told.bot | {"limits": limits})
    if player.protocol not in PROTOCOLS:
        raise ValueError(f"its protocol is {player.protocol[:40]!r}, and they are {', '.join(PROTOCOLS)}")
    if limits.clock not in CLOCKS:
        raise ValueError(f"its clock is {limits.clock[:40]!r}, and they are {', '.join(CLOCKS)}")
    game = GAMES[told.game]
    rules = type(next(iter(game.presets.values())))

    def exchanges(steps: Sequence[Step]) -> tuple[Exchange, ...]:
        return tuple(
            Exchange(
                tuple(step.over),
                tuple(RecordedDecision(s.table, s.number, view(s), read_answer(s.answer)) for s in step.asked),
            )
            for step in steps
        )

    def view(said: Said) -> View:
        found: View = msgspec.convert(said.view, game.view)
        if lines((found,)) != said.sent.encode():
            raise ValueError(f"question {said.number} of its table {said.table} is not what its view says")
        return found

    lines = PROTOCOLS[player.protocol].lines
    if not any(step.asked for step in told.asked):
        raise ValueError("it asks nothing")
    return Repro(
        *(told.game, msgspec.convert(list(told.rules.values()), rules), told.fixture, told.table, told.wanted),
        *(player._replace(limits=limits.at_most(MOST)), told.croupier_seed, told.level),
        *(exchanges(told.before), exchanges(told.asked)),
        None if told.evidence is None else _from_names(Evidence, told.evidence),
        None if told.usage is None else _from_names(Usage, told.usage),
        None if told.state is None else base64.b64decode(told.state, validate=True),
    )


MOST = Limits(
    move=3600, startup=3600, cpu=3600, memory=1 << 36, tasks=4096, output=64 << 10, state=1 << 30, files=1 << 30
)
"""What a bundle may grant, whoever has written it."""
