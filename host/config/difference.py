"""Compares the settings that results depend on. A run may continue only if none of them has changed."""

from collections.abc import Mapping
from typing import Any

from host.base.toml_file import to_toml
from host.bots.bot_spec import UNITLESS_LIMITS, format_limit
from host.config.tournament_config import Tournament
from host.journal.state import Terms, plain
from host.rules.catalogue import ref_of
from host.sandbox.limits import BANK_KEYS


def terms_of(tournament: Tournament) -> Terms:
    """Return the terms of a tournament. Tournaments with equal terms, games, stages and bots have the same results."""
    sha256 = ""
    if ref_of(tournament.game).has_referee:
        from host.submissions.referees import referee_hash  # only these games need it

        sha256 = referee_hash(tournament.game)
    return Terms(
        seed=tournament.seed,
        bind_seed=tournament.bind_seed,
        preset=tournament.preset,
        rules={key: plain(value) for key, value in tournament.rules._asdict().items()},
        limits={
            key: value if key in UNITLESS_LIMITS else format_limit(value)
            for key, value in tournament.limits.by_name().items()
            if value or key not in BANK_KEYS
        },
        max_faults=tournament.max_faults,
        pondering=tournament.sandbox.pondering,
        stop_early=tournament.run.stop_early,
        referee=sha256,
    )


def result_settings(tournament: Tournament) -> dict[str, Any]:
    """Return the settings that results depend on, as JSON values with the keys of croupier.toml."""
    return terms_of(tournament).settings(tournament.game.name, tournament.stages)


def settings_of(tournament: Tournament) -> dict[str, Any]:
    """Return all settings, by the keys of croupier.toml. A file with these settings defines the same tournament."""
    settings = result_settings(tournament)
    if tournament.season:
        del settings["seed"]  # a season draws its own, and people hand in the bots
    rules = {key: value for key, value in settings["rules"].items() if not isinstance(value, list)}
    settings.pop("referee", None)  # croupier.toml names the folder
    return (
        settings
        | {
            "game": ref_of(tournament.game).said or tournament.game.name,
            "name": tournament.name,
            **({} if tournament.season else {"bots": list(tournament.bots)}),
            "rules": rules,
            "stage": [_as_said(tournament, stage) | _invited(tournament, stage) for stage in settings["stage"]],
            "sandbox": {
                "level": tournament.level,
                "pondering": tournament.sandbox.pondering,
                "warm": tournament.sandbox.warm,
            },
            "run": {
                "workers": tournament.run.workers or "auto",
                "stop_early": tournament.run.stop_early,
                "placement": tournament.run.placement,
            }
            | ({"parallel_tables": tournament.run.parallel_tables} if tournament.run.parallel_tables else {})
            | ({"cluster": tournament.run.cluster} if tournament.run.cluster else {}),
            "report": {"html": tournament.html},
        }
        | ({"season": tournament.season.settings()} if tournament.season else {})
    )


def _as_said(tournament: Tournament, stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a stage, with a custom kind and custom rankings named as in croupier.toml."""
    said = {key: own.said for key, own in tournament.registry.own().items()}
    ranked = [said.get(("rank_by", word), word) for word in stage["rank_by"]]
    return {**stage, "kind": said.get(("kind", stage["kind"]), stage["kind"]), "rank_by": ranked}


def _invited(tournament: Tournament, stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"references": entered bots and patterns of other bots} for a stage with such patterns; {} for others."""
    patterns = tournament.invited.get(stage["name"])
    own = [name for name in stage.get("references", ()) if name not in tournament.guests]
    return {"references": [*own, *patterns]} if patterns else {}


def difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the differences between two results of `result_settings`: "[limits] move: 1 s → 2 s"; empty if there are none.

    Name at most three, and count the others.
    """
    before, after = _leaves(old), _leaves(new)
    changes = [
        f"{key}: {_spelled(before, key)} → {_spelled(after, key)}"
        for key in {**before, **after}
        if before.get(key) != after.get(key)
    ]
    if not changes and old != new:
        changes = ["the order of the stages"]
    return "; ".join(changes[:3]) + (f"; and {len(changes) - 3} more" if len(changes) > 3 else "")


def _leaves(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a configuration, by readable key. The key of a stage has its name, not its position."""
    leaves: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, list):
            for table in value:
                leaves |= {
                    stage_key(key, table["name"], inner): each for inner, each in table.items() if inner != "name"
                }
        elif isinstance(value, Mapping):
            leaves |= {f"[{key}] {inner}": each for inner, each in value.items()}
        else:
            leaves[key] = value
    return leaves


def stage_key(table: str, name: str, key: str) -> str:
    """Return the readable name of a key of a stage."""
    return f'[[{table}]] "{name}" {key}'


def _spelled(leaves: Mapping[str, Any], key: str) -> str:
    if key not in leaves:
        return "none"
    value = leaves[key]
    return value if isinstance(value, str) else to_toml(value)
