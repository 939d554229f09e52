"""Create configured stages for tests."""

from typing import Any

from host.tournament.stages import kind_by_name
from host.tournament.stages.kind import StageConfig


def stage_of(kind: str, **keys: Any) -> StageConfig:
    """Return a stage with some keys. Its name is that of its kind by default; lists become tuples."""
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    stage: StageConfig = kind_by_name(kind).config(**{"name": kind} | plain)
    return stage
