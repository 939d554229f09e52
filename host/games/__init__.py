"""Implements the rules of the games: pure functions, with no clock, no process, and no randomness except luck.py's."""

from collections.abc import Mapping

from host.base.on_demand import OnDemand
from host.games.engine import Game

GAMES: Mapping[str, Game] = OnDemand(
    {
        "cardshark": "host.games.cardshark:GAME",
        "pazaak": "host.games.pazaak:GAME",
        "holdem": "host.games.holdem:GAME",
        "hearts": "host.games.hearts:GAME",
        "briscola": "host.games.briscola:GAME",
    }
)
"""croupier's own games by name."""

_, PAZAAK, HOLDEM, _, _ = GAMES
"""The names of games whose original bots need an adapter."""

OTHER_NAMES: Mapping[str, str] = {"blackjack": "cardshark", "poker": "holdem", "hold'em": "holdem"}
"""Names that people know the games by, for the command line."""
