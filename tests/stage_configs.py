"""Create configured stages for tests, and bots of Pazaak that differ in one number."""

from typing import Any

from host.stages import kind_by_name
from host.stages.kind import StageConfig

PAZAAK_BOT = """\
import sys

for line in sys.stdin:
    total = sum(map(int, line.split()[3].split(",")))
    print("END" if total < {limit} else "STAND", flush=True)
"""
"""A bot that stands from a sum of cards on; the text needs `limit`."""


def stage_of(kind: str, **keys: Any) -> StageConfig:
    """Return a stage with some keys. Its name is that of its kind by default; lists become tuples."""
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in keys.items()}
    stage: StageConfig = kind_by_name(kind).config(**{"name": kind} | plain)
    return stage
