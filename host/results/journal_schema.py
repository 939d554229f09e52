"""Validates what a journal says about its run, bots and fixtures before it is used: journals are not trusted."""

import json
from collections.abc import Mapping
from typing import Any, TypedDict

import msgspec

from host.base.config_file import OwnName
from host.sandbox.levels import Level
from host.stages import Registry, stages_of

REQUIRED = ("game", "name", "level", "state", "seed_sha256")
"""The metadata that every run has once a fixture has been played."""


class Configured(TypedDict, total=False):
    """The part of the config that pages and standings use."""

    seed: str
    limits: dict[str, Any]
    rules: dict[str, Any]


class LimitsRow(TypedDict, total=False):
    """The part of a bot's limits that pages use."""

    move: float
    bank: tuple[float, str]
    increment: float
    floor: float


class BotRow(TypedDict, total=False):
    """The part of a bot's description that pages use."""

    author: str
    protocol: str
    limits: LimitsRow


class Kept(TypedDict):
    """The part of a fixture's description that pages use before they replay it."""

    game: str
    path: str
    rules: dict[str, Any]
    bots: list[str]
    first: int


SHAPES: Mapping[str, Any] = {"config": Configured}
"""The metadata of a run that is JSON, with its types. The orders of bots of each stage are JSON too."""


def schema_error(facts: Mapping[str, Any], played: bool, registry: Registry) -> str:
    """Return what is missing or malformed in the metadata of a run; empty if nothing is."""
    if lacking := [key for key in REQUIRED if played and key not in facts]:
        return f"its run's {lacking[0]} is missing"
    if "level" in facts and facts["level"] not in set(Level):
        return f"its run's level is not one of {', '.join(Level)}"
    for key, value in facts.items():
        if not isinstance(value, str):
            return f"its run's {key} is not text"
        shape = list[str] if key.startswith(("order ", "field ")) else SHAPES.get(key)
        if shape is not None and (what := json_error(value, shape)):
            return f"its run's {key}: {what}"
    try:
        stages_of({"stages": OwnName.carrying(facts.get("stages", "[]"), "", registry)})
    except (ValueError, RecursionError) as wrong:  # pydantic's errors are ValueErrors, and so are json's
        return f"its run's stages: {wrong}"
    for key in ("began", "committed"):
        try:
            float(facts.get(key) or 0)
        except ValueError:
            return f"its run's {key} is not a time"
    return ""


def json_error(text: Any, shape: Any) -> str:
    """Return why a text is not JSON of this type; empty if it is."""
    if not isinstance(text, str):
        return "no text"
    try:
        msgspec.convert(json.loads(text), shape)
    except (ValueError, RecursionError) as wrong:  # msgspec's errors are ValueErrors, and so are json's
        return str(wrong) or "illegible"
    return ""
