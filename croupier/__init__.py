"""croupier from Python: let bots play each other, check and compare them, and run tournaments.

Everything public is named here; docs/python.md describes it. The modules of `host` and `protocols` are private: they
change from release to release.
"""

from croupier.checking import CheckedBot, check
from croupier.comparing import Comparison, compare
from croupier.playing import PlayedTable, Result, Standing, play
from croupier.session import Error, close
from croupier.tournaments import Tournament, tournament
from host import __version__

__all__ = [
    "CheckedBot",
    "Comparison",
    "Error",
    "PlayedTable",
    "Result",
    "Standing",
    "Tournament",
    "__version__",
    "check",
    "close",
    "compare",
    "play",
    "tournament",
]
