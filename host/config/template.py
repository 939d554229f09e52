"""Writes the croupier.toml of a new tournament or season, from the files in host/config/templates."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from host.base.paths import SAMPLE_PREFIX
from host.base.toml_file import to_toml
from host.games.engine import Game
from host.rules.catalogue import ref_of
from host.sandbox.levels import DEFAULT_LEVEL, STRONGEST_FIRST
from host.stages import KINDS
from host.stages.kind import Kind

TEMPLATES = Path(__file__).with_name("templates")
MAX_TEMPLATE_REFERENCES = 3  # in a new croupier.toml, unless a table needs more
OWN_REFERENCES = "staff/*"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters["toml"] = to_toml
    return made


def template(
    game: Game,
    with_samples: bool,
    names: Sequence[str],
    kind: str = "",
    *,
    season: bool = False,
    models: bool = False,
) -> str:
    """Return the text of a new croupier.toml, with the given kind of stage or the usual kinds.

    `names` are sample bots of the game: `with_samples` enters them, and a `season` uses some of them as references.
    With `models`, a bot may ask a language model, and there are few tables, because each question can cost money.
    """
    rules = game.default_rules._asdict()
    return (
        _environment()
        .get_template("croupier.toml.jinja")
        .render(
            season=season,
            models=models,
            game=ref_of(game).said or game.name,
            name=game.title,
            bots=["bots/*", *(SAMPLE_PREFIX + name for name in names if with_samples)],
            references=[name for name in _references(game, names) if name != OWN_REFERENCES],
            presets=list(game.presets),
            rules={key: value for key, value in rules.items() if value != () and key != "engine"},
            stages=_stages_shown(game, with_samples, names, kind, models),
            level=to_toml(DEFAULT_LEVEL),
            levels=f"{', '.join(STRONGEST_FIRST[:-1])} or {STRONGEST_FIRST[-1]}",
        )
    )


def templates_of(game: Game) -> dict[str, Kind[Any]]:
    """Return the kinds of stage that a new croupier.toml of a game can have, by name."""
    rules = game.default_rules
    written = [path.name.partition(".")[0] for path in TEMPLATES.glob("stages/*")]
    return {name: kind for name, kind in KINDS.items() if name in written and kind.plays.is_met(game, rules)}


def _stages_shown(game: Game, with_samples: bool, names: Sequence[str], chosen: str, models: bool) -> str:
    """Return the text of the stages: one of the chosen kind, or one of each suitable kind that ranks all bots.

    After the first stage, those that need more bots are comments.
    """
    known = templates_of(game)
    suiting = [known[chosen]] if chosen else [kind for kind in known.values() if not kind.references]
    suiting = [kind for kind in suiting if not kind.plays.is_general] or suiting
    tourneys, tables = ("1", "20") if models else ("100", "2_000") if with_samples else ("25", "100_000")
    references = _references(game, names)
    parts = []
    for kind in suiting:
        stage = _environment().get_template(f"stages/{kind.name}.toml.jinja")
        text = stage.render(tourneys=tourneys, tables=tables, references=references, models=models)
        enough = with_samples and len(names) >= kind.config().min_bots
        parts.append(text if kind is suiting[0] or enough else _as_comment(text))
    return "\n".join(parts).rstrip()


def _references(game: Game, names: Sequence[str]) -> dict[str, int]:
    """Return the points of each reference, by name or pattern: 100 points in total.

    The references are sample bots: at most MAX_TEMPLATE_REFERENCES, or as many as a table has other seats if that is
    more. For a game without sample bots, the only entry is OWN_REFERENCES, the pattern of the organiser's own bots.
    """
    seats = game.default_rules.seats
    chosen = [f"{SAMPLE_PREFIX}{name}" for name in names[: max(MAX_TEMPLATE_REFERENCES, seats - 1)]]
    chosen = chosen or [OWN_REFERENCES]
    return {name: 100 * nth // len(chosen) - 100 * (nth - 1) // len(chosen) for nth, name in enumerate(chosen, 1)}


def _as_comment(text: str) -> str:
    return "".join(f"# {line}" if line.strip() else "#\n" for line in text.splitlines(keepends=True))
