"""Loads the values that the names in a croupier.toml stand for: its game, its kinds of stage and its rankings.

A name is one of croupier's own, `package.module:NAME` for a value in the organiser's code beside croupier.toml,
`openspiel:GAME`, or `folder/` for a referee. Only croupier.toml can name such code. This code is trusted like croupier
itself, except for a referee, which runs in a sandbox.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from host.base.errors import Problem, UserError
from host.base.system_errors import cure
from host.base.toml_file import Toml, read
from host.base.value_types import InvalidValue, OwnCode, plain_string
from host.rating.rankings import RANKINGS, OwnRanking, Ranking
from host.rules.catalogue import CustomName, import_value, is_folder, load_game
from host.stages import KINDS, Registry
from host.stages.kind import OWN_RANKING, Kind

CONFIG = "croupier.toml"


def load_kind(named: CustomName, folder: Path) -> OwnCode:
    """Import an organiser's kind of stage. Raise UserError if it cannot be used."""
    kind = import_value(named, str(folder.absolute()))
    if not isinstance(kind, Kind):
        raise named.refused(f"is not a Kind but a {type(kind).__name__}", "see docs/adding-a-stage.md")
    if not re.fullmatch("[a-z][a-z0-9-]{0,30}", kind.name) or kind.config().kind != kind.name:
        hint = f'small letters, digits and -, and its config says kind: Literal["{kind.name}"] = "{kind.name}"'
        raise named.refused(f"is called {kind.name!r}, and its config {kind.config().kind!r}", hint)
    if KINDS.get(kind.name, kind) is not kind:
        raise named.refused(f"has the name of another kind, {kind.name}", "choose another name")
    return OwnCode(kind.name, named.said, kind)


def load_ranking(named: CustomName, folder: Path) -> OwnCode:
    """Import an organiser's ranking. Raise UserError if it cannot be used."""
    ranking = import_value(named, str(folder.absolute()))
    if not isinstance(ranking, Ranking):
        raise named.refused(f"is not a Ranking but a {type(ranking).__name__}", "see docs/adding-a-stage.md")
    if not re.fullmatch(OWN_RANKING, ranking.name):
        raise named.refused(f"is called {ranking.name!r}", "use only small letters, digits and _")
    if RANKINGS.get(ranking.name, ranking) is not ranking:
        raise named.refused(f"has the name of another ranking, {ranking.name}", "choose another name")
    return OwnCode(OwnRanking.of(ranking), named.said, ranking)


def _load_game(named: CustomName, folder: Path) -> OwnCode:
    game = load_game(named.said, folder, named.where)
    return OwnCode(game.name, named.said, game)


LOADERS: Mapping[str, Callable[[CustomName, Path], OwnCode]] = {
    "game": _load_game,
    "kind": load_kind,
    "rank_by": load_ranking,
}
"""The function that loads a named value, by the key of croupier.toml that names it."""


class Resolved(NamedTuple):
    """The values that the names in a file stand for, and the problems of names that cannot be used."""

    registry: Registry
    problems: list[Problem]


def resolve(toml: Toml, folder: Path) -> Resolved:
    """Load the values that `toml` names by `package.module:NAME` or by a game's folder.

    In `toml.data`, replace each such name by its OwnCode. A name that cannot be used stays, and becomes a problem.
    """
    own, problems = dict[tuple[str, str], OwnCode](), list[Problem]()

    def name_of(said: Any, *place: str | int) -> Any:
        key = str(place[-1])
        if not isinstance(said, str) or not (":" in said or (key == "game" and is_folder(said))):
            return said
        try:
            plain_string(said)
        except InvalidValue:  # the reader of the file reports it
            return said
        named = CustomName(key, said, toml.where(*place))
        try:
            found = LOADERS[key](named, folder)
            if (other := own.setdefault((key, found.name), found).said) != said:
                raise named.refused(f"has the name of another, {other}", "choose another name")
        except OSError as error:  # for example a name that is longer than the system allows
            problems.extend(named.refused(f"cannot be read: {error.strerror}", cure(error, "")).problems)
            return said
        except UserError as refused:
            problems.extend(refused.problems)
            return said
        return own[key, found.name]

    data, stages = toml.data, toml.data.get("stage")
    data |= {"game": name_of(data["game"], "game")} if "game" in data else {}
    for number, stage in enumerate(stages if isinstance(stages, list) else ()):
        if not isinstance(stage, dict):
            continue
        if "kind" in stage:
            stage["kind"] = name_of(stage["kind"], "stage", number, "kind")
        if isinstance(words := stage.get("rank_by"), list):
            stage["rank_by"] = [name_of(word, "stage", number, "rank_by") for word in words]
    return Resolved(Registry(lambda: own), problems)


def registry_of(place: Path) -> Registry:
    """Return the registry for the journals of a folder, with the code that its croupier.toml names.

    `place` is the folder, or a file like croupier.toml. Files beside the journals name the referees of games outside a
    tournament. All these files are read when a name that croupier does not know is looked up for the first time. Errors
    are ignored here: loading the tournament reports them.
    """

    paths = [*_games_outside(place), place / CONFIG] if place.is_dir() else [place]

    @cache
    def own() -> Mapping[tuple[str, str], OwnCode]:
        found: dict[tuple[str, str], OwnCode] = {}
        for path in paths:
            with suppress(UserError):
                found |= resolve(read(path), path.parent).registry.own()
        return found

    return Registry(own)


def _games_outside(folder: Path) -> list[Path]:
    """Return the files that name the referees of games outside a tournament, from the oldest to the newest."""
    named = [*(folder / ".croupier").glob("play-*.toml"), folder / "run" / "play.toml"]
    return sorted([path for path in named if path.exists()], key=lambda path: path.stat().st_mtime)
