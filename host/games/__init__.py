"""Implements the rules of the games: pure functions, with no clock, no process, and no randomness except luck.py's."""

from host.games import briscola, cardshark, hearts, holdem, pazaak
from host.games.engine import Game

GAMES: dict[str, Game] = {
    game.name: game for game in (cardshark.GAME, pazaak.GAME, holdem.GAME, hearts.GAME, briscola.GAME)
}
