"""Implements the rules of the games: pure functions, with no clock, no process, and no randomness except luck.py's."""

from collections.abc import Mapping

from host.base.on_demand import OnDemand
from host.games.engine import Game

PAZAAK, HOLDEM = "pazaak", "holdem"

GAMES: Mapping[str, Game] = OnDemand(
    {
        "cardshark": "host.games.cardshark:GAME",
        PAZAAK: "host.games.pazaak:GAME",
        HOLDEM: "host.games.holdem:GAME",
        "hearts": "host.games.hearts:GAME",
        "briscola": "host.games.briscola:GAME",
    }
)
"""croupier's own games by name."""

OTHER_NAMES: Mapping[str, str] = {"blackjack": "cardshark", "poker": "holdem", "hold'em": "holdem"}
"""The names of games by other names that people use for them, for the command line."""
