"""The kinds of stage. Each kind is one object in its own module; no code outside that module depends on its name.

The exception is host/report/public_check.py, which works without croupier and knows the schedules of some kinds.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from host.base.config_file import load_model
from host.base.errors import Problem, UserError
from host.base.on_demand import OnDemand
from host.base.toml_file import Toml
from host.base.value_types import OwnCode
from host.games import GAMES
from host.games.engine import Game
from host.play.records import Record
from host.rating.rankings import RANKINGS
from host.rating.results import Fact
from host.rating.units import Results
from host.rules.catalogue import GameRef, of_library, ref_of, reload_game
from host.stages.kind import OWN_RANKING, Kind, StageConfig
from host.stages.picture import Rounds

RENAMED_KINDS = {"mixed_tables": "mixed-tables"}
"""The present name of each renamed kind, by its old name. Files of earlier versions with an old name remain valid."""

KINDS: Mapping[str, Kind[Any]] = OnDemand(
    {
        "mixed-tables": "host.stages.mixed_tables:MIXED_TABLES",
        "round-robin": "host.stages.round_robin:ROUND_ROBIN",
        "knockout": "host.stages.knockout:KNOCKOUT",
        "groups": "host.stages.groups:GROUPS",
        "league": "host.stages.league:LEAGUE",
        "gauntlet": "host.stages.gauntlet:GAUNTLET",
        "swiss": "host.stages.swiss:SWISS",
        "pairs": "host.stages.pairs:PAIRS_LISTED",
        "solo": "host.stages.solo:SOLO",
    },
    RENAMED_KINDS,
)
"""croupier's own kinds, by the names in croupier.toml."""

OTHER_KINDS: Mapping[str, Kind[Any]] = OnDemand({"independent": "host.stages.adhoc:ADHOC"})
"""Kinds that no croupier.toml can name: `independent` is the kind of `croupier play` and `croupier compare`."""


@dataclass(frozen=True)
class Registry:
    """The games, kinds of stage and rankings that one tournament can name: croupier's, and the organiser's own.

    `own` returns the organiser's code, by the key in croupier.toml and the name, for example by ("kind", "ladder"). The
    methods call it only for a name that croupier does not know, because it imports this code.
    """

    own: Callable[[], Mapping[tuple[str, str], OwnCode]] = field(default=dict, compare=False)

    def known_game(self, name: str) -> Game | None:
        """Return the game with this name; None if the registry does not have its code or its library cannot load it."""
        if name in GAMES:
            return GAMES[name]
        if own := self.own().get(("game", name)):
            game: Game = own.value
            return game
        with suppress(UserError):
            return reload_game(GameRef(name)) if of_library(name) else None
        return None

    def game(self, name: str) -> Game:
        """Return the game with this name. Raise UserError (exit code 3) where `known_game` returns None."""
        if game := self.known_game(name):
            return game
        raise _unknown_here(f"the game {name}")

    def kind(self, name: str) -> Kind[Any]:
        """Return the kind of stage with this name. Raise UserError (exit code 3) if there is none."""
        for kinds in (KINDS, OTHER_KINDS):
            if name in kinds:
                return kinds[name]
        if own := self.own().get(("kind", name)):
            kind: Kind[Any] = own.value
            return kind
        raise _unknown_here(f"the stage kind {name}")

    def ranking(self, name: str) -> str | OwnCode:
        """Return the code of an organiser's ranking, by its word in `rank_by`; for any other word, the word itself."""
        return name if name in RANKINGS else self.own().get(("rank_by", name), name)


def _unknown_here(what: str) -> UserError:
    """Return the UserError (exit code 3) for an organiser's own game, kind or ranking whose code is not known here."""
    hint = "-C DIR, where DIR/croupier.toml names its code"
    return UserError([Problem("C018", "", f"{what} is not known here", hint=hint)], 3)


CROUPIERS = Registry()
"""The registry of croupier's own games, kinds and rankings, without any code of an organiser."""


def registry_of_game(game: Game) -> Registry:
    """Return a registry that knows croupier's names and one more game, to read a journal of tables of this game."""
    return Registry(lambda: {("game", game.name): OwnCode(game.name, ref_of(game).said, game)})


def kind_of(stage: StageConfig) -> Kind[Any]:
    """Return the kind of a configured stage."""
    return stage.KIND


def config_of(kind: str | OwnCode) -> type[StageConfig] | None:
    """Return the config class of a kind, given by its name or as the organiser's code; None if no kind has the name."""
    found: Kind[Any] | None = kind.value if isinstance(kind, OwnCode) else KINDS.get(kind)
    return found.config if found else None


def as_counted_by(stage: StageConfig, records: Sequence[Record]) -> list[Record]:
    """Return the records as the standings of the stage count them. Most kinds count them unchanged."""
    counted = kind_of(stage).counted
    return counted(stage, records) if counted else list(records)


def references_of(stage: StageConfig) -> tuple[str, ...]:
    """Return the references of a stage: bots that all others play and that are not ranked. Most kinds have none."""
    kind = kind_of(stage)
    return tuple(kind.references(stage)) if kind.references else ()


def gives_grades(stage: StageConfig) -> bool:
    """Return whether a stage gives grades."""
    kind = kind_of(stage)
    return bool(kind.grades and kind.grades(stage))


def results_of(
    stage: StageConfig, records: Sequence[Record], bots: Collection[str], order: Sequence[str] = ()
) -> Results:
    """Return the input of the rankings of a stage, from its records as the standings count them.

    `order` has the names of the bots in the order in which the stage began; if it is empty, the order of `bots` is
    used. A fixture without a result counts only in `rounds`, where the better seed gets the points of its set.
    """
    everything = sorted(records, key=lambda record: record.path)
    ordered = [record for record in everything if not record.undecided]
    playing = {bot for record in ordered for bot, result in record.results.items() if result.tables}
    kind, picture = kind_of(stage), None
    if kind.picture and Fact.ROUNDS in kind.provides:
        picture = kind.picture(stage, list(order or bots), everything)
    rounds = picture.rounds if isinstance(picture, Rounds) else ()
    return Results(ordered, [bot for bot in bots if bot in playing], kind.sampling, stage.mirror, rounds)


# Stages in the journal.


def stage_from_json(stored: Any, registry: Registry = CROUPIERS) -> StageConfig:
    """Return the stage in a value that the journal stores. Raise ValueError if the value is not valid.

    Raise UserError (exit code 3) if it names an organiser's kind or ranking whose code has not been loaded.
    """
    if not isinstance(stored, dict) or not isinstance(stored.get("kind"), str):
        raise ValueError("a stage without a kind")
    kind, words = registry.kind(stored["kind"]), stored.get("rank_by")
    if isinstance(words, list):
        stored = stored | {"rank_by": [_ranking(word, registry) for word in words]}
    try:
        stage: StageConfig = load_model(Toml("", stored, {}), kind.config)
    except UserError as wrong:
        raise ValueError("; ".join(problem.message for problem in wrong.problems)) from wrong
    if not stage.name:
        raise ValueError("a stage without a name")
    return stage


def _ranking(word: Any, registry: Registry) -> Any:
    """Return a stored name of a ranking, or its code if the ranking is an organiser's.

    Raise UserError (exit code 3) if that code has not been loaded.
    """
    name = registry.ranking(word) if isinstance(word, str) else word
    if isinstance(name, str) and name not in RANKINGS and re.fullmatch(OWN_RANKING, name):
        raise _unknown_here(f"the ranking {name}")
    return name
