"""The kinds of stage. Each kind is one object in its own module; no code outside that module depends on its name."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from host.base.errors import Problem, UserError
from host.tournament.stages.adhoc import ADHOC
from host.tournament.stages.groups import GROUPS
from host.tournament.stages.kind import Kind, StageConfig
from host.tournament.stages.knockout import KNOCKOUT
from host.tournament.stages.round_robin import ROUND_ROBIN
from host.tournament.stages.tables import TABLES

KINDS: dict[str, Kind[Any]] = {
    "tables": TABLES,
    "round-robin": ROUND_ROBIN,
    "knockout": KNOCKOUT,
    "groups": GROUPS,
}
"""The kinds that croupier.toml can name. Custom kinds are added when a config names them."""


def kind_by_name(name: str) -> Kind[Any]:
    """Return the kind of stage with this name. Raise UserError (exit code 3) if it is not registered."""
    if name == ADHOC.name:
        return ADHOC
    if name not in KINDS:
        message, hint = f"the stage kind {name} is not known here", "-C DIR, where DIR/croupier.toml names its code"
        raise UserError([Problem("C018", "", message, hint=hint)], 3)
    return KINDS[name]


def kind_of(stage: StageConfig) -> Kind[Any]:
    """Return the kind of a configured stage."""
    return kind_by_name(stage.kind)


# Stages in the journal.


def stages_to_json(*stages: StageConfig) -> str:
    """Return configured stages as the JSON text that the journal stores."""
    return json.dumps([asdict(stage) for stage in stages])


def stages_of(metadata: Mapping[str, str]) -> list[StageConfig]:
    """Return the stages of a run from its metadata. Raise ValueError if they are not valid."""
    stages = json.loads(metadata.get("stages", "[]"))
    if not isinstance(stages, list):
        raise ValueError("not a list")
    return [_stage(stage) for stage in stages]


def _stage(stored: Any) -> StageConfig:
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("a stage without a kind")
    kind = kind_by_name(stored["kind"])
    stage: StageConfig = _reader(kind).validate_python(stored)
    if not stage.name:
        raise ValueError("a stage without a name")
    return stage


@cache
def _reader(kind: Kind[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind.config)
