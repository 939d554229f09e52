"""Compares the settings that results depend on. A run may continue only if none of them has changed."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from host.base.config_file import to_toml
from host.submissions.bot_spec import UNITLESS_LIMITS, format_limit
from host.tournament.config import Tournament


def canonical(tournament: Tournament) -> dict[str, Any]:
    """Return the settings that results depend on, as JSON values. Equal values play the same."""
    return {
        "game": tournament.game,
        "seed": tournament.seed,
        "rules": {"preset": tournament.preset}
        | {key: _plain(value) for key, value in tournament.rules._asdict().items()},
        "stage": [{key: _plain(value) for key, value in asdict(stage).items()} for stage in tournament.stages],
        "limits": {
            key: value if key in UNITLESS_LIMITS else format_limit(value)
            for key, value in tournament.limits._asdict().items()
        },
        "sandbox": {"pondering": tournament.pondering},
        "run": {"stop_early": tournament.stop_early},
    }


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the keys that differ between two canonical forms: "[limits] move: 1 s → 2 s"; empty if none does."""
    before, after = _leaves(old), _leaves(new)
    changes = [
        f"{key}: {_told(before, key)} → {_told(after, key)}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]
    if not changes and old != new:
        changes = ["the order of the stages"]
    return "; ".join(changes[:3]) + (f"; and {len(changes) - 3} more" if len(changes) > 3 else "")


def _leaves(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return each value by its readable name. A stage is identified by its name, not by its position."""
    leaves: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, list):
            for table in value:
                leaves |= {
                    f'[[{key}]] "{table["name"]}" {inner}': each for inner, each in table.items() if inner != "name"
                }
        elif isinstance(value, Mapping):
            leaves |= {f"[{key}] {inner}": each for inner, each in value.items()}
        else:
            leaves[key] = value
    return leaves


def _told(leaves: Mapping[str, Any], key: str) -> str:
    if key not in leaves:
        return "none"
    value = leaves[key]
    return value if isinstance(value, str) else to_toml(value)
