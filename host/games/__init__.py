"""Implements the rules of the games: pure functions, with no clock, no process, and no randomness except luck.py's."""

from collections.abc import Mapping

from host.games import briscola, cardshark, hearts, holdem, pazaak
from host.games.engine import Game

GAMES: Mapping[str, Game] = {
    game.name: game for game in (cardshark.GAME, pazaak.GAME, holdem.GAME, hearts.GAME, briscola.GAME)
}
"""croupier's own games by name."""

OTHER_NAMES: Mapping[str, str] = {"blackjack": "cardshark", "poker": "holdem", "hold'em": "holdem"}
"""Names that people know the games by, for the command line."""
