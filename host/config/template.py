"""Writes the croupier.toml of a new tournament."""

from collections.abc import Sequence
from typing import Any

from host.base.paths import SAMPLE_PREFIX
from host.base.toml_file import to_toml
from host.games.engine import Game
from host.rules.catalogue import game_by_name, origin
from host.sandbox.levels import DEFAULT_LEVEL, STRONGEST_FIRST
from host.stages import KINDS
from host.stages.kind import Kind

MAX_TEMPLATE_REFERENCES = 3  # in a new croupier.toml, unless a table needs more
OWN_REFERENCES = "staff/*"


def template(game: str, with_samples: bool, names: Sequence[str], kind: str = "") -> str:
    """Return the text of a new croupier.toml, with the given kind of stage or the usual ones.

    `names` are the sample bots of the game.
    """
    listed = ["bots/*", *(f"sample:{name}" for name in names if with_samples)]
    lines = [f'    "{name}",' for name in listed]
    bots = f'["{listed[0]}"]' if len(listed) == 1 else "[\n" + "\n".join(lines) + "\n]"
    known = game_by_name(game)
    first, *others = (f'"{preset}"' for preset in known.presets)
    return TOP.format(
        game=origin(game).said or game,
        level=f'"{DEFAULT_LEVEL}"',
        levels=f"{', '.join(STRONGEST_FIRST[:-1])} or {STRONGEST_FIRST[-1]}",
        name=known.title,
        bots=bots,
        preset=f"{first:<21} # or {', '.join(others)}" if others else first,
        rules=_rules_shown(known),
        stages=_stages_shown(known, with_samples, names, kind),
    )


def season_template(game: str, names: Sequence[str]) -> str:
    """Return the text of the croupier.toml of a new season. `names` are the sample bots of the game; some are references."""
    text = template(game, True, names)
    seed, bots = text.index("seed  ="), text.index("\n[rules]")
    references = ", ".join(f'"{name}"' for name in _references(game_by_name(game), names) if name != OWN_REFERENCES)
    season = SEASON.format(references=references)
    stages = "# The stages of the final, which `croupier season final DIR` makes. Rounds have a stage of their own.\n"
    first = text.index("[[stage]]")
    return f"{text[:seed]}{season}{text[bots:first]}{stages}{text[first:]}".replace(
        "# A tournament: `croupier run` plays it, ^C stops it, and the same command continues it.",
        "# A season: `croupier season open` runs it, ^C stops it, and the same command continues it.",
    )


def _rules_shown(game: Game) -> str:
    """Return the rules of the first preset as comments: the keys that can be changed, with their values."""
    rules = next(iter(game.presets.values()))._asdict()
    shown = {key: value for key, value in rules.items() if value != () and key != "engine"}
    return "\n".join(f"# {key} = {to_toml(value)}" for key, value in shown.items())


def templates_of(game: Game) -> dict[str, Kind[Any]]:
    """Return the kinds of stage that a new croupier.toml of a game can have, by their names."""
    rules = next(iter(game.presets.values()))
    return {name: kind for name, kind in KINDS.items() if kind.defaults.template and kind.plays.is_met(game, rules)}


def _stages_shown(game: Game, with_samples: bool, names: Sequence[str], chosen: str) -> str:
    """Return the stage of the chosen kind, or those of the first suitable kind.

    Other kinds that rank all bots follow as comments if they need more bots.
    """
    known = templates_of(game)
    suiting = [known[chosen]] if chosen else [kind for kind in known.values() if not kind.references]
    suiting = [kind for kind in suiting if not kind.plays.is_general] or suiting
    tourneys, tables = ("100", "2_000") if with_samples else ("25", "100_000")
    references = _references(game, names)
    parts = []
    for kind in suiting:
        text = kind.defaults.template.format(
            tourneys=tourneys,
            tables=tables,
            references=", ".join(f'"{name}"' for name in references),
            grades="\n".join(
                f'"{name}" = {{ points = {points}, sure = "95 %" }}' for name, points in references.items()
            ),
        )
        enough = with_samples and len(names) >= kind.config().min_bots
        parts.append(text if kind is suiting[0] or enough else _as_comment(text))
    return "\n".join(parts).rstrip()


def _references(game: Game, names: Sequence[str]) -> dict[str, int]:
    """Return some sample bots as references, as many as a table needs, and their points: 100 in all.

    For a game without sample bots: the organiser's own bots.
    """
    seats = next(iter(game.presets.values())).seats
    chosen = [f"{SAMPLE_PREFIX}{name}" for name in names[: max(MAX_TEMPLATE_REFERENCES, seats - 1)]]
    chosen = chosen or [OWN_REFERENCES]
    return {name: 100 * nth // len(chosen) - 100 * (nth - 1) // len(chosen) for nth, name in enumerate(chosen, 1)}


def _as_comment(text: str) -> str:
    return "".join(f"# {line}" if line.strip() else "#\n" for line in text.splitlines(keepends=True))


SEASON = """\

[season]
submissions = "invited"        # `croupier season invite NAME` makes a link; "anybody": people take a name on the site
# freeze    = 2026-12-20T18:00:00+01:00   # entry closes; without it, `croupier season final` closes it
grace       = "5 min"          # accepted until then, not announced
round_every = "10 min"         # at most this often
budget      = "5 min"          # of play a round
active      = 1                # versions of one author that play at the same time
references  = [{references}]
practice    = 200              # tables of each submission against each reference; they do not count
keep        = "5 GiB"          # of finished rounds; of older ones, the answers of all tables are removed

[season.per_author]
queue       = 5                # submissions without a verdict
per_hour    = 20               # submissions
size        = "16 MiB"         # of a file
cpu_minutes = 30               # of processor time in an hour for builds, checks and practice
"""

TOP = """\
# A tournament: `croupier run` plays it, ^C stops it, and the same command continues it.
game  = "{game}"
name  = "{name}"
seed  = "random"               # 128 bits, secret in run/seed until the end; only its SHA-256 is printed
bots  = {bots}

[rules]
preset = {preset}
{rules}

{stages}

[limits]                       # of every bot; a bot.toml may ask for less, never for more
move      = "1 s"              # of one answer, without waits for a processor
startup   = "10 s"             # more, for the first answer of a process
cpu       = "1 s"              # processor time of one answer, all its processes
memory    = "512 MiB"
tasks     = 64                 # processes and threads
output    = "4 KiB"            # of one answer
state     = "1 MiB"            # of the one file that a bot may write; 0 = none
# bank     = "60 s / table"    # for all moves of a table together, beyond `move`; or "5 min / fixture"
# max_faults = 100             # a bot with more faults in a stage is ranked last there; default: no limit

[sandbox]
level     = {level:<18} # a minimum: {levels}; croupier never uses less
pondering = false              # true: bots may compute while they have no question
warm      = false              # true: Python bots asked by argv start from a ready interpreter

[run]
workers    = "auto"            # one per core
placement  = "auto"            # "core": a worker and its bots share one core; "free": every core
# cluster  = "tcp://host:8786" # a Dask scheduler, whose workers play instead of this machine's
stop_early = false             # true: a pair ends when its order is certain

[report]
html       = "report.html"
"""
