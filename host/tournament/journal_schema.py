"""What a journal must say of its run, its bots and its fixtures before anybody builds on it: files come from strangers."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

REQUIRED = ("game", "name", "level", "state", "seed_sha256")
"""What is known of every run of which anything has been played."""


class StageRow(TypedDict):
    """A stage, as its run has noted it."""

    name: str
    kind: str
    rank_by: list[str]
    advance: NotRequired[int]
    mirror: NotRequired[bool]


Many = Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]


class Tables(msgspec.Struct, tag_field="kind", tag="tables"):
    """A stage's own settings, as far as pages tell from them what is still due; so in the kinds that follow."""

    name: str
    tourneys: Many
    rounds: Many
    mirror: bool


class RoundRobin(msgspec.Struct, tag_field="kind", tag="round-robin"):
    """Every pair meets."""

    name: str
    tables_per_pair: Many
    mirror: bool


class Knockout(msgspec.Struct, tag_field="kind", tag="knockout"):
    """A bracket of sets."""

    name: str
    set: Many
    first_to: Many
    mirror: bool


class Groups(msgspec.Struct, tag_field="kind", tag="groups"):
    """Groups, of which the best go on."""

    name: str


class Configured(TypedDict, total=False):
    """The config, as far as pages and standings build on it."""

    seed: str
    limits: dict[str, Any]
    rules: dict[str, Any]
    stage: list[Tables | RoundRobin | Knockout | Groups]


class LimitsRow(TypedDict, total=False):
    """A bot's limits, as far as pages build on them."""

    move: float


class BotRow(TypedDict, total=False):
    """A bot, as far as pages build on what it says of itself."""

    author: str
    protocol: str
    limits: LimitsRow


class Kept(TypedDict):
    """A fixture, as far as pages build on it before they play it again."""

    game: str
    path: str
    rules: dict[str, Any]
    bots: list[str]
    first: int


SHAPES: Mapping[str, Any] = {"stages": list[StageRow], "config": Configured, "mirror": bool}
"""The facts of a run that are JSON, and what must be in them; beside them orders of bots, stage by stage."""


def stages_of(facts: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return name, kind and rank_by of each stage; games outside a tournament are one stage, `play`."""
    stages: list[dict[str, Any]] = json.loads(facts.get("stages", "[]"))
    mirror = json.loads(facts.get("mirror", "false"))
    return stages or [{"name": "play", "kind": "independent", "rank_by": [], "mirror": mirror}]


def schema_error(facts: Mapping[str, Any], played: bool) -> str:
    """Return what a run's facts lack, or say illegibly; empty where they are as they must be."""
    if lacking := [key for key in REQUIRED if played and key not in facts]:
        return f"it does not say its run's {lacking[0]}"
    for key, value in facts.items():
        if not isinstance(value, str):
            return f"its run's {key} is no text"
        shape = list[str] if key.startswith(("order ", "field ")) else SHAPES.get(key)
        if shape is not None and (what := json_error(value, shape)):
            return f"its run's {key}: {what}"
    for key in ("began", "committed"):
        try:
            float(facts.get(key) or 0)
        except ValueError:
            return f"its run's {key} is no time"
    return ""


def json_error(text: Any, shape: Any) -> str:
    """Return why a text is no JSON of this shape; empty when it is."""
    if not isinstance(text, str):
        return "no text"
    try:
        msgspec.convert(json.loads(text), shape)
    except (ValueError, RecursionError) as wrong:  # msgspec's errors are ValueErrors, and so are json's
        return str(wrong) or "illegible"
    return ""
