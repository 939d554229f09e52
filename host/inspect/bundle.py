"""Write and read bundles: a bundle is one file with all data to ask a question again elsewhere (docs/export.md)."""

import base64
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from host import __version__
from host.base.bounded_zlib import MAX_UNPACKED_BYTES
from host.base.errors import Problem, UserError
from host.base.system_errors import file_problem
from host.bots.values import Evidence
from host.games import GAMES
from host.games.engine import Game
from host.inspect.recorded import Decision
from host.inspect.repro import History, Repro
from host.journal.state import RecordedBot, limits_from_names
from host.play.records import read_answer, spelled_answer
from host.rules.catalogue import of_library
from host.sandbox.levels import Level
from host.sandbox.limits import MAX_RETRIES, Bank, Limits
from host.stages import CROUPIERS, Registry
from protocols import PROTOCOLS
from protocols.strict_json import read_json
from protocols.wire import Protocol, View

BUNDLE_SCHEMA = "croupier/bundle/2"
T = TypeVar("T")

MAX_LIMITS = Limits(
    move=3600,
    startup=3600,
    cpu=3600,
    memory=1 << 36,
    tasks=4096,
    output=64 << 10,
    state=1 << 30,
    files=1 << 30,
    bank=Bank(3600.0),
    increment=3600,
    retries=MAX_RETRIES,
)
"""The highest limits that a bundle can set. A bundle can come from anybody, so it must not set higher limits."""


class BundledQuestion(msgspec.Struct):
    """One question of a bundle: the text that the bot was sent, the view that it encodes, and the bot's answer."""

    table: int
    number: int
    seat: int
    sent: str
    view: list[Any]
    answer: str
    allowed: bool = True
    bank: int | None = None  # milliseconds left in the bot's time bank


class Bundle(msgspec.Struct, rename={"format": "schema"}):
    """A bundle as its file stores it: JSON, compressed with gzip."""

    format: str
    croupier: str
    game: str
    rules: dict[str, Any]
    fixture: str
    table: str
    bot: dict[str, Any]
    croupier_seed: int
    level: Level
    history: History
    before: list[BundledQuestion]
    asked: list[BundledQuestion]
    evidence: dict[str, Any] | None = None
    state: str | None = None  # the content of the state file, in base64


def packed(repro: Repro) -> bytes:
    """Return the bytes of a bundle with this repro. They contain no path of this machine."""
    protocol = PROTOCOLS[repro.bot.protocol]
    described = repro.bot._replace(source="")._asdict() | {"limits": repro.bot.limits.by_name()}
    bundle = Bundle(
        format=BUNDLE_SCHEMA,
        croupier=__version__,
        game=repro.game.name,
        rules=repro.rules._asdict(),
        fixture=repro.fixture,
        table=repro.table,
        bot={key: value for key, value in described.items() if key not in ("language", "author")},
        croupier_seed=repro.croupier_seed,
        level=repro.level,
        history=repro.history,
        before=[_question(decision, protocol) for decision in repro.before],
        asked=[_question(decision, protocol) for decision in repro.asked],
        evidence=repro.evidence._asdict() if repro.evidence else None,
        state=None if repro.state is None else base64.b64encode(repro.state).decode(),
    )
    return gzip.compress(msgspec.json.encode(bundle), 6, mtime=0)


def unpacked(path: Path, registry: Registry = CROUPIERS) -> Repro:
    """Return the repro in a bundle. Raise UserError if the file cannot be read, or is not a bundle."""
    try:
        with gzip.open(path) as file:
            text = file.read(MAX_UNPACKED_BYTES + 1)
        if len(text) > MAX_UNPACKED_BYTES:
            raise ValueError(f"it has more than {MAX_UNPACKED_BYTES >> 20} MiB")
        return _repro(msgspec.convert(read_json(text), Bundle), registry)
    except (gzip.BadGzipFile, EOFError, zlib.error, LookupError, ValueError, TypeError, msgspec.MsgspecError) as broken:
        hint = "croupier export bundle TABLE -o FILE makes one"
        raise UserError([Problem("R014", str(path), f"is not a bundle: {broken}", hint=hint)], 3) from broken
    except OSError as failed:
        raise UserError([file_problem("read", path, failed)], 2) from failed


def _question(decision: Decision, protocol: Protocol) -> BundledQuestion:
    return BundledQuestion(
        table=decision.table,
        number=decision.number,
        seat=decision.seat,
        sent=protocol.encode(decision.view).decode(),
        view=list(decision.view),
        answer=spelled_answer(decision.answer),
        allowed=decision.allowed,
        bank=decision.bank,
    )


def _repro(bundle: Bundle, registry: Registry) -> Repro:
    _refuse_unknown("schema", bundle.format, [BUNDLE_SCHEMA])
    if registry.known_game(bundle.game) is None and not of_library(bundle.game):
        _refuse_unknown("game", bundle.game, GAMES)
    limits = limits_from_names(bundle.bot["limits"])
    bot = _from_names(RecordedBot, bundle.bot | {"limits": limits})
    _refuse_unknown("protocol", bot.protocol, PROTOCOLS)
    if not bundle.asked:
        raise ValueError("it asks nothing")
    game, protocol = registry.game(bundle.game), PROTOCOLS[bot.protocol]
    return Repro(
        game=game,
        rules=_from_names(type(game.default_rules), bundle.rules),
        fixture=bundle.fixture,
        table=bundle.table,
        bot=bot._replace(limits=limits.at_most(MAX_LIMITS)),
        croupier_seed=bundle.croupier_seed,
        level=bundle.level,
        asked=_decisions(bundle.asked, game, protocol),
        before=_decisions(bundle.before, game, protocol),
        history=bundle.history,
        evidence=None if bundle.evidence is None else _from_names(Evidence, bundle.evidence),
        state=None if bundle.state is None else base64.b64decode(bundle.state, validate=True),
    )


def _refuse_unknown(what: str, value: str, known: Sequence[str] | Mapping[str, object]) -> None:
    if value not in known:
        raise ValueError(f"its {what} is {value[:40]!r}, not one of {', '.join(known)}")


def _decisions(questions: Sequence[BundledQuestion], game: Game, protocol: Protocol) -> tuple[Decision, ...]:
    return tuple(
        Decision(
            table=question.table,
            number=question.number,
            seat=question.seat,
            view=_view(question, game, protocol),
            answer=read_answer(question.answer),
            allowed=question.allowed,
            bank=_bank(question),
        )
        for question in questions
    )


def _bank(question: BundledQuestion) -> int | None:
    if question.bank is not None and not 0 <= question.bank <= MAX_LIMITS.bank.seconds * 1000:
        raise ValueError(
            f"question {question.number} of its table {question.table} has a time bank of {question.bank} ms"
        )
    return question.bank


def _view(question: BundledQuestion, game: Game, protocol: Protocol) -> View:
    view: View = msgspec.convert(question.view, game.view)
    if protocol.encode(view) != question.sent.encode():
        raise ValueError(f"question {question.number} of its table {question.table} is not what its view says")
    return view


def _from_names(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a NamedTuple from values by name. A missing value gets the default of its field."""
    usual = kind._field_defaults  # type: ignore[attr-defined]  # every kind here is a NamedTuple
    fields = kind._fields  # type: ignore[attr-defined]
    return msgspec.convert([values[name] if name in values else usual[name] for name in fields], kind)
