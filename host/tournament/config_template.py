"""The croupier.toml that a new tournament begins with."""

from collections.abc import Mapping, Sequence

from host.base.config_file import to_toml
from host.games import GAMES
from host.games.engine import Game
from host.tournament.config import Knockout


def template(game: str, with_samples: bool, names: Sequence[str]) -> str:
    """Return a croupier.toml to begin with; `names` are the sample bots that take part."""
    listed = ["bots/*", *(f"sample:{name}" for name in names if with_samples)]
    lines = [f'    "{name}",' for name in listed]
    bots = f'["{listed[0]}"]' if len(listed) == 1 else "[\n" + "\n".join(lines) + "\n]"
    known = GAMES[game]
    first, *others = (f'"{preset}"' for preset in known.presets)
    return TOP.format(
        game=game,
        name=known.title,
        bots=bots,
        preset=f"{first:<21} # or {', '.join(others)}" if others else first,
        rules=_rules_shown(known),
        stages=_stages_shown(game, with_samples, len(names)),
    )


def _rules_shown(game: Game) -> str:
    """Return the numbers of the first preset as comments: what may be changed, and how it is called."""
    rules = next(iter(game.presets.values()))._asdict()
    shown = {key: value for key, value in rules.items() if value != () and key != "engine"}
    return "\n".join(f"# {key} = {to_toml(value)}" for key, value in shown.items())


def _stages_shown(game: str, with_samples: bool, samples: int) -> str:
    if game not in STAGES_SHOWN:
        return "# [[stage]]                    # without one: the usual stages of the game"
    tourneys, tables = ("100", "2_000") if with_samples else ("25", "100_000")
    text = STAGES_SHOWN[game].format(tourneys=f"{tourneys:<19}", tables=tables, set=f"{tables:<19}")
    if with_samples and samples >= Knockout.min_bots:
        return text.replace("\n#: ", "\n").replace("\n#:", "\n")
    return text.replace("\n#: ", "\n# ").replace("\n#:", "\n#")


TOP = """\
# A tournament: `croupier run` plays it, ^C stops it, and the same command goes on.
game  = "{game}"
name  = "{name}"
seed  = "random"               # 128 bits, secret in run/seed until the end; only its SHA-256 is shown
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
state     = "1 MiB"            # the one file that a bot may keep; 0 = none
clock     = "wall"             # "fair": waits for a processor do not count; "cpu": computing alone; need L4

[sandbox]
level     = "L3"               # a minimum: L4, L3, L2 or none; croupier refuses rather than weakens
pondering = false              # true: bots may go on computing while they have no question
warm      = false              # true: Python bots asked by argv start from a ready interpreter

[run]
workers    = "auto"            # one a core
# cluster  = "tcp://host:8786" # a Dask scheduler, whose workers play instead of this machine's
stop_early = false             # true: a pair ends when its order is certain

[report]
html       = "report.html"
"""

STAGES_SHOWN: Mapping[str, str] = {
    "cardshark": """\
[[stage]]
name     = "tables"
kind     = "tables"
tourneys = {tourneys} # each starts again with the same chips; the result is the mean over all
rounds   = 5                   # of five hands, in every tourney, for every bot
rank_by  = ["chips"]""",
    "pazaak": """\
[[stage]]                      # stages run in order
name            = "league"
kind            = "round-robin"
tables_per_pair = {tables}
rank_by         = ["games", "hands"]

#: [[stage]]                      # needs eight bots
#: name     = "cup"
#: kind     = "knockout"          # a bracket that plays out every place
#: set      = {set} # tables in one set
#: first_to = 4                   # sets
#: min_bots = 8""",
    "holdem": """\
[[stage]]
name    = "groups"
kind    = "groups"             # random groups of three to five
advance = 2                    # of each group; best third places fill up
repeat  = 1                    # games per group; more: ranked with error bars
until   = 5                    # finalists

[[stage]]
name    = "final"
kind    = "groups"
advance = 1""",
}
