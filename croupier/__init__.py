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
    """Return an environment in which an agent plays a game against bots: an AEC environment of PettingZoo.

    Its `vector()` plays `tables` tables at the same time, as a vector environment of Gymnasium. The opponents at each
    table are drawn from `opponents`, bots or functions (for self-play: the agent's own policy), and the agent changes its
    seat from table to table. `seats` is the number of seats at
    a table, by default the fewest. It needs the packages of `croupier[env]`. Raise Error where `croupier play` prints one.

    `obs` is what an observation is: "dict", the fields of the view; "array", a float32 array of shape (n,) with the numbers
    of the view, field by field, in its own units (chips, points; False and True are 0 and 1); or a function that returns
    n numbers for a view. An array has no mask: `infos["action_mask"]` is it. Raise Error for "array" if a field of the view
    is not a number, or a tuple of as many numbers in every example of the game.
    """
    try:
        from croupier.environment import make
    except ModuleNotFoundError as absent:
        raise missing(absent, "env") from absent
    if isinstance(opponents, str):
        raise TypeError(f"opponents: a list of bots, not {opponents!r}")
    chosen = Conditions(game=game, preset=preset, limits=limits_of(limits), unsafe=unsafe)
    return make(folder_of(folder), opponents, chosen, whole("tables", tables, 1), seats, obs)
