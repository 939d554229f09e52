"""What a journal must say of its run, its bots and its fixtures before anybody builds on it: files come from strangers."""

import json
from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from host.sandbox.levels import Level
from host.tournament.stages import stages_of

REQUIRED = ("game", "name", "level", "state", "seed_sha256")
"""What is known of every run of which anything has been played."""


class Configured(TypedDict, total=False):
    """The config, as far as pages and standings build on it."""

    seed: str
    limits: dict[str, Any]
    rules: dict[str, Any]


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


SHAPES: Mapping[str, Any] = {"config": Configured}
"""The facts of a run that are JSON, and what must be in them; beside them orders of bots, stage by stage."""


def schema_error(facts: Mapping[str, Any], played: bool) -> str:
    """Return what a run's facts lack, or say illegibly; empty where they are as they must be."""
    if lacking := [key for key in REQUIRED if played and key not in facts]:
        return f"it does not say its run's {lacking[0]}"
    if "level" in facts and facts["level"] not in set(Level):
        return f"its run's level is none of {', '.join(Level)}"
    for key, value in facts.items():
        if not isinstance(value, str):
            return f"its run's {key} is no text"
        shape = list[str] if key.startswith(("order ", "field ")) else SHAPES.get(key)
        if shape is not None and (what := json_error(value, shape)):
            return f"its run's {key}: {what}"
    try:
        stages_of(facts)
    except (ValueError, RecursionError) as wrong:  # pydantic's errors are ValueErrors, and so are json's
        return f"its run's stages: {wrong}"
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
