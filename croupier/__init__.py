"""croupier from Python: let bots play each other, check and compare them, and run tournaments.

Everything public is named here; docs/python.md describes it. The modules of `host` and `protocols` are private: they
change from release to release.
"""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from croupier.checking import CheckedBot, check
from croupier.comparing import Comparison, compare
from croupier.playing import Bot, Interrupted, PlayedTable, Result, Standing, play
from croupier.session import Error, close, folder_of, limits_of, missing, whole
from croupier.tournaments import Tournament, tournament
from host import __version__
from host.ops.adhoc import Conditions

if TYPE_CHECKING:
    from croupier.environment import TableEnv

__all__ = [
    "CheckedBot",
    "Comparison",
    "Error",
    "Interrupted",
    "PlayedTable",
    "Result",
    "Standing",
    "Tournament",
    "__version__",
    "check",
    "close",
    "compare",
    "env",
    "play",
    "tournament",
]


def env(
    game: str | None,
    opponents: Sequence[Bot],
    *,
    tables: int = 1,
    seats: int | None = None,
    preset: str | None = None,
    limits: str | Mapping[str, str] | None = None,
    obs: str | Callable[[Any], Sequence[float]] = "dict",
    folder: str | PathLike[str] = ".",
    unsafe: bool = False,
) -> "TableEnv":
    """Return an environment in which one agent plays a game against bots: an AEC environment of PettingZoo.

    Its `vector()` returns a vector environment of Gymnasium, which plays `tables` tables at the same time. Both need
    the packages of `croupier[env]`. `seats` is the number of seats at a table, by default the fewest that the game
    allows. At each table the other seats get bots drawn from `opponents`, and the agent's seat changes from table to
    table. An opponent is a bot, or a function that returns an answer for a view: with the agent's own policy this is
    self-play. `game`, `preset`, `limits`, `folder` and `unsafe` are those of `croupier.play`.

    `obs` is the form of an observation. "dict": a dictionary with the fields of the view. "array": a float32 array of
    shape (n,) with the numbers of the view, field by field, in its own units (chips, points; False and True are 0 and
    1). A function that returns n numbers for a view: an array of shape (n,) with these numbers. The legal moves are the
    key "action_mask" of a dictionary; with an array they are in `infos["action_mask"]`.

    Raise Error where `croupier play` prints an error, if a package is missing, if the game has partners or runs as a
    program of its own, and for "array" if a field of the view is not a number or a tuple of the same number of numbers
    in all examples of the game. Raise TypeError if `opponents` is a string or `tables` is not a whole number. Raise
    ValueError if there are no opponents, or if `tables` or `seats` is out of range.
    """
    try:
        from croupier.environment import make
    except ModuleNotFoundError as absent:
        raise missing(absent, "env") from absent
    if isinstance(opponents, str):
        raise TypeError(f"opponents: a list of bots, not {opponents!r}")
    chosen = Conditions(game=game, preset=preset, limits=limits_of(limits), unsafe=unsafe)
    return make(folder_of(folder), opponents, chosen, whole("tables", tables, 1), seats, obs)
