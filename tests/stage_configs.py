"""Create configured stages for tests, and bots of Pazaak that differ in one number."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from host.journal.state import RecordedBot, RunState, StageState
from host.play.records import Record
from host.results.standings import StageStandings, stage_standings
from host.stages import CROUPIERS
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
    config = CROUPIERS.kind(kind).config
    stage: StageConfig = config(**{"name": kind if kind == "independent" else config.name or kind} | plain)
    return stage


def recorded(names: Iterable[str]) -> dict[str, RecordedBot]:
    """Return bots as a journal describes them."""
    return {name: RecordedBot(name, language="c", author="ada") for name in names}


def standings_of(
    stage: StageConfig,
    records: Sequence[Record],
    bots: Mapping[str, RecordedBot],
    run: RunState | None = None,
    **known: Any,
) -> StageStandings:
    """Return the standings of a stage of which the run knows only the given values."""
    return stage_standings(run or RunState(), StageState(stage, **known), records, bots)
