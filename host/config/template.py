"""Writes the croupier.toml of a new tournament."""

from collections.abc import Sequence

from host.base.config_file import to_toml
from host.games.engine import Game
from host.play.custom_games import game_by_name, origin
from host.sandbox.levels import DEFAULT_LEVEL, EXACT_LEVEL, STRONGEST_FIRST
from host.stages import KINDS


def template(game: str, with_samples: bool, names: Sequence[str]) -> str:
    """Return the text of a new croupier.toml; `names` are the sample bots of the game."""
    listed = ["bots/*", *(f"sample:{name}" for name in names if with_samples)]
    lines = [f'    "{name}",' for name in listed]
    bots = f'["{listed[0]}"]' if len(listed) == 1 else "[\n" + "\n".join(lines) + "\n]"
    known = game_by_name(game)
    first, *others = (f'"{preset}"' for preset in known.presets)
    return TOP.format(
        game=origin(game).said or game,
        exact=EXACT_LEVEL,
        level=f'"{DEFAULT_LEVEL}"',
        levels=f"{', '.join(STRONGEST_FIRST[:-1])} or {STRONGEST_FIRST[-1]}",
        name=known.title,
        bots=bots,
        preset=f"{first:<21} # or {', '.join(others)}" if others else first,
        rules=_rules_shown(known),
        stages=_stages_shown(known, with_samples, len(names)),
    )


def _rules_shown(game: Game) -> str:
    """Return the rules of the first preset as comments: the keys that can be changed, with their values."""
    rules = next(iter(game.presets.values()))._asdict()
    shown = {key: value for key, value in rules.items() if value != () and key != "engine"}
    return "\n".join(f"# {key} = {to_toml(value)}" for key, value in shown.items())


def _stages_shown(game: Game, with_samples: bool, samples: int) -> str:
    """Return the stages of the first suitable kind. Stages that need more bots follow as comments."""
    rules = next(iter(game.presets.values()))
    suiting = [kind for kind in KINDS.values() if kind.defaults.template and kind.plays.is_met(game, rules)]
    suiting = [kind for kind in suiting if not kind.plays.is_general] or suiting
    tourneys, tables = ("100", "2_000") if with_samples else ("25", "100_000")
    parts = []
    for kind in suiting:
        text = kind.defaults.template.format(tourneys=tourneys, tables=tables)
        enough = with_samples and samples >= kind.config().min_bots
        parts.append(text if kind is suiting[0] or enough else _as_comment(text))
    return "\n".join(parts).rstrip()


def _as_comment(text: str) -> str:
    return "".join(f"# {line}" if line.strip() else "#\n" for line in text.splitlines(keepends=True))


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
move      = "1 s"              # wall clock of one answer
startup   = "10 s"             # more, for the first answer of a process
cpu       = "1 s"              # processor time of one answer, all its processes
memory    = "512 MiB"
tasks     = 64                 # processes and threads
output    = "4 KiB"            # of one answer
state     = "1 MiB"            # of the one file that a bot may write; 0 = none
clock     = "wall"             # "fair": waits for a processor do not count; "cpu": CPU time only; need {exact}
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
