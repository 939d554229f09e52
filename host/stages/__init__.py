"""The kinds of stage. Each kind is one object in its own module; no code outside that module depends on its name."""

import contextlib
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from host.base.config_file import without_pydantic
from host.base.errors import Problem, UserError
from host.stages.adhoc import ADHOC
from host.stages.gauntlet import GAUNTLET
from host.stages.groups import GROUPS
from host.stages.kind import OWN_RANKING, Kind, StageConfig
from host.stages.knockout import KNOCKOUT
from host.stages.league import LEAGUE
from host.stages.round_robin import ROUND_ROBIN
from host.stages.swiss import SWISS
from host.stages.tables import TABLES

OWN_CODE_HINT = "-C DIR, where DIR/croupier.toml names its code"

KINDS: dict[str, Kind[Any]] = {
    "tables": TABLES,
    "round-robin": ROUND_ROBIN,
    "knockout": KNOCKOUT,
    "groups": GROUPS,
    "league": LEAGUE,
    "gauntlet": GAUNTLET,
    "swiss": SWISS,
}
"""The kinds that croupier.toml can name. Custom kinds are added when a config names them."""


def kind_by_name(name: str) -> Kind[Any]:
    """Return the kind of stage with this name. Raise UserError (exit code 3) if it is not registered."""
    if name == ADHOC.name:
        return ADHOC
    if name not in KINDS:
        message = f"the stage kind {name} is not known here"
        raise UserError([Problem("C018", "", message, hint=OWN_CODE_HINT)], 3)
    return KINDS[name]


def kind_of(stage: StageConfig) -> Kind[Any]:
    """Return the kind of a configured stage."""
    return kind_by_name(stage.kind)


def references_of(stage: StageConfig) -> tuple[str, ...]:
    """Return the bots that the others play in a stage and that are not ranked; none in most kinds."""
    kind = kind_of(stage)
    return tuple(kind.references(stage)) if kind.references else ()


# Stages in the journal.


def stage_from_json(stored: Any) -> StageConfig:
    """Return a stage as the journal stores it. Raise ValueError if it is not valid."""
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("a stage without a kind")
    kind = kind_by_name(stored["kind"])
    stage: StageConfig = _validated(kind, stored)
    if not stage.name:
        raise ValueError("a stage without a name")
    return stage


def _validated(kind: Kind[Any], stored: Mapping[str, Any]) -> Any:
    """Return a stored stage. Raise UserError if it names a ranking of an organiser that has not been loaded."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        return without_pydantic(kind.config, stored)
    from pydantic import ValidationError

    try:
        return _reader(kind).validate_python(stored)
    except ValidationError as wrong:
        for error in wrong.errors():
            if error["loc"][0] == "rank_by" and re.fullmatch(OWN_RANKING, str(error["input"])):
                message = f"the ranking {error['input']} is not known here"
                raise UserError([Problem("C018", "", message, hint=OWN_CODE_HINT)], 3) from wrong
        raise


@cache
def _reader(kind: Kind[Any]) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind.config)
