"""Loads custom stage kinds and rankings: `kind = "package.module:KIND"`, `rank_by = ["package.module:RANKING"]`.

This code is trusted like croupier itself: only the config of the tournament can name it.
"""

import re
from pathlib import Path
from typing import Any

from host.base.config_file import Toml
from host.base.errors import UserError
from host.play.custom_games import CustomName, import_value

STAGE = re.compile(r"""^[^\S\n]*+kind\s*=\s*["']([\w.]+:\w+)["']""", re.MULTILINE)
RANKED = re.compile(r"^[^\S\n]*+rank_by\s*=\s*\[([^\[\]]*)\]", re.MULTILINE)
QUOTED = re.compile(r"""["']([\w.]+:\w+)["']""")


_said: dict[tuple[str, str], str] = {}  # `package.module:NAME` of each custom kind and ranking, by key and name


def said_as(key: str, name: str) -> str:
    """Return what croupier.toml says for a kind or ranking: `package.module:NAME` if it is a custom one."""
    return _said.get((key, name), name)


def load_kind(named: CustomName, folder: Path) -> str:
    """Import and register a stage kind; return its `name`. Raise UserError if it cannot be used."""
    from host.stages import KINDS
    from host.stages.kind import Kind

    kind = import_value(named, str(folder.absolute()))
    if not isinstance(kind, Kind):
        raise named.refused(f"is not a Kind but a {type(kind).__name__}", "see docs/adding-a-stage.md")
    if not re.fullmatch("[a-z][a-z0-9-]{0,30}", kind.name) or kind.config().kind != kind.name:
        hint = f'small letters, digits and -, and its config says kind: Literal["{kind.name}"] = "{kind.name}"'
        raise named.refused(f"is called {kind.name!r}, and its config {kind.config().kind!r}", hint)
    if KINDS.setdefault(kind.name, kind) is not kind:
        raise named.refused(f"is called {kind.name} like another kind", "choose another name")
    _said["kind", kind.name] = named.said
    return kind.name


def load_ranking(named: CustomName, folder: Path) -> str:
    """Import and register a ranking; return its `name`. Raise UserError if it cannot be used."""
    from host.results.ranking import RANKINGS, Ranking
    from host.stages.kind import OWN_RANKING, OWN_RANKINGS

    ranking = import_value(named, str(folder.absolute()))
    if not isinstance(ranking, Ranking):
        raise named.refused(f"is not a Ranking but a {type(ranking).__name__}", "see docs/adding-a-stage.md")
    if not re.fullmatch(OWN_RANKING, ranking.name):
        raise named.refused(f"is called {ranking.name!r}", "use only small letters, digits and _")
    if RANKINGS.setdefault(ranking.name, ranking) is not ranking:
        raise named.refused(f"is called {ranking.name} like another ranking", "choose another name")
    if ranking.name not in OWN_RANKINGS:
        OWN_RANKINGS.append(ranking.name)
    _said["rank_by", ranking.name] = named.said
    return ranking.name


def load_named_in(toml: Toml, folder: Path) -> None:
    """Register the custom kinds and rankings in a file's stages, and replace each by its `name`."""
    stages = toml.data.get("stage")
    for number, stage in enumerate(stages if isinstance(stages, list) else ()):
        if isinstance(stage, dict):
            _load_stage(stage, toml, number, folder)


def _load_stage(stage: dict[str, Any], toml: Toml, number: int, folder: Path) -> None:
    if ":" in str(stage.get("kind")):
        named = CustomName("kind", str(stage["kind"]), toml.where("stage", number, "kind"))
        stage["kind"] = load_kind(named, folder)
    words = stage.get("rank_by")
    if isinstance(words, list):
        where = toml.where("stage", number, "rank_by")
        stage["rank_by"] = [
            load_ranking(CustomName("rank_by", word, where), folder) if isinstance(word, str) and ":" in word else word
            for word in words
        ]


def register_from_config(config: Path) -> None:
    """Register the custom kinds and rankings that a config names, so that the journal can be read.

    Errors are ignored here: loading the tournament reports them.
    """
    try:
        text = config.read_text()
        for said in STAGE.findall(text):
            load_kind(CustomName("kind", said), config.parent)
        for words in RANKED.findall(text):
            for said in QUOTED.findall(words):
                load_ranking(CustomName("rank_by", said), config.parent)
    except (OSError, UnicodeDecodeError, UserError):
        return
