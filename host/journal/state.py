"""Defines the state of a run: its terms, its stages and its bots. Only the journal reads and writes these values."""

import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, get_type_hints
from urllib.parse import quote, unquote_to_bytes

import msgspec

from host.base.counts import MAX_COUNT, Count
from host.bots.bot_spec import BuiltBot
from host.games.luck import bound_root
from host.journal.chain import canonical
from host.journal.changes import Change, withdrawn
from host.journal.descriptions import stored_value
from host.sandbox.levels import UNPROTECTED, Level
from host.sandbox.limits import Limits
from host.stages import Registry, stage_from_json
from host.stages.kind import SkippedStage, StageConfig
from protocols import PROTOCOLS

_AMOUNTS: Mapping[Any, Any] = {float: Annotated[float, msgspec.Meta(ge=0, le=MAX_COUNT)], int: Count}
_LIMIT_TYPES = {name: _AMOUNTS.get(kind, kind) for name, kind in get_type_hints(Limits).items() if name != "models"}
"""The types of the limits that a journal or a bundle can have, by the names of the limits.

`models` is left out: a stranger's file must not name an address, nor the environment variable with the key for it.
"""


class RunStatus(StrEnum):
    """Status of a run: a process plays it, no process plays it, or all stages have been played."""

    RUNNING = "running"
    INTERRUPTED = "interrupted"
    FINISHED = "finished"


class StageStatus(StrEnum):
    """Progress of a stage."""

    WAITING = "waiting"
    RUNNING = "running"
    FINISHED = "finished"
    SKIPPED = "skipped"


class Withdrawn(NamedTuple):
    """The bots that are withdrawn from a stage.

    `before` are the bots that are withdrawn at the first fixture of the stage. `during` are the bots that are withdrawn
    at the first fixture of a later stage; if no later stage has begun, the bots that are withdrawn now.
    A withdrawal after the next stage has begun does not change the bots of the next stage.
    """

    before: Collection[str] = frozenset()
    during: Collection[str] = frozenset()


NOBODY = Withdrawn()


@dataclass(frozen=True)
class StageState:
    """State of a stage. `places` are the bots in their final order, best first; empty until the stage ends."""

    config: StageConfig
    status: StageStatus = StageStatus.WAITING
    field: Sequence[str] = ()  # the bots at its beginning, best first if an earlier stage has ranked them
    places: Sequence[str] = ()
    known: int = 0  # fixtures played and due
    withdrawn: Withdrawn = NOBODY

    @property
    def name(self) -> str:
        """Return the name of the stage."""
        return self.config.name

    @property
    def over(self) -> bool:
        """Whether the stage has been played to its end."""
        return self.status is StageStatus.FINISHED

    def bots(self, entered: Iterable[str]) -> list[str]:
        """Return the bots that take part. Until the journal has recorded them, return all entered bots."""
        return list(self.field or entered)


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a run's results depend on, besides game and stages. They are fixed when the run begins."""

    seed: str = "random"  # the seed in croupier.toml; "random" if it is drawn
    bind_seed: bool = False
    preset: str = ""
    rules: dict[str, Any] = {}  # by the keys of croupier.toml
    limits: dict[str, str | int | float] = {}  # of a bot, with their units
    max_faults: int = 0  # of a bot in a stage; 0: no limit
    pondering: bool = False
    stop_early: bool = False  # a pair ends as soon as its order is certain
    referee: str = ""  # the SHA-256 of its program and its game.toml without limits; empty if the game has none

    def settings(self, game: str, stages: Iterable[StageConfig]) -> dict[str, Any]:
        """Return the terms, a game and stages as JSON values with the keys of croupier.toml."""
        return (
            {
                "game": game,
                "seed": self.seed,
                "rules": {"preset": self.preset} | self.rules,
                "stage": [{key: plain(value) for key, value in asdict(stage).items()} for stage in stages],
                "limits": self.limits | ({"max_faults": self.max_faults} if self.max_faults else {}),
                "sandbox": {"pondering": self.pondering},
                "run": {"stop_early": self.stop_early},
            }
            | ({"bind_seed": True} if self.bind_seed else {})
            | ({"referee": self.referee} if self.referee else {})
        )


def plain(value: Any) -> Any:
    """Return a tuple as a list, as JSON has it. Return any other value unchanged."""
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class RunState:
    """State of a run: its settings, its status, its stages and its changes."""

    name: str = ""
    game: str = ""
    level: Level = UNPROTECTED
    status: RunStatus = RunStatus.INTERRUPTED
    seed_sha256: str = ""
    seed: bytes | None = None  # of a run that does not keep it secret
    bound: str = ""  # the digest of the bots to which the seed is bound, in hexadecimal; empty if it is not bound
    committed: float | None = None  # when the seed was fixed before the run, in seconds since 1970
    terms: Terms | None = None  # None: a game outside a tournament
    guests: Sequence[str] = ()  # bots that play only as references
    parallel_tables: int = 0
    workers: str = ""  # their number, and their cores
    version: str = ""  # of croupier
    machine: str = ""
    began: float | None = None  # in seconds since 1970
    stages: Sequence[StageState] = ()
    changes: Sequence[Change] = ()

    @property
    def finished(self) -> bool:
        """Whether all stages have been played."""
        return self.status is RunStatus.FINISHED

    @property
    def withdrawn(self) -> frozenset[str]:
        """Return the names of the bots that are withdrawn now."""
        return frozenset(withdrawn(self.changes))

    @property
    def max_faults(self) -> int:
        """Return the maximum number of faults of a bot in a stage; 0 if there is no limit."""
        return self.terms.max_faults if self.terms else 0

    @property
    def stop_early(self) -> bool:
        """Whether a pair ends as soon as its order is certain."""
        return self.terms is not None and self.terms.stop_early

    @property
    def chosen_seed(self) -> str:
        """Return the seed in croupier.toml; "random" if croupier draws it."""
        return self.terms.seed if self.terms else "random"

    @property
    def configs(self) -> list[StageConfig]:
        """Return the configurations of the stages, in their order."""
        return [stage.config for stage in self.stages]

    @property
    def skipped(self) -> list[SkippedStage]:
        """Return the stages that were skipped because too few bots reached them."""
        return [
            SkippedStage(stage.config, len(stage.field)) for stage in self.stages if stage.status is StageStatus.SKIPPED
        ]

    def stage(self, name: str) -> StageState:
        """Return the stage with this name. Raise KeyError if there is none."""
        return {stage.name: stage for stage in self.stages}[name]

    def with_stages(self, *configs: StageConfig) -> "RunState":
        """Return the state with stages of these configs. A stage with a known name keeps its status, bots and places."""
        known = {stage.name: stage for stage in self.stages}
        stages = (
            replace(before, config=config.as_begun(before.config))
            if (before := known.get(config.name))
            else StageState(config)
            for config in configs
        )
        return replace(self, stages=tuple(stages))

    def root(self, seed: bytes) -> bytes:
        """Return the bytes from which all cards and draws follow: the seed, or the seed bound to the entered bots."""
        return bound_root(seed, bytes.fromhex(self.bound)) if self.bound else seed

    def settings(self) -> dict[str, Any]:
        """Return the settings that results depend on, by the keys of croupier.toml; {} outside a tournament."""
        return self.terms.settings(self.game, self.configs) if self.terms else {}

    def sealed(self) -> dict[str, Any]:
        """Return the values that are sealed when the run begins: everything fixed by then on which the results depend.

        A seed in croupier.toml stays secret; its hash is sealed.
        """
        secret = {} if self.chosen_seed == "random" else {"seed": "chosen"}
        return {
            "name": self.name,
            "game": self.game,
            "level": str(self.level),
            "seed_sha256": self.seed_sha256,
            "committed": self.committed,
            "began": self.began,
            "config": self.settings() | secret,
            "stages": [asdict(config) for config in self.configs],
            "guests": [*self.guests],
            "parallel_tables": self.parallel_tables,
            "workers": self.workers,
            "version": self.version,
            "machine": self.machine,
        } | ({"bound": self.bound} if self.bound else {})


class RecordedBot(NamedTuple):
    """A bot as a journal describes it, with all values needed to ask the bot again."""

    name: str
    sha256: str = ""
    language: str = ""
    author: str = ""
    protocol: str = ""
    limits: Limits = Limits()
    parallel_tables: int = 1
    table_ids: bool = False
    lifetime: str = "fixture"
    state: str = ""
    state_lifetime: str = "fixture"
    source: str = ""  # its original folder, if known

    @classmethod
    def of(cls, bot: BuiltBot, source: str = "") -> "RecordedBot":
        """Return the description of a built bot for a journal. `source` is its original folder, if known."""
        spec = bot.spec
        return cls(
            name=bot.name,
            sha256=bot.sha256,
            language=spec.language,
            author=spec.author,
            protocol=spec.protocol,
            limits=bot.limits._replace(models=()),  # a journal has no addresses of models
            parallel_tables=spec.parallel_tables,
            table_ids=spec.table_ids,
            lifetime=spec.process_lifetime,
            state=spec.state,
            state_lifetime=spec.state_lifetime,
            source=source,
        )

    @property
    def remembers(self) -> bool:
        """Whether an earlier question can change an answer of the bot."""
        return PROTOCOLS[self.protocol].persistent or bool(self.state)

    @property
    def is_sent_history(self) -> bool:
        """Whether croupier sends a new process of the bot the earlier questions of the table and the bot's answers."""
        return PROTOCOLS[self.protocol].repeats

    @property
    def one_at_a_time(self) -> bool:
        """Whether the bot plays one table at a time, so that the order of its questions is known."""
        return self.parallel_tables == 1 or self.lifetime != "fixture" or bool(self.state)

    @property
    def lasting(self) -> bool:
        """Whether the bot keeps its state file from one fixture to the next."""
        return self.state_lifetime == "stage"

    def row(self) -> tuple[str, str, str, str]:
        """Return the bot's row in the journal: name, sha256, language, and all other values as JSON."""
        about = {key: getattr(self, key) for key in _About.__struct_fields__} | {"limits": self.limits.by_name()}
        about["source"] = quote(os.fsencode(self.source))  # it may contain any bytes
        if not self.source:
            del about["source"]
        return self.name, self.sha256, self.language, canonical(about)


class _About(msgspec.Struct):
    """The last column of a bot's row. Keys with their default value may be absent."""

    author: str = ""
    protocol: str = ""
    parallel_tables: int = 1
    table_ids: bool = False
    lifetime: str = "fixture"
    state: str = ""
    state_lifetime: str = "fixture"
    limits: dict[str, Any] = {}
    source: str = ""


def limits_from_names(values: Any) -> Limits:
    """Return limits from their values by name. Raise ValueError or LookupError if one is no limit, or cannot be named."""
    named = msgspec.convert(values, dict[str, Any])
    limits = Limits(**{key: msgspec.convert(value, _LIMIT_TYPES[key]) for key, value in named.items()})
    if not limits.move:
        raise ValueError("a bot has no time for an answer")
    return limits


def bot_from_row(name: Any, sha256: Any, language: Any, about: Any) -> RecordedBot:
    """Return a bot from its row in the journal. Raise ValueError or LookupError if the row is damaged."""
    texts = msgspec.convert((name, sha256, language), tuple[str, str, str])
    stored = msgspec.structs.asdict(stored_value(about, _About))
    limits = limits_from_names(stored["limits"])
    source = os.fsdecode(unquote_to_bytes(stored["source"]))
    return RecordedBot(*texts, **stored | {"limits": limits, "source": source})


# The rows of the journal.

DIGEST_BYTES = 32

REQUIRED = ("name", "game", "level", "status", "seed_sha256")
"""The keys that the state of a run must have once a fixture has been played."""

JSON_KEYS: Mapping[str, Any] = {"terms": Terms, "guests": list[str]}


class StageRow(NamedTuple):
    """A stage as a row of the journal: its lists and its config are JSON."""

    name: str
    number: int  # from 0
    config: str
    status: str
    field: str
    places: str
    known: int


def run_rows(state: RunState) -> dict[str, str]:
    """Return the values of a run's state as texts, by the keys of the rows. Stages and changes are not included."""
    seed = {} if state.seed is None else {"seed": state.seed.hex()}
    terms = {} if state.terms is None else {"terms": json.dumps(msgspec.structs.asdict(state.terms))}
    known = {key: getattr(state, key) for key in RUN_KEYS if key not in ("seed", *JSON_KEYS)}
    texts = {key: str(value) for key, value in known.items() if value is not None}
    return texts | terms | {"guests": json.dumps(list(state.guests))} | seed


def stage_rows(state: RunState) -> list[StageRow]:
    """Return the rows of the stages of a run."""
    return [
        StageRow(
            name=stage.name,
            number=number,
            config=json.dumps(asdict(stage.config)),
            status=stage.status,
            field=json.dumps(list(stage.field)),
            places=json.dumps(list(stage.places)),
            known=stage.known,
        )
        for number, stage in enumerate(state.stages)
    ]


def run_from_rows(
    run: Mapping[Any, Any], stages: Iterable[Sequence[Any]], registry: Registry, *, played: bool
) -> RunState:
    """Return the state of a run from its rows. `registry` has the games, kinds of stage and rankings that they name.

    `played`: whether a fixture has been recorded. Raise ValueError with the reason if the rows are damaged.
    """
    if lacking := [key for key in REQUIRED if played and key not in run]:
        raise ValueError(f"its run's {lacking[0]} is missing")
    found = {key: _run_value(key, value) for key, value in run.items() if key in RUN_KEYS}
    state = RunState(**found)
    return replace(state, stages=tuple(_stage(StageRow._make(row), registry) for row in stages))


def _run_value(key: str, text: Any) -> Any:
    """Return the value of a row of the run. Raise ValueError with the reason if it is damaged."""
    if not isinstance(text, str):
        raise ValueError(f"its run's {key} is not text")
    if key == "level" and text not in set(Level):
        raise ValueError(f"its run's level is not one of {', '.join(Level)}")
    try:
        if key == "bound" and len(bytes.fromhex(text)) not in (0, DIGEST_BYTES):
            raise ValueError("it is not a digest")
        if key == "seed":
            return bytes.fromhex(text)
        if key in JSON_KEYS:
            return stored_value(text, JSON_KEYS[key])
        return msgspec.convert(text, RUN_KEYS[key], strict=False)
    except ValueError as wrong:  # msgspec's errors are ValueErrors, and so are json's
        raise ValueError(f"its run's {key}: {wrong}") from wrong


def _stage(row: StageRow, registry: Registry) -> StageState:
    """Return the state of a stage from its row. Raise ValueError with the reason if it is damaged."""
    try:
        known, status = msgspec.convert(row.known, int), msgspec.convert(row.status, StageStatus)
        bots, places = (stored_value(text, tuple[str, ...]) for text in (row.field, row.places))
        config = stage_from_json(stored_value(row.config, Any), registry)
        if config.name != row.name:
            raise ValueError(f"{row.name!r} is named {config.name!r}")
    except ValueError as wrong:
        raise ValueError(f"its run's stages: {wrong}") from wrong
    return StageState(config=config, status=status, field=bots, places=places, known=known)


RUN_KEYS: Mapping[str, Any] = {
    key: value for key, value in get_type_hints(RunState).items() if key not in ("stages", "changes")
}
