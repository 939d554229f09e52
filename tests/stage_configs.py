"""Configured stages for tests, by the word of their kind."""

from typing import Any

from host.tournament.stages import kind_by_name
from host.tournament.stages.kind import StageConfig


def stage_of(kind: str, **keys: Any) -> StageConfig:
    """Return a stage of a kind, called as the kind is unless `keys` has a name; lists become tuples."""
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    stage: StageConfig = kind_by_name(kind).config(**{"name": kind} | plain)
    return stage
